/* The supervisor's loop: the clock first, then the dead, then the messages. */
#include "supervisor/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/control.h"
#include "common/log.h"
#include "supervisor/clock.h"
#include "supervisor/http_listener.h"
#include "supervisor/stale.h"
#include "supervisor/start.h"
#include "supervisor/stopping.h"

enum {
	REAPED_IN_A_TURN = 64,
	SIGNALS_IN_A_TURN = 16,
	STATUS_SIZE = 512,
	EXTEND_SECONDS = 30, /* asked for while stopping, again and again */
};

static const int64_t extend_every_ns = INT64_C(10000000000);
/* For all elections together: processes that fork without end must not make the others late. */
static const int64_t kill_limit_ns = INT64_C(50000000);

/* ---- the elector ---- */

static void send_start(struct supervisor *supervisor)
{
	struct message m = {.type = MESSAGE_START};

	m.u.start.agent = supervisor->agent;
	m.u.start.supervisor_pid = (int32_t)getpid();
	m.u.start.started_ms = supervisor->started_ms;
	m.u.start.session = supervisor->session;
	m.u.start.lease_start_ns = supervisor->lease_start_ns;
	child_send(&supervisor->child, &m);
}

/* Whatever an earlier elector knew, or was told while there was none, this one hears now. */
static void on_hello(struct supervisor *supervisor, int64_t now_ns)
{
	struct message go = {.type = MESSAGE_GO};

	send_start(supervisor);
	for (size_t i = 0; i < supervisor->unit_count && supervisor->session.id != 0; i++)
		unit_restore(supervisor->units[i]);
	child_send(&supervisor->child, &go);
	for (size_t i = 0; i < supervisor->unit_count; i++)
		unit_repeat(supervisor->units[i]);
	supervisor->host.changed = true;
	if (supervisor->child.quitting)
		child_quit(&supervisor->child, supervisor->reload.keep_session, now_ns, STOPPING_LIMIT_NS);
}

void supervisor_forget_session(struct supervisor *supervisor)
{
	memset(&supervisor->session, 0, sizeof(supervisor->session));
	supervisor->lease_start_ns = 0;
	mirror_all(supervisor);
}

static void on_session(struct supervisor *supervisor, const struct session_credentials *session,
		       int64_t now_ns)
{
	int64_t timeout_ns = session->timeout_ns, lease_start_ns;

	/* A term ends with its session, also when the elector dies before it says so of each election. */
	for (size_t i = 0; i < supervisor->unit_count && session->id != supervisor->session.id; i++)
		unit_session_over(supervisor->units[i], now_ns);

	/* T of one session only ever shrinks. */
	if (session->id != 0 && session->id == supervisor->session.id &&
	    supervisor->session.timeout_ns < timeout_ns)
		timeout_ns = supervisor->session.timeout_ns;
	if (session->id != supervisor->session.id)
		supervisor->lease_start_ns = 0;
	supervisor->session = *session;
	supervisor->session.timeout_ns = timeout_ns;
	/* A shorter T counts at once: the elector may die before its next lease. */
	lease_start_ns = supervisor->lease_start_ns;
	for (size_t i = 0; i < supervisor->unit_count && lease_start_ns != 0; i++)
		unit_lease(supervisor->units[i], lease_start_ns, timeout_ns, now_ns);
	watchdog_adapt(&supervisor->watchdog, supervisor->config, timeout_ns);
	mirror_all(supervisor);
}

static void on_lease(struct supervisor *supervisor, const struct message *m, int64_t now_ns)
{
	int64_t start_ns = m->u.lease.start_ns, timeout_ns = m->u.lease.timeout_ns;

	if (start_ns == 0)
		return; /* the session has ended, which is a message of its own */
	if (supervisor->session.id == 0 || start_ns > now_ns || timeout_ns > supervisor->session.timeout_ns) {
		if (supervisor->doubted != supervisor->child.generation)
			log_error(NULL, "a lease that cannot be true is not believed", " ");
		supervisor->doubted = supervisor->child.generation;
		return;
	}
	supervisor->lease_start_ns = start_ns;
	mirror_session(supervisor);
	for (size_t i = 0; i < supervisor->unit_count; i++)
		unit_lease(supervisor->units[i], start_ns, timeout_ns, now_ns);
}

