/* What goes wrong, and what operators do. Every fault begins and ends at its time; its target is chosen when
 * it begins. */
#include "sim.h"

#include <stdlib.h>

enum { RESUME_SERVER, RESUME_ELECTOR, RESUME_SUPERVISOR };

static unsigned incumbent(struct world *w)
{
	for (unsigned i = 0; i < w->host_count; i++)
		if (in_office(&w->hosts[i]))
			return i;
	return (unsigned)random_below(w, w->host_count);
}

static struct elector_process *elector_of(struct host *h)
{
	return h->supervisor.alive ? h->supervisor.child : NULL;
}

/* The server that a host's elector is connected to. */
static unsigned server_of(struct world *w, struct host *h)
{
	for (unsigned i = 0; i < ELECTORS_MAX; i++)
		if (h->electors[i].alive && h->electors[i].library.link)
			return h->electors[i].library.link->node[1];
	return (unsigned)random_below(w, w->server_count);
}

static unsigned choose(struct world *w, const struct fault *f)
{
	struct server *l = world_leader(w);
	unsigned first;

	switch (f->aim) {
	case AIM_INCUMBENT:
		return incumbent(w);
	case AIM_STANDBY:
		first = incumbent(w);
		return (first + 1 + (unsigned)random_below(w, w->host_count - 1)) % w->host_count;
	case AIM_ITS_SERVER:
		return server_of(w, &w->hosts[incumbent(w)]);
	case AIM_LEADER:
		return l ? l->id : (unsigned)random_below(w, w->server_count);
	case AIM_FIXED:
		break;
	}
	return f->chosen;
}

static uint16_t all_nodes(const struct world *w)
{
	return (uint16_t)(((1u << w->server_count) - 1) | ((1u << w->host_count) - 1) << SERVERS_MAX);
}

static void cut(struct world *w, const struct fault *f, bool on)
{
	for (unsigned i = 0; i < NODES_MAX; i++)
		for (unsigned k = 0; k < NODES_MAX; k++) {
			if (!(f->inside & 1u << i) || !(f->outside & 1u << k))
				continue;
			if (f->ways & 1)
				net_cut(w, i, k, on);
			if (f->ways & 2)
				net_cut(w, k, i, on);
		}
	if (!on)
		net_wake(w, NULL);
}

static void begin_cut(struct world *w, struct fault *f)
{
	struct server *l = world_leader(w);
	unsigned n = f->chosen;

	f->inside = (uint16_t)(1u << n);
	f->outside = 0;
	switch (f->kind) {
	case FAULT_CUT_HOST:
		f->inside = (uint16_t)(1u << (SERVERS_MAX + n));
		f->outside = all_nodes(w);
		break;
	case FAULT_CUT_PAIR:
		f->inside = (uint16_t)(1u << (SERVERS_MAX + n));
		f->outside = (uint16_t)(1u << server_of(w, &w->hosts[n]));
		break;
	case FAULT_CUT_PEER:
		f->outside = (uint16_t)(l ? 1u << l->id : 0);
		break;
	case FAULT_ISLAND:
		f->inside = (uint16_t)(1u << (SERVERS_MAX + n) | 1u << server_of(w, &w->hosts[n]));
		f->outside = all_nodes(w);
		break;
	default:
		f->outside = all_nodes(w);
		break;
	}
	f->outside = (uint16_t)(f->outside & ~f->inside);
	TRACE(w, "cut: inside %x outside %x ways %u for %lld ms", f->inside, f->outside, f->ways,
	      (long long)((f->until_ns - f->at_ns) / MS));
	cut(w, f, true);
}

static void pause_until(int64_t *until, int64_t at_ns)
{
	if (*until < at_ns)
		*until = at_ns;
}

static void resume_at(struct world *w, int64_t at_ns, unsigned what, unsigned which)
{
	heap_push(w, at_ns, EVENT_RESUME, what, which, NULL, 0);
}

