/*
 * The elector process: the session core and one elector core, put together as agent/elector does it
 * (ensemble.c, contest.c, upward.c, shell.c): the same events in the same order. Every entry ends with
 * settle().
 */
#include "sim.h"

#include <stdlib.h>

enum { TURNS_MAX = 64 };

static void settle(struct world *w, struct elector_process *p);

static int64_t local_now(const struct world *w, const struct elector_process *p)
{
	return host_local(p->host, w->now_ns);
}

/* ---- the end ---- */

/* Ends the process as _exit does: its sockets are closed, its session is not. */
void elector_process_leave(struct world *w, struct elector_process *p)
{
	if (!p->alive)
		return;
	TRACE(w, "host %u: elector %u ends", p->host->id, p->generation);
	p->alive = false;
	p->life++;
	p->paused_until = 0;
	link_close(w, p->library.link, 0);
	p->library.link = NULL;
	p->library.state = LIBRARY_CLOSED;
	link_close(w, p->up, 1);
	p->up = NULL;
}

void elector_process_kill(struct world *w, struct elector_process *p)
{
	elector_process_leave(w, p);
}

static void become_orphan(struct world *w, struct elector_process *p)
{
	if (p->orphan)
		return;
	TRACE(w, "host %u: elector %u is an orphan", p->host->id, p->generation);
	p->orphan = true;
	p->orphan_local_ns = local_now(w, p) + w->params.orphan_limit_ns;
	link_close(w, p->up, 1);
	p->up = NULL;
	session_orphan(&p->session);
	if (p->session.credentials.id == 0)
		p->orphan_local_ns = local_now(w, p);
}

/* ---- the elector core ---- */

static bool led_by_another(const struct elector_process *p)
{
	const struct tenure_incumbent *last = &p->core.previous;

	return last->token != 0 && strcmp(last->member, p->core.config.member) != 0;
}

static void perform(struct world *w, struct elector_process *p, const struct elector_command *c)
{
	const struct tenure_lease *lease = &p->session.lease;
	struct local local = {.token = c->token, .reason = (uint8_t)c->reason};

	switch (c->type) {
	case ELECTOR_DO_REQUEST:
		operations_start(w, p, c);
		break;
	case ELECTOR_DO_LEAD:
		TRACE(w, "host %u: LEAD by %llx", p->host->id, (long long)c->token);
		local.start_ns = lease->start_ns;
		local.timeout_ns = lease->timeout_ns;
		local.gone = led_by_another(p);
		process_send(w, p, LOCAL_LEAD, &local);
		break;
	case ELECTOR_DO_LOST:
		process_send(w, p, LOCAL_LOST, &local);
		break;
	case ELECTOR_DO_LEFT:
		process_send(w, p, LOCAL_LEFT, &local);
		break;
	case ELECTOR_DO_CANDIDATE:
		process_say_candidate(w, p);
		break;
	case ELECTOR_DO_OUTLOOK:
		process_say_outlook(w, p);
		break;
	case ELECTOR_DO_FENCE_PEER:
		local.flag = c->wanted;
		process_send(w, p, LOCAL_FENCE_PEER, &local);
		break;
	case ELECTOR_DO_NOTE:
		if (c->note == ELECTOR_NOTE_STEP_BACK_SCORE || c->note == ELECTOR_NOTE_STEP_BACK)
			check_step_back(w, p);
		TRACE(w, "host %u: note %d %s", p->host->id, (int)c->note, c->subject ? c->subject : "");
		break;
	}
}

void process_step_core(struct world *w, struct elector_process *p, struct elector_event *event)
{
	static struct elector_update update;

	if (!p->alive || p->orphan || !p->started)
		return;
	event->now_ns = local_now(w, p);
	event->entropy = random_next(w);
	elector_step(&p->core, event, &update);
	for (unsigned i = 0; i < update.count && p->alive; i++)
		perform(w, p, &update.commands[i]);
}

void process_defer(struct elector_process *p, enum elector_op op, uint32_t generation,
		   enum elector_result result)
{
	p->deferred[op] = true;
	p->deferred_generation[op] = generation;
	p->deferred_result[op] = (uint8_t)result;
}

