/* The role core: a start after a term that was left behind, and one beside a service that has the office. */
#include "role_support.h"

/* ---- a term that was left behind ---- */

/*
 * Goal: lose ends it, is told why and which, and only then is its place in the queue given up. Method: it succeeds; the
 * token is spent.
 */
static void test_left(void **state)
{
	struct fixture f;

	(void)state;
	begin_left(&f, full_config(), 5);
	assert_did(&f, "run lose 60000ms restart planned token 5");
	assert_int_equal(f.u.actions[0].state, ROLE_STARTING);
	assert_false(f.r.standing);
	hook_done(&f, 700, 0);
	assert_did(&f, "give up 5, starting>standby startup, stand");
	lead(&f, 1000, 5, 900);
	assert_did(&f, "give up 5, stand");
	lead(&f, 1100, 6, 1000);
	assert_int_equal(f.r.state, ROLE_PROMOTING);
}

/* Goal: fence will do as well, and gets the token. Method: lose fails, fence succeeds. */
static void test_left_fence(void **state)
{
	struct fixture f;

	(void)state;
	begin_left(&f, full_config(), 5);
	hook_done(&f, 100, 1);
	assert_did(&f, "kill all, run fence 2000ms restart planned token 5, starting>fencing restart");
	hook_done(&f, 200, 0);
	assert_did(&f, "give up 5, fencing>starting startup, starting>standby startup, stand");
}

/* Goal: it is tried again, with back-off, until it has succeeded. Method: lose and fence fail, lose overruns. */
static void test_left_retries(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	begin_left(&f, config, 5);
	hook_done(&f, 100, 1);
	hook_done(&f, 200, 1);
	assert_did(&f, "fencing>starting startup");
	assert_due(&f, 1200);
	tick(&f, 1200);
	assert_did(&f, "run lose 60000ms restart planned token 5");
	tick(&f, 61200);
	assert_did(&f, "kill");
	hook_done(&f, 61300, -1);
	hook_done(&f, 61400, 1);
	assert_due(&f, 63400);
	tick(&f, 63400);
	hook_done(&f, 63500, 0);
	assert_did(&f, "give up 5, starting>standby startup, stand");

	config.has[ROLE_HOOK_FENCE] = false;
	begin_left(&f, config, 5);
	hook_done(&f, 100, 1);
	assert_did(&f, "kill all");
	assert_due(&f, 1100);
}

/* Goal: without a lose hook there is nothing to run. Method: the token is given up at once; none is left. */
static void test_left_without_lose(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	config.has[ROLE_HOOK_LOSE] = false;
	begin_left(&f, config, 5);
	assert_did(&f, "give up 5, starting>standby startup, stand");
	begin_left(&f, config, 0);
	assert_did(&f, "starting>standby startup, stand");
}

/*
 * Goal: a stop does not cut it short, since the service may be in office; a second one leaves it one try in a hurry.
 * Method: a stop while lose runs, which succeeds; which fails again and again; between two tries; both stops while lose
 * runs.
 */
static void test_left_and_stop(void **state)
{
	struct fixture f;

	(void)state;
	begin_left(&f, full_config(), 5);
	stop(&f, 100, false);
	assert_did(&f, "");
	hook_done(&f, 700, 0);
	assert_did(&f, "give up 5, starting>out stop");
	assert_false(role_stopped(&f.r));
	left(&f, 800);
	assert_true(role_stopped(&f.r));

	begin_left(&f, full_config(), 5);
	stop(&f, 100, false);
	hook_done(&f, 200, 1);
	assert_did(&f, "kill all, run fence 2000ms restart planned token 5, starting>fencing restart");
	hook_done(&f, 300, 1);
	assert_did(&f, "fencing>starting startup");
	assert_false(role_stopped(&f.r));
	assert_due(&f, 1300);
	tick(&f, 1300);
	assert_did(&f, "run lose 60000ms restart planned token 5");
	hook_done(&f, 1400, 0);
	assert_did(&f, "give up 5, starting>out stop");

	begin_left(&f, full_config(), 5);
	hook_done(&f, 200, 1);
	hook_done(&f, 300, 1);
	stop(&f, 400, false);
	assert_did(&f, "");
	assert_false(role_stopped(&f.r));
	stop(&f, 500, true);
	assert_did(&f, "starting>out stop");
	assert_true(role_stopped(&f.r));

	begin_left(&f, full_config(), 5);
	stop(&f, 100, false);
	stop(&f, 1000, true);
	assert_due(&f, 5000);
	tick(&f, 5000);
	assert_did(&f, "kill");
	hook_done(&f, 5100, -1);
	assert_did(&f, "run fence 2000ms restart token 5, starting>fencing restart");
	hook_done(&f, 5200, 1);
	assert_did(&f, "fencing>starting startup, starting>out stop");
	assert_true(role_stopped(&f.r));
}

