/*
 * The lease: what committed writes prove, and the schedule that follows from it. Pure; no clock.
 *
 * Every instant is CLOCK_BOOTTIME in nanoseconds, every span nanoseconds. The rule, why it holds
 * and what it assumes is in lib/LEASE.md.
 */
#ifndef TENURE_LEASE_H
#define TENURE_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenure/export.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENURE_NS_PER_MS INT64_C(1000000)

enum { TENURE_LEASE_COMMITS = 256 };

/* One committed write: handed to the library at sent_ns, its reply handled at done_ns. */
struct tenure_commit {
	int64_t sent_ns;
	int64_t done_ns;
};

/* The proof of life of one ZooKeeper session. Fields are for the functions below. */
struct tenure_lease {
	int64_t timeout_ns;     /* T: the smallest this session was ever opened with; 0: no session */
	int64_t touch_lag_ns;   /* longest gap between two pings of the ensemble's leader, with slack */
	int64_t ping_slack_ns;  /* how late a ping may pass on a touch */
	int64_t start_ns;       /* the lease runs from here for T; 0: nothing is proven */
	int64_t opened_ns;      /* q: known to lie before the attempt that opened this connection */
	int64_t answered_ns;    /* sending time of the newest request answered on any connection */
	bool connected;
	unsigned head, count;   /* ring of this connection's commits, oldest first, spaced out */
	struct tenure_commit ring[TENURE_LEASE_COMMITS];
};

TENURE_API void tenure_lease_init(struct tenure_lease *l, int64_t touch_lag_ns, int64_t ping_slack_ns);

/* Forgets the session: nothing is proven any more. */
TENURE_API void tenure_lease_reset(struct tenure_lease *l);

/* A handle was started at NOW_NS, before any of its connections. */
TENURE_API void tenure_lease_handle_started(struct tenure_lease *l, int64_t now_ns);

/* A connection was established, with TIMEOUT_NS negotiated. A smaller one shortens the lease at once. */
TENURE_API void tenure_lease_connected(struct tenure_lease *l, int64_t timeout_ns);

/* The connection was lost. What was proven stays proven. */
TENURE_API void tenure_lease_disconnected(struct tenure_lease *l);

/* A request sent at SENT_NS was answered on the present connection, whatever the answer. */
TENURE_API void tenure_lease_answered(struct tenure_lease *l, int64_t sent_ns);

/*
 * A write was committed on the present connection, rc OK: sent at SENT_NS, reply handled at DONE_NS.
 * The lease then ends at the later of
 *   (a) q + T, and
 *   (b) s1 + T for the newest s1 with s2 >= c1 + touch_lag and s3 >= c2 + ping_slack.
 * Returns true when the lease was extended.
 */
TENURE_API bool tenure_lease_committed(struct tenure_lease *l, int64_t sent_ns, int64_t done_ns);

/* End of the lease, or 0 when nothing is proven. */
TENURE_API int64_t tenure_lease_deadline(const struct tenure_lease *l);

/* What has to fit in one lease. A zero heartbeat_ns or ride_out_ns stands for the default. */
struct tenure_budget {
	int64_t touch_lag_ns;
	int64_t ping_slack_ns;
	int64_t heartbeat_ns; /* default T/20 */
	int64_t ride_out_ns;  /* blip that must cost nothing; default T/5 */
	int64_t stop_ns;      /* limit of stopping the service; 0 when there is none */
	int64_t lose_ns;      /* limit of the lose hook in a forced demotion; 0 when there is no such hook */
	int64_t fence_ns;     /* limit of the fence hook; 0 when there is none */
};

TENURE_API int64_t tenure_budget_heartbeat(const struct tenure_budget *b, int64_t timeout_ns);
TENURE_API int64_t tenure_budget_ride_out(const struct tenure_budget *b, int64_t timeout_ns);

/* max(T/50, 250 ms): timer slack and the error of two clock rates. */
TENURE_API int64_t tenure_budget_margin(int64_t timeout_ns);

/* Time a freshly proven lease must still have before office is taken: ride_out and the demotion. */
TENURE_API int64_t tenure_budget_need(const struct tenure_budget *b, int64_t timeout_ns);

/*
 * The time without ZooKeeper that costs nothing: from the worst moment of the heartbeats' rhythm to
 * the forced demotion. Negative when the hooks do not fit at all.
 */
TENURE_API int64_t tenure_budget_hold(const struct tenure_budget *b, int64_t timeout_ns);

/* Whether stop + lose + fence + margin + ride_out fit in what a lease surely has left. */
TENURE_API bool tenure_budget_fits(const struct tenure_budget *b, int64_t timeout_ns);

/* Smallest session timeout, in whole milliseconds as ns, for which the budget fits (found by bisection). */
TENURE_API int64_t tenure_budget_smallest(const struct tenure_budget *b);

/* The points of a forced demotion, backwards from the lease's deadline. */
struct tenure_schedule {
	int64_t demote_ns; /* the service is stopped */
	int64_t lose_ns;   /* SIGKILL for the service, the lose hook starts */
	int64_t kill_ns;   /* SIGKILL for all of the election, then fence */
	int64_t out_ns;    /* must be out */
	int64_t deadline_ns;
};

TENURE_API struct tenure_schedule tenure_schedule_for(const struct tenure_budget *b, int64_t timeout_ns,
						      int64_t deadline_ns);

#ifdef __cplusplus
}
#endif

#endif
