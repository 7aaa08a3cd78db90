/*
 * Random runs of the role core: hooks, a service, an elector and a lease around it, and what must always hold. A twin
 * may be resumed from what the core has saved; from then on it has to do the same.
 */
#ifndef TENURE_TESTS_ROLE_MODEL_H
#define TENURE_TESTS_ROLE_MODEL_H

#include "role_support.h"

enum { STEPS = 400 };

struct model {
	struct random_run run;
	struct fixture f;
	int64_t now_ns;
	bool exact;   /* timers are never late and T never shrinks: then the schedule must hold */
	bool extends; /* the lease is extended now and then */
	/* The hook that runs. */
	bool hook;
	uint32_t hook_run;
	enum role_hook kind;
	int64_t hook_ends_ns; /* by itself; INT64_MAX: never */
	int64_t hook_limit_ns; /* an instant */
	bool termed, killed, undying; /* undying: it outlives a KILL, by a while or for ever */
	bool kill_said;       /* since the last hook was started, or the term's demotion began */
	bool late;            /* this term's fence, or a lose out of PANIC, may run past the schedule */
	bool panic_told;
	/* fence_peer: whom the elector waits for, whom the hook runs for; -1: nobody. */
	int64_t peer_asked, peer_running;
	int64_t floor_seen, floor_durable;
	int64_t no_stand_before_ns; /* a back-off after a refusal by the floor */
	/* The elector. */
	bool standing;
	int64_t next_token, told; /* told: LEAD said and no GIVE_UP back; 0: none */
	int64_t last_led;
	int64_t lease_start_ns, lease_timeout_ns;
	/*
	 * Somebody may be in office here: in a term, in one that was left behind, or without any, by an operator's word.
	 * Only a lose with the service gone, or a fence, ends that.
	 */
	bool held, clean;
	int64_t held_token;   /* 0: none yet */
	/* The service. */
	bool service, service_undying, service_killed;
	int64_t service_asked_ns; /* to end, in this demotion; 0: not yet */
	int64_t service_ends_ns;  /* INT64_MAX: never */
	/* What the elector said last. */
	bool healthy, paused, leader_said, floor_said;
	struct role_event last_leader, last_floor;
	bool stopping, forced;
	/* The one that was resumed. */
	bool twin;
	struct fixture t;
	uint32_t run_offset; /* from its runs to the core's */
	unsigned terms, adoptions, services, twins;
};

static inline bool model_fit(const struct model *m)
{
	return !m->f.r.config.check || m->healthy;
}

/* What was in office need not be any more. */
static inline bool model_is_out(const struct model *m)
{
	return m->clean || (!m->f.r.config.has[ROLE_HOOK_LOSE] && !m->service);
}

static inline void model_check_fence(const struct model *m, const struct role_action *a)
{
	const struct role *r = &m->f.r;
	int64_t fence_ns = r->config.budget.fence_ns;
	int64_t out_ns = role_lease_deadline(r) - tenure_budget_margin(r->timeout_ns);

	CHECK_RUN(&m->run, m->kill_said);
	CHECK_RUN(&m->run, a->limit_ns == fence_ns || (a->token != 0 && a->limit_ns >= fence_ns / 2 &&
						       m->now_ns + a->limit_ns == out_ns));
}

