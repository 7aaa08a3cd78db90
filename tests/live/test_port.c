/* The ZooKeeper port against a live server: run by tests/support/with-zookeeper. */
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "zookeeper/events.h"
#include "zookeeper/library_log.h"
#include "zookeeper/port.h"
#include "zookeeper/requests.h"

enum {
	WAIT_MS = 30000,  /* for what must come; much more than it takes */
	QUIET_MS = 300,   /* in which what must not come would have come */
	TIMEOUT_MS = 4000, /* the longest session timeout that the server grants */
	REQUESTS_MAX = 16,
	WATCHES_MAX = 20,
	RECORDS_MAX = 2048,
};

/* An event as it was handed out, with copies of what it pointed to. */
struct record {
	enum port_event_type type;
	struct session_credentials credentials;
	uint64_t cookie;
	enum port_result result;
	int rc;
	bool write, answered, has_stat;
	int64_t sent_ns;
	struct port_stat stat;
	char data[256];
	size_t size, name_count;
	char names[8][64];
};

/* One port under test and all that it has said. */
struct client {
	struct port *port;
	unsigned count, lines;
	struct record records[RECORDS_MAX];
};

static const char *program;
static struct client first, second;
static char root[32]; /* a znode of its own for every scenario */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static const char *server(void)
{
	return getenv("TENURE_TEST_ZOOKEEPER");
}

