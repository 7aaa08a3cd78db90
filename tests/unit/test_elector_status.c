/* The status as JSON: what is known is there, what is not is null, and no lead outlives its lease. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/role.h"
#include "elector/contest.h"
#include "elector/facts.h"
#include "elector/instant.h"
#include "elector/shell.h"
#include "elector/status.h"

#define NS_PER_S INT64_C(1000000000)
#define NOW (100 * NS_PER_S)

static const char *const election_keys[] = {
	"state", "reason", "since", "candidate", "leader", "leader_address", "phase", "token", "lease_ms", "hold_ms",
	"position", "members", "paused", "eligible", "healthy", "ready", "score", "record_age_ms", "transitions",
	"last_hook", "blocked", "token_floor",
};

static const struct tenure_incumbent us = {
	.member = "db-a", .address = "10.0.0.1:5432", .token = 42, .phase = TENURE_PHASE_ACTIVE,
	.clean = TENURE_CLEAN_NO};
static const struct tenure_incumbent them = {
	.member = "db-b", .token = 43, .phase = TENURE_PHASE_PROMOTING, .clean = TENURE_CLEAN_NO};

static struct message make_state(enum role_state role, int64_t token)
{
	struct message m = {.type = MESSAGE_STATE, .token = token, .reason = TENURE_REASON_ELECTION};

	m.u.state.state = (uint32_t)role;
	m.u.state.since_ms = 1700000000123;
	m.u.state.transitions = 5;
	m.u.state.healthy = m.u.state.health_known = true;
	return m;
}

static struct status_election make_leader(const struct message *state)
{
	return (struct status_election){
		.member = "db-a", .address = "10.0.0.1:5432", .candidate = true, .state = state, .record_known = true,
		.incumbent = &us, .self = true, .eligible = true, .record_ns = NOW - NS_PER_S, .position = 1,
		.members = 3, .in_queue = true, .lease_ns = NOW + 8 * NS_PER_S, .demote_ns = NOW + 5 * NS_PER_S};
}

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

static void assert_null_at(const json_t *object, const char *key)
{
	assert_true(json_is_null(json_object_get(object, key)));
}

static void assert_number_at(const json_t *object, const char *key, json_int_t value)
{
	assert_true(json_is_integer(json_object_get(object, key)));
	assert_true(json_integer_value(json_object_get(object, key)) == value);
}

/* Goal: every member of the design's object is there, in any state. Method: no facts at all, all null. */
static void test_nothing_known(void **state)
{
	const struct status_election election = {.member = "db-a", .candidate = true};
	json_t *json = status_election_json(&election, NOW);

	(void)state;
	assert_int_equal(json_object_size(json), sizeof election_keys / sizeof *election_keys);
	for (size_t i = 0; i < sizeof election_keys / sizeof *election_keys; i++) {
		assert_non_null(json_object_get(json, election_keys[i]));
		if (strcmp(election_keys[i], "candidate") != 0)
			assert_null_at(json, election_keys[i]);
	}
	json_decref(json);
}

/* Goal: a leader within its lease says so, with what is left. Method: all facts. */
static void test_leader(void **state)
{
	struct message m = make_state(ROLE_ACTIVE, 42);
	struct status_election election = make_leader(&m);
	json_t *json = status_election_json(&election, NOW);

	(void)state;
	assert_true(status_leads(&election, NOW));
	assert_string_equal(text(json, "state"), "active");
	assert_string_equal(text(json, "reason"), "election");
	assert_string_equal(text(json, "since"), "2023-11-14T22:13:20.123Z");
	assert_string_equal(text(json, "leader"), "db-a");
	assert_string_equal(text(json, "leader_address"), "10.0.0.1:5432");
	assert_string_equal(text(json, "phase"), "active");
	assert_string_equal(text(json, "token"), "42");
	assert_number_at(json, "lease_ms", 8000);
	assert_number_at(json, "hold_ms", 5000);
	assert_number_at(json, "position", 1);
	assert_number_at(json, "members", 3);
	assert_number_at(json, "record_age_ms", 1000);
	assert_number_at(json, "transitions", 5);
	assert_true(json_is_false(json_object_get(json, "ready")));
	assert_true(json_is_true(json_object_get(json, "healthy")));
	json_decref(json);
}

/*
 * Goal: a process that slept past its schedule never says that it leads, whatever it last heard.
 * Method: the same facts, looked at from the demotion on, and past the lease.
 */