/* ---- the session core ---- */

static void tell_core(struct world *w, struct elector_process *p, const struct session_update *u)
{
	struct elector_event event;

	if (u->down) {
		event = (struct elector_event){.type = ELECTOR_EV_DOWN};
		process_step_core(w, p, &event);
	}
	if (u->gone) {
		p->member_known = false;
		event = (struct elector_event){.type = ELECTOR_EV_GONE};
		process_step_core(w, p, &event);
	}
	if (u->up) {
		event = (struct elector_event){.type = ELECTOR_EV_UP};
		event.u.up.session_id = p->session.credentials.id;
		event.u.up.timeout_ns = p->session.lease.timeout_ns;
		process_step_core(w, p, &event);
		if (p->member_dirty)
			operations_member_changed(w, p);
	}
	if (u->lease_changed || u->up) {
		event = (struct elector_event){.type = ELECTOR_EV_LEASE};
		event.u.deadline_ns = tenure_lease_deadline(&p->session.lease);
		process_step_core(w, p, &event);
	}
}

static void perform_session(struct world *w, struct elector_process *p, enum session_action action)
{
	const struct session_credentials *c = &p->session.credentials;

	switch (action) {
	case SESSION_DO_NONE:
		break;
	case SESSION_DO_OPEN:
		library_open(w, p, (unsigned)(c->id & 0xffff), c->timeout_ns,
			     (unsigned)((p->agent + p->generation + p->opens++) % w->server_count));
		break;
	case SESSION_DO_HEARTBEAT:
		if (!operations_heartbeat(w, p))
			p->heartbeat_failed = true;
		break;
	case SESSION_DO_RESTART:
		TRACE(w, "host %u: elector %u asks to be restarted", p->host->id, p->generation);
		elector_process_leave(w, p);
		break;
	}
}

static void step_session(struct world *w, struct elector_process *p, struct session_event *event)
{
	struct session_update update;

	event->now_ns = local_now(w, p);
	session_step(&p->session, event, &update);
	if (update.saved)
		process_say_session(w, p);
	if (update.lease_changed)
		process_say_lease(w, p);
	if (update.down || update.gone || update.up || update.lease_changed)
		tell_core(w, p, &update);
	for (unsigned i = 0; i < update.count && p->alive; i++)
		perform_session(w, p, update.actions[i]);
}

/* ---- what the library brings ---- */

void process_connected(struct world *w, struct elector_process *p)
{
	struct session_event event = {.type = SESSION_EV_CONNECTED};

	TRACE(w, "host %u: elector %u connected to server %u, session %u", p->host->id, p->generation,
	      p->library.link->node[1], p->library.session);
	event.u.connected.id = w->sessions[p->library.session].id;
	event.u.connected.timeout_ns = p->library.timeout_ns;
	step_session(w, p, &event);
	settle(w, p);
}

void process_lost(struct world *w, struct elector_process *p, bool expired)
{
	struct session_event event = {.type = expired ? SESSION_EV_EXPIRED : SESSION_EV_DISCONNECTED};

	TRACE(w, "host %u: elector %u %s", p->host->id, p->generation, expired ? "expired" : "disconnected");
	/* "Connected" is all that this rule knows: it steps down with the connection. */
	if (sim_rule == RULE_A && p->core.term != 0) {
		struct local local = {.token = p->core.term, .reason = TENURE_REASON_LEASE};

		process_send(w, p, LOCAL_LOST, &local);
	}
	step_session(w, p, &event);
	settle(w, p);
}

/* The session core hears of it first, so that the election acts with the newest lease. */
static void tell_reply(struct world *w, struct elector_process *p, const struct outstanding *out,
		       const struct reply *reply)
{
	struct session_event event = {.type = SESSION_EV_REPLY};

	event.u.reply.sent_ns = out->sent_local_ns;
	event.u.reply.answered = reply != NULL;
	event.u.reply.committed = reply && out->write && reply->answer == ANSWER_OK;
	event.u.reply.heartbeat = out->heartbeat;
	/* A heartbeat of rule (b) is a ping: its answer is all there is. */
	if (out->type == REQUEST_PROBE)
		event.u.reply.committed = reply != NULL;
	step_session(w, p, &event);
	if (p->alive)
		operations_done(w, p, out, reply);
}

