/* The role core: the check hook's verdict. */
#include "role_support.h"

static struct role_config check_config(void)
{
	struct role_config config = full_config();

	config.check = true;
	return config;
}

/* In office by token 5 and healthy, in an election that is not paused. */
static void begin_leading(struct fixture *f, struct role_config config)
{
	begin(f, config, true);
	health(f, 100, true);
	lead(f, 1000, 5, 0);
	hook_done(f, 1500, 0);
	leads_paused(f, 1600, 5, false);
	assert_int_equal(f->r.state, ROLE_ACTIVE);
}

/* Goal: only who is healthy stands. Method: before the first verdict, well, ill, well again; a LEAD too late. */
static void test_joins_when_healthy(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, check_config(), true);
	assert_did(&f, "starting>out health");
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
	health(&f, 1000, true);
	assert_did(&f, "out>standby health, stand");
	health(&f, 2000, false);
	assert_did(&f, "retire, standby>out health");
	lead(&f, 2100, 5, 2000);
	assert_did(&f, "give up 5");
	left(&f, 2200);
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
	health(&f, 3000, true);
	assert_did(&f, "out>standby health, stand");
	lead(&f, 3100, 6, 3000);
	assert_int_equal(f.r.state, ROLE_PROMOTING);
}

/* Goal: without a check nobody asks. Method: never a verdict, and a bad one. */
static void test_without_check(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, full_config());
	leads_paused(&f, 1600, 5, false);
	health(&f, 1700, false);
	assert_did(&f, "");
	assert_int_equal(f.r.state, ROLE_ACTIVE);
}

/* Goal: an unhealthy leader leaves in good order and comes back when it is well. Method: verdicts in ACTIVE and OUT. */
static void test_leaves_when_ill(void **state)
{
	struct fixture f;

	(void)state;
	begin_leading(&f, check_config());
	health(&f, 2000, false);
	assert_did(&f, "active>demoting health, run lose 60000ms health planned token 5");
	health(&f, 2100, true);
	assert_did(&f, "");
	health(&f, 2200, false);
	hook_done(&f, 2500, 0);
	assert_did(&f, "give up 5, demoting>out health");
	left(&f, 2600);
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
	health(&f, 3000, true);
	assert_did(&f, "out>standby health, stand");

	/* Well before it was out. */
	begin_leading(&f, check_config());
	health(&f, 2000, false);
	health(&f, 2100, true);
	hook_done(&f, 2500, 0);
	assert_did(&f, "give up 5, demoting>standby health, stand");
}

/*
 * Goal: in a paused election the leader stays, and leaves when it is resumed. Method: ill in a pause; the pause ends;
 * well before it ends; a pause that begins during the demotion does not end that.
 */
static void test_paused(void **state)
{
	struct fixture f;

	(void)state;
	begin_leading(&f, check_config());
	leads_paused(&f, 1700, 5, true);
	health(&f, 2000, false);
	assert_did(&f, "");
	tick(&f, 3000);
	assert_did(&f, "");
	leads_paused(&f, 4000, 5, false);
	assert_did(&f, "active>demoting health, run lose 60000ms health planned token 5");
	leads_paused(&f, 4100, 5, true);
	assert_did(&f, "");
	hook_done(&f, 4200, 0);
	assert_did(&f, "give up 5, demoting>out health");

	begin_leading(&f, check_config());
	leads_paused(&f, 1700, 5, true);
	health(&f, 2000, false);
	health(&f, 3000, true);
	leads_paused(&f, 4000, 5, false);
	assert_did(&f, "");
	/* The lease's end does not ask who is paused. */
	leads_paused(&f, 4100, 5, true);
	tick(&f, 13600);
	assert_did(&f, "active>demoting lease, run lose 4000ms lease token 5");
}

/* Goal: a standby leaves the queue in a pause too: it would not be promoted. Method: ill while paused. */
static void test_paused_standby(void **state)
{
	struct role_event paused = {.type = ROLE_EV_LEADER, .now_ns = AT(200)};
	struct fixture f;

	(void)state;
	begin(&f, check_config(), true);
	health(&f, 100, true);
	paused.u.leader.token = 3;
	paused.u.leader.active = paused.u.leader.paused = true;
	step(&f, paused);
	health(&f, 300, false);
	assert_did(&f, "retire, standby>out health");
}

