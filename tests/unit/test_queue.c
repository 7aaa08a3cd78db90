/* Names and order in the queue. */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocations.h"
#include "tenure/queue.h"

#define AGENT UINT64_C(0x0123456789abcdef)
#define OTHER UINT64_C(0xfedcba9876543210)

enum { CROWD = 2000, ROUNDS = 200 };

/* A seeded generator (xorshift), so that a failure repeats. */
static uint64_t random_state;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* The name of agent's candidate as the server would complete it. */
static void make_name(char out[TENURE_CANDIDATE_SIZE], uint64_t agent, uint64_t attempt, int32_t sequence)
{
	char guid[TENURE_GUID_SIZE];
	size_t length;

	tenure_queue_guid(agent, attempt, guid);
	assert_int_equal(tenure_queue_prefix(guid, out, TENURE_CANDIDATE_SIZE), 0);
	length = strlen(out);
	snprintf(out + length, TENURE_CANDIDATE_SIZE - length, "%010" PRId32, sequence);
}

/*
 * Goal: our own names come apart again. Method: random guids and sequences, extremes among them, there and
 * back.
 */
static void test_parse_round_trip(void **state)
{
	static const int32_t extremes[] = {0,	       1,	    -1,	       -5,	 999999999,
					   -999999999, -1000000000, INT32_MAX, INT32_MIN};
	const size_t n = sizeof(extremes) / sizeof(extremes[0]);

	(void)state;
	random_state = 1;
	for (size_t i = 0; i < 5000; i++) {
		uint64_t agent = next_random(), attempt = next_random();
		int32_t sequence = i < n ? extremes[i] : (int32_t)(uint32_t)next_random();
		struct tenure_candidate_name parsed;
		char name[TENURE_CANDIDATE_SIZE], guid[TENURE_GUID_SIZE];

		make_name(name, agent, attempt, sequence);
		tenure_queue_guid(agent, attempt, guid);
		assert_int_equal(tenure_queue_parse(name, &parsed), 0);
		assert_string_equal(parsed.guid, guid);
		assert_int_equal(parsed.sequence, sequence);
	}
}

/* Goal: the layout of a guid is the documented one. Method: two known halves. */
static void test_guid_layout(void **state)
{
	char guid[TENURE_GUID_SIZE];

	(void)state;
	tenure_queue_guid(AGENT, OTHER, guid);
	assert_string_equal(guid, "01234567-89ab-cdef-fedc-ba9876543210");
	tenure_queue_guid(0, UINT64_MAX, guid);
	assert_string_equal(guid, "00000000-0000-0000-ffff-ffffffffffff");
}

/* Goal: a prefix is written whole or not at all. Method: the exact size, one less, and none. */
static void test_prefix_size(void **state)
{
	char guid[TENURE_GUID_SIZE], buf[TENURE_CANDIDATE_SIZE];
	const size_t needed = sizeof("_c_01234567-89ab-cdef-fedc-ba9876543210-latch-");

	(void)state;
	tenure_queue_guid(AGENT, OTHER, guid);
	assert_int_equal(tenure_queue_prefix(guid, buf, needed), 0);
	assert_string_equal(buf, "_c_01234567-89ab-cdef-fedc-ba9876543210-latch-");
	strcpy(buf, "kept");
	assert_int_equal(tenure_queue_prefix(guid, buf, needed - 1), -ENAMETOOLONG);
	assert_int_equal(tenure_queue_prefix(guid, buf, 0), -ENAMETOOLONG);
	assert_string_equal(buf, "kept");
}

