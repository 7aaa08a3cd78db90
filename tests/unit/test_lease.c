/* The lease rule and the schedule. */
#include "core_support.h"

#define T (20 * SECOND)
#define LAG (2000 * MS)
#define SLACK (500 * MS)
#define START (1000 * SECOND)

/* The tests speak in milliseconds after START. */
#define AT(ms) (START + (ms) * MS)

/* A lease with a handle started at 0 and a connection. */
static struct tenure_lease connected_lease(void)
{
	struct tenure_lease l;

	tenure_lease_init(&l, LAG, SLACK);
	tenure_lease_handle_started(&l, AT(0));
	tenure_lease_connected(&l, T);
	return l;
}

static bool commit(struct tenure_lease *l, int64_t sent_ns, int64_t done_ns)
{
	size_t before = allocations_made();
	bool extended = tenure_lease_committed(l, sent_ns, done_ns);

	assert_int_equal(allocations_made(), before);
	return extended;
}

/* Goal: without a commit nothing is proven. Method: start, connect, answers that are no commits. */
static void test_nothing_proven(void **state)
{
	struct tenure_lease l;

	(void)state;
	tenure_lease_init(&l, LAG, SLACK);
	assert_int_equal(tenure_lease_deadline(&l), 0);
	tenure_lease_handle_started(&l, AT(0));
	tenure_lease_connected(&l, T);
	tenure_lease_answered(&l, AT(10));
	assert_int_equal(tenure_lease_deadline(&l), 0);
}

/*
 * Goal: (a) one commit proves q + T, q the start of the handle. Method: commits too close together for (b).
 */
static void test_one_commit_proves_opening(void **state)
{
	struct tenure_lease l = connected_lease();

	(void)state;
	assert_true(commit(&l, AT(5000), AT(5010)));
	assert_int_equal(tenure_lease_deadline(&l), AT(0) + T);
	assert_false(commit(&l, AT(6000), AT(6010)));
	assert_false(commit(&l, AT(7000), AT(7010)));
	assert_int_equal(tenure_lease_deadline(&l), AT(0) + T);
}

/*
 * Goal: (b) by hand. Method: commits each second: 1 at 0 s, 2 at 3 s (2 s and more behind 1's reply), 3 at 4
 * s.
 */
static void test_three_commits(void **state)
{
	struct tenure_lease l = connected_lease();

	(void)state;
	commit(&l, AT(1000), AT(1100));
	commit(&l, AT(2000), AT(2100));
	commit(&l, AT(3000), AT(3100));
	assert_int_equal(tenure_lease_deadline(&l), AT(0) + T);
	/* s2 = 3000 is 1.9 s behind c1 = 1100 only. */
	assert_false(commit(&l, AT(4000), AT(4100)));
	assert_int_equal(tenure_lease_deadline(&l), AT(0) + T);
	/* s2 = 4000, c1 = 1100. */
	assert_true(commit(&l, AT(5000), AT(5100)));
	assert_int_equal(tenure_lease_deadline(&l), AT(1000) + T);
	assert_true(commit(&l, AT(6000), AT(6100)));
	assert_int_equal(tenure_lease_deadline(&l), AT(2000) + T);
}

/*
 * Goal: the gaps of (b) count when equal and not one nanosecond less. Method: each gap at and below its
 * bound.
 */
static void test_boundaries(void **state)
{
	const int64_t c1 = AT(1100), s2 = c1 + LAG, c2 = s2 + 100 * MS, s3 = c2 + SLACK;
	struct tenure_lease l = connected_lease();

	(void)state;
	commit(&l, AT(1000), c1);
	commit(&l, s2, c2);
	assert_true(commit(&l, s3, s3 + MS));
	assert_int_equal(tenure_lease_deadline(&l), AT(1000) + T);

	l = connected_lease();
	commit(&l, AT(1000), c1);
	commit(&l, s2 - 1, c2);
	assert_false(commit(&l, s3, s3 + MS));
	assert_int_equal(tenure_lease_deadline(&l), AT(0) + T);

	l = connected_lease();
	commit(&l, AT(1000), c1);
	commit(&l, s2, c2);
	assert_false(commit(&l, s3 - 1, s3 + MS));
	assert_int_equal(tenure_lease_deadline(&l), AT(0) + T);
}

/*
 * Goal: only the replies' times bound a hold-up. Method: three commits sent well apart whose replies come at
 * once.
 */
