/*
 * The role core. See role.h.
 *
 * Every step looks at the clock first, then takes the event in, then settles: it does what the state
 * calls for until nothing changes any more. Only move() changes the state.
 */
#include "core/role_internal.h"

#include <assert.h>
#include <string.h>

static const int64_t reap_wait_ns = NS_PER_S;        /* how long a killed hook may take to go away */
static const int64_t leave_wait_ns = 3 * NS_PER_S;   /* how long a stop waits for the queue to be left */
static const int64_t settled_term_ns = 60 * NS_PER_S;/* a term this long makes up for failures before it */

enum { SETTLE_BOUND = 16 };

struct step {
	struct role *r;
	struct role_update *update;
	int64_t now_ns;
};

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

#define TO(state) (1u << ROLE_##state)

/* From each state, the states it may change to. */
static const unsigned allowed_moves[] = {
	[ROLE_STARTING] = TO(FOLLOWING) | TO(STANDBY) | TO(OUT) | TO(FENCING),
	[ROLE_FOLLOWING] = TO(STANDBY) | TO(OUT),
	[ROLE_STANDBY] = TO(FOLLOWING) | TO(PROMOTING) | TO(OUT),
	[ROLE_PROMOTING] = TO(ACTIVE) | TO(DEMOTING),
	[ROLE_ACTIVE] = TO(DEMOTING),
	[ROLE_DEMOTING] = TO(FENCING) | TO(PANIC) | TO(FOLLOWING) | TO(STANDBY) | TO(OUT),
	[ROLE_FENCING] = TO(PANIC) | TO(FOLLOWING) | TO(STANDBY) | TO(OUT) | TO(STARTING),
	[ROLE_PANIC] = TO(DEMOTING),
	[ROLE_OUT] = TO(FOLLOWING) | TO(STANDBY),
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

/* ---- actions ---- */

static struct role_action *act(struct step *s, enum role_action_type type)
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

static void move(struct step *s, enum role_state to, enum tenure_reason reason)
{
	struct role *r = s->r;
	struct role_action *a;

	assert(allowed_moves[r->state] & (1u << to));
	a = act(s, ROLE_DO_CHANGED);
	a->state = to;
	a->reason = reason;
	a->planned = r->planned;
	r->state = to;
	r->reason = reason;
	r->transitions++;
}

/* Starts a hook. IN is the state that it is told. */
static void run(struct step *s, enum role_hook hook, int64_t limit_ns, enum tenure_reason reason, enum role_state in)
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
	a = act(s, ROLE_DO_RUN);
	a->hook = hook;
	a->run = r->run;
	a->limit_ns = limit_ns;
	a->reason = reason;
	a->planned = r->planned;
	a->state = in;
	if (hook == ROLE_HOOK_FOLLOW)
		a->token = r->following;
	if (hook == ROLE_HOOK_FENCE_PEER)
		a->token = r->peer;
}

static void send_term(struct step *s)
{
	if (s->r->hook == ROLE_HOOK_NONE || s->r->term_sent_ns != 0)
		return;
	s->r->term_sent_ns = s->now_ns;
	act(s, ROLE_DO_TERM)->hook = s->r->hook;
}

/* Once after a hook was started: what it leaves behind is part of it. */
static void kill_all(struct step *s)
{
	if (s->r->killed)
		return;
	s->r->killed = true;
	act(s, ROLE_DO_KILL)->hook = s->r->hook;
}

/*
 * A process in an uninterruptible sleep does not die. Until the schedule's end it is worth waiting for, since fence
 * can still follow; the end as it is now, for a lease that goes on must not hold up a stop.
 */
static void send_kill(struct step *s)
{
	struct role *r = s->r;

	assert(r->hook != ROLE_HOOK_NONE && r->outlives_ns == 0);
	r->outlives_ns = s->now_ns + reap_wait_ns;
	if (r->token != 0)
		r->outlives_ns = max64(r->outlives_ns, role_schedule(r).out_ns);
	kill_all(s);
}

