/* The socketpair to the supervisor: its messages taken in order, ours queued and sent. */
#include "elector/upward.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "core/role.h"
#include "elector/contest.h"
#include "elector/instant.h"
#include "elector/restarting.h"
#include "elector/shell.h"

enum {
	QUEUE_MIN = 256,
	QUEUE_PER_ELECTION = 16,
	DRAIN_MAX = 65536, /* messages taken in a row, lest a mad supervisor starve the loop */
};

/* ---- what the supervisor says ---- */

static void on_start(struct shell *shell, const struct message *m)
{
	struct upward *u = &shell->upward;

	if (u->started)
		return;
	u->started = true;
	u->generation = m->generation;
	u->agent = m->u.start.agent;
	u->supervisor_pid = m->u.start.supervisor_pid;
	u->session = m->u.start.session;
	u->lease_start_ns = m->u.start.lease_start_ns;
	for (size_t i = 0; i < shell->contest_count; i++)
		contest_begin(&shell->contests[i], u->agent);
}

static void on_go(struct shell *shell)
{
	if (shell->upward.begun)
		return;
	shell->upward.begun = true;
	ensemble_begin(shell, &shell->upward.session, shell->upward.lease_start_ns);
}

static void on_restore(struct shell *shell, struct contest *c, const struct message *m)
{
	if (!shell->upward.begun && m->u.restore.name[0])
		elector_restore(&c->core, m->u.restore.name, m->u.restore.czxid, m->u.restore.told);
}

static void tell_core(struct contest *c, enum elector_event_type type, const struct message *m)
{
	struct elector_event event = {.type = type};

	if (type == ELECTOR_EV_STAND)
		event.u.stand = m->type == MESSAGE_STAND && c->config->candidate;
	else
		event.u.token = m->token;
	contest_step(c, &event);
}

static void tell_fenced(struct contest *c, const struct message *m)
{
	struct elector_event event = {.type = ELECTOR_EV_PEER_FENCED};

	event.u.fenced.token = m->token;
	event.u.fenced.ok = m->u.fenced.ok;
	contest_step(c, &event);
}

static void on_election(struct shell *shell, struct contest *c, const struct message *m)
{
	switch (m->type) {
	case MESSAGE_RESTORE:
		on_restore(shell, c, m);
		break;
	case MESSAGE_STAND:
	case MESSAGE_RETIRE:
		tell_core(c, ELECTOR_EV_STAND, m);
		break;
	case MESSAGE_CONFIRM:
		tell_core(c, ELECTOR_EV_ACTIVE, m);
		break;
	case MESSAGE_GIVE_UP:
		tell_core(c, ELECTOR_EV_GIVE_UP, m);
		break;
	case MESSAGE_STATE:
		contest_set_state(c, m);
		break;
	case MESSAGE_FLOOR:
		contest_set_floor(c, m);
		break;
	case MESSAGE_PEER_FENCED:
		tell_fenced(c, m);
		break;
	default:
		break;
	}
}

static void complain(struct shell *shell, const struct message *m, const char *what)
{
	unsigned held;

	if (brake_pass(&shell->upward.nonsense, instant_now(), &held))
		log_error(NULL, "a message of the supervisor makes no sense",
			  "type=%s election=%u problem=\"%s\" repeated=%u",
			  m ? message_type_name(m->type) : "unknown", m ? m->election : 0, what, held);
}

static void on_message(struct shell *shell, const struct message *m)
{
	struct upward *u = &shell->upward;

	if (m->type != MESSAGE_START && m->type != MESSAGE_QUIT && (!u->started || m->generation != u->generation))
		return;
	switch (m->type) {
	case MESSAGE_START:
		on_start(shell, m);
		break;
	case MESSAGE_GO:
		on_go(shell);
		break;
	case MESSAGE_RESTARTS:
		restarting_answer(shell, m);
		break;
	case MESSAGE_QUIT:
		shell_quit(shell, m->u.quit.keep_session);
	case MESSAGE_RESTORE:
	case MESSAGE_STAND:
	case MESSAGE_RETIRE:
	case MESSAGE_CONFIRM:
	case MESSAGE_GIVE_UP:
	case MESSAGE_STATE:
	case MESSAGE_FLOOR:
	case MESSAGE_PEER_FENCED:
		if (m->election >= shell->contest_count)
			complain(shell, m, "no such election");
		else if (m->type == MESSAGE_STATE && m->u.state.state >= ROLE_STATE_COUNT)
			complain(shell, m, "no such state");
		else
			on_election(shell, &shell->contests[m->election], m);
		break;
	default:
		complain(shell, m, "not for the elector");
		break;
	}
}

void upward_drain(struct shell *shell)
{
	struct message m;

	for (unsigned i = 0; i < DRAIN_MAX && shell->upward.fd >= 0; i++) {
		int rc = message_receive(shell->upward.fd, &m);

		if (rc > 0) {
			on_message(shell, &m);
		} else if (rc == -EPROTO) {
			complain(shell, NULL, "malformed");
		} else if (rc == -EAGAIN) {
			return;
		} else if (rc != -EINTR) {
			shell_orphan(shell);
			return;
		}
	}
}

/* ---- what we say ---- */

void upward_put(struct shell *shell, struct message *m)
{
	struct upward *u = &shell->upward;

	if (u->fd < 0)
		return;
	m->generation = u->generation;
	if (message_queue_put(u->queue, m) < 0) {
		log_error(NULL, "the supervisor does not take our messages", "type=%s", message_type_name(m->type));
		shell_orphan(shell);
	}
}

void upward_flush(struct shell *shell)
{
	struct upward *u = &shell->upward;
	int rc;

	if (u->fd < 0)
		return;
	rc = message_queue_flush(u->queue, u->fd);
	if (rc == -EAGAIN)
		event_add(u->writable, NULL);
	else if (rc == 0)
		event_del(u->writable);
	else
		shell_orphan(shell);
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
	struct shell *shell = context;

	(void)fd;
	(void)what;
	upward_drain(shell);
	shell_settle(shell);
}

static void on_writable(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	shell_settle(context);
}

int upward_init(struct shell *shell, int fd)
{
	struct upward *u = &shell->upward;
	struct message hello = {.type = MESSAGE_HELLO};

	u->fd = fd;
	u->queue = message_queue_new(QUEUE_MIN + QUEUE_PER_ELECTION * (unsigned)shell->contest_count);
	u->readable = event_new(shell->base, fd, EV_READ | EV_PERSIST, on_readable, shell);
	u->writable = event_new(shell->base, fd, EV_WRITE | EV_PERSIST, on_writable, shell);
	if (!u->queue || !u->readable || !u->writable || event_add(u->readable, NULL) < 0)
		return -ENOMEM;
	upward_put(shell, &hello);
	upward_flush(shell);
	return 0;
}

void upward_close(struct shell *shell)
{
	struct upward *u = &shell->upward;

	if (u->fd < 0)
		return;
	event_del(u->readable);
	event_del(u->writable);
	close(u->fd);
	u->fd = -1;
}