static inline void model_run(struct model *m, const struct role_action *a)
{
	const struct role *r = &m->f.r;

	CHECK_RUN(&m->run, !m->hook); /* S3 */
	if (a->hook == ROLE_HOOK_FENCE)
		model_check_fence(m, a);
	if (a->hook == ROLE_HOOK_LOSE) {
		CHECK_RUN(&m->run, a->token == (m->held ? m->held_token : 0));
		CHECK_RUN(&m->run, !m->service || (m->service_killed && r->service_outlived));
	}
	if (a->hook == ROLE_HOOK_FENCE_PEER) {
		CHECK_RUN(&m->run, m->standing && !m->stopping && a->token == m->peer_asked);
		m->peer_running = a->token;
	}
	m->hook = true;
	m->kind = a->hook;
	m->hook_run = a->run;
	m->hook_limit_ns = m->now_ns + a->limit_ns;
	m->termed = m->killed = m->kill_said = false;
	m->undying = random_once_in(&m->run, 20);
	m->hook_ends_ns = random_once_in(&m->run, a->hook == ROLE_HOOK_GAIN ? 4 : 15)
				  ? INT64_MAX
				  : m->now_ns + random_below(&m->run, 6 * SECOND);
	if (a->hook != ROLE_HOOK_GAIN)
		return;
	m->terms++;
	CHECK_RUN(&m->run, !m->service);
	CHECK_RUN(&m->run, a->token > m->last_led); /* S2 */
	m->last_led = a->token;
	CHECK_RUN(&m->run, m->now_ns < tenure_schedule_for(&r->config.budget, m->lease_timeout_ns,
							   m->lease_start_ns + m->lease_timeout_ns)
					       .demote_ns);
}

static inline void model_kill(struct model *m, const struct role_action *a)
{
	CHECK_RUN(&m->run, m->hook == (a->hook != ROLE_HOOK_NONE));
	CHECK_RUN(&m->run, !m->kill_said || m->f.r.from_panic);
	m->kill_said = true;
	if (!m->hook)
		return;
	CHECK_RUN(&m->run, a->hook == m->kind);
	m->killed = true;
	m->hook_ends_ns = m->now_ns;
	if (m->undying)
		m->hook_ends_ns = random_once_in(&m->run, 2) ? INT64_MAX
							     : m->now_ns + random_below(&m->run, 30 * SECOND);
}

static inline void model_changed(struct model *m, const struct role_action *a)
{
	const struct role_config *config = &m->f.r.config;

	CHECK_RUN(&m->run, a->state != a->old_state);
	CHECK_RUN(&m->run, a->state != ROLE_ACTIVE || a->old_state == ROLE_PROMOTING);
	switch (a->state) {
	case ROLE_PROMOTING:
		CHECK_RUN(&m->run, a->old_state == ROLE_STANDBY);
		CHECK_RUN(&m->run, !config->floor || (a->token > m->floor_seen && a->token <= m->floor_durable));
		CHECK_RUN(&m->run, !m->held || m->held_token == 0);
		m->adoptions += m->held;
		m->held = true;
		m->held_token = a->token;
		m->late = m->clean = false;
		break;
	case ROLE_DEMOTING:
		m->service_asked_ns = 0;
		if (a->old_state != ROLE_PANIC)
			m->kill_said = false;
		else
			m->late = true;
		break;
	case ROLE_PANIC:
		CHECK_RUN(&m->run, m->kill_said || config->has[ROLE_HOOK_FENCE]);
		m->panic_told = false;
		break;
	case ROLE_OUT:
		if (a->old_state == ROLE_STANDBY && a->reason != TENURE_REASON_STOP &&
		    a->reason != TENURE_REASON_HEALTH)
			m->no_stand_before_ns = m->now_ns + config->backoff_ns;
		break;
	default:
		break;
	}
}

static inline void model_peer_fenced(struct model *m, const struct role_action *a)
{
	CHECK_RUN(&m->run, a->token == m->peer_asked || a->token == m->peer_running);
	CHECK_RUN(&m->run, !a->ok || (a->token == m->peer_running && !m->hook && !m->termed));
	if (a->token == m->peer_asked)
		m->peer_asked = -1;
	/* Of one that outlives its KILL no answer is waited for. */
	if (!m->hook || m->f.r.outlived)
		m->peer_running = -1;
}

static inline int64_t model_service_life(struct model *m)
{
	int64_t dice = random_below(&m->run, 20);

	if (dice == 0)
		return m->now_ns; /* it could not be started */
	return dice < 6 ? m->now_ns + random_below(&m->run, 60 * SECOND) : INT64_MAX;
}

