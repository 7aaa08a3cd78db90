/* The role core: a service of its own, which runs while in office. */
#include "role_support.h"

/* The service may take 2 s to end: by the schedule TERM at 11.6 s, KILL at 13.6 s, fence at 17.6 s, out at 19.6 s. */
static struct role_config service_config(void)
{
	struct role_config config = full_config();

	config.service = true;
	config.budget.stop_ns = 2 * SECOND;
	return config;
}

static struct role_config without(struct role_config config, enum role_hook hook)
{
	config.has[hook] = false;
	if (hook == ROLE_HOOK_LOSE)
		config.budget.lose_ns = 0;
	if (hook == ROLE_HOOK_FENCE)
		config.budget.fence_ns = 0;
	return config;
}

/* ---- its start ---- */

/* Goal: it starts when gain has succeeded, before that is confirmed. Method: with a gain hook and without. */
static void test_start(void **state)
{
	struct fixture f;

	(void)state;
	begin_standby(&f, service_config());
	lead(&f, 1000, 5, 0);
	assert_did(&f, "run gain 60000ms election token 5, standby>promoting election");
	hook_done(&f, 1500, 0);
	assert_did(&f, "start service, confirm 5, promoting>active election");
	assert_int_equal(f.u.actions[0].token, 5);
	assert_due(&f, 11600);

	begin_standby(&f, without(service_config(), ROLE_HOOK_GAIN));
	lead(&f, 1000, 5, 0);
	assert_did(&f, "standby>promoting election, start service, confirm 5, promoting>active election");
}

/* Goal: without gain's success it does not run. Method: gain fails; it succeeds after the demotion point. */
static void test_no_start(void **state)
{
	struct fixture f;

	(void)state;
	begin_standby(&f, service_config());
	lead(&f, 1000, 5, 0);
	hook_done(&f, 1500, 1);
	assert_did(&f, "promoting>demoting gain-failed, run lose 60000ms gain-failed planned token 5");
	assert_false(f.r.service);

	begin_standby(&f, service_config());
	lead(&f, 1000, 5, 0);
	hook_done(&f, 11600, 0);
	assert_did(&f, "promoting>demoting lease, term, run lose 4000ms lease token 5");
	assert_false(f.r.service);
}

/* Goal: one that cannot be started is an end like any other. Method: gone at once; without a lose hook too. */
static void test_cannot_start(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, service_config());
	service_gone(&f, 1500);
	assert_did(&f, "active>demoting service-exit, run lose 60000ms service-exit planned token 5");
	hook_done(&f, 1600, 0);
	assert_did(&f, "give up 5, demoting>out service-exit");
	left(&f, 1700);
	assert_due(&f, 2600);
	tick(&f, 2600);
	assert_did(&f, "out>standby service-exit, stand");

	begin_active(&f, without(service_config(), ROLE_HOOK_LOSE));
	service_gone(&f, 1500);
	assert_did(&f, "active>demoting service-exit, give up 5, demoting>out service-exit");
}

/* Goal: one that exits again and again never spins, and a term of 60 s forgives. Method: nine terms, one long. */
static void test_exit_backs_off(void **state)
{
	struct fixture f;
	int64_t ms = 0, wait_ms = 1000;

	(void)state;
	begin_standby(&f, without(service_config(), ROLE_HOOK_GAIN));
	for (int64_t token = 5; token < 14; token++) {
		lead(&f, ms, token, ms);
		assert_int_equal(f.r.state, ROLE_ACTIVE);
		service_gone(&f, ms);
		hook_done(&f, ms, 0);
		left(&f, ms);
		assert_due(&f, ms + wait_ms);
		tick(&f, ms + wait_ms - 1);
		assert_did(&f, "");
		tick(&f, ms += wait_ms);
		assert_int_equal(f.r.state, ROLE_STANDBY);
		wait_ms = wait_ms < 32000 ? 2 * wait_ms : 60000;
	}
	lead(&f, ms, 20, ms);
	for (int i = 0; i < 10; i++) {
		ms += 6000;
		lease(&f, ms, ms, T);
	}
	service_gone(&f, ms);
	hook_done(&f, ms, 0);
	left(&f, ms);
	assert_due(&f, ms + 1000);
}

/* ---- its end ---- */

/*
 * Goal: a planned demotion ends it before lose runs, and kills it after its limit. Method: it obeys TERM; it does not.
 */