void process_reply(struct world *w, struct elector_process *p, const struct outstanding *out,
		   const struct reply *reply)
{
	tell_reply(w, p, out, reply);
	settle(w, p);
}

void process_watch(struct world *w, struct elector_process *p, enum elector_op op)
{
	struct elector_event event = {.type = ELECTOR_EV_CHANGED};

	event.u.changed = op;
	process_step_core(w, p, &event);
	settle(w, p);
}

/* What the planted rules (a) and (b) take for proof. */
static void renew(struct world *w, struct elector_process *p, int64_t start_ns)
{
	struct session_update update = {.lease_changed = true};

	if (!p->alive || p->library.state != LIBRARY_CONNECTED || start_ns <= p->session.lease.start_ns)
		return;
	p->session.lease.start_ns = start_ns;
	process_say_lease(w, p);
	tell_core(w, p, &update);
}

void process_pinged(struct world *w, struct elector_process *p)
{
	if (sim_rule == RULE_B) {
		renew(w, p, p->library.pinged_local_ns);
		settle(w, p);
	}
}

/* ---- what the supervisor says ---- */

static void on_start(struct elector_process *p, const struct local *l, const struct world *w)
{
	struct elector_config config = w->params.elector;

	p->started = true;
	p->agent = l->agent;
	p->resume_session = l->session;
	p->resume_timeout_ns = l->timeout_ns;
	p->resume_start_ns = l->start_ns;
	config.agent = p->agent;
	memcpy(config.member, w->members[p->host->id], sizeof config.member);
	elector_init(&p->core, &config);
}

static void on_go(struct world *w, struct elector_process *p)
{
	struct session_credentials c = {.timeout_ns = p->resume_timeout_ns};
	struct session_event event = {.type = SESSION_EV_ADDRESSES};

	p->begun = true;
	if (p->resume_session != 0) {
		c.id = w->sessions[p->resume_session].id;
		session_resume(&p->session, &c, p->resume_start_ns);
		if (sim_rule == RULE_F)
			p->session.credentials.timeout_ns = p->session.config.timeout_ns;
	}
	step_session(w, p, &event);
}

static void on_state(struct world *w, struct elector_process *p, const struct local *l)
{
	bool changed = p->role_state != (enum role_state)l->state;
	bool scored = l->scored && l->score_seq != p->score_seq;

	p->role_state = (enum role_state)l->state;
	p->role_token = l->token;
	p->scored = l->scored;
	p->score = l->score;
	p->score_seq = l->score_seq;
	if (scored)
		operations_member_scored(w, p);
	else if (changed)
		operations_member_changed(w, p);
}

static void on_quit(struct world *w, struct elector_process *p, bool keep_session)
{
	if (!keep_session)
		library_give_up(w, p);
	elector_process_leave(w, p);
}

/* The service of an orphan's term is out of office: it is asked to end its session. */
void elector_process_release(struct world *w, struct elector_process *p)
{
	if (!p->alive)
		return;
	if (p->paused_until > w->now_ns)
		elector_process_kill(w, p);
	else
		on_quit(w, p, false);
}

static void on_order(struct world *w, struct elector_process *p, const struct message *m)
{
	const struct local *l = &m->u.local;
	struct elector_event event = {.type = ELECTOR_EV_STAND};

	switch (m->type) {
	case LOCAL_STAND:
		event.u.stand = sim_plant != PLANT_L1;
		break;
	case LOCAL_RETIRE:
		break;
	case LOCAL_CONFIRM:
		event.type = ELECTOR_EV_ACTIVE;
		event.u.token = l->token;
		break;
	case LOCAL_GIVE_UP:
		event.type = ELECTOR_EV_GIVE_UP;
		event.u.token = l->token;
		break;
	case LOCAL_FLOOR:
		event.type = ELECTOR_EV_FLOOR;
		event.u.floor.seen = l->start_ns;
		event.u.floor.durable = l->timeout_ns;
		break;
	case LOCAL_PEER_FENCED:
		event.type = ELECTOR_EV_PEER_FENCED;
		event.u.fenced.token = l->token;
		event.u.fenced.ok = l->flag;
		break;
	default:
		abort();
	}
	process_step_core(w, p, &event);
}