/*
 * Goal: an elector that takes the candidate up does not get it away before its time. Method: LEAD for the token while
 * lose runs, while fence does, in the back-off; another token waits as well.
 */
static void test_left_lead_again(void **state)
{
	struct fixture f;

	(void)state;
	begin_left(&f, full_config(), 5);
	lead(&f, 50, 5, 0);
	assert_did(&f, "");
	hook_done(&f, 100, 0);
	assert_did(&f, "give up 5, starting>standby startup, stand");

	begin_left(&f, full_config(), 5);
	lead(&f, 50, 5, 0);
	hook_done(&f, 100, 1);
	lead(&f, 150, 5, 100);
	assert_did(&f, "");
	hook_done(&f, 200, 1);
	lead(&f, 250, 5, 200);
	assert_did(&f, "");
	lead(&f, 260, 6, 200);
	assert_did(&f, "");
	tick(&f, 1200);
	hook_done(&f, 1300, 0);
	assert_did(&f, "give up 5, give up 6, starting>standby startup, stand");
	lead(&f, 1400, 6, 1300);
	assert_did(&f, "give up 6, stand");
}

/* Goal: what is not its lease changes nothing. Method: LOST of it, LEAVE, LEFT, RECOVER and FENCE_PEER. */
static void test_left_and_elector(void **state)
{
	struct fixture f;

	(void)state;
	begin_left(&f, full_config(), 5);
	end_of(&f, 100, ROLE_EV_LOST, 5, TENURE_REASON_SESSION);
	assert_did(&f, "");
	end_of(&f, 200, ROLE_EV_LEAVE, 5, TENURE_REASON_RESIGN);
	assert_did(&f, "");
	left(&f, 300);
	assert_did(&f, "");
	recover(&f, 400);
	assert_did(&f, "");
	assert_due(&f, 60000);
	assert_false(role_in_office(&f.r));
	fence_peer(&f, 600, 3, true);
	assert_did(&f, "peer 3 not fenced");
}

/*
 * Goal: the lease of the term that was left behind still bounds the lose hook that ends it, so that fence is in time.
 * Method: a lease while lose runs, extended, overrun; one that is over before lose is tried, and tried again; the
 * session is lost; another session's lease.
 */
static void test_left_lease(void **state)
{
	struct fixture f;

	(void)state;
	begin_left(&f, full_config(), 5);
	lease(&f, 500, 400, T);
	assert_due(&f, 14000);
	lease(&f, 2000, 1900, T);
	assert_due(&f, 15500);
	tick(&f, 15500);
	assert_did(&f, "");
	assert_due(&f, 19500);
	tick(&f, 19500);
	assert_did(&f, "kill");
	hook_done(&f, 19500, -1);
	assert_did(&f, "run fence 2000ms restart token 5, starting>fencing restart");
	hook_done(&f, 19600, 1);
	assert_due(&f, 20600);
	tick(&f, 20600);
	assert_did(&f, "run lose 60000ms restart token 5");

	begin_left(&f, full_config(), 5);
	lease(&f, 500, 400, T);
	end_of(&f, 1000, ROLE_EV_LOST, 0, TENURE_REASON_SESSION);
	assert_did(&f, "");
	assert_due(&f, 5000);
	lease(&f, 1100, 1100, T);
	assert_due(&f, 5000);
	hook_done(&f, 1200, 0);
	assert_did(&f, "give up 5, starting>standby startup, stand");
	left(&f, 1300);
	/* The next term has a lease of its own. */
	lead(&f, 2000, 6, 2000);
	assert_due(&f, 15600);
	lease(&f, 3000, 3000, T);
	assert_due(&f, 16600);
}

