/*
 * The floor of a handoff: what the same steps cost with raw calls of the client library and nothing
 * around them. Two handles take turns; the holder deletes its znode, the other is told by its watch, lists
 * the queue, and forks and executes the command. Prints the instant before each deletion, one a line.
 *
 *     floor SERVERS ROUNDS REST_MS COMMAND [ARGUMENT]...
 *
 * Before each deletion all rests for REST_MS, as before a handoff in the field.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "raw.h"

struct contender {
	zhandle_t *zh;
	char path[128];
};

static char folder[64];
static char **command;
static volatile pid_t child;
static struct flag armed = FLAG_INIT, started = FLAG_INIT, deleted = FLAG_INIT;

static void start_command(void)
{
	child = fork();
	if (child == 0) {
		execv(command[0], command);
		_exit(127);
	}
	raise_flag(&started);
}

static void listed(int rc, const struct String_vector *names, const void *data)
{
	(void)data;
	must(rc == ZOK && names->count == 1, "list", rc);
	start_command();
}

static void gone(zhandle_t *zh, int type, int state, const char *path, void *context)
{
	(void)state;
	(void)path;
	(void)context;
	if (type == ZOO_DELETED_EVENT)
		must(zoo_aget_children(zh, folder, 0, listed, NULL) == ZOK, "zoo_aget_children", ZSYSTEMERROR);
}

static void watched(int rc, const struct Stat *stat, const void *data)
{
	(void)stat;
	(void)data;
	must(rc == ZOK, "watch", rc);
	raise_flag(&armed);
}

static void was_deleted(int rc, const void *data)
{
	(void)data;
	must(rc == ZOK, "delete", rc);
	raise_flag(&deleted);
}

static void join(struct contender *c)
{
	char path[128];
	int rc;

	snprintf(path, sizeof path, "%s/n-", folder);
	rc = zoo_create(c->zh, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL | ZOO_SEQUENCE, c->path, sizeof c->path);
	must(rc == ZOK, "zoo_create", rc);
}

int main(int argc, char **argv)
{
	struct contender contenders[2];
	struct timespec rest = { 0 };
	int status, rc;

	if (argc < 5)
		return 64;
	rest.tv_nsec = atol(argv[3]) * 1000000;
	command = argv + 4;
	snprintf(folder, sizeof folder, "/floor-%d", (int)getpid());
	for (int i = 0; i < 2; i++)
		contenders[i].zh = connect_to(argv[1], 10000);
	rc = zoo_create(contenders[0].zh, folder, "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
	must(rc == ZOK, "zoo_create", rc);
	join(&contenders[0]);
	for (int round = 0; round < atoi(argv[2]); round++) {
		struct contender *holder = &contenders[round % 2], *next = &contenders[1 - round % 2];

		join(next);
		rc = zoo_awexists(next->zh, holder->path, gone, NULL, watched, NULL);
		must(rc == ZOK, "zoo_awexists", rc);
		await_flag(&armed, "the watch");
		nanosleep(&rest, NULL);
		printf("%lld\n", (long long)now_ns());
		rc = zoo_adelete(holder->zh, holder->path, -1, was_deleted, NULL);
		must(rc == ZOK, "zoo_adelete", rc);
		await_flag(&started, "the command's start");
		await_flag(&deleted, "the deletion");
		must(waitpid(child, &status, 0) == child && status == 0, "the command", ZSYSTEMERROR);
	}
	for (int i = 0; i < 2; i++)
		zookeeper_close(contenders[i].zh);
	return 0;
}
