/* The role core: which hook runs when, and when a member is out of office. */
#include "role_model.h"


/* ---- startup ---- */

/* Goal: the service is in a known state before the member stands. Method: lose at start succeeds. */
static void test_startup(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, full_config(), false);
	assert_did(&f, "run lose 60000ms startup planned token 0");
	assert_due(&f, 60000);
	hook_done(&f, 700, 0);
	assert_did(&f, "starting>standby startup, stand");
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
}

/* Goal: without hooks, or with a known state, nothing runs at start. Method: no hooks at all; skip_lose. */
static void test_startup_without_lose(void **state)
{
	struct role_config bare = full_config();
	struct fixture f;

	(void)state;
	memset(bare.has, 0, sizeof bare.has);
	begin(&f, bare, false);
	assert_did(&f, "starting>standby startup, stand");
	begin(&f, full_config(), true);
	assert_did(&f, "starting>standby startup, stand");
}

/*
 * Goal: a failed lose at start goes on to fence, and that is good enough. Method: lose fails, fence succeeds.
 */
static void test_startup_fence(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, full_config(), false);
	hook_done(&f, 100, 1);
	assert_did(&f, "kill all, run fence 2000ms startup planned token 0, starting>fencing startup");
	hook_done(&f, 200, 0);
	assert_did(&f, "fencing>starting startup, starting>standby startup, stand");
}

/* Goal: failures at start are retried with growing back-off. Method: lose and fence fail three times. */
static void test_startup_backoff(void **state)
{
	struct role_config config = full_config();
	struct fixture f;
	int64_t ms = 0, wait_ms = 1000;

	(void)state;
	begin(&f, config, false);
	for (int i = 0; i < 8; i++) {
		hook_done(&f, ms += 10, 1);
		hook_done(&f, ms += 10, 1);
		assert_did(&f, "fencing>starting startup");
		assert_due(&f, ms + wait_ms);
		tick(&f, ms + wait_ms - 1);
		assert_did(&f, "");
		tick(&f, ms += wait_ms);
		assert_did(&f, "run lose 60000ms startup planned token 0");
		wait_ms = wait_ms < 32000 ? 2 * wait_ms : 60000;
	}

	config.has[ROLE_HOOK_FENCE] = false;
	begin(&f, config, false);
	hook_done(&f, 10, 1);
	assert_did(&f, "kill all");
	assert_due(&f, 1010);
}

/* Goal: a lose hook at start has the long limit and is then killed. Method: it never ends by itself. */
static void test_startup_hangs(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, full_config(), false);
	tick(&f, 59999);
	assert_did(&f, "");
	tick(&f, 60000);
	assert_did(&f, "kill");
	hook_done(&f, 60001, -1);
	assert_did(&f, "run fence 2000ms startup planned token 0, starting>fencing startup");
}

/* Goal: who is no candidate never stands. Method: startup, then a LEAD that nobody asked for. */
static void test_no_candidate(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	config.candidate = false;
	begin(&f, config, false);
	hook_done(&f, 100, 0);
	assert_did(&f, "starting>out startup");
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
	lead(&f, 1000, 5, 0);
	assert_did(&f, "give up 5");
	stop(&f, 1500, false);
	left(&f, 1600);
	assert_true(role_stopped(&f.r));
}

/* ---- taking office ---- */

/* Goal: LEAD runs gain, its success makes active, in this order. Method: with the hook and without. */
static void test_take_office(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	begin_standby(&f, config);
	lead(&f, 1000, 5, 0);
	assert_did(&f, "run gain 60000ms election token 5, standby>promoting election");
	assert_true(role_in_office(&f.r));
	assert_int_equal(role_lease_deadline(&f.r), AT(20000));
	assert_due(&f, 13600);
	hook_done(&f, 1500, 0);
	assert_did(&f, "confirm 5, promoting>active election");
	assert_due(&f, 13600);

	config.has[ROLE_HOOK_GAIN] = false;
	begin_standby(&f, config);
	lead(&f, 1000, 5, 0);
	assert_did(&f, "standby>promoting election, confirm 5, promoting>active election");
}

/*
 * Goal: a LEAD said again changes nothing; another one in office is passed over, and given back when the service is
 * out. Method: both in every office state.
 */
static void test_lead_again(void **state)
{
	struct fixture f;

	(void)state;
	begin_standby(&f, full_config());
	lead(&f, 1000, 5, 0);
	lead(&f, 1100, 5, 0);
	assert_did(&f, "");
	hook_done(&f, 1500, 0);
	lead(&f, 1600, 5, 0);
	assert_did(&f, "");
	lead(&f, 1700, 9, 0);
	assert_did(&f, "");
	leave(&f, 2000);
	lead(&f, 2100, 5, 0);
	assert_did(&f, "");
	assert_int_equal(f.r.state, ROLE_DEMOTING);
	hook_done(&f, 3000, 0);
	assert_did(&f, "give up 5, give up 9, demoting>standby resign, stand");
}

/*
 * Goal: an office that cannot be taken is given back. Method: a spent token, a short lease, one from the
 * future, FOLLOWING.
 */
static void test_refused(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	begin_active(&f, config);
	leave(&f, 2000);
	hook_done(&f, 3000, 0);
	assert_did(&f, "give up 5, demoting>standby resign, stand");
	lead(&f, 3100, 5, 3000);
	assert_did(&f, "give up 5, stand");
	lead(&f, 3200, 4, 3000);
	assert_did(&f, "give up 4, stand");
	lead(&f, 3300, 6, 3000);
	assert_int_equal(f.r.state, ROLE_PROMOTING);

	begin_standby(&f, config);
	lead(&f, 13600, 5, 0);
	assert_did(&f, "give up 5, stand");
	lead(&f, 13600, 6, 1);
	assert_int_equal(f.r.state, ROLE_PROMOTING);

	begin_standby(&f, config);
	lead(&f, 1000, 5, 1001);
	assert_did(&f, "give up 5, stand");
	/* Its number is spent by that. */
	lead(&f, 1002, 5, 1001);
	assert_did(&f, "give up 5, stand");

	config.has[ROLE_HOOK_FOLLOW] = true;
	begin(&f, config, true);
	assert_int_equal(f.r.state, ROLE_FOLLOWING);
	lead(&f, 1000, 5, 0);
	assert_did(&f, "give up 5");
}

/* Goal: a failed gain leads to lose, back-off that doubles, and back. Method: gain fails, again and again. */
static void test_gain_fails(void **state)
{
	struct fixture f;
	int64_t ms = 0, wait_ms = 1000;

	(void)state;
	begin_standby(&f, full_config());
	for (int64_t token = 5; token < 13; token++) {
		char expected[TEXT_SIZE];

		lead(&f, ms, token, ms);
		hook_done(&f, ms += 100, 1);
		snprintf(
			expected, sizeof expected,
			"promoting>demoting gain-failed, run lose 60000ms gain-failed planned token %" PRId64,
			token);
		assert_did(&f, expected);
		hook_done(&f, ms += 100, 0);
		snprintf(expected, sizeof expected, "give up %" PRId64 ", demoting>out gain-failed", token);
		assert_did(&f, expected);
		left(&f, ms);
		assert_due(&f, ms + wait_ms);
		tick(&f, ms + wait_ms - 1);
		assert_did(&f, "");
		tick(&f, ms += wait_ms);
		assert_did(&f, "out>standby gain-failed, stand");
		wait_ms = wait_ms < 32000 ? 2 * wait_ms : 60000;
	}
}

/*
 * Goal: exit status 75 is no failure. Method: 75 three times between failures; the back-off stays as it was.
 */
static void test_gain_not_now(void **state)
{
	static const struct {
		int status;
		int64_t wait_ms;
	} cases[] = {{75, 1000}, {75, 1000}, {1, 1000}, {75, 1000}, {1, 2000}, {75, 1000}, {1, 4000}};
	struct fixture f;
	int64_t ms = 0, token = 5;

	(void)state;
	begin_standby(&f, full_config());
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		lead(&f, ms, token++, ms);
		hook_done(&f, ms, cases[i].status);
		hook_done(&f, ms, 0);
		left(&f, ms);
		assert_due(&f, ms + cases[i].wait_ms);
		tick(&f, ms += cases[i].wait_ms);
	}
}

/* Goal: a term of a minute makes up for failures before it. Method: failures, a long term, a failure. */
static void test_backoff_reset(void **state)
{
	struct fixture f;
	int64_t ms = 0;

	(void)state;
	begin_standby(&f, full_config());
	for (int64_t token = 5; token < 8; token++) {
		lead(&f, ms, token, ms);
		hook_done(&f, ms, 1);
		hook_done(&f, ms, 0);
		left(&f, ms);
		ms = (role_deadline(&f.r) - START) / MS;
		tick(&f, ms);
		assert_int_equal(f.r.state, ROLE_STANDBY);
	}
	lead(&f, ms, 9, ms);
	hook_done(&f, ms, 0);
	for (int i = 0; i < 60; i++) {
		ms += 1000;
		lease(&f, ms, ms, T);
	}
	leave(&f, ms);
	hook_done(&f, ms, 0);
	assert_int_equal(f.r.state, ROLE_STANDBY);
	lead(&f, ms, 10, ms);
	hook_done(&f, ms, 1);
	hook_done(&f, ms, 0);
	left(&f, ms);
	assert_due(&f, ms + 1000);
}