static void test_planned_end(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, service_config());
	leave(&f, 2000);
	assert_did(&f, "active>demoting resign, end service");
	assert_due(&f, 4000);
	leave(&f, 2100);
	assert_did(&f, "");
	service_gone(&f, 2500);
	assert_did(&f, "run lose 60000ms resign planned token 5");
	hook_done(&f, 3000, 0);
	assert_did(&f, "give up 5, demoting>standby resign, stand");

	begin_active(&f, service_config());
	leave(&f, 2000);
	tick(&f, 3999);
	assert_did(&f, "");
	tick(&f, 4000);
	assert_did(&f, "kill service");
	assert_due(&f, 5000);
	service_gone(&f, 4100);
	assert_did(&f, "run lose 60000ms resign planned token 5");
}

/* Goal: without a lose hook its end is enough. Method: planned, forced, and one that has to be killed. */
static void test_end_without_lose(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, without(service_config(), ROLE_HOOK_LOSE));
	leave(&f, 2000);
	assert_did(&f, "active>demoting resign, end service");
	service_gone(&f, 2500);
	assert_did(&f, "give up 5, demoting>standby resign, stand");

	begin_active(&f, without(service_config(), ROLE_HOOK_LOSE));
	assert_due(&f, 15600);
	tick(&f, 15600);
	assert_did(&f, "active>demoting lease, end service");
	service_gone(&f, 15700);
	assert_did(&f, "give up 5, demoting>standby lease, stand");
}

/* Goal: the schedule of a forced demotion. Method: nothing ends by itself, each point in turn. */
static void test_forced_end(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, service_config());
	tick(&f, 11599);
	assert_did(&f, "");
	tick(&f, 11600);
	assert_did(&f, "active>demoting lease, end service");
	assert_due(&f, 13600);
	tick(&f, 13600);
	assert_did(&f, "kill service");
	service_gone(&f, 13650);
	assert_did(&f, "run lose 3950ms lease token 5");
	assert_due(&f, 17600);
	tick(&f, 17600);
	assert_did(&f, "kill");
	hook_done(&f, 17610, -1);
	assert_did(&f, "run fence 1990ms lease token 5, demoting>fencing lease");
}

/*
 * Goal: a planned end still is within the schedule when the lease nears its end. Method: TERM shortly before the
 * demotion point, KILL as well; LOST and a second stop do not put off what is due.
 */
static void test_planned_then_forced(void **state)
{
	struct role_config config = service_config();
	struct fixture f;

	(void)state;
	config.budget.stop_ns = 2 * SECOND;
	begin_active(&f, config);
	leave(&f, 11000);
	assert_due(&f, 13000);
	tick(&f, 13000);
	assert_did(&f, "kill service");
	assert_due(&f, 13600);
	tick(&f, 13600);
	assert_did(&f, "");
	assert_due(&f, 14000);
	service_gone(&f, 13700);
	assert_did(&f, "run lose 3900ms resign token 5");

	begin_active(&f, config);
	leave(&f, 11599);
	tick(&f, 13599);
	assert_did(&f, "kill service");
	begin_active(&f, config);
	lease(&f, 1600, 100, T);
	leave(&f, 11599);
	lease(&f, 11600, 100, 19 * SECOND);
	assert_due(&f, 12720);
	tick(&f, 12720);
	assert_did(&f, "kill service");

	/* A killed one has a second while there is time, and less of it when there is not: then fence is due. */
	config.budget.lose_ns = 400 * MS;
	config.budget.stop_ns = 0;
	begin_active(&f, config);
	leave(&f, 17100);
	assert_did(&f, "active>demoting resign, kill service");
	assert_due(&f, 17200);
	tick(&f, 17200);
	assert_did(&f, "");
	assert_due(&f, 17600);
	tick(&f, 17600);
	assert_did(&f, "kill all, run fence 2000ms resign token 5, demoting>fencing resign");

	begin_active(&f, service_config());
	leave(&f, 2000);
	end_of(&f, 2500, ROLE_EV_LOST, 5, TENURE_REASON_SESSION);
	assert_did(&f, "");
	assert_due(&f, 4000);
	begin_active(&f, service_config());
	stop(&f, 2000, false);
	assert_did(&f, "active>demoting stop, end service");
	stop(&f, 3000, true);
	assert_due(&f, 4000);
	service_gone(&f, 3100);
	assert_did(&f, "run lose 4000ms stop token 5");
	hook_done(&f, 3200, 0);
	assert_did(&f, "give up 5, demoting>out stop");
}

