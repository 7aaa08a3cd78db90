/* The servers' names as numeric addresses. Needs no network: numbers, "localhost", and a name that cannot exist. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/resolver.h"

enum { PATIENCE_MS = 30000 };

/* Waits until no look-up is under way. */
static void settle(struct resolver *r, struct resolver_set *out)
{
	for (resolver_take(r, out); out->busy > 0; resolver_take(r, out)) {
		struct pollfd readable = {.fd = resolver_fd(r), .events = POLLIN};

		assert_int_equal(poll(&readable, 1, PATIENCE_MS), 1);
	}
}

static bool has(const struct resolver_set *set, const char *address)
{
	for (size_t i = 0; i < set->count; i++)
		if (strcmp(set->addresses[i], address) == 0)
			return true;
	return false;
}

/* Goal: numbers need no look-up, in the form the library takes. Method: IPv4, IPv6, and one twice. */
static void test_numeric(void **state)
{
	const struct config_server list[] = {{"127.0.0.1", 2181}, {"::1", 2182}, {"127.0.0.1", 2181}};
	struct resolver_set set;
	struct resolver *r;

	(void)state;
	assert_int_equal(resolver_new(list, 3, &r), 0);
	assert_true(resolver_numeric(r));
	resolver_start(r);
	resolver_take(r, &set);
	assert_int_equal(set.busy, 0);
	assert_int_equal(set.failed, 0);
	assert_int_equal(set.count, 2);
	assert_true(has(&set, "127.0.0.1:2181"));
	assert_true(has(&set, "::1:2182"));
	resolver_free(r);
}

/* Goal: what resolves is used although a name does not. Method: one of each, two rounds. */
static void test_partial(void **state)
{
	const struct config_server list[] = {{"nosuch.invalid", 1}, {"localhost", 2}, {"127.0.0.9", 3}};
	struct resolver_set set, again;
	struct resolver *r;

	(void)state;
	assert_int_equal(resolver_new(list, 3, &r), 0);
	assert_false(resolver_numeric(r));
	resolver_take(r, &set);
	assert_int_equal(set.count, 1);
	resolver_start(r);
	settle(r, &set);
	assert_int_equal(set.failed, 1);
	assert_string_equal(set.example, "nosuch.invalid");
	assert_true(set.why[0] != '\0');
	assert_true(has(&set, "127.0.0.9:3"));
	assert_true(has(&set, "127.0.0.1:2") || has(&set, "::1:2"));
	resolver_start(r);
	settle(r, &again);
	assert_true(resolver_set_equal(&set, &again));
	resolver_free(r);
}

/* Goal: two sets differ when one address does, whatever the order. Method: servers listed both ways, and others. */
static void test_compare(void **state)
{
	const struct config_server ab[] = {{"10.0.0.1", 1}, {"10.0.0.2", 1}};
	const struct config_server ba[] = {{"10.0.0.2", 1}, {"10.0.0.1", 1}};
	const struct config_server ac[] = {{"10.0.0.1", 1}, {"10.0.0.2", 2}};
	struct resolver_set x, y, z;
	struct resolver *r;

	(void)state;
	assert_int_equal(resolver_new(ab, 2, &r), 0);
	resolver_take(r, &x);
	resolver_free(r);
	assert_int_equal(resolver_new(ba, 2, &r), 0);
	resolver_take(r, &y);
	resolver_free(r);
	assert_int_equal(resolver_new(ac, 2, &r), 0);
	resolver_take(r, &z);
	resolver_free(r);
	assert_true(resolver_set_equal(&x, &y));
	assert_false(resolver_set_equal(&x, &z));
}

/* Goal: the number of addresses is bounded. Method: more servers than that. */
static void test_bound(void **state)
{
	struct config_server list[RESOLVER_ADDRESSES_MAX + 4];
	char hosts[RESOLVER_ADDRESSES_MAX + 4][16];
	struct resolver_set set;
	struct resolver *r;

	(void)state;
	for (size_t i = 0; i < RESOLVER_ADDRESSES_MAX + 4; i++) {
		snprintf(hosts[i], sizeof hosts[i], "10.0.0.%zu", i);
		list[i] = (struct config_server){hosts[i], 2181};
	}
	assert_int_equal(resolver_new(list, RESOLVER_ADDRESSES_MAX + 4, &r), 0);
	resolver_take(r, &set);
	assert_int_equal(set.count, RESOLVER_ADDRESSES_MAX);
	resolver_free(r);
	resolver_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numeric), cmocka_unit_test(test_partial), cmocka_unit_test(test_compare),
		cmocka_unit_test(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