static void on_message(struct child *child, const struct message *m)
{
	struct supervisor *supervisor = watch_owner(child, struct supervisor, child);
	int64_t now_ns = clock_now_ns();

	switch (m->type) {
	case MESSAGE_HELLO:
		on_hello(supervisor, now_ns);
		break;
	case MESSAGE_SESSION:
		on_session(supervisor, &m->u.session, now_ns);
		break;
	case MESSAGE_LEASE:
		on_lease(supervisor, m, now_ns);
		break;
	case MESSAGE_RESTART:
		restart_request(supervisor, now_ns);
		break;
	default:
		if (m->election < supervisor->unit_count)
			unit_message(supervisor->units[m->election], m, supervisor->session.timeout_ns,
				     now_ns);
		break;
	}
}

static void send_to_elector(struct unit_host *host, struct message *m)
{
	child_send(&watch_owner(host, struct supervisor, host)->child, m);
}

static void keep_term(struct unit_host *host, const struct unit *unit)
{
	mirror_term(watch_owner(host, struct supervisor, host), unit);
}

/* ---- what the service manager is told ---- */

static bool is_ready(const struct supervisor *supervisor)
{
	if (!supervisor->child.up)
		return false;
	for (size_t i = 0; i < supervisor->unit_count; i++) {
		if (supervisor->units[i]->role.state == ROLE_STARTING)
			return false;
	}
	return true;
}

static void tell_status(struct supervisor *supervisor)
{
	char text[STATUS_SIZE] = "";
	size_t used = 0;

	for (size_t i = 0; i < supervisor->unit_count && used < sizeof(text); i++) {
		const struct unit *unit = supervisor->units[i];
		int n = snprintf(text + used, sizeof(text) - used, "%s%s: %s", i > 0 ? ", " : "",
				 unit->config->name, role_state_name(unit->role.state));

		if (n < 0)
			break;
		used += (size_t)n;
	}
	service_manager_tell(&supervisor->manager, "STATUS=%s%s", text,
			     supervisor->child.up ? "" : " (elector not running)");
	if (supervisor->ready || supervisor->stop_signals > 0 || !is_ready(supervisor))
		return;
	supervisor->ready = true;
	service_manager_tell(&supervisor->manager, "READY=1");
	log_info(NULL, "ready", "elections=%zu", supervisor->unit_count);
}

static void tell_watchdog(struct supervisor *supervisor, int64_t now_ns)
{
	struct service_manager *manager = &supervisor->manager;

	if (manager->watchdog_ns > 0 && now_ns >= supervisor->watchdog_at_ns) {
		service_manager_tell(manager, "WATCHDOG=1");
		supervisor->watchdog_at_ns = now_ns + manager->watchdog_ns;
	}
	if (now_ns >= supervisor->extend_at_ns) {
		service_manager_tell(manager, "EXTEND_TIMEOUT_USEC=%d000000", EXTEND_SECONDS);
		supervisor->extend_at_ns = now_ns + extend_every_ns;
	}
}

/* ---- the turn ---- */

static void run_timers(struct supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->unit_count; i++) {
		/* Those before may have taken some time. */
		int64_t now_ns = clock_now_ns();

		if (unit_deadline(supervisor->units[i]) <= now_ns)
			unit_timer(supervisor->units[i], now_ns);
	}
}

/* Children are looked at before they are reaped, so that a hook's group can still be signalled. */
static void reap(struct supervisor *supervisor)
{
	for (int i = 0; i < REAPED_IN_A_TURN; i++) {
		siginfo_t info = {.si_pid = 0};

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0) {
			supervisor->unreaped = false;
			return;
		}
		if (info.si_pid == supervisor->child.pid)
			child_exited(&supervisor->child, clock_now_ns());
		else if (info.si_pid == supervisor->reload.pid)
			reload_exited(supervisor, clock_now_ns());
		else if (info.si_pid == supervisor->restart.pid)
			restart_exited(supervisor, clock_now_ns());
		else if (!process_table_exited(&supervisor->host.processes, info.si_pid))
			waitpid(info.si_pid, NULL,
				0); /* what a hook has left behind, ours as the subreaper */
		supervisor->host.changed = supervisor->host.changed || supervisor->child.pid == 0;
	}
}

