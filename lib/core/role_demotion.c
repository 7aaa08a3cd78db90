/* The role core: out of office. The service, lose, fence, PANIC. */
#include "core/role_internal.h"

static const int64_t settled_term_ns = 60 * NS_PER_S; /* a term this long makes up for failures before it */

void role_force(struct step *s)
{
	struct role *r = s->r;

	r->planned = false;
	if (r->hook == ROLE_HOOK_LOSE) {
		int64_t limit_ns = s->now_ns - r->hook_started_ns + r->config.budget.lose_ns;
		r->hook_limit_ns = r->hook_limit_ns == 0 ? limit_ns : min64(r->hook_limit_ns, limit_ns);
	}
}

void role_begin_demotion(struct step *s, enum tenure_reason reason, bool planned)
{
	struct role *r = s->r;

	r->spent = r->token;
	r->leave_reason = reason;
	r->planned = planned;
	r->from_panic = r->state == ROLE_PANIC;
	r->lose_tried = r->fence_tried = r->killed = false;
	r->service_kill_ns = r->service_killed_ns = 0;
	r->service_outlived = r->service_went = false;
	role_move(s, ROLE_DEMOTING, reason);
}

void role_demote(struct step *s, enum tenure_reason reason, bool planned)
{
	struct role *r = s->r;

	if ((r->state == ROLE_DEMOTING || r->state == ROLE_STARTING) && !planned)
		role_force(s);
	if (r->state != ROLE_PROMOTING && r->state != ROLE_ACTIVE)
		return;
	role_begin_demotion(s, reason, planned);
	role_send_term(s); /* a gain hook still at work */
}

/* The service is out of office. */
static void left_office(struct step *s)
{
	struct role *r = s->r;
	int64_t token = r->token;

	r->token = 0;
	r->followed = -1;
	if (r->active_since_ns != 0 && s->now_ns - r->active_since_ns >= settled_term_ns)
		r->failures = 0;
	r->active_since_ns = 0;
	if (r->leave_reason == TENURE_REASON_GAIN_FAILED || r->leave_reason == TENURE_REASON_SERVICE_EXIT)
		role_wait_before_next(s);
	if (token != 0)
		role_give_up(s, token);
	role_give_up_passed_over(s);
	role_go_idle(s, r->leave_reason);
	r->planned = false;
}

void role_panic(struct step *s)
{
	s->r->panic_told = false;
	s->r->not_now = false; /* that gain said so does not excuse this */
	role_move(s, ROLE_PANIC, s->r->leave_reason);
}

static void panic_or_retry(struct step *s)
{
	struct role *r = s->r;

	if (r->token != 0) {
		role_panic(s);
		return;
	}
	/* At start no term is to be lost, so the hook can be tried again and again. */
	role_wait_before_next(s);
	if (r->state == ROLE_FENCING)
		role_move(s, ROLE_STARTING, TENURE_REASON_STARTUP);
}

/* Also when the service outlives its KILL, whatever lose says. */
static void lose_failed(struct step *s)
{
	struct role *r = s->r;

	role_kill_all(s);
	if (!r->config.has[ROLE_HOOK_FENCE]) {
		panic_or_retry(s);
		return;
	}
	r->fence_tried = true;
	role_run(s, ROLE_HOOK_FENCE, role_fence_limit(r, s->now_ns), r->leave_reason, ROLE_FENCING);
	role_move(s, ROLE_FENCING, r->leave_reason);
}

/* Its exit status is no news any more, but the service may still be there for fence to cut off. */
void role_fence_from_panic(struct step *s)
{
	struct role *r = s->r;

	if (r->fence_tried || r->forced || !r->config.has[ROLE_HOOK_FENCE])
		return;
	role_move(s, ROLE_DEMOTING, r->leave_reason);
	lose_failed(s);
}

void role_settle_demoting(struct step *s)
{
	struct role *r = s->r;
	bool lose = r->config.has[ROLE_HOOK_LOSE];
	bool too_late = s->now_ns >= role_schedule(r).kill_ns && r->config.has[ROLE_HOOK_FENCE] && !r->from_panic;

	if (r->hook != ROLE_HOOK_NONE)
		return;
	if (!lose && !r->service)
		left_office(s);
	else if (r->service && !r->service_outlived && !r->lose_tried && (!too_late || r->service_kill_ns != 0))
		role_end_service(s);
	else if (too_late || r->lose_tried)
		lose_failed(s);
	else if (!lose)
		lose_failed(s);
	else {
		r->lose_tried = true;
		role_run(s, ROLE_HOOK_LOSE, role_lose_limit(r, s->now_ns), r->leave_reason, ROLE_DEMOTING);
	}
}

void role_settle_panic(struct step *s)
{
	struct role *r = s->r;

	if (r->stopping && !r->forced && !r->recovered && r->hook == ROLE_HOOK_NONE) {
		r->recovered = true;
		role_begin_demotion(s, TENURE_REASON_STOP, false);
	} else if (r->service_went && !r->forced && r->hook == ROLE_HOOK_NONE) {
		role_begin_demotion(s, r->leave_reason, false);
	} else if (s->now_ns >= role_panic_at(r)) {
		r->panic_told = true;
		role_act(s, ROLE_DO_ON_PANIC);
	}
}

void role_lose_done(struct step *s, bool ok)
{
	struct role *r = s->r;

	if (r->state == ROLE_STARTING) {
		if (ok)
			role_establish(s);
		else if (!r->stopping || r->lose_owed)
			lose_failed(s);
	} else if (ok && !r->service) {
		left_office(s);
	} else {
		lose_failed(s);
	}
}

void role_fence_done(struct step *s, bool ok)
{
	struct role *r = s->r;

	if (!ok) {
		panic_or_retry(s);
	} else if (r->token != 0) {
		left_office(s);
	} else {
		role_establish(s);
		role_move(s, ROLE_STARTING, TENURE_REASON_STARTUP);
	}
}

void role_on_service_gone(struct step *s)
{
	struct role *r = s->r;

	if (!r->service)
		return;
	r->service = false;
	r->service_kill_ns = r->service_killed_ns = 0;
	r->service_outlived = false;
	/* One that has outlived its KILL stood in the way. */
	r->service_went = r->state == ROLE_FENCING || r->state == ROLE_PANIC;
	role_demote(s, TENURE_REASON_SERVICE_EXIT, true);
}
