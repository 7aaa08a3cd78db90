/* Our tie to the ensemble: the session core, the port, and requests on them. */
#include "elector/ensemble.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>

#include "common/log.h"
#include "elector/bell.h"
#include "elector/contest.h"
#include "elector/instant.h"
#include "elector/shell.h"

enum { EVENTS_AT_ONCE = 256 };

bool ensemble_connected(const struct shell *shell)
{
	return shell->ensemble.session.state == SESSION_CONNECTED;
}

/* ---- what a step of the session core brings about ---- */

static void say_session(struct shell *shell)
{
	struct message m = {.type = MESSAGE_SESSION};

	m.u.session = shell->ensemble.session.credentials;
	upward_put(shell, &m);
}

static void say_lease(struct shell *shell)
{
	struct message m = {.type = MESSAGE_LEASE};

	if (shell->ensemble.session.lease.start_ns == 0)
		return; /* a session that has ended proves nothing, and its end is said by itself */
	m.u.lease.start_ns = shell->ensemble.session.lease.start_ns;
	m.u.lease.timeout_ns = shell->ensemble.session.lease.timeout_ns;
	upward_put(shell, &m);
}

static void tell_contests(struct shell *shell, const struct session_update *update)
{
	const struct session *session = &shell->ensemble.session;
	struct elector_event down = {.type = ELECTOR_EV_DOWN}, gone = {.type = ELECTOR_EV_GONE};
	struct elector_event up = {.type = ELECTOR_EV_UP}, lease = {.type = ELECTOR_EV_LEASE};

	up.u.up.session_id = session->credentials.id;
	up.u.up.timeout_ns = session->lease.timeout_ns;
	lease.u.deadline_ns = tenure_lease_deadline(&session->lease);
	for (size_t i = 0; i < shell->contest_count; i++) {
		struct contest *c = &shell->contests[i];

		if (update->down || update->gone)
			peek_forget(c);
		if (update->down)
			contest_step(c, &down);
		if (update->gone) {
			member_gone(c);
			contest_step(c, &gone);
		}
		if (update->up)
			contest_step(c, &up);
		if (update->up && c->member.dirty)
			member_changed(c);
		if (update->up)
			bell_listen(c);
		/* A process that took the session up has had no news of its lease yet. */
		if (update->lease_changed || update->up)
			contest_step(c, &lease);
	}
}

/*
 * Each process and each handle begins one server further on than the one before, so that a server that hangs
 * does not cost the lease one attempt after the other. The agents begin at different ones.
 */
static size_t first_server(const struct shell *shell)
{
	const struct upward *u = &shell->upward;

	return (size_t)((u->agent + u->generation + shell->ensemble.opens) % shell->ensemble.servers.set.count);
}

static void open_handle(struct shell *shell)
{
	struct ensemble *e = &shell->ensemble;
	const char *addresses[RESOLVER_ADDRESSES_MAX];
	size_t count = e->servers.set.count, first = first_server(shell);
	unsigned held;
	int rc;

	for (size_t i = 0; i < count; i++)
		addresses[i] = e->servers.set.addresses[(first + i) % count];
	e->opens++;
	rc = port_open(e->port, addresses, count, &e->session.credentials);
	if (rc == 0)
		return;
	if (brake_pass(&e->failed, instant_now(), &held))
		log_error(NULL, "cannot make a ZooKeeper handle", "rc=%d repeated=%u", rc, held);
	e->open_failed = true;
	shell_soon(shell);
}

static void perform(struct shell *shell, enum session_action action)
{
	switch (action) {
	case SESSION_DO_NONE:
		break;
	case SESSION_DO_OPEN:
		open_handle(shell);
		break;
	case SESSION_DO_HEARTBEAT:
		if (member_heartbeat(shell) < 0) {
			shell->ensemble.heartbeat_failed = true;
			shell_soon(shell);
		}
		break;
	case SESSION_DO_RESTART:
		log_info(NULL, "leaving, so that a new process tries another connection for the session", "servers=%zu",
			 shell->ensemble.servers.set.count);
		upward_flush(shell);
		shell_leave(ELECTOR_EXIT_RESTART);
	}
}

void ensemble_step(struct shell *shell, struct session_event *event)
{
	struct session_update update;

	event->now_ns = instant_now();
	session_step(&shell->ensemble.session, event, &update);
	if (update.down || (update.gone && !shell->ensemble.down_ns))
		shell->ensemble.down_ns = event->now_ns;
	if (update.up)
		shell->ensemble.down_ns = 0;
	if (update.saved)
		say_session(shell);
	if (update.lease_changed)
		say_lease(shell);
	if (update.down || update.gone || update.up || update.lease_changed)
		tell_contests(shell, &update);
	for (unsigned i = 0; i < update.count; i++)
		perform(shell, update.actions[i]);
}