/* Goal: a gain hook over its limit gets TERM, and KILL after the grace. Method: one that ignores TERM. */
static void test_gain_overruns(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	config.gain_ns = 5 * SECOND;
	begin_standby(&f, config);
	lead(&f, 1000, 5, 0);
	assert_due(&f, 6000);
	tick(&f, 6000);
	assert_did(&f, "term, promoting>demoting gain-failed");
	assert_due(&f, 8000);
	tick(&f, 7999);
	assert_did(&f, "");
	tick(&f, 8000);
	assert_did(&f, "kill");
	assert_due(&f, 13600);
	hook_done(&f, 8001, -1);
	assert_did(&f, "run lose 60000ms gain-failed planned token 5");
	hook_done(&f, 8500, 0);
	assert_did(&f, "give up 5, demoting>out gain-failed");
}

/*
 * Goal: a gain that ends well after its demotion began changes nothing. Method: success between TERM and
 * KILL.
 */
static void test_gain_too_late(void **state)
{
	struct fixture f;

	(void)state;
	begin_standby(&f, full_config());
	lead(&f, 1000, 5, 0);
	leave(&f, 2000);
	assert_did(&f, "promoting>demoting resign, term");
	hook_done(&f, 2100, 0);
	assert_did(&f, "run lose 60000ms resign planned token 5");
}

/* Goal: the end of an earlier run is nobody's. Method: HOOK_DONE with an old number. */
static void test_stale_hook(void **state)
{
	struct role_event event = {.type = ROLE_EV_HOOK_DONE, .now_ns = AT(1200), .u.hook.ok = true};
	struct fixture f;

	(void)state;
	begin_standby(&f, full_config());
	lead(&f, 1000, 5, 0);
	event.u.hook.run = f.r.run - 1;
	step(&f, event);
	assert_did(&f, "");
	assert_int_equal(f.r.state, ROLE_PROMOTING);
}

/* ---- the schedule ---- */

/* Goal: the exact instants of a forced demotion. Method: nothing is renewed and no hook ends by itself. */
static void test_forced_schedule(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, full_config());
	assert_due(&f, 13600);
	tick(&f, 13599);
	assert_did(&f, "");
	tick(&f, 13600);
	assert_did(&f, "active>demoting lease, run lose 4000ms lease token 5");
	assert_due(&f, 17600);
	tick(&f, 17599);
	assert_did(&f, "");
	tick(&f, 17600);
	assert_did(&f, "kill");
	hook_done(&f, 17600, -1);
	assert_did(&f, "run fence 2000ms lease token 5, demoting>fencing lease");
	assert_due(&f, 19600);
	tick(&f, 19600);
	assert_did(&f, "kill");
	hook_done(&f, 19600, -1);
	assert_did(&f, "fencing>panic lease");
	assert_true(role_in_office(&f.r));
	assert_due(&f, 20000);
	tick(&f, 20000);
	assert_did(&f, "on panic 5");
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
}

/* Goal: fence may end what lose could not. Method: lose killed, fence succeeds. */
static void test_fence_succeeds(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, full_config());
	tick(&f, 13600);
	hook_done(&f, 14000, 1);
	assert_did(&f, "kill all, run fence 2000ms lease token 5, demoting>fencing lease");
	hook_done(&f, 15000, 0);
	assert_did(&f, "give up 5, fencing>standby lease, stand");
	assert_false(role_in_office(&f.r));
}

/*
 * Goal: without a fence hook a failed lose is PANIC, at the lease's end at the latest. Method: lose hangs;
 * fails.
 */
static void test_no_fence(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	config.has[ROLE_HOOK_FENCE] = false;
	config.budget.fence_ns = 0;
	begin_active(&f, config);
	assert_due(&f, 15600);
	tick(&f, 15600);
	assert_did(&f, "active>demoting lease, run lose 4000ms lease token 5");
	assert_due(&f, 19600);
	tick(&f, 19600);
	assert_did(&f, "kill");
	hook_done(&f, 19600, -1);
	assert_did(&f, "demoting>panic lease");

	begin_active(&f, config);
	leave(&f, 2000);
	hook_done(&f, 2500, 1);
	assert_did(&f, "kill all, demoting>panic resign");
}

/* Goal: without any hook the office is left at once. Method: the schedule's point, a resignation. */
static void test_no_hooks(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	memset(config.has, 0, sizeof config.has);
	config.budget.lose_ns = config.budget.fence_ns = 0;
	begin_active(&f, config);
	assert_due(&f, 19600);
	tick(&f, 19600);
	assert_did(&f, "active>demoting lease, give up 5, demoting>standby lease, stand");
	lead(&f, 20000, 6, 20000);
	leave(&f, 20001);
	assert_did(&f, "active>demoting resign, give up 6, demoting>standby resign, stand");
}

/*
 * Goal: a gain hook at the end of the lease is killed within the schedule. Method: it ignores TERM; long and
 * short lose.
 */
static void test_lease_ends_in_promoting(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	begin_standby(&f, config);
	lead(&f, 1000, 5, 0);
	tick(&f, 13600);
	assert_did(&f, "promoting>demoting lease, term");
	assert_due(&f, 14100);
	tick(&f, 14100);
	assert_did(&f, "kill");
	hook_done(&f, 14100, -1);
	assert_did(&f, "run lose 3500ms lease token 5");
	assert_due(&f, 17600);

	/* A lose hook whose limit is shorter than the grace still has most of it. */
	config.budget.lose_ns = 200 * MS;
	begin_standby(&f, config);
	lead(&f, 1000, 5, 0);
	tick(&f, 17400);
	assert_did(&f, "promoting>demoting lease, term");
	assert_due(&f, 17450);
	tick(&f, 17450);
	assert_did(&f, "kill");
	hook_done(&f, 17450, -1);
	assert_did(&f, "run lose 150ms lease token 5");
	assert_due(&f, 17600);

	/* No lose hook: no grace is left at all. */
	config.has[ROLE_HOOK_LOSE] = false;
	config.budget.lose_ns = 0;
	begin_standby(&f, config);
	lead(&f, 1000, 5, 0);
	tick(&f, 17600);
	assert_did(&f, "promoting>demoting lease, term, kill");
	hook_done(&f, 17600, -1);
	assert_did(&f, "give up 5, demoting>standby lease, stand");
}

/* Goal: proofs keep the office. Method: leases that extend; older, future and longer ones that must not. */
static void test_lease_extends(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, full_config());
	lease(&f, 4000, 3000, T);
	assert_due(&f, 16600);
	lease(&f, 4100, 2000, T);
	assert_due(&f, 16600);
	lease(&f, 4200, 4201, T);
	assert_due(&f, 16600);
	lease(&f, 4300, 4000, 2 * T);
	assert_due(&f, 17600);
	/* A smaller T counts at once, also with an older start. */
	lease(&f, 4400, 4000, T - 5 * SECOND);
	assert_due(&f, 4000 + 15000 - 300 - 6000);
	lease(&f, 4500, 3000, T);
	assert_due(&f, 4000 + 15000 - 300 - 6000);
	assert_int_equal(role_lease_deadline(&f.r), AT(19000));
}

/* Goal: waking up late goes straight to the latest point passed, reason pause. Method: each point, by far. */
static void test_late_wakeup(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	/* A timer that is a little late is not a pause. */
	begin_active(&f, config);
	tick(&f, 13650);
	assert_did(&f, "active>demoting lease, run lose 3950ms lease token 5");
	begin_active(&f, config);
	tick(&f, 15000);
	assert_did(&f, "active>demoting pause, run lose 2600ms pause token 5");
	begin_active(&f, config);
	tick(&f, 17600);
	assert_did(&f, "active>demoting pause, kill all, run fence 2000ms pause token 5, demoting>fencing pause");
	begin_active(&f, config);
	tick(&f, 18600);
	assert_did(&f, "active>demoting pause, kill all, run fence 1000ms pause token 5, demoting>fencing pause");
	/* Past everything: the hook gets its own limit all the same. */
	begin_active(&f, config);
	tick(&f, 50000);
	assert_did(&f, "active>demoting pause, kill all, run fence 2000ms pause token 5, demoting>fencing pause");
	assert_due(&f, 52000);

	config.has[ROLE_HOOK_FENCE] = false;
	config.budget.fence_ns = 0;
	begin_active(&f, config);
	tick(&f, 50000);
	assert_did(&f, "active>demoting pause, run lose 4000ms pause token 5");
	assert_due(&f, 54000);
}