static inline void model_service(struct model *m, const struct role_action *a)
{
	CHECK_RUN(&m->run, m->f.r.config.service);
	CHECK_RUN(&m->run, m->service == (a->type != ROLE_DO_SERVICE_START));
	if (a->type == ROLE_DO_SERVICE_START) {
		CHECK_RUN(&m->run, m->held && a->token == m->held_token && !m->hook);
		m->service = true;
		m->services++;
		m->service_killed = false;
		m->service_asked_ns = 0;
		m->service_undying = random_once_in(&m->run, 8);
		m->service_ends_ns = model_service_life(m);
		return;
	}
	CHECK_RUN(&m->run, m->held && a->state != ROLE_ACTIVE);
	CHECK_RUN(&m->run, m->service_asked_ns == 0 || a->type == ROLE_DO_SERVICE_KILL);
	if (m->service_asked_ns == 0)
		m->service_asked_ns = m->now_ns;
	if (a->type == ROLE_DO_SERVICE_KILL) {
		m->service_killed = true;
		m->service_ends_ns = m->now_ns + (random_once_in(&m->run, 2) ? 0 : random_below(&m->run, SECOND));
		if (m->service_undying)
			m->service_ends_ns = random_once_in(&m->run, 2) ? INT64_MAX
									: m->now_ns + random_below(&m->run, 90 * SECOND);
	} else if (!random_once_in(&m->run, 3) && m->service_ends_ns > m->now_ns) {
		m->service_ends_ns = m->now_ns + random_below(&m->run, 3 * SECOND);
	}
}

static inline void model_action(struct model *m, const struct role_action *a)
{
	switch (a->type) {
	case ROLE_DO_RUN:
		model_run(m, a);
		break;
	case ROLE_DO_TERM:
		CHECK_RUN(&m->run, m->hook && a->hook == m->kind);
		m->termed = true;
		if (!random_once_in(&m->run, 3) && m->hook_ends_ns > m->now_ns)
			m->hook_ends_ns = m->now_ns + random_below(&m->run, 3 * SECOND);
		break;
	case ROLE_DO_KILL:
		model_kill(m, a);
		break;
	case ROLE_DO_STAND:
		CHECK_RUN(&m->run, !m->standing && m->now_ns >= m->no_stand_before_ns && model_fit(m));
		/* An adoption that had no place in the queue has nothing to give up. */
		m->held = m->held && (m->held_token != 0 || m->f.r.adopting || !model_is_out(m));
		CHECK_RUN(&m->run, !m->held || m->f.r.adopting);
		m->standing = true;
		break;
	case ROLE_DO_RETIRE:
		CHECK_RUN(&m->run, m->standing);
		CHECK_RUN(&m->run, !m->held || (m->held_token == 0 && (model_is_out(m) || m->forced)));
		m->standing = m->held = false;
		break;
	case ROLE_DO_GIVE_UP:
		m->standing = false;
		if (m->held) {
			CHECK_RUN(&m->run, model_is_out(m) && (a->token == m->held_token || m->held_token == 0));
			m->held = false;
		}
		if (a->token == m->told)
			m->told = 0;
		break;
	case ROLE_DO_CONFIRM:
		CHECK_RUN(&m->run, a->token == m->told || m->told == 0);
		break;
	case ROLE_DO_CHANGED:
		model_changed(m, a);
		break;
	case ROLE_DO_PEER_FENCED:
		model_peer_fenced(m, a);
		break;
	case ROLE_DO_ON_PANIC:
		CHECK_RUN(&m->run, !m->panic_told && a->state == ROLE_PANIC);
		CHECK_RUN(&m->run, m->now_ns >= role_lease_deadline(&m->f.r));
		m->panic_told = true;
		break;
	case ROLE_DO_SERVICE_START:
	case ROLE_DO_SERVICE_TERM:
	case ROLE_DO_SERVICE_KILL:
		model_service(m, a);
		break;
	}
}

