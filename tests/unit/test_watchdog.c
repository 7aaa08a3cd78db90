/* The watchdog device, by a FIFO in its place: when it is fed, when it is not, and how it is let go. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/log.h"
#include "supervisor/clock.h"
#include "supervisor/watchdog.h"

#define MS TENURE_NS_PER_MS
#define SECOND (1000 * MS)

enum { TEXT_SIZE = 1 << 14 };

struct fixture {
	struct config config;
	struct config_election elections[2];
	struct watchdog watchdog;
	char directory[64], device[128];
	int reader;
	int saved, output;
	char text[TEXT_SIZE];
};

/* T 20 s, tick 3 s: 20 - (2 + 0.5 + 3 * 1) = 14.5 s are surely left. */
static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	*state = f;
	snprintf(f->directory, sizeof(f->directory), "/tmp/tenure-watchdog-XXXXXX");
	if (!mkdtemp(f->directory))
		return -1;
	snprintf(f->device, sizeof(f->device), "%s/device", f->directory);
	if (mkfifo(f->device, 0600) < 0)
		return -1;
	f->reader = open(f->device, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	f->watchdog = WATCHDOG_NONE;
	f->config.watchdog_device = f->device;
	f->config.elections = f->elections;
	f->config.election_count = 2;
	f->config.zookeeper.session_timeout_ns = 20 * SECOND;
	for (int i = 0; i < 2; i++) {
		f->elections[i].candidate = true;
		f->elections[i].budget = (struct tenure_budget){
			.touch_lag_ns = 2 * SECOND, .ping_slack_ns = 500 * MS, .lose_ns = 4 * SECOND, .fence_ns = 2 * SECOND};
	}
	f->saved = dup(2);
	f->output = memfd_create("log", MFD_CLOEXEC);
	dup2(f->output, 2);
	log_open("supervisor", LOG_LEVEL_DEBUG, LOG_FORMAT_TEXT, LOG_TARGET_STDERR);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	watchdog_close(&f->watchdog, true);
	dup2(f->saved, 2);
	close(f->saved);
	close(f->output);
	close(f->reader);
	unlink(f->device);
	rmdir(f->directory);
	free(f);
	return 0;
}

static unsigned times_logged(struct fixture *f, const char *text)
{
	ssize_t n = pread(f->output, f->text, sizeof(f->text) - 1, 0);
	unsigned times = 0;

	f->text[n > 0 ? n : 0] = '\0';
	for (const char *found = f->text; (found = strstr(found, text)); found++)
		times++;
	return times;
}

/* What the device has got since the last look: the number of bytes, and the last of them. */
static ssize_t fed(struct fixture *f, char *last)
{
	char bytes[64];
	ssize_t n = read(f->reader, bytes, sizeof(bytes));

	if (n > 0 && last)
		*last = bytes[n - 1];
	return n > 0 ? n : 0;
}

static void start(struct fixture *f, int64_t now_ns)
{
	assert_int_equal(watchdog_open(&f->watchdog, &f->config, now_ns), 0);
}

/*
 * Goal: the timeout is whole seconds of what the shortest lease surely has left, over candidates alone.
 * Method: two elections, one with longer heartbeats; that one no candidate; no candidate at all.
 */
static void timeout_from_the_lease(void **state)
{
	struct fixture *f = *state;

	start(f, 0);
	assert_int_equal(f->watchdog.timeout_ns, 14 * SECOND);
	assert_int_equal(times_logged(f, "no watchdog device"), 1);
	watchdog_close(&f->watchdog, true);
	f->elections[1].budget.heartbeat_ns = 2 * SECOND; /* 20 - (2.5 + 6) */
	start(f, 0);
	assert_int_equal(f->watchdog.timeout_ns, 11 * SECOND);
	watchdog_close(&f->watchdog, true);
	f->elections[1].candidate = false;
	start(f, 0);
	assert_int_equal(f->watchdog.timeout_ns, 14 * SECOND);
	watchdog_close(&f->watchdog, true);
	f->elections[0].candidate = false;
	start(f, 0);
	assert_int_equal(f->watchdog.timeout_ns, 20 * SECOND);
}

/*
 * Goal: a shorter lease, negotiated or configured anew, shortens the timeout at once, and another one after
 * it does not keep it short.
 */
static void adapts_to_the_session(void **state)
{
	struct fixture *f = *state;

	start(f, 0);
	watchdog_adapt(&f->watchdog, &f->config, 10 * SECOND); /* 10 - (2.5 + 1.5) */
	assert_int_equal(f->watchdog.timeout_ns, 6 * SECOND);
	watchdog_adapt(&f->watchdog, &f->config, 10 * SECOND);
	assert_int_equal(times_logged(f, "watchdog set to the lease"), 1);
	watchdog_adapt(&f->watchdog, &f->config, 60 * SECOND);
	assert_int_equal(f->watchdog.timeout_ns, 14 * SECOND);
	f->config.zookeeper.session_timeout_ns = 10 * SECOND;
	watchdog_adapt(&f->watchdog, &f->config, 0);
	assert_int_equal(f->watchdog.timeout_ns, 6 * SECOND);
}

/*
 * Goal: what cannot serve is refused, and left closed and switched off.
 * Method: a lease of which less than a second is left; no such file; a device that is no watchdog.
 */