static void test_held_up_replies(void **state)
{
	struct tenure_lease l = connected_lease();

	(void)state;
	commit(&l, AT(1000), AT(16000));
	commit(&l, AT(6000), AT(16001));
	commit(&l, AT(11000), AT(16002));
	assert_int_equal(tenure_lease_deadline(&l), AT(0) + T);
}

/*
 * Goal: commits of a former connection never serve (b). Method: two of the three on each side of a reconnect.
 */
static void test_former_connection(void **state)
{
	for (unsigned before = 1; before <= 2; before++) {
		struct tenure_lease l = connected_lease();

		(void)state;
		for (unsigned i = 0; i < 3; i++) {
			int64_t sent_ns = AT(1000 + 5000 * i);

			if (i == before) {
				tenure_lease_disconnected(&l);
				tenure_lease_connected(&l, T);
			}
			commit(&l, sent_ns, sent_ns + MS);
		}
		/* (a): q is the newest request of the first connection. */
		assert_int_equal(tenure_lease_deadline(&l), AT(1000 + 5000 * (before - 1)) + T);
	}
}

/*
 * Goal: after a reconnect q is the newest answered request, whatever the answer. Method: a commit, then a
 * read.
 */
static void test_reconnect(void **state)
{
	struct tenure_lease l = connected_lease();

	(void)state;
	commit(&l, AT(1000), AT(1001));
	tenure_lease_answered(&l, AT(3000));
	tenure_lease_answered(&l, AT(2000));
	tenure_lease_disconnected(&l);
	assert_int_equal(tenure_lease_deadline(&l), AT(0) + T);
	tenure_lease_answered(&l, AT(4000)); /* not connected: proves nothing */
	assert_false(commit(&l, AT(4500), AT(4600)));
	tenure_lease_connected(&l, T);
	assert_int_equal(tenure_lease_deadline(&l), AT(0) + T);
	assert_true(commit(&l, AT(9000), AT(9001)));
	assert_int_equal(tenure_lease_deadline(&l), AT(3000) + T);
}

/* Goal: connections that answer nothing leave q alone. Method: several reconnects without any answer. */
static void test_silent_reconnects(void **state)
{
	struct tenure_lease l = connected_lease();

	(void)state;
	commit(&l, AT(1000), AT(1001));
	for (int i = 0; i < 5; i++) {
		tenure_lease_disconnected(&l);
		tenure_lease_connected(&l, T);
	}
	commit(&l, AT(15000), AT(15001));
	assert_int_equal(tenure_lease_deadline(&l), AT(1000) + T);
}

/*
 * Goal: a new handle gives a new q, and an old one never comes back. Method: a handle started after a commit.
 */
static void test_new_handle(void **state)
{
	struct tenure_lease l = connected_lease();

	(void)state;
	commit(&l, AT(1000), AT(1001));
	tenure_lease_handle_started(&l, AT(7000));
	assert_false(commit(&l, AT(7001), AT(7002)));
	tenure_lease_connected(&l, T);
	assert_int_equal(tenure_lease_deadline(&l), AT(0) + T);
	assert_true(commit(&l, AT(8000), AT(8001)));
	assert_int_equal(tenure_lease_deadline(&l), AT(7000) + T);
}

/* Goal: a smaller T shortens at once, a larger one never lengthens. Method: reconnects with other values. */
static void test_other_timeouts(void **state)
{
	struct tenure_lease l = connected_lease();

	(void)state;
	commit(&l, AT(1000), AT(1001));
	tenure_lease_disconnected(&l);
	tenure_lease_connected(&l, T / 2);
	assert_int_equal(tenure_lease_deadline(&l), AT(0) + T / 2);
	commit(&l, AT(2000), AT(2001));
	assert_int_equal(tenure_lease_deadline(&l), AT(1000) + T / 2);
	tenure_lease_disconnected(&l);
	tenure_lease_connected(&l, 2 * T);
	commit(&l, AT(3000), AT(3001));
	assert_int_equal(tenure_lease_deadline(&l), AT(2000) + T / 2);
	assert_int_equal(l.timeout_ns, T / 2);
}

/* Goal: a session's end takes its proof along. Method: reset, then a commit that is nobody's. */
static void test_reset(void **state)
{
	struct tenure_lease l = connected_lease();

	(void)state;
	commit(&l, AT(1000), AT(1001));
	tenure_lease_reset(&l);
	assert_int_equal(tenure_lease_deadline(&l), 0);
	assert_false(commit(&l, AT(2000), AT(2001)));
	assert_int_equal(tenure_lease_deadline(&l), 0);
	assert_int_equal(l.touch_lag_ns, LAG);
	assert_int_equal(l.ping_slack_ns, SLACK);
}

