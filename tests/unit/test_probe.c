/* Hooks that are run again and again: what counts as an answer, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "process_support.h"

#include <sys/prctl.h>

#include "supervisor/probe.h"

#define NS_PER_MS INT64_C(1000000)

static struct probe probe;
static char script[160];
static char *words[] = {script, NULL};
static struct config_hook hook = {.command = {.words = words, .count = 1}};
static unsigned passes, failures;

static const char *on_answer(struct probe *p, bool ok)
{
	(void)p;
	passes += ok;
	failures += !ok;
	return NULL;
}

static int set_up(void **state)
{
	(void)state;
	if (world_open() < 0)
		return -1;
	passes = failures = 0;
	hook.timeout_ns = 5000 * NS_PER_MS;
	probe_init(&probe, &world.table, "pg", "score", true, on_answer);
	probe_configure(&probe, &hook, 50 * NS_PER_MS, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	probe_close(&probe);
	world_close();
	return 0;
}

static void run(void)
{
	char **environment = calloc(1, sizeof(*environment));

	probe_start(&probe, environment, clock_now_ns());
}

static void turn_until_answers(unsigned wanted)
{
	alarm(WORLD_PATIENCE_S);
	while (passes + failures < wanted) {
		world_turn();
		probe_timer(&probe, clock_now_ns());
	}
	alarm(0);
}

static void turn_until_ended(void)
{
	alarm(WORLD_PATIENCE_S);
	while (process_running(&probe.process)) {
		world_turn();
		probe_timer(&probe, clock_now_ns());
	}
	alarm(0);
}

/*
 * Goal: one run at a time, an interval apart from start to start, and none that is not allowed.
 */
static void one_at_a_time(void **state)
{
	int64_t began_ns = clock_now_ns();

	(void)state;
	world_script(script, "hook", "#!/bin/sh\nexit 0\n");
	assert_int_equal(probe_deadline(&probe, false), CLOCK_NEVER);
	assert_true(probe_due(&probe, true, began_ns));
	assert_false(probe_due(&probe, false, began_ns));
	run();
	assert_false(probe_due(&probe, true, CLOCK_NEVER - 1));
	turn_until_answers(1);
	assert_int_equal(passes, 1);
	assert_false(probe_due(&probe, true, began_ns + 49 * NS_PER_MS));
	assert_true(probe_due(&probe, true, clock_now_ns() + 50 * NS_PER_MS));
}

/*
 * Goal: failures are answers, and are logged when they begin and when they are over, not each time.
 */
static void failures_are_told_once(void **state)
{
	(void)state;
	world_script(script, "hook", "#!/bin/sh\nexit 3\n");
	for (unsigned i = 1; i <= 3; i++) {
		run();
		turn_until_answers(i);
	}
	probe.told_ns -= INT64_C(11000000000);
	run();
	turn_until_answers(4);
	assert_int_equal(failures, 4);
	assert_int_equal(world_logged("hook fails"), 1);
	assert_int_equal(world_logged("exit status 3"), 1);
	world_script(script, "hook", "#!/bin/sh\nexit 0\n");
	run();
	turn_until_answers(5);
	assert_int_equal(world_logged("hook succeeds again"), 1);
	/* Up and down all the time: the log is spared. */
	probe.told_ns = clock_now_ns();
	for (unsigned i = 6; i <= 11; i++) {
		world_script(script, "hook", i % 2 == 0 ? "#!/bin/sh\nexit 3\n" : "#!/bin/sh\nexit 0\n");
		run();
		turn_until_answers(i);
	}
	assert_int_equal(world_logged("hook fails"), 1);
	assert_int_equal(world_logged("hook succeeds again"), 1);
}

/*
 * Goal: what takes too long is killed with its group and has failed, at once.
 */
static void limit(void **state)
{
	int64_t began_ns = clock_now_ns();
	pid_t child;

	(void)state;
	hook.timeout_ns = 300 * NS_PER_MS;
	world_script(script, "hook", "#!/bin/sh\ncd ${0%/*}\ntrap '' TERM\nsleep 300 &\necho $! >child\nwait\n");
	run();
	turn_until_answers(1);
	assert_int_equal(failures, 1);
	assert_true(clock_now_ns() - began_ns < 4000 * NS_PER_MS);
	turn_until_ended();
	assert_int_equal(failures, 1);
	child = (pid_t)atol(world_file("child"));
	assert_true(child > 0);
	alarm(WORLD_PATIENCE_S);
	while (world_alive(child))
		world_turn();
	alarm(0);
}

