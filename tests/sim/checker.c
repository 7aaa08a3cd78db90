/*
 * The promises, looked at whenever something happens that could break them.
 *
 * S1: no gain hook starts while another member is in office.
 *
 * deadline: when the ensemble's leader ends a session because of the clock, the member that took office with
 * that session is out of office. Stronger than S1: it needs no second leader to show.
 *
 * lease: at that moment no lease on that session is still running, by anybody's clock. Stronger still: it is
 * what the lease rule claims, without the margin.
 *
 * The latter two count only if the end of the session is committed. Excused of the former two is a member
 * whose supervisor did not run for more than a quarter of the margin since its schedule's demote point, one
 * that was left in office by a supervisor that died, one that has been in PANIC, and one whose
 * hook outlives its KILL. Each is counted.
 *
 * S2, S3, S4, L1 and L3 are as in the design.
 */
#include "sim.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const names[VERDICTS] = {
	[FINE] = "fine",	  [BROKEN_S1] = "S1",	    [BROKEN_DEADLINE] = "deadline",
	[BROKEN_LEASE] = "lease", [BROKEN_S2] = "S2",	    [BROKEN_S3] = "S3",
	[BROKEN_S4] = "S4",	  [BROKEN_L1] = "L1",	    [BROKEN_L3] = "L3",
	[BROKEN_COST] = "cost",	  [BROKEN_MODEL] = "model",
};

const char *verdict_name(enum verdict verdict)
{
	return names[verdict];
}

void violate(struct world *w, enum verdict verdict, const char *format, ...)
{
	va_list ap;

	w->over = true;
	if (w->found.verdict != FINE)
		return;
	w->found.verdict = verdict;
	w->found.at_ns = w->now_ns;
	va_start(ap, format);
	vsnprintf(w->found.text, sizeof w->found.text, format, ap);
	va_end(ap);
	TRACE(w, "VIOLATION of %s: %s", verdict_name(verdict), w->found.text);
}

/* ---- excuses ---- */

void check_down(struct world *w, struct host *h, bool down)
{
	unsigned i = h->down_count % DOWNS_MAX;

	if (down == h->down)
		return;
	h->down = down;
	if (down) {
		h->downs[i].from = w->now_ns;
		h->downs[i].to = NEVER;
	} else {
		h->downs[i].to = w->now_ns;
		h->down_count++;
	}
}

/* For how long the supervisor did not run between FROM and now. */
static int64_t down_since(const struct world *w, const struct host *h, int64_t from_ns)
{
	unsigned count = h->down_count + h->down;
	unsigned first = count > DOWNS_MAX ? count - DOWNS_MAX : 0;
	int64_t sum_ns = 0;

	for (unsigned i = first; i < count; i++) {
		int64_t from = h->downs[i % DOWNS_MAX].from, to = h->downs[i % DOWNS_MAX].to;

		if (to > w->now_ns)
			to = w->now_ns;
		if (from < from_ns)
			from = from_ns;
		sum_ns += to > from ? to - from : 0;
	}
	return sum_ns;
}

enum excuse check_excuse(const struct world *w, const struct host *h)
{
	const struct role *r = &h->supervisor.role;
	struct tenure_schedule at;

	/* One that outlives its KILL ends in PANIC too, if only after a moment. */
	if (h->office_panic || (h->hook.running && h->hook.killed && h->hook.stuck_ns > 0) ||
	    (h->service.running && h->service.killed && h->service.stuck_ns > 0))
		return EXCUSE_PANIC;
	/* The orphan, if there is one, keeps others away meanwhile, unless it is cut off. */
	if (h->office_inherited && w->params.calm && h->orphaned &&
	    w->now_ns - h->crashed_ns < w->params.orphan_limit_ns - SECOND)
		return EXCUSE_NONE;
	if (h->office_inherited)
		return EXCUSE_INHERITED;
	if (r->token == 0)
		return EXCUSE_NONE;
	at = tenure_schedule_for(&r->config.budget, r->timeout_ns, role_lease_deadline(r));
	if (down_since(w, h, host_true(h, at.demote_ns)) > tenure_budget_margin(r->timeout_ns) / 4)
		return EXCUSE_ABSENT;
	return EXCUSE_NONE;
}

/* ---- S1, S2, S3, L3 ---- */

static void check_alone(struct world *w, const struct host *h)
{
	for (unsigned i = 0; i < w->host_count; i++) {
		const struct host *o = &w->hosts[i];
		enum excuse why;

		if (o == h || !in_office(o))
			continue;
		why = check_excuse(w, o);
		if (why != EXCUSE_NONE)
			w->found.excused[why]++;
		else
			violate(w, BROKEN_S1, "host %u takes office while host %u is in office", h->id,
				o->id);
	}
}