/* Goal: candidates of other clients queue too, without a guid. Method: one name of each accepted shape. */
static void test_parse_foreign(void **state)
{
	static const struct {
		const char *name;
		int32_t sequence;
	} cases[] = {
		{"0f3e6d5c4b3a29180706f5e4d3c2b1a0__lock__0000000042", 42},
		{"x-latch-0000000007", 7},
		{"x-latch--000000007", -7},
		{"x__lock__-2147483648", INT32_MIN},
		{"-latch-0000000001", 1},
		{"__lock__0000000001", 1},
		{"a__lock__b-latch-0000000003", 3},
		{"_c_0123456789abcdef-latch-0000000004", 4},
		{"_c_01234567-89AB-cdef-fedc-ba9876543210-latch-0000000005", 5},
		{"_c_01234567-89ab-cdef-fedc-ba987654321g-latch-0000000006", 6},
		{"_c_01234567089ab-cdef-fedc-ba9876543210-latch-0000000007", 7},
		{"_d_01234567-89ab-cdef-fedc-ba9876543210-latch-0000000008", 8},
		{"_c_01234567-89ab-cdef-fedc-ba9876543210__lock__0000000009", 9},
		{"x_c_01234567-89ab-cdef-fedc-ba9876543210-latch-0000000010", 10},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tenure_candidate_name parsed;

		assert_int_equal(tenure_queue_parse(cases[i].name, &parsed), 0);
		assert_string_equal(parsed.guid, "");
		assert_int_equal(parsed.sequence, cases[i].sequence);
	}
}

/* Goal: nothing else is a candidate, and the output stays as it was. Method: near misses of every part. */
static void test_parse_rejects(void **state)
{
	static const char *const names[] = {
		"",
		"-",
		"x",
		"0000000001",
		"-latch-",
		"x-latch-",
		"x__lock__",
		"x-latch-000000001",
		"x-latch-00000000001",
		"x-latch-+000000001",
		"x-latch- 000000001",
		"x-latch-000000000x",
		"x-latch-0000000001 ",
		"x-latch-0000000001\n",
		"x-latch-2147483648",
		"x-latch-9999999999",
		"x-latch--2147483649",
		"x-latch--9999999999",
		"x-latch--0000000005",
		"x-latch--000000000",
		"x-latch--0000000000",
		"x-latch---00000005",
		"x-latch--00000005",
		"x-latch_0000000001",
		"x-LATCH-0000000001",
		"x_lock_0000000001",
		"x-lock-0000000001",
		"lock-0000000001",
		"x-latch-0000000001-x",
		"atch-0000000001",
		"x-latch-\357\274\221000000000",
		"members",
		"config",
	};
	struct tenure_candidate_name parsed = {.guid = "kept", .sequence = 77};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_int_equal(tenure_queue_parse(names[i], &parsed), -EINVAL);
	assert_string_equal(parsed.guid, "kept");
	assert_int_equal(parsed.sequence, 77);
}

/* Goal: exactly what "%010d" prints is read. Method: for every length and sign compare with printf itself. */
static void test_parse_is_printf(void **state)
{
	(void)state;
	random_state = 3;
	for (unsigned i = 0; i < 20000; i++) {
		struct tenure_candidate_name parsed;
		char name[64], printed[32];
		int64_t value = (int64_t)(next_random() >> (next_random() % 64));
		int width = (int)(next_random() % 13);
		bool fits;

		if (next_random() & 1)
			value = -value;
		snprintf(name, sizeof(name), "x-latch-%0*" PRId64, width, value);
		snprintf(printed, sizeof(printed), "%010" PRId64, value);
		fits = value >= INT32_MIN && value <= INT32_MAX && strcmp(name + 8, printed) == 0;
		assert_int_equal(tenure_queue_parse(name, &parsed), fits ? 0 : -EINVAL);
		if (fits)
			assert_int_equal(parsed.sequence, value);
	}
}

/*
 * Goal: order survives the wrap of the counter. Method: pairs on both sides of it, and the circle's far
 * point.
 */
static void test_before(void **state)
{
	(void)state;
	assert_true(tenure_queue_before(1, 2));
	assert_false(tenure_queue_before(2, 1));
	assert_false(tenure_queue_before(5, 5));
	assert_true(tenure_queue_before(-1, 0));
	assert_true(tenure_queue_before(INT32_MAX, INT32_MIN));
	assert_false(tenure_queue_before(INT32_MIN, INT32_MAX));
	assert_true(tenure_queue_before(INT32_MAX - 10, INT32_MIN + 10));
	assert_true(tenure_queue_before(0, INT32_MAX));
	assert_false(tenure_queue_before(INT32_MAX, 0));
	/* Half the circle apart: either answer will do, but only one of them. */
	assert_true(tenure_queue_before(0, INT32_MIN) != tenure_queue_before(INT32_MIN, 0));
	assert_true(tenure_queue_before(-7, INT32_MAX - 6) != tenure_queue_before(INT32_MAX - 6, -7));

	random_state = 5;
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t a = (uint32_t)next_random(), gap = (uint32_t)next_random() >> 1;

		if (gap == 0)
			continue;
		assert_true(tenure_queue_before((int32_t)a, (int32_t)(a + gap)));
		assert_false(tenure_queue_before((int32_t)(a + gap), (int32_t)a));
	}
}

