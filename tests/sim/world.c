/* One run: the event loop. Whoever is paused finds its events waiting when it goes on, in their order. */
#include "sim.h"

#include <stdarg.h>
#include <stdio.h>

static struct server servers[SERVERS_MAX];
static struct znode znodes[ZNODES_MAX];
static struct txn txns[TXNS_MAX];

void world_trace(struct world *w, const char *format, ...)
{
	va_list ap;

	printf("%10.4f  ", (double)w->now_ns / 1e9);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
}

int64_t host_local(const struct host *h, int64_t true_ns)
{
	return h->offset_ns + true_ns + true_ns / 1000000 * h->drift_ppm;
}

int64_t host_true(const struct host *h, int64_t local_ns)
{
	int64_t span_ns = local_ns - h->offset_ns;
	int64_t at_ns = span_ns - span_ns / (1000000 + h->drift_ppm) * h->drift_ppm;

	while (host_local(h, at_ns) < local_ns)
		at_ns += (local_ns - host_local(h, at_ns) + 1) / 2 + 1;
	return at_ns;
}

static bool waits_for_adopted(struct world *w, const struct host *h)
{
	for (unsigned i = 0; i < w->host_count; i++)
		if (w->hosts[i].office_adopted && &w->hosts[i] != h) {
			check_adopted(w, &w->hosts[i]);
			return true;
		}
	return false;
}

static void on_boot(struct world *w, struct host *h)
{
	struct supervisor *s = &h->supervisor;

	/* An operator starts the others when the one that runs by hand is in office. */
	if (!s->alive && waits_for_adopted(w, h))
		heap_push(w, w->now_ns + SECOND / 4, EVENT_BOOT, h->id, 0, NULL, 0);
	else if (!s->alive)
		supervisor_boot(w, h);
	else if (s->role.stopping)
		heap_push(w, w->now_ns + SECOND / 4, EVENT_BOOT, h->id, 0, NULL, 0);
}

/* An event for one that is paused waits. */
static bool wait_for(struct world *w, const struct event *e, int64_t paused_until, int64_t *armed_ns)
{
	if (paused_until <= w->now_ns)
		return false;
	if (armed_ns && *armed_ns <= e->at_ns)
		*armed_ns = paused_until;
	heap_push(w, paused_until, (enum event_type)e->type, e->a, e->b, e->p, e->life);
	return true;
}

static void on_server(struct world *w, const struct event *e)
{
	struct server *s = e->type == EVENT_PONG ? ((struct link *)e->p)->owner[1] : e->p;

	if (e->life != s->term || !s->alive || wait_for(w, e, s->paused_until, NULL))
		return;
	if (e->type == EVENT_PONG)
		server_pong(w, s, e->p);
	else
		server_timer(w, s, (enum server_timer)e->a);
}

static void on_elector(struct world *w, const struct event *e)
{
	struct elector_process *p = e->p;
	int64_t *armed_ns = e->type == EVENT_LIBRARY   ? &p->library.armed_ns
			    : e->type == EVENT_ELECTOR ? &p->armed_ns
						       : NULL;

	if (e->life != p->life || !p->alive || wait_for(w, e, p->paused_until, armed_ns))
		return;
	if (armed_ns && *armed_ns != e->at_ns)
		return; /* another has been set since */
	switch (e->type) {
	case EVENT_LIBRARY:
		library_timer(w, p);
		break;
	case EVENT_ELECTOR:
		elector_process_timer(w, p);
		break;
	case EVENT_RULE:
		elector_process_rule(w, p);
		break;
	default:
		elector_process_spawned(w, p);
		break;
	}
}