/* Runs with-zookeeper --start or --stop; the library's descriptors are not for the server. */
static void control(const char *what)
{
	const char *script = getenv("TENURE_TEST_ZOOKEEPER_CONTROL");
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		closefrom(3);
		execl(script, script, what, getenv("TENURE_TEST_ZOOKEEPER_DIR"), (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* The pid of the server, or -1 while it is away. */
static int server_pid(void)
{
	char path[256];
	FILE *file;
	int pid = -1;

	snprintf(path, sizeof(path), "%s/pid", getenv("TENURE_TEST_ZOOKEEPER_DIR"));
	file = fopen(path, "re");
	if (!file)
		return -1;
	assert_int_equal(fscanf(file, "%d", &pid), 1);
	fclose(file);
	return pid;
}

/* Whether no thread of PID runs any more. */
static bool stopped(int pid)
{
	char path[64], line[128];
	struct dirent *entry;
	bool all = true;
	FILE *file;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	assert_non_null(dir);
	while (all && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/status", pid, entry->d_name);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file))
			if (strncmp(line, "State:", 6) == 0 && !strchr(line, 'T'))
				all = false;
		if (file)
			fclose(file);
	}
	closedir(dir);
	return all;
}

static void freeze_server(void)
{
	const int64_t until = now_ms() + WAIT_MS;
	const int pid = server_pid();

	assert_int_equal(kill(pid, SIGSTOP), 0);
	while (!stopped(pid)) {
		assert_true(now_ms() < until);
		poll(NULL, 0, 1);
	}
}

static void thaw_server(void)
{
	assert_int_equal(kill(server_pid(), SIGCONT), 0);
}

static void take_reply(struct record *r, const struct port_event *event)
{
	size_t i;

	r->cookie = event->u.reply.cookie;
	r->result = event->u.reply.result;
	r->rc = event->u.reply.rc;
	r->write = event->u.reply.write;
	r->answered = event->u.reply.answered;
	r->sent_ns = event->u.reply.sent_ns;
	r->has_stat = event->u.reply.stat != NULL;
	if (event->u.reply.stat)
		r->stat = *event->u.reply.stat;
	r->size = event->u.reply.size;
	if (r->size > 0 && r->size < sizeof(r->data))
		memcpy(r->data, event->u.reply.data, r->size);
	r->name_count = event->u.reply.name_count;
	for (i = 0; i < r->name_count && i < 8; i++)
		snprintf(r->names[i], sizeof(r->names[i]), "%s", event->u.reply.names[i]);
}

static void take(void *context, const struct port_event *event)
{
	struct client *c = context;
	struct record *r = &c->records[c->count];

	assert_true(c->count < RECORDS_MAX);
	c->count++;
	memset(r, 0, sizeof(*r));
	r->type = event->type;
	if (event->type == PORT_EV_CONNECTED)
		r->credentials = event->u.connected;
	else if (event->type == PORT_EV_WATCH)
		r->cookie = event->u.watch;
	else if (event->type == PORT_EV_REPLY)
		take_reply(r, event);
}

static void log_line(void *context, enum port_log_level level, const char *line)
{
	struct client *c = context;

	assert_true(level >= PORT_LOG_ERROR && level <= PORT_LOG_INFO);
	assert_null(strchr(line, '\n'));
	c->lines++;
}

/* Takes what comes until UNTIL_MS, a few at a time so that the bound is seen to lose nothing. */
static bool pump(struct client *c, int64_t until_ms)
{
	struct pollfd fd = {.fd = port_fd(c->port), .events = POLLIN};
	const int64_t left = until_ms - now_ms();

	if (left <= 0)
		return false;
	if (poll(&fd, 1, (int)left) == 1)
		assert_true(port_take(c->port, 3, take, c) <= 3);
	return true;
}

/* The first record from FROM on of TYPE, and of COOKIE unless that is 0; waits for it. */
static struct record *await(struct client *c, unsigned from, enum port_event_type type, uint64_t cookie)
{
	const int64_t until = now_ms() + WAIT_MS;
	unsigned i = from;

	do {
		for (; i < c->count; i++)
			if (c->records[i].type == type && (cookie == 0 || c->records[i].cookie == cookie))
				return &c->records[i];
	} while (pump(c, until));
	fail_msg("no event %d of cookie %lu", (int)type, (unsigned long)cookie);
	return NULL;
}

static struct record *await_reply(struct client *c, uint64_t cookie)
{
	return await(c, 0, PORT_EV_REPLY, cookie);
}

static unsigned seen(const struct client *c, enum port_event_type type, uint64_t cookie)
{
	unsigned i, n = 0;

	for (i = 0; i < c->count; i++)
		n += c->records[i].type == type && (cookie == 0 || c->records[i].cookie == cookie);
	return n;
}

/* What was queued before a round trip has been taken after it; then a while in which nothing must come. */
static void settle(struct client *c)
{
	const int64_t until = now_ms() + QUIET_MS;

	while (pump(c, until))
		;
}

static void start_client(struct client *c, unsigned requests_max)
{
	const struct port_config config = {
		.requests_max = requests_max,
		.watches_max = WATCHES_MAX,
		.log = log_line,
		.context = c,
	};

	memset(c, 0, sizeof(*c));
	assert_int_equal(port_new(&config, &c->port), 0);
}

static int open_as(struct client *c, const struct session_credentials *credentials)
{
	const char *const addresses[] = {server()};

	return port_open(c->port, addresses, 1, credentials);
}

/* Opens a new session and waits until it is connected. */
static struct session_credentials connect_client(struct client *c)
{
	const struct session_credentials fresh = {.timeout_ns = TIMEOUT_MS * TENURE_NS_PER_MS};
	const unsigned from = c->count;

	assert_int_equal(open_as(c, &fresh), 0);
	return await(c, from, PORT_EV_CONNECTED, 0)->credentials;
}

static const char *under_root(const char *name)
{
	static char path[4][128];
	static unsigned turn;
	char *out = path[turn++ % 4];

	snprintf(out, sizeof(path[0]), "%s/%s", root, name);
	return out;
}

static unsigned open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static unsigned descriptors_before;

/* A connected client and a znode of its own. */
static int setup(void **state)
{
	static unsigned scenario;

	(void)state;
	descriptors_before = open_descriptors();
	snprintf(root, sizeof(root), "/s%u", ++scenario);
	start_client(&first, REQUESTS_MAX);
	connect_client(&first);
	assert_int_equal(port_create(first.port, 1, root, NULL, 0, false, false), 0);
	assert_int_equal(await_reply(&first, 1)->result, PORT_OK);
	memset(&second, 0, sizeof(second));
	return 0;
}

/* No scenario may leave a descriptor open, nor a server that is away, even when it has failed. */
static int teardown(void **state)
{
	(void)state;
	if (server_pid() < 0)
		control("--start");
	thaw_server();
	port_free(first.port, WAIT_MS);
	port_free(second.port, WAIT_MS);
	memset(&first, 0, sizeof(first));
	memset(&second, 0, sizeof(second));
	return open_descriptors() == descriptors_before ? 0 : -1;
}

/* Goal: the five requests, their Stat and their data. Method: one znode through its whole life. */
static void test_life_of_a_znode(void **state)
{
	const int64_t before_ns = now_ms() * TENURE_NS_PER_MS;
	const char *path = under_root("a");
	struct record *r;

	(void)state;
	assert_int_equal(port_create(first.port, 2, path, "one", 3, false, false), 0);
	r = await_reply(&first, 2);
	assert_int_equal(r->result, PORT_OK);
	assert_string_equal(r->data, path);
	assert_true(r->write && r->answered && r->has_stat && r->sent_ns >= before_ns);
	assert_true(r->stat.czxid > 0 && r->stat.czxid == r->stat.mzxid);
	assert_int_equal(r->stat.ephemeral_owner, 0);
	assert_int_equal(port_set(first.port, 3, path, "three", 5, 0), 0);
	r = await_reply(&first, 3);
	assert_int_equal(r->result, PORT_OK);
	assert_true(r->write && r->stat.version == 1 && r->stat.mzxid > r->stat.czxid);
	assert_int_equal(port_get(first.port, 4, path, 0), 0);
	r = await_reply(&first, 4);
	assert_true(r->result == PORT_OK && r->answered && !r->write);
	assert_string_equal(r->data, "three");
	assert_int_equal(r->size, 5);
	assert_int_equal(port_children(first.port, 5, root, 0), 0);
	r = await_reply(&first, 5);
	assert_true(r->result == PORT_OK && r->has_stat && r->name_count == 1);
	assert_string_equal(r->names[0], "a");
	assert_int_equal(port_children(first.port, 6, path, 0), 0);
	assert_int_equal(await_reply(&first, 6)->name_count, 0);
	assert_int_equal(port_delete(first.port, 7, path, 1), 0);
	r = await_reply(&first, 7);
	assert_true(r->result == PORT_OK && r->write && !r->has_stat);
	assert_int_equal(seen(&first, PORT_EV_REPLY, 0), 7);
}

/* Goal: a server's refusals are told apart, and all count as answers. Method: provoke each. */
static void test_refusals(void **state)
{
	static const enum port_result expected[] = {
		PORT_NODEEXISTS, PORT_NONODE, PORT_BADVERSION, PORT_NOTEMPTY,
		PORT_REFUSED,    PORT_NONODE, PORT_NONODE,
	};
	struct record *r;
	unsigned i;

	(void)state;
	assert_int_equal(port_create(first.port, 2, under_root("e"), "", 0, true, false), 0);
	assert_int_equal(port_create(first.port, 10, root, "", 0, false, false), 0);
	assert_int_equal(port_set(first.port, 11, under_root("no"), "", 0, -1), 0);
	assert_int_equal(port_set(first.port, 12, root, "", 0, 77), 0);
	assert_int_equal(port_delete(first.port, 13, root, -1), 0);
	assert_int_equal(port_create(first.port, 14, under_root("e/child"), "", 0, false, false), 0);
	assert_int_equal(port_get(first.port, 15, under_root("no"), 5), 0);
	assert_int_equal(port_children(first.port, 16, under_root("no"), 5), 0);
	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		r = await_reply(&first, 10 + i);
		assert_int_equal(r->result, expected[i]);
		assert_true(r->answered && r->rc != 0 && !r->has_stat);
		assert_true(strlen(port_error_text(r->rc)) > 0);
	}
}

/*
 * Goal: what the library or the server would choke on is refused at once, without a reply. Method:
 * one of each.
 */
static void test_bad_requests(void **state)
{
	static char big[TENURE_RECORD_MAX + 1], path[5000];

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	assert_int_equal(port_get(first.port, 2, "no-slash", 3), -EINVAL);
	assert_int_equal(port_get(first.port, 2, "/a//b", 3), -EINVAL);
	assert_int_equal(port_get(first.port, 2, path, 3), -ENAMETOOLONG);
	assert_int_equal(port_set(first.port, 2, root, big, sizeof(big), -1), -EMSGSIZE);
	assert_int_equal(port_set(first.port, 4, root, big, sizeof(big) - 1, -1), 0);
	assert_int_equal(await_reply(&first, 4)->result, PORT_OK);
	assert_int_equal(port_get(first.port, 5, root, 0), 0);
	assert_int_equal(await_reply(&first, 5)->size, sizeof(big) - 1);
	assert_int_equal(seen(&first, PORT_EV_REPLY, 2), 0);
}

/* Goal: a candidate's znode. Method: make two and look at names and owners. */
static void test_ephemeral_sequential(void **state)
{
	struct record *a, *b;

	(void)state;
	assert_int_equal(port_create(first.port, 2, under_root("c-"), "", 0, true, true), 0);
	assert_int_equal(port_create(first.port, 3, under_root("c-"), "", 0, true, true), 0);
	b = await_reply(&first, 3);
	a = await_reply(&first, 2);
	assert_string_equal(a->data, under_root("c-0000000000"));
	assert_string_equal(b->data, under_root("c-0000000001"));
	assert_int_equal(a->stat.ephemeral_owner, first.records[0].credentials.id);
	assert_true(b->stat.czxid > a->stat.czxid);
}

/*
 * Goal: a data watch fires once for each use, however often it was armed. Method: arm, change, arm
 * again.
 */
static void test_data_watch(void **state)
{
	(void)state;
	start_client(&second, REQUESTS_MAX);
	connect_client(&second);
	assert_int_equal(port_get(first.port, 2, root, 50), 0);
	assert_int_equal(port_get(first.port, 3, root, 50), 0);
	assert_int_equal(port_get(first.port, 4, root, 51), 0);
	await_reply(&first, 4);
	assert_int_equal(port_set(second.port, 2, root, "x", 1, -1), 0);
	assert_int_equal(port_set(second.port, 3, root, "y", 1, -1), 0);
	await_reply(&second, 3);
	await(&first, 0, PORT_EV_WATCH, 50);
	settle(&first);
	assert_int_equal(seen(&first, PORT_EV_WATCH, 50), 1);
	assert_int_equal(seen(&first, PORT_EV_WATCH, 51), 1);
	assert_int_equal(port_get(first.port, 5, root, 50), 0);
	await_reply(&first, 5);
	assert_int_equal(port_set(second.port, 4, root, "z", 1, -1), 0);
	await_reply(&second, 4);
	settle(&first);
	assert_int_equal(seen(&first, PORT_EV_WATCH, 50), 2);
	assert_int_equal(seen(&first, PORT_EV_WATCH, 51), 1);
}

/*
 * Goal: a children watch on an ephemeral znode fires on its deletion alone. Method: change its data,
 * then delete it.
 */
static void test_children_watch_on_ephemeral(void **state)
{
	(void)state;
	start_client(&second, REQUESTS_MAX);
	connect_client(&second);
	assert_int_equal(port_create(second.port, 2, under_root("e"), "", 0, true, false), 0);
	await_reply(&second, 2);
	assert_int_equal(port_children(first.port, 2, under_root("e"), 60), 0);
	assert_true(await_reply(&first, 2)->stat.ephemeral_owner != 0);
	assert_int_equal(port_set(second.port, 3, under_root("e"), "x", 1, -1), 0);
	await_reply(&second, 3);
	settle(&first);
	assert_int_equal(seen(&first, PORT_EV_WATCH, 0), 0);
	assert_int_equal(port_close_session(second.port, WAIT_MS), 0);
	await(&first, 0, PORT_EV_WATCH, 60);
	assert_int_equal(port_children(first.port, 4, under_root("e"), 60), 0);
	assert_int_equal(await_reply(&first, 4)->result, PORT_NONODE);
	settle(&first);
	assert_int_equal(seen(&first, PORT_EV_WATCH, 60), 1);
}

/*
 * Goal: contexts of used watches are given back. Method: use more of them one after the other than
 * fit at once.
 */
static void test_watches_are_bounded(void **state)
{
	uint64_t i;
	int rc = 0;

	(void)state;
	for (i = 0; i < 2 * WATCHES_MAX; i++) {
		assert_int_equal(port_get(first.port, 1000 + i, root, 5000 + i), 0);
		assert_int_equal(port_get(first.port, 2000 + i, under_root("no"), 7000 + i), 0);
		assert_int_equal(port_set(first.port, 3000 + i, root, "", 0, -1), 0);
		await_reply(&first, 3000 + i);
		await(&first, 0, PORT_EV_WATCH, 5000 + i);
	}
	for (i = 0; i < 2 * WATCHES_MAX; i++) {
		first.count = 0;
		rc = port_get(first.port, 10, root, 9000 + i);
		if (rc < 0)
			break;
		await_reply(&first, 10);
	}
	assert_int_equal(rc, -EAGAIN);
	assert_int_equal(i, WATCHES_MAX);
	assert_int_equal(port_get(first.port, 11, root, 9000), 0);
	await_reply(&first, 11);
}

/*
 * Another process: makes a session and an ephemeral znode, says who it is on standard output, and
 * waits to be killed.
 */
static int be_killed(void)
{
	struct session_credentials credentials;

	start_client(&second, REQUESTS_MAX);
	credentials = connect_client(&second);
	port_create(second.port, 2, "/killed", "", 0, true, false);
	if (await_reply(&second, 2)->result != PORT_OK)
		return 1;
	if (write(STDOUT_FILENO, &credentials, sizeof(credentials)) != sizeof(credentials))
		return 1;
	for (;;)
		pause();
}

/* The credentials of a process that has been killed. */
static struct session_credentials left_behind(void)
{
	struct session_credentials credentials;
	int pipe_fds[2];
	pid_t pid;

	assert_int_equal(pipe(pipe_fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(pipe_fds[1], STDOUT_FILENO);
		closefrom(3);
		execl(program, program, "--be-killed", (char *)NULL);
		_exit(127);
	}
	close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &credentials, sizeof(credentials)), sizeof(credentials));
	close(pipe_fds[0]);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return credentials;
}

/*
 * Goal: another process takes a session up again. Method: kill its owner, open it, find the znode
 * still its own, end it.
 */
static void test_resumption(void **state)
{
	const struct session_credentials credentials = left_behind();
	struct record *r;

	(void)state;
	start_client(&second, REQUESTS_MAX);
	assert_int_equal(open_as(&second, &credentials), 0);
	r = await(&second, 0, PORT_EV_CONNECTED, 0);
	assert_int_equal(r->credentials.id, credentials.id);
	assert_int_equal(r->credentials.timeout_ns, credentials.timeout_ns);
	assert_memory_equal(r->credentials.password, credentials.password, SESSION_PASSWORD_SIZE);
	assert_int_equal(port_get(second.port, 3, "/killed", 0), 0);
	assert_int_equal(await_reply(&second, 3)->stat.ephemeral_owner, credentials.id);
	assert_int_equal(port_close_session(second.port, WAIT_MS), 0);
	assert_int_equal(port_get(first.port, 4, "/killed", 0), 0);
	assert_int_equal(await_reply(&first, 4)->result, PORT_NONODE);
}

/* Takes the session and ends it, unless it is gone already or its other owner evicts us. */
static void end_session_of(const struct session_credentials *credentials)
{
	const int64_t until = now_ms() + WAIT_MS;

	start_client(&second, REQUESTS_MAX);
	assert_int_equal(open_as(&second, credentials), 0);
	while (seen(&second, PORT_EV_CONNECTED, 0) + seen(&second, PORT_EV_EXPIRED, 0) == 0)
		assert_true(pump(&second, until));
	port_close_session(second.port, WAIT_MS);
	port_free(second.port, WAIT_MS);
	memset(&second, 0, sizeof(second));
}

/*
 * Goal: expiry is told once and ends the handle; a fresh one works. Method: another port takes the
 * session and ends it. The server goes on to answer pings on the old connection; a write makes it look.
 */
static void test_expiry(void **state)
{
	const struct session_credentials credentials = first.records[0].credentials;
	struct session_credentials fresh;
	unsigned i;

	(void)state;
	assert_int_equal(port_get(first.port, 2, root, 70), 0);
	await_reply(&first, 2);
	for (i = 0; i < 50 && seen(&first, PORT_EV_EXPIRED, 0) == 0; i++) {
		end_session_of(&credentials);
		if (port_set(first.port, 100 + i, under_root("no"), "", 0, -1) == 0)
			await_reply(&first, 100 + i);
		settle(&first);
	}
	settle(&first);
	assert_int_equal(seen(&first, PORT_EV_EXPIRED, 0), 1);
	assert_int_equal(seen(&first, PORT_EV_WATCH, 0), 0);
	assert_int_equal(port_get(first.port, 3, root, 0), -ENOTCONN);
	fresh = connect_client(&first);
	assert_true(fresh.id != credentials.id);
	assert_int_equal(port_get(first.port, 4, root, 0), 0);
	assert_int_equal(await_reply(&first, 4)->result, PORT_OK);
}

/*
 * Goal: a server that goes and comes back costs the outstanding requests and nothing else: one
 * DISCONNECTED, UNKNOWN for each of them, CONNECTED with the same session, no watch used up.
 * Method: freeze the server, ask, kill it, start it again.
 */
static void test_server_restart(void **state)
{
	const int64_t id = first.records[0].credentials.id;
	struct record *r;
	unsigned from, i;

	(void)state;
	assert_int_equal(port_get(first.port, 2, root, 80), 0);
	await_reply(&first, 2);
	from = first.count;
	freeze_server();
	for (i = 0; i < 5; i++)
		assert_int_equal(port_set(first.port, 10 + i, root, "lost", 4, 0), 0);
	control("--stop");
	r = await(&first, from, PORT_EV_DISCONNECTED, 0);
	assert_ptr_equal(r, &first.records[from]);
	for (i = 0; i < 5; i++) {
		r = await_reply(&first, 10 + i);
		assert_ptr_equal(r, &first.records[from + 1 + i]);
		assert_true(r->result == PORT_UNKNOWN && !r->answered && r->write && r->sent_ns > 0);
	}
	assert_int_equal(port_get(first.port, 20, root, 0), -ENOTCONN);
	control("--start");
	r = await(&first, from, PORT_EV_CONNECTED, 0);
	assert_int_equal(r->credentials.id, id);
	settle(&first);
	assert_int_equal(first.count, from + 7);
	assert_int_equal(port_set(first.port, 21, root, "x", 1, -1), 0);
	await_reply(&first, 21);
	await(&first, from, PORT_EV_WATCH, 80);
	settle(&first);
	assert_int_equal(seen(&first, PORT_EV_WATCH, 80), 1);
}

/*
 * Goal: no more than requests_max are outstanding, and none is lost. Method: fill a frozen server's
 * queue.
 */
static void test_requests_max(void **state)
{
	unsigned i;

	(void)state;
	freeze_server();
	for (i = 0; i < REQUESTS_MAX; i++)
		assert_int_equal(port_get(first.port, 100 + i, root, 0), 0);
	assert_int_equal(port_get(first.port, 200, root, 0), -EAGAIN);
	thaw_server();
	for (i = 0; i < REQUESTS_MAX; i++)
		assert_int_equal(await_reply(&first, 100 + i)->result, PORT_OK);
	assert_int_equal(port_get(first.port, 201, root, 0), 0);
	await_reply(&first, 201);
	assert_int_equal(seen(&first, PORT_EV_REPLY, 200), 0);
	assert_int_equal(seen(&first, PORT_EV_REPLY, 100), 1);
}

/*
 * Goal: credentials and the three ACLs, also after a reconnect. Method: one who knows the secret and
 * one who does not.
 */
static void test_auth(void **state)
{
	(void)state;
	start_client(&second, REQUESTS_MAX);
	assert_int_equal(port_add_auth(second.port, "digest", "u:secret", 8), 0);
	connect_client(&second);
	port_set_acl(second.port, PORT_ACL_CREATOR);
	assert_int_equal(port_create(second.port, 2, under_root("c"), "", 0, false, false), 0);
	assert_int_equal(await_reply(&second, 2)->result, PORT_OK);
	port_set_acl(second.port, PORT_ACL_PRIVATE);
	assert_int_equal(port_create(second.port, 3, under_root("p"), "", 0, false, false), 0);
	assert_int_equal(await_reply(&second, 3)->result, PORT_OK);
	assert_int_equal(port_get(first.port, 2, under_root("c"), 0), 0);
	assert_int_equal(await_reply(&first, 2)->result, PORT_OK);
	assert_int_equal(port_set(first.port, 3, under_root("c"), "", 0, -1), 0);
	assert_int_equal(await_reply(&first, 3)->result, PORT_NOAUTH);
	assert_int_equal(port_get(first.port, 4, under_root("p"), 0), 0);
	assert_int_equal(await_reply(&first, 4)->result, PORT_NOAUTH);
	port_set_acl(first.port, PORT_ACL_CREATOR);
	assert_int_equal(port_create(first.port, 5, under_root("x"), "", 0, false, false), 0);
	assert_int_equal(await_reply(&first, 5)->result, PORT_REFUSED);
	control("--stop");
	await(&second, 0, PORT_EV_DISCONNECTED, 0);
	control("--start");
	await(&second, second.count, PORT_EV_CONNECTED, 0);
	assert_int_equal(port_set(second.port, 6, under_root("p"), "x", 1, 0), 0);
	assert_int_equal(await_reply(&second, 6)->result, PORT_OK);
}

/*
 * Goal: a refused credential ends the handle. Method: a scheme that no server knows, and more
 * credentials than fit.
 */
static void test_auth_failed(void **state)
{
	const struct session_credentials fresh = {.timeout_ns = TIMEOUT_MS * TENURE_NS_PER_MS};
	bool accepted;
	unsigned i;

	(void)state;
	start_client(&second, REQUESTS_MAX);
	for (i = 0; i < 8; i++)
		assert_int_equal(port_add_auth(second.port, "nonesuch", "x", 1), 0);
	assert_int_equal(port_add_auth(second.port, "nonesuch", "x", 1), -ENOSPC);
	assert_int_equal(open_as(&second, &fresh), 0);
	await(&second, 0, PORT_EV_CONNECTED, 0);
	/* The library sends its packet with the first request, if it has not done so by itself. */
	accepted = port_get(second.port, 2, root, 0) == 0;
	await(&second, 0, PORT_EV_AUTH_FAILED, 0);
	if (accepted)
		assert_int_equal(await_reply(&second, 2)->result, PORT_UNKNOWN);
	assert_int_equal(port_get(second.port, 3, root, 0), -ENOTCONN);
	settle(&second);
	assert_int_equal(seen(&second, PORT_EV_AUTH_FAILED, 0), 1);
}

/* A loopback port on which nobody listens, or the listening socket in *LISTENER. */
static void loopback(char address[32], int *listener)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &size), 0);
	snprintf(address, 32, "127.0.0.1:%u", (unsigned)ntohs(in.sin_port));
	if (listener) {
		assert_int_equal(listen(fd, 4), 0);
		*listener = fd;
	} else {
		close(fd);
	}
}