/*
 * Goal: one that outlives its KILL fails again and again: nobody is taken to be well because nobody can ask.
 * Method: its end is not looked for.
 */
static void stuck(void **state)
{
	int64_t now_ns = clock_now_ns();

	(void)state;
	world_script(script, "hook", "#!/bin/sh\nexec sleep 300\n");
	run();
	now_ns += 5001 * NS_PER_MS;
	probe_timer(&probe, now_ns);
	assert_int_equal(failures, 1);
	assert_false(probe_due(&probe, true, now_ns + 999 * NS_PER_MS));
	for (unsigned i = 2; i <= 4; i++) {
		now_ns += 1000 * NS_PER_MS;
		assert_true(probe_due(&probe, true, now_ns));
		probe_start(&probe, NULL, now_ns);
		assert_int_equal(failures, i);
	}
	turn_until_ended();
	assert_int_equal(failures, 4);
}

/*
 * Goal: a run that another hook overlaps says nothing, however it ends.
 */
static void spoiled(void **state)
{
	(void)state;
	world_script(script, "hook", "#!/bin/sh\nexit 0\n");
	run();
	probe_spoil(&probe);
	turn_until_ended();
	hook.timeout_ns = 100 * NS_PER_MS;
	world_script(script, "hook", "#!/bin/sh\nexec sleep 300\n");
	run();
	probe_spoil(&probe);
	turn_until_ended();
	assert_int_equal(passes + failures, 0);
	world_script(script, "hook", "#!/bin/sh\nexit 0\n");
	hook.timeout_ns = 5000 * NS_PER_MS;
	run();
	turn_until_answers(1);
	assert_int_equal(passes, 1);
}

/*
 * Goal: what cannot be started has failed.
 */
static void not_started(void **state)
{
	(void)state;
	probe_start(&probe, NULL, clock_now_ns());
	assert_int_equal(failures, 1);
	assert_false(process_running(&probe.process));
}

static void expect_number(const char *printed, bool ok, int64_t number)
{
	char text[512];
	unsigned before = passes;
	int64_t got = 42;

	snprintf(text, sizeof(text), "#!/bin/sh\nprintf -- '%s'\n", printed);
	world_script(script, "hook", text);
	run();
	turn_until_answers(before + 1);
	assert_int_equal(probe_number(&probe, &got), ok);
	assert_int_equal(got, ok ? number : 42);
}

/*
 * Goal: a number is one integer of 64 bits with white space around it, and nothing else.
 */
static void numbers(void **state)
{
	(void)state;
	expect_number("7", true, 7);
	expect_number("  -12 \\n\\n", true, -12);
	expect_number("\\t+5\\r\\n", true, 5);
	expect_number("9223372036854775807", true, INT64_MAX);
	expect_number("-9223372036854775808\\n", true, INT64_MIN);
	expect_number("9223372036854775808", false, 0);
	expect_number("", false, 0);
	expect_number(" \\n", false, 0);
	expect_number("1 2", false, 0);
	expect_number("1\\n2\\n", false, 0);
	expect_number("0x10", false, 0);
	expect_number("1.5", false, 0);
	expect_number("-", false, 0);
	expect_number("1\\0002", false, 0);
	expect_number("1\\n%070d\\n", false, 0);
	assert_null(strstr(world_log(), "stdout"));
}

/*
 * Goal: what a child of the last run says late is no part of the next answer.
 */
static void late_words(void **state)
{
	int64_t number = 0;

	(void)state;
	world_script(script, "hook", "#!/bin/sh\nprintf 9 &\nsleep 300 &\necho $! >\"${0%/*}/child\"\n");
	run();
	turn_until_answers(1);
	world_script(script, "hook", "#!/bin/sh\necho 3\n");
	run();
	turn_until_answers(2);
	assert_true(probe_number(&probe, &number));
	assert_int_equal(number, 3);
	kill((pid_t)atol(world_file("child")), SIGKILL);
}

#define scenario(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scenario(one_at_a_time), scenario(failures_are_told_once), scenario(limit), scenario(stuck),
		scenario(spoiled), scenario(not_started), scenario(numbers), scenario(late_words),
	};

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
