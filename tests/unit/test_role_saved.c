/* The role core: what outlives its process, and who goes on from it. */
#include "role_model.h"

enum { SEEDS = 10000 };

/* ---- random runs ---- */

/*
 * Goal: who resumes what was saved at rest does the same from then on. Method: in 10,000 random runs a twin is resumed
 * at random moments into a fresh struct, told the leader and the floor again, and then gets every event, the stop at
 * the end included; its actions and its deadline are compared with those of the one that was saved.
 */
static void test_goes_on_alike(void **state)
{
	unsigned twins = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct model m;

		model_run_random(&m, seed, true);
		twins += m.twins;
	}
	assert_true(twins > 2 * SEEDS);
}

/* ---- at rest ---- */

static struct role_config service_config(void)
{
	struct role_config config = full_config();

	config.service = true;
	config.budget.stop_ns = 2 * SECOND;
	return config;
}

static bool at_rest(const struct fixture *f)
{
	struct role_saved saved;

	memset(&saved, 0xa5, sizeof saved);
	role_save(&f->r, &saved);
	return saved.at_rest;
}

/* What cannot be seen from what is saved alone is nothing that a resume could go on with. */
static void assert_refused(const struct fixture *f)
{
	struct role_config config = f->r.config;
	struct fixture other;
	struct role_saved saved;

	role_save(&f->r, &saved);
	assert_false(saved.at_rest);
	role_init(&other.r, &config);
	assert_false(role_resume(&other.r, &saved));
	assert_int_equal(other.r.state, ROLE_STARTING);
	assert_int_equal(other.r.transitions, 0);
}

/* Goal: every state that waits for events alone can be resumed. Method: each of them, with a service where one runs. */
static void test_at_rest(void **state)
{
	struct role_config config = service_config(), follows = full_config();
	struct fixture f;

	(void)state;
	begin(&f, config, false);
	hook_done(&f, 100, 1);
	hook_done(&f, 200, 1);
	assert_int_equal(f.r.state, ROLE_STARTING);
	assert_true(at_rest(&f));
	begin_standby(&f, config);
	assert_true(at_rest(&f));
	begin_active(&f, config);
	assert_true(at_rest(&f));
	config.candidate = false;
	begin(&f, config, true);
	assert_int_equal(f.r.state, ROLE_OUT);
	assert_true(at_rest(&f));
	begin_panic(&f, full_config());
	assert_true(at_rest(&f));
	follows.has[ROLE_HOOK_FOLLOW] = true;
	begin(&f, follows, true);
	assert_int_equal(f.r.state, ROLE_FOLLOWING);
	assert_true(at_rest(&f));
}

/*
 * Goal: what is under way cannot be resumed. Method: a hook, a service that is being stopped or outlives its KILL, an
 * adoption, a stop, a term that was left behind, another term's LEAD.
 */
static void test_not_at_rest(void **state)
{
	struct role_config config = service_config();
	struct fixture f;

	(void)state;
	begin(&f, config, false);
	assert_refused(&f);
	begin_left(&f, config, 5);
	hook_done(&f, 100, 1);
	hook_done(&f, 200, 1);
	assert_int_equal(f.r.hook, ROLE_HOOK_NONE);
	assert_refused(&f);
	begin_adopt(&f, config, 20000);
	assert_refused(&f);
	begin_standby(&f, config);
	lead(&f, 1000, 5, 0);
	assert_refused(&f);
	begin_active(&f, config);
	lead(&f, 1600, 6, 1500);
	assert_refused(&f);
	begin_active(&f, config);
	leave(&f, 2000);
	assert_refused(&f);
	tick(&f, 4000);
	tick(&f, 5000);
	assert_int_equal(f.r.hook, ROLE_HOOK_LOSE);
	hook_done(&f, 5100, 0);
	hook_done(&f, 5200, 0);
	assert_int_equal(f.r.state, ROLE_OUT);
	assert_refused(&f);
	service_gone(&f, 5300);
	assert_true(at_rest(&f));
	begin_standby(&f, config);
	stop(&f, 1000, false);
	assert_refused(&f);
}

/* Goal: a term that was left behind is still known to the next one, until lose has ended it. Method: role_save. */
static void test_left_token_is_saved(void **state)
{
	struct role_saved saved;
	struct fixture f;

	(void)state;
	begin_left(&f, full_config(), 5);
	role_save(&f.r, &saved);
	assert_int_equal(saved.token, 5);
	assert_false(saved.at_rest);
	hook_done(&f, 100, 0);
	role_save(&f.r, &saved);
	assert_int_equal(saved.token, 0);
	assert_int_equal(saved.spent, 5);
}

/* ---- what a resumed one does ---- */

static void resume(struct fixture *f)
{
	struct role_config config = f->r.config;
	struct role_saved saved;

	role_save(&f->r, &saved);
	memset(f, 0x5a, sizeof *f);
	role_init(&f->r, &config);
	assert_true(role_resume(&f->r, &saved));
}

