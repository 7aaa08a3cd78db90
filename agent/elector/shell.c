/* The elector process: the event loop around the pure cores. */
#include "elector/shell.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/alive.h"
#include "common/control.h"
#include "common/log.h"
#include "elector/contest.h"
#include "elector/control.h"
#include "elector/http.h"
#include "elector/instant.h"
#include "elector/release.h"

enum {
	REQUESTS_BASE = 64,
	REQUESTS_PER_ELECTION = 64, /* parents at once, a survey, a look, and one of each kind */
	WATCHES_BASE = 16,
	WATCHES_PER_ELECTION = 8, /* the record, ourselves, the two before us, and some that have lost their use */
	CLOSE_WAIT_MS = 2000,
};

/*
 * What is ready at the same time is looked at in this order; CLIENTS is what an event has by default. Of CLIENTS one at a
 * time: many of them, with large answers, are not to hold a heartbeat up.
 */
enum { FIRST, CLIENTS, PRIORITIES };

/* A deadline that is already over is looked at again only after this long, whatever the cores say. */
#define ALARM_MIN_NS INT64_C(1000000)

uint32_t shell_requests_max(size_t count)
{
	return REQUESTS_BASE + REQUESTS_PER_ELECTION * (uint32_t)count;
}

uint32_t shell_watches_max(size_t count)
{
	return WATCHES_BASE + WATCHES_PER_ELECTION * (uint32_t)count;
}

void shell_leave(int status)
{
	_exit(status);
}

void shell_quit(struct shell *shell, bool keep_session)
{
	int rc;

	if (shell->control) {
		control_abandon(shell, EXIT_TRY_AGAIN, "the agent stops");
		control_close(shell->control);
	}
	if (!keep_session) {
		rc = port_close_session(shell->ensemble.port, CLOSE_WAIT_MS);
		if (rc < 0 && shell->ensemble.session.credentials.id != 0)
			log_warning(NULL, "the ZooKeeper session could not be closed and will run out by itself",
				    "rc=%d error=\"%s\"", rc, strerror(-rc));
	}
	shell_leave(ELECTOR_EXIT_OK);
}

void shell_orphan(struct shell *shell)
{
	if (shell->orphan)
		return;
	shell->orphan = true;
	shell->orphan_ns = instant_now() + shell->config->orphan_limit_ns;
	upward_close(shell);
	http_close(shell->http);
	control_close(shell->control);
	session_orphan(&shell->ensemble.session);
	release_await(shell);
	/* Without a session there is nothing to keep. */
	if (shell->ensemble.session.credentials.id == 0)
		shell->orphan_ns = instant_now();
	log_warning(NULL, "the supervisor is gone: keeping the session for a while, deciding nothing",
		    "orphan_limit_ms=%" PRId64, shell->config->orphan_limit_ns / TENURE_NS_PER_MS);
}

void shell_soon(struct shell *shell)
{
	event_active(shell->soon, EV_TIMEOUT, 0);
}

static void on_soon(evutil_socket_t fd, short what, void *context)
{
	struct shell *shell = context;

	(void)fd;
	(void)what;
	ensemble_later(shell);
	for (size_t i = 0; i < shell->contest_count; i++)
		contest_later(&shell->contests[i]);
	shell_settle(shell);
}

static int64_t next_deadline(const struct shell *shell)
{
	int64_t first_ns = ensemble_deadline(shell);

	if (shell->orphan)
		return shell->orphan_ns < first_ns ? shell->orphan_ns : first_ns;
	if (shell->upward.started && shell->alive_ns < first_ns)
		first_ns = shell->alive_ns;
	for (size_t i = 0; i < shell->contest_count; i++) {
		int64_t due_ns = elector_deadline(&shell->contests[i].core);

		if (due_ns < first_ns)
			first_ns = due_ns;
	}
	return first_ns;
}

static void arm(struct shell *shell)
{
	int64_t due_ns = next_deadline(shell), soonest_ns = instant_now() + ALARM_MIN_NS;
	struct itimerspec spec = {0};

	if (due_ns < soonest_ns) {
		/* Callbacks that follow each other faster than this are not to put it off for ever. */
		if (shell->alarm_ns <= soonest_ns)
			return;
		due_ns = soonest_ns;
	}
	if (due_ns == shell->alarm_ns)
		return;
	shell->alarm_ns = due_ns;
	if (due_ns != INT64_MAX) {
		spec.it_value.tv_sec = (time_t)(due_ns / INT64_C(1000000000));
		spec.it_value.tv_nsec = (long)(due_ns % INT64_C(1000000000));
	}
	if (timerfd_settime(shell->alarm_fd, TFD_TIMER_ABSTIME, &spec, NULL) < 0) {
		log_error(NULL, "cannot set the timer", "errno=%d", errno);
		shell_leave(ELECTOR_EXIT_FAILED);
	}
}