/* Goal: a plain start is cut short by the first stop. Method: between two tries, with nothing left behind. */
static void test_nothing_left_and_stop(void **state)
{
	struct fixture f;

	(void)state;
	begin_left(&f, full_config(), 0);
	assert_did(&f, "run lose 60000ms startup planned token 0");
	hook_done(&f, 200, 1);
	hook_done(&f, 300, 1);
	stop(&f, 400, false);
	assert_did(&f, "starting>out stop");
	assert_true(role_stopped(&f.r));
}

/* ---- a service that has the office by an operator's word ---- */

/* Goal: gain runs with reason adopt, and no lose before it. Method: LEAD in time, with a gain hook and without. */
static void test_adopt(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	begin_adopt(&f, config, 20000);
	assert_did(&f, "starting>standby adopt, stand");
	assert_due(&f, 20000);
	lead(&f, 1000, 5, 900);
	assert_did(&f, "run gain 60000ms adopt token 5, standby>promoting adopt");
	hook_done(&f, 1500, 0);
	assert_did(&f, "confirm 5, promoting>active adopt");
	/* From here on it is a term like any other. */
	lease(&f, 10000, 9900, T);
	tick(&f, 20000);
	assert_did(&f, "");
	leave(&f, 21000);
	assert_did(&f, "active>demoting resign, run lose 60000ms resign planned token 5");
	hook_done(&f, 21100, 0);
	assert_did(&f, "give up 5, demoting>standby resign, stand");
	lead(&f, 22000, 6, 21900);
	assert_did(&f, "run gain 60000ms election token 6, standby>promoting election");

	config.has[ROLE_HOOK_GAIN] = false;
	begin_adopt(&f, config, 20000);
	lead(&f, 1000, 5, 900);
	assert_did(&f, "standby>promoting adopt, confirm 5, promoting>active adopt");
}

/*
 * Goal: who is not in office in time runs lose, and leaves the queue only when that has succeeded. Method: the time is
 * over; lose fails first; without a lose hook.
 */
static void test_adoption_lapses(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	begin_adopt(&f, config, 20000);
	tick(&f, 19999);
	assert_did(&f, "");
	tick(&f, 20000);
	assert_did(&f, "standby>starting startup, run lose 60000ms startup planned token 0");
	hook_done(&f, 21000, 0);
	assert_did(&f, "retire, starting>standby startup, stand");

	begin_adopt(&f, config, 20000);
	tick(&f, 20000);
	hook_done(&f, 21000, 1);
	hook_done(&f, 21100, 1);
	assert_due(&f, 22100);
	tick(&f, 22100);
	hook_done(&f, 22200, 0);
	assert_did(&f, "retire, starting>standby startup, stand");

	config.has[ROLE_HOOK_LOSE] = false;
	begin_adopt(&f, config, 20000);
	tick(&f, 20000);
	assert_did(&f, "retire, stand");
	left(&f, 20100);
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
	lead(&f, 21000, 5, 20900);
	assert_did(&f, "run gain 60000ms election token 5, standby>promoting election");
}

/* Goal: LEAD that comes too late to adopt is given back when lose has succeeded. Method: while it runs; twice. */
static void test_lead_after_lapse(void **state)
{
	struct fixture f;

	(void)state;
	begin_adopt(&f, full_config(), 20000);
	lead(&f, 20000, 5, 19900);
	assert_did(&f, "standby>starting startup, run lose 60000ms startup planned token 0");
	lead(&f, 20100, 5, 19900);
	assert_did(&f, "");
	hook_done(&f, 21000, 0);
	assert_did(&f, "give up 5, starting>standby startup, stand");
	lead(&f, 22000, 5, 21900);
	assert_did(&f, "give up 5, stand");
}