static void take_signals(struct supervisor *supervisor)
{
	struct signalfd_siginfo taken[SIGNALS_IN_A_TURN];
	ssize_t n = read(supervisor->signals.fd, taken, sizeof(taken));
	int64_t now_ns = clock_now_ns();

	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(taken[0]); i++) {
		switch (taken[i].ssi_signo) {
		case SIGCHLD:
			supervisor->unreaped = true;
			break;
		case SIGHUP:
			if (supervisor->stop_signals == 0)
				reload_request(supervisor, now_ns);
			break;
		case SIGUSR2:
			restart_request(supervisor, now_ns);
			break;
		default:
			stopping_request(supervisor, now_ns);
			break;
		}
	}
}

/* The earliest lease deadline of a service in office. */
static int64_t office_deadline(const struct supervisor *supervisor)
{
	int64_t first_ns = CLOCK_NEVER;

	for (size_t i = 0; i < supervisor->unit_count; i++)
		first_ns = clock_earlier(first_ns, unit_office_deadline(supervisor->units[i]));
	return first_ns;
}

static int64_t next_deadline(const struct supervisor *supervisor)
{
	int64_t first =
		clock_earlier(child_deadline(&supervisor->child), reload_deadline(&supervisor->reload));

	first = clock_earlier(first, restart_deadline(&supervisor->restart));
	first = clock_earlier(first, supervisor->orphan_end_ns);
	for (size_t i = 0; i < supervisor->unit_count; i++)
		first = clock_earlier(first, unit_deadline(supervisor->units[i]));
	if (supervisor->manager.watchdog_ns > 0)
		first = clock_earlier(first, supervisor->watchdog_at_ns);
	if (supervisor->finishing)
		first = clock_earlier(first, supervisor->finish_by_ns);
	first = clock_earlier(first, supervisor->watchdog.feed_at_ns);
	return clock_earlier(first, supervisor->extend_at_ns);
}

static void arm_timer(struct supervisor *supervisor)
{
	int64_t at_ns = next_deadline(supervisor);
	struct itimerspec setting = {0};

	if (at_ns == supervisor->armed_ns)
		return;
	supervisor->armed_ns = at_ns;
	/* Zero would disarm it; what is past fires at once. */
	if (at_ns < 1)
		at_ns = 1;
	if (at_ns != CLOCK_NEVER) {
		setting.it_value.tv_sec = (time_t)(at_ns / 1000000000);
		setting.it_value.tv_nsec = (long)(at_ns % 1000000000);
	}
	timerfd_settime(supervisor->timer.fd, TFD_TIMER_ABSTIME, &setting, NULL);
}

static void on_timer(struct watch *watch)
{
	struct supervisor *supervisor = watch_owner(watch, struct supervisor, timer);
	uint64_t times;

	if (read(watch->fd, &times, sizeof(times)) > 0)
		supervisor->armed_ns = CLOCK_NEVER; /* It has gone off. */
}

/* The signals are taken in their own place of the turn. */
static void on_signals(struct watch *watch)
{
	(void)watch;
}

void supervisor_start_elector(struct supervisor *supervisor, int64_t now_ns)
{
	supervisor->http_fd = http_listener_renew(supervisor->http_fd, supervisor->config->http_listen);
	child_start(&supervisor->child, supervisor->config,
		    &(struct child_sockets){.control = supervisor->control_fd, .http = supervisor->http_fd}, now_ns);
}

static void look_after_elector(struct supervisor *supervisor, int64_t now_ns)
{
	struct child *child = &supervisor->child;

	child_timer(child, now_ns);
	if (child->pid == 0 && now_ns >= child->start_at_ns && !supervisor->finishing)
		supervisor_start_elector(supervisor, now_ns);
}

