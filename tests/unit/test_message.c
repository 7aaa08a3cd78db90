/* Messages between the two processes: what passes, what is refused, and how they wait. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/message.h"

struct fixture {
	int a, b;
};

static int set_up(void **state)
{
	static struct fixture f;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	f = (struct fixture){pair[0], pair[1]};
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	close(f->a);
	if (f->b >= 0)
		close(f->b);
	return 0;
}

static struct message numbered(enum message_type type, uint32_t election, int64_t token)
{
	struct message m;

	memset(&m, 0, sizeof(m));
	m.type = type;
	m.election = election;
	m.token = token;
	return m;
}

/*
 * Goal: a message of every type arrives as it was sent.
 * Method: send one of each and compare all its bytes.
 */
static void every_type_passes(void **state)
{
	struct fixture *f = *state;

	for (uint32_t type = MESSAGE_NONE + 1; type < MESSAGE_TYPE_COUNT; type++) {
		struct message m = numbered(type, 7, 42), got;

		m.generation = 3;
		m.reason = TENURE_REASON_STOP;
		assert_int_equal(message_send(f->a, &m), 0);
		assert_int_equal(message_receive(f->b, &got), 1);
		assert_memory_equal(&m, &got, sizeof(m));
		assert_int_equal(got.version, MESSAGE_VERSION);
		assert_non_null(message_type_name(type));
		assert_string_not_equal(message_type_name(type), "unknown");
	}
	assert_string_equal(message_type_name(MESSAGE_TYPE_COUNT), "unknown");
}

/*
 * Goal: no message and no peer are told apart, and neither blocks.
 * Method: receive from an empty socket, then from one whose peer is closed; send to that one.
 */
static void empty_and_closed(void **state)
{
	struct fixture *f = *state;
	struct message m = numbered(MESSAGE_HELLO, 0, 0);

	assert_int_equal(message_receive(f->a, &m), -EAGAIN);
	close(f->b);
	f->b = -1;
	assert_int_equal(message_receive(f->a, &m), 0);
	m = numbered(MESSAGE_HELLO, 0, 0);
	assert_int_equal(message_send(f->a, &m), -EPIPE);
}

static int pass(struct fixture *f, const void *bytes, size_t size)
{
	struct message got;

	assert_int_equal(send(f->a, bytes, size, 0), size);
	return message_receive(f->b, &got);
}

/*
 * Goal: what no peer of this version would send is refused, and does not stop the next message.
 * Method: spoil one thing at a time.
 */
static void nonsense_is_refused(void **state)
{
	struct fixture *f = *state;
	struct message good = numbered(MESSAGE_LEADER, 0, 0), m;
	char longer[sizeof(good) + 1] = {0};

	good.version = MESSAGE_VERSION;
	assert_int_equal(pass(f, &good, sizeof(good)), 1);
	assert_int_equal(pass(f, &good, sizeof(good) - 1), -EPROTO);
	memcpy(longer, &good, sizeof(good));
	assert_int_equal(pass(f, longer, sizeof(longer)), -EPROTO);
	m = good, m.version++;
	assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);
	m = good, m.type = MESSAGE_NONE;
	assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);
	m = good, m.type = MESSAGE_TYPE_COUNT;
	assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);
	m = good, m.token = -1;
	assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);
	m = good, m.reason = TENURE_REASON_COUNT;
	assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);
	m = good, memset(m.u.leader.incumbent.member, 'x', sizeof(m.u.leader.incumbent.member));
	assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);
	m = good, memset(&m.u.leader.self, 2, 1);
	assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);
	m = good, memset(&m.u.leader.incumbent.clean, 0x7f, sizeof(m.u.leader.incumbent.clean));
	assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);
	assert_int_equal(pass(f, &good, sizeof(good)), 1);
}

/*
 * Goal: numbers that would overflow the arithmetic of the lease are refused.
 * Method: leases and sessions with negative and enormous times.
 */