/*
 * Goal: a dead address is no error and no event, only log lines. Method: open one; then names and
 * other wrong ones.
 */
static void test_addresses(void **state)
{
	static const char *const wrong[] = {
		"localhost:2181", "127.0.0.1", ":2181", "127.0.0.1:x", "[::1]:2181",
		"127.0.0.1:2181/chroot", "",
	};
	const struct session_credentials fresh = {.timeout_ns = TIMEOUT_MS * TENURE_NS_PER_MS};
	const struct session_credentials wrong_timeout = {.timeout_ns = 1};
	const char *addresses[2];
	char dead[32], buf[64];
	unsigned i;

	(void)state;
	start_client(&second, REQUESTS_MAX);
	loopback(dead, NULL);
	addresses[0] = dead;
	assert_int_equal(port_open(second.port, addresses, 1, &fresh), 0);
	while (second.lines < 3)
		assert_true(pump(&second, now_ms() + WAIT_MS));
	assert_int_equal(second.count, 0);
	assert_int_equal(port_get(second.port, 2, root, 0), -ENOTCONN);
	assert_int_equal(port_server(second.port, buf, sizeof(buf)), -ENOTCONN);
	assert_int_equal(port_close_session(second.port, 0), -ENOTCONN);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(port_open(second.port, &wrong[i], 1, &fresh), -EINVAL);
	addresses[1] = server();
	assert_int_equal(port_open(second.port, addresses, 2, &wrong_timeout), -EINVAL);
	assert_int_equal(port_open(second.port, addresses, 0, &fresh), -EINVAL);
	assert_int_equal(port_get(second.port, 2, root, 0), -ENOTCONN);
	assert_int_equal(port_open(second.port, addresses, 2, &fresh), 0);
	await(&second, 0, PORT_EV_CONNECTED, 0);
	assert_int_equal(port_server(second.port, buf, 5), -ENAMETOOLONG);
	assert_int_equal(port_server(second.port, buf, sizeof(buf)), 0);
	assert_string_equal(buf, server());
}