static void scan(const char *const *names, size_t n, const char *own, struct tenure_queue_view *view)
{
	memset(view, 0xa5, sizeof(*view));
	tenure_queue_scan(names, n, own, AGENT, view);
}

/* Goal: an empty queue says nothing. Method: no names, with and without a guid of our own. */
static void test_scan_empty(void **state)
{
	struct tenure_queue_view view, empty;

	(void)state;
	memset(&empty, 0, sizeof(empty));
	scan(NULL, 0, "", &view);
	assert_memory_equal(&view, &empty, sizeof(view));
	scan(NULL, 0, "01234567-89ab-cdef-fedc-ba9876543210", &view);
	assert_memory_equal(&view, &empty, sizeof(view));
}

/* Goal: the place in a mixed queue is right. Method: ours third, strangers and foreign candidates about. */
static void test_scan_mixed(void **state)
{
	char own[TENURE_CANDIDATE_SIZE], behind[TENURE_CANDIDATE_SIZE], ahead[TENURE_CANDIDATE_SIZE];
	char guid[TENURE_GUID_SIZE], too_long[128];
	const char *names[] = {behind, "members",	 own, too_long, "k__lock__0000000011",
			       ahead,  "lock-0000000001"};
	struct tenure_queue_view view;

	(void)state;
	tenure_queue_guid(AGENT, 1, guid);
	make_name(own, AGENT, 1, 12);
	make_name(ahead, OTHER, 1, 3);
	make_name(behind, OTHER, 2, 13);
	memset(too_long, 'y', sizeof(too_long));
	strcpy(too_long + 80, "-latch-0000000001");

	scan(names, 7, guid, &view);
	assert_int_equal(view.candidates, 4);
	assert_int_equal(view.strangers, 3);
	assert_int_equal(view.position, 3);
	assert_string_equal(view.own, own);
	assert_string_equal(view.predecessor, "k__lock__0000000011");
	assert_string_equal(view.foreign, "k__lock__0000000011");
	assert_string_equal(view.stranger, "members");
	assert_string_equal(view.leftover, "");
}

/*
 * Goal: a candidate's name that does not fit the view is a stranger, cut for the log. Method: one byte too
 * long, and the longest that fits.
 */
static void test_scan_long_names(void **state)
{
	char fits[TENURE_CANDIDATE_SIZE], over[TENURE_CANDIDATE_SIZE + 1];
	const char *names[] = {fits, over};
	struct tenure_queue_view view;

	(void)state;
	memset(fits, 'y', sizeof(fits));
	memset(over, 'z', sizeof(over));
	strcpy(fits + sizeof(fits) - sizeof("-latch-0000000001"), "-latch-0000000001");
	strcpy(over + sizeof(over) - sizeof("-latch-0000000001"), "-latch-0000000001");

	scan(names, 2, "", &view);
	assert_int_equal(view.candidates, 1);
	assert_int_equal(view.strangers, 1);
	assert_string_equal(view.foreign, fits);
	assert_int_equal(strlen(view.stranger), TENURE_CANDIDATE_SIZE - 1);
	assert_memory_equal(view.stranger, over, TENURE_CANDIDATE_SIZE - 1);
}