/* Back-off may be as short as 200 ms, but nothing asks for that many hooks in a row. */
static void check_pace(struct world *w, struct host *h)
{
	enum { STARTS_MAX = 20 };
	const int64_t window_ns = 2 * SECOND;

	if (w->now_ns - h->starts_window_ns > window_ns) {
		h->starts_window_ns = w->now_ns;
		h->starts = 0;
	}
	if (++h->starts > STARTS_MAX)
		violate(w, BROKEN_L3, "host %u starts more than %d hooks in 2 s", h->id, STARTS_MAX);
	h->last_start_ns = w->now_ns;
}

static void take_office(struct world *w, struct host *h, int64_t own_token)
{
	int64_t token = own_token;

	w->found.gains++;
	check_alone(w, h);
	if (sim_plant == PLANT_S2 && w->found.gains == 2)
		token = w->found.last_gain_token - 1;
	if (token <= w->found.last_gain_token)
		violate(w, BROKEN_S2, "host %u takes office by %llx after %llx", h->id, (long long)token,
			(long long)w->found.last_gain_token);
	w->found.last_gain_token = token;
	if (h->office && !h->office_adopted)
		violate(w, BROKEN_S3, "host %u takes office while in office", h->id);
	h->office = true;
	h->office_token = own_token;
	h->office_since_ns = w->now_ns;
	h->office_session = h->supervisor.session;
	h->office_inherited = h->office_panic = h->office_adopted = false;
	h->kept_token = 0;
}

static void check_gain(struct world *w, struct host *h, const struct role_action *a)
{
	int64_t since_ns = host_local(h, w->now_ns) - h->gain_failed_local;

	take_office(w, h, a->token);
	if (h->gain_failed_local != 0 && since_ns < w->params.role.backoff_ns)
		violate(w, BROKEN_L3, "host %u runs gain %lld ms after it has failed", h->id,
			(long long)(since_ns / MS));
	h->gain_failed_local = 0;
}

static void leave_office(struct host *h)
{
	h->office = h->office_inherited = h->office_panic = h->office_adopted = false;
	if (!in_office(h))
		h->office_session = 0;
}

void check_service_start(struct world *w, struct host *h, int64_t token)
{
	if (h->service.running)
		violate(w, BROKEN_S3, "host %u starts a second service", h->id);
	if (!w->params.role.has[ROLE_HOOK_GAIN])
		take_office(w, h, token);
	else if (!h->office || h->office_token != token)
		violate(w, BROKEN_S1, "host %u starts its service out of office", h->id);
}

/* Where there is no lose hook, the service is all that there is of the office. */
void check_service_end(struct world *w, struct host *h)
{
	(void)w;
	if (!w->params.role.has[ROLE_HOOK_LOSE] || !h->office)
		leave_office(h);
}

/* By its own doing a member ends its candidate or session only when it is out of office. */
void check_given_up(struct world *w, const struct request *r)
{
	for (unsigned i = 0; i < w->host_count; i++) {
		const struct host *h = &w->hosts[i];
		bool own = r->type == REQUEST_CLOSE ||
			   (r->type == REQUEST_DELETE && w->znodes[r->znode].czxid == h->office_token);

		if (!own || r->session == 0 || !in_office(h) || h->office_session != r->session)
			continue;
		/* Frozen past its deadline the whole host is late, the elector first. */
		if (check_excuse(w, h) == EXCUSE_ABSENT)
			w->found.excused[EXCUSE_ABSENT]++;
		else
			violate(w, BROKEN_S1, "host %u gives up its %s while in office", h->id,
				r->type == REQUEST_CLOSE ? "session" : "candidate");
	}
}

void check_hook_start(struct world *w, struct host *h, const struct role_action *a)
{
	bool ends = a->hook == ROLE_HOOK_LOSE || a->hook == ROLE_HOOK_FENCE;

	check_pace(w, h);
	if (h->hook.running || (sim_plant == PLANT_S3 && w->found.gains == 2))
		violate(w, BROKEN_S3, "host %u starts %s while %s runs", h->id, role_hook_name(a->hook),
			role_hook_name(h->hook.kind));
	if (a->hook == ROLE_HOOK_GAIN)
		check_gain(w, h, a);
	else if (ends && a->token != 0 && a->token != h->office_token)
		violate(w, BROKEN_S2, "host %u runs %s with the token %llx of another term", h->id,
			role_hook_name(a->hook), (long long)a->token);
}

void check_hook_end(struct world *w, struct host *h)
{
	const struct hook *hook = &h->hook;

	if (hook->kind == ROLE_HOOK_GAIN && !hook->ok && h->supervisor.alive && !hook->killed &&
	    h->supervisor.role.state == ROLE_PROMOTING)
		h->gain_failed_local = host_local(h, w->now_ns);
	if (!hook->ok || (hook->kind != ROLE_HOOK_LOSE && hook->kind != ROLE_HOOK_FENCE))
		return;
	h->service.cut_off = hook->kind == ROLE_HOOK_FENCE;
	leave_office(h);
}