/* Goal: a smaller T moves what has been planned already. Method: a shorter lease while it is asked to end. */
static void test_lease_shrinks(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, service_config());
	tick(&f, 11600);
	lease(&f, 11700, 0, 19 * SECOND);
	assert_due(&f, 12620);
	tick(&f, 12620);
	assert_did(&f, "kill service");
}

/*
 * Goal: a supervisor that wakes late goes to the latest point passed. Method: past the demotion point, past that of
 * KILL, past fence's with it and without.
 */
static void test_late_wakeup(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, service_config());
	tick(&f, 12600);
	assert_did(&f, "active>demoting pause, end service");
	assert_due(&f, 13600);

	begin_active(&f, service_config());
	tick(&f, 14000);
	assert_did(&f, "active>demoting pause, kill service");
	assert_due(&f, 15000);
	service_gone(&f, 14100);
	assert_did(&f, "run lose 3500ms pause token 5");

	/* However short the time, fence is not late. */
	begin_active(&f, service_config());
	tick(&f, 17000);
	assert_did(&f, "active>demoting pause, kill service");
	assert_due(&f, 17600);
	tick(&f, 17600);
	assert_did(&f, "kill all, run fence 2000ms pause token 5, demoting>fencing pause");

	begin_active(&f, service_config());
	tick(&f, 18000);
	assert_did(&f, "active>demoting pause, kill all, kill service, run fence 1600ms pause token 5, "
		       "demoting>fencing pause");
	service_gone(&f, 18010);
	assert_did(&f, "");
	hook_done(&f, 18100, 0);
	assert_did(&f, "give up 5, fencing>standby pause, stand");

	begin_active(&f, without(service_config(), ROLE_HOOK_FENCE));
	tick(&f, 30000);
	assert_did(&f, "active>demoting pause, kill service");
	service_gone(&f, 30100);
	assert_did(&f, "run lose 4000ms pause token 5");

	/* Asleep while it is being ended: it most likely is gone, which takes a moment to hear of. */
	begin_active(&f, service_config());
	tick(&f, 11600);
	tick(&f, 18000);
	assert_did(&f, "kill service");
	assert_due(&f, 18500);
	tick(&f, 18500);
	assert_did(&f, "kill all, run fence 1100ms lease token 5, demoting>fencing lease");
}

/* ---- one that outlives its KILL ---- */

/* Until 14.6 s: the schedule has it killed at 13.6 s. */
static void begin_outlived(struct fixture *f, struct role_config config)
{
	begin_active(f, config);
	tick(f, role_deadline(&f->r) / MS - START / MS);
	tick(f, role_deadline(&f->r) / MS - START / MS);
	assert_did(f, "kill service");
}

/*
 * Goal: it holds up lose for a moment only, and then only fence brings the member out of office. Method: lose succeeds,
 * fence too; the member does not stand as long as it is there.
 */
static void test_outlives_then_fence(void **state)
{
	struct fixture f;

	(void)state;
	begin_outlived(&f, service_config());
	assert_due(&f, 14600);
	tick(&f, 14600);
	assert_did(&f, "run lose 3000ms lease token 5");
	hook_done(&f, 15000, 0);
	assert_did(&f, "kill all, run fence 2000ms lease token 5, demoting>fencing lease");
	hook_done(&f, 15500, 0);
	assert_did(&f, "give up 5, fencing>out lease");
	left(&f, 15600);
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
	lead(&f, 16000, 6, 15900);
	assert_did(&f, "give up 6");
	left(&f, 16000);
	service_gone(&f, 60000);
	assert_did(&f, "out>standby lease, stand");
	lead(&f, 61000, 7, 60900);
	hook_done(&f, 61500, 0);
	assert_did(&f, "start service, confirm 7, promoting>active election");
}

/* Goal: gone before lose has ended, it needs no fence. Method: gone while lose runs, which succeeds; fails. */
static void test_goes_during_lose(void **state)
{
	struct fixture f;

	(void)state;
	begin_outlived(&f, service_config());
	tick(&f, 14600);
	service_gone(&f, 14700);
	assert_did(&f, "");
	hook_done(&f, 15000, 0);
	assert_did(&f, "give up 5, demoting>standby lease, stand");

	begin_outlived(&f, service_config());
	tick(&f, 14600);
	service_gone(&f, 14700);
	hook_done(&f, 15000, 1);
	assert_did(&f, "kill all, run fence 2000ms lease token 5, demoting>fencing lease");
}

