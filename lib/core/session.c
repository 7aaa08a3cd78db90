/* The session core. See session.h. */
#include "core/session.h"

#include <assert.h>
#include <string.h>

enum { BACKOFF_MS = 100, BACKOFF_DOUBLINGS = 7 };

/* How long an attempt to connect may hang, or a server stay silent, while a lease is running out. */
static const int64_t least_patience_ns = 1200 * TENURE_NS_PER_MS;
enum { CONNECT_PATIENCE = 10, SILENCE_PATIENCE = 5 }; /* parts of T */

void session_init(struct session *s, const struct session_config *config)
{
	memset(s, 0, sizeof *s);
	s->config = *config;
	s->credentials.timeout_ns = config->timeout_ns;
	tenure_lease_init(&s->lease, config->budget.touch_lag_ns, config->budget.ping_slack_ns);
}

void session_resume(struct session *s, const struct session_credentials *credentials, int64_t lease_start_ns)
{
	s->credentials = *credentials;
	s->lease.timeout_ns = credentials->timeout_ns;
	s->lease.start_ns = lease_start_ns;
}

void session_orphan(struct session *s)
{
	s->orphaned = true;
}

static void act(struct session_update *u, enum session_action action)
{
	assert(u->count < SESSION_ACTIONS_MAX);
	u->actions[u->count++] = action;
}

static bool lease_alive(const struct session *s, int64_t now_ns)
{
	return tenure_lease_deadline(&s->lease) > now_ns;
}

/* A new handle for the session, or for a fresh one when there is none. */
static void open_handle(struct session *s, int64_t now_ns, struct session_update *u)
{
	if (s->state == SESSION_CONNECTED)
		u->down = true;
	s->state = SESSION_CONNECTING;
	s->open_at_ns = 0;
	s->adrift_ns = now_ns;
	s->heartbeat_out = false;
	s->addresses_changed = false;
	tenure_lease_handle_started(&s->lease, now_ns);
	act(u, SESSION_DO_OPEN);
}

/*
 * Giving up a handle that connects at this very moment would end the session, so while a lease rests
 * on it only a new process, whose predecessor left by _exit, may try another connection.
 */
static void restart(struct session *s, struct session_update *u)
{
	if (!s->orphaned)
		act(u, SESSION_DO_RESTART);
}

static void change_addresses(struct session *s, int64_t now_ns, struct session_update *u)
{
	if (lease_alive(s, now_ns))
		restart(s, u);
	else
		open_handle(s, now_ns, u);
}

static void on_addresses(struct session *s, int64_t now_ns, struct session_update *u)
{
	if (!s->addresses_known) {
		s->addresses_known = true;
		open_handle(s, now_ns, u);
	} else if (s->state == SESSION_CONNECTED) {
		s->addresses_changed = true;
	} else {
		change_addresses(s, now_ns, u);
	}
}

static void forget_session(struct session *s, struct session_update *u)
{
	u->lease_changed = u->lease_changed || s->lease.start_ns != 0;
	u->gone = s->credentials.id != 0;
	u->saved = u->gone;
	memset(&s->credentials, 0, sizeof s->credentials);
	s->credentials.timeout_ns = s->config.timeout_ns;
	tenure_lease_reset(&s->lease);
}

static void send_heartbeat(struct session *s, int64_t now_ns, struct session_update *u)
{
	s->heartbeat_out = true;
	s->heartbeat_at_ns = now_ns;
	act(u, SESSION_DO_HEARTBEAT);
}