/* ---- deadline and lease ---- */

static void weigh_lease(struct world *w, struct txn *txn, const struct host *h, int64_t deadline_local)
{
	/* What two clocks may differ by in one T is what the margin is for. */
	int64_t drift_ns = w->sessions[txn->request.session].timeout_ns / 2000;
	int64_t over_ns = host_true(h, deadline_local) - w->now_ns - drift_ns;

	if (over_ns <= 0 || over_ns <= txn->by_ns)
		return;
	txn->unsound = (int8_t)(h->id + 1);
	txn->by_ns = over_ns;
}

/* A session is ended by the clock: nobody may rely on it any more. */
void check_expiry_ordered(struct world *w, struct txn *txn)
{
	unsigned session = txn->request.session;

	w->found.expiries++;
	for (unsigned i = 0; i < w->host_count; i++) {
		struct host *h = &w->hosts[i];
		enum excuse why;

		for (unsigned k = 0; k < ELECTORS_MAX; k++) {
			const struct elector_process *p = &h->electors[k];

			if (p->alive && p->begun && p->session.credentials.id == w->sessions[session].id)
				weigh_lease(w, txn, h, tenure_lease_deadline(&p->session.lease));
		}
		if (h->supervisor.alive && h->supervisor.session == session &&
		    h->supervisor.lease_start_ns != 0)
			weigh_lease(w, txn, h, h->supervisor.lease_start_ns + h->supervisor.timeout_ns);
		if (!in_office(h) || h->office_session != session)
			continue;
		why = check_excuse(w, h);
		if (why != EXCUSE_NONE) {
			w->found.excused[why]++;
			continue;
		}
		txn->unsound = (int8_t)(h->id + 1);
		txn->unsound_office = true;
		break;
	}
}

/* ---- S4 ---- */

enum s4 { S4_KEPT, S4_PAUSED, S4_NOT_ELIGIBLE, S4_NOT_FENCED };

/* BEFORE is what the record says when the TAKE is ordered: its version has been compared. */
void check_take_ordered(struct world *w, const struct tree *before, struct txn *txn)
{
	const struct record *r = &before->record;
	int member = txn->request.u.record.member;
	bool unclean = r->token != 0 && (r->clean == TENURE_CLEAN_NO || r->clean == TENURE_CLEAN_UNKNOWN);

	w->found.takes++;
	if (r->paused || (sim_plant == PLANT_S4 && w->found.takes == 2))
		txn->broken = S4_PAUSED;
	else if (r->eligible != 0 && !(r->eligible & 1u << member))
		txn->broken = S4_NOT_ELIGIBLE;
	else if (w->params.elector.fence_peer && unclean && r->member != member)
		txn->broken = S4_NOT_FENCED;
}

void check_committed(struct world *w, struct txn *txn)
{
	static const char *const s4[] = {"", "the election is paused", "it is not eligible",
					 "the incumbent is neither clean nor fenced"};

	if (txn->broken != S4_KEPT)
		violate(w, BROKEN_S4, "host %d takes office although %s", txn->request.u.record.member,
			s4[txn->broken]);
	if (txn->unsound == 0)
		return;
	if (txn->unsound_office)
		violate(w, BROKEN_DEADLINE, "session %u of host %d ends while it is in office",
			txn->request.session, txn->unsound - 1);
	else if (sim_rule == RULE_SHIPPED || sim_strict)
		violate(w, BROKEN_LEASE, "session %u of host %d ends %lld ms before its lease",
			txn->request.session, txn->unsound - 1, (long long)(txn->by_ns / MS));
}

/* ---- L1 ---- */

void check_settled(struct world *w)
{
	unsigned active = 0;
	int64_t quiet_ns = 0;

	for (unsigned i = 0; i < w->host_count; i++) {
		const struct host *h = &w->hosts[i];

		if (h->supervisor.alive && h->supervisor.role.state == ROLE_ACTIVE && in_office(h)) {
			active++;
			check_best(w, h);
			if (w->params.role.check && !h->fit)
				violate(w, BROKEN_L1, "host %u leads although it is unfit", h->id);
		}
		if (h->last_start_ns > quiet_ns)
			quiet_ns = h->last_start_ns;
	}
	if (active != 1)
		violate(w, BROKEN_L1, "%u members lead %lld s after all is well", active,
			(long long)((w->now_ns - w->heal_ns) / SECOND));
	else if (quiet_ns > w->now_ns - w->params.timeout_ns / 2)
		violate(w, BROKEN_L1, "hooks still run %lld s after all is well",
			(long long)((w->now_ns - w->heal_ns) / SECOND));
}