/* Goal: a resumed term keeps its schedule and its service. Method: it is left alone until the lease nears its end. */
static void test_resumed_term(void **state)
{
	struct fixture f;

	(void)state;
	begin_active(&f, service_config());
	resume(&f);
	assert_true(role_in_office(&f.r));
	assert_due(&f, 11600);
	tick(&f, 11600);
	assert_did(&f, "active>demoting lease, end service");
	service_gone(&f, 12000);
	assert_did(&f, "run lose 4000ms lease token 5");
	hook_done(&f, 12100, 0);
	assert_did(&f, "give up 5, demoting>standby lease, stand");
}

/*
 * Goal: nobody leaves office for his health before he knows whether the election is paused. Method: the check says ill
 * while it is; resumed; the floor is told first; then the elector says that it is paused, and no longer.
 */
static void test_resumed_in_pause(void **state)
{
	struct role_config config = full_config();
	struct fixture f;

	(void)state;
	config.check = true;
	begin(&f, config, true);
	health(&f, 100, true);
	lead(&f, 1000, 5, 0);
	hook_done(&f, 1500, 0);
	leads_paused(&f, 1600, 5, true);
	health(&f, 1700, false);
	assert_did(&f, "");
	resume(&f);
	token_floor(&f, 1800, 0, INT64_MAX);
	assert_did(&f, "");
	leads_paused(&f, 1900, 5, true);
	assert_did(&f, "");
	leads_paused(&f, 2000, 5, false);
	assert_did(&f, "active>demoting health, run lose 60000ms health planned token 5");
}

/* Goal: a resumed back-off ends when it was to end, and the next one is longer. Method: gain fails twice. */
static void test_resumed_backoff(void **state)
{
	struct fixture f;

	(void)state;
	begin_standby(&f, full_config());
	lead(&f, 1000, 5, 1000);
	hook_done(&f, 1000, 1);
	hook_done(&f, 1000, 0);
	left(&f, 1000);
	resume(&f);
	assert_due(&f, 2000);
	tick(&f, 2000);
	assert_did(&f, "out>standby gain-failed, stand");
	lead(&f, 3000, 6, 3000);
	hook_done(&f, 3000, 1);
	hook_done(&f, 3000, 0);
	left(&f, 3000);
	assert_due(&f, 5000);
}

/*
 * Goal: a resumed term counts from its beginning. Method: gain fails; a term of 60 s, resumed half way; its service
 * exits.
 */
static void test_resumed_long_term(void **state)
{
	struct fixture f;

	(void)state;
	begin_standby(&f, service_config());
	lead(&f, 0, 5, 0);
	hook_done(&f, 0, 1);
	hook_done(&f, 0, 0);
	left(&f, 0);
	tick(&f, 1000);
	lead(&f, 1000, 6, 1000);
	hook_done(&f, 1000, 0);
	for (int64_t ms = 6000; ms <= 61000; ms += 5000) {
		lease(&f, ms, ms, T);
		if (ms == 31000)
			resume(&f);
	}
	service_gone(&f, 61000);
	hook_done(&f, 61000, 0);
	left(&f, 61000);
	assert_due(&f, 62000);
}

/* Goal: PANIC stays PANIC. Method: resumed before on_panic was due, and after; then RECOVER. */
static void test_resumed_panic(void **state)
{
	struct fixture f;

	(void)state;
	begin_panic(&f, full_config());
	resume(&f);
	assert_int_equal(f.r.state, ROLE_PANIC);
	assert_due(&f, 20000);
	tick(&f, 20000);
	assert_did(&f, "on panic 5");
	resume(&f);
	tick(&f, 30000);
	assert_did(&f, "");
	recover(&f, 31000);
	assert_did(&f, "panic>demoting resign, run lose 4000ms resign token 5");
	hook_done(&f, 32000, 0);
	assert_did(&f, "give up 5, demoting>standby resign, stand");
}

/* ---- nonsense ---- */

static void save_active(struct role_saved *saved)
{
	struct fixture f;

	begin_active(&f, service_config());
	role_save(&f.r, saved);
}

static void save_standby(struct role_saved *saved)
{
	struct fixture f;

	begin_standby(&f, service_config());
	role_save(&f.r, saved);
}

static void save_panic(struct role_saved *saved)
{
	struct fixture f;

	begin_panic(&f, full_config());
	role_save(&f.r, saved);
}

/* Sets one field to what must not be believed, and leaves R alone when it is refused. */
#define REFUSED(save, field, value)                                                                   \
	do {                                                                                          \
		struct role_config config_ = (save) == save_panic ? full_config() : service_config(); \
		struct role_saved saved_;                                                             \
		struct role r_, before_;                                                              \
                                                                                                      \
		save(&saved_);                                                                        \
		memset(&r_, 0, sizeof r_);                                                            \
		role_init(&r_, &config_);                                                             \
		before_ = r_;                                                                         \
		saved_.field = value;                                                                 \
		assert_false(role_resume(&r_, &saved_));                                              \
		assert_memory_equal(&r_, &before_, sizeof r_);                                        \
		save(&saved_);                                                                        \
		assert_true(role_resume(&r_, &saved_));                                               \
	} while (0)