static void test_no_lead_past_the_lease(void **state)
{
	struct message m = make_state(ROLE_ACTIVE, 42);
	struct status_election election = make_leader(&m);
	json_t *json;

	(void)state;
	assert_true(status_leads(&election, election.demote_ns - 1));
	assert_false(status_leads(&election, election.demote_ns));
	json = status_election_json(&election, election.lease_ns);
	assert_null_at(json, "leader");
	assert_null_at(json, "token");
	assert_null_at(json, "phase");
	assert_number_at(json, "lease_ms", 0);
	assert_number_at(json, "hold_ms", 0);
	json_decref(json);
}

/* Goal: a lost connection costs the leader nothing, but what others do is no longer known. Method: no record. */
static void test_cut_off(void **state)
{
	struct message m = make_state(ROLE_ACTIVE, 42);
	struct status_election election = make_leader(&m);
	json_t *json;

	(void)state;
	election.record_known = false;
	election.position = election.members = 0;
	json = status_election_json(&election, NOW);
	assert_string_equal(text(json, "leader"), "db-a");
	assert_string_equal(text(json, "token"), "42");
	assert_null_at(json, "paused");
	assert_null_at(json, "eligible");
	assert_null_at(json, "position");
	json_decref(json);
	m = make_state(ROLE_STANDBY, 0);
	json = status_election_json(&election, NOW);
	assert_null_at(json, "leader");
	json_decref(json);
}

/* Goal: leading needs the state, the token and the proof. Method: take each away. */
static void test_leads(void **state)
{
	struct message m = make_state(ROLE_ACTIVE, 42);
	struct status_election election = make_leader(&m);

	(void)state;
	m.token = 0;
	assert_false(status_leads(&election, NOW));
	m = make_state(ROLE_DEMOTING, 42);
	assert_false(status_leads(&election, NOW));
	m = make_state(ROLE_PROMOTING, 42);
	assert_false(status_leads(&election, NOW));
	m = make_state(ROLE_ACTIVE, 42);
	election.demote_ns = 0;
	assert_false(status_leads(&election, NOW));
	election.state = NULL;
	assert_false(status_leads(&election, NOW));
}

/* Goal: a standby names the leader, and nobody when it has gone. Method: another's record, both ways. */
static void test_standby(void **state)
{
	struct message m = make_state(ROLE_STANDBY, 0);
	struct status_election election = make_leader(&m);
	json_t *json;

	(void)state;
	election.incumbent = &them;
	election.self = false;
	election.position = 2;
	json = status_election_json(&election, NOW);
	assert_string_equal(text(json, "leader"), "db-b");
	assert_null_at(json, "leader_address");
	assert_string_equal(text(json, "phase"), "promoting");
	assert_string_equal(text(json, "token"), "43");
	assert_null_at(json, "hold_ms");
	assert_true(json_is_true(json_object_get(json, "ready")));
	json_decref(json);
	election.gone = true;
	json = status_election_json(&election, NOW);
	assert_null_at(json, "leader");
	assert_null_at(json, "token");
	json_decref(json);
}

/*
 * Goal: lease and hold are told of a term in office, a lease that is proven also of others, and nothing is 0 that is
 * not known. Method: every state, with a lease that runs, one that has run out, and none.
 */
static void test_lease_and_hold(void **state)
{
	(void)state;
	for (enum role_state role = 0; role < ROLE_STATE_COUNT; role++) {
		bool in_office = role >= ROLE_PROMOTING && role <= ROLE_PANIC;
		bool holds = role == ROLE_PROMOTING || role == ROLE_ACTIVE;
		struct message m = make_state(role, in_office ? 42 : 0);
		struct status_election election = make_leader(&m);
		json_t *json = status_election_json(&election, NOW);

		assert_number_at(json, "lease_ms", 8000);
		if (holds)
			assert_number_at(json, "hold_ms", 5000);
		else
			assert_null_at(json, "hold_ms");
		json_decref(json);

		json = status_election_json(&election, election.lease_ns);
		if (in_office)
			assert_number_at(json, "lease_ms", 0);
		else
			assert_null_at(json, "lease_ms");
		json_decref(json);

		election.lease_ns = election.demote_ns = 0;
		json = status_election_json(&election, NOW);
		assert_null_at(json, "lease_ms");
		assert_null_at(json, "hold_ms");
		json_decref(json);
	}
}

/*
 * Goal: a term whose session is gone has no lease, whatever a later session has proven. Method: the term as the
 * elector core knows it, lost, and forgotten by it.
 */
