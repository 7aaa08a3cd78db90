/*
 * A message between supervisor and elector: the bytes as they are, and as a message of the right size and
 * version, for few of the others get past that.
 */
#include "fuzz.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/message.h"

static void check_text(const char *text, size_t size)
{
	assert(memchr(text, '\0', size) != NULL);
}

static void check_bool(const bool *value)
{
	assert(*(const unsigned char *)value <= 1);
}

static void check_incumbent(const struct tenure_incumbent *i)
{
	check_text(i->member, sizeof(i->member));
	check_text(i->address, sizeof(i->address));
	check_text(i->since, sizeof(i->since));
	assert(i->token >= 0);
	assert((int)i->phase >= 0 && i->phase <= TENURE_PHASE_ACTIVE);
	assert((int)i->clean >= 0 && i->clean <= TENURE_CLEAN_FENCED);
}

/* An instant and a duration that can be added. */
static void check_lease(int64_t start_ns, int64_t timeout_ns)
{
	int64_t sum;

	assert(start_ns >= 0 && timeout_ns >= 0 && !__builtin_add_overflow(start_ns, timeout_ns, &sum));
}

static void check_union(const struct message *m)
{
	switch (m->type) {
	case MESSAGE_START:
		check_lease(m->u.start.lease_start_ns, m->u.start.session.timeout_ns);
		break;
	case MESSAGE_RESTORE:
	case MESSAGE_CANDIDATE:
		check_text(m->u.restore.name, sizeof(m->u.restore.name));
		check_bool(&m->u.restore.told);
		assert(m->u.restore.czxid >= 0);
		break;
	case MESSAGE_STATE:
		check_text(m->u.state.last_hook.name, sizeof(m->u.state.last_hook.name));
		check_bool(&m->u.state.healthy);
		check_bool(&m->u.state.last_hook.timed_out);
		break;
	case MESSAGE_FLOOR:
		check_bool(&m->u.floor.broken);
		assert(m->u.floor.seen >= 0 && m->u.floor.durable >= 0);
		break;
	case MESSAGE_PEER_FENCED:
		check_bool(&m->u.fenced.ok);
		break;
	case MESSAGE_QUIT:
		check_bool(&m->u.quit.keep_session);
		break;
	case MESSAGE_SESSION:
		check_lease(0, m->u.session.timeout_ns);
		break;
	case MESSAGE_LEASE:
		check_lease(m->u.lease.start_ns, m->u.lease.timeout_ns);
		break;
	case MESSAGE_LEAD:
		check_lease(m->u.lead.lease_start_ns, m->u.lead.lease_timeout_ns);
		check_incumbent(&m->u.lead.previous);
		break;
	case MESSAGE_FENCE_PEER:
		check_bool(&m->u.peer.wanted);
		check_incumbent(&m->u.peer.incumbent);
		break;
	case MESSAGE_LEADER:
		check_bool(&m->u.leader.known);
		check_bool(&m->u.leader.gone);
		check_bool(&m->u.leader.self);
		check_incumbent(&m->u.leader.incumbent);
		break;
	default:
		break;
	}
}

static void check_message(const struct message *m)
{
	assert(m->version == MESSAGE_VERSION);
	assert(m->type > MESSAGE_NONE && m->type < MESSAGE_TYPE_COUNT);
	assert(strcmp(message_type_name(m->type), "unknown") != 0);
	assert(m->token >= 0 && m->reason < TENURE_REASON_COUNT);
	check_union(m);
}

/* What waits in a queue comes out as it went in. */
static void check_passed_on(const int pair[2], const struct message *m)
{
	struct message_queue *queue = message_queue_new(4);
	struct message out;

	assert(queue != NULL && message_queue_put(queue, m) == 0 && message_queue_waiting(queue) == 1);
	assert(message_queue_flush(queue, pair[0]) == 0);
	assert(message_receive(pair[1], &out) == 1 && memcmp(&out, m, sizeof(out)) == 0);
	message_queue_free(queue);
}

static void pass(const void *bytes, size_t size, bool whole)
{
	struct message m, untouched;
	int pair[2], rc;

	assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	assert(send(pair[0], bytes, size, MSG_DONTWAIT) == (ssize_t)size);
	memset(&untouched, 0xa5, sizeof(untouched));
	m = untouched;
	rc = message_receive(pair[1], &m);
	if (rc == 1) {
		assert(size == sizeof(m) && memcmp(&m, bytes, size) == 0);
		check_message(&m);
		check_passed_on(pair, &m);
	} else {
		assert(rc == (size == 0 && !whole ? 0 : -EPROTO));
		assert(memcmp(&m, &untouched, sizeof(m)) == 0);
	}
	assert(message_receive(pair[1], &m) == -EAGAIN);
	close(pair[0]);
	close(pair[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct message m;

	/* One byte more than a message is enough to be too long. */
	if (size > sizeof(m) + 1)
		size = sizeof(m) + 1;
	pass(data, size, false);
	memset(&m, 0, sizeof(m));
	memcpy(&m, data, size < sizeof(m) ? size : sizeof(m));
	m.version = MESSAGE_VERSION;
	pass(&m, sizeof(m), true);
	return 0;
}