static void pause_elector(struct world *w, struct host *h, int64_t until_ns)
{
	for (unsigned i = 0; i < ELECTORS_MAX; i++)
		if (h->electors[i].alive)
			pause_until(&h->electors[i].paused_until, until_ns);
	resume_at(w, until_ns, RESUME_ELECTOR, h->id);
}

static void pause_supervisor(struct world *w, struct host *h, int64_t until_ns)
{
	if (!h->supervisor.alive)
		return;
	pause_until(&h->supervisor.paused_until, until_ns);
	check_down(w, h, true);
	resume_at(w, until_ns, RESUME_SUPERVISOR, h->id);
}

void fault_resume(struct world *w, unsigned what, unsigned which)
{
	struct host *h;

	if (what == RESUME_SERVER) {
		net_wake(w, &w->servers[which]);
		return;
	}
	h = &w->hosts[which];
	switch (what) {
	case RESUME_ELECTOR:
		for (unsigned i = 0; i < ELECTORS_MAX; i++)
			net_wake(w, &h->electors[i]);
		break;
	case RESUME_SUPERVISOR:
		if (!h->supervisor.alive || h->supervisor.execing || h->supervisor.paused_until > w->now_ns)
			break;
		check_down(w, h, false);
		supervisor_timer(w, &h->supervisor);
		net_wake(w, &h->supervisor);
		break;
	}
}

/* An operator's change to the record, through whatever server. Returns false when there is no leader. */
static bool change_record(struct world *w, bool paused, uint8_t eligible)
{
	struct server *l = world_leader(w);
	struct request r = {.type = REQUEST_WRITE};

	if (!l || !l->prepared.path || l->paused_until > w->now_ns)
		return false;
	r.version = l->prepared.version;
	r.u.record = l->prepared.record;
	r.u.record.paused = paused;
	r.u.record.eligible = eligible;
	r.edit = TENURE_EDIT_ACTIVE;
	TRACE(w, "record: paused %d eligible %x", paused, eligible);
	leader_order(w, l, &r, l->id, NULL, false);
	return true;
}

/* Until it is killed. */
static void hang_elector(struct world *w, struct host *h)
{
	struct elector_process *p = elector_of(h);

	if (!p)
		return;
	pause_until(&p->paused_until, w->end_ns + SECOND);
	h->hung_ns = w->now_ns;
}

/* Nothing of it is left, state_dir included. */
static void crash_host(struct world *w, struct host *h)
{
	if (!h->supervisor.alive)
		return;
	check_vacancy(w, h);
	supervisor_die(w, h);
	for (unsigned i = 0; i < ELECTORS_MAX; i++)
		elector_process_kill(w, &h->electors[i]);
	h->hook.running = h->service.running = h->office = h->office_inherited = h->office_adopted = false;
	h->hook.life++;
	h->service.life++;
	h->office_session = 0;
	h->mirror.written = false;
}

static void crash_server(struct world *w, struct fault *f)
{
	if (w->servers[f->chosen].alive)
		server_crash(w, &w->servers[f->chosen]);
}

/* What an operator does. */
static void operate(struct world *w, const struct fault *f, struct host *h)
{
	switch (f->kind) {
	case FAULT_PAUSE:
		change_record(w, true, 0);
		break;
	case FAULT_ELIGIBLE:
		change_record(w, false, (uint8_t)random_between(w, 1, (1 << w->host_count) - 1));
		break;
	case FAULT_RESIGN:
		if (elector_of(h) && elector_of(h)->paused_until <= w->now_ns)
			elector_process_resign(w, elector_of(h));
		break;
	case FAULT_STOP:
		if (h->supervisor.paused_until <= w->now_ns)
			supervisor_stop(w, &h->supervisor, random_in(w, 1, 4));
		break;
	case FAULT_RECOVER:
		if (h->supervisor.paused_until <= w->now_ns)
			supervisor_recover(w, &h->supervisor);
		break;
	case FAULT_RESTART:
		if (h->supervisor.paused_until <= w->now_ns)
			supervisor_restart(w, &h->supervisor);
		break;
	default:
		abort();
	}
}

