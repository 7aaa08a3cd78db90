/*
 * The role core. See role.h.
 *
 * Every step looks at the clock first, then takes the event in, then settles: it does what the state
 * calls for until nothing changes any more. Only role_move() changes the state.
 */
#include "core/role_internal.h"

#include <string.h>

enum { SETTLE_BOUND = 16 };

static const char *const state_names[] = {
#define X(code, text) [ROLE_##code] = text,
	ROLE_STATES(X)
#undef X
};

static const char *const hook_names[] = {
#define X(code, text) [ROLE_HOOK_##code] = text,
	ROLE_HOOKS(X)
#undef X
};

const char *role_state_name(enum role_state state)
{
	return state_names[state];
}

const char *role_hook_name(enum role_hook hook)
{
	return hook_names[hook];
}

bool role_in_office(const struct role *r)
{
	return r->state >= ROLE_PROMOTING && r->state <= ROLE_PANIC && r->token != 0;
}

/* ---- the clock ---- */

static void check_hook(struct step *s)
{
	struct role *r = s->r;

	if (s->now_ns >= role_term_at(r)) {
		role_send_term(s);
		if (r->state == ROLE_PROMOTING)
			role_demote(s, TENURE_REASON_GAIN_FAILED, true);
	}
	if (s->now_ns >= role_kill_at(r))
		role_send_kill(s);
	if (s->now_ns >= role_outlives_at(r)) {
		r->outlived = true;
		if (r->token != 0)
			role_panic(s);
		else if (r->hook == ROLE_HOOK_FENCE_PEER)
			role_answer_peer(s, r->peer, false); /* somebody else may get further */
	}
}

static void check_clock(struct step *s)
{
	struct role *r = s->r;
	int64_t due_ns = role_demote_at(r);

	if (s->now_ns >= due_ns) {
		/* Far too late for this point: we were not running. */
		bool slept = s->now_ns - due_ns > tenure_budget_margin(r->timeout_ns) / 2;
		role_demote(s, slept ? TENURE_REASON_PAUSE : TENURE_REASON_LEASE, false);
	}
	check_hook(s);
	if (s->now_ns >= role_service_kill_at(r))
		role_kill_service(s);
	if (s->now_ns >= role_service_outlives_at(r))
		r->service_outlived = true;
	if (s->now_ns >= role_adopt_by(r))
		role_end_adoption(s);
	if (s->now_ns >= r->leave_by_ns)
		r->leave_by_ns = 0;
	if (s->now_ns >= r->retry_at_ns)
		r->retry_at_ns = 0;
	if (s->now_ns >= r->follow_at_ns)
		r->follow_at_ns = 0;
}

/* ---- what each state calls for ---- */

static void settle_once(struct step *s)
{
	switch (s->r->state) {
	case ROLE_STARTING:
		role_settle_starting(s);
		break;
	case ROLE_FOLLOWING:
		role_settle_following(s);
		break;
	case ROLE_STANDBY:
		role_settle_standby(s);
		break;
	case ROLE_ACTIVE:
		role_settle_active(s);
		break;
	case ROLE_DEMOTING:
		role_settle_demoting(s);
		break;
	case ROLE_PANIC:
		role_settle_panic(s);
		break;
	case ROLE_OUT:
		role_settle_out(s);
		break;
	default:
		break;
	}
}

static void settle(struct step *s)
{
	for (unsigned i = 0; i < SETTLE_BOUND; i++) {
		uint32_t transitions = s->r->transitions;

		settle_once(s);
		if (s->r->transitions == transitions)
			return;
		assert(i + 1 < SETTLE_BOUND);
	}
}

/* ---- events ---- */

static void on_floor(struct role *r, int64_t seen, int64_t durable)
{
	/* An operator lets lower tokens in: those of a new ensemble, to which the former one's mean nothing. */
	if (seen < r->floor_seen)
		r->spent = min64(r->spent, max64(seen, r->token));
	r->floor_seen = seen;
	r->floor_durable = durable;
}

static void on_hook_done(struct step *s, const struct role_event *event)
{
	struct role *r = s->r;
	enum role_hook hook = r->hook;
	bool ok = event->u.hook.ok; /* it may have ended well just before it was killed */
	bool answered = r->outlived;

	if (hook == ROLE_HOOK_NONE || event->u.hook.run != r->run)
		return; /* of an earlier run */
	r->hook = ROLE_HOOK_NONE;
	r->outlived = false;
	if (r->state == ROLE_PANIC) {
		role_fence_from_panic(s);
		return;
	}
	switch (hook) {
	case ROLE_HOOK_GAIN:
		role_gain_done(s, event);
		break;
	case ROLE_HOOK_LOSE:
		role_lose_done(s, ok);
		break;
	case ROLE_HOOK_FENCE:
		role_fence_done(s, ok);
		break;
	case ROLE_HOOK_FOLLOW:
		role_follow_done(s, ok);
		break;
	case ROLE_HOOK_FENCE_PEER:
		if (!answered)
			role_answer_peer(s, r->peer, ok && r->term_sent_ns == 0);
		break;
	default:
		break;
	}
}

