/* The lease rule and the schedule of a forced demotion. See tenure/lease.h. */
#include "tenure/lease.h"

#include <string.h>

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

void tenure_lease_init(struct tenure_lease *l, int64_t touch_lag_ns, int64_t ping_slack_ns)
{
	memset(l, 0, sizeof *l);
	l->touch_lag_ns = touch_lag_ns;
	l->ping_slack_ns = ping_slack_ns;
}

void tenure_lease_reset(struct tenure_lease *l)
{
	int64_t opened_ns = l->opened_ns;

	tenure_lease_init(l, l->touch_lag_ns, l->ping_slack_ns);
	/* Of the handle, not of the session: the next one may begin on a connection of this very handle. */
	l->opened_ns = opened_ns;
}

void tenure_lease_handle_started(struct tenure_lease *l, int64_t now_ns)
{
	l->opened_ns = max64(l->opened_ns, now_ns);
	tenure_lease_disconnected(l);
}

void tenure_lease_connected(struct tenure_lease *l, int64_t timeout_ns)
{
	/* A session's clock may be restarted with any timeout it ever had, so the smallest counts. */
	if (l->timeout_ns == 0 || timeout_ns < l->timeout_ns)
		l->timeout_ns = timeout_ns;
	/* What the former connection answered was sent before this one was attempted. */
	l->opened_ns = max64(l->opened_ns, l->answered_ns);
	l->connected = true;
	l->head = l->count = 0;
}

void tenure_lease_disconnected(struct tenure_lease *l)
{
	l->connected = false;
	l->head = l->count = 0;
}

void tenure_lease_answered(struct tenure_lease *l, int64_t sent_ns)
{
	if (l->connected)
		l->answered_ns = max64(l->answered_ns, sent_ns);
}

static const struct tenure_commit *commit_at(const struct tenure_lease *l, unsigned i)
{
	return &l->ring[(l->head + i) % TENURE_LEASE_COMMITS];
}

/* Index of the newest of the first N commits whose reply had come by BY_NS, or -1. */
static int newest_done_by(const struct tenure_lease *l, unsigned n, int64_t by_ns)
{
	for (unsigned i = n; i > 0; i--)
		if (commit_at(l, i - 1)->done_ns <= by_ns)
			return (int)(i - 1);
	return -1;
}

/* Keeps the ring's commits so far apart that it always spans the gaps of rule (b) several times. */
static void remember(struct tenure_lease *l, int64_t sent_ns, int64_t done_ns)
{
	int64_t spacing_ns = (l->touch_lag_ns + l->ping_slack_ns) / (TENURE_LEASE_COMMITS / 4);

	if (l->count > 0 && sent_ns - commit_at(l, l->count - 1)->sent_ns < spacing_ns)
		return;
	if (l->count == TENURE_LEASE_COMMITS) {
		l->head = (l->head + 1) % TENURE_LEASE_COMMITS;
		l->count--;
	}
	l->ring[(l->head + l->count) % TENURE_LEASE_COMMITS] = (struct tenure_commit){ sent_ns, done_ns };
	l->count++;
}

bool tenure_lease_committed(struct tenure_lease *l, int64_t sent_ns, int64_t done_ns)
{
	int64_t start_ns;

	if (!l->connected)
		return false;
	tenure_lease_answered(l, sent_ns);
	start_ns = max64(l->start_ns, l->opened_ns);

	/* This commit is heartbeat 3; look for the newest 2, and from there for the newest 1. */
	int second = newest_done_by(l, l->count, sent_ns - l->ping_slack_ns);
	if (second >= 0) {
		int first = newest_done_by(l, (unsigned)second, commit_at(l, (unsigned)second)->sent_ns - l->touch_lag_ns);
		if (first >= 0)
			start_ns = max64(start_ns, commit_at(l, (unsigned)first)->sent_ns);
	}
	remember(l, sent_ns, done_ns);
	if (start_ns == l->start_ns)
		return false;
	l->start_ns = start_ns;
	return true;
}

int64_t tenure_lease_deadline(const struct tenure_lease *l)
{
	return l->start_ns == 0 ? 0 : l->start_ns + l->timeout_ns;
}

int64_t tenure_budget_heartbeat(const struct tenure_budget *b, int64_t timeout_ns)
{
	return b->heartbeat_ns != 0 ? b->heartbeat_ns : timeout_ns / 20;
}

int64_t tenure_budget_ride_out(const struct tenure_budget *b, int64_t timeout_ns)
{
	return b->ride_out_ns != 0 ? b->ride_out_ns : timeout_ns / 5;
}

int64_t tenure_budget_margin(int64_t timeout_ns)
{
	return max64(timeout_ns / 50, 250 * TENURE_NS_PER_MS);
}

/* From the lease's deadline back to the start of a forced demotion. */
static int64_t demotion_ns(const struct tenure_budget *b, int64_t timeout_ns)
{
	return b->stop_ns + b->lose_ns + b->fence_ns + tenure_budget_margin(timeout_ns);
}

int64_t tenure_budget_need(const struct tenure_budget *b, int64_t timeout_ns)
{
	return demotion_ns(b, timeout_ns) + tenure_budget_ride_out(b, timeout_ns);
}

/* What a lease renewed in the heartbeats' rhythm has left at the worst moment. */
static int64_t surely_left_ns(const struct tenure_budget *b, int64_t timeout_ns)
{
	return timeout_ns - (b->touch_lag_ns + b->ping_slack_ns + 3 * tenure_budget_heartbeat(b, timeout_ns));
}

int64_t tenure_budget_hold(const struct tenure_budget *b, int64_t timeout_ns)
{
	return surely_left_ns(b, timeout_ns) - demotion_ns(b, timeout_ns);
}

bool tenure_budget_fits(const struct tenure_budget *b, int64_t timeout_ns)
{
	return tenure_budget_need(b, timeout_ns) <= surely_left_ns(b, timeout_ns);
}

int64_t tenure_budget_smallest(const struct tenure_budget *b)
{
	/* What is left grows with T faster than what is needed, so there is one crossing. */
	int64_t too_small_ms = 0, enough_ms = INT64_C(1) << 40;

	while (enough_ms - too_small_ms > 1) {
		int64_t middle_ms = too_small_ms + (enough_ms - too_small_ms) / 2;
		if (tenure_budget_fits(b, middle_ms * TENURE_NS_PER_MS))
			enough_ms = middle_ms;
		else
			too_small_ms = middle_ms;
	}
	return enough_ms * TENURE_NS_PER_MS;
}

struct tenure_schedule tenure_schedule_for(const struct tenure_budget *b, int64_t timeout_ns, int64_t deadline_ns)
{
	struct tenure_schedule s = { .deadline_ns = deadline_ns };

	s.out_ns = deadline_ns - tenure_budget_margin(timeout_ns);
	s.kill_ns = s.out_ns - b->fence_ns;
	s.lose_ns = s.kill_ns - b->lose_ns;
	s.demote_ns = s.lose_ns - b->stop_ns;
	return s;
}
