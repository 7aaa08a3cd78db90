/* The elector's table of outstanding requests, and its brake for log lines. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/config.h"
#include "elector/brake.h"
#include "elector/requests.h"
#include "elector/shell.h"
#include "zookeeper/port.h"

#define NS_PER_S INT64_C(1000000000)

enum { CAPACITY = 8, ROUNDS = 1000 };

static uint64_t add(struct requests *r, uint32_t index, int64_t deadline_ns)
{
	const struct request request = {.index = index};

	return requests_add(r, &request, deadline_ns);
}

/* Goal: every request comes back once, by its cookie alone. Method: fill the table, take in another order, twice. */
static void test_each_once(void **state)
{
	const unsigned order[CAPACITY] = {3, 0, 7, 1, 6, 2, 5, 4};
	uint64_t cookies[CAPACITY];
	struct requests r;
	struct request out;

	(void)state;
	assert_int_equal(requests_init(&r, CAPACITY), 0);
	for (uint32_t i = 0; i < CAPACITY; i++) {
		cookies[i] = add(&r, i, 1);
		assert_true(cookies[i] != 0);
	}
	assert_true(add(&r, 99, 1) == 0);
	for (unsigned i = 0; i < CAPACITY; i++) {
		assert_true(requests_take(&r, cookies[order[i]], &out));
		assert_int_equal(out.index, order[i]);
		assert_false(requests_take(&r, cookies[order[i]], &out));
	}
	assert_int_equal(r.count, 0);
	requests_free(&r);
}

/* Goal: a slot's next use is not taken for its last. Method: use one slot over and over, try the former cookies. */
static void test_reuse(void **state)
{
	struct requests r;
	struct request out;
	uint64_t former = 0;

	(void)state;
	assert_int_equal(requests_init(&r, 1), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t cookie = add(&r, i, 1);

		assert_true(cookie != 0 && cookie != former);
		assert_false(requests_take(&r, former, &out));
		assert_true(requests_take(&r, cookie, &out));
		former = cookie;
	}
	assert_false(requests_take(&r, UINT64_MAX, &out));
	requests_free(&r);
}

/* Goal: the deadline is the oldest one's. Method: take from the head, the middle and the tail. */
static void test_deadline(void **state)
{
	uint64_t a, b, c;
	struct requests r;
	struct request out;

	(void)state;
	assert_int_equal(requests_init(&r, CAPACITY), 0);
	assert_true(requests_deadline(&r) == INT64_MAX);
	a = add(&r, 0, 10);
	b = add(&r, 1, 20);
	c = add(&r, 2, 30);
	assert_int_equal(requests_deadline(&r), 10);
	assert_true(requests_take(&r, b, &out));
	assert_int_equal(requests_deadline(&r), 10);
	assert_true(requests_take(&r, a, &out));
	assert_int_equal(requests_deadline(&r), 30);
	assert_true(requests_take(&r, c, &out));
	assert_true(requests_deadline(&r) == INT64_MAX);
	requests_free(&r);
}

/*
 * Goal: a process that slept does not take the answers that wait for it as missing. Method: look long after
 * the deadline: no; a grace later: yes, but only if nothing was answered meanwhile.
 */
static void test_grace(void **state)
{
	uint64_t first;
	struct requests r;
	struct request out;

	(void)state;
	assert_int_equal(requests_init(&r, CAPACITY), 0);
	first = add(&r, 0, 10);
	add(&r, 1, 20);
	assert_false(requests_overdue(&r, 9));
	assert_false(requests_overdue(&r, 100 * NS_PER_S));
	assert_true(requests_deadline(&r) > 100 * NS_PER_S);
	assert_true(requests_take(&r, first, &out));
	assert_false(requests_overdue(&r, 102 * NS_PER_S));
	assert_false(requests_overdue(&r, 102 * NS_PER_S + NS_PER_S / 2));
	assert_true(requests_overdue(&r, 103 * NS_PER_S));
	assert_false(requests_overdue(&r, 103 * NS_PER_S + 1));
	requests_free(&r);
}

/*
 * Goal: the port has room for as many elections as a configuration may have, four watches each, and takes little
 * for one. Method: ports of both sizes; one beyond the port's own bounds.
 */
static void test_port_sizes(void **state)
{
	static const size_t counts[] = {1, CONFIG_ELECTIONS_MAX};
	const struct port_config too_much = {.requests_max = 1, .watches_max = UINT32_MAX};
	struct port *port;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct port_config config = {
			.requests_max = shell_requests_max(counts[i]),
			.watches_max = shell_watches_max(counts[i]),
		};

		assert_true(config.watches_max >= 4 * counts[i]);
		assert_int_equal(port_new(&config, &port), 0);
		port_free(port, 0);
	}
	assert_true(shell_watches_max(1) <= 32);
	assert_int_equal(port_new(&too_much, &port), -EINVAL);
}

/* Goal: the first line passes, a flood does not, and what was held is counted. Method: many calls at once. */
static void test_brake(void **state)
{
	struct brake brake = {0};
	unsigned held = 99;

	(void)state;
	assert_true(brake_pass(&brake, NS_PER_S, &held));
	assert_int_equal(held, 0);
	for (int64_t i = 0; i < 500; i++)
		assert_false(brake_pass(&brake, NS_PER_S + i, &held));
	assert_true(brake_pass(&brake, 11 * NS_PER_S, &held));
	assert_int_equal(held, 500);
	assert_true(brake_pass(&brake, 21 * NS_PER_S, &held));
	assert_int_equal(held, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_once), cmocka_unit_test(test_reuse), cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_grace),     cmocka_unit_test(test_brake), cmocka_unit_test(test_port_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
