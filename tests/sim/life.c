/*
 * How a supervisor begins and ends, as agent/supervisor does it (supervisor.c, saved.c, restart.c): what it
 * mirrors in state_dir, its death, what the next one makes of a term that was left behind, and the restart in
 * place.
 */
#include "sim.h"

enum { LEFT_WAITS = 100 }; /* two seconds */

static int64_t local_now(const struct world *w, const struct supervisor *s)
{
	return host_local(s->host, w->now_ns);
}

/* ---- the state file ---- */

/* At every change and every extension of the lease, and before anything is started. */
void supervisor_mirror(struct world *w, struct supervisor *s)
{
	struct mirror *m = &s->host->mirror;

	(void)w;
	m->written = true;
	role_save(&s->role, &m->role);
	m->session = s->session;
	m->timeout_ns = s->timeout_ns;
	m->lease_start_ns = s->lease_start_ns;
	m->candidate = s->candidate;
	m->czxid = s->czxid;
	m->left = s->left;
	m->agent = s->agent;
	m->leaving = s->leaving;
	m->giving_up = s->giving_up;
}

/* The session, the candidate and what is under way with it. */
static void take_up(struct supervisor *s, const struct mirror *m)
{
	/* The candidates that the session has left are known by it. */
	s->agent = m->agent;
	s->session = m->session;
	s->timeout_ns = m->timeout_ns;
	s->lease_start_ns = m->lease_start_ns;
	s->floor_own = m->czxid;
	s->candidate = m->candidate;
	s->czxid = m->czxid;
	s->leaving = m->leaving;
	s->giving_up = m->giving_up;
}

/* ---- beginning ---- */

/* What an earlier supervisor has left running is killed and waited for. */
static bool has_company(struct world *w, struct host *h)
{
	if (h->hook.running)
		hook_signal(w, h, true);
	if (h->service.running)
		service_signal(w, h, true);
	return h->hook.running || h->service.running;
}

/* What does not die is stuck in the kernel with its end before it. */
static void end_company(struct world *w, struct host *h)
{
	h->boot_waits = 0;
	h->hook.life++;
	h->hook.running = false;
	h->service.life++;
	if (h->service.running) {
		h->service.running = false;
		check_service_end(w, h);
	}
}

/* Where nothing is known, the orphan may keep others away from a service that is still in office. */
static void meet_orphan(struct world *w, struct host *h, bool known)
{
	struct elector_process *p = h->mirror.elector;

	if (!p || p->life != h->mirror.elector_life || sim_plant == PLANT_ORPHAN)
		return;
	if (known || sim_plant == PLANT_KILL) {
		elector_process_kill(w, p);
	} else {
		h->supervisor.orphan = p;
		h->supervisor.orphan_life = p->life;
	}
}

static bool is_open(const struct world *w, const struct supervisor *s, const struct role_saved *saved)
{
	struct tenure_schedule at = tenure_schedule_for(&s->role.config.budget, saved->timeout_ns,
							saved->lease_start_ns + saved->timeout_ns);

	return local_now(w, s) < at.demote_ns || sim_plant == PLANT_STALE;
}

/* Goes on in a term that is ACTIVE, with its hold window open and without a service of its own. */
static bool adopt(struct world *w, struct supervisor *s, const struct mirror *m)
{
	struct role_saved saved = m->role;

	if (saved.state != ROLE_ACTIVE || !saved.at_rest || saved.service || !is_open(w, s, &saved))
		return false;
	if (sim_plant == PLANT_STALE)
		saved.lease_start_ns = local_now(w, s);
	if (!role_resume(&s->role, &saved))
		return false;
	TRACE(w, "host %u: adopts the term %llx", s->host->id, (long long)saved.token);
	check_taken_over(w, s->host, false);
	return true;
}

static void begin(struct world *w, struct supervisor *s, const struct mirror *m)
{
	struct role_event e = {.type = ROLE_EV_BEGIN};
	struct host *h = s->host;

	h->kept_token = 0;
	if (m && adopt(w, s, m)) {
		e.type = ROLE_EV_TIMER;
	} else if (h->adopts) {
		e.u.begin.how = ROLE_BEGIN_ADOPT;
		e.u.begin.adopt_by_ns = local_now(w, s) + w->params.timeout_ns;
		h->adopt_by_ns = w->now_ns + w->params.timeout_ns;
	} else if (m) {
		s->left = m->role.state >= ROLE_PROMOTING && m->role.state <= ROLE_PANIC ? m->role.token
											 : m->left;
		e.u.begin.token = s->left;
	}
	supervisor_begin(w, s, &e);
}