static void stand(struct step *s)
{
	s->r->standing = true;
	act(s, ROLE_DO_STAND);
}

static void retire(struct step *s)
{
	s->r->standing = false;
	s->r->leave_by_ns = s->now_ns + leave_wait_ns;
	act(s, ROLE_DO_RETIRE);
}

static void give_up(struct step *s, int64_t token)
{
	s->r->standing = false;
	s->r->leave_by_ns = s->now_ns + leave_wait_ns;
	act(s, ROLE_DO_GIVE_UP)->token = token;
}

static void answer_peer(struct step *s, int64_t token, bool ok)
{
	struct role_action *a = act(s, ROLE_DO_PEER_FENCED);

	a->token = token;
	a->ok = ok;
}

/* ---- demotion ---- */

/* The demotion under way must not take longer than a forced one may. */
static void force(struct step *s)
{
	struct role *r = s->r;

	r->planned = false;
	if (r->hook == ROLE_HOOK_LOSE) {
		int64_t limit_ns = s->now_ns - r->hook_started_ns + r->config.budget.lose_ns;
		r->hook_limit_ns = r->hook_limit_ns == 0 ? limit_ns : min64(r->hook_limit_ns, limit_ns);
	}
}

static void begin_demotion(struct step *s, enum tenure_reason reason, bool planned)
{
	struct role *r = s->r;

	r->spent = r->token;
	r->leave_reason = reason;
	r->planned = planned;
	r->from_panic = r->state == ROLE_PANIC;
	r->lose_tried = r->fence_tried = r->killed = false;
	move(s, ROLE_DEMOTING, reason);
}

static void demote(struct step *s, enum tenure_reason reason, bool planned)
{
	struct role *r = s->r;

	if (r->state == ROLE_DEMOTING && !planned)
		force(s);
	if (r->state != ROLE_PROMOTING && r->state != ROLE_ACTIVE)
		return;
	begin_demotion(s, reason, planned);
	send_term(s); /* a gain hook still at work */
}

static int64_t backed_off(const struct step *s, unsigned failures)
{
	int64_t wait_ns = s->r->config.backoff_ns;

	for (unsigned i = 0; i < failures && wait_ns < s->r->config.backoff_max_ns; i++)
		wait_ns *= 2;
	return s->now_ns + min64(wait_ns, s->r->config.backoff_max_ns);
}

static void wait_before_next(struct step *s)
{
	struct role *r = s->r;

	r->retry_at_ns = backed_off(s, r->not_now ? 0 : r->failures++);
}

static bool must_follow(const struct role *r)
{
	return r->config.has[ROLE_HOOK_FOLLOW] && r->followed == -1;
}

/* Not in office: what next? */
static void go_idle(struct step *s, enum tenure_reason reason)
{
	struct role *r = s->r;
	bool backing_off = r->retry_at_ns > s->now_ns;

	if (r->stopping)
		move(s, ROLE_OUT, TENURE_REASON_STOP);
	else if (must_follow(r))
		move(s, ROLE_FOLLOWING, reason);
	else if (!r->config.candidate || backing_off)
		move(s, ROLE_OUT, reason);
	else {
		move(s, ROLE_STANDBY, reason);
		stand(s);
	}
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
	if (r->leave_reason == TENURE_REASON_GAIN_FAILED)
		wait_before_next(s);
	if (token != 0)
		give_up(s, token);
	if (r->passed_over != 0) {
		r->spent = max64(r->spent, r->passed_over);
		give_up(s, r->passed_over);
		r->passed_over = 0;
	}
	go_idle(s, r->leave_reason);
	r->planned = false;
}

static void panic(struct step *s)
{
	s->r->panic_told = false;
	move(s, ROLE_PANIC, s->r->leave_reason);
}