static void absurd_times_are_refused(void **state)
{
	static const int64_t absurd[] = {-1, INT64_MIN, INT64_MAX};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(absurd) / sizeof(absurd[0]); i++) {
		struct message m = numbered(MESSAGE_LEASE, 0, 0);

		m.version = MESSAGE_VERSION;
		m.u.lease.start_ns = absurd[i];
		assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);
		m.u.lease.start_ns = 0;
		m.u.lease.timeout_ns = absurd[i];
		assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);
		m = numbered(MESSAGE_LEAD, 0, 1);
		m.version = MESSAGE_VERSION;
		m.u.lead.lease_timeout_ns = absurd[i];
		assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);
		m = numbered(MESSAGE_SESSION, 0, 0);
		m.version = MESSAGE_VERSION;
		m.u.session.timeout_ns = absurd[i];
		assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);
	}
}

/*
 * Goal: the messages about floors, fencing and recovery are checked like all others.
 * Method: spoil each field that can be wrong.
 */
static void floors_and_fencing(void **state)
{
	struct fixture *f = *state;
	struct message good = numbered(MESSAGE_FLOOR, 0, 0), m;

	good.version = MESSAGE_VERSION;
	good.u.floor.seen = 7;
	good.u.floor.durable = INT64_MAX;
	assert_int_equal(pass(f, &good, sizeof(good)), 1);
	m = good, m.u.floor.seen = -1;
	assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);
	m = good, m.u.floor.durable = -1;
	assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);
	m = good, memset(&m.u.floor.broken, 2, 1);
	assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);

	m = numbered(MESSAGE_PEER_FENCED, 0, 7), m.version = MESSAGE_VERSION;
	assert_int_equal(pass(f, &m, sizeof(m)), 1);
	memset(&m.u.fenced.ok, 2, 1);
	assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);

	good = numbered(MESSAGE_FENCE_PEER, 0, 7), good.version = MESSAGE_VERSION;
	good.u.peer.wanted = true;
	assert_int_equal(pass(f, &good, sizeof(good)), 1);
	m = good, memset(&m.u.peer.wanted, 2, 1);
	assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);
	m = good, m.u.peer.incumbent.token = -1;
	assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);
	m = good, memset(m.u.peer.incumbent.address, 'x', sizeof(m.u.peer.incumbent.address));
	assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);

	m = numbered(MESSAGE_RECOVER, 0, -1), m.version = MESSAGE_VERSION;
	assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);
	m = numbered(MESSAGE_FORGET_FLOOR, 0, 0), m.version = MESSAGE_VERSION + 1;
	assert_int_equal(pass(f, &m, sizeof(m)), -EPROTO);
}

/*
 * Goal: no bytes at all make the receiver read what it must not.
 * Method: random messages of the right size and version; a sanitizer build sees a bad read.
 */
static void random_bytes_are_survived(void **state)
{
	struct fixture *f = *state;
	unsigned seed = 1;

	for (int i = 0; i < 2000; i++) {
		struct message m, got;
		unsigned char *bytes = (unsigned char *)&m;
		int rc;

		for (size_t k = 0; k < sizeof(m); k++) {
			seed = seed * 1103515245u + 12345u;
			bytes[k] = (unsigned char)(seed >> 16);
		}
		m.version = MESSAGE_VERSION;
		m.type %= MESSAGE_TYPE_COUNT + 1;
		m.reason %= TENURE_REASON_COUNT + 1;
		m.token &= INT64_MAX;
		assert_int_equal(send(f->a, &m, sizeof(m), 0), sizeof(m));
		rc = message_receive(f->b, &got);
		assert_true(rc == 1 || rc == -EPROTO);
		if (rc == 1)
			assert_true(got.type > MESSAGE_NONE && got.type < MESSAGE_TYPE_COUNT);
	}
}

/*
 * Goal: waiting messages leave in their order, across a peer that stops reading for a while.
 * Method: fill the socket, see that some are left, read, flush again; every number arrives once, in order.
 */