/* Whether what A says of being planned is left from before what was saved. */
static inline bool model_idle_change(const struct role_action *a)
{
	return a->type == ROLE_DO_CHANGED && (a->old_state < ROLE_PROMOTING || a->old_state == ROLE_OUT);
}

static inline void model_step_twin(struct model *m, struct role_event event)
{
	if (event.type == ROLE_EV_HOOK_DONE)
		event.u.hook.run -= m->run_offset;
	step(&m->t, event);
	CHECK_RUN(&m->run, m->t.u.count == m->f.u.count);
	for (unsigned i = 0; i < m->t.u.count; i++) {
		struct role_action mine = m->f.u.actions[i], twins = m->t.u.actions[i];

		twins.run += twins.type == ROLE_DO_RUN ? m->run_offset : 0;
		if (model_idle_change(&mine))
			twins.planned = mine.planned;
		CHECK_RUN(&m->run, mine.type == twins.type && mine.hook == twins.hook && mine.run == twins.run &&
					   mine.limit_ns == twins.limit_ns && mine.token == twins.token &&
					   mine.reason == twins.reason && mine.planned == twins.planned &&
					   mine.ok == twins.ok && mine.state == twins.state &&
					   mine.old_state == twins.old_state);
	}
	/* How long a stop waits for the queue to be left is not kept. */
	CHECK_RUN(&m->run, m->f.r.leave_by_ns != 0 || role_deadline(&m->f.r) == role_deadline(&m->t.r));
	CHECK_RUN(&m->run, m->f.r.leave_by_ns != 0 || role_stopped(&m->f.r) == role_stopped(&m->t.r));
}

/* A member that waits, waits for something. */
static inline void model_check_stuck(const struct model *m)
{
	const struct role *r = &m->f.r;

	if (m->hook || m->stopping)
		return;
	if (r->state == ROLE_STARTING)
		CHECK_RUN(&m->run, r->retry_at_ns > m->now_ns && role_deadline(r) <= r->retry_at_ns);
	if (r->state == ROLE_DEMOTING)
		CHECK_RUN(&m->run, m->service && m->service_asked_ns != 0 && role_deadline(r) != INT64_MAX);
	if (r->state == ROLE_OUT && r->config.candidate && model_fit(m) && !m->service)
		CHECK_RUN(&m->run, r->retry_at_ns > m->now_ns && role_deadline(r) <= r->retry_at_ns);
	if (r->state == ROLE_STANDBY)
		CHECK_RUN(&m->run, m->standing || (r->adopting && !model_fit(m)));
	CHECK_RUN(&m->run, r->state == ROLE_STANDBY || !m->standing || role_in_office(r) ||
				   (r->state == ROLE_STARTING && m->held));
	if (r->state == ROLE_ACTIVE)
		CHECK_RUN(&m->run, model_fit(m) || m->paused || !m->leader_said);
}

static inline void model_step(struct model *m, struct role_event event)
{
	event.now_ns = m->now_ns;
	step(&m->f, event);
	if (m->twin)
		model_step_twin(m, event);
	for (unsigned i = 0; i < m->f.u.count; i++)
		model_action(m, &m->f.u.actions[i]);
	if (event.type == ROLE_EV_TIMER)
		CHECK_RUN(&m->run, role_deadline(&m->f.r) > m->now_ns);
	CHECK_RUN(&m->run, m->hook == (m->f.r.hook != ROLE_HOOK_NONE));
	CHECK_RUN(&m->run, m->service == m->f.r.service);
	model_check_stuck(m);
	CHECK_RUN(&m->run, m->f.r.state != ROLE_PANIC || m->now_ns < role_lease_deadline(&m->f.r) || m->panic_told);
	/* Who asks is answered at once, or by the end of a hook that runs. */
	CHECK_RUN(&m->run, m->peer_asked == -1 || m->peer_asked == m->peer_running);
	CHECK_RUN(&m->run, m->peer_running == -1 || (m->hook && m->kind == ROLE_HOOK_FENCE_PEER));
}