/*
 * Goal: of a handle that was given up nothing is seen but UNKNOWN, once, for what was outstanding.
 * Method: ask a frozen server, with a watch and with a reply that is already queued, and open anew.
 */
static void test_abandoned_handle(void **state)
{
	const int64_t id = first.records[0].credentials.id;
	const struct session_credentials fresh = {.timeout_ns = TIMEOUT_MS * TENURE_NS_PER_MS};
	struct pollfd fd = {.fd = port_fd(first.port), .events = POLLIN};
	unsigned from;
	int64_t began;

	(void)state;
	assert_int_equal(port_get(first.port, 2, root, 90), 0);
	await_reply(&first, 2);
	settle(&first);
	from = first.count;
	assert_int_equal(port_get(first.port, 3, root, 0), 0);
	assert_int_equal(poll(&fd, 1, WAIT_MS), 1);
	freeze_server();
	assert_int_equal(port_set(first.port, 4, root, "x", 1, -1), 0);
	began = now_ms();
	assert_int_equal(open_as(&first, &fresh), 0);
	assert_true(now_ms() - began < 1000);
	thaw_server();
	assert_true(await(&first, from, PORT_EV_CONNECTED, 0)->credentials.id != id);
	settle(&first);
	assert_int_equal(first.records[from].cookie, 3);
	assert_int_equal(first.records[from].result, PORT_UNKNOWN);
	assert_int_equal(first.records[from + 1].cookie, 4);
	assert_int_equal(first.records[from + 1].result, PORT_UNKNOWN);
	assert_int_equal(first.count, from + 3);
}

