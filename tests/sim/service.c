/*
 * The service, where the agent runs it itself, and whether it is fit. It ends when it is asked to, ends by
 * itself, does not start, ignores TERM, and rarely outlives KILL for a while. It dies with its supervisor
 * (PR_SET_PDEATHSIG), but not with one that executes itself anew.
 */
#include "sim.h"

static void end_at(struct world *w, struct host *h, int64_t at_ns)
{
	h->service.life++;
	h->service.end_ns = at_ns;
	heap_push(w, at_ns, EVENT_SERVICE_END, 0, 0, h, h->service.life);
}

void service_start(struct world *w, struct host *h)
{
	struct service *service = &h->service;
	bool bad = !w->healed && random_below(w, 1000) < w->params.bad_hooks;

	TRACE(w, "host %u: the service starts", h->id);
	mix(w, UINT64_C(1) << 20 | h->id);
	service->running = true;
	service->killed = service->cut_off = false;
	service->obeys = random_in(w, 3, 4);
	service->stuck_ns = bad && random_in(w, 1, 8) ? random_below(w, w->params.timeout_ns) : 0;
	/* One that cannot be started has ended at once. */
	end_at(w, h,
	       !bad ? NEVER
		    : w->now_ns + random_below(w, random_in(w, 1, 2) ? MS : 3 * w->params.timeout_ns));
}

void service_signal(struct world *w, struct host *h, bool kill)
{
	struct service *service = &h->service;
	int64_t stop_ns = w->params.role.budget.stop_ns,
		at_ns = w->now_ns + random_between(w, MS / 10, 5 * MS);

	if (!service->running || service->killed || (!kill && !service->obeys))
		return;
	if (kill) {
		service->killed = true;
		at_ns += service->stuck_ns;
	} else {
		at_ns += random_below(w, random_in(w, 1, 2) ? stop_ns : stop_ns / 8);
	}
	if (at_ns < service->end_ns || (kill && service->stuck_ns > 0))
		end_at(w, h, at_ns);
}

void service_end(struct world *w, struct host *h)
{
	if (!h->service.running)
		return;
	TRACE(w, "host %u: the service ends", h->id);
	h->service.running = false;
	/* As with a hook: what comes after one that has outlived its KILL comes too late. */
	h->office_panic = h->office_panic || (h->service.killed && h->service.stuck_ns > 0);
	check_service_end(w, h);
	supervisor_service_ended(w, &h->supervisor);
}

/* The check hook sees it a little later. */
void health_set(struct world *w, struct host *h, bool fit)
{
	if (!w->params.role.check)
		return;
	TRACE(w, "host %u: the service is %s", h->id, fit ? "fit" : "unfit");
	h->fit = fit;
	heap_push(w, w->now_ns + random_between(w, 20 * MS, 2 * SECOND), EVENT_HEALTH, h->id, 0, NULL, 0);
}