enum { ORACLE_MAX = 400 };

/* All commits of the present connection, and the rule as it is written. */
struct oracle {
	struct tenure_commit commits[ORACLE_MAX];
	unsigned count;
	int64_t q_ns, answered_ns, start_ns;
};

/* The newest s1 for the newest commit as heartbeat 3, with the gaps LAG_NS and SLACK_NS; 0: none. */
static int64_t oracle_newest(const struct oracle *o, int64_t lag_ns, int64_t slack_ns)
{
	const struct tenure_commit *third = &o->commits[o->count - 1];
	int64_t newest_ns = 0;

	for (unsigned i = 0; i < o->count; i++)
		for (unsigned j = 0; j < o->count; j++) {
			const struct tenure_commit *first = &o->commits[i], *second = &o->commits[j];

			if (second->sent_ns >= first->done_ns + lag_ns &&
			    third->sent_ns >= second->done_ns + slack_ns && first->sent_ns > newest_ns)
				newest_ns = first->sent_ns;
		}
	return newest_ns;
}

/*
 * Goal: what is shipped never proves more than the rule, and loses at most its spacing. Method: random
 * sequences of commits, some dense, some held up, with reconnects; after each the rule by brute force. The
 * lower bound is the rule with both gaps of the spacing longer, less the spacing.
 */
static void run_against_oracle(struct random_run *run)
{
	const int64_t spacing_ns = (LAG + SLACK) / (TENURE_LEASE_COMMITS / 4);
	const int64_t gap_ns = 1 + random_below(run, 1500) * MS;
	const bool pipelined = random_once_in(run, 3);
	struct oracle o = {.q_ns = START};
	struct tenure_lease l = connected_lease();
	int64_t sent_ns = START, done_ns = START, lower_ns = 0;

	for (run->step = 0; run->step < ORACLE_MAX; run->step++) {
		sent_ns =
			(pipelined || sent_ns > done_ns ? sent_ns : done_ns) + 1 + random_below(run, gap_ns);
		if (done_ns < sent_ns)
			done_ns = sent_ns;
		done_ns += random_below(run, random_once_in(run, 20) ? 3 * SECOND : 50 * MS);
		if (random_once_in(run, 100)) {
			o.count = 0;
			o.q_ns = o.answered_ns > o.q_ns ? o.answered_ns : o.q_ns;
			tenure_lease_disconnected(&l);
			tenure_lease_connected(&l, T);
			sent_ns = done_ns;
		}
		o.commits[o.count++] = (struct tenure_commit){sent_ns, done_ns};
		o.answered_ns = sent_ns;
		o.start_ns = o.start_ns > o.q_ns ? o.start_ns : o.q_ns;
		lower_ns = lower_ns > o.q_ns ? lower_ns : o.q_ns;

		int64_t exact_ns = oracle_newest(&o, LAG, SLACK);
		int64_t coarse_ns = oracle_newest(&o, LAG + spacing_ns, SLACK + spacing_ns) - spacing_ns;

		o.start_ns = exact_ns > o.start_ns ? exact_ns : o.start_ns;
		lower_ns = coarse_ns > lower_ns ? coarse_ns : lower_ns;
		commit(&l, sent_ns, done_ns);
		CHECK_RUN(run, tenure_lease_deadline(&l) <= o.start_ns + T);
		/*
		 * A backlog of replies longer than what the ring spans may hide a pair; no heartbeat makes
		 * one.
		 */
		if (!pipelined)
			CHECK_RUN(run, tenure_lease_deadline(&l) >= lower_ns + T);
	}
}

static void test_against_oracle(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 120; seed++) {
		struct random_run run;

		random_begin(&run, seed);
		run_against_oracle(&run);
	}
}

/*
 * Goal: thousands of commits a second neither overflow nor delay (b). Method: one each millisecond for a
 * minute.
 */
static void test_dense_commits(void **state)
{
	const int64_t spacing_ns = (LAG + SLACK) / (TENURE_LEASE_COMMITS / 4);
	struct tenure_lease l = connected_lease();

	(void)state;
	for (int64_t ms = 1; ms <= 60000; ms++) {
		int64_t exact_ns = AT(ms) - LAG - SLACK - 2 * MS;

		commit(&l, AT(ms), AT(ms + 1));
		assert_true(l.count <= TENURE_LEASE_COMMITS);
		if (ms > 2502 + 1)
			assert_true(tenure_lease_deadline(&l) <= exact_ns + T);
		if (ms > 5000)
			assert_true(tenure_lease_deadline(&l) >= exact_ns - 3 * spacing_ns + T);
	}
}