/* Out by the end of the schedule, or nothing left that could be done. */
static inline void model_check_out(const struct model *m)
{
	const struct role *r = &m->f.r;
	int64_t out_ns = role_lease_deadline(r) - tenure_budget_margin(r->timeout_ns);

	if (m->late && m->hook)
		out_ns = m->hook_limit_ns > out_ns ? m->hook_limit_ns : out_ns;
	/* One killed at the end of the schedule still has a second to go away. */
	if (m->hook && m->killed && m->undying)
		out_ns += SECOND;
	/* So has a service that is killed there; out of PANIC it has its whole limit. */
	if (m->service && m->service_killed && !r->config.has[ROLE_HOOK_FENCE])
		out_ns += SECOND;
	if (m->late && m->service && m->service_asked_ns + r->config.budget.stop_ns + SECOND > out_ns)
		out_ns = m->service_asked_ns + r->config.budget.stop_ns + SECOND;
	/* By the schedule it is killed before lose is due. */
	if (m->exact && !m->late && m->service && role_in_office(r) && !m->stopping)
		CHECK_RUN(&m->run, m->service_killed || m->now_ns <= role_lease_deadline(r) -
								      tenure_budget_margin(r->timeout_ns) -
								      r->config.budget.fence_ns -
								      r->config.budget.lose_ns);
	if (m->exact && role_in_office(r) && m->now_ns > out_ns)
		CHECK_RUN(&m->run, r->state == ROLE_PANIC || m->stopping);
}

static inline void model_hook_ends(struct model *m)
{
	struct role_event event = {.type = ROLE_EV_HOOK_DONE};

	event.u.hook.run = m->hook_run;
	event.u.hook.ok = !m->killed && !random_once_in(&m->run, 8);
	event.u.hook.not_now = !event.u.hook.ok && random_once_in(&m->run, 4);
	m->late = m->late || (m->killed && m->undying);
	if (event.u.hook.ok && ((m->kind == ROLE_HOOK_LOSE && !m->service) || m->kind == ROLE_HOOK_FENCE))
		m->clean = true;
	m->hook = false;
	m->hook_ends_ns = INT64_MAX;
	model_step(m, event);
}

static inline void model_service_ends(struct model *m)
{
	m->service = false;
	m->service_ends_ns = INT64_MAX;
	model_step(m, (struct role_event){.type = ROLE_EV_SERVICE_GONE});
}

static inline void model_lead(struct model *m)
{
	struct role_event event = {.type = ROLE_EV_LEAD};

	m->told = m->next_token++;
	m->lease_start_ns = m->now_ns - random_below(&m->run, 14 * SECOND);
	m->lease_timeout_ns = T;
	event.u.lead.token = m->told;
	event.u.lead.reason = random_once_in(&m->run, 2) ? TENURE_REASON_ELECTION : TENURE_REASON_HANDOFF;
	event.u.lead.lease_start_ns = m->lease_start_ns;
	event.u.lead.lease_timeout_ns = T;
	event.u.lead.others = random_once_in(&m->run, 6);
	model_step(m, event);
}

static inline void model_lease(struct model *m)
{
	struct role_event event = {.type = ROLE_EV_LEASE};
	int64_t start_ns = m->now_ns - random_below(&m->run, 4 * SECOND);

	m->lease_start_ns = start_ns > m->lease_start_ns ? start_ns : m->lease_start_ns;
	if (!m->exact && random_once_in(&m->run, 10))
		m->lease_timeout_ns -= m->lease_timeout_ns / 4;
	event.u.lease.start_ns = start_ns;
	event.u.lease.timeout_ns = m->lease_timeout_ns;
	model_step(m, event);
}

