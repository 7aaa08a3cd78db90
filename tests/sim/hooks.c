/*
 * Hooks and the service they move. A hook ends well, fails, or hangs until it is told to end; it may ignore
 * TERM, and rarely outlives KILL for a while. The service is in office from the start of a gain hook to the
 * end of a lose or fence hook that has succeeded. A hook whose supervisor dies is killed (PR_SET_PDEATHSIG).
 */
#include "sim.h"

static void end_at(struct world *w, struct host *h, int64_t at_ns)
{
	h->hook.life++;
	h->hook.end_ns = at_ns;
	heap_push(w, at_ns, EVENT_HOOK_END, 0, 0, h, h->hook.life);
}

/* How long one that behaves takes: as often as not nearly all that it has. */
static int64_t duration(struct world *w, const struct role_action *a)
{
	int64_t limit_ns = a->limit_ns > 0 ? a->limit_ns : SECOND;

	switch (a->hook) {
	case ROLE_HOOK_LOSE:
		/* At a start it may take longer than any lease. */
		if (a->token == 0 && !w->healed && random_in(w, w->params.calm ? 3 : 1, 12))
			return random_below(w, limit_ns);
		if (a->token == 0 || a->planned)
			return random_between(w, 2 * MS,
					      random_in(w, 1, 6) ? w->params.role.budget.lose_ns : 300 * MS);
		/* fallthrough */
	case ROLE_HOOK_FENCE:
		if (random_in(w, 1, 2))
			return limit_ns - random_between(w, 2 * MS, 20 * MS);
		return random_below(w, limit_ns);
	default:
		return random_between(w, 2 * MS, random_in(w, 1, 6) ? limit_ns : 200 * MS);
	}
}

void hook_start(struct world *w, struct host *h, const struct role_action *a)
{
	struct hook *hook = &h->hook;
	bool bad = !w->healed && random_below(w, 1000) < w->params.bad_hooks;
	int64_t takes_ns = duration(w, a);

	TRACE(w, "host %u: hook %s, token %llx, limit %lld ms", h->id, role_hook_name(a->hook),
	      (long long)a->token, (long long)(a->limit_ns / MS));
	mix(w, (uint64_t)a->hook << 16 | h->id);
	hook->running = true;
	hook->kind = a->hook;
	hook->run = a->run;
	hook->token = a->token;
	hook->ok = !bad;
	hook->not_now = bad && random_in(w, 1, 4);
	hook->killed = false;
	hook->obeys = random_in(w, 3, 4);
	hook->stuck_ns = bad && random_in(w, 1, 12) ? random_below(w, w->params.timeout_ns) : 0;
	if (bad && random_in(w, 1, 3))
		takes_ns = 1000 * SECOND;
	if (takes_ns < 0)
		takes_ns = 0;
	/* It is forked a moment after the decision. */
	end_at(w, h, w->now_ns + random_below(w, MS) + takes_ns);
}

void hook_signal(struct world *w, struct host *h, bool kill)
{
	struct hook *hook = &h->hook;
	int64_t at_ns;

	if (!hook->running || hook->killed || (!kill && !hook->obeys))
		return;
	at_ns = w->now_ns + random_between(w, MS / 10, 5 * MS);
	if (kill) {
		hook->killed = true;
		at_ns += hook->stuck_ns;
	}
	if (at_ns >= hook->end_ns && !(kill && hook->stuck_ns > 0))
		return;
	hook->ok = hook->not_now = false;
	end_at(w, h, at_ns);
}

void hook_end(struct world *w, struct host *h)
{
	struct hook *hook = &h->hook;

	if (!hook->running)
		return;
	TRACE(w, "host %u: hook %s ends %s", h->id, role_hook_name(hook->kind), hook->ok ? "well" : "badly");
	hook->running = false;
	/* What comes after a hook that has outlived its KILL comes too late. */
	h->office_panic = h->office_panic || (hook->killed && hook->stuck_ns > 0);
	check_hook_end(w, h);
	/* The peer is cut off by force, whatever its own agent knows. */
	for (unsigned i = 0; i < w->host_count && hook->ok && hook->kind == ROLE_HOOK_FENCE_PEER; i++)
		if (w->hosts[i].office && w->hosts[i].office_token == hook->token)
			w->hosts[i].office = false;
	supervisor_hook_ended(w, &h->supervisor);
}