/* Goal: with another member's term since, there is nothing to adopt. Method: LEAD says so; LEADER does; neither. */
static void test_adopt_after_others(void **state)
{
	struct role_event event = {.type = ROLE_EV_LEAD, .now_ns = AT(1000)};
	struct fixture f;

	(void)state;
	event.u.lead.token = 5;
	event.u.lead.reason = TENURE_REASON_ELECTION;
	event.u.lead.lease_start_ns = AT(900);
	event.u.lead.lease_timeout_ns = T;
	event.u.lead.others = true;
	begin_adopt(&f, full_config(), 20000);
	step(&f, event);
	assert_did(&f, "standby>starting startup, run lose 60000ms startup planned token 0");
	hook_done(&f, 2000, 0);
	assert_did(&f, "give up 5, starting>standby startup, stand");
	/* Otherwise that is nobody's concern. */
	event.now_ns = AT(3000);
	event.u.lead.token = 6;
	step(&f, event);
	assert_int_equal(f.r.state, ROLE_PROMOTING);

	begin_adopt(&f, full_config(), 20000);
	event = (struct role_event){.type = ROLE_EV_LEADER, .now_ns = AT(500)};
	event.u.leader.token = 3;
	event.u.leader.active = event.u.leader.others = true;
	step(&f, event);
	assert_did(&f, "standby>starting startup, run lose 60000ms startup planned token 0");
	hook_done(&f, 2000, 0);
	assert_did(&f, "retire, starting>standby startup, stand");

	begin_adopt(&f, full_config(), 20000);
	event.u.leader.others = false;
	event.u.leader.self = true;
	step(&f, event);
	assert_did(&f, "");
	assert_true(f.r.adopting);
}

/* Goal: an office that is not taken ends the adoption. Method: a token below the floor; a lease that nears its end. */
static void test_adopt_refused(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	begin_adopt(&f, config, 20000);
	lead(&f, 14000, 5, 0);
	assert_did(&f, "standby>starting startup, run lose 60000ms startup planned token 0");
	hook_done(&f, 15000, 0);
	assert_did(&f, "give up 5, starting>standby startup, stand");

	config.floor = true;
	begin_adopt(&f, config, 20000);
	token_floor(&f, 500, 5, INT64_MAX);
	lead(&f, 1000, 5, 900);
	assert_did(&f, "standby>starting startup, run lose 60000ms startup planned token 0");
}

/* Goal: a stop takes the service out of office first. Method: as a candidate; a second stop; without a lose hook. */
static void test_adopt_and_stop(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	begin_adopt(&f, config, 20000);
	stop(&f, 1000, false);
	assert_did(&f, "standby>starting startup, run lose 60000ms startup planned token 0");
	assert_false(role_stopped(&f.r));
	hook_done(&f, 2000, 0);
	assert_did(&f, "retire, starting>out stop");
	left(&f, 2100);
	assert_true(role_stopped(&f.r));

	begin_adopt(&f, config, 20000);
	stop(&f, 1000, false);
	stop(&f, 2000, true);
	assert_due(&f, 6000);
	tick(&f, 6000);
	assert_did(&f, "kill");
	hook_done(&f, 6100, -1);
	assert_did(&f, "run fence 2000ms startup token 0, starting>fencing startup");
	hook_done(&f, 6200, 1);
	assert_did(&f, "fencing>starting startup, retire, starting>out stop");

	/* In a hurry from the beginning. */
	begin_adopt(&f, config, 20000);
	stop(&f, 1000, true);
	assert_did(&f, "standby>starting startup, run lose 4000ms startup token 0");
	hook_done(&f, 1500, 0);
	assert_did(&f, "retire, starting>out stop");

	config.has[ROLE_HOOK_LOSE] = false;
	begin_adopt(&f, config, 20000);
	stop(&f, 1000, false);
	assert_did(&f, "retire, standby>out stop");
}

/* Goal: in office it is stopped like any other. Method: a stop while gain runs with reason adopt; gain fails. */
static void test_adopted_and_stop(void **state)
{
	struct fixture f;

	(void)state;
	begin_adopt(&f, full_config(), 20000);
	lead(&f, 1000, 5, 900);
	stop(&f, 1100, false);
	assert_did(&f, "promoting>demoting stop, term");
	hook_done(&f, 1200, -1);
	assert_did(&f, "run lose 60000ms stop planned token 5");
	hook_done(&f, 1300, 0);
	assert_did(&f, "give up 5, demoting>out stop");

	begin_adopt(&f, full_config(), 20000);
	lead(&f, 1000, 5, 900);
	hook_done(&f, 1100, 1);
	assert_did(&f, "promoting>demoting gain-failed, run lose 60000ms gain-failed planned token 5");
}