/* Goal: what is not there is not made up. Method: a guid that nobody holds, and none at all. */
static void test_scan_absent(void **state)
{
	char a[TENURE_CANDIDATE_SIZE], guid[TENURE_GUID_SIZE];
	const char *names[] = {a};
	struct tenure_queue_view view;

	(void)state;
	make_name(a, OTHER, 1, 3);
	tenure_queue_guid(AGENT, 1, guid);
	for (unsigned i = 0; i < 2; i++) {
		scan(names, 1, i ? guid : "", &view);
		assert_int_equal(view.candidates, 1);
		assert_int_equal(view.position, 0);
		assert_string_equal(view.own, "");
		assert_string_equal(view.predecessor, "");
	}
}

/*
 * Goal: leftovers of this agent are named, newest first, and never our own. Method: attempts of both
 * agents, across the wrap.
 */
static void test_scan_leftovers(void **state)
{
	char own[TENURE_CANDIDATE_SIZE], old[TENURE_CANDIDATE_SIZE], older[TENURE_CANDIDATE_SIZE];
	char other[TENURE_CANDIDATE_SIZE], guid[TENURE_GUID_SIZE];
	const char *names[] = {old, own, other, older};
	struct tenure_queue_view view;

	(void)state;
	make_name(older, AGENT, 1, INT32_MAX);
	make_name(old, AGENT, 2, INT32_MIN);
	make_name(own, AGENT, 3, INT32_MIN + 1);
	make_name(other, OTHER, 3, INT32_MIN + 2);
	tenure_queue_guid(AGENT, 3, guid);

	scan(names, 4, guid, &view);
	assert_string_equal(view.leftover, old);
	assert_int_equal(view.position, 3);
	scan(names, 4, "", &view);
	assert_string_equal(view.leftover, own);
	scan(names + 1, 2, guid, &view);
	assert_string_equal(view.leftover, "");
	assert_int_equal(view.position, 1);
}

/*
 * Goal: an agent half that only begins alike is somebody else's. Method: agents that differ in their last
 * digit.
 */
static void test_scan_similar_agents(void **state)
{
	char a[TENURE_CANDIDATE_SIZE], b[TENURE_CANDIDATE_SIZE];
	const char *names[] = {a, b};
	struct tenure_queue_view view;

	(void)state;
	make_name(a, AGENT ^ 1, 1, 1);
	make_name(b, AGENT >> 4, 1, 2);
	scan(names, 2, "", &view);
	assert_int_equal(view.candidates, 2);
	assert_string_equal(view.leftover, "");
}

/*
 * Goal: names that begin alike do not mix (app-1 and app-10). Method: foreign members of both names in one
 * queue.
 */
static void test_scan_member_prefixes(void **state)
{
	char own[TENURE_CANDIDATE_SIZE], guid[TENURE_GUID_SIZE];
	const char *names[] = {"app-10__lock__0000000002", own,	    "app-1__lock__0000000010",
			       "app-1-latch-0000000001",   "app-1", "app-10"};
	struct tenure_queue_view view;

	(void)state;
	make_name(own, AGENT, 1, 5);
	tenure_queue_guid(AGENT, 1, guid);
	scan(names, 6, guid, &view);
	assert_int_equal(view.candidates, 4);
	assert_int_equal(view.strangers, 2);
	assert_int_equal(view.position, 3);
	assert_string_equal(view.predecessor, "app-10__lock__0000000002");
}

/*
 * Goal: two members never both read themselves as first. Method: equal numbers and numbers half the circle
 * apart, made by hand.
 */
static void test_scan_agrees_on_order(void **state)
{
	static const int32_t pairs[][2] = {{4, 4}, {0, INT32_MIN}, {INT32_MIN + 3, 3}, {-9, INT32_MAX - 8}};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		char a[TENURE_CANDIDATE_SIZE], b[TENURE_CANDIDATE_SIZE];
		char guid_a[TENURE_GUID_SIZE], guid_b[TENURE_GUID_SIZE];
		const char *names[] = {a, b};
		struct tenure_queue_view view_a, view_b;

		make_name(a, AGENT, 1, pairs[i][0]);
		make_name(b, OTHER, 1, pairs[i][1]);
		tenure_queue_guid(AGENT, 1, guid_a);
		tenure_queue_guid(OTHER, 1, guid_b);
		scan(names, 2, guid_a, &view_a);
		scan(names, 2, guid_b, &view_b);
		assert_int_equal(view_a.position + view_b.position, 3);
		assert_string_equal(view_a.position == 2 ? view_a.predecessor : view_b.predecessor,
				    view_a.position == 2 ? b : a);
	}
}

