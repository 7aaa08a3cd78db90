/*
 * Says when the ensemble deletes znodes: reads paths, one a line, watches each and prints "watching",
 * then the instant at which it was told of the deletion.
 *
 *     observe SERVERS
 */
#include <string.h>

#include "raw.h"

static struct flag armed = FLAG_INIT, told = FLAG_INIT;
static int64_t deleted_ns;

static void gone(zhandle_t *zh, int type, int state, const char *path, void *context)
{
	(void)zh;
	(void)state;
	(void)path;
	(void)context;
	if (type != ZOO_DELETED_EVENT)
		return;
	deleted_ns = now_ns();
	raise_flag(&told);
}

static void watched(int rc, const struct Stat *stat, const void *data)
{
	(void)stat;
	(void)data;
	must(rc == ZOK, "watch", rc);
	raise_flag(&armed);
}

int main(int argc, char **argv)
{
	zhandle_t *zh;
	char path[512];

	if (argc != 2)
		return 64;
	zh = connect_to(argv[1], 10000);
	while (fgets(path, sizeof path, stdin) != NULL) {
		path[strcspn(path, "\n")] = '\0';
		int rc = zoo_awexists(zh, path, gone, NULL, watched, NULL);
		must(rc == ZOK, "zoo_awexists", rc);
		await_flag(&armed, "the watch");
		puts("watching");
		fflush(stdout);
		await_flag(&told, "the deletion");
		printf("%lld\n", (long long)deleted_ns);
		fflush(stdout);
	}
	zookeeper_close(zh);
	return 0;
}