/*
 * Goal: the clock comes before the message. Method: events that speak for the office, past its demotion
 * point.
 */
static void test_clock_before_message(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, full_config());
	lease(&f, 15000, 14900, T);
	/* The demotion stands; that lose has all of its limit again is right, since the proof is good. */
	assert_did(&f, "active>demoting pause, run lose 4000ms pause token 5");

	begin_standby(&f, full_config());
	lead(&f, 1000, 5, 0);
	hook_done(&f, 15000, 0);
	assert_did(&f, "promoting>demoting pause, term, kill, run lose 2600ms pause token 5");
}

/* ---- hooks that do not die of KILL ---- */

/*
 * Goal: a lose hook that outlives its KILL is PANIC at the end of the schedule, not for ever DEMOTING. Method: it
 * is never reaped; it is reaped just in time, so that fence still runs.
 */
static void test_lose_outlives_kill(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, full_config());
	tick(&f, 13600);
	tick(&f, 17600);
	assert_did(&f, "kill");
	assert_due(&f, 19600);
	tick(&f, 19599);
	assert_did(&f, "");
	tick(&f, 19600);
	assert_did(&f, "demoting>panic lease");
	assert_due(&f, 20000);
	assert_true(role_in_office(&f.r));

	begin_active(&f, full_config());
	tick(&f, 13600);
	tick(&f, 17600);
	hook_done(&f, 18600, -1);
	assert_did(&f, "run fence 1000ms lease token 5, demoting>fencing lease");

	/* With too little left for fence to succeed, it gets its limit all the same. */
	begin_active(&f, full_config());
	tick(&f, 13600);
	tick(&f, 17600);
	hook_done(&f, 18601, -1);
	assert_did(&f, "run fence 2000ms lease token 5, demoting>fencing lease");
}

/* A lose hook that is killed at its limit and not reaped: PANIC at 19.6 s. */
static void begin_stuck(struct fixture *f, struct role_config config)
{
	begin_active(f, config);
	tick(f, 13600);
	tick(f, 17600);
	tick(f, 19600);
	assert_int_equal(f->r.state, ROLE_PANIC);
	assert_int_equal(f->r.hook, ROLE_HOOK_LOSE);
}

/*
 * Goal: when the process that outlived its KILL is gone at last, fence runs, once. Method: a lose hook, whose exit
 * status is no news any more, not even a good one; a gain hook; a fence hook; no fence hook; a stop by force.
 */
static void test_reaped_in_panic(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	begin_stuck(&f, config);
	hook_done(&f, 30000, 0);
	assert_did(&f, "panic>demoting lease, run fence 2000ms lease token 5, demoting>fencing lease");
	hook_done(&f, 30500, 1);
	assert_did(&f, "fencing>panic lease, on panic 5");

	begin_stuck(&f, config);
	hook_done(&f, 30000, -1);
	hook_done(&f, 31000, 0);
	assert_did(&f, "give up 5, fencing>standby lease, stand");

	begin_standby(&f, config);
	lead(&f, 1000, 5, 0);
	tick(&f, 13600);
	tick(&f, 14100);
	tick(&f, 19600);
	assert_did(&f, "demoting>panic lease");
	hook_done(&f, 19700, -1);
	assert_did(&f, "panic>demoting lease, run fence 2000ms lease token 5, demoting>fencing lease");

	begin_active(&f, config);
	tick(&f, 17600);
	tick(&f, 19600);
	tick(&f, 20600);
	assert_did(&f, "fencing>panic pause, on panic 5");
	hook_done(&f, 30000, 0);
	assert_did(&f, "");

	begin_stuck(&f, config);
	stop(&f, 19700, true);
	assert_true(role_stopped(&f.r));
	hook_done(&f, 19800, -1);
	assert_did(&f, "");
	assert_true(role_stopped(&f.r));

	config.has[ROLE_HOOK_FENCE] = false;
	config.budget.fence_ns = 0;
	begin_active(&f, config);
	leave(&f, 2000);
	tick(&f, 19600);
	tick(&f, 20600);
	assert_int_equal(f.r.state, ROLE_PANIC);
	hook_done(&f, 30000, 0);
	assert_did(&f, "");
	assert_int_equal(f.r.state, ROLE_PANIC);
}

/* Goal: the same of a fence hook, a second after its KILL, and of a gain hook. Method: none is ever reaped. */
static void test_fence_and_gain_outlive_kill(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, full_config());
	tick(&f, 13600);
	tick(&f, 17600);
	hook_done(&f, 17600, -1);
	tick(&f, 19600);
	assert_did(&f, "kill");
	assert_due(&f, 20600);
	tick(&f, 20600);
	assert_did(&f, "fencing>panic lease, on panic 5");

	begin_standby(&f, full_config());
	lead(&f, 1000, 5, 0);
	tick(&f, 13600);
	tick(&f, 14100);
	assert_did(&f, "kill");
	assert_due(&f, 19600);
	tick(&f, 19600);
	assert_did(&f, "demoting>panic lease");
}

/* Goal: heartbeats that go on do not put PANIC off. Method: a planned lose is killed, and the lease extended. */
static void test_planned_outlives_kill(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, full_config());
	for (int64_t ms = 2000; ms < 40000; ms += 1000)
		lease(&f, ms, ms, T);
	leave(&f, 40000);
	for (int64_t ms = 41000; ms < 100000; ms += 1000)
		lease(&f, ms, ms, T);
	tick(&f, 100000);
	assert_did(&f, "kill");
	for (int64_t ms = 101000; ms < 118600; ms += 1000)
		lease(&f, ms, ms, T);
	assert_due(&f, 99000 + 19600);
	tick(&f, 118600);
	assert_did(&f, "demoting>panic resign");
}

/*
 * Goal: in PANIC the first stop tries lose once more, but no second hook beside the first; a second stop waits for
 * nobody. Method: the hook is never reaped; it is reaped after the first stop.
 */
static void test_stop_while_hook_outlives_kill(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, full_config());
	tick(&f, 13600);
	tick(&f, 17600);
	tick(&f, 19600);
	tick(&f, 20000);
	stop(&f, 21000, false);
	assert_did(&f, "");
	assert_false(role_stopped(&f.r));
	stop(&f, 22000, true);
	assert_did(&f, "");
	assert_true(role_stopped(&f.r));

	begin_active(&f, full_config());
	tick(&f, 13600);
	tick(&f, 17600);
	tick(&f, 19600);
	stop(&f, 21000, false);
	hook_done(&f, 22000, -1);
	assert_did(&f, "panic>demoting lease, run fence 2000ms lease token 5, demoting>fencing lease");
	hook_done(&f, 23000, 1);
	assert_did(&f, "fencing>panic lease, panic>demoting stop, run lose 4000ms stop token 5");
	hook_done(&f, 23100, 1);
	assert_did(&f, "kill all, run fence 2000ms stop token 5, demoting>fencing stop");
	hook_done(&f, 24000, 0);
	assert_did(&f, "give up 5, fencing>out stop");

	/* Stopped by force before: it ends when the hook is given up. */
	begin_active(&f, full_config());
	stop(&f, 2000, true);
	tick(&f, 6000);
	assert_did(&f, "kill");
	assert_false(role_stopped(&f.r));
	assert_due(&f, 19600);
	tick(&f, 19600);
	assert_did(&f, "demoting>panic stop");
	assert_true(role_stopped(&f.r));
}

/*
 * Goal: out of office a hook that outlives its KILL is waited for, since nothing is held meanwhile; a second stop
 * ends that. Method: the lose hook at start, a follow hook.
 */
static void test_start_outlives_kill(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	begin(&f, config, false);
	tick(&f, 60000);
	assert_due(&f, 61000);
	tick(&f, 61000);
	assert_did(&f, "");
	assert_int_equal(f.r.state, ROLE_STARTING);
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
	hook_done(&f, 90000, -1);
	assert_did(&f, "run fence 2000ms startup planned token 0, starting>fencing startup");

	config.has[ROLE_HOOK_FOLLOW] = true;
	for (int follows = 0; follows < 2; follows++) {
		begin(&f, config, follows);
		if (follows)
			leader(&f, 0, NOBODY, 0);
		stop(&f, 1000, false);
		tick(&f, 60000);
		assert_did(&f, "kill");
		tick(&f, 61000);
		assert_false(role_stopped(&f.r));
		stop(&f, 62000, true);
		assert_true(role_stopped(&f.r));
	}
}

/* ---- everything of the election is killed ---- */

/*
 * Goal: before fence, and before PANIC without it, KILL is said once, whoever failed. Method: lose overruns, so that
 * it was killed before; it fails by itself after a gain hook was killed; no hook has run in the term.
 */