/*
 * Goal: the numbers of the manual. Method: the defaults, T 20 s: 10.4 s needed, 14.5 s left, 8.1 s of hold.
 */
static void test_default_budget(void **state)
{
	const struct tenure_budget b = default_budget();
	struct tenure_schedule s = tenure_schedule_for(&b, T, AT(0));

	(void)state;
	assert_int_equal(tenure_budget_heartbeat(&b, T), SECOND);
	assert_int_equal(tenure_budget_ride_out(&b, T), 4 * SECOND);
	assert_int_equal(tenure_budget_margin(T), 400 * MS);
	assert_int_equal(tenure_budget_margin(SECOND), 250 * MS);
	assert_int_equal(tenure_budget_need(&b, T), 10400 * MS);
	assert_int_equal(tenure_budget_hold(&b, T), 8100 * MS);
	assert_true(tenure_budget_fits(&b, T));
	assert_int_equal(s.deadline_ns, AT(0));
	assert_int_equal(s.out_ns, AT(-400));
	assert_int_equal(s.kill_ns, AT(-2400));
	assert_int_equal(s.demote_ns, AT(-6400));
}

/*
 * Goal: heartbeats in their rhythm keep at least what the budget counts on. Method: the worst moment of a
 * minute.
 */
static void test_left_in_rhythm(void **state)
{
	const struct tenure_budget b = default_budget();
	struct tenure_lease l = connected_lease();
	int64_t least_ns = T;

	(void)state;
	for (int64_t ms = 0; ms <= 60000; ms += 1000) {
		int64_t left_ns = tenure_lease_deadline(&l) - AT(ms);

		if (ms > 10000 && left_ns < least_ns)
			least_ns = left_ns;
		commit(&l, AT(ms), AT(ms + 5));
	}
	assert_true(least_ns >= tenure_budget_hold(&b, T) + b.lose_ns + b.fence_ns + tenure_budget_margin(T));
}

/*
 * Goal: the smallest timeout is just that. Method: random budgets; it fits, and a millisecond less does not.
 */
static void test_smallest_timeout(void **state)
{
	struct random_run run;

	(void)state;
	random_begin(&run, 11);
	for (run.step = 0; run.step < 5000; run.step++) {
		struct tenure_budget b = {
			.touch_lag_ns = random_below(&run, 20000) * MS,
			.ping_slack_ns = random_below(&run, 2000) * MS,
			.heartbeat_ns = random_once_in(&run, 2) ? 0 : (1 + random_below(&run, 10000)) * MS,
			.ride_out_ns = random_once_in(&run, 2) ? 0 : (1 + random_below(&run, 60000)) * MS,
			.lose_ns = random_below(&run, 120000) * MS,
			.fence_ns = random_once_in(&run, 2) ? 0 : random_below(&run, 60000) * MS,
		};
		int64_t smallest_ns = tenure_budget_smallest(&b);

		CHECK_RUN(&run, smallest_ns % MS == 0);
		CHECK_RUN(&run, tenure_budget_fits(&b, smallest_ns));
		CHECK_RUN(&run, !tenure_budget_fits(&b, smallest_ns - MS));
		CHECK_RUN(&run, tenure_budget_fits(&b, smallest_ns + 1 + random_below(&run, 1000) * SECOND));
		CHECK_RUN(&run,
			  tenure_budget_hold(&b, smallest_ns) >= tenure_budget_ride_out(&b, smallest_ns));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_proven),
		cmocka_unit_test(test_one_commit_proves_opening),
		cmocka_unit_test(test_three_commits),
		cmocka_unit_test(test_boundaries),
		cmocka_unit_test(test_held_up_replies),
		cmocka_unit_test(test_former_connection),
		cmocka_unit_test(test_reconnect),
		cmocka_unit_test(test_silent_reconnects),
		cmocka_unit_test(test_new_handle),
		cmocka_unit_test(test_other_timeouts),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_against_oracle),
		cmocka_unit_test(test_dense_commits),
		cmocka_unit_test(test_default_budget),
		cmocka_unit_test(test_left_in_rhythm),
		cmocka_unit_test(test_smallest_timeout),
	};

	return cmocka_run_group_tests_name("lease", tests, NULL, NULL);
}