static void on_supervisor(struct world *w, const struct event *e)
{
	struct supervisor *s = e->p;

	if (e->life != s->life || !s->alive)
		return;
	if (wait_for(w, e, s->paused_until, e->type == EVENT_SUPERVISOR ? &s->armed_ns : NULL))
		return;
	if (e->type == EVENT_EXEC)
		life_exec(w, s);
	else if (e->type == EVENT_FLOOR)
		supervisor_floor_written(w, s);
	else if (s->armed_ns == e->at_ns)
		supervisor_timer(w, s);
}

static void on_hook_end(struct world *w, const struct event *e)
{
	struct host *h = e->p;

	if (e->life == h->hook.life && !wait_for(w, e, h->frozen_until, NULL))
		hook_end(w, h);
}

static void on_service_end(struct world *w, const struct event *e)
{
	struct host *h = e->p;

	if (e->life == h->service.life && !wait_for(w, e, h->frozen_until, NULL))
		service_end(w, h);
}

static void on_score(struct world *w, struct host *h)
{
	supervisor_scored(w, &h->supervisor);
	heap_push(w, w->now_ns + w->params.score_every_ns + random_below(w, w->params.score_every_ns / 8),
		  EVENT_SCORE, h->id, 0, NULL, 0);
}

static void dispatch(struct world *w, const struct event *e)
{
	switch ((enum event_type)e->type) {
	case EVENT_DELIVER:
		net_deliver(w, e->p, e->a);
		break;
	case EVENT_SERVER:
	case EVENT_PONG:
		on_server(w, e);
		break;
	case EVENT_LIBRARY:
	case EVENT_ELECTOR:
	case EVENT_RULE:
	case EVENT_SPAWNED:
		on_elector(w, e);
		break;
	case EVENT_SUPERVISOR:
	case EVENT_FLOOR:
		on_supervisor(w, e);
		break;
	case EVENT_BOOT:
		on_boot(w, &w->hosts[e->a]);
		break;
	case EVENT_EXEC:
		on_supervisor(w, e);
		break;
	case EVENT_SERVICE_END:
		on_service_end(w, e);
		break;
	case EVENT_HEALTH:
		supervisor_health(w, &w->hosts[e->a].supervisor);
		break;
	case EVENT_SCORE:
		on_score(w, &w->hosts[e->a]);
		break;
	case EVENT_HOOK_END:
		on_hook_end(w, e);
		break;
	case EVENT_FAULT:
		if (e->b == 0)
			fault_begin(w, &w->faults[e->a]);
		else
			fault_end(w, &w->faults[e->a]);
		break;
	case EVENT_RESUME:
		fault_resume(w, e->a, e->b);
		break;
	case EVENT_HEAL:
		scenario_heal(w);
		break;
	case EVENT_VERDICT:
		check_settled(w);
		break;
	}
}

static void reset(struct world *w, uint64_t seed)
{
	bool trace = w->trace;

	memset(&w->found, 0, sizeof w->found);
	memset(w->cut, 0, sizeof w->cut);
	w->trace = trace;
	w->seed = seed;
	w->random = seed;
	w->now_ns = 0;
	w->over = w->exhausted = w->healed = false;
	w->hash = seed;
	w->servers = servers;
	w->znodes = znodes;
	w->txns = txns;
	w->znode_count = w->session_count = 1;
	w->txn_count = 0;
	w->epoch = 0;
	w->link_count = 0;
	w->link_number = 0;
	arena_reset(w);
	memset(w->members, 0, sizeof w->members);
	for (unsigned i = 0; i < HOSTS_MAX; i++) {
		memcpy(w->members[i], "member-", 7);
		w->members[i][7] = (char)('a' + i);
	}
}

void world_run(struct world *w, uint64_t seed)
{
	struct event e;

	reset(w, seed);
	scenario_build(w);
	while (!w->over && heap_pop(w, &e) && e.at_ns <= w->end_ns) {
		w->now_ns = e.at_ns;
		w->events++;
		mix(w, (uint64_t)e.at_ns << 8 | e.type);
		dispatch(w, &e);
		if (arena_low())
			w->exhausted = w->over = true;
	}
}