static void test_kill_before_fence(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	begin_active(&f, config);
	leave(&f, 2000);
	tick(&f, 13600);
	tick(&f, 17600);
	assert_did(&f, "kill");
	assert_int_equal(f.u.actions[0].hook, ROLE_HOOK_LOSE);
	hook_done(&f, 17601, -1);
	assert_did(&f, "run fence 1999ms resign token 5, demoting>fencing resign");

	/* What lose left behind is not what gain did. */
	begin_standby(&f, config);
	lead(&f, 1000, 5, 0);
	leave(&f, 2000);
	assert_int_equal(f.u.actions[1].hook, ROLE_HOOK_GAIN);
	tick(&f, 4000);
	assert_did(&f, "kill");
	hook_done(&f, 4100, -1);
	hook_done(&f, 4200, 1);
	assert_did(&f, "kill all, run fence 2000ms resign planned token 5, demoting>fencing resign");

	/* Woken with the gain hook at work: it is killed, and that was everything. */
	begin_standby(&f, config);
	lead(&f, 1000, 5, 0);
	tick(&f, 18000);
	assert_did(&f, "promoting>demoting pause, term, kill");
	hook_done(&f, 18001, -1);
	assert_did(&f, "run fence 1599ms pause token 5, demoting>fencing pause");

	/* Each term has its own: the startup lose was killed, and no hook has run since. */
	config.has[ROLE_HOOK_GAIN] = false;
	config.handoff_ns = 100 * MS;
	begin(&f, config, false);
	tick(&f, 100);
	assert_did(&f, "kill");
	hook_done(&f, 100, 0);
	lead(&f, 1000, 5, 0);
	tick(&f, 18000);
	assert_did(&f, "active>demoting pause, kill all, run fence 1600ms pause token 5, demoting>fencing pause");
}

/*
 * Goal: a supervisor that wakes with lose at work goes to the latest point passed. Method: past the kill point, past
 * the schedule; the hook has succeeded meanwhile.
 */
static void test_late_wakeup_with_lose(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, full_config());
	tick(&f, 13600);
	tick(&f, 18200);
	assert_did(&f, "kill");
	hook_done(&f, 18250, -1);
	assert_did(&f, "run fence 1350ms lease token 5, demoting>fencing lease");

	begin_active(&f, full_config());
	tick(&f, 13600);
	tick(&f, 50000);
	assert_did(&f, "kill");
	hook_done(&f, 50001, -1);
	assert_did(&f, "run fence 2000ms lease token 5, demoting>fencing lease");

	begin_active(&f, full_config());
	leave(&f, 2000);
	tick(&f, 50000);
	assert_did(&f, "kill");
	hook_done(&f, 50001, -1);
	assert_did(&f, "run fence 2000ms resign token 5, demoting>fencing resign");

	begin_active(&f, full_config());
	tick(&f, 13600);
	hook_done(&f, 50000, 0);
	assert_did(&f, "kill, give up 5, demoting>standby lease, stand");
}

/* ---- PANIC ---- */

/*
 * Goal: an operator's RECOVER runs lose again, from the beginning and however late it is, then fence. Method: long
 * before the demotion point with a short and a long handoff limit, between the points, past them all.
 */
static void test_recover(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	begin_panic(&f, config);
	recover(&f, 3000);
	assert_did(&f, "panic>demoting resign, run lose 4000ms resign token 5");
	hook_done(&f, 3100, 0);
	assert_did(&f, "give up 5, demoting>standby resign, stand");
	recover(&f, 3200);
	assert_did(&f, "");

	begin_panic(&f, config);
	recover(&f, 17500);
	assert_did(&f, "panic>demoting resign, run lose 4000ms resign token 5");
	assert_due(&f, 21500);
	tick(&f, 21500);
	assert_did(&f, "kill");
	hook_done(&f, 21500, -1);
	assert_did(&f, "run fence 2000ms resign token 5, demoting>fencing resign");
	hook_done(&f, 22000, 0);
	assert_did(&f, "give up 5, fencing>standby resign, stand");

	begin_panic(&f, config);
	tick(&f, 20000);
	recover(&f, 90000);
	assert_did(&f, "panic>demoting resign, run lose 4000ms resign token 5");
	hook_done(&f, 90100, 1);
	assert_did(&f, "kill all, run fence 2000ms resign token 5, demoting>fencing resign");
	hook_done(&f, 90200, 1);
	assert_did(&f, "fencing>panic resign, on panic 5");
	recover(&f, 90300);
	assert_did(&f, "panic>demoting resign, run lose 4000ms resign token 5");

	/* The lease has that long: at leisure, until somebody is in a hurry. */
	config.handoff_ns = 10 * SECOND;
	begin_panic(&f, config);
	recover(&f, 3600);
	assert_did(&f, "panic>demoting resign, run lose 10000ms resign token 5");
	assert_due(&f, 13600);
	stop(&f, 5000, true);
	assert_due(&f, 9000);
	begin_panic(&f, config);
	recover(&f, 3601);
	assert_did(&f, "panic>demoting resign, run lose 4000ms resign token 5");

	/* The gain hook's failure, which led there, is backed off from. */
	begin_standby(&f, config);
	lead(&f, 1000, 5, 0);
	for (int64_t ms = 1100; ms < 1400; ms += 100)
		hook_done(&f, ms, 1);
	recover(&f, 20000);
	hook_done(&f, 20100, 0);
	assert_did(&f, "give up 5, demoting>out gain-failed");

	/* That the fence of the first try has failed does not speak against it now. */
	begin_panic(&f, config);
	recover(&f, 18000);
	tick(&f, 22000);
	tick(&f, 23000);
	assert_did(&f, "demoting>panic resign, on panic 5");
	hook_done(&f, 30000, -1);
	assert_did(&f, "panic>demoting resign, run fence 2000ms resign token 5, demoting>fencing resign");

	/* Nothing to lose by: the operator's word is all there is. */
	config.has[ROLE_HOOK_LOSE] = false;
	config.budget.lose_ns = 0;
	begin_standby(&f, config);
	lead(&f, 1000, 5, 0);
	tick(&f, 18000);
	tick(&f, 19700);
	hook_done(&f, 19800, -1);
	hook_done(&f, 19900, 1);
	assert_int_equal(f.r.state, ROLE_PANIC);
	recover(&f, 20000);
	assert_did(&f, "panic>demoting pause, give up 5, demoting>standby pause, stand");
}

/* Goal: RECOVER is for PANIC with no hook at work. Method: every other state; a lose hook that is not reaped. */
static void test_recover_elsewhere(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	begin(&f, config, false);
	recover(&f, 100);
	assert_did(&f, "");
	begin_standby(&f, config);
	recover(&f, 100);
	assert_did(&f, "");
	lead(&f, 1000, 5, 0);
	recover(&f, 1100);
	assert_did(&f, "");
	hook_done(&f, 1500, 0);
	recover(&f, 1600);
	assert_did(&f, "");
	leave(&f, 2000);
	recover(&f, 2100);
	assert_did(&f, "");
	hook_done(&f, 2500, 1);
	recover(&f, 2600);
	assert_did(&f, "");

	begin_stuck(&f, config);
	recover(&f, 19700);
	assert_did(&f, "");
	assert_int_equal(f.r.state, ROLE_PANIC);
}

/* Goal: a stop out of PANIC runs lose first too, past the schedule. Method: with a fence hook, which has failed. */
static void test_stop_late_in_panic(void **state)
{
	struct fixture f;

	(void)state;
	begin_panic(&f, full_config());
	tick(&f, 20000);
	assert_did(&f, "on panic 5");
	stop(&f, 30000, false);
	assert_did(&f, "panic>demoting stop, run lose 4000ms stop token 5");
	assert_due(&f, 34000);
	hook_done(&f, 31000, 1);
	assert_did(&f, "kill all, run fence 2000ms stop token 5, demoting>fencing stop");
	hook_done(&f, 31100, 0);
	assert_did(&f, "give up 5, fencing>out stop");
}

/*
 * Goal: on_panic comes once per PANIC, at the lease's end, which a proof puts off. Method: proofs; a second PANIC;
 * PANIC with a hook not reaped, and one entered past the deadline.
 */
static void test_on_panic(void **state)
{
	struct fixture f;

	(void)state;
	begin_panic(&f, full_config());
	assert_due(&f, 20000);
	tick(&f, 19999);
	assert_did(&f, "");
	lease(&f, 19999, 10000, T);
	assert_did(&f, "");
	assert_due(&f, 30000);
	/* The message that carries the proof may be read after the deadline. */
	lease(&f, 30001, 20000, T);
	assert_did(&f, "");
	assert_due(&f, 40000);
	tick(&f, 40000);
	assert_did(&f, "on panic 5");
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
	tick(&f, 41000);
	assert_did(&f, "");
	/* Said is said, even if the lease comes to life again. */
	lease(&f, 42000, 41000, T);
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
	recover(&f, 43000);
	hook_done(&f, 44000, 1);
	hook_done(&f, 45000, 1);
	assert_did(&f, "fencing>panic resign");
	assert_due(&f, 61000);
	/* No later proof is of this term's session. */
	end_of(&f, 46000, ROLE_EV_LOST, 5, TENURE_REASON_SESSION);
	lease(&f, 50000, 50000, T);
	tick(&f, 61000);
	assert_did(&f, "on panic 5");

	begin_stuck(&f, full_config());
	tick(&f, 20000);
	assert_did(&f, "on panic 5");

	begin_active(&f, full_config());
	tick(&f, 50000);
	hook_done(&f, 50100, 1);
	assert_did(&f, "fencing>panic pause, on panic 5");
}