void ensemble_pace(struct shell *shell)
{
	struct session_event event = {.type = SESSION_EV_PACE};
	bool wanted = false, possible = false;

	/* A heartbeat goes to a member record: the first one is due as soon as there is one. */
	for (size_t i = 0; i < shell->contest_count; i++) {
		wanted = wanted || elector_wants_heartbeats(&shell->contests[i].core);
		possible = possible || shell->contests[i].member.known;
	}
	event.u.pace = wanted && possible;
	if (shell->orphan || event.u.pace == shell->ensemble.pace)
		return;
	shell->ensemble.pace = event.u.pace;
	ensemble_step(shell, &event);
	/* What was left to the next heartbeat has to be said now. */
	for (size_t i = 0; i < shell->contest_count; i++)
		if (shell->contests[i].member.dirty)
			member_changed(&shell->contests[i]);
}

void ensemble_later(struct shell *shell)
{
	struct session_event unsent = {.type = SESSION_EV_REPLY};
	struct session_event failed = {.type = SESSION_EV_HANDLE_FAILED};

	if (shell->ensemble.heartbeat_failed) {
		shell->ensemble.heartbeat_failed = false;
		unsent.u.reply.sent_ns = instant_now();
		unsent.u.reply.heartbeat = true;
		ensemble_step(shell, &unsent);
	}
	if (shell->ensemble.open_failed) {
		shell->ensemble.open_failed = false;
		ensemble_step(shell, &failed);
	}
}

/* ---- what the port brings ---- */

static void on_connected(struct shell *shell, const struct port_event *event)
{
	struct ensemble *e = &shell->ensemble;
	struct session_event connected = {.type = SESSION_EV_CONNECTED};
	char server[128] = "?";
	unsigned held = 0;

	e->connects++;
	connected.u.connected = event->u.connected;
	if (brake_pass(&e->connected, instant_now(), &held) || e->lost_said) {
		e->lost_said = false;
		if (port_server(e->port, server, sizeof server) < 0)
			server[0] = '\0';
		log_info(NULL, "connected to ZooKeeper",
			 "server=%s session=0x%" PRIx64 " timeout_ms=%" PRId64 " repeated=%u", server,
			 (uint64_t)event->u.connected.id, event->u.connected.timeout_ns / TENURE_NS_PER_MS, held);
	}
	ensemble_step(shell, &connected);
}

static void on_lost(struct shell *shell, struct brake *brake, enum log_level level, const char *text,
		    enum session_event_type type)
{
	const struct session *session = &shell->ensemble.session;
	struct session_event event = {.type = type};
	int64_t now_ns = instant_now(), left_ns = tenure_lease_deadline(&session->lease) - now_ns;
	unsigned held;

	if (brake_pass(brake, now_ns, &held)) {
		shell->ensemble.lost_said = true;
		log_line(level, NULL, text, "session=0x%" PRIx64 " lease_ms=%" PRId64 " repeated=%u",
			 (uint64_t)session->credentials.id, left_ns > 0 ? left_ns / TENURE_NS_PER_MS : 0, held);
	}
	ensemble_step(shell, &event);
}

static void on_watch(struct shell *shell, uint64_t cookie)
{
	struct elector_event event = {.type = ELECTOR_EV_CHANGED};
	uint32_t index;

	if (contest_watch_is_bell(cookie, &index) && index < shell->contest_count)
		bell_heard(&shell->contests[index]);
	else if (contest_watch_decode(cookie, &index, &event.u.changed) && index < shell->contest_count)
		contest_step(&shell->contests[index], &event);
}

/* The session core hears of it first, so that the election acts with the newest lease. */
static void on_reply(struct shell *shell, const struct port_event *reply)
{
	struct session_event event = {.type = SESSION_EV_REPLY};
	struct request request;

	if (!requests_take(&shell->requests, reply->u.reply.cookie, &request))
		return;
	event.u.reply.sent_ns = reply->u.reply.sent_ns;
	event.u.reply.answered = reply->u.reply.answered;
	event.u.reply.committed = reply->u.reply.write && reply->u.reply.result == PORT_OK;
	event.u.reply.heartbeat = request.heartbeat;
	if (event.u.reply.committed)
		shell->ensemble.commit_ns = instant_now();
	ensemble_step(shell, &event);
	request.done(shell, &request, reply);
}

static void take(void *context, const struct port_event *event)
{
	struct shell *shell = context;
	struct ensemble *e = &shell->ensemble;

	switch (event->type) {
	case PORT_EV_CONNECTED:
		on_connected(shell, event);
		break;
	case PORT_EV_DISCONNECTED:
		on_lost(shell, &e->lost, LOG_LEVEL_WARNING, "connection to ZooKeeper lost",
			SESSION_EV_DISCONNECTED);
		break;
	case PORT_EV_EXPIRED:
		on_lost(shell, &e->expired, LOG_LEVEL_WARNING, "the ZooKeeper session has expired",
			SESSION_EV_EXPIRED);
		break;
	case PORT_EV_AUTH_FAILED:
		on_lost(shell, &e->failed, LOG_LEVEL_ERROR, "ZooKeeper refuses the credentials of auth_file",
			SESSION_EV_AUTH_FAILED);
		break;
	case PORT_EV_BROKEN:
		on_lost(shell, &e->failed, LOG_LEVEL_ERROR, "the ZooKeeper handle is of no use any more",
			SESSION_EV_HANDLE_FAILED);
		break;
	case PORT_EV_WATCH:
		on_watch(shell, event->u.watch);
		break;
	case PORT_EV_REPLY:
		on_reply(shell, event);
		break;
	}
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
	struct shell *shell = context;

	(void)fd;
	(void)what;
	port_take(shell->ensemble.port, EVENTS_AT_ONCE, take, shell);
	shell_settle(shell);
}

