/*
 * The supervisor: the role core, the elector as its child, the token floor, put together as agent/supervisor
 * does it (supervisor.c, unit.c, child.c, floor.c). A turn looks at the clock first, then at a hook that has
 * ended, then takes messages.
 */
#include "sim.h"

#include <stdlib.h>

enum { TIMER_STEPS = 4 };

static void floor_advance(struct world *w, struct supervisor *s);
static void role_event(struct world *w, struct supervisor *s, struct role_event *e);

static int64_t local_now(const struct world *w, const struct supervisor *s)
{
	return host_local(s->host, w->now_ns);
}

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* ---- to the elector ---- */

void supervisor_send(struct world *w, struct supervisor *s, enum message_type type, const struct local *local)
{
	struct message *m;

	if (!s->up)
		return;
	m = message_new(w, type);
	m->u.local = *local;
	link_send(w, s->down, 0, m);
}

static void send_token(struct world *w, struct supervisor *s, enum message_type type, int64_t token)
{
	struct local local = {.token = token};

	supervisor_send(w, s, type, &local);
}

static void send_state(struct world *w, struct supervisor *s)
{
	struct local local = {.token = s->role.token, .state = (uint8_t)s->role.state};

	local.scored = s->score_seq > 0 && sim_plant != PLANT_SCORE;
	local.score = s->host->score;
	local.score_seq = s->score_seq;

	supervisor_send(w, s, LOCAL_STATE, &local);
}

static void send_floor(struct world *w, struct supervisor *s)
{
	struct local local = {.start_ns = s->floor_seen, .timeout_ns = s->floor_durable};

	supervisor_send(w, s, LOCAL_FLOOR, &local);
}

/* ---- the role core ---- */

static void leave(struct world *w, struct supervisor *s, enum message_type type, int64_t token)
{
	s->leaving = true;
	s->giving_up = type == LOCAL_GIVE_UP ? token : 0;
	send_token(w, s, type, token);
}

static void changed(struct world *w, struct supervisor *s, const struct role_action *a)
{
	TRACE(w, "host %u: %s -> %s, %s, token %llx, lease %lld ms", s->host->id,
	      role_state_name(a->old_state), role_state_name(a->state), tenure_reason_name(a->reason),
	      (long long)s->role.token, (long long)((role_lease_deadline(&s->role) - local_now(w, s)) / MS));
	mix(w, (uint64_t)a->state << 8 | s->host->id);
	if (a->state == ROLE_PANIC)
		s->host->office_panic = true;
	if (a->state == ROLE_DEMOTING)
		check_demotion(w, s->host, a->reason);
	send_state(w, s);
}

static void perform(struct world *w, struct supervisor *s, const struct role_action *a)
{
	struct local local = {.token = a->token, .flag = a->ok};

	/* What is about to be done outside is written down before. */
	if (a->type == ROLE_DO_RUN || a->type == ROLE_DO_SERVICE_START)
		supervisor_mirror(w, s);
	switch (a->type) {
	case ROLE_DO_RUN:
		check_kept(w, s->host, a);
		check_hook_start(w, s->host, a);
		hook_start(w, s->host, a);
		break;
	case ROLE_DO_TERM:
		hook_signal(w, s->host, false);
		break;
	case ROLE_DO_KILL:
		hook_signal(w, s->host, true);
		/* A hook of a standby takes its own group along and no more. */
		if (a->hook != ROLE_HOOK_FOLLOW && a->hook != ROLE_HOOK_FENCE_PEER)
			service_signal(w, s->host, true);
		break;
	case ROLE_DO_SERVICE_START:
		check_service_start(w, s->host, a->token);
		service_start(w, s->host);
		break;
	case ROLE_DO_SERVICE_TERM:
		service_signal(w, s->host, false);
		break;
	case ROLE_DO_SERVICE_KILL:
		service_signal(w, s->host, true);
		break;
	case ROLE_DO_STAND:
		send_token(w, s, LOCAL_STAND, 0);
		break;
	case ROLE_DO_RETIRE:
		leave(w, s, LOCAL_RETIRE, 0);
		break;
	case ROLE_DO_CONFIRM:
		send_token(w, s, LOCAL_CONFIRM, a->token);
		break;
	case ROLE_DO_GIVE_UP:
		leave(w, s, LOCAL_GIVE_UP, a->token);
		break;
	case ROLE_DO_CHANGED:
		changed(w, s, a);
		break;
	case ROLE_DO_PEER_FENCED:
		supervisor_send(w, s, LOCAL_PEER_FENCED, &local);
		break;
	case ROLE_DO_ON_PANIC:
		break; /* on_panic = log */
	}
}