/* ---- planned demotions ---- */

/*
 * Goal: a planned lose has its own limit while heartbeats go on. Method: extensions until the limit of 60 s.
 */
static void test_planned(void **state)
{
	struct fixture f;
	int64_t ms;

	(void)state;
	begin_active(&f, full_config());
	leave(&f, 2000);
	assert_did(&f, "active>demoting resign, run lose 60000ms resign planned token 5");
	for (ms = 3000; ms < 62000; ms += 1000) {
		lease(&f, ms, ms - 100, T);
		assert_did(&f, "");
	}
	assert_due(&f, 62000);
	tick(&f, 62000);
	assert_did(&f, "kill");
	hook_done(&f, 62000, -1);
	assert_did(&f, "run fence 2000ms resign planned token 5, demoting>fencing resign");
}

/* Goal: the lease's end cuts a planned lose short. Method: no extension; the kill point is the schedule's. */
static void test_planned_cut_by_lease(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, full_config());
	leave(&f, 2000);
	assert_due(&f, 13600);
	lease(&f, 3000, 1000, T);
	assert_due(&f, 14600);
	tick(&f, 14600);
	assert_did(&f, "");
	assert_due(&f, 18600);
	/* A proof during a forced demotion changes nothing any more. */
	lease(&f, 15000, 14000, T);
	assert_due(&f, 18600);
	tick(&f, 18600);
	assert_did(&f, "kill");
	hook_done(&f, 18600, -1);
	assert_int_equal(f.r.hook, ROLE_HOOK_FENCE);
}

/*
 * Goal: a planned demotion during which the lease fails still is within the schedule. Method: gain ignores
 * TERM.
 */
static void test_planned_with_gain(void **state)
{
	struct fixture f;

	(void)state;
	begin_standby(&f, full_config());
	lead(&f, 1000, 5, 0);
	leave(&f, 13000);
	assert_did(&f, "promoting>demoting resign, term");
	assert_due(&f, 13600);
	tick(&f, 13600);
	assert_did(&f, "kill");
	hook_done(&f, 13600, -1);
	assert_did(&f, "run lose 4000ms resign token 5");
}

/*
 * Goal: LOST turns a planned lose into a forced one. Method: LOST during it; of another token it is nothing.
 */
static void test_lost_while_planned(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, full_config());
	leave(&f, 2000);
	end_of(&f, 2500, ROLE_EV_LOST, 4, TENURE_REASON_SESSION);
	assert_due(&f, 13600);
	end_of(&f, 3000, ROLE_EV_LOST, 5, TENURE_REASON_SESSION);
	assert_did(&f, "");
	assert_due(&f, 7000);
	tick(&f, 7000);
	assert_did(&f, "kill");
}

/* Goal: a term that is lost ends at once, by force. Method: LOST in PROMOTING and ACTIVE. */
static void test_lost(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, full_config());
	end_of(&f, 2000, ROLE_EV_LOST, 5, TENURE_REASON_ZNODE_DELETED);
	assert_did(&f, "active>demoting znode-deleted, run lose 4000ms znode-deleted token 5");
	hook_done(&f, 3000, 0);
	assert_did(&f, "give up 5, demoting>standby znode-deleted, stand");
	end_of(&f, 3100, ROLE_EV_LOST, 5, TENURE_REASON_SESSION);
	assert_did(&f, "");

	begin_standby(&f, full_config());
	lead(&f, 1000, 5, 0);
	end_of(&f, 2000, ROLE_EV_LOST, 5, TENURE_REASON_SESSION);
	assert_did(&f, "promoting>demoting session, term");
	assert_due(&f, 2500);
}

/* Goal: LEAVE names its term. Method: another's token, the own one, none while not in office. */
static void test_leave_token(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, full_config());
	end_of(&f, 2000, ROLE_EV_LEAVE, 4, TENURE_REASON_RESIGN);
	assert_did(&f, "");
	end_of(&f, 2000, ROLE_EV_LEAVE, 5, TENURE_REASON_HEALTH);
	assert_did(&f, "active>demoting health, run lose 60000ms health planned token 5");
	begin_standby(&f, full_config());
	leave(&f, 2000);
	assert_did(&f, "");
}

/* ---- stopping ---- */

/* Goal: a stop leaves office at leisure, then the queue. Method: SIGTERM once while active. */
static void test_stop_active(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, full_config());
	stop(&f, 2000, false);
	assert_did(&f, "active>demoting stop, run lose 60000ms stop planned token 5");
	assert_false(role_stopped(&f.r));
	hook_done(&f, 9000, 0);
	assert_did(&f, "give up 5, demoting>out stop");
	assert_false(role_stopped(&f.r));
	assert_due(&f, 12000);
	left(&f, 9100);
	assert_true(role_stopped(&f.r));
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
}

/* Goal: the second stop forces. Method: SIGTERM again during a long lose; and as the first of all. */
static void test_stop_twice(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, full_config());
	stop(&f, 2000, false);
	stop(&f, 8000, true);
	assert_did(&f, "");
	assert_due(&f, 12000);
	tick(&f, 12000);
	assert_did(&f, "kill");

	begin_active(&f, full_config());
	stop(&f, 2000, true);
	assert_did(&f, "active>demoting stop, run lose 4000ms stop token 5");

	begin(&f, full_config(), false);
	stop(&f, 1000, false);
	assert_due(&f, 60000);
	stop(&f, 2000, true);
	assert_due(&f, 6000);
}

/*
 * Goal: a stop ends in every state within bounded time, whatever does not answer. Method: each state, only
 * the timer.
 */
static void test_stop_everywhere(void **state)
{
	static const enum role_state from[] = {ROLE_STARTING,  ROLE_FOLLOWING, ROLE_STANDBY,
					       ROLE_PROMOTING, ROLE_ACTIVE,    ROLE_DEMOTING,
					       ROLE_FENCING,   ROLE_PANIC,     ROLE_OUT};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(from); i++) {
		for (int force = 0; force < 2; force++) {
			struct role_config config = full_config();
			struct fixture f;
			int64_t ms = 5000;

			config.has[ROLE_HOOK_FOLLOW] = from[i] == ROLE_FOLLOWING;
			begin(&f, config, from[i] != ROLE_STARTING);
			if (from[i] == ROLE_FOLLOWING)
				leader(&f, 0, NOBODY, 0);
			if (from[i] >= ROLE_PROMOTING)
				lead(&f, 1000, 5, 0);
			if (from[i] >= ROLE_ACTIVE && from[i] != ROLE_OUT)
				hook_done(&f, 1500, 0);
			if (from[i] >= ROLE_DEMOTING && from[i] != ROLE_OUT)
				leave(&f, 2000);
			if (from[i] >= ROLE_FENCING)
				hook_done(&f, 2500, 1);
			if (from[i] == ROLE_PANIC)
				hook_done(&f, 3000, 1);
			if (from[i] == ROLE_OUT)
				hook_done(&f, 3000, 0);
			assert_int_equal(f.r.state, from[i]);

			stop(&f, ms, force);
			for (int k = 0; k < 20 && !role_stopped(&f.r); k++) {
				if (f.r.hook != ROLE_HOOK_NONE && f.r.outlives_ns != 0) {
					hook_done(&f, ms, -1);
					continue;
				}
				assert_true(role_deadline(&f.r) < INT64_MAX);
				ms = (role_deadline(&f.r) - START) / MS;
				tick(&f, ms);
			}
			assert_true(role_stopped(&f.r));
			assert_true(ms <= 5000 + 60000 + 2 * 6000 + 3000);
		}
	}
}

/* Goal: a stop in PANIC tries lose once more. Method: it fails again; then it succeeds. */
static void test_stop_in_panic(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	config.has[ROLE_HOOK_FENCE] = false;
	begin_active(&f, config);
	leave(&f, 2000);
	hook_done(&f, 2500, 1);
	stop(&f, 3000, false);
	assert_did(&f, "panic>demoting stop, run lose 4000ms stop token 5");
	hook_done(&f, 4000, 1);
	assert_did(&f, "kill all, demoting>panic stop");
	assert_true(role_stopped(&f.r));

	begin_active(&f, config);
	leave(&f, 2000);
	hook_done(&f, 2500, 1);
	stop(&f, 3000, false);
	hook_done(&f, 4000, 0);
	assert_did(&f, "give up 5, demoting>out stop");
	left(&f, 4001);
	assert_true(role_stopped(&f.r));

	/* By force nothing is tried any more. */
	begin_active(&f, config);
	leave(&f, 2000);
	hook_done(&f, 2500, 1);
	stop(&f, 3000, true);
	assert_did(&f, "");
	assert_true(role_stopped(&f.r));
}