/* Goal: without a fence hook that helps it is PANIC, lose having succeeded or not. Method: three settings. */
static void test_outlives_then_panic(void **state)
{
	struct fixture f;

	(void)state;
	begin_outlived(&f, without(service_config(), ROLE_HOOK_FENCE));
	assert_due(&f, 16600);
	tick(&f, 16600);
	assert_did(&f, "run lose 3000ms lease token 5");
	hook_done(&f, 17000, 0);
	assert_did(&f, "kill all, demoting>panic lease");

	begin_outlived(&f, service_config());
	tick(&f, 14600);
	hook_done(&f, 15000, 0);
	hook_done(&f, 15500, 1);
	assert_did(&f, "fencing>panic lease");

	begin_outlived(&f, without(without(service_config(), ROLE_HOOK_FENCE), ROLE_HOOK_LOSE));
	assert_due(&f, 19700);
	tick(&f, 19700);
	assert_did(&f, "kill all, demoting>panic lease");
	assert_true(role_in_office(&f.r));
}

/* Goal: in a planned demotion it has a second. Method: the lease is extended all the time. */
static void test_outlives_planned(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, service_config());
	leave(&f, 2000);
	tick(&f, 4000);
	tick(&f, 5000);
	assert_did(&f, "run lose 60000ms resign planned token 5");
	hook_done(&f, 6000, 0);
	assert_did(&f, "kill all, run fence 2000ms resign planned token 5, demoting>fencing resign");
	hook_done(&f, 6500, 0);
	assert_did(&f, "give up 5, fencing>out resign");
}

/* ---- gone in PANIC ---- */

/*
 * Goal: its end lets lose run once more, whether it comes in PANIC, while fence, which then fails, runs, or while a hook
 * that outlives its KILL is still there; that spins nowhere. Method: each, and a lose that fails again.
 */
static void test_gone_in_panic(void **state)
{
	struct fixture f;

	(void)state;
	begin_outlived(&f, without(service_config(), ROLE_HOOK_FENCE));
	tick(&f, 16600);
	hook_done(&f, 17000, 0);
	tick(&f, 20000);
	assert_did(&f, "on panic 5");
	service_gone(&f, 25000);
	assert_did(&f, "panic>demoting lease, run lose 4000ms lease token 5");
	hook_done(&f, 25500, 1);
	assert_did(&f, "kill all, demoting>panic lease, on panic 5");
	service_gone(&f, 26000);
	assert_did(&f, "");

	begin_outlived(&f, service_config());
	tick(&f, 14600);
	hook_done(&f, 15000, 0);
	service_gone(&f, 15200);
	assert_did(&f, "");
	hook_done(&f, 15500, 1);
	assert_did(&f, "fencing>panic lease, panic>demoting lease, run lose 4000ms lease token 5");
	hook_done(&f, 15600, 1);
	hook_done(&f, 15700, 1);
	assert_int_equal(f.r.state, ROLE_PANIC);
	assert_int_equal(f.r.hook, ROLE_HOOK_NONE);

	begin_outlived(&f, service_config());
	tick(&f, 14600);
	hook_done(&f, 15000, 0);
	tick(&f, 17000);
	assert_did(&f, "kill");
	tick(&f, 19600);
	assert_did(&f, "fencing>panic lease");
	service_gone(&f, 21000);
	assert_did(&f, "on panic 5");
	hook_done(&f, 22000, -1);
	assert_did(&f, "panic>demoting lease, run lose 4000ms lease token 5");
	hook_done(&f, 22100, 0);
	assert_did(&f, "give up 5, demoting>standby lease, stand");

	/* Nothing but the service was in office. */
	begin_outlived(&f, without(without(service_config(), ROLE_HOOK_FENCE), ROLE_HOOK_LOSE));
	tick(&f, 19700);
	service_gone(&f, 30000);
	assert_did(&f, "panic>demoting lease, give up 5, demoting>standby lease, stand");
}