/* Goal: a state that no role is at rest in is refused. Method: each of them, and what is no state. */
static void test_nonsense_state(void **state)
{
	(void)state;
	REFUSED(save_active, at_rest, false);
	REFUSED(save_active, state, ROLE_PROMOTING);
	REFUSED(save_active, state, ROLE_DEMOTING);
	REFUSED(save_active, state, ROLE_FENCING);
	REFUSED(save_active, state, ROLE_STANDBY);
	REFUSED(save_active, state, ROLE_OUT);
	REFUSED(save_active, state, ROLE_PANIC);
	REFUSED(save_active, state, ROLE_STATE_COUNT);
	REFUSED(save_active, state, (enum role_state)-1);
	REFUSED(save_standby, state, ROLE_ACTIVE);
	REFUSED(save_standby, state, ROLE_PROMOTING);
	REFUSED(save_standby, state, ROLE_DEMOTING);
	REFUSED(save_standby, state, ROLE_FENCING);
	REFUSED(save_standby, state, ROLE_PANIC);
	REFUSED(save_standby, state, ROLE_STATE_COUNT);
	REFUSED(save_standby, state, (enum role_state)-1);
	REFUSED(save_active, reason, TENURE_REASON_COUNT);
	REFUSED(save_active, reason, (enum tenure_reason)-1);
	REFUSED(save_active, leave_reason, TENURE_REASON_COUNT);
	REFUSED(save_active, leave_reason, (enum tenure_reason)-1);
}

/* Goal: so is a term that cannot be. Method: every number of it, one at a time. */
static void test_nonsense_term(void **state)
{
	(void)state;
	REFUSED(save_active, token, 0);
	REFUSED(save_active, token, -5);
	REFUSED(save_active, spent, -1);
	REFUSED(save_active, spent, 5);
	REFUSED(save_active, timeout_ns, 0);
	REFUSED(save_active, timeout_ns, -1);
	REFUSED(save_active, timeout_ns, INT64_MAX);
	REFUSED(save_active, lease_start_ns, 0);
	REFUSED(save_active, lease_start_ns, -1);
	REFUSED(save_active, lease_start_ns, INT64_MAX);
	REFUSED(save_active, lease_over, true);
	REFUSED(save_active, active_since_ns, 0);
	REFUSED(save_active, active_since_ns, -1);
	REFUSED(save_active, established, false);
	REFUSED(save_active, service, false);
	REFUSED(save_panic, token, 0);
	REFUSED(save_panic, spent, 4);
	REFUSED(save_panic, service, true);
	REFUSED(save_panic, established, false);
	REFUSED(save_panic, timeout_ns, 0);
	REFUSED(save_panic, lease_start_ns, 0);
}

/* Goal: so is what contradicts being out of office. Method: the same for a standby. */
static void test_nonsense_standby(void **state)
{
	(void)state;
	REFUSED(save_standby, token, 5);
	REFUSED(save_standby, token, -5);
	REFUSED(save_standby, service, true);
	REFUSED(save_standby, established, false);
	REFUSED(save_standby, spent, -1);
	REFUSED(save_standby, followed, -2);
	REFUSED(save_standby, retry_at_ns, -1);
	REFUSED(save_standby, follow_at_ns, -1);
}

/* Goal: a service that is not, or no longer, configured is not taken for one. Method: other settings. */
static void test_other_settings(void **state)
{
	struct role_config config = full_config();
	struct role_saved saved;
	struct role r;

	(void)state;
	save_active(&saved);
	role_init(&r, &config);
	assert_false(role_resume(&r, &saved));
	config.service = true;
	saved.service = false;
	role_init(&r, &config);
	assert_false(role_resume(&r, &saved));
	saved.service = true;
	assert_true(role_resume(&r, &saved));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goes_on_alike),
		cmocka_unit_test(test_at_rest),
		cmocka_unit_test(test_not_at_rest),
		cmocka_unit_test(test_left_token_is_saved),
		cmocka_unit_test(test_resumed_term),
		cmocka_unit_test(test_resumed_in_pause),
		cmocka_unit_test(test_resumed_backoff),
		cmocka_unit_test(test_resumed_long_term),
		cmocka_unit_test(test_resumed_panic),
		cmocka_unit_test(test_nonsense_state),
		cmocka_unit_test(test_nonsense_term),
		cmocka_unit_test(test_nonsense_standby),
		cmocka_unit_test(test_other_settings),
	};

	return cmocka_run_group_tests_name("role_saved", tests, NULL, NULL);
}
