/*
 * What must cost nothing. A term that a supervisor takes over from the one before is the newest there is, and
 * goes on without a hook and by the same token, until something new ends it. Where nothing fails but
 * supervisors and electors (params.calm), the lease ends no term once an elector has run for as long as its
 * proof may take; one that hangs has been replaced by then. Nobody steps back twice in one vacancy, and after
 * an unclean end the best replica leads.
 */
#include "sim.h"

void check_taken_over(struct world *w, struct host *h, bool in_place)
{
	const struct role *r = &h->supervisor.role;

	w->found.taken_over += r->state == ROLE_ACTIVE;
	h->kept_token = r->token;
	/* One that was paused in the midst of it leaves office at once. */
	if (r->state != ROLE_ACTIVE || (in_place && role_deadline(r) <= host_local(h, w->now_ns)))
		return;
	for (unsigned i = 0; i < w->host_count; i++) {
		const struct host *o = &w->hosts[i];

		if (o != h && in_office(o) && check_excuse(w, o) == EXCUSE_NONE)
			violate(w, BROKEN_S1, "host %u takes its term up again while host %u is in office",
				h->id, i);
	}
	if (r->token != w->found.last_gain_token)
		violate(w, BROKEN_S2, "host %u %s the term %llx, but %llx has taken office since", h->id,
			in_place ? "resumes" : "adopts", (long long)r->token,
			(long long)w->found.last_gain_token);
	h->office_inherited = false;
}

void check_not_resumed(struct world *w, struct host *h)
{
	violate(w, BROKEN_COST, "host %u goes on in place, but not with its term", h->id);
}

void check_kept(struct world *w, struct host *h, const struct role_action *a)
{
	bool anew = a->reason == TENURE_REASON_STARTUP || a->reason == TENURE_REASON_RESTART ||
		    a->reason == TENURE_REASON_ADOPT;

	if (h->kept_token == 0 || !in_office(h))
		return;
	if (a->hook == ROLE_HOOK_GAIN || ((a->hook == ROLE_HOOK_LOSE || a->hook == ROLE_HOOK_FENCE) && anew))
		violate(w, BROKEN_COST, "host %u runs %s (%s) in a term that was taken over", h->id,
			role_hook_name(a->hook), tenure_reason_name(a->reason));
}

/* From an elector's start, or from a candidate's first heartbeat, to its first proof, at most. */
static int64_t proof_ns(const struct world *w)
{
	const struct tenure_budget *b = &w->params.session.budget;

	return b->touch_lag_ns + b->ping_slack_ns + 4 * tenure_budget_heartbeat(b, w->params.timeout_ns) +
	       60 * w->params.latency_ns + SECOND / 2;
}

void check_demotion(struct world *w, struct host *h, enum tenure_reason reason)
{
	int64_t since_ns =
		h->elector_since_ns > h->office_since_ns ? h->elector_since_ns : h->office_since_ns;
	int64_t limit_ns = child_alive_limit(w->params.timeout_ns) * 5 / 4 + SECOND / 2;

	if (reason == TENURE_REASON_GAIN_FAILED)
		w->params.best = false; /* the next best leads */
	/* One that is asked to leave is given its time all the same. */
	if (h->hung_quit)
		limit_ns += CHILD_QUIT_NS;

	if (!w->params.calm || (reason != TENURE_REASON_LEASE && reason != TENURE_REASON_PAUSE &&
				reason != TENURE_REASON_SESSION && reason != TENURE_REASON_ZNODE_DELETED))
		return;
	if (h->hung_ns != 0 && w->now_ns - h->hung_ns > limit_ns)
		violate(w, BROKEN_COST, "host %u leaves office (%s) for an elector that has hung for %lld ms",
			h->id, tenure_reason_name(reason), (long long)((w->now_ns - h->hung_ns) / MS));
	else if (h->hung_ns == 0 && h->supervisor.child && w->now_ns - since_ns > proof_ns(w))
		violate(w, BROKEN_COST, "host %u leaves office (%s) although its elector has run for %lld ms",
			h->id, tenure_reason_name(reason),
			(long long)((w->now_ns - h->elector_since_ns) / MS));
}

/* An adoption by an operator's word that has not led to a term in time has led to the lose hook. */
void check_adopted(struct world *w, struct host *h)
{
	const struct supervisor *s = &h->supervisor;

	if (s->alive && !s->execing && s->paused_until <= w->now_ns && s->role.adopting &&
	    w->now_ns > h->adopt_by_ns + SECOND)
		violate(w, BROKEN_L3, "host %u stays in office by an operator's word", h->id);
}

void check_step_back(struct world *w, struct elector_process *p)
{
	int64_t vacancy = p->core.outlook.incumbent.token;

	if (p->stepped_for == vacancy)
		violate(w, BROKEN_L3, "host %u steps back twice after the term %llx", p->host->id,
			(long long)vacancy);
	p->stepped_for = vacancy;
}

/* The members that wait when the incumbent's host dies. */
void check_vacancy(struct world *w, const struct host *gone)
{
	unsigned waiting = 0;

	for (unsigned i = 0; i < w->host_count; i++) {
		struct host *h = &w->hosts[i];

		h->waited = h != gone && h->supervisor.alive && h->supervisor.role.state == ROLE_STANDBY;
		waiting += h->waited;
	}
	/* One that joins later may find that others have stepped back already. */
	w->params.best =
		w->params.best && waiting == w->host_count - 1 && gone->supervisor.role.state == ROLE_ACTIVE;
}

void check_best(struct world *w, const struct host *leader)
{
	for (unsigned i = 0; i < w->host_count && w->params.best && leader->waited; i++)
		if (w->hosts[i].waited && w->hosts[i].score > leader->score)
			violate(w, BROKEN_L1, "host %u leads, but the better replica is host %u", leader->id,
				i);
}