/* Goal: gain is not cut short, but nobody stays. Method: ill in PROMOTING, with a service; well again in time. */
static void test_ill_while_promoting(void **state)
{
	struct role_config config = check_config();
	struct fixture f;

	(void)state;
	begin(&f, config, true);
	health(&f, 100, true);
	leads_paused(&f, 200, 5, false);
	lead(&f, 1000, 5, 0);
	health(&f, 1100, false);
	assert_did(&f, "");
	hook_done(&f, 1500, 0);
	assert_did(&f, "confirm 5, promoting>active election, active>demoting health, "
		       "run lose 60000ms health planned token 5");

	config.service = true;
	config.budget.stop_ns = SECOND;
	begin(&f, config, true);
	health(&f, 100, true);
	leads_paused(&f, 200, 5, false);
	lead(&f, 1000, 5, 0);
	health(&f, 1100, false);
	hook_done(&f, 1500, 0);
	assert_did(&f, "start service, confirm 5, promoting>active election, active>demoting health, end service");
	service_gone(&f, 1600);
	assert_did(&f, "run lose 60000ms health planned token 5");

	begin(&f, check_config(), true);
	health(&f, 100, true);
	lead(&f, 1000, 5, 0);
	health(&f, 1100, false);
	health(&f, 1200, true);
	hook_done(&f, 1500, 0);
	assert_did(&f, "confirm 5, promoting>active election");
}

/* Goal: who is ill follows all the same. Method: a leader at start, a new one while OUT. */
static void test_follows_when_ill(void **state)
{
	struct role_config config = check_config();
	struct fixture f;

	(void)state;
	config.has[ROLE_HOOK_FOLLOW] = true;
	begin(&f, config, true);
	leader(&f, 0, LEADING, 7);
	assert_did(&f, "run follow 0ms startup planned token 7");
	hook_done(&f, 100, 0);
	assert_did(&f, "following>out health");
	leader(&f, 200, LEADING, 9);
	assert_did(&f, "out>following health, run follow 0ms health planned token 9");
	health(&f, 250, true);
	assert_did(&f, "");
	hook_done(&f, 300, 0);
	assert_did(&f, "following>standby health, stand");
	health(&f, 400, false);
	leader(&f, 500, LEADING, 11);
	hook_done(&f, 600, 0);
	assert_did(&f, "following>out health");
}

/* Goal: a back-off is waited for by the well as by the ill. Method: gain fails; verdicts before and after its end. */
static void test_backoff_and_health(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, check_config(), true);
	health(&f, 100, true);
	lead(&f, 1000, 5, 0);
	hook_done(&f, 1500, 1);
	hook_done(&f, 1600, 0);
	assert_did(&f, "give up 5, demoting>out gain-failed");
	left(&f, 1700);
	health(&f, 1800, false);
	health(&f, 1900, true);
	assert_did(&f, "");
	assert_due(&f, 2600);
	health(&f, 2000, false);
	tick(&f, 2600);
	assert_did(&f, "");
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
	health(&f, 9000, true);
	assert_did(&f, "out>standby gain-failed, stand");
}

/* Goal: nothing spins on an unhealthy member. Method: the same verdict again, timers, leaders, LEFT: no action. */
static void test_never_spins(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, check_config(), true);
	for (int64_t ms = 100; ms < 5000; ms += 100) {
		health(&f, ms, false);
		assert_did(&f, "");
		tick(&f, ms);
		assert_did(&f, "");
		leader(&f, ms, LEADING, ms);
		assert_did(&f, "");
		left(&f, ms);
		assert_did(&f, "");
		assert_int_equal(role_deadline(&f.r), INT64_MAX);
	}
}

/* Goal: who has a fence_peer hook at work lets it end first. Method: ill meanwhile. */
static void test_ill_while_fencing_peer(void **state)
{
	struct role_config config = check_config();
	struct fixture f;

	(void)state;
	config.has[ROLE_HOOK_FENCE_PEER] = true;
	config.fence_peer_ns = 30 * SECOND;
	begin(&f, config, true);
	health(&f, 100, true);
	fence_peer(&f, 1000, 3, true);
	health(&f, 1100, false);
	assert_did(&f, "retire, term");
	hook_done(&f, 1200, -1);
	assert_did(&f, "peer 3 not fenced, standby>out health");
	health(&f, 1300, true);
	assert_did(&f, "out>standby health, stand");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_joins_when_healthy),
		cmocka_unit_test(test_without_check),
		cmocka_unit_test(test_leaves_when_ill),
		cmocka_unit_test(test_paused),
		cmocka_unit_test(test_paused_standby),
		cmocka_unit_test(test_ill_while_promoting),
		cmocka_unit_test(test_follows_when_ill),
		cmocka_unit_test(test_backoff_and_health),
		cmocka_unit_test(test_never_spins),
		cmocka_unit_test(test_ill_while_fencing_peer),
	};

	return cmocka_run_group_tests_name("role_health", tests, NULL, NULL);
}
