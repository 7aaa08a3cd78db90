/* What is killed of an election, with real processes. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/clock.h"
#include "supervisor/descendants.h"

enum { PATIENCE_S = 20, CROWD = 300 };

#define LIMIT_NS INT64_C(50000000)

static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";

/*
 * Runs SCRIPT with MARK in its environment and waits until it has written a line: the pid it names is
 * returned. The script may go on.
 */
static pid_t run(const char *mark, const char *script)
{
	char line[32] = "";
	int ends[2];
	ssize_t n;

	assert_int_equal(pipe(ends), 0);
	if (fork() == 0) {
		char *const environment[] = {path, (char *)mark, NULL};

		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		execle("/bin/sh", "sh", "-c", script, NULL, environment);
		_exit(127);
	}
	close(ends[1]);
	alarm(PATIENCE_S);
	n = read(ends[0], line, sizeof(line) - 1);
	alarm(0);
	close(ends[0]);
	assert_true(n > 0);
	return atoi(line);
}

/* Reaps whatever has ended, until PID is among it. */
static void wait_until_dead(pid_t pid)
{
	alarm(PATIENCE_S);
	while (kill(pid, 0) == 0) {
		if (waitpid(-1, NULL, WNOHANG) <= 0)
			usleep(1000);
	}
	alarm(0);
	assert_int_equal(errno, ESRCH);
}

static bool is_alive(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};

	return kill(pid, 0) == 0 &&
	       (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0);
}

/* With more time than even a busy machine needs. */
static unsigned kill_at_leisure(const char *election)
{
	return descendants_kill(election, INT64_C(10000000000));
}

/* Orphans are our children, too. */
static int kill_and_reap(void **state)
{
	(void)state;
	kill_at_leisure("pg");
	kill_at_leisure("pg2");
	kill_at_leisure("other");
	alarm(PATIENCE_S);
	while (waitpid(-1, NULL, 0) > 0)
		;
	alarm(0);
	return 0;
}

/*
 * Goal: a daemon that the hook has started in a session of its own, an orphan by now, is killed.
 */
static void daemon_is_found(void **state)
{
	pid_t daemon = run("TENURE_ELECTION=pg", "setsid sh -c 'echo $$; exec >&-; while :; do sleep 300; done' &");

	(void)state;
	assert_true(is_alive(daemon));
	assert_true(kill_at_leisure("pg") >= 1);
	wait_until_dead(daemon);
	assert_int_equal(kill_at_leisure("pg"), 0);
}

/*
 * Goal: other elections, also those whose name only begins alike, and processes of no election are left alone.
 */
static void others_are_spared(void **state)
{
	pid_t longer = run("TENURE_ELECTION=pg2", "echo $$; exec sleep 300");
	pid_t other = run("TENURE_ELECTION=other", "echo $$; exec sleep 300");
	pid_t alike = run("XTENURE_ELECTION=pg", "echo $$; exec sleep 300");
	pid_t ours = run("TENURE_ELECTION=pg", "echo $$; exec sleep 300");

	(void)state;
	assert_int_equal(kill_at_leisure("pg"), 1);
	wait_until_dead(ours);
	assert_true(is_alive(longer));
	assert_true(is_alive(other));
	assert_true(is_alive(alike));
	assert_int_equal(kill(alike, SIGKILL), 0);
}

/*
 * Goal: a child that was given another environment belongs to the one above it.
 */
static void environment_of_its_own(void **state)
{
	pid_t child = run("TENURE_ELECTION=pg", "env -i sh -c 'echo $$; exec >&-; sleep 300; :' & wait");

	(void)state;
	assert_true(kill_at_leisure("pg") >= 2);
	wait_until_dead(child);
}

/*
 * Goal: a mark that stands late in a large environment is found.
 */