void fault_begin(struct world *w, struct fault *f)
{
	struct host *h;

	f->chosen = (uint8_t)choose(w, f);
	f->began = true;
	h = &w->hosts[f->chosen % w->host_count];
	TRACE(w, "fault %d on %u until %lld ms", (int)f->kind, f->chosen, (long long)(f->until_ns / MS));
	switch (f->kind) {
	case FAULT_SERVER_CRASH:
		crash_server(w, f);
		break;
	case FAULT_SERVER_PAUSE:
		pause_until(&w->servers[f->chosen].paused_until, f->until_ns);
		resume_at(w, f->until_ns, RESUME_SERVER, f->chosen);
		break;
	case FAULT_BIGGER:
		h->configured_timeout_ns = w->params.bigger_timeout_ns;
		/* fallthrough */
	case FAULT_ELECTOR_KILL:
		if (elector_of(h))
			elector_process_kill(w, elector_of(h));
		break;
	case FAULT_ELECTOR_PAUSE:
		pause_elector(w, h, f->until_ns);
		break;
	case FAULT_SUPERVISOR_CRASH:
		/* At once, or soon in the midst of a turn. */
		if (random_in(w, 2, 3))
			supervisor_crash(w, h);
		else
			h->supervisor.dies_in = (unsigned)random_between(w, 1, 4);
		break;
	case FAULT_HOST_CRASH:
		crash_host(w, h);
		break;
	case FAULT_ELECTOR_HANG:
		hang_elector(w, h);
		break;
	case FAULT_UNFIT:
		health_set(w, h, false);
		break;
	case FAULT_SUPERVISOR_PAUSE:
		pause_supervisor(w, h, f->until_ns);
		break;
	case FAULT_HOST_FREEZE:
		pause_elector(w, h, f->until_ns);
		pause_supervisor(w, h, f->until_ns);
		pause_until(&h->frozen_until, f->until_ns);
		break;
	default:
		if (f->kind <= FAULT_ISLAND)
			begin_cut(w, f);
		else
			operate(w, f, h);
		break;
	}
}

void fault_end(struct world *w, struct fault *f)
{
	switch (f->kind) {
	case FAULT_SERVER_CRASH:
		if (!w->servers[f->chosen].alive)
			server_start(w, &w->servers[f->chosen]);
		break;
	case FAULT_PAUSE:
	case FAULT_ELIGIBLE:
		change_record(w, false, 0);
		break;
	case FAULT_UNFIT:
		if ((int)f->chosen != w->params.sick)
			health_set(w, &w->hosts[f->chosen], true);
		break;
	case FAULT_STOP:
	case FAULT_HOST_CRASH:
		heap_push(w, w->now_ns, EVENT_BOOT, f->chosen, 0, NULL, 0);
		break;
	default:
		if (f->kind <= FAULT_ISLAND)
			cut(w, f, false);
		break;
	}
}

/* All is well from here on, and operators go on seeing to it: a hook that hangs from before may end in PANIC
 * later. */
void scenario_heal(struct world *w)
{
	struct server *l = world_leader(w);

	if (!w->healed)
		TRACE(w, "all is well");
	/* A follow hook may have no limit, and hang for ever. */
	for (unsigned i = 0; i < w->host_count && !w->healed; i++)
		if (w->hosts[i].hook.kind == ROLE_HOOK_FOLLOW)
			hook_signal(w, &w->hosts[i], true);
	w->healed = true;
	if (l && (l->prepared.record.paused || l->prepared.record.eligible != 0))
		change_record(w, false, 0);
	for (unsigned i = 0; i < w->host_count; i++) {
		struct supervisor *s = &w->hosts[i].supervisor;

		if (!w->hosts[i].fit && (int)i != w->params.sick)
			health_set(w, &w->hosts[i], true);
		if (s->alive && s->role.state == ROLE_PANIC)
			supervisor_recover(w, s);
		if (!s->alive)
			heap_push(w, w->now_ns, EVENT_BOOT, i, 0, NULL, 0);
	}
	heap_push(w, w->now_ns + SECOND, EVENT_HEAL, 0, 0, NULL, 0);
}
