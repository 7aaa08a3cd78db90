/*
 * One seed's world: the configuration, as tight as its own arithmetic allows as often as not, the hosts and
 * servers, and the faults. Most seeds are chaos; the others play one of the scenes that a wrong lease rule is
 * known to fail in, with everything about them at random.
 */
#include "sim.h"

#include <stdlib.h>

enum { SCORE_STEP = 1000 };

static int64_t part(struct world *w, int64_t of_ns, int64_t low_permille, int64_t high_permille)
{
	return of_ns / 1000 * random_between(w, low_permille, high_permille);
}

/* ---- the configuration ---- */

enum scene { SCENE_CHAOS, SCENE_QUIET, SCENE_STALL, SCENE_MUTE, SCENE_BIGGER, SCENE_CALM, SCENE_SCORE };

/* Where a scene can only go wrong with some rhythms, the others are not worth a seed. */
static bool suits(const struct world *w, enum scene scene, const struct tenure_budget *b)
{
	int64_t beat_ns = tenure_budget_heartbeat(b, w->params.timeout_ns);

	/* Between two pings there is room for three heartbeats, and what is wrong is more than rounding and
	 * margin. */
	if (scene == SCENE_STALL)
		return b->ping_slack_ns <= beat_ns && beat_ns < b->touch_lag_ns &&
		       beat_ns - tenure_budget_margin(w->params.timeout_ns) > w->params.tick_ns / 4;
	/* An answer to a ping may be overtaken by two heartbeats. */
	if (scene == SCENE_QUIET)
		return b->ping_slack_ns > 2 * beat_ns;
	return scene != SCENE_MUTE || beat_ns >= b->touch_lag_ns;
}

static bool draw_times(struct world *w, enum scene scene, struct tenure_budget *b, int64_t spare_ns,
		       bool service)
{
	struct params *p = &w->params;
	int64_t configured_ns, left_ns;

	p->timeout_ns = random_between(w, 4000, 20000) * MS;
	p->tick_ns = random_between(w, 200, 3000) * MS;
	if (random_in(w, 1, 2))
		p->tick_ns = random_between(w, 200, 600) * MS;
	if (p->timeout_ns < 2 * p->tick_ns)
		return false;
	configured_ns = p->tick_ns + (random_in(w, 1, 3) ? part(w, p->tick_ns, 0, 500) : 0);
	memset(b, 0, sizeof *b);
	b->ping_slack_ns =
		random_in(w, 1, 2) ? 500 * MS : random_between(w, 100, random_in(w, 1, 2) ? 500 : 1500) * MS;
	b->touch_lag_ns = configured_ns / 2 + b->ping_slack_ns;
	b->heartbeat_ns = random_in(w, 1, 3) ? part(w, p->timeout_ns, 30, 120) : 0;
	b->ride_out_ns = random_in(w, 1, 3) ? part(w, p->timeout_ns, 20, 200) : 0;
	left_ns = tenure_budget_hold(b, p->timeout_ns) - tenure_budget_ride_out(b, p->timeout_ns) - spare_ns;
	if (left_ns < 200 * MS)
		return false;
	if (random_in(w, 1, 2))
		left_ns = part(w, left_ns, 100, 1000);
	b->fence_ns = random_in(w, scene == SCENE_CHAOS ? 2 : 1, 4) ? part(w, left_ns, 100, 500) : 0;
	b->stop_ns = service ? part(w, left_ns - b->fence_ns, 100, 700) : 0;
	b->lose_ns = left_ns - b->fence_ns - b->stop_ns;
	p->late_ping_ns = b->touch_lag_ns - p->tick_ns / 2;
	return tenure_budget_fits(b, p->timeout_ns);
}