static void on_lost(struct step *s, const struct role_event *event)
{
	struct role *r = s->r;
	int64_t token = event->u.end.token;

	if (r->token != 0 ? token != r->token : r->left_token == 0 || (token != 0 && token != r->left_token))
		return;
	/* What is proven from now on is another session's, and says nothing of this term. */
	r->lease_over = true;
	if (r->lease_start_ns != 0)
		role_demote(s, event->u.end.reason, false);
}

static void on_stop(struct step *s, bool forced)
{
	struct role *r = s->r;

	r->stopping = true;
	r->forced = r->forced || forced;
	role_end_adoption(s);
	role_demote(s, TENURE_REASON_STOP, !r->forced);
	if (r->state == ROLE_STARTING && r->forced)
		role_force(s);
}

static void check_invariants(const struct role *r)
{
	bool office = r->state >= ROLE_PROMOTING && r->state <= ROLE_PANIC;

	assert(office || r->token == 0);
	assert(r->token != 0 || !office || r->state == ROLE_FENCING);
	assert(r->hook == ROLE_HOOK_NONE || r->state != ROLE_PANIC || r->outlived);
	assert(r->hook != ROLE_HOOK_GAIN || r->state == ROLE_PROMOTING || r->state == ROLE_DEMOTING || r->outlived);
	assert(r->hook != ROLE_HOOK_FOLLOW || r->state == ROLE_FOLLOWING);
	assert(r->hook != ROLE_HOOK_FENCE_PEER || r->state == ROLE_STANDBY);
	assert(r->hook == ROLE_HOOK_NONE || r->hook == ROLE_HOOK_FENCE_PEER || r->state != ROLE_STANDBY);
	assert(r->hook != ROLE_HOOK_NONE || r->state != ROLE_STANDBY || (r->standing && !r->stopping) || r->adopting);
	assert(r->state != ROLE_ACTIVE || r->hook == ROLE_HOOK_NONE);
	assert((r->hook == ROLE_HOOK_FENCE) == (r->state == ROLE_FENCING) || r->outlived);
	assert(!r->adopting || (r->state == ROLE_STANDBY && !r->established));
	assert(r->left_token == 0 || !r->established);
	assert(!r->service || (r->state != ROLE_STANDBY && r->state != ROLE_PROMOTING));
}

/* ---- the interface ---- */

void role_init(struct role *r, const struct role_config *config)
{
	memset(r, 0, sizeof *r);
	r->config = *config;
	r->state = ROLE_STARTING;
	r->reason = TENURE_REASON_STARTUP;
	r->followed = -1;
}

static void take(struct step *s, const struct role_event *event)
{
	struct role *r = s->r;

	switch (event->type) {
	case ROLE_EV_BEGIN:
		role_begin(s, event);
		break;
	case ROLE_EV_TIMER:
		break;
	case ROLE_EV_LEAD:
		role_on_lead(s, event);
		break;
	case ROLE_EV_LEASE:
		role_on_lease(s, event->u.lease.start_ns, event->u.lease.timeout_ns);
		break;
	case ROLE_EV_LOST:
		on_lost(s, event);
		break;
	case ROLE_EV_LEAVE:
		if (r->token != 0 && (event->u.end.token == 0 || event->u.end.token == r->token))
			role_demote(s, event->u.end.reason, true);
		break;
	case ROLE_EV_LEFT:
		r->leave_by_ns = 0;
		break;
	case ROLE_EV_LEADER:
		role_on_leader(s, event);
		break;
	case ROLE_EV_HOOK_DONE:
		on_hook_done(s, event);
		break;
	case ROLE_EV_SERVICE_GONE:
		role_on_service_gone(s);
		break;
	case ROLE_EV_HEALTH:
		r->healthy = event->u.healthy;
		break;
	case ROLE_EV_FENCE_PEER:
		role_on_fence_peer(s, event->u.fence_peer.token, event->u.fence_peer.wanted);
		break;
	case ROLE_EV_FLOOR:
		on_floor(r, event->u.floor.seen, event->u.floor.durable);
		break;
	case ROLE_EV_RECOVER:
		if (r->state == ROLE_PANIC && r->hook == ROLE_HOOK_NONE)
			role_begin_demotion(s, r->leave_reason, false);
		break;
	case ROLE_EV_STOP:
		on_stop(s, event->u.force);
		break;
	}
}

void role_step(struct role *r, const struct role_event *event, struct role_update *update)
{
	struct step s = { r, update, event->now_ns };

	update->count = 0;
	check_clock(&s);
	take(&s, event);
	settle(&s);
	check_invariants(r);
}

bool role_stopped(const struct role *r)
{
	if (!r->stopping)
		return false;
	if (r->hook != ROLE_HOOK_NONE)
		return r->forced && r->outlived;
	if (r->state == ROLE_PANIC)
		return r->recovered || r->forced;
	return r->state == ROLE_OUT && r->leave_by_ns == 0;
}