static void test_lease_of_another_session(void **state)
{
	struct config_election config = {.name = (char *)"pg"};
	struct shell shell = {0};
	struct contest contest = {.shell = &shell, .config = &config, .state_known = true};
	struct status_election facts;

	(void)state;
	shell.ensemble.session.lease.start_ns = NOW;
	shell.ensemble.session.lease.timeout_ns = 20 * NS_PER_S;
	contest.state = make_state(ROLE_DEMOTING, 42);
	contest.core.term = 42;
	facts_election(&contest, NOW, &facts);
	assert_true(facts.lease_ns == NOW + 20 * NS_PER_S);
	assert_true(facts.demote_ns != 0);
	contest.core.term_lost = true;
	facts_election(&contest, NOW, &facts);
	assert_true(facts.lease_ns == 0 && facts.demote_ns == 0);
	contest.core.term = 43;
	contest.core.term_lost = false;
	facts_election(&contest, NOW, &facts);
	assert_true(facts.lease_ns == 0);
	contest.state = make_state(ROLE_STANDBY, 0);
	facts_election(&contest, NOW, &facts);
	assert_true(facts.lease_ns == NOW + 20 * NS_PER_S);
}

/*
 * Goal: a candidate in first place says what keeps it from office, and nobody else says that. Method: what the core
 * knows of one that is blocked, changed point by point.
 */
static void test_blocked(void **state)
{
	struct config_election config = {.name = (char *)"pg"};
	struct shell shell = {0};
	struct contest contest = {.shell = &shell, .config = &config};
	struct elector *core = &contest.core;
	struct status_election facts;
	json_t *json;

	(void)state;
	core->up = core->listed = true;
	core->view.position = 1;
	core->own.czxid = 42;
	strcpy(core->own.name, "_c_1-latch-0000000001");
	core->blocker = ELECTOR_BLOCKED_FENCE;
	contest.floor = (struct contest_floor){.known = true, .seen = INT64_MAX, .durable = INT64_MAX};
	facts_election(&contest, NOW, &facts);
	assert_string_equal(facts.blocked, elector_blocker_name(ELECTOR_BLOCKED_FENCE));
	json = status_election_json(&facts, NOW);
	assert_string_equal(text(json, "blocked"), facts.blocked);
	assert_string_equal(text(json, "token_floor"), "9223372036854775807");
	json_decref(json);
	core->blocker = ELECTOR_BLOCKED_FLOOR;
	facts_election(&contest, NOW, &facts);
	assert_string_equal(facts.blocked, elector_blocker_name(ELECTOR_BLOCKED_FLOOR));
	contest.floor.broken = true;
	facts_election(&contest, NOW, &facts);
	assert_non_null(strstr(facts.blocked, "damaged"));
	core->blocker = ELECTOR_CLEAR;
	facts_election(&contest, NOW, &facts);
	assert_null(facts.blocked);
	core->blocker = ELECTOR_BLOCKED_FENCE;
	core->view.position = 2;
	facts_election(&contest, NOW, &facts);
	assert_null(facts.blocked);
	core->view.position = 1;
	core->term = 42;
	facts_election(&contest, NOW, &facts);
	assert_null(facts.blocked);
	core->term = 0;
	core->up = false;
	facts_election(&contest, NOW, &facts);
	assert_null(facts.blocked);
}

/* Goal: health and score are told once they are known. Method: a check that has not decided, then sick; scores. */
static void test_health_and_score(void **state)
{
	static const int64_t scores[] = {0, INT64_MIN, INT64_MAX};
	struct message m = make_state(ROLE_STANDBY, 0);
	const struct status_election election = make_leader(&m);
	json_t *json;

	(void)state;
	m.u.state.health_known = m.u.state.healthy = false;
	m.u.state.score = 7; /* of a run before one that failed */
	json = status_election_json(&election, NOW);
	assert_null_at(json, "healthy");
	assert_null_at(json, "score");
	json_decref(json);
	m.u.state.health_known = m.u.state.has_score = true;
	for (size_t i = 0; i < sizeof scores / sizeof *scores; i++) {
		m.u.state.score = scores[i];
		json = status_election_json(&election, NOW);
		assert_true(json_is_false(json_object_get(json, "healthy")));
		assert_number_at(json, "score", scores[i]);
		json_decref(json);
	}
}

