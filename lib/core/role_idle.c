/* The role core: out of office. Back-off, whom to follow, when to stand. */
#include "core/role_internal.h"

bool role_fit(const struct role *r)
{
	return !r->config.check || r->healthy;
}

int64_t role_backed_off(const struct step *s, unsigned failures)
{
	int64_t wait_ns = s->r->config.backoff_ns;

	for (unsigned i = 0; i < failures && wait_ns < s->r->config.backoff_max_ns; i++)
		wait_ns *= 2;
	return s->now_ns + min64(wait_ns, s->r->config.backoff_max_ns);
}

void role_wait_before_next(struct step *s)
{
	struct role *r = s->r;

	r->retry_at_ns = role_backed_off(s, r->not_now ? 0 : r->failures++);
}

static bool must_follow(const struct role *r)
{
	return r->config.has[ROLE_HOOK_FOLLOW] && r->followed == -1 && !r->adopting;
}

void role_go_idle(struct step *s, enum tenure_reason reason)
{
	struct role *r = s->r;
	bool backing_off = r->retry_at_ns > s->now_ns;

	if (r->stopping)
		role_move(s, ROLE_OUT, TENURE_REASON_STOP);
	else if (must_follow(r))
		role_move(s, ROLE_FOLLOWING, reason);
	else if (!r->config.candidate || backing_off || r->service) /* one that fence has cut off may still lie there */
		role_move(s, ROLE_OUT, reason);
	else if (!role_fit(r))
		role_move(s, ROLE_OUT, TENURE_REASON_HEALTH);
	else {
		role_move(s, ROLE_STANDBY, reason);
		role_stand(s);
	}
}

/* Whom to follow now: a token, 0 for nobody, -1 when that is not settled yet. */
static int64_t follow_target(const struct role *r)
{
	if (!r->leader_known)
		return -1;
	if (r->leader_gone || r->leader_self || r->leader_token == 0)
		return 0;
	return r->leader_active ? r->leader_token : -1;
}

void role_settle_following(struct step *s)
{
	struct role *r = s->r;
	int64_t target = follow_target(r);

	if (r->hook != ROLE_HOOK_NONE) {
		if (r->stopping || (target != -1 && target != r->following))
			role_send_term(s);
		return;
	}
	if (r->stopping) {
		role_move(s, ROLE_OUT, TENURE_REASON_STOP);
		return;
	}
	if (!r->config.has[ROLE_HOOK_FOLLOW]) {
		role_go_idle(s, r->reason); /* other settings since the last step */
		return;
	}
	if (target == -1 || s->now_ns < r->follow_at_ns)
		return;
	if (r->followed == target) {
		role_go_idle(s, r->reason);
		return;
	}
	r->following = target;
	r->planned = true;
	role_run(s, ROLE_HOOK_FOLLOW, r->config.follow_ns, r->reason, ROLE_FOLLOWING);
}

static bool leader_to_follow(const struct role *r)
{
	int64_t target = follow_target(r);

	return r->config.has[ROLE_HOOK_FOLLOW] && target > 0 && target != r->followed;
}

void role_settle_standby(struct step *s)
{
	struct role *r = s->r;
	bool lapsed; /* an adoption of which nothing came */

	if (leader_to_follow(r))
		r->followed = -1;
	if (r->standing && !role_fit(r))
		role_end_adoption(s);
	lapsed = !r->adopting && !r->established;
	if (r->standing && !lapsed && (r->stopping || must_follow(r) || !role_fit(r)))
		role_retire(s);
	if (r->standing && !lapsed)
		return;
	if (r->hook != ROLE_HOOK_NONE)
		role_send_term(s); /* a fence_peer hook that nobody waits for */
	else if (lapsed)
		role_move(s, ROLE_STARTING, TENURE_REASON_STARTUP);
	else if (r->stopping)
		role_move(s, ROLE_OUT, TENURE_REASON_STOP);
	else if (must_follow(r))
		role_move(s, ROLE_FOLLOWING, TENURE_REASON_ELECTION);
	else if (role_fit(r))
		role_stand(s); /* after an office that was given back */
	else if (!r->adopting)
		role_move(s, ROLE_OUT, TENURE_REASON_HEALTH);
}

void role_settle_out(struct step *s)
{
	struct role *r = s->r;

	if (r->stopping || !r->established)
		return;
	if (leader_to_follow(r))
		r->followed = -1;
	else if (!r->config.candidate || s->now_ns < r->retry_at_ns || !role_fit(r) || r->service)
		return;
	role_go_idle(s, r->reason);
}

void role_on_leader(struct step *s, const struct role_event *event)
{
	struct role *r = s->r;

	r->leader_known = true;
	r->leader_token = event->u.leader.token;
	r->leader_active = event->u.leader.active;
	r->leader_gone = event->u.leader.gone;
	r->leader_self = event->u.leader.self;
	r->paused = event->u.leader.paused;
	/* Another member has led since: the service that waits for a term has no right to one. */
	if (event->u.leader.others)
		role_end_adoption(s);
}

void role_on_fence_peer(struct step *s, int64_t token, bool wanted)
{
	struct role *r = s->r;
	bool runs = r->hook == ROLE_HOOK_FENCE_PEER, same = runs && token == r->peer && !r->outlived;

	/* What is not wanted any more is ended; so is what runs for another than the elector asks for now. */
	if (runs && wanted != same)
		role_send_term(s);
	if (!wanted || same)
		return; /* the end of the one that runs is the answer */
	if (r->state != ROLE_STANDBY || !r->standing || r->hook != ROLE_HOOK_NONE ||
	    !r->config.has[ROLE_HOOK_FENCE_PEER]) {
		role_answer_peer(s, token, false);
		return;
	}
	r->peer = token;
	r->planned = false;
	role_run(s, ROLE_HOOK_FENCE_PEER, r->config.fence_peer_ns, TENURE_REASON_ELECTION, ROLE_STANDBY);
}

void role_follow_done(struct step *s, bool ok)
{
	struct role *r = s->r;

	if (ok && r->term_sent_ns == 0) {
		r->followed = r->following;
		r->follow_failures = 0;
	} else if (r->term_sent_ns == 0 || follow_target(r) == r->following) {
		r->follow_at_ns = role_backed_off(s, r->follow_failures++);
	}
}
