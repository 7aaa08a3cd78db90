/* The role core: what it says. Each of these notes that it was said; role_internal.h tells what they are for. */
#include "core/role_internal.h"

#include <string.h>

static const int64_t reap_wait_ns = NS_PER_S;      /* how long a killed hook may take to go away */
static const int64_t leave_wait_ns = 3 * NS_PER_S; /* how long a stop waits for the queue to be left */

#define TO(state) (1u << ROLE_##state)

/* From each state, the states it may change to. */
static const unsigned allowed_moves[] = {
	[ROLE_STARTING] = TO(FOLLOWING) | TO(STANDBY) | TO(OUT) | TO(FENCING),
	[ROLE_FOLLOWING] = TO(STANDBY) | TO(OUT),
	[ROLE_STANDBY] = TO(STARTING) | TO(FOLLOWING) | TO(PROMOTING) | TO(OUT),
	[ROLE_PROMOTING] = TO(ACTIVE) | TO(DEMOTING),
	[ROLE_ACTIVE] = TO(DEMOTING),
	[ROLE_DEMOTING] = TO(FENCING) | TO(PANIC) | TO(FOLLOWING) | TO(STANDBY) | TO(OUT),
	[ROLE_FENCING] = TO(PANIC) | TO(FOLLOWING) | TO(STANDBY) | TO(OUT) | TO(STARTING),
	[ROLE_PANIC] = TO(DEMOTING),
	[ROLE_OUT] = TO(FOLLOWING) | TO(STANDBY),
};

struct role_action *role_act(struct step *s, enum role_action_type type)
{
	struct role_action *a;

	assert(s->update->count < ROLE_ACTIONS_MAX);
	a = &s->update->actions[s->update->count++];
	memset(a, 0, sizeof *a);
	a->type = type;
	a->token = s->r->token;
	a->state = a->old_state = s->r->state;
	return a;
}

void role_move(struct step *s, enum role_state to, enum tenure_reason reason)
{
	struct role *r = s->r;
	struct role_action *a;

	assert(allowed_moves[r->state] & (1u << to));
	a = role_act(s, ROLE_DO_CHANGED);
	a->state = to;
	a->reason = reason;
	a->planned = r->planned;
	r->state = to;
	r->reason = reason;
	r->transitions++;
}

void role_run(struct step *s, enum role_hook hook, int64_t limit_ns, enum tenure_reason reason, enum role_state in)
{
	struct role *r = s->r;
	struct role_action *a;

	assert(r->hook == ROLE_HOOK_NONE);
	r->hook = hook;
	r->run++;
	r->hook_started_ns = s->now_ns;
	r->hook_limit_ns = limit_ns;
	r->term_sent_ns = 0;
	r->outlives_ns = 0;
	r->outlived = false;
	r->killed = false;
	a = role_act(s, ROLE_DO_RUN);
	a->hook = hook;
	a->run = r->run;
	a->limit_ns = limit_ns;
	a->reason = reason;
	a->planned = r->planned;
	a->state = in;
	if (hook == ROLE_HOOK_FOLLOW)
		a->token = r->following;
	else if (hook == ROLE_HOOK_FENCE_PEER)
		a->token = r->peer;
	else if (r->token == 0)
		a->token = r->left_token;
}

void role_send_term(struct step *s)
{
	if (s->r->hook == ROLE_HOOK_NONE || s->r->term_sent_ns != 0)
		return;
	s->r->term_sent_ns = s->now_ns;
	role_act(s, ROLE_DO_TERM)->hook = s->r->hook;
}

void role_kill_all(struct step *s)
{
	if (s->r->killed)
		return;
	s->r->killed = true;
	role_act(s, ROLE_DO_KILL)->hook = s->r->hook;
	/* A standby's hook takes its own group along and no more. */
	if (s->r->token != 0)
		role_kill_service(s);
}

/*
 * A process in an uninterruptible sleep does not die. Until the schedule's end it is worth waiting for, since fence
 * can still follow; the end as it is now, for a lease that goes on must not hold up a stop.
 */
void role_send_kill(struct step *s)
{
	struct role *r = s->r;

	assert(r->hook != ROLE_HOOK_NONE && r->outlives_ns == 0);
	r->outlives_ns = s->now_ns + reap_wait_ns;
	if (r->token != 0)
		r->outlives_ns = max64(r->outlives_ns, role_schedule(r).out_ns);
	role_kill_all(s);
}

void role_stand(struct step *s)
{
	s->r->standing = true;
	role_act(s, ROLE_DO_STAND);
}

void role_retire(struct step *s)
{
	s->r->standing = false;
	s->r->leave_by_ns = s->now_ns + leave_wait_ns;
	role_act(s, ROLE_DO_RETIRE);
}

void role_give_up(struct step *s, int64_t token)
{
	s->r->standing = false;
	s->r->leave_by_ns = s->now_ns + leave_wait_ns;
	role_act(s, ROLE_DO_GIVE_UP)->token = token;
}

void role_give_up_passed_over(struct step *s)
{
	struct role *r = s->r;
	int64_t token = r->passed_over;

	if (token == 0)
		return;
	r->passed_over = 0;
	r->spent = max64(r->spent, token);
	role_give_up(s, token);
}

void role_answer_peer(struct step *s, int64_t token, bool ok)
{
	struct role_action *a = role_act(s, ROLE_DO_PEER_FENCED);

	a->token = token;
	a->ok = ok;
}

void role_start_service(struct step *s)
{
	s->r->service = true;
	s->r->service_kill_ns = 0;
	s->r->service_killed_ns = 0;
	s->r->service_outlived = false;
	role_act(s, ROLE_DO_SERVICE_START);
}

void role_end_service(struct step *s)
{
	struct role *r = s->r;

	if (!r->service || r->service_kill_ns != 0)
		return;
	r->service_kill_ns = s->now_ns + r->config.budget.stop_ns;
	if (s->now_ns >= role_service_kill_at(r))
		role_kill_service(s);
	else
		role_act(s, ROLE_DO_SERVICE_TERM);
}

void role_kill_service(struct step *s)
{
	struct role *r = s->r;

	if (!r->service || r->service_killed_ns != 0)
		return;
	r->service_killed_ns = s->now_ns;
	role_act(s, ROLE_DO_SERVICE_KILL);
}