/* Goal: RECOVER and a stop end it once more, from the beginning. Method: one that is still there, and stays. */
static void test_recover_with_service(void **state)
{
	struct fixture f;

	(void)state;
	begin_outlived(&f, without(service_config(), ROLE_HOOK_FENCE));
	tick(&f, 16600);
	hook_done(&f, 17000, 0);
	recover(&f, 30000);
	assert_did(&f, "panic>demoting lease, end service");
	assert_due(&f, 32000);
	tick(&f, 32000);
	assert_did(&f, "kill service");
	assert_due(&f, 33000);
	tick(&f, 33000);
	assert_did(&f, "run lose 4000ms lease token 5");
	hook_done(&f, 33500, 0);
	assert_did(&f, "kill all, demoting>panic lease, on panic 5");
	stop(&f, 40000, false);
	assert_did(&f, "panic>demoting stop, end service");
	tick(&f, 42000);
	tick(&f, 43000);
	hook_done(&f, 43500, 0);
	assert_int_equal(f.r.state, ROLE_PANIC);
	assert_true(role_stopped(&f.r));
}

/* ---- gone for another reason ---- */

/* Goal: what is known already is no news. Method: gone twice; as a standby; while gain runs. */
static void test_gone_elsewhere(void **state)
{
	struct fixture f;

	(void)state;
	begin_standby(&f, service_config());
	service_gone(&f, 500);
	assert_did(&f, "");
	lead(&f, 1000, 5, 0);
	service_gone(&f, 1100);
	assert_did(&f, "");
	hook_done(&f, 1500, 0);
	assert_int_equal(f.r.state, ROLE_ACTIVE);
	leave(&f, 2000);
	service_gone(&f, 2100);
	service_gone(&f, 2200);
	assert_did(&f, "");
	assert_int_equal(f.r.hook, ROLE_HOOK_LOSE);
}

/* Goal: a demotion for another reason is not backed off from when it exits meanwhile. Method: it exits on TERM. */
static void test_exit_when_asked(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, service_config());
	end_of(&f, 2000, ROLE_EV_LEAVE, 5, TENURE_REASON_SWITCHOVER);
	service_gone(&f, 2100);
	hook_done(&f, 2200, 0);
	assert_did(&f, "give up 5, demoting>standby switchover, stand");
}

/* Goal: while it ends no second term is taken: its LEAD is given back afterwards. Method: LEAD in DEMOTING. */
static void test_lead_while_it_ends(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, service_config());
	leave(&f, 2000);
	lead(&f, 2100, 6, 2000);
	assert_did(&f, "");
	service_gone(&f, 2200);
	hook_done(&f, 2300, 0);
	assert_did(&f, "give up 5, give up 6, demoting>standby resign, stand");
}

/* Goal: a lingering service and a fence_peer hook never meet. Method: the elector asks for one. */
static void test_no_fence_peer_beside_it(void **state)
{
	struct role_config config = service_config();
	struct fixture f;

	(void)state;
	config.has[ROLE_HOOK_FENCE_PEER] = true;
	config.fence_peer_ns = 30 * SECOND;
	begin_outlived(&f, config);
	tick(&f, 14600);
	hook_done(&f, 15000, 0);
	hook_done(&f, 15500, 0);
	assert_int_equal(f.r.state, ROLE_OUT);
	fence_peer(&f, 16000, 3, true);
	assert_did(&f, "peer 3 not fenced");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_no_start),
		cmocka_unit_test(test_cannot_start),
		cmocka_unit_test(test_exit_backs_off),
		cmocka_unit_test(test_planned_end),
		cmocka_unit_test(test_end_without_lose),
		cmocka_unit_test(test_forced_end),
		cmocka_unit_test(test_planned_then_forced),
		cmocka_unit_test(test_lease_shrinks),
		cmocka_unit_test(test_late_wakeup),
		cmocka_unit_test(test_outlives_then_fence),
		cmocka_unit_test(test_goes_during_lose),
		cmocka_unit_test(test_outlives_then_panic),
		cmocka_unit_test(test_outlives_planned),
		cmocka_unit_test(test_gone_in_panic),
		cmocka_unit_test(test_recover_with_service),
		cmocka_unit_test(test_gone_elsewhere),
		cmocka_unit_test(test_exit_when_asked),
		cmocka_unit_test(test_lead_while_it_ends),
		cmocka_unit_test(test_no_fence_peer_beside_it),
	};

	return cmocka_run_group_tests_name("role_service", tests, NULL, NULL);
}
