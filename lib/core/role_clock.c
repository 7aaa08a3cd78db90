/* The role core: what is due when, and how long a hook may take. Only looks; role.c acts. */
#include "core/role_internal.h"

static const int64_t grace_ns = 2 * NS_PER_S;        /* between TERM and KILL while there is time */
static const int64_t forced_grace_ns = NS_PER_S / 2; /* the same when the lease is running out */

int64_t role_lease_deadline(const struct role *r)
{
	/* That of a term that was left to us holds for the lose hook that ends it. */
	return r->token == 0 && r->left_token == 0 ? 0 : r->lease_start_ns + r->timeout_ns;
}

struct tenure_schedule role_schedule(const struct role *r)
{
	return tenure_schedule_for(&r->config.budget, r->timeout_ns, role_lease_deadline(r));
}

/* Hooks that are asked to end before they are killed. */
static bool ends_by_term(enum role_hook hook)
{
	return hook == ROLE_HOOK_GAIN || hook == ROLE_HOOK_FOLLOW || hook == ROLE_HOOK_FENCE_PEER;
}

static int64_t kill_after_term_at(const struct role *r)
{
	int64_t at_ns;

	if (r->term_sent_ns == 0)
		return INT64_MAX;
	if (r->hook != ROLE_HOOK_GAIN)
		return r->term_sent_ns + grace_ns;
	at_ns = r->term_sent_ns + (r->planned ? grace_ns : forced_grace_ns);
	/* At the lease's end most of the lose hook's time is left to it; a service has not been started yet. */
	return min64(at_ns, role_schedule(r).lose_ns + r->config.budget.lose_ns / 4);
}

int64_t role_kill_at(const struct role *r)
{
	int64_t at_ns = INT64_MAX, kill_ns;

	if (r->hook == ROLE_HOOK_NONE || r->outlives_ns != 0)
		return INT64_MAX;
	if (ends_by_term(r->hook))
		return kill_after_term_at(r);
	if (r->hook_limit_ns != 0)
		at_ns = r->hook_started_ns + r->hook_limit_ns;
	if (r->hook != ROLE_HOOK_LOSE || r->token == 0 || r->from_panic)
		return at_ns;
	kill_ns = role_schedule(r).kill_ns;
	/* A hook started too late for the schedule gets its limit all the same. */
	return r->hook_started_ns < kill_ns ? min64(at_ns, kill_ns) : at_ns;
}

int64_t role_term_at(const struct role *r)
{
	if (!ends_by_term(r->hook) || r->term_sent_ns != 0 || r->hook_limit_ns == 0)
		return INT64_MAX;
	return r->hook_started_ns + r->hook_limit_ns;
}

int64_t role_outlives_at(const struct role *r)
{
	bool waited = r->hook != ROLE_HOOK_NONE && r->outlives_ns != 0 && !r->outlived;

	return waited ? r->outlives_ns : INT64_MAX;
}

/* Whether the schedule binds the demotion under way. */
static bool by_schedule(const struct role *r)
{
	return r->token != 0 && !r->planned && !r->from_panic;
}

int64_t role_service_kill_at(const struct role *r)
{
	if (!r->service || r->service_kill_ns == 0 || r->service_killed_ns != 0)
		return INT64_MAX;
	return by_schedule(r) ? min64(r->service_kill_ns, role_schedule(r).lose_ns) : r->service_kill_ns;
}

/* A killed service may take so long to go away before the demotion goes on without that. */
static int64_t service_patience(const struct role *r)
{
	int64_t lose_ns = r->config.budget.lose_ns;
	int64_t short_ns = (lose_ns != 0 ? lose_ns : tenure_budget_margin(r->timeout_ns)) / 4;

	return by_schedule(r) ? min64(NS_PER_S, short_ns) : NS_PER_S;
}

int64_t role_service_outlives_at(const struct role *r)
{
	int64_t at_ns = r->service_killed_ns + service_patience(r), kill_ns = role_schedule(r).kill_ns;
	int64_t least_ns = r->service_killed_ns + min64(NS_PER_S, r->config.budget.fence_ns / 4);

	if (!r->service || r->service_killed_ns == 0 || r->service_outlived)
		return INT64_MAX;
	/* It must not make fence late; but to die takes a moment, for which most of fence's time need not be given up. */
	if (by_schedule(r) && r->config.has[ROLE_HOOK_FENCE])
		return max64(min64(at_ns, kill_ns), least_ns);
	return at_ns;
}

int64_t role_adopt_by(const struct role *r)
{
	return r->adopting ? r->adopt_by_ns : INT64_MAX;
}

int64_t role_demote_at(const struct role *r)
{
	if (r->state == ROLE_PROMOTING || r->state == ROLE_ACTIVE)
		return role_schedule(r).demote_ns;
	if (r->state == ROLE_STARTING && r->hook == ROLE_HOOK_LOSE && r->left_token != 0 && r->lease_start_ns != 0)
		return r->planned ? role_schedule(r).lose_ns : INT64_MAX;
	/* Its service has been asked to end, and is killed by then. */
	return r->state == ROLE_DEMOTING && r->planned ? role_schedule(r).lose_ns : INT64_MAX;
}

int64_t role_panic_at(const struct role *r)
{
	return r->state == ROLE_PANIC && !r->panic_told ? role_lease_deadline(r) : INT64_MAX;
}

int64_t role_lose_limit(const struct role *r, int64_t now_ns)
{
	int64_t lose_ns = r->config.budget.lose_ns, handoff_ns = r->config.handoff_ns;
	struct tenure_schedule at = role_schedule(r);

	if (r->planned)
		return handoff_ns;
	if (r->from_panic)
		return !r->forced && at.demote_ns - now_ns >= handoff_ns ? handoff_ns : lose_ns;
	return now_ns < at.kill_ns ? min64(lose_ns, at.kill_ns - now_ns) : lose_ns;
}

int64_t role_fence_limit(const struct role *r, int64_t now_ns)
{
	int64_t full_ns = r->config.budget.fence_ns, left_ns;

	if (r->token == 0)
		return full_ns;
	left_ns = role_schedule(r).out_ns - now_ns;
	/* One that can hardly end in time gets its limit all the same: fencing late beats not fencing. */
	return left_ns >= full_ns / 2 ? min64(full_ns, left_ns) : full_ns;
}

int64_t role_deadline(const struct role *r)
{
	int64_t first_ns = min64(min64(role_demote_at(r), role_term_at(r)), min64(role_kill_at(r), role_outlives_at(r)));

	first_ns = min64(first_ns, min64(role_service_kill_at(r), role_service_outlives_at(r)));
	first_ns = min64(first_ns, min64(role_panic_at(r), role_adopt_by(r)));
	if (r->leave_by_ns != 0)
		first_ns = min64(first_ns, r->leave_by_ns);
	if (r->hook == ROLE_HOOK_NONE && r->retry_at_ns != 0 && (!r->stopping || r->lose_owed) &&
	    (r->state == ROLE_STARTING || r->state == ROLE_OUT))
		first_ns = min64(first_ns, r->retry_at_ns);
	if (r->hook == ROLE_HOOK_NONE && r->follow_at_ns != 0 && !r->stopping && r->state == ROLE_FOLLOWING)
		first_ns = min64(first_ns, r->follow_at_ns);
	return first_ns;
}