static void reset(struct world *w, struct host *h)
{
	struct supervisor *s = &h->supervisor;
	uint32_t life = s->life + 1;
	struct role_config config = w->params.role;

	memset(s, 0, sizeof *s);
	s->host = h;
	s->life = life;
	s->alive = true;
	s->agent = random_next(w);
	s->armed_ns = NEVER;
	child_init(s);
	s->floor_seen = s->floor_durable = w->params.floor ? h->disk_floor : NEVER;
	if (!w->params.floor)
		s->floor_seen = 0;
	check_down(w, h, false);
	if (sim_plant == PLANT_L3)
		config.backoff_ns = config.backoff_max_ns = MS;
	role_init(&s->role, &config);
	heap_push(w, w->now_ns + random_between(w, 20 * MS, SECOND), EVENT_HEALTH, h->id, 0, NULL, 0);
}

void supervisor_boot(struct world *w, struct host *h)
{
	struct supervisor *s = &h->supervisor;
	const struct mirror *m = NULL;

	if (has_company(w, h) && ++h->boot_waits < LEFT_WAITS) {
		heap_push(w, w->now_ns + 20 * MS, EVENT_BOOT, h->id, 0, NULL, 0);
		return;
	}
	end_company(w, h);
	if (h->mirror.written && random_below(w, 1000) >= w->params.lost_states)
		m = &h->mirror;
	TRACE(w, "host %u: supervisor starts, %s", h->id, m ? "with a state" : "without a state");
	reset(w, h);
	meet_orphan(w, h, m != NULL);
	if (m)
		take_up(s, m);
	begin(w, s, m);
	h->adopts = false;
	supervisor_look_after(w, s);
}

/* ---- death ---- */

static int64_t until_restarted(struct world *w)
{
	switch (random_below(w, 4)) {
	case 0:
		return random_between(w, 50 * MS, 3 * w->params.timeout_ns);
	case 1:
		return random_between(w, 50 * MS, w->params.timeout_ns);
	default:
		return random_between(w, 50 * MS, SECOND);
	}
}

/* Its hooks and its service die with it, its elector hears of it, what lose would end stays as it is. */
void supervisor_die(struct world *w, struct host *h)
{
	struct supervisor *s = &h->supervisor;

	TRACE(w, "host %u: supervisor dies", h->id);
	check_down(w, h, true);
	if (!h->office_inherited) {
		h->crashed_ns = w->now_ns;
		h->orphaned = s->child && s->child->begun && h->hung_ns == 0;
	}
	h->office_inherited = h->office_inherited || in_office(h);
	s->alive = false;
	s->life++;
	s->paused_until = 0;
	link_close(w, s->down, 0);
	has_company(w, h);
}

void supervisor_crash(struct world *w, struct host *h)
{
	if (!h->supervisor.alive)
		return;
	supervisor_die(w, h);
	heap_push(w, w->now_ns + until_restarted(w), EVENT_BOOT, h->id, 0, NULL, 0);
}

/* ---- the restart in place ---- */

void supervisor_restart(struct world *w, struct supervisor *s)
{
	if (!s->alive || s->role.stopping || s->restarting)
		return;
	TRACE(w, "host %u: is to restart in place", s->host->id);
	s->restarting = true;
	supervisor_look_after(w, s);
}

static bool is_at_rest(const struct supervisor *s)
{
	struct role_saved saved;

	role_save(&s->role, &saved);
	return saved.at_rest;
}

static void resume(struct world *w, struct host *h)
{
	struct supervisor *s = &h->supervisor;
	struct role_saved saved = h->mirror.role;
	struct role_event e = {.type = ROLE_EV_TIMER};
	uint32_t generation = s->generation;
	bool service_ended = s->service_ended;

	TRACE(w, "host %u: supervisor goes on in place, %s", h->id, role_state_name(saved.state));
	reset(w, h);
	s->generation = generation;
	take_up(s, &h->mirror);
	s->left = h->mirror.left;
	if (sim_plant == PLANT_RESTART || !role_resume(&s->role, &saved)) {
		check_not_resumed(w, h);
		e.type = ROLE_EV_BEGIN;
		s->left = saved.token;
		e.u.begin.token = saved.token;
	} else {
		check_taken_over(w, h, true);
		s->role.service = s->role.service && sim_plant != PLANT_SERVICE;
	}
	s->service_ended = service_ended || (saved.service && !h->service.running);
	supervisor_begin(w, s, &e);
	supervisor_look_after(w, s);
}

void life_exec(struct world *w, struct supervisor *s)
{
	resume(w, s->host);
}

/* Once nothing is under way the elector goes and leaves its session; then the supervisor makes way for
 * itself. */
void life_advance(struct world *w, struct supervisor *s)
{
	if (!s->restarting || s->execing || s->role.stopping || !is_at_rest(s))
		return;
	if (s->child) {
		if (!s->quitting)
			child_quit(w, s, true);
		return;
	}
	supervisor_mirror(w, s);
	TRACE(w, "host %u: executes itself anew", s->host->id);
	check_down(w, s->host, true);
	s->life++;
	s->execing = true;
	heap_push(w, w->now_ns + random_between(w, 2 * MS, 80 * MS), EVENT_EXEC, 0, 0, s, s->life);
}