static void floor_saw(struct world *w, struct supervisor *s, int64_t token)
{
	if (!w->params.floor || token <= s->floor_seen)
		return;
	s->floor_seen = token;
	floor_advance(w, s);
}

static void role_event(struct world *w, struct supervisor *s, struct role_event *e)
{
	struct role_update update = {.count = 0};
	int64_t token = s->role.token;

	if (!s->alive)
		return;
	e->now_ns = local_now(w, s);
	role_step(&s->role, e, &update);
	if (s->role.established)
		s->left = 0;
	for (unsigned i = 0; i < update.count && !w->over; i++) {
		/* It may die between any two of them. */
		if (s->dies_in > 0 && --s->dies_in == 0)
			supervisor_crash(w, s->host);
		if (!s->alive)
			return;
		perform(w, s, &update.actions[i]);
	}
	supervisor_mirror(w, s);
	if (token != 0 && token != s->role.token)
		floor_saw(w, s, token);
}

/* ---- the token floor ---- */

static void tell_floor(struct world *w, struct supervisor *s)
{
	struct role_event e = {.type = ROLE_EV_FLOOR};

	e.u.floor.seen = s->floor_seen;
	e.u.floor.durable = s->floor_durable;
	role_event(w, s, &e);
	send_floor(w, s);
}

static void floor_advance(struct world *w, struct supervisor *s)
{
	int64_t delay_ns =
		random_in(w, 1, 50) ? random_below(w, 3 * SECOND) : random_between(w, 2 * MS, 20 * MS);

	if (s->floor_writing || max64(s->floor_seen, s->floor_own) <= s->floor_durable)
		return;
	s->floor_writing = true;
	heap_push(w, w->now_ns + delay_ns, EVENT_FLOOR, 0, 0, s, s->life);
}

void supervisor_floor_written(struct world *w, struct supervisor *s)
{
	s->floor_writing = false;
	s->floor_durable = max64(s->floor_durable, max64(s->floor_seen, s->floor_own));
	s->host->disk_floor = s->floor_durable;
	tell_floor(w, s);
	floor_advance(w, s);
	supervisor_look_after(w, s);
}

/* ---- the elector's messages ---- */

static bool stands(const struct supervisor *s)
{
	return s->role.standing && (!role_in_office(&s->role) || s->role.token == s->czxid);
}

static void repeat(struct world *w, struct supervisor *s)
{
	send_floor(w, s);
	if (s->giving_up != 0)
		send_token(w, s, LOCAL_GIVE_UP, s->giving_up);
	else if ((s->left == 0 || sim_plant == PLANT_RETIRE) &&
		 (s->leaving || (!stands(s) && s->candidate != 0)))
		send_token(w, s, LOCAL_RETIRE, 0);
	if (stands(s))
		send_token(w, s, LOCAL_STAND, 0);
	if (s->role.state == ROLE_ACTIVE)
		send_token(w, s, LOCAL_CONFIRM, s->role.token);
	send_state(w, s);
}

static void on_hello(struct world *w, struct supervisor *s)
{
	struct local start = {.agent = s->agent,
			      .session = s->session,
			      .timeout_ns = s->timeout_ns,
			      .start_ns = s->lease_start_ns};
	struct local restore = {.token = s->czxid, .znode = s->candidate};

	s->up = true;
	if (!s->quitting)
		s->kill_at_local = NEVER;
	supervisor_send(w, s, LOCAL_START, &start);
	restore.flag = (role_in_office(&s->role) && s->role.token == s->czxid) ||
		       (s->left != 0 && s->left == s->czxid && sim_plant != PLANT_RETIRE);
	if (s->session != 0 && s->candidate != 0)
		supervisor_send(w, s, LOCAL_RESTORE, &restore);
	send_token(w, s, LOCAL_GO, 0);
	repeat(w, s);
	if (s->quitting)
		child_quit(w, s, s->keep_session);
}

static void on_session(struct world *w, struct supervisor *s, const struct local *l)
{
	struct role_event e = {.type = ROLE_EV_LOST}, lease = {.type = ROLE_EV_LEASE};
	int64_t timeout_ns = l->timeout_ns;

	if (l->session != s->session) {
		s->candidate = 0;
		s->czxid = 0;
		e.u.end.token = s->role.token;
		e.u.end.reason = TENURE_REASON_SESSION;
		role_event(w, s, &e);
		s->lease_start_ns = 0;
	} else if (l->session != 0 && s->timeout_ns < timeout_ns && sim_rule != RULE_F) {
		timeout_ns = s->timeout_ns;
	}
	s->session = l->session;
	s->timeout_ns = timeout_ns;
	if (s->lease_start_ns == 0)
		return;
	lease.u.lease.start_ns = s->lease_start_ns;
	lease.u.lease.timeout_ns = timeout_ns;
	role_event(w, s, &lease);
}