/*
 * At its own pace, whatever else is said: a leader says more than this anyway. A supervisor that has not yet read what
 * was said before needs no more of it.
 */
static void say_alive(struct shell *shell)
{
	const struct session_credentials *session = &shell->ensemble.session.credentials;
	struct message m = {.type = MESSAGE_ALIVE};
	int64_t now_ns = instant_now();

	if (!shell->upward.started || shell->orphan || now_ns < shell->alive_ns)
		return;
	shell->alive_ns = now_ns + alive_every_ns(session->id != 0 ? session->timeout_ns
								   : shell->config->zookeeper.session_timeout_ns);
	if (message_queue_waiting(shell->upward.queue) == 0)
		upward_put(shell, &m);
}

void shell_settle(struct shell *shell)
{
	if (shell->upward.begun)
		ensemble_pace(shell);
	for (size_t i = 0; i < shell->contest_count; i++)
		contest_check(&shell->contests[i]);
	say_alive(shell);
	upward_flush(shell);
	if (shell->orphan && (instant_now() >= shell->orphan_ns || shell->ensemble.session.credentials.id == 0))
		shell_leave(ELECTOR_EXIT_OK);
	arm(shell);
}

static void on_alarm(evutil_socket_t fd, short what, void *context)
{
	struct elector_event due = {.type = ELECTOR_EV_TIMER};
	struct shell *shell = context;
	int64_t now_ns = instant_now();
	uint64_t times;

	(void)what;
	if (read(fd, &times, sizeof times) == sizeof times)
		shell->alarm_ns = INT64_MAX;
	ensemble_timer(shell, now_ns);
	for (size_t i = 0; i < shell->contest_count; i++)
		if (now_ns >= elector_deadline(&shell->contests[i].core))
			contest_step(&shell->contests[i], &due);
	shell_settle(shell);
}

static int init_loop(struct shell *shell)
{
	struct event_config *config = event_config_new();

	/* No thread of ours ever touches the base. */
	if (config && event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK) == 0 &&
	    event_config_set_max_dispatch_interval(config, NULL, 1, CLIENTS) == 0)
		shell->base = event_base_new_with_config(config);
	if (config)
		event_config_free(config);
	if (!shell->base || event_base_priority_init(shell->base, PRIORITIES) < 0)
		return -ENOMEM;
	shell->alarm_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (shell->alarm_fd < 0)
		return -errno;
	shell->alarm_ns = INT64_MAX;
	shell->alarm = event_new(shell->base, shell->alarm_fd, EV_READ | EV_PERSIST, on_alarm, shell);
	shell->soon = event_new(shell->base, -1, 0, on_soon, shell);
	if (!shell->alarm || !shell->soon || event_add(shell->alarm, NULL) < 0)
		return -ENOMEM;
	return 0;
}

static int init_contests(struct shell *shell)
{
	shell->contests = calloc(shell->config->election_count ? shell->config->election_count : 1,
				 sizeof *shell->contests);
	if (!shell->contests)
		return -ENOMEM;
	for (uint32_t i = 0; i < shell->config->election_count; i++) {
		int rc = contest_init(&shell->contests[i], shell, i);

		shell->contest_count++;
		if (rc < 0)
			return rc;
	}
	return 0;
}

int shell_run(const struct config *config, uid_t owner, struct port *port, const struct shell_sockets *sockets)
{
	struct shell shell = {.config = config, .owner = owner, .alarm_fd = -1, .upward = {.fd = -1}};
	int rc = init_loop(&shell);

	if (rc == 0)
		rc = init_contests(&shell);
	if (rc == 0)
		rc = requests_init(&shell.requests, shell_requests_max(config->election_count));
	if (rc == 0)
		rc = ensemble_init(&shell, port);
	if (rc == 0 && sockets->control >= 0)
		rc = control_open(&shell, sockets->control);
	if (rc == 0 && config->http_listen[0])
		rc = http_open(&shell, sockets->http);
	if (rc == 0)
		rc = upward_init(&shell, sockets->supervisor);
	if (rc < 0)
		return rc;
	event_priority_set(shell.alarm, FIRST);
	event_priority_set(shell.soon, FIRST);
	event_priority_set(shell.ensemble.port_event, FIRST);
	event_priority_set(shell.upward.readable, FIRST);
	shell_settle(&shell);
	event_base_dispatch(shell.base);
	return -EIO;
}