static void queue_keeps_the_order(void **state)
{
	struct fixture *f = *state;
	struct message_queue *queue = message_queue_new(2000);
	struct message got;
	int64_t next = 0;
	int rc;

	assert_non_null(queue);
	for (int64_t i = 0; i < 2000; i++) {
		struct message m = numbered(MESSAGE_LOST, 1, i);

		assert_int_equal(message_queue_put(queue, &m), 0);
	}
	assert_int_equal(message_queue_flush(queue, f->a), -EAGAIN);
	assert_true(message_queue_waiting(queue) > 0 && message_queue_waiting(queue) < 2000);
	do {
		rc = message_queue_flush(queue, f->a);
		assert_true(rc == 0 || rc == -EAGAIN);
		while (message_receive(f->b, &got) == 1)
			assert_int_equal(got.token, next++);
	} while (rc != 0);
	assert_int_equal(next, 2000);
	assert_int_equal(message_queue_waiting(queue), 0);
	message_queue_free(queue);
}

/*
 * Goal: a newer lease, state or outlook takes an older one's place in the count, never its place in the
 * order: a lease of the next session must not overtake the end of the last.
 * Method: put old and new ones around other messages and look at what arrives.
 */
static void newer_ones_supersede(void **state)
{
	struct fixture *f = *state;
	struct message_queue *queue = message_queue_new(16);
	const struct message in[] = {
		numbered(MESSAGE_LEASE, 0, 1),	numbered(MESSAGE_STATE, 0, 2),	numbered(MESSAGE_STATE, 1, 3),
		numbered(MESSAGE_LOST, 0, 4),	numbered(MESSAGE_LEASE, 0, 5),	numbered(MESSAGE_STATE, 0, 6),
		numbered(MESSAGE_LEADER, 0, 7), numbered(MESSAGE_LEADER, 0, 8), numbered(MESSAGE_FLOOR, 0, 9),
		numbered(MESSAGE_FLOOR, 1, 10), numbered(MESSAGE_FLOOR, 0, 11),
	};
	static const int64_t out[] = {3, 4, 5, 6, 8, 10, 11};
	struct message got;

	assert_non_null(queue);
	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++)
		assert_int_equal(message_queue_put(queue, &in[i]), 0);
	assert_int_equal(message_queue_waiting(queue), sizeof(out) / sizeof(out[0]));
	assert_int_equal(message_queue_flush(queue, f->a), 0);
	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
		assert_int_equal(message_receive(f->b, &got), 1);
		assert_int_equal(got.token, out[i]);
	}
	assert_int_equal(message_receive(f->b, &got), -EAGAIN);
	message_queue_free(queue);
}

/*
 * Goal: the queue has a bound, and a peer that sleeps does not fill it with leases.
 * Method: put many leases, then as many others as fit, and one more.
 */
static void queue_is_bounded(void **state)
{
	struct message_queue *queue = message_queue_new(10);
	struct message m;

	(void)state;
	assert_non_null(queue);
	for (int64_t i = 0; i < 1000; i++) {
		m = numbered(MESSAGE_LEASE, 0, i);
		assert_int_equal(message_queue_put(queue, &m), 0);
	}
	assert_int_equal(message_queue_waiting(queue), 1);
	for (int64_t i = 0; i < 9; i++) {
		m = numbered(MESSAGE_LOST, 0, i);
		assert_int_equal(message_queue_put(queue, &m), 0);
	}
	assert_int_equal(message_queue_put(queue, &m), -ENOBUFS);
	assert_int_equal(message_queue_waiting(queue), 10);
	message_queue_free(queue);
	message_queue_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_type_passes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(empty_and_closed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nonsense_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(absurd_times_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(floors_and_fencing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(random_bytes_are_survived, set_up, tear_down),
		cmocka_unit_test_setup_teardown(queue_keeps_the_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(newer_ones_supersede, set_up, tear_down),
		cmocka_unit_test_setup_teardown(queue_is_bounded, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