/*
 * Goal: the newest of two znodes of our guid is ours; the other one is waited for. Method: both in the queue,
 * listed either way round.
 */
static void test_scan_own_twice(void **state)
{
	char first[TENURE_CANDIDATE_SIZE], second[TENURE_CANDIDATE_SIZE], guid[TENURE_GUID_SIZE];
	const char *names[] = {second, first, second};

	(void)state;
	make_name(first, AGENT, 1, 1);
	make_name(second, AGENT, 1, 2);
	tenure_queue_guid(AGENT, 1, guid);
	for (unsigned i = 0; i < 2; i++) {
		struct tenure_queue_view view;

		scan(names + i, 2, guid, &view);
		assert_string_equal(view.own, second);
		assert_string_equal(view.predecessor, first);
		assert_int_equal(view.position, 2);
		assert_string_equal(view.leftover, "");
	}
}

/*
 * Goal: a crowd of candidates forms one chain, in the order of creation, wherever the counter
 * stands, and reading it allocates nothing. Method: 2000 names with gaps, shuffled, start near the
 * wrap; random members must see the right place and predecessor; the allocations are counted.
 */
static void test_scan_crowd(void **state)
{
	static char names[CROWD][TENURE_CANDIDATE_SIZE];
	static const char *listing[CROWD];
	void *volatile probe;
	size_t before = allocations_made();

	(void)state;
	/* The counter itself must be seen to count. */
	probe = malloc(1);
	free(probe);
	assert_int_equal(allocations_made(), before + 1);

	for (unsigned round = 0; round < ROUNDS; round++) {
		uint32_t sequence = (uint32_t)INT32_MAX - 2500 + round * 30;

		random_state = round + 1;
		for (unsigned i = 0; i < CROWD; i++) {
			make_name(names[i], OTHER + i, i, (int32_t)sequence);
			sequence += 1 + (uint32_t)(next_random() % 3);
			listing[i] = names[i];
		}
		for (size_t i = CROWD - 1; i > 0; i--) {
			size_t j = next_random() % (i + 1);
			const char *swap = listing[i];

			listing[i] = listing[j];
			listing[j] = swap;
		}
		for (unsigned k = 0; k < 4; k++) {
			size_t i = k == 0 ? 0 : k == 1 ? CROWD - 1 : next_random() % CROWD;
			char guid[TENURE_GUID_SIZE];
			struct tenure_queue_view view;

			tenure_queue_guid(OTHER + i, i, guid);
			before = allocations_made();
			scan(listing, CROWD, guid, &view);
			assert_int_equal(allocations_made(), before);
			assert_int_equal(view.candidates, CROWD);
			assert_int_equal(view.position, i + 1);
			assert_string_equal(view.own, names[i]);
			assert_string_equal(view.predecessor, i ? names[i - 1] : "");
		}
	}
}

/*
 * Goal: numbers that the server has handed out more than once order nobody; each member finds its place
 * by asking for the czxid of the others. Method: candidates with the last number, one past the wrap and one
 * before the end, with czxids that follow neither names nor numbers; every member settles the
 * listing until nothing is open.
 */