/* Rule (f) knows of no smallest T. */
static bool is_credible(const struct world *w, const struct supervisor *s, const struct local *l)
{
	return l->start_ns <= local_now(w, s) && (l->timeout_ns <= s->timeout_ns || sim_rule == RULE_F);
}

static void on_lease(struct world *w, struct supervisor *s, const struct local *l)
{
	struct role_event e = {.type = ROLE_EV_LEASE};

	if (s->session == 0 || !is_credible(w, s, l))
		return;
	s->lease_start_ns = l->start_ns;
	e.u.lease.start_ns = l->start_ns;
	e.u.lease.timeout_ns = l->timeout_ns;
	role_event(w, s, &e);
}

static void on_lead(struct world *w, struct supervisor *s, const struct local *l)
{
	struct role_event e = {.type = ROLE_EV_LEAD};
	bool credible = is_credible(w, s, l);

	e.u.lead.token = l->token;
	e.u.lead.reason = (enum tenure_reason)l->reason;
	e.u.lead.lease_start_ns = credible ? l->start_ns : 0;
	e.u.lead.lease_timeout_ns = credible ? l->timeout_ns : 0;
	e.u.lead.others = l->gone;
	role_event(w, s, &e);
}

static void on_leader(struct world *w, struct supervisor *s, const struct local *l)
{
	struct role_event e = {.type = ROLE_EV_LEADER};

	if (!l->flag)
		return;
	e.u.leader.token = l->token;
	e.u.leader.active = l->phase == TENURE_PHASE_ACTIVE && !l->gone;
	e.u.leader.gone = l->gone;
	e.u.leader.self = l->self;
	e.u.leader.paused = l->paused;
	role_event(w, s, &e);
	if (l->token != s->czxid && l->token != s->role.token)
		floor_saw(w, s, l->token);
}

static void on_candidate(struct world *w, struct supervisor *s, const struct local *l)
{
	s->candidate = l->znode;
	s->czxid = l->token;
	if (!w->params.floor || s->czxid == 0)
		return;
	s->floor_own = s->czxid;
	floor_advance(w, s);
}

static void on_end(struct world *w, struct supervisor *s, enum role_event_type type, const struct local *l)
{
	struct role_event e = {.type = type};

	e.u.end.token = l->token;
	e.u.end.reason = (enum tenure_reason)l->reason;
	role_event(w, s, &e);
}

static void on_message(struct world *w, struct supervisor *s, const struct message *m)
{
	const struct local *l = &m->u.local;
	struct role_event e = {.type = ROLE_EV_LEFT};

	switch (m->type) {
	case LOCAL_HELLO:
		on_hello(w, s);
		break;
	case LOCAL_SESSION:
		on_session(w, s, l);
		break;
	case LOCAL_LEASE:
		on_lease(w, s, l);
		break;
	case LOCAL_CANDIDATE:
		on_candidate(w, s, l);
		break;
	case LOCAL_LEAD:
		on_lead(w, s, l);
		break;
	case LOCAL_LOST:
		on_end(w, s, ROLE_EV_LOST, l);
		break;
	case LOCAL_LEAVE:
		on_end(w, s, ROLE_EV_LEAVE, l);
		break;
	case LOCAL_LEFT:
		s->leaving = false;
		s->giving_up = 0;
		role_event(w, s, &e);
		break;
	case LOCAL_LEADER:
		on_leader(w, s, l);
		break;
	case LOCAL_ALIVE:
		break;
	case LOCAL_FENCE_PEER:
		e.type = ROLE_EV_FENCE_PEER;
		e.u.fence_peer.token = l->token;
		e.u.fence_peer.wanted = l->flag;
		role_event(w, s, &e);
		break;
	default:
		abort();
	}
}

/* ---- the turn ---- */

static void advance_stop(struct world *w, struct supervisor *s)
{
	if (!s->role.stopping)
		return;
	if (!s->finishing) {
		if (!role_stopped(&s->role))
			return;
		s->finishing = true;
		/* What may be in office still must not have a successor. */
		s->keep_session = s->role.state == ROLE_PANIC || s->left != 0;
		child_quit(w, s, s->keep_session);
	}
	if (!s->child) {
		TRACE(w, "host %u: agent stopped", s->host->id);
		s->host->mirror.written = s->keep_session;
		s->alive = false;
		s->life++;
		check_down(w, s->host, true);
	}
}

static void arm(struct world *w, struct supervisor *s)
{
	int64_t due_ns = role_deadline(&s->role), child_ns = child_deadline(s), at_ns;

	due_ns = child_ns < due_ns ? child_ns : due_ns;
	if (due_ns == NEVER)
		return;
	at_ns = host_true(s->host, due_ns);
	/* Timers go off late, never early. */
	at_ns = (at_ns < w->now_ns ? w->now_ns : at_ns) + random_below(w, MS);
	if (at_ns >= s->armed_ns)
		return;
	s->armed_ns = at_ns;
	heap_push(w, at_ns, EVENT_SUPERVISOR, 0, 0, s, s->life);
}