static void large_environment(void **state)
{
	size_t size = 100000;
	char *filling = malloc(size);
	int ends[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_non_null(filling);
	memset(filling, 'x', size);
	memcpy(filling, "FILLING=", 8);
	filling[size - 1] = '\0';
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		static char mark[] = "TENURE_ELECTION=pg";
		char *const environment[] = {path, filling, mark, NULL};

		dup2(ends[1], 1);
		close(ends[0]);
		close(ends[1]);
		execle("/bin/sh", "sh", "-c", "echo; exec sleep 300", NULL, environment);
		_exit(127);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	free(filling);
	assert_int_equal(kill_at_leisure("pg"), 1);
	wait_until_dead(pid);
}

/*
 * Goal: one that goes on forking does not escape, and does not hold us up for long.
 * Method: a loop that starts orphans, each in a session of its own.
 */
static void forking_is_bounded(void **state)
{
	int64_t began_ns;

	(void)state;
	run("TENURE_ELECTION=pg", "echo $$; exec >&-; while :; do (setsid sleep 300 &); sleep 0.002; done");
	began_ns = clock_now_ns();
	descendants_kill("pg", LIMIT_NS);
	assert_true(clock_now_ns() - began_ns < 20 * LIMIT_NS); /* as far as a busy machine lets us run */
	kill_at_leisure("pg");
	assert_int_equal(kill_at_leisure("pg"), 0);
}

/*
 * Goal: more than one round takes are killed in several, by one call.
 */
static void crowd(void **state)
{
	char script[160];

	(void)state;
	snprintf(script, sizeof(script),
		 "i=0; while [ $i -lt %d ]; do sleep 300 >&- & i=$((i + 1)); done; echo $$; exec >&-; wait", CROWD);
	run("TENURE_ELECTION=pg", script);
	assert_int_equal(kill_at_leisure("pg"), CROWD + 1);
}

/* The same with TENURE_EVENT=service. */
static pid_t run_service(const char *script)
{
	char whole[256];

	snprintf(whole, sizeof(whole), "export TENURE_EVENT=service; exec sh -c '%s'", script);
	return run("TENURE_ELECTION=pg", whole);
}

/*
 * Goal: of an election only the service goes, with what it has started, and what else is in its session.
 */
static void service_alone(void **state)
{
	pid_t daemon = run("TENURE_ELECTION=pg", "echo $$; exec sleep 300");
	pid_t service = run_service("echo $$; exec sleep 300");
	pid_t scrubbed = run("NOTHING=1", "setsid sh -c 'echo $$; exec sleep 300' &");
	pid_t stranger = run("TENURE_EVENT=service", "echo $$; exec sleep 300");

	(void)state;
	assert_int_equal(descendants_sweep_service("pg", scrubbed, INT64_C(10000000000)), DESCENDANTS_SOME);
	wait_until_dead(service);
	wait_until_dead(scrubbed);
	assert_true(is_alive(daemon));
	assert_true(is_alive(stranger));
	assert_int_equal(descendants_sweep_service("pg", 0, INT64_C(10000000000)), DESCENDANTS_NONE);
	assert_int_equal(kill(stranger, SIGKILL), 0);
}

/*
 * Goal: a look that saw too little does not say that nothing is left.
 */
static void too_little_seen(void **state)
{
	pid_t other = run("TENURE_ELECTION=other", "echo $$; exec sleep 300");
	/* Not another program: the shell would hand its PWD on. */
	pid_t bare = run("", "exec env -i sh -c 'echo $$; kill -STOP $$'");

	(void)state;
	assert_int_equal(descendants_sweep_service("pg", 0, INT64_C(10000000000)), DESCENDANTS_UNSURE);
	assert_int_equal(kill(bare, SIGKILL), 0);
	wait_until_dead(bare);
	assert_int_equal(descendants_sweep_service("pg", 0, 0), DESCENDANTS_UNSURE);
	assert_int_equal(descendants_sweep_service("pg", 0, INT64_C(10000000000)), DESCENDANTS_NONE);
	assert_true(is_alive(other));
}

#define scenario(function) cmocka_unit_test_teardown(function, kill_and_reap)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scenario(daemon_is_found), scenario(others_are_spared), scenario(environment_of_its_own),
		scenario(large_environment), scenario(forking_is_bounded), scenario(crowd),
		scenario(service_alone), scenario(too_little_seen),
	};

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
