/*
 * The supervisor: the role core, the elector as its child, the token floor, put together as agent/supervisor
 * does it (supervisor.c, unit.c, child.c, floor.c). A turn looks at the clock first, then at a hook that has
 * ended, then takes messages.
 */
#include "sim.h"

#include <stdlib.h>

enum { TIMER_STEPS = 4 };

static void look_after(struct world *w, struct supervisor *s);
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
	if (s->look_at_local == NEVER)
		s->look_at_local = local_now(w, s) + CHILD_LOOK_NS;
}

static void send_token(struct world *w, struct supervisor *s, enum message_type type, int64_t token)
{
	struct local local = {.token = token};

	supervisor_send(w, s, type, &local);
}

static void send_state(struct world *w, struct supervisor *s)
{
	struct local local = {.token = s->role.token, .state = (uint8_t)s->role.state};

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
	send_state(w, s);
}

static void perform(struct world *w, struct supervisor *s, const struct role_action *a)
{
	struct local local = {.token = a->token, .flag = a->ok};

	switch (a->type) {
	case ROLE_DO_RUN:
		check_hook_start(w, s->host, a);
		hook_start(w, s->host, a);
		break;
	case ROLE_DO_TERM:
		hook_signal(w, s->host, false);
		break;
	case ROLE_DO_KILL:
		hook_signal(w, s->host, true);
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

	e->now_ns = local_now(w, s);
	role_step(&s->role, e, &update);
	for (unsigned i = 0; i < update.count && !w->over; i++)
		perform(w, s, &update.actions[i]);
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
	look_after(w, s);
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
	else if (s->leaving || (!stands(s) && s->candidate != 0))
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
	restore.flag = role_in_office(&s->role) && s->role.token == s->czxid;
	if (s->session != 0 && s->candidate != 0)
		supervisor_send(w, s, LOCAL_RESTORE, &restore);
	send_token(w, s, LOCAL_GO, 0);
	repeat(w, s);
	if (s->quitting)
		child_quit(w, s);
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
		child_quit(w, s);
	}
	if (!s->child) {
		TRACE(w, "host %u: agent stopped", s->host->id);
		s->alive = false;
		s->life++;
		check_down(w, s->host, true);
	}
}

static void arm(struct world *w, struct supervisor *s)
{
	int64_t due_ns = role_deadline(&s->role), at_ns;

	due_ns = s->start_at_local < due_ns && !s->finishing ? s->start_at_local : due_ns;
	due_ns = s->kill_at_local < due_ns ? s->kill_at_local : due_ns;
	due_ns = s->look_at_local < due_ns ? s->look_at_local : due_ns;
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
}

static void look_after(struct world *w, struct supervisor *s)
{
	child_timer(w, s);
	advance_stop(w, s);
	if (s->alive && !w->over)
		arm(w, s);
}

void supervisor_timer(struct world *w, struct supervisor *s)
{
	s->armed_ns = NEVER;
	begin_turn(w, s);
	look_after(w, s);
}

void supervisor_receive(struct world *w, struct supervisor *s, const struct message *m)
{
	if (!s->alive || !s->child)
		return;
	begin_turn(w, s);
	if (m->type == FIN)
		child_exited(w, s);
	else
		on_message(w, s, m);
	look_after(w, s);
}

void supervisor_hook_ended(struct world *w, struct supervisor *s)
{
	if (!s->alive)
		return;
	s->hook_ended = true;
	if (s->paused_until > w->now_ns)
		return; /* seen in its first turn after that */
	begin_turn(w, s);
	look_after(w, s);
}

/* ---- operators ---- */

void supervisor_stop(struct world *w, struct supervisor *s, bool force)
{
	struct role_event e = {.type = ROLE_EV_STOP};

	if (!s->alive)
		return;
	e.u.force = force;
	begin_turn(w, s);
	role_event(w, s, &e);
	look_after(w, s);
}

void supervisor_recover(struct world *w, struct supervisor *s)
{
	struct role_event e = {.type = ROLE_EV_RECOVER};

	if (!s->alive)
		return;
	begin_turn(w, s);
	role_event(w, s, &e);
	look_after(w, s);
}

/* ---- life ---- */

void supervisor_boot(struct world *w, struct host *h)
{
	struct supervisor *s = &h->supervisor;
	uint32_t life = s->life + 1;
	struct role_config config = w->params.role;
	struct role_event e = {.type = ROLE_EV_BEGIN};

	/* The orphan of the former one goes first, and whatever hook still runs is waited for. */
	for (unsigned i = 0; i < 2; i++)
		elector_process_kill(w, &h->electors[i]);
	if (h->hook.running) {
		heap_push(w, w->now_ns + 20 * MS, EVENT_BOOT, h->id, 0, NULL, 0);
		return;
	}
	TRACE(w, "host %u: supervisor starts", h->id);
	memset(s, 0, sizeof *s);
	s->host = h;
	s->life = life;
	s->alive = true;
	s->agent = random_next(w);
	s->armed_ns = s->kill_at_local = s->look_at_local = NEVER;
	s->backoff_ns = CHILD_BACKOFF_NS;
	s->floor_seen = s->floor_durable = w->params.floor ? h->disk_floor : NEVER;
	if (!w->params.floor)
		s->floor_seen = 0;
	check_down(w, h, false);
	if (sim_plant == PLANT_L3)
		config.backoff_ns = config.backoff_max_ns = MS;
	role_init(&s->role, &config);
	role_event(w, s, &e);
	tell_floor(w, s);
	look_after(w, s);
}

/* Its hooks die with it, its elector hears of it, the service stays as it is. */
void supervisor_crash(struct world *w, struct host *h)
{
	struct supervisor *s = &h->supervisor;

	if (!s->alive)
		return;
	TRACE(w, "host %u: supervisor dies", h->id);
	check_down(w, h, true);
	h->office_inherited = h->office_inherited || h->office;
	s->alive = false;
	s->life++;
	s->paused_until = 0;
	link_close(w, s->down, 0);
	if (h->hook.running)
		hook_signal(w, h, true);
	heap_push(w, w->now_ns + random_between(w, 50 * MS, w->params.timeout_ns), EVENT_BOOT, h->id, 0, NULL,
		  0);
}
