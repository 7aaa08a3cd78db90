/* The role core: from the start until the service is known to be out of office. */
#include "core/role_internal.h"

void role_establish(struct step *s)
{
	struct role *r = s->r;
	int64_t left = r->left_token;

	r->established = true;
	r->lose_owed = false;
	r->left_token = 0;
	r->timeout_ns = r->lease_start_ns = 0;
	r->lease_over = false;
	if (left != 0)
		role_give_up(s, left);
	role_give_up_passed_over(s);
	if (r->standing)
		role_retire(s); /* it was an adoption's place */
}

void role_begin(struct step *s, const struct role_event *event)
{
	struct role *r = s->r;

	switch (event->u.begin.how) {
	case ROLE_BEGIN_LOSE:
		r->left_token = event->u.begin.token;
		r->spent = max64(r->spent, r->left_token);
		r->lose_owed = r->left_token != 0;
		if (!r->config.has[ROLE_HOOK_LOSE])
			role_establish(s);
		break;
	case ROLE_BEGIN_OUT:
		role_establish(s);
		break;
	case ROLE_BEGIN_ADOPT:
		r->adopting = true;
		r->adopt_by_ns = event->u.begin.adopt_by_ns;
		if (r->config.candidate)
			role_move(s, ROLE_STANDBY, TENURE_REASON_ADOPT);
		else
			role_end_adoption(s);
		break;
	}
}

void role_end_adoption(struct step *s)
{
	struct role *r = s->r;

	if (!r->adopting)
		return;
	r->adopting = false;
	r->lose_owed = true;
	if (!r->config.has[ROLE_HOOK_LOSE])
		role_establish(s);
}

/*
 * The lease of a term that was left behind bounds the hook that ends it, to its last moment. When that is over, or a
 * stop is in a hurry, the first try is short, so that fence follows soon; what has failed then may need more time.
 */
static void run_lose(struct step *s)
{
	struct role *r = s->r;
	bool late = r->left_token != 0 && r->lease_start_ns != 0 && s->now_ns >= role_schedule(r).lose_ns;
	bool hurry = late || r->forced;

	r->planned = !hurry;
	r->leave_reason = r->left_token != 0 ? TENURE_REASON_RESTART : TENURE_REASON_STARTUP;
	role_run(s, ROLE_HOOK_LOSE, hurry && r->failures == 0 ? r->config.budget.lose_ns : r->config.handoff_ns,
		 r->leave_reason, ROLE_STARTING);
}

void role_settle_starting(struct step *s)
{
	struct role *r = s->r;

	if (r->hook != ROLE_HOOK_NONE)
		return;
	if (r->stopping && (!r->lose_owed || (r->forced && r->failures > 0))) {
		if (r->standing)
			role_retire(s);
		role_move(s, ROLE_OUT, TENURE_REASON_STOP);
	} else if (r->established) {
		r->retry_at_ns = 0;
		r->failures = 0;
		role_go_idle(s, TENURE_REASON_STARTUP);
	} else if (s->now_ns >= r->retry_at_ns) {
		run_lose(s);
	}
}