/* Goal: a frozen server does not hold the owner up. Method: end a session there with little patience. */
static void test_close_of_frozen(void **state)
{
	int64_t began;

	(void)state;
	freeze_server();
	assert_int_equal(port_get(first.port, 2, root, 0), 0);
	began = now_ms();
	assert_int_equal(port_close_session(first.port, 200), -ETIMEDOUT);
	assert_true(now_ms() - began >= 200 && now_ms() - began < 1200);
	assert_int_equal(port_close_session(first.port, 0), 0);
	assert_int_equal(await_reply(&first, 2)->result, PORT_UNKNOWN);
	thaw_server();
}

/*
 * Goal: a port may be freed before its handles are closed. Method: free it beside a frozen server
 * without waiting.
 */
static void test_free_without_wait(void **state)
{
	const int64_t until = now_ms() + WAIT_MS;

	(void)state;
	start_client(&second, REQUESTS_MAX);
	connect_client(&second);
	freeze_server();
	port_free(second.port, 0);
	memset(&second, 0, sizeof(second));
	thaw_server();
	/* Its thread ends behind our back: wait for its descriptors, the first port's aside. */
	port_free(first.port, WAIT_MS);
	memset(&first, 0, sizeof(first));
	while (open_descriptors() != descriptors_before) {
		assert_true(now_ms() < until);
		poll(NULL, 0, 10);
	}
}