/*
 * Goal: with a check only who is healthy stands, and one who falls ill is out of office before he leaves the queue.
 * Method: well in time; never; well, then ill; a stop before it was ever well.
 */
static void test_adopt_with_check(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	config.check = true;
	begin_adopt(&f, config, 20000);
	assert_did(&f, "starting>standby adopt");
	health(&f, 1000, true);
	assert_did(&f, "stand");
	lead(&f, 2000, 5, 1900);
	assert_did(&f, "run gain 60000ms adopt token 5, standby>promoting adopt");

	begin_adopt(&f, config, 20000);
	health(&f, 1000, false);
	assert_did(&f, "");
	tick(&f, 20000);
	assert_did(&f, "standby>starting startup, run lose 60000ms startup planned token 0");
	hook_done(&f, 20500, 0);
	assert_did(&f, "starting>out health");

	begin_adopt(&f, config, 20000);
	health(&f, 1000, true);
	health(&f, 1500, false);
	assert_did(&f, "standby>starting startup, run lose 60000ms startup planned token 0");
	hook_done(&f, 2000, 0);
	assert_did(&f, "retire, starting>out health");

	begin_adopt(&f, config, 20000);
	stop(&f, 1000, false);
	hook_done(&f, 2000, 0);
	assert_did(&f, "starting>out stop");
}

/* Goal: who is no candidate has no term to wait for. Method: lose runs at once; without such a hook it is out. */
static void test_adopt_no_candidate(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	config.candidate = false;
	begin_adopt(&f, config, 20000);
	assert_did(&f, "run lose 60000ms startup planned token 0");
	stop(&f, 100, false);
	hook_done(&f, 1000, 0);
	assert_did(&f, "starting>out stop");

	config.has[ROLE_HOOK_LOSE] = false;
	begin_adopt(&f, config, 20000);
	assert_did(&f, "starting>out startup");
	assert_int_equal(role_deadline(&f.r), INT64_MAX);
}

/* Goal: no second hook beside fence_peer, and none that follows before the adoption has an end. Method: both. */
static void test_adopt_with_other_hooks(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	config.has[ROLE_HOOK_FENCE_PEER] = config.has[ROLE_HOOK_FOLLOW] = true;
	config.fence_peer_ns = 30 * SECOND;
	begin_adopt(&f, config, 20000);
	assert_did(&f, "starting>standby adopt, stand");
	leader(&f, 500, GONE, 3);
	assert_did(&f, "");
	fence_peer(&f, 1000, 3, true);
	assert_did(&f, "run fence_peer 30000ms election token 3");
	tick(&f, 20000);
	assert_did(&f, "term");
	hook_done(&f, 20100, -1);
	assert_did(&f, "peer 3 not fenced, standby>starting startup, run lose 60000ms startup planned token 0");
	hook_done(&f, 20200, 0);
	assert_did(&f, "retire, starting>following startup, run follow 0ms startup planned token 0");
	hook_done(&f, 20300, 0);
	assert_did(&f, "following>standby startup, stand");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_left_fence),
		cmocka_unit_test(test_left_retries),
		cmocka_unit_test(test_left_without_lose),
		cmocka_unit_test(test_left_and_stop),
		cmocka_unit_test(test_left_lead_again),
		cmocka_unit_test(test_left_and_elector),
		cmocka_unit_test(test_left_lease),
		cmocka_unit_test(test_nothing_left_and_stop),
		cmocka_unit_test(test_adopt),
		cmocka_unit_test(test_adoption_lapses),
		cmocka_unit_test(test_lead_after_lapse),
		cmocka_unit_test(test_adopt_after_others),
		cmocka_unit_test(test_adopt_refused),
		cmocka_unit_test(test_adopt_and_stop),
		cmocka_unit_test(test_adopted_and_stop),
		cmocka_unit_test(test_adopt_with_check),
		cmocka_unit_test(test_adopt_no_candidate),
		cmocka_unit_test(test_adopt_with_other_hooks),
	};

	return cmocka_run_group_tests_name("role_start", tests, NULL, NULL);
}
