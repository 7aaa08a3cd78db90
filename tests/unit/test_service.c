/* The service of an election, with real processes: started, ended with all that it has started, started again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "process_support.h"

#include <sys/prctl.h>

#include "supervisor/service.h"

static struct service service;
static struct config_election config;
static char script[160];
static char *words[] = {script, NULL};
static unsigned gone, mirrored;
static pid_t mirrored_pid;
static const char *mark = "TENURE_ELECTION=pg";

static char **make_environment(struct service *s, int64_t now_ns)
{
	static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", event[] = "TENURE_EVENT=service";
	char **list = calloc(4, sizeof(*list));

	(void)s;
	(void)now_ns;
	list[0] = path;
	list[1] = event;
	list[2] = (char *)(uintptr_t)mark;
	return list;
}

static void on_mirror(struct service *s)
{
	mirrored++;
	mirrored_pid = service_pid(s);
}

static void on_gone(struct service *s)
{
	s->gone = false;
	gone++;
}

static const struct service_calls calls = {.environment = make_environment, .mirror = on_mirror, .gone = on_gone};

static int set_up(void **state)
{
	(void)state;
	if (world_open() < 0)
		return -1;
	gone = mirrored = 0;
	config = (struct config_election){.service = {.command = {.words = words, .count = 1}}};
	service_init(&service, &world.table, world.directory, "pg", &calls);
	service_configure(&service, &config);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	service_close(&service);
	world_close();
	return 0;
}

static void turn(void)
{
	world_turn();
	if (service_deadline(&service) <= clock_now_ns())
		service_timer(&service, clock_now_ns());
}

#define turn_until(condition)                   \
	do {                                    \
		alarm(WORLD_PATIENCE_S);        \
		while (!(condition))            \
			turn();                 \
		alarm(0);                       \
	} while (0)

static void start(const char *text)
{
	world_script(script, "service", text);
	service_start(&service, clock_now_ns());
}

/* The pid that the service has written into the file NAME. */
static pid_t written(const char *name)
{
	turn_until(strchr(world_file(name), '\n') != NULL);
	return (pid_t)atol(world_file(name));
}

static bool has_cgroup(void)
{
	return service.cgroup.fd >= 0;
}

/* ---- the tests ---- */

/*
 * Goal: it is mirrored before it runs and with its pid, ends at SIGTERM with its group, and is gone only then.
 */
static void started_and_stopped(void **state)
{
	pid_t child, leader;

	(void)state;
	start("#!/bin/sh\ncd ${0%/*}\nsleep 300 &\necho $! >child\nwait\n");
	child = written("child");
	leader = service_pid(&service);
	assert_true(leader > 0);
	assert_int_equal(mirrored, 2);
	assert_int_equal(mirrored_pid, leader);
	assert_int_equal(getsid(leader), leader);
	service_stop(&service, clock_now_ns());
	assert_false(service.gone);
	turn_until(gone);
	assert_false(world_alive(leader));
	assert_false(world_alive(child));
	assert_int_equal(service.phase, SERVICE_NONE);
	assert_int_equal(service_deadline(&service), CLOCK_NEVER);
	assert_int_equal(mirrored_pid, 0);
	assert_int_equal(gone, 1);
}

/*
 * Goal: its output goes where the agent's goes, and not through the log.
 */
static void output_is_inherited(void **state)
{
	(void)state;
	start("#!/bin/sh\necho plain words >&2\n");
	turn_until(gone);
	assert_int_equal(world_logged("\nplain words\n"), 1);
	assert_int_equal(world_logged("text=\"plain words\""), 0);
}

/*
 * Goal: TERM does not end it, KILL does, with all that it has started: also what has left its group, its session and
 * its environment, where there is a control group; and what has left only some of these, where there is none.
 */
static void kill_the_tree(bool with_cgroup)
{
	static const char *const names[] = {"child", "session", "bare", "daemon"};
	pid_t pids[4];

	if (!with_cgroup)
		service.has_cgroup = false;
	start("#!/bin/sh\ntrap '' TERM\ncd ${0%/*}\nsleep 300 &\necho $! >child\n"
	      "setsid sh -c 'echo $$ >session; trap \"\" TERM; exec sleep 300' &\n"
	      "bash -c 'set -m; env -i sh -c \"echo \\$\\$ >bare; trap : TERM; while :; do sleep 300; done\" &' &\n"
	      "(setsid env -i sh -c 'echo $$ >daemon; trap \"\" TERM; exec sleep 300' &)\n"
	      "exec sleep 300\n");
	for (size_t i = 0; i < 4; i++)
		pids[i] = written(names[i]);
	if (with_cgroup && !has_cgroup())
		skip();
	service_stop(&service, clock_now_ns());
	for (int i = 0; i < 50; i++)
		turn();
	assert_int_equal(gone, 0);
	assert_true(world_alive(service_pid(&service)));
	service_kill(&service, clock_now_ns());
	assert_int_equal(service.gone, 0);
	turn_until(gone);
	for (size_t i = 0; i < 3; i++)
		assert_false(world_alive(pids[i]));
	/* An orphan that has left all three is not to be found without. */
	if (with_cgroup)
		assert_false(world_alive(pids[3]));
	kill(pids[3], SIGKILL);
}

static void tree_in_control_group(void **state)
{
	(void)state;
	kill_the_tree(true);
}

static void tree_without_control_group(void **state)
{
	(void)state;
	kill_the_tree(false);
}