/* Asks for a peer to be fenced: anew, for another, once more or no longer. */
static inline void model_fence_peer(struct model *m)
{
	struct role_event event = {.type = ROLE_EV_FENCE_PEER};
	bool asked = m->peer_asked != -1;
	int64_t token = m->peer_asked;

	if (!asked || random_once_in(&m->run, 4))
		token = random_below(&m->run, 4);
	event.u.fence_peer.token = token;
	event.u.fence_peer.wanted = !asked || random_once_in(&m->run, 2);
	if (event.u.fence_peer.wanted)
		m->peer_asked = token;
	model_step(m, event);
}

static inline void model_floor(struct model *m)
{
	struct role_event event = {.type = ROLE_EV_FLOOR};

	m->floor_seen = random_once_in(&m->run, 4) ? 0 : m->next_token - 1 - random_below(&m->run, 2);
	if (random_once_in(&m->run, 10))
		m->floor_seen = m->next_token + 1;
	m->floor_durable = random_once_in(&m->run, 2) ? INT64_MAX : m->next_token + random_below(&m->run, 5) - 1;
	event.u.floor.seen = m->floor_seen;
	event.u.floor.durable = m->floor_durable;
	m->last_floor = event;
	m->floor_said = true;
	model_step(m, event);
}

/* Out of PANIC lose comes first and has its whole limit; elsewhere RECOVER does nothing. */
static inline void model_recover(struct model *m)
{
	bool panics = m->f.r.state == ROLE_PANIC && !m->hook;
	const struct role_action *a = m->f.u.actions;
	const struct role_config *config = &m->f.r.config;

	m->late = m->late || panics;
	model_step(m, (struct role_event){.type = ROLE_EV_RECOVER});
	if (!panics)
		return;
	CHECK_RUN(&m->run, m->f.u.count > 1 && a[0].type == ROLE_DO_CHANGED && a[0].state == ROLE_DEMOTING);
	if (m->service)
		CHECK_RUN(&m->run, a[1].type == ROLE_DO_SERVICE_TERM || a[1].type == ROLE_DO_SERVICE_KILL);
	else if (config->has[ROLE_HOOK_LOSE])
		CHECK_RUN(&m->run, a[1].type == ROLE_DO_RUN && a[1].hook == ROLE_HOOK_LOSE &&
					   (a[1].limit_ns == config->budget.lose_ns ||
					    a[1].limit_ns == config->handoff_ns));
}

static inline void model_lead_again(struct model *m)
{
	struct role_event event = {.type = ROLE_EV_LEAD};

	event.u.lead.token = m->held_token;
	event.u.lead.reason = TENURE_REASON_ELECTION;
	event.u.lead.lease_start_ns = m->now_ns;
	event.u.lead.lease_timeout_ns = T;
	model_step(m, event);
	CHECK_RUN(&m->run, m->f.u.count == 0);
}