/* Goal: a failed lose during a stop is tried once more from PANIC, no more. Method: lose always fails. */
static void test_stop_panics(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	config.has[ROLE_HOOK_FENCE] = false;
	begin_active(&f, config);
	stop(&f, 2000, false);
	hook_done(&f, 3000, 1);
	assert_did(&f, "kill all, demoting>panic stop, panic>demoting stop, run lose 4000ms stop token 5");
	hook_done(&f, 4000, 1);
	assert_did(&f, "kill all, demoting>panic stop");
	assert_true(role_stopped(&f.r));
}

/* ---- following ---- */

static struct role_config follow_config(void)
{
	struct role_config config = full_config();

	config.has[ROLE_HOOK_FOLLOW] = true;
	return config;
}

/*
 * Goal: nobody is followed before it is known who leads. Method: startup with nobody, with a leader, with one
 * promoting.
 */
static void test_follow_at_startup(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, follow_config(), true);
	assert_did(&f, "starting>following startup");
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
	leader(&f, 100, NOBODY, 0);
	assert_did(&f, "run follow 0ms startup planned token 0");
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
	hook_done(&f, 900, 0);
	assert_did(&f, "following>standby startup, stand");

	begin(&f, follow_config(), true);
	leader(&f, 100, PROMOTING, 7);
	assert_did(&f, "");
	leader(&f, 200, LEADING, 7);
	assert_did(&f, "run follow 0ms startup planned token 7");
	hook_done(&f, 900, 0);
	assert_did(&f, "following>standby startup, stand");

	begin(&f, follow_config(), true);
	leader(&f, 100, PROMOTING, 7);
	leader(&f, 200, GONE, 7);
	assert_did(&f, "run follow 0ms startup planned token 0");
}

/*
 * Goal: a new leader is followed out of the queue. Method: a standby, a promoting leader, the same one
 * active.
 */
static void test_follow_new_leader(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, follow_config(), true);
	leader(&f, 0, LEADING, 7);
	hook_done(&f, 100, 0);
	leader(&f, 200, LEADING, 7);
	leader(&f, 300, GONE, 7);
	leader(&f, 400, PROMOTING, 9);
	assert_did(&f, "");
	leader(&f, 500, LEADING, 9);
	assert_did(&f, "retire, standby>following election, run follow 0ms election planned token 9");
	left(&f, 600);
	hook_done(&f, 700, 0);
	assert_did(&f, "following>standby election, stand");
}

/* Goal: the newest leader counts. Method: the leader changes, is gone, comes back while the hook runs. */
static void test_follow_changes_while_running(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, follow_config(), true);
	leader(&f, 0, LEADING, 7);
	leader(&f, 100, PROMOTING, 9);
	assert_did(&f, "");
	leader(&f, 200, LEADING, 9);
	assert_did(&f, "term");
	assert_due(&f, 2200);
	leader(&f, 300, LEADING, 9);
	assert_did(&f, "");
	tick(&f, 2200);
	assert_did(&f, "kill");
	hook_done(&f, 2201, -1);
	assert_did(&f, "run follow 0ms startup planned token 9");
	leader(&f, 2300, GONE, 9);
	assert_did(&f, "term");
	/* It ended well, but with the former leader. */
	hook_done(&f, 2400, 0);
	assert_did(&f, "run follow 0ms startup planned token 0");
}

/*
 * Goal: a failing follow backs off, and that does not touch gain's back-off. Method: failures, success,
 * failures.
 */
static void test_follow_backoff(void **state)
{
	struct fixture f;
	int64_t ms = 0, wait_ms = 1000;

	(void)state;
	begin(&f, follow_config(), true);
	leader(&f, ms, LEADING, 7);
	for (int i = 0; i < 8; i++) {
		hook_done(&f, ms += 10, 1);
		assert_did(&f, "");
		assert_due(&f, ms + wait_ms);
		tick(&f, ms += wait_ms);
		assert_did(&f, "run follow 0ms startup planned token 7");
		wait_ms = wait_ms < 32000 ? 2 * wait_ms : 60000;
	}
	hook_done(&f, ms, 0);
	leader(&f, ms, LEADING, 9);
	hook_done(&f, ms, 1);
	assert_due(&f, ms + 1000);
	/* A newer leader is followed at the same instant. */
	leader(&f, ms + 500, LEADING, 11);
	assert_did(&f, "");
	tick(&f, ms + 1000);
	assert_did(&f, "run follow 0ms election planned token 11");
}

/* Goal: a follow hook over its limit gets TERM, KILL and counts as failed. Method: one that ignores TERM. */
static void test_follow_overruns(void **state)
{
	struct role_config config = follow_config();
	struct fixture f;

	(void)state;
	config.follow_ns = 5 * SECOND;
	begin(&f, config, true);
	leader(&f, 0, LEADING, 7);
	assert_did(&f, "run follow 5000ms startup planned token 7");
	tick(&f, 5000);
	assert_did(&f, "term");
	tick(&f, 7000);
	assert_did(&f, "kill");
	hook_done(&f, 7001, -1);
	assert_did(&f, "");
	assert_due(&f, 8001);
}

/*
 * Goal: after a demotion the member follows before it stands. Method: its own record still names it; then the
 * successor.
 */
static void test_follow_after_demotion(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, follow_config(), true);
	leader(&f, 0, NOBODY, 0);
	hook_done(&f, 100, 0);
	lead(&f, 1000, 5, 0);
	leader(&f, 1100, SELF, 5);
	hook_done(&f, 1500, 0);
	leave(&f, 2000);
	hook_done(&f, 2500, 0);
	assert_did(&f, "give up 5, demoting>following resign, run follow 0ms resign planned token 0");
	leader(&f, 2600, LEADING, 9);
	assert_did(&f, "term");
	hook_done(&f, 2700, -1);
	assert_did(&f, "run follow 0ms resign planned token 9");
	hook_done(&f, 2800, 0);
	assert_did(&f, "following>standby resign, stand");
}

/*
 * Goal: a follow hook that succeeds does not forgive failed gains, and who backs off follows meanwhile.
 * Method: gain fails twice, with a follow after each; a successor appears during the second back-off.
 */
static void test_gain_fails_with_follow(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, follow_config(), true);
	leader(&f, 0, NOBODY, 0);
	hook_done(&f, 0, 0);
	lead(&f, 100, 5, 100);
	leader(&f, 100, SELF, 5);
	hook_done(&f, 200, 1);
	hook_done(&f, 300, 0);
	assert_did(&f,
		   "give up 5, demoting>following gain-failed, run follow 0ms gain-failed planned token 0");
	left(&f, 300);
	hook_done(&f, 400, 0);
	assert_did(&f, "following>out gain-failed");
	assert_due(&f, 1300);
	tick(&f, 1300);
	assert_did(&f, "out>standby gain-failed, stand");
	lead(&f, 2000, 6, 2000);
	leader(&f, 2000, SELF, 6);
	hook_done(&f, 2000, 1);
	hook_done(&f, 2000, 0);
	left(&f, 2000);
	hook_done(&f, 2000, 0);
	assert_due(&f, 4000);
	leader(&f, 2100, LEADING, 9);
	assert_did(&f, "out>following gain-failed, run follow 0ms gain-failed planned token 9");
	hook_done(&f, 2200, 0);
	assert_did(&f, "following>out gain-failed");
	assert_due(&f, 4000);
	tick(&f, 4000);
	assert_did(&f, "out>standby gain-failed, stand");
}

/* Goal: who never leads still follows. Method: leaders come and change. */
static void test_follow_no_candidate(void **state)
{
	struct role_config config = follow_config();
	struct fixture f;

	(void)state;
	config.candidate = false;
	begin(&f, config, true);
	leader(&f, 0, LEADING, 7);
	hook_done(&f, 100, 0);
	assert_did(&f, "following>out startup");
	leader(&f, 200, PROMOTING, 9);
	assert_did(&f, "");
	leader(&f, 300, LEADING, 9);
	assert_did(&f, "out>following startup, run follow 0ms startup planned token 9");
	hook_done(&f, 400, 1);
	assert_due(&f, 1400);
	tick(&f, 1400);
	hook_done(&f, 1500, 0);
	assert_did(&f, "following>out startup");
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
}

/* Goal: a stop ends a follow hook. Method: SIGTERM while it runs. */
static void test_stop_while_following(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, follow_config(), true);
	leader(&f, 0, LEADING, 7);
	stop(&f, 100, false);
	assert_did(&f, "term");
	hook_done(&f, 200, -1);
	assert_did(&f, "following>out stop");
	assert_true(role_stopped(&f.r));
}

