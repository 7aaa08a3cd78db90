/* The role core: into office, and in it. */
#include "core/role_internal.h"

static void become_active(struct step *s)
{
	struct role *r = s->r;

	r->active_since_ns = s->now_ns;
	if (r->config.service)
		role_start_service(s);
	role_act(s, ROLE_DO_CONFIRM);
	role_move(s, ROLE_ACTIVE, r->reason);
}

static void take_office(struct step *s, const struct role_event *event)
{
	struct role *r = s->r;
	enum tenure_reason reason = r->adopting ? TENURE_REASON_ADOPT : event->u.lead.reason;

	r->token = event->u.lead.token;
	r->timeout_ns = event->u.lead.lease_timeout_ns;
	r->lease_start_ns = event->u.lead.lease_start_ns;
	r->lease_over = false;
	r->planned = reason == TENURE_REASON_HANDOFF || reason == TENURE_REASON_SWITCHOVER;
	r->not_now = false;
	r->adopting = false;
	r->established = true;
	if (r->config.has[ROLE_HOOK_GAIN]) {
		role_run(s, ROLE_HOOK_GAIN, r->config.gain_ns, reason, ROLE_PROMOTING);
		role_move(s, ROLE_PROMOTING, reason);
	} else {
		role_move(s, ROLE_PROMOTING, reason);
		become_active(s);
	}
}

static bool takes_office(const struct step *s, const struct role_event *event)
{
	const struct role *r = s->r;
	int64_t token = event->u.lead.token;
	int64_t deadline_ns = event->u.lead.lease_start_ns + event->u.lead.lease_timeout_ns;
	struct tenure_schedule at = tenure_schedule_for(&r->config.budget, event->u.lead.lease_timeout_ns, deadline_ns);

	if (r->adopting && event->u.lead.others)
		return false;
	return r->state == ROLE_STANDBY && (r->established || r->adopting) && !r->stopping &&
	       r->hook == ROLE_HOOK_NONE && token > r->spent && event->u.lead.lease_start_ns <= s->now_ns &&
	       s->now_ns < at.demote_ns;
}

/* What the floor has against TOKEN; NONE: nothing. */
static enum tenure_reason floor_refusal(const struct role *r, int64_t token)
{
	if (!r->config.floor)
		return TENURE_REASON_NONE;
	if (token <= r->floor_seen)
		return TENURE_REASON_TOKEN_REGRESSED;
	return token > r->floor_durable ? TENURE_REASON_GAIN_FAILED : TENURE_REASON_NONE;
}

/* An office that is not taken is given back. */
void role_on_lead(struct step *s, const struct role_event *event)
{
	struct role *r = s->r;
	int64_t token = event->u.lead.token;
	bool takes = takes_office(s, event);
	enum tenure_reason refusal = floor_refusal(r, token);

	if (role_in_office(r)) {
		/* Said again by a new elector; or another term's, and the service is not out of this one yet. */
		if (token > r->token)
			r->passed_over = token;
		return;
	}
	if (takes && refusal == TENURE_REASON_NONE) {
		take_office(s, event);
		return;
	}
	if (token == r->left_token)
		return; /* given up when lose has ended it */
	if (!r->established && (r->adopting || r->lose_owed)) {
		r->passed_over = max64(r->passed_over, token);
		role_end_adoption(s);
		return;
	}
	r->spent = max64(r->spent, token);
	role_give_up(s, token);
	if (takes) {
		r->not_now = false;
		role_wait_before_next(s);
		role_move(s, ROLE_OUT, refusal);
	}
}

void role_on_lease(struct step *s, int64_t start_ns, int64_t timeout_ns)
{
	struct role *r = s->r;

	/* None that starts in the future, none that is older; T only ever shrinks within a session. */
	if ((r->token == 0 && r->left_token == 0) || r->lease_over || start_ns > s->now_ns)
		return;
	r->timeout_ns = r->timeout_ns == 0 ? timeout_ns : min64(r->timeout_ns, timeout_ns);
	if (start_ns > r->lease_start_ns)
		r->lease_start_ns = start_ns;
}

void role_gain_done(struct step *s, const struct role_event *event)
{
	struct role *r = s->r;

	if (r->state != ROLE_PROMOTING)
		return; /* it was killed for a demotion, which goes on now */
	if (event->u.hook.ok) {
		become_active(s);
		return;
	}
	r->not_now = event->u.hook.not_now;
	role_demote(s, TENURE_REASON_GAIN_FAILED, true);
}

void role_settle_active(struct step *s)
{
	/* One that was resumed has yet to hear whether the election is paused. */
	if (!role_fit(s->r) && s->r->leader_known && !s->r->paused)
		role_demote(s, TENURE_REASON_HEALTH, true);
}