static void refused(void **state)
{
	struct fixture *f = *state;
	char last = 0, null[] = "/dev/null";

	f->config.zookeeper.session_timeout_ns = 3 * SECOND;
	assert_int_equal(watchdog_open(&f->watchdog, &f->config, 0), -ERANGE);
	assert_int_equal(times_logged(f, "the lease is too short for a watchdog"), 1);
	assert_int_equal(fed(f, &last), 1);
	assert_int_equal(last, 'V');
	assert_int_equal(f->watchdog.fd, -1);
	f->config.zookeeper.session_timeout_ns = 20 * SECOND;
	unlink(f->device);
	assert_int_equal(watchdog_open(&f->watchdog, &f->config, 0), -ENOENT);
	f->config.watchdog_device = null;
	assert_int_equal(watchdog_open(&f->watchdog, &f->config, 0), -ENOTTY);
	assert_int_equal(times_logged(f, "takes no timeout"), 1);
	assert_int_equal(f->watchdog.fd, -1);
	assert_int_equal(f->watchdog.feed_at_ns, CLOCK_NEVER);
}

/*
 * Goal: without a device nothing is ever done.
 */
static void no_device(void **state)
{
	struct fixture *f = *state;
	char none[] = "";

	f->config.watchdog_device = none;
	start(f, 0);
	assert_int_equal(f->watchdog.feed_at_ns, CLOCK_NEVER);
	watchdog_feed(&f->watchdog, CLOCK_NEVER, 100 * SECOND);
	watchdog_adapt(&f->watchdog, &f->config, 5 * SECOND);
	watchdog_close(&f->watchdog, true);
	assert_int_equal(f->watchdog.fd, -1);
}

/*
 * Goal: with nobody in office, or enough of the lease left, it is fed in time, and no more often than needed.
 * Method: turn by turn, by its own deadline.
 */
static void fed_in_time(void **state)
{
	struct fixture *f = *state;
	int64_t now_ns = 0, margin_ns = 400 * MS;

	start(f, now_ns);
	for (int i = 0; i < 40; i++) {
		watchdog_feed(&f->watchdog, i % 2 ? CLOCK_NEVER : now_ns + 14 * SECOND, now_ns);
		assert_int_equal(fed(f, NULL), 1);
		watchdog_feed(&f->watchdog, CLOCK_NEVER, now_ns + 1);
		assert_int_equal(fed(f, NULL), 0);
		assert_true(f->watchdog.feed_at_ns > now_ns);
		assert_true(f->watchdog.feed_at_ns - now_ns <= margin_ns / 2);
		assert_true(f->watchdog.feed_at_ns - now_ns <= f->watchdog.timeout_ns / 4);
		now_ns = f->watchdog.feed_at_ns;
	}
	assert_false(f->watchdog.starving);
}

/*
 * Goal: with a service in office it fires no later than the deadline, and no earlier than a demotion may
 * take; as soon as that has ended it is fed, also between two turns of its rhythm.
 * Method: a lease that nobody renews, ridden to its end.
 */
static void fires_by_the_deadline(void **state)
{
	struct fixture *f = *state;
	int64_t deadline_ns = 20 * SECOND, margin_ns = 400 * MS, last_ns = -1;

	start(f, 0);
	for (int64_t now_ns = 0; now_ns < deadline_ns - margin_ns; now_ns = f->watchdog.feed_at_ns) {
		watchdog_feed(&f->watchdog, deadline_ns, now_ns);
		if (fed(f, NULL) > 0)
			last_ns = now_ns;
	}
	assert_true(last_ns + f->watchdog.timeout_ns <= deadline_ns);
	assert_true(last_ns + f->watchdog.timeout_ns > deadline_ns - margin_ns / 2);
	assert_int_equal(times_logged(f, "the watchdog is not fed"), 1);
	watchdog_feed(&f->watchdog, CLOCK_NEVER, f->watchdog.feed_at_ns - 1);
	assert_int_equal(fed(f, NULL), 1);
	assert_int_equal(times_logged(f, "the watchdog is fed again"), 1);
}

/*
 * Goal: a service in office without any lease starves it.
 */
static void no_lease_no_food(void **state)
{
	struct fixture *f = *state;

	start(f, 1000 * SECOND);
	watchdog_feed(&f->watchdog, 0, 1000 * SECOND);
	watchdog_feed(&f->watchdog, 0, 1001 * SECOND);
	assert_int_equal(fed(f, NULL), 0);
	assert_int_equal(times_logged(f, "the watchdog is not fed"), 1);
}

/*
 * Goal: it is switched off on a clean exit, and left running else.
 */
static void magic_close(void **state)
{
	struct fixture *f = *state;
	char last = 0;

	start(f, 0);
	watchdog_close(&f->watchdog, true);
	assert_int_equal(fed(f, &last), 1);
	assert_int_equal(last, 'V');
	start(f, 0);
	watchdog_feed(&f->watchdog, CLOCK_NEVER, 0);
	watchdog_close(&f->watchdog, false);
	assert_int_equal(fed(f, &last), 1);
	assert_int_not_equal(last, 'V');
}

/*
 * Goal: a device that takes nothing holds up nothing, and is said once.
 * Method: a full FIFO.
 */
static void never_blocks(void **state)
{
	struct fixture *f = *state;

	start(f, 0);
	while (write(f->watchdog.fd, "xxxxxxxx", 8) > 0)
		;
	assert_int_equal(errno, EAGAIN);
	for (int64_t now_ns = 0; now_ns < 10 * SECOND; now_ns = f->watchdog.feed_at_ns)
		watchdog_feed(&f->watchdog, CLOCK_NEVER, now_ns);
	assert_int_equal(times_logged(f, "cannot feed the watchdog"), 1);
	while (fed(f, NULL) > 0)
		;
}

#define scenario(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		scenario(timeout_from_the_lease),
		scenario(adapts_to_the_session),
		scenario(refused),
		scenario(no_device),
		scenario(fed_in_time),
		scenario(fires_by_the_deadline),
		scenario(no_lease_no_food),
		scenario(magic_close),
		scenario(never_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