static void turn(struct supervisor *supervisor)
{
	int64_t now_ns;

	arm_timer(supervisor);
	loop_wait(&supervisor->loop, !supervisor->unreaped);
	supervisor->host.kill_left_ns = kill_limit_ns;
	/* A supervisor that was paused acts by the clock before it hears what has happened meanwhile. */
	run_timers(supervisor);
	take_signals(supervisor);
	if (supervisor->unreaped)
		reap(supervisor);
	loop_dispatch(&supervisor->loop);

	now_ns = clock_now_ns();
	reload_advance(supervisor, now_ns);
	restart_advance(supervisor, now_ns);
	look_after_elector(supervisor, now_ns);
	if (supervisor->host.exit_on_panic)
		stopping_on_panic(supervisor, now_ns);
	stale_advance(supervisor, now_ns);
	stopping_advance(supervisor, now_ns);
	if (supervisor->host.changed) {
		supervisor->host.changed = false;
		tell_status(supervisor);
	}
	start_end_orphan(supervisor, now_ns);
	tell_watchdog(supervisor, now_ns);
	watchdog_feed(&supervisor->watchdog, office_deadline(supervisor), now_ns);
}

/* ---- beginning and end ---- */

struct unit *supervisor_find(const struct supervisor *supervisor, const char *name)
{
	for (size_t i = 0; i < supervisor->unit_count; i++) {
		if (strcmp(supervisor->units[i]->config->name, name) == 0)
			return supervisor->units[i];
	}
	return NULL;
}

static int init(struct supervisor *supervisor, struct config *config, const struct supervisor_options *options)
{
	memset(supervisor, 0, sizeof(*supervisor));
	supervisor->config = config;
	supervisor->options = options;
	supervisor->started_ms = clock_wall_ms();
	supervisor->armed_ns = supervisor->extend_at_ns = supervisor->orphan_end_ns = CLOCK_NEVER;
	supervisor->orphan_fd = supervisor->loop.epoll_fd = supervisor->control_fd = supervisor->http_fd = -1;
	supervisor->signals = (struct watch){.fd = -1, .ready = on_signals};
	supervisor->timer = (struct watch){.fd = -1, .ready = on_timer};
	supervisor->state_dir = supervisor->data_dir = LOCKED_DIR_CLOSED;
	supervisor->watchdog = WATCHDOG_NONE;
	supervisor->handover = HANDOVER_NONE;
	supervisor->host = (struct unit_host){
		.processes = {.loop = &supervisor->loop},
		.member = config->member,
		.data_dir = config->data_dir,
		.state_dir = config->state_dir,
		.session_timeout_ns = config->zookeeper.session_timeout_ns,
		.send = send_to_elector,
		.mirror = keep_term,
	};
	child_init(&supervisor->child, &supervisor->loop, &supervisor->state_dir, on_message);
	reload_init(&supervisor->reload);
	supervisor->manager.fd = -1;
	return restart_init(&supervisor->restart, options->arguments, options->environment);
}

static int run(struct supervisor *supervisor)
{
	int status;

	start_begin(supervisor);
	while (!supervisor->finished)
		turn(supervisor);
	status = supervisor->failed || stopping_in_panic(supervisor) ? EXIT_NO : EXIT_YES;
	log_info(NULL, "stopped", "exit=%d", status);
	if (stopping_clean(supervisor))
		mirror_end(supervisor);
	/* One that may still be in office is left to it. */
	watchdog_close(&supervisor->watchdog, office_deadline(supervisor) == CLOCK_NEVER);
	return status;
}

int supervisor_run(struct config *config, const struct supervisor_options *options)
{
	struct supervisor supervisor;
	int rc = init(&supervisor, config, options), status;

	if (rc == 0)
		rc = start_open(&supervisor);
	if (rc == 0)
		status = run(&supervisor);
	else if (rc == START_NOTHING)
		status = EXIT_YES;
	else
		status = rc == -EBUSY || rc == -EADDRINUSE ? EXIT_REFUSED : EXIT_INTERNAL;
	start_close(&supervisor);
	return status;
}