/* Goal: the last hook's end is told apart from a signal. Method: one of each. */
static void test_last_hook(void **state)
{
	struct message m = make_state(ROLE_STANDBY, 0);
	struct status_election election = make_leader(&m);
	json_t *json, *hook;

	(void)state;
	strcpy(m.u.state.last_hook.name, "lose");
	m.u.state.last_hook.exit_status = -1;
	m.u.state.last_hook.signal = 9;
	m.u.state.last_hook.timed_out = true;
	m.u.state.last_hook.duration_ms = 4000;
	m.u.state.last_hook.at_ms = 1700000000000;
	json = status_election_json(&election, NOW);
	hook = json_object_get(json, "last_hook");
	assert_string_equal(text(hook, "name"), "lose");
	assert_null_at(hook, "exit");
	assert_number_at(hook, "signal", 9);
	assert_true(json_is_true(json_object_get(hook, "timed_out")));
	assert_string_equal(text(hook, "at"), "2023-11-14T22:13:20.000Z");
	json_decref(json);
	m.u.state.last_hook.exit_status = 3;
	m.u.state.last_hook.signal = 0;
	json = status_election_json(&election, NOW);
	hook = json_object_get(json, "last_hook");
	assert_number_at(hook, "exit", 3);
	assert_null_at(hook, "signal");
	json_decref(json);
	/* It never ran. */
	m.u.state.last_hook.exit_status = -1;
	json = status_election_json(&election, NOW);
	hook = json_object_get(json, "last_hook");
	assert_null_at(hook, "exit");
	assert_null_at(hook, "signal");
	json_decref(json);
}

/* Goal: the agent's part, connected and not. Method: both. */
static void test_agent(void **state)
{
	struct status_agent agent = {.member = "db-a", .version = "1.2", .pid = 7, .elector_pid = 8, .server = "",
				     .session_state = SESSION_CONNECTING};
	json_t *json = status_agent_json(&agent, NOW), *zookeeper = json_object_get(json, "zookeeper");

	(void)state;
	assert_number_at(json, "schema", STATUS_SCHEMA);
	assert_number_at(json, "pid", 7);
	assert_string_equal(text(zookeeper, "state"), "connecting");
	assert_null_at(zookeeper, "server");
	assert_null_at(zookeeper, "session");
	assert_null_at(zookeeper, "session_timeout_ms");
	assert_null_at(zookeeper, "last_commit_age_ms");
	json_decref(json);
	agent.session_state = SESSION_CONNECTED;
	agent.server = "127.0.0.1:2181";
	agent.session_id = INT64_C(0x100000000000001);
	agent.timeout_ns = 20 * NS_PER_S;
	agent.commit_ns = NOW - NS_PER_S / 2;
	json = status_agent_json(&agent, NOW);
	zookeeper = json_object_get(json, "zookeeper");
	assert_string_equal(text(zookeeper, "state"), "connected");
	assert_string_equal(text(zookeeper, "session"), "0x100000000000001");
	assert_number_at(zookeeper, "session_timeout_ms", 20000);
	assert_number_at(zookeeper, "last_commit_age_ms", 500);
	assert_true(json_is_object(json_object_get(json, "elections")));
	json_decref(json);
}

/* Goal: a token is a decimal string, never a number. Method: one beyond what a double holds. */
static void test_token(void **state)
{
	json_t *token = status_token(INT64_MAX), *none = status_token(0);

	(void)state;
	assert_string_equal(json_string_value(token), "9223372036854775807");
	assert_true(json_is_null(none));
	json_decref(token);
	json_decref(none);
}

/* Goal: instants for people never fail loudly. Method: the epoch, and what no calendar holds. */
static void test_instant_text(void **state)
{
	char buf[TENURE_TIME_SIZE];

	(void)state;
	assert_string_equal(instant_text(0, buf), "1970-01-01T00:00:00.000Z");
	assert_string_equal(instant_text(-1, buf), "");
	assert_string_equal(instant_text(INT64_MAX, buf), "");
	assert_true(instant_now() > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_known), cmocka_unit_test(test_leader),
		cmocka_unit_test(test_no_lead_past_the_lease), cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_leads), cmocka_unit_test(test_standby), cmocka_unit_test(test_last_hook), cmocka_unit_test(test_blocked),
		cmocka_unit_test(test_health_and_score),
		cmocka_unit_test(test_lease_and_hold), cmocka_unit_test(test_lease_of_another_session),
		cmocka_unit_test(test_agent), cmocka_unit_test(test_token), cmocka_unit_test(test_instant_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