static void on_connected(struct session *s, const struct session_event *event, struct session_update *u)
{
	const struct session_credentials *c = &event->u.connected;
	int64_t deadline_ns = tenure_lease_deadline(&s->lease);

	if (s->credentials.id != 0 && c->id != s->credentials.id)
		forget_session(s, u);
	tenure_lease_connected(&s->lease, c->timeout_ns);
	u->saved = u->saved || s->credentials.id != c->id || s->credentials.timeout_ns != s->lease.timeout_ns ||
		   memcmp(s->credentials.password, c->password, SESSION_PASSWORD_SIZE) != 0;
	s->credentials = *c;
	s->credentials.timeout_ns = s->lease.timeout_ns;
	u->lease_changed = u->lease_changed || tenure_lease_deadline(&s->lease) != deadline_ns;

	s->state = SESSION_CONNECTED;
	s->adrift_ns = 0;
	s->failures = 0;
	u->up = true;
	s->heartbeat_out = false;
	s->heartbeat_at_ns = event->now_ns;
	if (s->pace)
		send_heartbeat(s, event->now_ns, u);
}

static void on_disconnected(struct session *s, int64_t now_ns, struct session_update *u)
{
	if (s->state != SESSION_CONNECTED)
		return;
	s->state = SESSION_CONNECTING;
	s->adrift_ns = now_ns;
	s->heartbeat_out = false;
	tenure_lease_disconnected(&s->lease);
	u->down = true;
	if (s->addresses_changed)
		change_addresses(s, now_ns, u);
}

/* The handle is of no use. Another one after a pause, so that nothing spins. */
static void retire_handle(struct session *s, int64_t now_ns, struct session_update *u)
{
	unsigned doublings = s->failures < BACKOFF_DOUBLINGS ? s->failures : BACKOFF_DOUBLINGS;

	u->down = s->state == SESSION_CONNECTED;
	s->state = SESSION_CLOSED;
	s->heartbeat_out = false;
	s->failures++;
	s->open_at_ns = now_ns + ((int64_t)BACKOFF_MS << doublings) * TENURE_NS_PER_MS;
	tenure_lease_disconnected(&s->lease);
}

/* A handle whose events were lost may well be connected: giving it up would end the session. */
static void on_handle_failed(struct session *s, int64_t now_ns, struct session_update *u)
{
	if (s->state != SESSION_CLOSED && lease_alive(s, now_ns))
		restart(s, u);
	else
		retire_handle(s, now_ns, u);
}

static void on_reply(struct session *s, const struct session_event *event, struct session_update *u)
{
	int64_t period_ns = tenure_budget_heartbeat(&s->config.budget, s->lease.timeout_ns);

	if (s->state == SESSION_CONNECTED && event->u.reply.answered) {
		tenure_lease_answered(&s->lease, event->u.reply.sent_ns);
		if (event->u.reply.committed &&
		    tenure_lease_committed(&s->lease, event->u.reply.sent_ns, event->now_ns))
			u->lease_changed = true;
	}
	if (!event->u.reply.heartbeat || !s->heartbeat_out)
		return;
	s->heartbeat_out = false;
	/* A failed one waits for the grid anew; a late one is followed at once. */
	s->heartbeat_at_ns = event->u.reply.committed ? s->heartbeat_at_ns + period_ns : event->now_ns + period_ns;
	if (s->state == SESSION_CONNECTED && s->pace && s->heartbeat_at_ns <= event->now_ns)
		send_heartbeat(s, event->now_ns, u);
}

static void on_pace(struct session *s, bool pace, int64_t now_ns, struct session_update *u)
{
	bool begins = pace && !s->pace;

	s->pace = pace;
	if (begins && s->state == SESSION_CONNECTED && !s->heartbeat_out)
		send_heartbeat(s, now_ns, u);
}

/*
 * When a handle that has not connected is replaced: a fresh one, unlike the old, is not refused by a
 * server that has seen less than we have. Not while a lease rests on the session.
 */
static int64_t reopen_at(const struct session *s)
{
	int64_t at_ns = s->adrift_ns + s->credentials.timeout_ns;

	if (s->state != SESSION_CONNECTING || s->credentials.id == 0)
		return INT64_MAX;
	return at_ns > tenure_lease_deadline(&s->lease) ? at_ns : tenure_lease_deadline(&s->lease);
}