/* ---- the interface ---- */

int ensemble_init(struct shell *shell, struct port *port)
{
	struct ensemble *e = &shell->ensemble;
	const struct config *config = shell->config;
	const struct session_config session = {
		.timeout_ns = config->zookeeper.session_timeout_ns,
		.budget = {
			.touch_lag_ns = config->zookeeper.touch_lag_ns,
			.ping_slack_ns = config->zookeeper.ping_slack_ns,
			.heartbeat_ns = config->zookeeper.heartbeat_ns,
		},
	};

	e->port = port;
	session_init(&e->session, &session);
	e->port_event = event_new(shell->base, port_fd(port), EV_READ | EV_PERSIST, on_readable, shell);
	if (!e->port_event || event_add(e->port_event, NULL) < 0)
		return -ENOMEM;
	return servers_init(shell);
}

void ensemble_begin(struct shell *shell, const struct session_credentials *credentials, int64_t lease_start_ns)
{
	if (credentials->id != 0)
		session_resume(&shell->ensemble.session, credentials, lease_start_ns);
	shell->ensemble.down_ns = instant_now();
	servers_begin(shell);
}

void ensemble_timer(struct shell *shell, int64_t now_ns)
{
	struct session_event due = {.type = SESSION_EV_TIMER}, failed = {.type = SESSION_EV_HANDLE_FAILED};
	struct brake *brake = &shell->ensemble.failed;
	unsigned held;

	if (now_ns >= session_deadline(&shell->ensemble.session))
		ensemble_step(shell, &due);
	servers_timer(shell, now_ns);
	if (requests_overdue(&shell->requests, now_ns)) {
		if (brake_pass(brake, now_ns, &held))
			log_warning(NULL, "the ZooKeeper library does not answer", "requests=%u repeated=%u",
				    shell->requests.count, held);
		ensemble_step(shell, &failed);
	}
}

int64_t ensemble_deadline(const struct shell *shell)
{
	const int64_t due_ns[] = {session_deadline(&shell->ensemble.session), servers_deadline(shell),
				  requests_deadline(&shell->requests)};
	int64_t first_ns = INT64_MAX;

	for (size_t i = 0; i < sizeof due_ns / sizeof *due_ns; i++)
		if (due_ns[i] < first_ns)
			first_ns = due_ns[i];
	return first_ns;
}

/* ---- requests ---- */

static uint64_t note_request(struct shell *shell, const struct request *request)
{
	int64_t timeout_ns = shell->ensemble.session.credentials.timeout_ns;

	return requests_add(&shell->requests, request, instant_now() + timeout_ns);
}

/* What the port has not accepted is not waited for. */
static int keep_if(struct shell *shell, uint64_t cookie, int rc)
{
	struct request refused;

	if (rc < 0)
		requests_take(&shell->requests, cookie, &refused);
	return rc;
}

int ensemble_create(struct shell *shell, const struct request *request, const char *path, const char *data,
		    size_t size, bool ephemeral, bool sequential)
{
	uint64_t cookie = note_request(shell, request);

	if (!cookie)
		return -EAGAIN;
	return keep_if(shell, cookie,
		       port_create(shell->ensemble.port, cookie, path, data, size, ephemeral, sequential));
}

int ensemble_delete(struct shell *shell, const struct request *request, const char *path)
{
	uint64_t cookie = note_request(shell, request);

	if (!cookie)
		return -EAGAIN;
	return keep_if(shell, cookie, port_delete(shell->ensemble.port, cookie, path, -1));
}

int ensemble_get(struct shell *shell, const struct request *request, const char *path, uint64_t watch_cookie)
{
	uint64_t cookie = note_request(shell, request);

	if (!cookie)
		return -EAGAIN;
	return keep_if(shell, cookie, port_get(shell->ensemble.port, cookie, path, watch_cookie));
}

int ensemble_set(struct shell *shell, const struct request *request, const char *path, const char *data, size_t size,
		 int32_t version)
{
	uint64_t cookie = note_request(shell, request);

	if (!cookie)
		return -EAGAIN;
	return keep_if(shell, cookie, port_set(shell->ensemble.port, cookie, path, data, size, version));
}

int ensemble_children(struct shell *shell, const struct request *request, const char *path, uint64_t watch_cookie)
{
	uint64_t cookie = note_request(shell, request);

	if (!cookie)
		return -EAGAIN;
	return keep_if(shell, cookie, port_children(shell->ensemble.port, cookie, path, watch_cookie));
}
