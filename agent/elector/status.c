/* The status as JSON, from plain facts. What is not known is null. */
#include "elector/status.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/reason.h"
#include "core/role.h"
#include "elector/instant.h"

/* Puts VALUE, which it takes, under KEY; what is no text is null. Returns whether there was memory. */
static bool put(json_t *object, const char *key, json_t *value)
{
	return json_object_set_new(object, key, value ? value : json_null()) == 0;
}

static json_t *text(const char *value)
{
	return value && value[0] ? json_string(value) : json_null();
}

static json_t *number(bool known, int64_t value)
{
	return known ? json_integer(value) : json_null();
}

static json_t *truth(bool known, bool value)
{
	return known ? json_boolean(value) : json_null();
}

/* What is left of a span that ends at END_NS: it does not fall below nothing. */
static json_t *left_ms(int64_t end_ns, int64_t now_ns)
{
	return number(end_ns != 0, end_ns > now_ns ? (end_ns - now_ns) / TENURE_NS_PER_MS : 0);
}

static json_t *age_ms(int64_t since_ns, int64_t now_ns)
{
	return number(since_ns != 0, (now_ns - since_ns) / TENURE_NS_PER_MS);
}

json_t *status_token(int64_t token)
{
	char buf[24];

	snprintf(buf, sizeof buf, "%" PRId64, token);
	return token ? json_string(buf) : json_null();
}

static bool is_state(const struct status_election *e, enum role_state state)
{
	return e->state && e->state->u.state.state == (uint32_t)state;
}

bool status_leads(const struct status_election *e, int64_t now_ns)
{
	return is_state(e, ROLE_ACTIVE) && e->state->token != 0 && e->demote_ns != 0 && now_ns < e->demote_ns;
}

bool status_stands_by(const struct status_election *e)
{
	return is_state(e, ROLE_STANDBY) && e->in_queue && e->state->u.state.health_known && e->state->u.state.healthy;
}

/* Who leads, as far as it is sure at this instant; ours ends with the lease, whatever the record says. */
static bool put_leader(json_t *object, const struct status_election *e, int64_t now_ns)
{
	const char *member = NULL, *address = NULL, *phase = NULL;
	int64_t token = 0;

	if (status_leads(e, now_ns)) {
		member = e->member;
		address = e->address;
		phase = "active";
		token = e->state->token;
	} else if (e->record_known && !e->gone && (!e->self || now_ns < e->lease_ns)) {
		member = e->incumbent->member;
		address = e->incumbent->address;
		token = e->incumbent->token;
		if (e->incumbent->phase != TENURE_PHASE_NONE)
			phase = e->incumbent->phase == TENURE_PHASE_ACTIVE ? "active" : "promoting";
	}
	return put(object, "leader", text(member)) && put(object, "leader_address", text(address)) &&
	       put(object, "phase", text(phase)) && put(object, "token", status_token(token));
}

static json_t *hook_json(const struct message_hook *hook)
{
	char at[TENURE_TIME_SIZE];
	bool exited = hook->exit_status >= 0;
	json_t *object;

	if (!hook->name[0])
		return json_null();
	object = json_object();
	if (!object || !put(object, "name", text(hook->name)) ||
	    !put(object, "exit", number(exited, hook->exit_status)) ||
	    !put(object, "signal", number(hook->signal != 0, hook->signal)) ||
	    !put(object, "timed_out", json_boolean(hook->timed_out)) ||
	    !put(object, "ms", json_integer(hook->duration_ms)) ||
	    !put(object, "at", text(instant_text(hook->at_ms, at)))) {
		json_decref(object);
		return NULL;
	}
	return object;
}

/* What the supervisor has told. */
static bool put_state(json_t *object, const struct status_election *e)
{
	const struct message *m = e->state;
	bool known = m && m->u.state.state < ROLE_STATE_COUNT;
	char since[TENURE_TIME_SIZE] = "";

	if (m && m->u.state.since_ms)
		instant_text(m->u.state.since_ms, since);
	return put(object, "state", text(known ? role_state_name((enum role_state)m->u.state.state) : NULL)) &&
	       put(object, "reason", text(m ? tenure_reason_name((enum tenure_reason)m->reason) : NULL)) &&
	       put(object, "since", text(since));
}

json_t *status_election_json(const struct status_election *e, int64_t now_ns)
{
	const struct message *m = e->state;
	/* Out of office no lease is missed: one that has run out is none. A demotion that has begun leaves no hold. */
	bool leased = e->lease_ns > now_ns || (m && m->token != 0);
	bool holds = is_state(e, ROLE_PROMOTING) || is_state(e, ROLE_ACTIVE);
	json_t *object = json_object();

	if (object && put_state(object, e) && put(object, "candidate", json_boolean(e->candidate)) &&
	    put_leader(object, e, now_ns) && put(object, "lease_ms", left_ms(leased ? e->lease_ns : 0, now_ns)) &&
	    put(object, "hold_ms", left_ms(holds ? e->demote_ns : 0, now_ns)) &&
	    put(object, "position", number(e->position != 0, (int64_t)e->position)) &&
	    put(object, "members", number(e->members != 0, (int64_t)e->members)) &&
	    put(object, "blocked", text(e->blocked)) && put(object, "token_floor", status_token(e->token_floor)) &&
	    put(object, "paused", truth(e->record_known, e->paused)) &&
	    put(object, "eligible", truth(e->record_known, e->eligible)) &&
	    put(object, "healthy", truth(m && m->u.state.health_known, m && m->u.state.healthy)) &&
	    put(object, "ready", truth(m != NULL, is_state(e, ROLE_STANDBY) && e->in_queue)) &&
	    put(object, "score", number(m && m->u.state.has_score, m ? m->u.state.score : 0)) && put(object, "record_age_ms", age_ms(e->record_ns, now_ns)) &&
	    put(object, "transitions", number(m != NULL, m ? m->u.state.transitions : 0)) &&
	    put(object, "last_hook", m ? hook_json(&m->u.state.last_hook) : json_null()))
		return object;
	json_decref(object);
	return NULL;
}

static json_t *zookeeper_json(const struct status_agent *a, int64_t now_ns)
{
	static const char *const states[] = {
		[SESSION_CLOSED] = "closed", [SESSION_CONNECTING] = "connecting", [SESSION_CONNECTED] = "connected"};
	json_t *object = json_object();
	char session[24] = "";

	if (a->session_id)
		snprintf(session, sizeof session, "0x%" PRIx64, (uint64_t)a->session_id);
	if (object && put(object, "state", json_string(states[a->session_state])) &&
	    put(object, "server", text(a->server)) && put(object, "session", text(session)) &&
	    put(object, "session_timeout_ms", number(a->timeout_ns != 0, a->timeout_ns / TENURE_NS_PER_MS)) &&
	    put(object, "last_commit_age_ms", age_ms(a->commit_ns, now_ns)) &&
	    put(object, "reconnects", json_integer(a->reconnects)))
		return object;
	json_decref(object);
	return NULL;
}

json_t *status_agent_json(const struct status_agent *a, int64_t now_ns)
{
	json_t *object = json_object();

	if (object && put(object, "schema", json_integer(STATUS_SCHEMA)) && put(object, "member", text(a->member)) &&
	    put(object, "version", text(a->version)) && put(object, "pid", number(a->pid != 0, a->pid)) &&
	    put(object, "elector_pid", json_integer(a->elector_pid)) &&
	    put(object, "zookeeper", zookeeper_json(a, now_ns)) && put(object, "elections", json_object()))
		return object;
	json_decref(object);
	return NULL;
}