static void draw_roles(struct world *w, const struct tenure_budget *b, bool service, bool hooks)
{
	struct params *p = &w->params;
	struct role_config *r = &p->role;
	struct elector_config *e = &p->elector;

	memset(r, 0, sizeof *r);
	r->candidate = true;
	r->service = service;
	r->check = random_in(w, 1, 3);
	r->has[ROLE_HOOK_GAIN] = r->has[ROLE_HOOK_LOSE] = hooks;
	r->has[ROLE_HOOK_FENCE] = b->fence_ns != 0;
	r->has[ROLE_HOOK_FOLLOW] = random_in(w, 1, 6);
	r->has[ROLE_HOOK_FENCE_PEER] = random_in(w, 1, 4);
	r->gain_ns = random_between(w, 500, 8000) * MS;
	r->handoff_ns = random_between(w, 2, 30) * SECOND;
	r->follow_ns = random_in(w, 1, 2) ? 3 * SECOND : 0;
	r->fence_peer_ns = random_between(w, 500, 5000) * MS;
	r->floor = p->floor = random_in(w, 1, 4);
	r->backoff_ns = random_between(w, 200, 1000) * MS;
	r->backoff_max_ns = 4 * SECOND;
	r->budget = *b;

	memset(e, 0, sizeof *e);
	e->follows = r->has[ROLE_HOOK_FOLLOW];
	e->fence_peer = r->has[ROLE_HOOK_FENCE_PEER];
	e->floor = r->floor;
	e->takeover_delay_ns = random_in(w, 1, 6) ? random_below(w, 2 * SECOND) : 0;
	e->score_slack = -1;
	if (p->score_every_ns != 0) {
		e->score_slack = random_below(w, SCORE_STEP / 2);
		e->score_settle_ns = 3 * p->score_every_ns;
	}
	e->budget = *b;
	e->backoff_ns = r->backoff_ns;
	e->backoff_max_ns = r->backoff_max_ns;
}

static void draw_config(struct world *w, enum scene scene)
{
	struct params *p = &w->params;
	struct tenure_budget b;
	bool service = random_in(w, 1, 4), hooks;
	int64_t spare_ns;

	p->latency_ns = random_between(w, 1, 6) * MS / 2;
	if (random_in(w, 1, 8))
		p->latency_ns = random_between(w, 5, 60) * MS;
	p->verdict = random_in(w, 1, 6) || scene == SCENE_SCORE;
	/* The arithmetic does not count round trips: who uses it to the last drop may never get a lease that
	 * is long enough. */
	spare_ns = p->verdict || scene == SCENE_CALM ? 30 * p->latency_ns : 0;
	while (!draw_times(w, scene, &b, spare_ns, service) || !suits(w, scene, &b))
		;
	/* Where the service is all that there is. */
	hooks = !service || random_in(w, 2, 3);
	if (!hooks) {
		b.stop_ns += b.lose_ns;
		b.lose_ns = 0;
	}
	p->late_of = random_in(w, 1, 3) ? 1 : 4;
	p->late_answer_of = random_in(w, 1, 2) ? 3 : 12;
	p->score_every_ns =
		scene == SCENE_SCORE || random_in(w, 1, 6) ? random_between(w, 300, 2000) * MS : 0;
	draw_roles(w, &b, service, hooks);
	p->calm = scene == SCENE_CALM;
	p->best = scene == SCENE_SCORE;
	p->lost_states = !random_in(w, 1, 2) ? 0 : p->calm ? 500 : 150;
	p->session.timeout_ns = p->timeout_ns;
	p->session.budget = b;
	p->bigger_timeout_ns = part(w, p->timeout_ns, 1200, 4000);
	p->sync_limit = (unsigned)random_between(w, 2, 10);
	/* Late pings alone are no reason for servers to part. */
	while (p->sync_limit * p->tick_ns < 2 * b.touch_lag_ns + 10 * p->latency_ns)
		p->sync_limit++;
	p->slow_of = scene < SCENE_CALM && random_in(w, 1, 3) ? 600 : 1u << 30;
	p->orphan_limit_ns = random_in(w, 1, 2) ? 60 * SECOND : part(w, p->timeout_ns, 1000, 3000);
	p->bad_hooks = scene == SCENE_CHAOS && random_in(w, 1, 2) ? (unsigned)random_between(w, 0, 200) : 0;
}

static void say_config(struct world *w, enum scene scene)
{
	const struct params *p = &w->params;
	const struct tenure_budget *b = &p->session.budget;

	TRACE(w,
	      "scene %d: T %lld, tick %lld, touch_lag %lld, ping_slack %lld, heartbeat %lld, ride_out %lld, "
	      "lose %lld, fence %lld, latency %lld ms",
	      (int)scene, (long long)(p->timeout_ns / MS), (long long)(p->tick_ns / MS),
	      (long long)(b->touch_lag_ns / MS), (long long)(b->ping_slack_ns / MS),
	      (long long)(tenure_budget_heartbeat(b, p->timeout_ns) / MS),
	      (long long)(tenure_budget_ride_out(b, p->timeout_ns) / MS), (long long)(b->lose_ns / MS),
	      (long long)(b->fence_ns / MS), (long long)(p->latency_ns / MS));
}