static inline void model_random_event(struct model *m)
{
	struct role_event event = {.type = ROLE_EV_LEADER};
	int64_t dice = random_below(&m->run, 100);

	if (dice < 40 && m->standing && m->told == 0) {
		model_lead(m);
	} else if (dice < 50) {
		if (m->extends || random_once_in(&m->run, 10))
			model_lease(m);
	} else if (dice < 55) {
		event.type = dice < 53 ? ROLE_EV_LOST : ROLE_EV_LEAVE;
		event.u.end.token = random_once_in(&m->run, 4) ? m->next_token : m->told;
		event.u.end.reason = dice < 53 ? TENURE_REASON_SESSION : TENURE_REASON_RESIGN;
		model_step(m, event);
	} else if (dice < 65) {
		event.u.leader.token = random_below(&m->run, m->next_token);
		event.u.leader.active = random_once_in(&m->run, 2);
		event.u.leader.gone = random_once_in(&m->run, 3);
		event.u.leader.self = event.u.leader.token == m->told;
		event.u.leader.others = random_once_in(&m->run, 8);
		event.u.leader.paused = m->paused = random_once_in(&m->run, 3);
		m->leader_said = true;
		m->last_leader = event;
		model_step(m, event);
	} else if (dice < 75) {
		event.type = ROLE_EV_LEFT;
		model_step(m, event);
	} else if (dice < 77) {
		/* Of a run that is over. */
		event.type = ROLE_EV_HOOK_DONE;
		event.u.hook.run = m->f.r.run - 1;
		event.u.hook.ok = true;
		model_step(m, event);
	} else if (dice < 82) {
		model_fence_peer(m);
	} else if (dice < 88) {
		model_floor(m);
	} else if (dice < 91) {
		model_recover(m);
	} else if (dice < 96) {
		event.type = ROLE_EV_HEALTH;
		event.u.healthy = m->healthy = !random_once_in(&m->run, 3);
		model_step(m, event);
	} else if (dice < 97) {
		/* A new elector may say again what the supervisor before was told. */
		if (m->held && m->held_token != 0 && !m->f.r.established)
			model_lead_again(m);
	}
}

/* Lets pass what ends, or is due, next, when it is not after NEXT_NS. Returns whether there was anything. */
static inline bool model_pass(struct model *m, int64_t next_ns, bool late)
{
	int64_t due_ns = role_deadline(&m->f.r);
	int64_t ends_ns = m->hook_ends_ns < m->service_ends_ns ? m->hook_ends_ns : m->service_ends_ns;
	int64_t first_ns = ends_ns < due_ns ? ends_ns : due_ns;

	if (first_ns > next_ns)
		return false;
	m->now_ns = first_ns > m->now_ns ? first_ns : m->now_ns;
	if (ends_ns > due_ns) {
		m->now_ns += late ? random_below(&m->run, 10 * SECOND) : 0;
		model_step(m, (struct role_event){.type = ROLE_EV_TIMER});
	} else if (m->hook_ends_ns <= m->service_ends_ns) {
		model_hook_ends(m);
	} else {
		model_service_ends(m);
	}
	return true;
}

/*
 * Stops the role wherever it is; nothing but its timer and the ends of its hooks and its service must be needed, or a
 * second stop where a hook does not die.
 */
static inline void model_stop(struct model *m)
{
	struct role_event event = {.type = ROLE_EV_STOP, .u.force = random_once_in(&m->run, 2)};
	/* What was left behind may take several tries. */
	const int64_t bound_ns = m->now_ns + (m->f.r.established ? 300 : 3000) * SECOND;

	m->stopping = true;
	m->forced = event.u.force;
	model_step(m, event);
	while (!role_stopped(&m->f.r)) {
		bool stuck = m->hook && m->undying && m->killed && m->hook_ends_ns == INT64_MAX;

		CHECK_RUN(&m->run, m->now_ns < bound_ns);
		if (stuck && role_deadline(&m->f.r) == INT64_MAX) {
			CHECK_RUN(&m->run, m->f.r.state == ROLE_PANIC || !role_in_office(&m->f.r));
			event.u.force = m->forced = true;
			model_step(m, event);
			CHECK_RUN(&m->run, role_stopped(&m->f.r));
		} else {
			CHECK_RUN(&m->run, model_pass(m, INT64_MAX - 1, false));
		}
	}
	CHECK_RUN(&m->run, m->f.r.state == ROLE_PANIC || !m->held || m->forced ||
				   (m->held_token == 0 && model_is_out(m)));
}