/*
 * Goal: what is no ZooKeeper is told as BROKEN, once. Method: a listener that answers as a web server
 * does.
 */
static void test_not_a_zookeeper(void **state)
{
	static const char answer[] = "HTTP/1.1 400 Bad Request\r\n"
				     "Content-Type: text/plain\r\nContent-Length: 0\r\n\r\n";
	const struct session_credentials fresh = {.timeout_ns = TIMEOUT_MS * TENURE_NS_PER_MS};
	const char *addresses[1];
	char address[32];
	int listener, fd;

	(void)state;
	start_client(&second, REQUESTS_MAX);
	loopback(address, &listener);
	addresses[0] = address;
	assert_int_equal(port_open(second.port, addresses, 1, &fresh), 0);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, answer, sizeof(answer) - 1), sizeof(answer) - 1);
	await(&second, 0, PORT_EV_BROKEN, 0);
	settle(&second);
	assert_int_equal(second.count, 1);
	assert_int_equal(port_get(second.port, 2, root, 0), -ENOTCONN);
	close(fd);
	close(listener);
	connect_client(&second);
	assert_int_equal(port_get(second.port, 3, root, 0), 0);
	assert_int_equal(await_reply(&second, 3)->result, PORT_OK);
}

/* Goal: a full queue breaks instead of growing or losing in silence. Method: one item more than it holds. */
static void test_queue_overflow(void **state)
{
	const struct port_item item = {.type = PORT_EV_DISCONNECTED};
	struct port_events *e;
	struct port_item out;
	unsigned i;

	(void)state;
	assert_int_equal(port_events_new(4, &e), 0);
	pthread_mutex_lock(&e->lock);
	for (i = 0; i < 4; i++)
		port_events_push(e, &item);
	assert_false(e->broken);
	port_events_push(e, &item);
	assert_true(e->broken);
	for (i = 0; i < 4; i++)
		assert_true(port_events_pop(e, &out));
	assert_false(port_events_pop(e, &out));
	port_events_push(e, &item);
	assert_false(port_events_pop(e, &out));
	port_events_clear(e);
	port_events_push(e, &item);
	assert_true(port_events_pop(e, &out));
	pthread_mutex_unlock(&e->lock);
	port_events_unref(e);
}