/* ---- fence_peer ---- */

static struct role_config peer_config(void)
{
	struct role_config config = full_config();

	config.has[ROLE_HOOK_FENCE_PEER] = true;
	config.fence_peer_ns = 30 * SECOND;
	return config;
}

/* A standby whose fence_peer hook runs since 1 s, for the incumbent of token 3. */
static void begin_fencing_peer(struct fixture *f, struct role_config config)
{
	begin(f, config, true);
	if (config.has[ROLE_HOOK_FOLLOW]) {
		leader(f, 0, NOBODY, 0);
		hook_done(f, 0, 0);
	}
	assert_int_equal(f->r.state, ROLE_STANDBY);
	fence_peer(f, 1000, 3, true);
	assert_did(f, "run fence_peer 30000ms election token 3");
	assert_int_equal(f->u.actions[0].state, ROLE_STANDBY);
}

/*
 * Goal: the elector's wish runs the hook, and its end is the answer. Method: it succeeds, fails, is asked for
 * again.
 */
static void test_fence_peer(void **state)
{
	struct fixture f;

	(void)state;
	begin_fencing_peer(&f, peer_config());
	assert_due(&f, 31000);
	fence_peer(&f, 1500, 3, true);
	assert_did(&f, "");
	hook_done(&f, 2000, 0);
	assert_did(&f, "peer 3 fenced");
	assert_int_equal(f.r.state, ROLE_STANDBY);
	lead(&f, 2100, 5, 2000);
	assert_int_equal(f.r.state, ROLE_PROMOTING);

	begin_fencing_peer(&f, peer_config());
	hook_done(&f, 2000, 1);
	assert_did(&f, "peer 3 not fenced");
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
	/* Of a record that cannot be read. */
	fence_peer(&f, 3000, 0, true);
	assert_did(&f, "run fence_peer 30000ms election token 0");
	hook_done(&f, 4000, 0);
	assert_did(&f, "peer 0 fenced");
}

/* Goal: over its limit it gets TERM and KILL, and has failed, whatever it says. Method: one that ignores TERM. */
static void test_fence_peer_overruns(void **state)
{
	struct fixture f;

	(void)state;
	begin_fencing_peer(&f, peer_config());
	tick(&f, 31000);
	assert_did(&f, "term");
	assert_due(&f, 33000);
	tick(&f, 33000);
	assert_did(&f, "kill");
	assert_int_equal(f.u.actions[0].hook, ROLE_HOOK_FENCE_PEER);
	hook_done(&f, 33001, -1);
	assert_did(&f, "peer 3 not fenced");

	begin_fencing_peer(&f, peer_config());
	tick(&f, 31000);
	hook_done(&f, 31500, 0);
	assert_did(&f, "peer 3 not fenced");
}

/*
 * Goal: a peer that came back is left alone. Method: no longer wanted, wanted again; another's, and none at
 * work.
 */
static void test_fence_peer_unwanted(void **state)
{
	struct fixture f;

	(void)state;
	begin_fencing_peer(&f, peer_config());
	fence_peer(&f, 1100, 2, false);
	assert_did(&f, "");
	fence_peer(&f, 1200, 3, false);
	assert_did(&f, "term");
	assert_due(&f, 3200);
	fence_peer(&f, 1300, 3, false);
	assert_did(&f, "");
	fence_peer(&f, 1400, 3, true);
	assert_did(&f, "");
	hook_done(&f, 1500, 0);
	assert_did(&f, "peer 3 not fenced");
	fence_peer(&f, 1600, 3, false);
	assert_did(&f, "");
	fence_peer(&f, 1700, 3, true);
	assert_did(&f, "run fence_peer 30000ms election token 3");
}

/* Goal: what cannot be done is answered at once. Method: another peer meanwhile; no hook; other states. */
static void test_fence_peer_refused(void **state)
{
	struct role_config config = peer_config();
	struct fixture f;

	(void)state;
	begin_fencing_peer(&f, config);
	fence_peer(&f, 1100, 4, true);
	assert_did(&f, "term, peer 4 not fenced");
	fence_peer(&f, 1200, 4, true);
	assert_did(&f, "peer 4 not fenced");
	hook_done(&f, 1300, -1);
	assert_did(&f, "peer 3 not fenced");
	fence_peer(&f, 1400, 4, true);
	assert_did(&f, "run fence_peer 30000ms election token 4");

	begin_standby(&f, full_config());
	fence_peer(&f, 1000, 3, true);
	assert_did(&f, "peer 3 not fenced");

	begin(&f, config, false);
	fence_peer(&f, 100, 3, true);
	assert_did(&f, "peer 3 not fenced");
	begin_active(&f, config);
	fence_peer(&f, 2000, 3, true);
	assert_did(&f, "peer 3 not fenced");
	leave(&f, 2100);
	fence_peer(&f, 2200, 3, true);
	assert_did(&f, "peer 3 not fenced");
	begin_panic(&f, config);
	fence_peer(&f, 3000, 3, true);
	assert_did(&f, "peer 3 not fenced");
	begin_standby(&f, config);
	stop(&f, 1000, false);
	fence_peer(&f, 1100, 3, true);
	assert_did(&f, "peer 3 not fenced");
}

/*
 * Goal: who is told to stop leaves the queue at once, and ends when the hook has. Method: one that obeys TERM; one
 * that outlives its KILL is answered for, and waited for until the second stop.
 */
static void test_fence_peer_stopped(void **state)
{
	struct fixture f;

	(void)state;
	begin_fencing_peer(&f, peer_config());
	stop(&f, 2000, false);
	assert_did(&f, "retire, term");
	left(&f, 2100);
	assert_false(role_stopped(&f.r));
	hook_done(&f, 2200, -1);
	assert_did(&f, "peer 3 not fenced, standby>out stop");
	assert_true(role_stopped(&f.r));

	begin_fencing_peer(&f, peer_config());
	stop(&f, 2000, false);
	tick(&f, 4000);
	assert_did(&f, "kill");
	tick(&f, 5000);
	assert_did(&f, "peer 3 not fenced");
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
	assert_int_equal(f.r.state, ROLE_STANDBY);
	assert_false(role_stopped(&f.r));
	stop(&f, 6000, true);
	assert_did(&f, "");
	assert_true(role_stopped(&f.r));
}

/*
 * Goal: no second hook beside it: a new leader is followed when it has ended. Method: a leader that goes again
 * meanwhile; a stop meanwhile.
 */
static void test_fence_peer_then_follow(void **state)
{
	struct role_config config = peer_config();
	struct fixture f;

	(void)state;
	config.has[ROLE_HOOK_FOLLOW] = true;
	begin_fencing_peer(&f, config);
	leader(&f, 2000, LEADING, 9);
	assert_did(&f, "retire, term");
	leader(&f, 2100, GONE, 9);
	assert_did(&f, "");
	fence_peer(&f, 2150, 9, true);
	assert_did(&f, "peer 9 not fenced");
	hook_done(&f, 2200, -1);
	assert_did(&f, "peer 3 not fenced, standby>following election, run follow 0ms election planned token 0");

	begin_fencing_peer(&f, config);
	leader(&f, 2000, LEADING, 9);
	stop(&f, 2100, false);
	assert_did(&f, "");
	hook_done(&f, 2200, -1);
	assert_did(&f, "peer 3 not fenced, standby>out stop");
}

/*
 * Goal: an office is not taken while the hook runs, and the member is out of the queue until it has ended: it
 * must not come back again and again to refuse. Method: LEAD meanwhile, a hook that takes long to die, a
 * leader.
 */
static void test_fence_peer_and_lead(void **state)
{
	struct role_config config = peer_config();
	struct fixture f;

	(void)state;
	begin_fencing_peer(&f, config);
	lead(&f, 2000, 5, 1900);
	assert_did(&f, "give up 5, term");
	lead(&f, 2100, 6, 1900);
	assert_did(&f, "give up 6");
	tick(&f, 4000);
	assert_did(&f, "kill");
	tick(&f, 5000);
	assert_did(&f, "peer 3 not fenced");
	fence_peer(&f, 6000, 3, true);
	assert_did(&f, "peer 3 not fenced");
	hook_done(&f, 9000, -1);
	assert_did(&f, "stand");
	lead(&f, 9100, 7, 9000);
	assert_int_equal(f.r.state, ROLE_PROMOTING);

	config.has[ROLE_HOOK_FOLLOW] = true;
	begin_fencing_peer(&f, config);
	lead(&f, 2000, 5, 1900);
	leader(&f, 2050, LEADING, 9);
	assert_did(&f, "");
	hook_done(&f, 2100, -1);
	assert_did(&f, "peer 3 not fenced, standby>following election, run follow 0ms election planned token 9");
}

/* ---- the token floor ---- */