void elector_process_receive(struct world *w, struct elector_process *p, const struct message *m)
{
	const struct local *l = &m->u.local;

	if (!p->alive)
		return;
	switch (m->type) {
	case FIN:
		become_orphan(w, p);
		break;
	case LOCAL_START:
		on_start(p, l, w);
		break;
	case LOCAL_RESTORE:
		if (!p->begun && l->znode != 0)
			elector_restore(&p->core, w->znodes[l->znode - 1].name, l->token, l->flag);
		break;
	case LOCAL_GO:
		on_go(w, p);
		break;
	case LOCAL_STATE:
		on_state(w, p, l);
		break;
	case LOCAL_QUIT:
		on_quit(w, p, l->flag);
		break;
	default:
		on_order(w, p, m);
		break;
	}
	settle(w, p);
}

/* An operator asks this member to resign. */
void elector_process_resign(struct world *w, struct elector_process *p)
{
	struct local local = {.token = p->role_token, .reason = TENURE_REASON_RESIGN};

	if (p->alive && p->role_state == ROLE_ACTIVE)
		process_send(w, p, LOCAL_LEAVE, &local);
}

/* ---- the turn ---- */

static bool later(struct world *w, struct elector_process *p)
{
	struct session_event unsent = {.type = SESSION_EV_REPLY};
	bool any = false;

	if (p->owed_count > 0) {
		struct outstanding out = p->owed[0];

		memmove(p->owed, p->owed + 1, sizeof p->owed[0] * --p->owed_count);
		tell_reply(w, p, &out, NULL);
		return true;
	}
	if (p->heartbeat_failed) {
		p->heartbeat_failed = false;
		unsent.u.reply.heartbeat = true;
		unsent.u.reply.sent_ns = local_now(w, p);
		step_session(w, p, &unsent);
		any = true;
	}
	for (unsigned op = 0; op < ELECTOR_OP_COUNT && p->alive; op++) {
		struct elector_event event = {.type = ELECTOR_EV_DONE};

		if (!p->deferred[op])
			continue;
		p->deferred[op] = false;
		event.u.done.op = (enum elector_op)op;
		event.u.done.generation = p->deferred_generation[op];
		event.u.done.result = (enum elector_result)p->deferred_result[op];
		process_step_core(w, p, &event);
		any = true;
	}
	return any;
}

static void pace(struct world *w, struct elector_process *p)
{
	struct session_event event = {.type = SESSION_EV_PACE};

	if (p->orphan || !p->begun)
		return;
	event.u.pace = elector_wants_heartbeats(&p->core);
	if (event.u.pace == p->pace)
		return;
	p->pace = event.u.pace;
	step_session(w, p, &event);
	if (p->alive && p->member_dirty)
		operations_member_changed(w, p);
}

static void say_alive(struct world *w, struct elector_process *p)
{
	const struct session_credentials *c = &p->session.credentials;
	struct local alive = {.token = 0};
	int64_t now_ns = local_now(w, p);

	if (!p->started || p->orphan || now_ns < p->alive_local_ns)
		return;
	p->alive_local_ns = now_ns + child_alive_limit(c->id != 0 ? c->timeout_ns : w->params.timeout_ns) / 4;
	process_send(w, p, LOCAL_ALIVE, &alive);
}