static void begin_turn(struct world *w, struct supervisor *s)
{
	struct role_event e = {.type = ROLE_EV_TIMER};

	for (int i = 0; i < TIMER_STEPS && role_deadline(&s->role) <= local_now(w, s) && !w->over; i++)
		role_event(w, s, &e);
	if (s->hook_ended) {
		s->hook_ended = false;
		e.type = ROLE_EV_HOOK_DONE;
		e.u.hook.run = s->host->hook.run;
		e.u.hook.ok = s->host->hook.ok;
		e.u.hook.not_now = s->host->hook.not_now;
		role_event(w, s, &e);
		send_state(w, s);
	}
	if (s->service_ended) {
		s->service_ended = false;
		e.type = ROLE_EV_SERVICE_GONE;
		role_event(w, s, &e);
	}
	if (s->health_new) {
		s->health_new = false;
		e.type = ROLE_EV_HEALTH;
		e.u.healthy = s->host->fit || sim_plant == PLANT_CHECK;
		role_event(w, s, &e);
		send_state(w, s);
	}
}

/* Where nothing is known of an earlier term, its elector lives until lose has ended it; then it ends its
 * session. */
static void release_orphan(struct world *w, struct supervisor *s)
{
	if (!s->orphan || !s->role.established)
		return;
	if (s->orphan->life == s->orphan_life && sim_plant != PLANT_ORPHAN)
		elector_process_release(w, s->orphan);
	s->orphan = NULL;
}

void supervisor_look_after(struct world *w, struct supervisor *s)
{
	if (!s->alive || s->execing || w->over)
		return;
	life_advance(w, s);
	if (s->execing)
		return;
	child_timer(w, s);
	release_orphan(w, s);
	advance_stop(w, s);
	if (s->alive && !w->over)
		arm(w, s);
}

void supervisor_timer(struct world *w, struct supervisor *s)
{
	if (s->execing)
		return;
	s->armed_ns = NEVER;
	begin_turn(w, s);
	supervisor_look_after(w, s);
}

void supervisor_receive(struct world *w, struct supervisor *s, const struct message *m)
{
	if (!s->alive || !s->child)
		return;
	begin_turn(w, s);
	if (!s->alive || !s->child)
		return;
	if (m->type == FIN) {
		child_exited(w, s);
	} else {
		child_heard(w, s, m);
		on_message(w, s, m);
	}
	if (s->alive)
		supervisor_mirror(w, s);
	supervisor_look_after(w, s);
}

void supervisor_hook_ended(struct world *w, struct supervisor *s)
{
	if (!s->alive)
		return;
	s->hook_ended = true;
	if (s->paused_until > w->now_ns || s->execing)
		return; /* seen in its first turn after that */
	begin_turn(w, s);
	supervisor_look_after(w, s);
}

void supervisor_service_ended(struct world *w, struct supervisor *s)
{
	if (!s->alive)
		return;
	s->service_ended = true;
	if (s->paused_until > w->now_ns || s->execing)
		return;
	begin_turn(w, s);
	supervisor_look_after(w, s);
}

void supervisor_health(struct world *w, struct supervisor *s)
{
	if (!s->alive || !w->params.role.check)
		return;
	s->health_new = true;
	if (s->paused_until > w->now_ns || s->execing)
		return;
	begin_turn(w, s);
	supervisor_look_after(w, s);
}

/* The score hook has run, as it does while the member is a standby. */
void supervisor_scored(struct world *w, struct supervisor *s)
{
	if (!s->alive || s->execing || s->paused_until > w->now_ns || s->role.state != ROLE_STANDBY)
		return;
	s->score_seq++;
	send_state(w, s);
}

void supervisor_begin(struct world *w, struct supervisor *s, struct role_event *e)
{
	role_event(w, s, e);
	tell_floor(w, s);
	floor_advance(w, s);
}

/* ---- operators ---- */

void supervisor_stop(struct world *w, struct supervisor *s, bool force)
{
	struct role_event e = {.type = ROLE_EV_STOP};

	if (!s->alive || s->execing)
		return;
	e.u.force = force;
	begin_turn(w, s);
	role_event(w, s, &e);
	supervisor_look_after(w, s);
}

void supervisor_recover(struct world *w, struct supervisor *s)
{
	struct role_event e = {.type = ROLE_EV_RECOVER};

	if (!s->alive || s->execing)
		return;
	begin_turn(w, s);
	role_event(w, s, &e);
	supervisor_look_after(w, s);
}