static struct role_config floor_config(void)
{
	struct role_config config = full_config();

	config.floor = true;
	return config;
}

/*
 * Goal: only a token above the floor and on disk leads. Method: before the floor is known, at each edge, and without
 * a floor.
 */
static void test_floor(void **state)
{
	struct fixture f;

	(void)state;
	begin_standby(&f, floor_config());
	lead(&f, 1000, 5, 900);
	assert_did(&f, "give up 5, standby>out gain-failed");

	begin_standby(&f, floor_config());
	token_floor(&f, 500, 5, 9);
	assert_did(&f, "");
	lead(&f, 1000, 5, 900);
	assert_did(&f, "give up 5, standby>out token-regressed");
	left(&f, 1100);
	assert_due(&f, 2000);
	tick(&f, 2000);
	assert_did(&f, "out>standby token-regressed, stand");
	lead(&f, 2100, 10, 2000);
	assert_did(&f, "give up 10, standby>out gain-failed");
	left(&f, 2100);
	assert_due(&f, 4100);
	token_floor(&f, 3000, 5, 11);
	assert_did(&f, "");
	tick(&f, 4100);
	lead(&f, 4200, 11, 4200);
	assert_did(&f, "run gain 60000ms election token 11, standby>promoting election");

	begin_standby(&f, floor_config());
	token_floor(&f, 500, 5, 6);
	lead(&f, 1000, 6, 900);
	assert_int_equal(f.r.state, ROLE_PROMOTING);

	begin_standby(&f, full_config());
	token_floor(&f, 500, 8, 0);
	lead(&f, 1000, 6, 900);
	assert_int_equal(f.r.state, ROLE_PROMOTING);
}

/* Goal: a term in office is not checked. Method: the floor rises above its token; LEAD is said again. */
static void test_floor_in_office(void **state)
{
	struct fixture f;

	(void)state;
	begin_standby(&f, floor_config());
	token_floor(&f, 500, 0, 5);
	lead(&f, 1000, 5, 900);
	token_floor(&f, 1100, 5, 5);
	lead(&f, 1200, 5, 900);
	assert_did(&f, "");
	hook_done(&f, 1300, 0);
	assert_int_equal(f.r.state, ROLE_ACTIVE);
	/* When it is over it is spent, which is no regression. */
	leave(&f, 1400);
	hook_done(&f, 1500, 0);
	lead(&f, 1600, 5, 1500);
	assert_did(&f, "give up 5, stand");
}

/* Goal: a refused token never spins, and 75 of an earlier gain does not change that. Method: refusals in a row. */
static void test_floor_backs_off(void **state)
{
	struct fixture f;
	int64_t ms = 1000, wait_ms = 1000;

	(void)state;
	begin_standby(&f, floor_config());
	token_floor(&f, 0, 0, 5);
	lead(&f, 0, 5, 0);
	hook_done(&f, 0, 75);
	hook_done(&f, 0, 0);
	left(&f, 0);
	token_floor(&f, 0, 1000, 1000);
	tick(&f, ms);
	for (int64_t token = 6; token < 14; token++) {
		assert_int_equal(f.r.state, ROLE_STANDBY);
		lead(&f, ms, token, ms);
		left(&f, ms);
		assert_due(&f, ms + wait_ms);
		tick(&f, ms += wait_ms);
		wait_ms = wait_ms < 32000 ? 2 * wait_ms : 60000;
	}
}

/*
 * Goal: an operator's word lets the tokens of a new ensemble lead. Method: a term by token 50, then the floor is
 * taken back; a term in office keeps its own number spent.
 */
static void test_floor_forgotten(void **state)
{
	struct fixture f;

	(void)state;
	begin_standby(&f, floor_config());
	token_floor(&f, 0, 0, INT64_MAX);
	lead(&f, 1000, 50, 900);
	hook_done(&f, 1100, 0);
	leave(&f, 1200);
	hook_done(&f, 1300, 0);
	token_floor(&f, 1300, 50, INT64_MAX);
	lead(&f, 1400, 7, 1400);
	assert_did(&f, "give up 7, stand");
	token_floor(&f, 1500, 0, INT64_MAX);
	lead(&f, 1600, 8, 1600);
	assert_int_equal(f.r.state, ROLE_PROMOTING);
	leave(&f, 1700);
	token_floor(&f, 1700, 7, INT64_MAX);
	token_floor(&f, 1700, 0, INT64_MAX);
	hook_done(&f, 1800, 0);
	hook_done(&f, 1800, 0);
	lead(&f, 1900, 8, 1900);
	assert_did(&f, "give up 8, stand");
}

/* ---- the random run ---- */

enum { SEEDS = 20000 };

/*
 * Goal: over any sequence of events no two hooks overlap, nobody leaves the queue, or takes another term, while a
 * service, a term that was left behind or an adopted service may be in office; gain starts only before the demotion
 * point and by a higher token that the floor lets pass, the schedule is kept, fence and PANIC come after KILL, only
 * who is healthy stands, on_panic comes once and in time, every fence_peer is answered, every wait ends, timers do not
 * spin, and a stop ends. Method: random hooks and services, some of which outlive KILL, a random elector, 20,000 seeds.
 */
static void test_random(void **state)
{
	unsigned terms = 0, services = 0, adoptions = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct model m;

		model_run_random(&m, seed, false);
		terms += m.terms;
		services += m.services;
		adoptions += m.adoptions;
	}
	assert_true(terms > SEEDS);
	assert_true(services > SEEDS / 4);
	assert_true(adoptions > SEEDS / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_startup),
		cmocka_unit_test(test_startup_without_lose),
		cmocka_unit_test(test_startup_fence),
		cmocka_unit_test(test_startup_backoff),
		cmocka_unit_test(test_startup_hangs),
		cmocka_unit_test(test_no_candidate),
		cmocka_unit_test(test_take_office),
		cmocka_unit_test(test_lead_again),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_gain_fails),
		cmocka_unit_test(test_gain_not_now),
		cmocka_unit_test(test_backoff_reset),
		cmocka_unit_test(test_gain_overruns),
		cmocka_unit_test(test_gain_too_late),
		cmocka_unit_test(test_stale_hook),
		cmocka_unit_test(test_forced_schedule),
		cmocka_unit_test(test_fence_succeeds),
		cmocka_unit_test(test_no_fence),
		cmocka_unit_test(test_no_hooks),
		cmocka_unit_test(test_lease_ends_in_promoting),
		cmocka_unit_test(test_lease_extends),
		cmocka_unit_test(test_late_wakeup),
		cmocka_unit_test(test_clock_before_message),
		cmocka_unit_test(test_lose_outlives_kill),
		cmocka_unit_test(test_reaped_in_panic),
		cmocka_unit_test(test_kill_before_fence),
		cmocka_unit_test(test_late_wakeup_with_lose),
		cmocka_unit_test(test_recover),
		cmocka_unit_test(test_recover_elsewhere),
		cmocka_unit_test(test_stop_late_in_panic),
		cmocka_unit_test(test_on_panic),
		cmocka_unit_test(test_fence_and_gain_outlive_kill),
		cmocka_unit_test(test_planned_outlives_kill),
		cmocka_unit_test(test_stop_while_hook_outlives_kill),
		cmocka_unit_test(test_start_outlives_kill),
		cmocka_unit_test(test_planned),
		cmocka_unit_test(test_planned_cut_by_lease),
		cmocka_unit_test(test_planned_with_gain),
		cmocka_unit_test(test_lost_while_planned),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_leave_token),
		cmocka_unit_test(test_stop_active),
		cmocka_unit_test(test_stop_twice),
		cmocka_unit_test(test_stop_everywhere),
		cmocka_unit_test(test_stop_in_panic),
		cmocka_unit_test(test_stop_panics),
		cmocka_unit_test(test_follow_at_startup),
		cmocka_unit_test(test_follow_new_leader),
		cmocka_unit_test(test_follow_changes_while_running),
		cmocka_unit_test(test_follow_backoff),
		cmocka_unit_test(test_follow_overruns),
		cmocka_unit_test(test_follow_after_demotion),
		cmocka_unit_test(test_gain_fails_with_follow),
		cmocka_unit_test(test_follow_no_candidate),
		cmocka_unit_test(test_stop_while_following),
		cmocka_unit_test(test_fence_peer),
		cmocka_unit_test(test_fence_peer_overruns),
		cmocka_unit_test(test_fence_peer_unwanted),
		cmocka_unit_test(test_fence_peer_refused),
		cmocka_unit_test(test_fence_peer_stopped),
		cmocka_unit_test(test_fence_peer_then_follow),
		cmocka_unit_test(test_fence_peer_and_lead),
		cmocka_unit_test(test_floor),
		cmocka_unit_test(test_floor_in_office),
		cmocka_unit_test(test_floor_backs_off),
		cmocka_unit_test(test_floor_forgotten),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests_name("role", tests, NULL, NULL);
}