/*
 * Goal: what it leaves behind when it ends by itself is killed before it is said to be gone; a daemon that another
 * hook of the election has started goes on.
 */
static void rest_is_cleared(void **state)
{
	pid_t rest, other = fork();

	(void)state;
	if (other == 0) {
		execle("/bin/sleep", "sleep", "300", NULL,
		       (char *[]){(char *)(uintptr_t)mark, (char *)(uintptr_t)"TENURE_EVENT=gain", NULL});
		_exit(127);
	}
	start("#!/bin/sh\ncd ${0%/*}\nsetsid sh -c 'echo $$ >rest; exec sleep 300' &\n"
	      "while ! [ -s rest ]; do sleep 0.01; done\n");
	turn_until(gone);
	rest = written("rest");
	assert_false(world_alive(rest));
	assert_true(world_alive(other));
	assert_int_equal(world_logged("ended by itself"), 1);
	kill(other, SIGKILL);
}

/*
 * Goal: on_exit = leave: gone at once, also when it could not be executed at all.
 */
static void leaves(void **state)
{
	(void)state;
	start("#!/bin/sh\nexit 3\n");
	turn_until(gone);
	assert_int_equal(world_logged("end=\"exit status 3\""), 1);
	unlink(script);
	service_start(&service, clock_now_ns());
	turn_until(gone == 2);
	assert_int_equal(world_logged("No such file or directory"), 1);
}

/*
 * Goal: on_exit = restart: so many times in a row, each later than the one before, then gone.
 */
static void restarts_are_limited(void **state)
{
	int64_t began_ns = clock_now_ns();

	(void)state;
	config.service.on_exit = CONFIG_EXIT_RESTART;
	config.service.restart_limit = 2;
	start("#!/bin/sh\ncd ${0%/*}\necho run >>runs\nexit 1\n");
	turn_until(gone);
	assert_string_equal(world_file("runs"), "run\nrun\nrun\n");
	assert_true(clock_now_ns() - began_ns >= INT64_C(3000000000));
	assert_int_equal(service.phase, SERVICE_NONE);
}

/*
 * Goal: a life of a minute makes up for the ends before it.
 */
static void long_life_counts(void **state)
{
	(void)state;
	config.service.on_exit = CONFIG_EXIT_RESTART;
	config.service.restart_limit = 1;
	start("#!/bin/sh\nexit 1\n");
	service.restarts = 1;
	service.process.started_ns -= INT64_C(61000000000);
	turn_until(service.phase == SERVICE_WAITING);
	assert_int_equal(gone, 0);
	service_stop(&service, clock_now_ns());
}

/*
 * Goal: asked to end while it waits to be started again, it is gone at once and is not started any more.
 */
static void stopped_while_waiting(void **state)
{
	(void)state;
	config.service.on_exit = CONFIG_EXIT_RESTART;
	config.service.restart_limit = 5;
	start("#!/bin/sh\nexit 1\n");
	turn_until(service.phase == SERVICE_WAITING);
	assert_int_equal(gone, 0);
	service_stop(&service, clock_now_ns());
	assert_true(service.gone);
	assert_int_equal(service_deadline(&service), CLOCK_NEVER);
	assert_int_equal(service.phase, SERVICE_NONE);
}

/*
 * Goal: a service that an earlier image of this process has started is taken up, and watched to its end; what is no
 * child of ours is not; one that was about to be started again is.
 */
static void taken_up(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		setsid();
		execl("/bin/sleep", "sleep", "300", NULL);
		_exit(127);
	}
	turn_until(getsid(pid) == pid);
	assert_false(service_resume(&service, 1, clock_now_ns()));
	assert_true(service_resume(&service, pid, clock_now_ns()));
	assert_int_equal(service_pid(&service), pid);
	service_stop(&service, clock_now_ns());
	turn_until(gone);
	assert_false(world_alive(pid));

	config.service.on_exit = CONFIG_EXIT_RESTART;
	config.service.restart_limit = 1;
	service.stopping = false;
	assert_true(service_resume(&service, 0, clock_now_ns()));
	assert_int_equal(service.phase, SERVICE_WAITING);
	service_stop(&service, clock_now_ns());
}

/*
 * Goal: another agent's service of the same election, in the same control group as this agent, is not ours to kill;
 * what a dead supervisor of ours has left is.
 */
static void only_our_own_group(void **state)
{
	struct service other;
	pid_t pid;

	(void)state;
	start("#!/bin/sh\nexec sleep 300\n");
	if (!has_cgroup())
		skip();
	turn_until(cgroup_populated(&service.cgroup));
	pid = service_pid(&service);
	mark = "TENURE_ELECTION=other"; /* so that only the group tells */
	service_init(&other, &world.table, "/another", "pg", &calls);
	service_end_left(&other);
	assert_true(world_alive(pid));

	service_init(&other, &world.table, world.directory, "pg", &calls);
	mark = "TENURE_ELECTION=pg";
	service_end_left(&other);
	turn_until(gone);
	assert_false(world_alive(pid));
}

#define scenario(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scenario(started_and_stopped), scenario(output_is_inherited), scenario(tree_in_control_group),
		scenario(tree_without_control_group), scenario(rest_is_cleared), scenario(leaves),
		scenario(restarts_are_limited), scenario(long_life_counts), scenario(stopped_while_waiting),
		scenario(taken_up), scenario(only_our_own_group),
	};

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