/* When a connection that answers no heartbeat is given up; not while a lease rests on the session. */
static int64_t silent_at(const struct session *s)
{
	int64_t at_ns = s->heartbeat_at_ns + s->credentials.timeout_ns;

	if (s->state != SESSION_CONNECTED || !s->heartbeat_out)
		return INT64_MAX;
	return at_ns > tenure_lease_deadline(&s->lease) ? at_ns : tenure_lease_deadline(&s->lease);
}

/*
 * The library gives a hanging attempt or a silent server 2T/3, longer than a lease may be left alone.
 * When a new process is to try another connection; INT64_MAX: there is no lease to save.
 */
static int64_t restart_at(const struct session *s)
{
	int64_t timeout_ns = s->credentials.timeout_ns, patience_ns, at_ns;

	if (s->orphaned)
		return INT64_MAX;
	if (s->state == SESSION_CONNECTING) {
		patience_ns = timeout_ns / CONNECT_PATIENCE;
		at_ns = s->adrift_ns;
	} else if (s->state == SESSION_CONNECTED && s->heartbeat_out) {
		patience_ns = timeout_ns / SILENCE_PATIENCE;
		at_ns = s->heartbeat_at_ns;
	} else {
		return INT64_MAX;
	}
	at_ns += patience_ns > least_patience_ns ? patience_ns : least_patience_ns;
	return lease_alive(s, at_ns) ? at_ns : INT64_MAX;
}

static int64_t heartbeat_at(const struct session *s)
{
	if (s->state != SESSION_CONNECTED || s->heartbeat_out || !s->pace)
		return INT64_MAX;
	return s->heartbeat_at_ns;
}

static int64_t open_at(const struct session *s)
{
	return s->open_at_ns != 0 && s->addresses_known ? s->open_at_ns : INT64_MAX;
}

static void on_timer(struct session *s, int64_t now_ns, struct session_update *u)
{
	if (now_ns >= open_at(s) || now_ns >= reopen_at(s) || now_ns >= silent_at(s))
		open_handle(s, now_ns, u);
	else if (now_ns >= restart_at(s))
		restart(s, u);
	else if (now_ns >= heartbeat_at(s))
		send_heartbeat(s, now_ns, u);
}

void session_step(struct session *s, const struct session_event *event, struct session_update *update)
{
	memset(update, 0, sizeof *update);
	switch (event->type) {
	case SESSION_EV_ADDRESSES:
		on_addresses(s, event->now_ns, update);
		break;
	case SESSION_EV_CONNECTED:
		on_connected(s, event, update);
		break;
	case SESSION_EV_DISCONNECTED:
		on_disconnected(s, event->now_ns, update);
		break;
	case SESSION_EV_EXPIRED:
		forget_session(s, update);
		open_handle(s, event->now_ns, update);
		break;
	case SESSION_EV_AUTH_FAILED:
		retire_handle(s, event->now_ns, update);
		break;
	case SESSION_EV_HANDLE_FAILED:
		on_handle_failed(s, event->now_ns, update);
		break;
	case SESSION_EV_REPLY:
		on_reply(s, event, update);
		break;
	case SESSION_EV_PACE:
		on_pace(s, event->u.pace, event->now_ns, update);
		break;
	case SESSION_EV_TIMER:
		on_timer(s, event->now_ns, update);
		break;
	}
	assert(s->state == SESSION_CONNECTED || !s->heartbeat_out);
	assert(!s->lease.connected || s->state == SESSION_CONNECTED);
}

int64_t session_deadline(const struct session *s)
{
	const int64_t due_ns[] = { open_at(s), reopen_at(s), silent_at(s), restart_at(s), heartbeat_at(s) };
	int64_t first_ns = INT64_MAX;

	for (unsigned i = 0; i < sizeof due_ns / sizeof due_ns[0]; i++)
		if (due_ns[i] < first_ns)
			first_ns = due_ns[i];
	return first_ns;
}