static void test_settle(void **state)
{
	/* In the order of creation; the second half of the guid sorts them another way. */
	static const struct {
		uint64_t agent;
		int32_t sequence;
	} made[] = {{7, INT32_MAX - 1}, {5, INT32_MAX}, {9, INT32_MIN}, {1, INT32_MAX}, {8, INT32_MIN}, {3, INT32_MAX}};
	enum { MADE = 6 };
	char names[MADE][TENURE_CANDIDATE_SIZE];
	const char *listing[MADE];

	(void)state;
	for (size_t i = 0; i < MADE; i++) {
		make_name(names[i], made[i].agent, 1, made[i].sequence);
		listing[(i * 5 + 2) % MADE] = names[i];
	}
	for (size_t own = 0; own < MADE; own++) {
		char guid[TENURE_GUID_SIZE], behind[TENURE_CANDIDATE_SIZE] = "";
		struct tenure_queue_view view;
		size_t asked, other = MADE;

		tenure_queue_guid(made[own].agent, 1, guid);
		for (asked = 0; asked <= MADE; asked++) {
			tenure_queue_scan(listing, MADE, guid, AGENT, &view);
			tenure_queue_settle(listing, MADE, behind, &view);
			assert_true(view.position > own);
			for (other = 0; other < MADE && strcmp(names[other], view.predecessor) != 0; other++)
				;
			if (!view.doubtful || other < own)
				break;
			strcpy(behind, view.predecessor);
		}
		assert_true(asked < MADE);
		assert_string_equal(view.own, names[own]);
		/* The first one alone may come out as first; every other one waits for one that came before. */
		assert_int_equal(view.position == 1, own == 0);
		assert_true(own == 0 ? view.predecessor[0] == '\0' : other < own);
		assert_false(view.first_doubtful);
	}
}

/* Goal: once the others are known to have come later, the oldest of them is first. Method: as above, without the head. */
static void test_settle_first(void **state)
{
	char own[TENURE_CANDIDATE_SIZE], low[TENURE_CANDIDATE_SIZE], high[TENURE_CANDIDATE_SIZE];
	char guid[TENURE_GUID_SIZE];
	const char *listing[] = {high, own, low};
	struct tenure_queue_view view;

	(void)state;
	make_name(own, 5, 1, INT32_MAX);
	make_name(low, 1, 1, INT32_MAX);
	make_name(high, 9, 1, INT32_MIN + 1);
	tenure_queue_guid(5, 1, guid);
	for (unsigned asked = 0; asked < 3; asked++) {
		const char *behind[] = {"", low, high};

		tenure_queue_scan(listing, 3, guid, AGENT, &view);
		tenure_queue_settle(listing, 3, behind[asked], &view);
		assert_true(view.first_doubtful);
		assert_int_equal(view.doubtful, asked < 2);
		assert_int_equal(view.position, 3 - asked);
		assert_string_equal(view.predecessor, asked == 0 ? low : asked == 1 ? high : "");
	}
}

/* Goal: where numbers tell the order, nothing is changed. Method: one last number among ordinary ones, and a wrap far behind. */
static void test_settle_nothing(void **state)
{
	static const int32_t numbers[][3] = {{INT32_MAX - 2, INT32_MAX - 1, INT32_MAX}, {-3, -2, -1}, {-1, 0, 1}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		char names[3][TENURE_CANDIDATE_SIZE], guid[TENURE_GUID_SIZE];
		const char *listing[] = {names[2], names[0], names[1]};

		for (size_t k = 0; k < 3; k++)
			make_name(names[k], 9 - k, 1, numbers[i][k]);
		for (size_t k = 0; k < 3; k++) {
			struct tenure_queue_view view, settled;

			tenure_queue_guid(9 - k, 1, guid);
			tenure_queue_scan(listing, 3, guid, AGENT, &view);
			settled = view;
			tenure_queue_settle(listing, 3, "", &settled);
			assert_memory_equal(&settled, &view, sizeof(view));
			assert_int_equal(view.position, k + 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_round_trip),
		cmocka_unit_test(test_guid_layout),
		cmocka_unit_test(test_prefix_size),
		cmocka_unit_test(test_parse_foreign),
		cmocka_unit_test(test_parse_rejects),
		cmocka_unit_test(test_parse_is_printf),
		cmocka_unit_test(test_before),
		cmocka_unit_test(test_scan_empty),
		cmocka_unit_test(test_scan_mixed),
		cmocka_unit_test(test_scan_long_names),
		cmocka_unit_test(test_scan_absent),
		cmocka_unit_test(test_scan_leftovers),
		cmocka_unit_test(test_scan_similar_agents),
		cmocka_unit_test(test_scan_member_prefixes),
		cmocka_unit_test(test_scan_agrees_on_order),
		cmocka_unit_test(test_scan_own_twice),
		cmocka_unit_test(test_scan_crowd),
		cmocka_unit_test(test_settle),
		cmocka_unit_test(test_settle_first),
		cmocka_unit_test(test_settle_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