static void panic_or_retry(struct step *s)
{
	struct role *r = s->r;

	if (r->token != 0) {
		panic(s);
		return;
	}
	/* At start nothing is held, so the hook can be tried again and again. */
	wait_before_next(s);
	if (r->state == ROLE_FENCING)
		move(s, ROLE_STARTING, TENURE_REASON_STARTUP);
}

static void lose_failed(struct step *s)
{
	struct role *r = s->r;

	kill_all(s);
	if (!r->config.has[ROLE_HOOK_FENCE]) {
		panic_or_retry(s);
		return;
	}
	r->fence_tried = true;
	run(s, ROLE_HOOK_FENCE, role_fence_limit(r, s->now_ns), r->leave_reason, ROLE_FENCING);
	move(s, ROLE_FENCING, r->leave_reason);
}

/*
 * A hook that has outlived its KILL is gone at last. Its exit status is no news any more, but the service may still
 * be there for fence to cut off.
 */
static void fence_from_panic(struct step *s)
{
	struct role *r = s->r;

	if (r->fence_tried || r->forced || !r->config.has[ROLE_HOOK_FENCE])
		return;
	move(s, ROLE_DEMOTING, r->leave_reason);
	lose_failed(s);
}

/* ---- the clock ---- */

static void check_clock(struct step *s)
{
	struct role *r = s->r;
	int64_t due_ns = role_demote_at(r);

	if (s->now_ns >= due_ns) {
		/* Far too late for this point: we were not running. */
		bool slept = s->now_ns - due_ns > tenure_budget_margin(r->timeout_ns) / 2;
		demote(s, slept ? TENURE_REASON_PAUSE : TENURE_REASON_LEASE, false);
	}
	if (s->now_ns >= role_term_at(r)) {
		send_term(s);
		if (r->state == ROLE_PROMOTING)
			demote(s, TENURE_REASON_GAIN_FAILED, true);
	}
	if (s->now_ns >= role_kill_at(r))
		send_kill(s);
	if (s->now_ns >= role_outlives_at(r)) {
		r->outlived = true;
		if (r->token != 0)
			panic(s);
		else if (r->hook == ROLE_HOOK_FENCE_PEER)
			answer_peer(s, r->peer, false); /* somebody else may get further */
	}
	if (s->now_ns >= r->leave_by_ns)
		r->leave_by_ns = 0;
	if (s->now_ns >= r->retry_at_ns)
		r->retry_at_ns = 0;
	if (s->now_ns >= r->follow_at_ns)
		r->follow_at_ns = 0;
}

/* ---- what each state calls for ---- */

