/* Messages between the supervisor and the elector: sending, taking, checking, waiting. */
#include "common/message.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static const char *const names[MESSAGE_TYPE_COUNT] = {
	[MESSAGE_NONE] = "none",       [MESSAGE_START] = "start",	  [MESSAGE_RESTORE] = "restore",
	[MESSAGE_GO] = "go",	       [MESSAGE_STAND] = "stand",	  [MESSAGE_RETIRE] = "retire",
	[MESSAGE_CONFIRM] = "confirm", [MESSAGE_GIVE_UP] = "give-up",	  [MESSAGE_STATE] = "state",
	[MESSAGE_QUIT] = "quit",       [MESSAGE_HELLO] = "hello",	  [MESSAGE_SESSION] = "session",
	[MESSAGE_LEASE] = "lease",     [MESSAGE_CANDIDATE] = "candidate", [MESSAGE_LEAD] = "lead",
	[MESSAGE_LOST] = "lost",       [MESSAGE_LEFT] = "left",		  [MESSAGE_LEADER] = "leader",
	[MESSAGE_LEAVE] = "leave",     [MESSAGE_FLOOR] = "floor",	  [MESSAGE_PEER_FENCED] = "peer-fenced",
	[MESSAGE_RECOVER] = "recover", [MESSAGE_FENCE_PEER] = "fence-peer",
	[MESSAGE_FORGET_FLOOR] = "forget-floor", [MESSAGE_ALIVE] = "alive",
	[MESSAGE_RESTART] = "restart", [MESSAGE_RESTARTS] = "restarts",
};

struct message_queue {
	struct message *items; /* from head to tail; type NONE: taken out */
	unsigned head, tail, waiting;
	unsigned allocated, capacity;
};

const char *message_type_name(uint32_t type)
{
	return type < MESSAGE_TYPE_COUNT ? names[type] : "unknown";
}

int message_send(int fd, struct message *m)
{
	ssize_t n;

	assert(m->type > MESSAGE_NONE && m->type < MESSAGE_TYPE_COUNT);
	m->version = MESSAGE_VERSION;
	n = send(fd, m, sizeof(*m), MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0)
		return errno == EWOULDBLOCK || errno == ENOBUFS ? -EAGAIN : -errno;
	return (size_t)n == sizeof(*m) ? 0 : -EIO;
}

/* A bool with another bit pattern than 0 or 1 must not even be read as one. */
static bool is_bool(const bool *b)
{
	unsigned char byte;

	memcpy(&byte, b, 1);
	return byte <= 1;
}

