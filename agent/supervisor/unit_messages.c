/* What one election and the elector tell each other. */
#include <string.h>

#include "common/log.h"
#include "supervisor/unit_internal.h"

/* ---- to the elector ---- */

void unit_send(struct unit *unit, enum message_type type, int64_t token)
{
	struct message m = {.type = type, .election = unit->index, .token = token};

	unit->host->send(unit->host, &m);
}

void unit_send_state(struct unit *unit)
{
	struct message m = {
		.type = MESSAGE_STATE,
		.election = unit->index,
		.token = unit->role.token,
		.reason = unit->role.reason,
	};

	m.u.state.state = unit->role.state;
	m.u.state.since_ms = unit->since_ms;
	m.u.state.demoted_token = unit->demoted_token;
	m.u.state.transitions = unit->role.transitions;
	m.u.state.recovers = unit->recovers;
	m.u.state.healthy = unit->health.healthy;
	m.u.state.health_known = unit->health.known;
	m.u.state.has_score = unit->has_score;
	m.u.state.score = unit->has_score ? unit->last_score : 0;
	m.u.state.score_seq = unit->score_seq;
	m.u.state.last_hook = unit->last_hook;
	unit->host->send(unit->host, &m);
}

void unit_send_floor(struct unit *unit)
{
	struct message m = {.type = MESSAGE_FLOOR, .election = unit->index};

	m.u.floor.seen = unit->floor.seen;
	m.u.floor.durable = unit->floor.durable;
	m.u.floor.broken = unit->floor.broken || unit->floor.failing;
	unit->host->send(unit->host, &m);
}

void unit_send_peer_fenced(struct unit *unit, int64_t token, bool ok)
{
	struct message m = {.type = MESSAGE_PEER_FENCED, .election = unit->index, .token = token};

	m.u.fenced.ok = ok;
	unit->host->send(unit->host, &m);
}

void unit_leave(struct unit *unit, enum message_type type, int64_t token)
{
	unit->leaving = true;
	unit->giving_up = type == MESSAGE_GIVE_UP ? token : 0;
	if (type == MESSAGE_GIVE_UP)
		unit->demoted_token = token;
	unit_send(unit, type, token);
}

void unit_restore(struct unit *unit)
{
	struct message m = {.type = MESSAGE_RESTORE, .election = unit->index};

	if (unit->candidate[0] == '\0')
		return;
	memcpy(m.u.restore.name, unit->candidate, sizeof(unit->candidate));
	m.u.restore.czxid = unit->czxid;
	m.u.restore.told = (role_in_office(&unit->role) && unit->role.token == unit->czxid) ||
			   (unit->left != 0 && unit->left == unit->czxid);
	unit->host->send(unit->host, &m);
}

/* In office by a candidate that is gone, nobody may join by another before the service is out of office. */
static bool stands(const struct unit *unit)
{
	return unit->role.standing && (!role_in_office(&unit->role) || unit->role.token == unit->czxid);
}

void unit_repeat(struct unit *unit)
{
	unit_send_floor(unit);
	/* In the order in which they were said: leaving ends the standing before it. */
	if (unit->giving_up != 0)
		unit_send(unit, MESSAGE_GIVE_UP, unit->giving_up);
	else if (unit->leaving || (!stands(unit) && unit->left == 0 && unit->candidate[0] != '\0'))
		unit_send(unit, MESSAGE_RETIRE, 0);
	if (stands(unit))
		unit_send(unit, MESSAGE_STAND, 0);
	if (unit->role.state == ROLE_ACTIVE)
		unit_send(unit, MESSAGE_CONFIRM, unit->role.token);
	unit_send_state(unit);
}

/* ---- from the elector ---- */

/* Somebody leads, or has led. Our present candidate's own token is not what it has to be above. */
static void saw(struct unit *unit, int64_t token, int64_t now_ns)
{
	if (token != unit->czxid && token != unit->role.token)
		floor_saw(&unit->floor, token, now_ns);
}

void unit_lease(struct unit *unit, int64_t start_ns, int64_t timeout_ns, int64_t now_ns)
{
	struct role_event e = {.type = ROLE_EV_LEASE, .now_ns = now_ns};

	e.u.lease.start_ns = start_ns;
	e.u.lease.timeout_ns = timeout_ns;
	unit_event(unit, &e);
}

void unit_session_over(struct unit *unit, int64_t now_ns)
{
	struct role_event e = {.type = ROLE_EV_LOST, .now_ns = now_ns};

	unit->candidate[0] = '\0';
	unit->czxid = 0;
	unit->stale = true;
	e.u.end.token = unit->role.token;
	e.u.end.reason = TENURE_REASON_SESSION;
	unit_event(unit, &e);
}