/* Goal: only a server's word counts as an answer. Method: the library's own codes. */
static void test_codes_without_answer(void **state)
{
	static const int unknown[] = {-1, -2, -3, -4, -5, -7, -9, -15, -112, -115, -116, -117};
	bool answered;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		assert_int_equal(port_result_of(unknown[i], &answered), PORT_UNKNOWN);
		assert_false(answered);
	}
	assert_int_equal(port_result_of(-118, &answered), PORT_REFUSED);
	assert_true(answered);
	assert_string_equal(port_error_text(PORT_RC_LISTING), "too many children to list");
}

/*
 * Goal: more log lines than are kept cost the lines and nothing else. Method: many lines nobody takes,
 * then a take.
 */
static void test_log_is_bounded(void **state)
{
	unsigned i;

	(void)state;
	start_client(&second, REQUESTS_MAX);
	for (i = 0; i < 100; i++)
		port_log_line("2025-01-01 00:00:00,000:1(0x1):ZOO_WARN@test@1: line\n");
	assert_int_equal(port_take(second.port, 1, take, &second), 0);
	assert_int_equal(port_take(second.port, 1, take, &second), 0);
	assert_int_equal(second.lines, 64 + 1);
	port_log_line(":ZOO_");
	port_log_line("");
	assert_int_equal(port_take(second.port, 1, take, &second), 0);
	assert_int_equal(second.lines, 64 + 3);
}

#define SCENARIO(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		SCENARIO(test_life_of_a_znode),
		SCENARIO(test_refusals),
		SCENARIO(test_bad_requests),
		SCENARIO(test_ephemeral_sequential),
		SCENARIO(test_data_watch),
		SCENARIO(test_children_watch_on_ephemeral),
		SCENARIO(test_watches_are_bounded),
		SCENARIO(test_resumption),
		SCENARIO(test_expiry),
		SCENARIO(test_server_restart),
		SCENARIO(test_requests_max),
		SCENARIO(test_auth),
		SCENARIO(test_auth_failed),
		SCENARIO(test_addresses),
		SCENARIO(test_abandoned_handle),
		SCENARIO(test_close_of_frozen),
		SCENARIO(test_free_without_wait),
		SCENARIO(test_not_a_zookeeper),
		cmocka_unit_test(test_queue_overflow),
		cmocka_unit_test(test_codes_without_answer),
		SCENARIO(test_log_is_bounded),
	};

	if (!server()) {
		fprintf(stderr, "run me with tests/support/with-zookeeper\n");
		return 1;
	}
	program = argv[0];
	if (argc == 2 && strcmp(argv[1], "--be-killed") == 0)
		return be_killed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