static inline struct role_config model_config(struct model *m)
{
	struct role_config config = full_config();

	for (unsigned hook = ROLE_HOOK_GAIN; hook < ROLE_HOOK_COUNT; hook++)
		config.has[hook] = !random_once_in(&m->run, 4);
	if (!config.has[ROLE_HOOK_LOSE])
		config.budget.lose_ns = 0;
	else if (random_once_in(&m->run, 3))
		config.budget.lose_ns = 100 * MS;
	if (!config.has[ROLE_HOOK_FENCE])
		config.budget.fence_ns = 0;
	else if (random_once_in(&m->run, 3))
		config.budget.fence_ns = 500 * MS;
	config.candidate = !random_once_in(&m->run, 10);
	config.gain_ns = (1 + random_below(&m->run, 10)) * SECOND;
	config.handoff_ns = (5 + random_below(&m->run, 30)) * SECOND;
	config.follow_ns = random_once_in(&m->run, 2) ? 0 : 3 * SECOND;
	config.fence_peer_ns = (1 + random_below(&m->run, 8)) * SECOND;
	config.floor = random_once_in(&m->run, 4);
	config.check = random_once_in(&m->run, 3);
	config.service = random_once_in(&m->run, 2);
	if (config.service)
		config.budget.stop_ns = random_below(&m->run, 4) * SECOND;
	return config;
}

static inline void model_begin(struct model *m)
{
	struct role_event event = {.type = ROLE_EV_BEGIN};

	event.u.begin.how = (enum role_beginning)random_below(&m->run, 3);
	if (event.u.begin.how == ROLE_BEGIN_LOSE && random_once_in(&m->run, 2))
		event.u.begin.token = m->held_token = m->last_led = 4;
	event.u.begin.adopt_by_ns = m->now_ns + T;
	m->held = event.u.begin.token != 0 || event.u.begin.how == ROLE_BEGIN_ADOPT;
	model_step(m, event);
}

/* Another one goes on from what is saved here. Both are told the leader and the floor again. */
static inline void model_resume_twin(struct model *m)
{
	struct role_config config = m->f.r.config;
	struct role_saved saved;

	role_save(&m->f.r, &saved);
	if (!saved.at_rest || role_deadline(&m->f.r) <= m->now_ns)
		return;
	memset(&m->t, 0x5a, sizeof m->t);
	role_init(&m->t.r, &config);
	CHECK_RUN(&m->run, role_resume(&m->t.r, &saved));
	m->run_offset = m->f.r.run;
	if (m->leader_said) {
		m->last_leader.now_ns = m->now_ns;
		step(&m->t, m->last_leader);
		CHECK_RUN(&m->run, m->t.u.count == 0);
	}
	m->twins++;
	if (m->floor_said) {
		m->last_floor.now_ns = m->now_ns;
		step(&m->t, m->last_floor);
		CHECK_RUN(&m->run, m->t.u.count == 0);
	}
	m->twin = true;
}

static inline void model_init(struct model *m, uint64_t seed)
{
	memset(m, 0, sizeof *m);
	random_begin(&m->run, seed);
	m->now_ns = START;
	m->next_token = 5;
	m->exact = seed % 2 == 0;
	m->extends = seed % 4 < 2;
	m->hook_ends_ns = m->service_ends_ns = INT64_MAX;
	m->peer_asked = m->peer_running = -1;
	role_init(&m->f.r, &(struct role_config){.candidate = false});
	m->f.r.config = model_config(m);
	model_begin(m);
}

/* TWINS: a twin is made now and then, whenever the core is at rest. */
static inline void model_run_random(struct model *m, uint64_t seed, bool twins)
{
	model_init(m, seed);
	for (m->run.step = 0; m->run.step < STEPS; m->run.step++) {
		int64_t next_ns = m->now_ns + random_below(&m->run, 1000 * MS);

		if (!model_pass(m, next_ns, !m->exact && random_once_in(&m->run, 10))) {
			m->now_ns = next_ns;
			model_random_event(m);
		}
		model_check_out(m);
		if (twins && random_once_in(&m->run, 20))
			model_resume_twin(m);
		/* A stop in PANIC is to be seen often. */
		if (m->f.r.state == ROLE_PANIC && random_once_in(&m->run, 20))
			break;
	}
	model_stop(m);
}

#endif