/* ---- hosts and servers ---- */

static void make_servers(struct world *w)
{
	w->voter_count = random_in(w, 1, 20) ? 1 : random_in(w, 3, 4) ? 3 : 5;
	w->server_count = w->voter_count + (w->voter_count > 1 && random_in(w, 1, 4) ? 1 : 0);
	for (unsigned i = 0; i < w->server_count; i++) {
		struct server *s = &w->servers[i];

		memset(s, 0, offsetof(struct server, log));
		s->id = i;
		s->voter = i < w->voter_count;
		s->drift_ppm = random_between(w, -200, 200);
		tree_init(&s->tree);
		server_start(w, s);
	}
}

/* One whose service an operator has put in office before there was an agent. */
static void draw_adopted(struct world *w)
{
	struct host *h = &w->hosts[random_below(w, w->host_count)];

	if (!random_in(w, 1, 12) || w->params.role.service)
		return;
	TRACE(w, "host %u: its service runs as in office", h->id);
	h->adopts = h->office = h->office_adopted = true;
}

/* Far apart, in any order. */
static void draw_scores(struct world *w)
{
	for (unsigned i = 0; i < w->host_count && w->params.score_every_ns != 0; i++) {
		unsigned k = (unsigned)random_below(w, i + 1);

		w->hosts[i].score = w->hosts[k].score;
		w->hosts[k].score = (i + 1) * SCORE_STEP;
		heap_push(w, random_below(w, w->params.score_every_ns), EVENT_SCORE, i, 0, NULL, 0);
	}
}

static void make_hosts(struct world *w)
{
	w->host_count = random_in(w, 3, 4) ? 3 : 4;
	w->params.sick = -1;
	if (w->params.role.check && random_in(w, 1, 4))
		w->params.sick = (int)random_below(w, w->host_count);
	for (unsigned i = 0; i < w->host_count; i++) {
		struct host *h = &w->hosts[i];

		for (unsigned k = 0; k < ELECTORS_MAX; k++) {
			h->electors[k].alive = false;
			h->electors[k].life = 0;
			h->electors[k].slot = k;
			h->electors[k].paused_until = 0;
		}
		memset(&h->supervisor, 0, sizeof h->supervisor);
		memset(&h->hook, 0, sizeof h->hook);
		memset(&h->service, 0, sizeof h->service);
		memset(&h->mirror, 0, sizeof h->mirror);
		h->id = i;
		h->offset_ns = random_between(w, 1000, 100000) * SECOND;
		h->drift_ppm = random_between(w, -200, 200);
		h->configured_timeout_ns = w->params.timeout_ns;
		memset((char *)h + offsetof(struct host, frozen_until), 0,
		       sizeof *h - offsetof(struct host, frozen_until));
		h->fit = (int)i != w->params.sick;
		heap_push(w, random_below(w, 800 * MS), EVENT_BOOT, i, 0, NULL, 0);
	}
	draw_adopted(w);
	draw_scores(w);
}

/* ---- faults ---- */

static struct fault *add_fault(struct world *w, enum fault_kind kind, enum aim aim, int64_t at_ns,
			       int64_t lasts_ns)
{
	struct fault *f = &w->faults[w->fault_count];

	assert(w->fault_count < FAULTS_MAX);
	memset(f, 0, sizeof *f);
	f->kind = kind;
	f->aim = aim;
	f->ways = 3;
	f->at_ns = at_ns;
	f->until_ns = at_ns + lasts_ns;
	if (f->until_ns > w->heal_ns)
		f->until_ns = w->heal_ns;
	heap_push(w, f->at_ns, EVENT_FAULT, w->fault_count, 0, NULL, 0);
	heap_push(w, f->until_ns, EVENT_FAULT, w->fault_count, 1, NULL, 0);
	w->fault_count++;
	return f;
}

static enum aim draw_aim(struct world *w, enum fault_kind kind, uint8_t *chosen)
{
	bool server = kind == FAULT_CUT_SERVER || kind == FAULT_CUT_PEER || kind == FAULT_SERVER_CRASH ||
		      kind == FAULT_SERVER_PAUSE;