static void arm(struct world *w, struct elector_process *p)
{
	int64_t due_ns = session_deadline(&p->session), at_ns;

	if (p->started && !p->orphan && p->alive_local_ns < due_ns)
		due_ns = p->alive_local_ns;
	if (p->orphan)
		due_ns = p->orphan_local_ns < due_ns ? p->orphan_local_ns : due_ns;
	else if (p->started && elector_deadline(&p->core) < due_ns)
		due_ns = elector_deadline(&p->core);
	if (due_ns == NEVER)
		return;
	at_ns = host_true(p->host, due_ns);
	if (at_ns < w->now_ns + MS)
		at_ns = w->now_ns + MS;
	at_ns += random_below(w, MS / 2);
	if (at_ns >= p->armed_ns)
		return;
	p->armed_ns = at_ns;
	heap_push(w, at_ns, EVENT_ELECTOR, 0, 0, p, p->life);
}

static void settle(struct world *w, struct elector_process *p)
{
	for (unsigned i = 0; i < TURNS_MAX && p->alive; i++) {
		pace(w, p);
		if (!p->alive || !later(w, p))
			break;
	}
	if (!p->alive)
		return;
	if (p->orphan && (local_now(w, p) >= p->orphan_local_ns || p->session.credentials.id == 0)) {
		elector_process_leave(w, p);
		return;
	}
	say_alive(w, p);
	arm(w, p);
}

void elector_process_timer(struct world *w, struct elector_process *p)
{
	struct session_event due = {.type = SESSION_EV_TIMER};
	struct elector_event tick = {.type = ELECTOR_EV_TIMER};
	int64_t now_ns = local_now(w, p);

	p->armed_ns = NEVER;
	if (now_ns >= session_deadline(&p->session))
		step_session(w, p, &due);
	if (p->alive && p->started && !p->orphan && now_ns >= elector_deadline(&p->core))
		process_step_core(w, p, &tick);
	settle(w, p);
}

/* ---- life ---- */

static struct elector_process *free_slot(struct world *w, struct host *h)
{
	unsigned i = 0;

	while (i < ELECTORS_MAX && h->electors[i].alive)
		i++;
	if (i == ELECTORS_MAX)
		elector_process_kill(w, &h->electors[i = 0]);
	return &h->electors[i];
}

/* Forked by the supervisor; it says HELLO once its image is loaded. */
void elector_process_start(struct world *w, struct host *h)
{
	struct supervisor *s = &h->supervisor;
	struct elector_process *p = free_slot(w, h);
	uint32_t life = p->life + 1;
	struct session_config config = w->params.session;
	unsigned slot = p->slot;

	assert(!p->alive);
	/* The cores initialise themselves. */
	memset(p, 0, offsetof(struct elector_process, session));
	memset((char *)p + offsetof(struct elector_process, agent), 0,
	       sizeof *p - offsetof(struct elector_process, agent));
	p->host = h;
	p->slot = slot;
	p->life = life;
	p->alive = true;
	p->generation = s->generation;
	p->armed_ns = p->library.armed_ns = NEVER;
	p->role_state = ROLE_STARTING;
	p->stepped_for = -1;
	h->elector_since_ns = w->now_ns;
	h->hung_ns = 0;
	h->hung_quit = false;
	config.timeout_ns = h->configured_timeout_ns;
	session_init(&p->session, &config);
	p->up = link_open(w, LINK_LOCAL, host_node(h), s, host_node(h), p);
	s->down = p->up;
	s->child = p;
	heap_push(w, w->now_ns + random_between(w, 2 * MS, 60 * MS), EVENT_SPAWNED, 0, 0, p, p->life);
}

/* Rule (a) looks whether it is connected in the rhythm of heartbeats. */
void elector_process_rule(struct world *w, struct elector_process *p)
{
	renew(w, p, local_now(w, p));
	settle(w, p);
	heap_push(w, w->now_ns + w->params.timeout_ns / 20, EVENT_RULE, 0, 0, p, p->life);
}

void elector_process_spawned(struct world *w, struct elector_process *p)
{
	struct local local = {.token = 0};

	process_send(w, p, LOCAL_HELLO, &local);
	if (sim_rule == RULE_A)
		elector_process_rule(w, p);
	settle(w, p);
}