/* An incumbent that cannot be read may be anybody. */
static bool is_other(const struct unit *unit, const struct tenure_incumbent *incumbent)
{
	return incumbent->clean == TENURE_CLEAN_UNKNOWN ||
	       (incumbent->token != 0 && strcmp(incumbent->member, unit->host->member) != 0);
}

static void on_lead(struct unit *unit, const struct message *m, int64_t timeout_ns, int64_t now_ns)
{
	struct role_event e = {.type = ROLE_EV_LEAD, .now_ns = now_ns};
	bool credible = m->u.lead.lease_start_ns <= now_ns && m->u.lead.lease_timeout_ns <= timeout_ns;

	/* With a lease that cannot be believed nothing is proven, and the role core gives the office back. */
	if (!credible)
		log_error(unit->config->name, "a lease that cannot be true is not believed", "token=%lld",
			  (long long)m->token);
	e.u.lead.token = m->token;
	e.u.lead.reason = m->reason;
	e.u.lead.lease_start_ns = credible ? m->u.lead.lease_start_ns : 0;
	e.u.lead.lease_timeout_ns = credible ? m->u.lead.lease_timeout_ns : 0;
	e.u.lead.others = is_other(unit, &m->u.lead.previous);
	if (!role_in_office(&unit->role)) {
		unit->previous = m->u.lead.previous;
		unit->has_previous = true;
	}
	unit_event(unit, &e);
}

static void on_leader(struct unit *unit, const struct message *m, int64_t now_ns)
{
	struct role_event e = {.type = ROLE_EV_LEADER, .now_ns = now_ns};

	unit->leader_known = m->u.leader.known;
	unit->leader_gone = m->u.leader.gone;
	unit->leader = m->u.leader.incumbent;
	if (!m->u.leader.known)
		return;
	e.u.leader.token = m->u.leader.incumbent.token;
	e.u.leader.active = m->u.leader.incumbent.phase == TENURE_PHASE_ACTIVE && !m->u.leader.gone;
	e.u.leader.gone = m->u.leader.gone;
	e.u.leader.self = m->u.leader.self;
	e.u.leader.others = is_other(unit, &m->u.leader.incumbent);
	e.u.leader.paused = m->u.leader.paused;
	unit_event(unit, &e);
	saw(unit, m->u.leader.incumbent.token, now_ns);
}

static void on_candidate(struct unit *unit, const struct message *m, int64_t now_ns)
{
	memcpy(unit->candidate, m->u.restore.name, sizeof(unit->candidate));
	unit->czxid = m->u.restore.czxid;
	unit_mirror(unit);
	if (unit->czxid != 0)
		floor_want(&unit->floor, unit->czxid, now_ns);
}

static void on_fence_peer(struct unit *unit, const struct message *m, int64_t now_ns)
{
	struct role_event e = {.type = ROLE_EV_FENCE_PEER, .now_ns = now_ns};

	e.u.fence_peer.token = m->u.peer.incumbent.token;
	e.u.fence_peer.wanted = m->u.peer.wanted;
	if (m->u.peer.wanted && !role_in_office(&unit->role)) {
		unit->previous = m->u.peer.incumbent;
		unit->has_previous = true;
	}
	unit_event(unit, &e);
}

static void on_end(struct unit *unit, enum role_event_type type, const struct message *m, int64_t now_ns)
{
	struct role_event e = {.type = type, .now_ns = now_ns};

	e.u.end.token = m->token;
	e.u.end.reason = m->reason;
	unit_event(unit, &e);
}

void unit_message(struct unit *unit, const struct message *m, int64_t timeout_ns, int64_t now_ns)
{
	struct role_event left = {.type = ROLE_EV_LEFT, .now_ns = now_ns};
	struct role_event recover = {.type = ROLE_EV_RECOVER, .now_ns = now_ns};

	switch (m->type) {
	case MESSAGE_CANDIDATE:
		on_candidate(unit, m, now_ns);
		break;
	case MESSAGE_LEAD:
		if (m->token > 0)
			on_lead(unit, m, timeout_ns, now_ns);
		break;
	case MESSAGE_LOST:
		on_end(unit, ROLE_EV_LOST, m, now_ns);
		break;
	case MESSAGE_LEAVE:
		on_end(unit, ROLE_EV_LEAVE, m, now_ns);
		break;
	case MESSAGE_LEFT:
		unit->leaving = false;
		unit->giving_up = 0;
		unit->stale = true;
		unit_event(unit, &left);
		break;
	case MESSAGE_LEADER:
		on_leader(unit, m, now_ns);
		break;
	case MESSAGE_FENCE_PEER:
		on_fence_peer(unit, m, now_ns);
		break;
	case MESSAGE_RECOVER:
		unit->recovers++;
		unit_event(unit, &recover);
		unit_send_state(unit);
		break;
	case MESSAGE_FORGET_FLOOR:
		floor_forget(&unit->floor, now_ns);
		break;
	default:
		break;
	}
}