	*chosen = (uint8_t)random_below(w, server ? w->server_count : w->host_count);
	if (random_in(w, 1, 4))
		return AIM_FIXED;
	if (server)
		return random_in(w, 1, 2) ? AIM_ITS_SERVER : AIM_LEADER;
	return random_in(w, 3, 4) ? AIM_INCUMBENT : AIM_STANDBY;
}

static void add_random(struct world *w, int64_t from_ns, int64_t to_ns)
{
	static const enum fault_kind common[] = {FAULT_CUT_HOST,     FAULT_CUT_SERVER, FAULT_CUT_PAIR,
						 FAULT_CUT_PEER,     FAULT_ISLAND,     FAULT_SERVER_CRASH,
						 FAULT_ELECTOR_PAUSE};
	enum fault_kind kind = random_in(w, 1, 2) ? common[random_below(w, sizeof common / sizeof *common)]
						  : (enum fault_kind)random_below(w, FAULT_KINDS);
	int64_t lasts_ns = part(w, w->params.timeout_ns, 50, random_in(w, 1, 2) ? 700 : 2000);
	uint8_t chosen;
	struct fault *f;
	enum aim aim;

	if (w->params.role.check && random_in(w, 1, 4))
		kind = FAULT_UNFIT;
	aim = draw_aim(w, kind, &chosen);
	f = add_fault(w, kind, aim, random_between(w, from_ns, to_ns), lasts_ns);
	f->chosen = chosen;
	f->ways = random_in(w, 2, 3) ? 3 : (uint8_t)random_between(w, 1, 2);
}

/* All is well until the incumbent and its server are cut off from the others. */
static void scene_quiet(struct world *w, int64_t at_ns)
{
	int64_t t_ns = w->params.timeout_ns;
	struct fault *f = add_fault(w, FAULT_ISLAND, AIM_INCUMBENT, at_ns + random_below(w, t_ns), 2 * t_ns);

	f->ways = random_in(w, 1, 4) ? 1 : 3;
}

/*
 * A stall between the incumbent and its server, and as soon as it is over the two are cut off from the
 * others: what was committed in between was committed in a hurry.
 */
static void scene_stall(struct world *w, int64_t at_ns)
{
	const struct tenure_budget *b = &w->params.session.budget;
	int64_t t_ns = w->params.timeout_ns, beat_ns = tenure_budget_heartbeat(b, t_ns);
	int64_t stall_ns = random_between(w, b->touch_lag_ns, t_ns / 5), pause_ns = random_below(w, t_ns / 8);
	struct fault *f;

	/* Longer than that, and the elector tries another server. */
	if (random_in(w, 1, 4))
		stall_ns = part(w, t_ns, 10, 900);
	if (random_in(w, 3, 4))
		pause_ns = beat_ns + random_below(w, b->touch_lag_ns - beat_ns) + 4 * w->params.latency_ns;
	f = add_fault(w, FAULT_CUT_PAIR, AIM_INCUMBENT, at_ns, stall_ns);
	f->ways = random_in(w, 1, 6) ? 2 : random_in(w, 1, 2) ? 3 : 1;
	add_fault(w, FAULT_ISLAND, AIM_INCUMBENT, at_ns + stall_ns + pause_ns, 2 * t_ns);
}

/* The leader's words to the incumbent's server are held up, and meanwhile what that server says is cut off.
 */
static void scene_mute(struct world *w, int64_t at_ns)
{
	int64_t t_ns = w->params.timeout_ns, stall_ns = part(w, t_ns, 10, 190);
	int64_t from_ns = at_ns + stall_ns + random_below(w, t_ns / 16), held_ns = part(w, t_ns, 20, 180);
	struct fault *f = add_fault(w, FAULT_CUT_PAIR, AIM_INCUMBENT, at_ns, stall_ns);

	f->ways = random_in(w, 1, 2) ? 3 : (uint8_t)random_between(w, 1, 2);
	f = add_fault(w, FAULT_CUT_PEER, AIM_ITS_SERVER, from_ns, held_ns);
	f->ways = 2;
	from_ns += random_below(w, held_ns);
	f = add_fault(w, FAULT_ISLAND, AIM_INCUMBENT, from_ns, 2 * t_ns);
	f->ways = 1;
	add_fault(w, FAULT_ISLAND, AIM_INCUMBENT, at_ns + stall_ns + held_ns + t_ns / 4, 2 * t_ns);
}