static bool is_text(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static bool is_incumbent(const struct tenure_incumbent *i)
{
	return is_text(i->member, sizeof(i->member)) && is_text(i->address, sizeof(i->address)) &&
	       is_text(i->since, sizeof(i->since)) && i->token >= 0 &&
	       (unsigned)i->phase <= TENURE_PHASE_ACTIVE && (unsigned)i->clean <= TENURE_CLEAN_FENCED;
}

static bool is_lease(int64_t start_ns, int64_t timeout_ns)
{
	return start_ns >= 0 && timeout_ns >= 0 && start_ns <= INT64_MAX / 2 && timeout_ns <= INT64_MAX / 2;
}

static bool is_session(const struct session_credentials *session)
{
	return is_lease(0, session->timeout_ns);
}

static bool is_state(const struct message *m)
{
	return is_bool(&m->u.state.healthy) && is_bool(&m->u.state.health_known) && is_bool(&m->u.state.has_score) &&
	       is_bool(&m->u.state.last_hook.timed_out) &&
	       is_text(m->u.state.last_hook.name, sizeof(m->u.state.last_hook.name));
}

static bool is_sound(const struct message *m)
{
	if (m->token < 0 || m->reason >= TENURE_REASON_COUNT)
		return false;
	switch (m->type) {
	case MESSAGE_START:
		return is_lease(m->u.start.lease_start_ns, m->u.start.session.timeout_ns);
	case MESSAGE_RESTORE:
	case MESSAGE_CANDIDATE:
		return is_text(m->u.restore.name, sizeof(m->u.restore.name)) && m->u.restore.czxid >= 0 &&
		       is_bool(&m->u.restore.told);
	case MESSAGE_STATE:
		return is_state(m);
	case MESSAGE_FLOOR:
		return m->u.floor.seen >= 0 && m->u.floor.durable >= 0 && is_bool(&m->u.floor.broken);
	case MESSAGE_PEER_FENCED:
		return is_bool(&m->u.fenced.ok);
	case MESSAGE_RESTARTS:
		return is_bool(&m->u.restarts.refused) && is_text(m->u.restarts.why, sizeof(m->u.restarts.why));
	case MESSAGE_FENCE_PEER:
		return is_bool(&m->u.peer.wanted) && is_incumbent(&m->u.peer.incumbent);
	case MESSAGE_QUIT:
		return is_bool(&m->u.quit.keep_session);
	case MESSAGE_SESSION:
		return is_session(&m->u.session);
	case MESSAGE_LEASE:
		return is_lease(m->u.lease.start_ns, m->u.lease.timeout_ns);
	case MESSAGE_LEAD:
		return is_lease(m->u.lead.lease_start_ns, m->u.lead.lease_timeout_ns) &&
		       is_incumbent(&m->u.lead.previous);
	case MESSAGE_LEADER:
		return is_bool(&m->u.leader.known) && is_bool(&m->u.leader.gone) &&
		       is_bool(&m->u.leader.self) && is_bool(&m->u.leader.paused) &&
		       is_incumbent(&m->u.leader.incumbent);
	default:
		return m->type > MESSAGE_NONE && m->type < MESSAGE_TYPE_COUNT;
	}
}

int message_receive(int fd, struct message *m)
{
	struct message taken;
	ssize_t n = recv(fd, &taken, sizeof(taken), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : errno == ECONNRESET ? 0 : -errno;
	if (n == 0)
		return 0;
	if ((size_t)n != sizeof(taken) || taken.version != MESSAGE_VERSION || !is_sound(&taken))
		return -EPROTO;
	*m = taken;
	return 1;
}

struct message_queue *message_queue_new(unsigned capacity)
{
	struct message_queue *queue = calloc(1, sizeof(*queue));

	if (queue)
		queue->capacity = capacity;
	return queue;
}

void message_queue_free(struct message_queue *queue)
{
	if (queue)
		free(queue->items);
	free(queue);
}

unsigned message_queue_waiting(const struct message_queue *queue)
{
	return queue->waiting;
}

static bool supersedes(const struct message *newer, const struct message *older)
{
	if (newer->type != older->type)
		return false;
	if (newer->type == MESSAGE_LEASE)
		return true;
	return (newer->type == MESSAGE_STATE || newer->type == MESSAGE_FLOOR || newer->type == MESSAGE_LEADER) &&
	       newer->election == older->election;
}

static void compact(struct message_queue *queue)
{
	unsigned to = 0;

	for (unsigned i = queue->head; i < queue->tail; i++) {
		if (queue->items[i].type == MESSAGE_NONE)
			continue;
		if (to != i)
			queue->items[to] = queue->items[i];
		to++;
	}
	queue->head = 0;
	queue->tail = to;
}

/* Makes room for one more at the tail. Grows by doubling, so that a queue that never backs up stays small. */
static int make_room(struct message_queue *queue)
{
	unsigned wanted = queue->allocated == 0 ? 8 : queue->allocated * 2;
	struct message *items;

	if (queue->tail < queue->allocated)
		return 0;
	compact(queue);
	if (queue->tail < queue->allocated)
		return 0;
	if (wanted > queue->capacity)
		wanted = queue->capacity;
	if (wanted <= queue->allocated)
		return -ENOBUFS;
	items = realloc(queue->items, wanted * sizeof(*items));
	if (!items)
		return -ENOBUFS;
	queue->items = items;
	queue->allocated = wanted;
	return 0;
}

int message_queue_put(struct message_queue *queue, const struct message *m)
{
	int rc;

	assert(m->type > MESSAGE_NONE && m->type < MESSAGE_TYPE_COUNT);
	for (unsigned i = queue->head; i < queue->tail; i++) {
		if (supersedes(m, &queue->items[i])) {
			queue->items[i].type = MESSAGE_NONE;
			queue->waiting--;
		}
	}
	rc = make_room(queue);
	if (rc < 0)
		return rc;
	queue->items[queue->tail++] = *m;
	queue->waiting++;
	return 0;
}

int message_queue_flush(struct message_queue *queue, int fd)
{
	while (queue->head < queue->tail) {
		struct message *m = &queue->items[queue->head];

		if (m->type != MESSAGE_NONE) {
			int rc = message_send(fd, m);

			if (rc < 0)
				return rc;
			queue->waiting--;
		}
		queue->head++;
	}
	queue->head = queue->tail = 0;
	return 0;
}