static void settle_starting(struct step *s)
{
	struct role *r = s->r;

	if (r->hook != ROLE_HOOK_NONE)
		return;
	if (r->stopping) {
		move(s, ROLE_OUT, TENURE_REASON_STOP);
	} else if (r->established) {
		r->retry_at_ns = 0;
		r->failures = 0;
		go_idle(s, TENURE_REASON_STARTUP);
	} else if (s->now_ns >= r->retry_at_ns) {
		r->planned = true;
		r->leave_reason = TENURE_REASON_STARTUP;
		run(s, ROLE_HOOK_LOSE, r->config.handoff_ns, TENURE_REASON_STARTUP, ROLE_STARTING);
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

static void settle_following(struct step *s)
{
	struct role *r = s->r;
	int64_t target = follow_target(r);

	if (r->hook != ROLE_HOOK_NONE) {
		if (r->stopping || (target != -1 && target != r->following))
			send_term(s);
		return;
	}
	if (r->stopping) {
		move(s, ROLE_OUT, TENURE_REASON_STOP);
		return;
	}
	if (!r->config.has[ROLE_HOOK_FOLLOW]) {
		go_idle(s, r->reason); /* other settings since the last step */
		return;
	}
	if (target == -1 || s->now_ns < r->follow_at_ns)
		return;
	if (r->followed == target) {
		go_idle(s, r->reason);
		return;
	}
	r->following = target;
	r->planned = true;
	run(s, ROLE_HOOK_FOLLOW, r->config.follow_ns, r->reason, ROLE_FOLLOWING);
}

static bool leader_to_follow(const struct role *r)
{
	int64_t target = follow_target(r);

	return r->config.has[ROLE_HOOK_FOLLOW] && target > 0 && target != r->followed;
}

static void settle_standby(struct step *s)
{
	struct role *r = s->r;

	if (leader_to_follow(r))
		r->followed = -1;
	if (r->standing && (r->stopping || must_follow(r)))
		retire(s);
	if (r->standing)
		return;
	if (r->hook != ROLE_HOOK_NONE)
		send_term(s); /* a fence_peer hook that nobody waits for */
	else if (r->stopping)
		move(s, ROLE_OUT, TENURE_REASON_STOP);
	else if (must_follow(r))
		move(s, ROLE_FOLLOWING, TENURE_REASON_ELECTION);
	else
		stand(s); /* after an office that was given back */
}

static void settle_demoting(struct step *s)
{
	struct role *r = s->r;
	bool too_late = s->now_ns >= role_schedule(r).kill_ns && r->config.has[ROLE_HOOK_FENCE] && !r->from_panic;

	if (r->hook != ROLE_HOOK_NONE)
		return;
	if (!r->config.has[ROLE_HOOK_LOSE]) {
		left_office(s);
	} else if (!r->lose_tried && !too_late) {
		r->lose_tried = true;
		run(s, ROLE_HOOK_LOSE, role_lose_limit(r, s->now_ns), r->leave_reason, ROLE_DEMOTING);
	} else {
		lose_failed(s);
	}
}

static void settle_panic(struct step *s)
{
	struct role *r = s->r;

	if (r->stopping && !r->forced && !r->recovered && r->hook == ROLE_HOOK_NONE) {
		r->recovered = true;
		begin_demotion(s, TENURE_REASON_STOP, false);
	} else if (s->now_ns >= role_panic_at(r)) {
		r->panic_told = true;
		act(s, ROLE_DO_ON_PANIC);
	}
}

static void settle_out(struct step *s)
{
	struct role *r = s->r;

	if (r->stopping || !r->established)
		return;
	if (leader_to_follow(r))
		r->followed = -1;
	else if (!r->config.candidate || s->now_ns < r->retry_at_ns)
		return;
	go_idle(s, r->reason);
}

static void settle(struct step *s)
{
	struct role *r = s->r;

	for (unsigned i = 0; i < SETTLE_BOUND; i++) {
		uint32_t transitions = r->transitions;

		switch (r->state) {
		case ROLE_STARTING:
			settle_starting(s);
			break;
		case ROLE_FOLLOWING:
			settle_following(s);
			break;
		case ROLE_STANDBY:
			settle_standby(s);
			break;
		case ROLE_DEMOTING:
			settle_demoting(s);
			break;
		case ROLE_PANIC:
			settle_panic(s);
			break;
		case ROLE_OUT:
			settle_out(s);
			break;
		default:
			break;
		}
		if (r->transitions == transitions)
			return;
		assert(i + 1 < SETTLE_BOUND);
	}
}

/* ---- events ---- */

static void become_active(struct step *s)
{
	struct role *r = s->r;

	r->active_since_ns = s->now_ns;
	act(s, ROLE_DO_CONFIRM);
	move(s, ROLE_ACTIVE, r->reason);
}

static void on_lead(struct step *s, const struct role_event *event)
{
	struct role *r = s->r;
	int64_t token = event->u.lead.token;

	r->token = token;
	r->timeout_ns = event->u.lead.lease_timeout_ns;
	r->lease_start_ns = event->u.lead.lease_start_ns;
	r->lease_over = false;
	r->planned = event->u.lead.reason == TENURE_REASON_HANDOFF || event->u.lead.reason == TENURE_REASON_SWITCHOVER;
	r->not_now = false;
	if (r->config.has[ROLE_HOOK_GAIN]) {
		run(s, ROLE_HOOK_GAIN, r->config.gain_ns, event->u.lead.reason, ROLE_PROMOTING);
		move(s, ROLE_PROMOTING, event->u.lead.reason);
	} else {
		move(s, ROLE_PROMOTING, event->u.lead.reason);
		become_active(s);
	}
}

static bool takes_office(const struct step *s, const struct role_event *event)
{
	const struct role *r = s->r;
	int64_t token = event->u.lead.token;
	int64_t deadline_ns = event->u.lead.lease_start_ns + event->u.lead.lease_timeout_ns;
	struct tenure_schedule at = tenure_schedule_for(&r->config.budget, event->u.lead.lease_timeout_ns, deadline_ns);

	return r->state == ROLE_STANDBY && !r->stopping && r->hook == ROLE_HOOK_NONE && token > r->spent &&
	       event->u.lead.lease_start_ns <= s->now_ns && s->now_ns < at.demote_ns;
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
static void lead(struct step *s, const struct role_event *event)
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
		on_lead(s, event);
		return;
	}
	r->spent = max64(r->spent, token);
	give_up(s, token);
	if (takes) {
		r->not_now = false;
		wait_before_next(s);
		move(s, ROLE_OUT, refusal);
	}
}

static void on_lease(struct step *s, int64_t start_ns, int64_t timeout_ns)
{
	struct role *r = s->r;

	/* None that starts in the future, none that is older; T only ever shrinks within a session. */
	if (r->token == 0 || r->lease_over || start_ns > s->now_ns)
		return;
	r->timeout_ns = min64(r->timeout_ns, timeout_ns);
	if (start_ns > r->lease_start_ns)
		r->lease_start_ns = start_ns;
}

static void on_leader(struct step *s, const struct role_event *event)
{
	struct role *r = s->r;

	r->leader_known = true;
	r->leader_token = event->u.leader.token;
	r->leader_active = event->u.leader.active;
	r->leader_gone = event->u.leader.gone;
	r->leader_self = event->u.leader.self;
}

static void on_fence_peer(struct step *s, int64_t token, bool wanted)
{
	struct role *r = s->r;
	bool runs = r->hook == ROLE_HOOK_FENCE_PEER, same = runs && token == r->peer && !r->outlived;

	/* What is not wanted any more is ended; so is what runs for another than the elector asks for now. */
	if (runs && wanted != same)
		send_term(s);
	if (!wanted || same)
		return; /* the end of the one that runs is the answer */
	if (r->state != ROLE_STANDBY || r->hook != ROLE_HOOK_NONE || !r->config.has[ROLE_HOOK_FENCE_PEER]) {
		answer_peer(s, token, false);
		return;
	}
	r->peer = token;
	r->planned = false;
	run(s, ROLE_HOOK_FENCE_PEER, r->config.fence_peer_ns, TENURE_REASON_ELECTION, ROLE_STANDBY);
}

static void on_floor(struct role *r, int64_t seen, int64_t durable)
{
	/* An operator lets lower tokens in: those of a new ensemble, to which the former one's mean nothing. */
	if (seen < r->floor_seen)
		r->spent = min64(r->spent, max64(seen, r->token));
	r->floor_seen = seen;
	r->floor_durable = durable;
}

static void gain_done(struct step *s, const struct role_event *event)
{
	struct role *r = s->r;

	if (r->state != ROLE_PROMOTING)
		return; /* it was killed for a demotion, which goes on now */
	if (event->u.hook.ok) {
		become_active(s);
		return;
	}
	r->not_now = event->u.hook.not_now;
	demote(s, TENURE_REASON_GAIN_FAILED, true);
}

static void lose_done(struct step *s, bool ok)
{
	struct role *r = s->r;

	if (r->state == ROLE_STARTING) {
		if (ok)
			r->established = true;
		else if (!r->stopping)
			lose_failed(s);
	} else if (ok) {
		left_office(s);
	} else {
		lose_failed(s);
	}
}

static void fence_done(struct step *s, bool ok)
{
	struct role *r = s->r;

	if (!ok) {
		panic_or_retry(s);
	} else if (r->token != 0) {
		left_office(s);
	} else {
		r->established = true;
		move(s, ROLE_STARTING, TENURE_REASON_STARTUP);
	}
}

static void follow_done(struct step *s, bool ok)
{
	struct role *r = s->r;

	if (ok && r->term_sent_ns == 0) {
		r->followed = r->following;
		r->follow_failures = 0;
	} else if (r->term_sent_ns == 0 || follow_target(r) == r->following) {
		r->follow_at_ns = backed_off(s, r->follow_failures++);
	}
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
		fence_from_panic(s);
		return;
	}
	switch (hook) {
	case ROLE_HOOK_GAIN:
		gain_done(s, event);
		break;
	case ROLE_HOOK_LOSE:
		lose_done(s, ok);
		break;
	case ROLE_HOOK_FENCE:
		fence_done(s, ok);
		break;
	case ROLE_HOOK_FOLLOW:
		follow_done(s, ok);
		break;
	case ROLE_HOOK_FENCE_PEER:
		if (!answered)
			answer_peer(s, r->peer, ok && r->term_sent_ns == 0);
		break;
	default:
		break;
	}
}