/* A standby begins anew with a larger T in its configuration, takes office, and the ensemble changes its
 * leader. */
static void scene_bigger(struct world *w, int64_t at_ns)
{
	int64_t t_ns = w->params.timeout_ns;

	for (unsigned i = 0; i < w->host_count; i++)
		add_fault(w, FAULT_BIGGER, AIM_FIXED, at_ns, 0)->chosen = (uint8_t)i;
	add_fault(w, FAULT_RESIGN, AIM_INCUMBENT, at_ns + 2 * SECOND, 0);
	add_fault(w, FAULT_SERVER_CRASH, AIM_LEADER, at_ns + 4 * SECOND + random_below(w, t_ns / 2), t_ns);
	add_fault(w, FAULT_CUT_HOST, AIM_INCUMBENT, at_ns + 4 * SECOND + random_below(w, t_ns / 2), 4 * t_ns);
}

/* Supervisors and electors die, hang and restart, and nothing else goes wrong. */
static void scene_calm(struct world *w, int64_t from_ns, int64_t to_ns)
{
	static const enum fault_kind kinds[] = {FAULT_SUPERVISOR_CRASH, FAULT_SUPERVISOR_CRASH,
						FAULT_RESTART,		FAULT_RESTART,
						FAULT_ELECTOR_HANG,	FAULT_ELECTOR_KILL};
	unsigned count = (unsigned)random_between(w, 1, 4);

	for (unsigned i = 0; i < count; i++) {
		enum fault_kind kind = kinds[random_below(w, sizeof kinds / sizeof *kinds)];
		enum aim aim = random_in(w, 3, 4) ? AIM_INCUMBENT : AIM_STANDBY;

		add_fault(w, kind, aim, random_between(w, from_ns, to_ns), 0);
	}
}

/* The incumbent's host dies, and does not come back before there is another. */
static void scene_score(struct world *w, int64_t at_ns)
{
	add_fault(w, FAULT_HOST_CRASH, AIM_INCUMBENT, at_ns + random_below(w, w->params.timeout_ns),
		  100 * SECOND);
}

void scenario_build(struct world *w)
{
	static const enum scene scenes[] = {SCENE_CHAOS, SCENE_CHAOS, SCENE_CHAOS, SCENE_CHAOS, SCENE_QUIET,
					    SCENE_QUIET, SCENE_STALL, SCENE_STALL, SCENE_MUTE,	SCENE_BIGGER,
					    SCENE_CALM,	 SCENE_CALM,  SCENE_SCORE};
	enum scene scene = scenes[random_below(w, sizeof scenes / sizeof *scenes)];
	int64_t t_ns, at_ns, last_ns;
	unsigned count;

	draw_config(w, scene);
	say_config(w, scene);
	t_ns = w->params.timeout_ns;
	at_ns = 3 * SECOND + random_below(w, t_ns / 2);
	last_ns = at_ns + 2 * t_ns;
	w->heal_ns = last_ns + t_ns;
	make_servers(w);
	make_hosts(w);
	w->fault_count = 0;
	switch (scene) {
	case SCENE_QUIET:
		scene_quiet(w, at_ns);
		break;
	case SCENE_STALL:
		scene_stall(w, at_ns);
		break;
	case SCENE_MUTE:
		scene_mute(w, at_ns);
		break;
	case SCENE_BIGGER:
		w->heal_ns += 3 * t_ns;
		scene_bigger(w, at_ns);
		break;
	case SCENE_CALM:
		scene_calm(w, at_ns, last_ns);
		break;
	case SCENE_SCORE:
		w->heal_ns += 3 * t_ns + 10 * SECOND;
		scene_score(w, at_ns);
		break;
	case SCENE_CHAOS:
		count = (unsigned)random_between(w, 1, 6);
		for (unsigned i = 0; i < count; i++)
			add_random(w, at_ns, last_ns);
		break;
	}
	if (w->params.verdict) {
		heap_push(w, w->heal_ns, EVENT_HEAL, 0, 0, NULL, 0);
		w->end_ns =
			w->heal_ns + 4 * t_ns + 2 * w->params.sync_limit * w->params.tick_ns + 30 * SECOND;
		heap_push(w, w->end_ns, EVENT_VERDICT, 0, 0, NULL, 0);
	} else {
		w->end_ns = w->heal_ns;
	}
}