static void on_stop(struct step *s, bool forced)
{
	struct role *r = s->r;

	r->stopping = true;
	r->forced = r->forced || forced;
	demote(s, TENURE_REASON_STOP, !r->forced);
	if (r->state == ROLE_STARTING && r->forced)
		force(s);
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
	assert(r->hook != ROLE_HOOK_NONE || r->state != ROLE_STANDBY || (r->standing && !r->stopping));
	assert(r->state != ROLE_ACTIVE || r->hook == ROLE_HOOK_NONE);
	assert((r->hook == ROLE_HOOK_FENCE) == (r->state == ROLE_FENCING) || r->outlived);
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

void role_step(struct role *r, const struct role_event *event, struct role_update *update)
{
	struct step s = { r, update, event->now_ns };

	update->count = 0;
	check_clock(&s);
	switch (event->type) {
	case ROLE_EV_BEGIN:
		r->established = event->u.skip_lose || !r->config.has[ROLE_HOOK_LOSE];
		break;
	case ROLE_EV_TIMER:
		break;
	case ROLE_EV_LEAD:
		lead(&s, event);
		break;
	case ROLE_EV_LEASE:
		on_lease(&s, event->u.lease.start_ns, event->u.lease.timeout_ns);
		break;
	case ROLE_EV_LOST:
		if (r->token == 0 || event->u.end.token != r->token)
			break;
		r->lease_over = true;
		demote(&s, event->u.end.reason, false);
		break;
	case ROLE_EV_LEAVE:
		if (r->token != 0 && (event->u.end.token == 0 || event->u.end.token == r->token))
			demote(&s, event->u.end.reason, true);
		break;
	case ROLE_EV_LEFT:
		r->leave_by_ns = 0;
		break;
	case ROLE_EV_LEADER:
		on_leader(&s, event);
		break;
	case ROLE_EV_HOOK_DONE:
		on_hook_done(&s, event);
		break;
	case ROLE_EV_FENCE_PEER:
		on_fence_peer(&s, event->u.fence_peer.token, event->u.fence_peer.wanted);
		break;
	case ROLE_EV_FLOOR:
		on_floor(r, event->u.floor.seen, event->u.floor.durable);
		break;
	case ROLE_EV_RECOVER:
		if (r->state == ROLE_PANIC && r->hook == ROLE_HOOK_NONE)
			begin_demotion(&s, r->leave_reason, false);
		break;
	case ROLE_EV_STOP:
		on_stop(&s, event->u.force);
		break;
	}
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
