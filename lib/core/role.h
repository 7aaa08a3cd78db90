/*
 * The role core: what the supervisor does for one election. It decides which hook runs, for how
 * long, and when the member must be out of office, by the lease's deadline alone. Pure: events in,
 * actions out, no clock, descriptor, log or allocation.
 *
 *   STARTING ─► FOLLOWING ─► STANDBY ──LEAD──► PROMOTING ──gain ok──► ACTIVE
 *                  ▲  ▲         │ ▲                │ fails, overruns      │ planned, or the
 *                  │  └─────────┘ │                │ or the lease ends    │ lease nears its end
 *                  │   new leader │                ▼                      │
 *                  ├──────────────┴──lose ok──  DEMOTING ◄────────────────┘
 *                  │                               │ fails, overruns
 *                  ├──fence ok──────────────── FENCING ──fails, or no such hook──► PANIC
 *                  │                               └──a hook outlives its KILL──────►
 *                 OUT (back-off, or never a candidate, or stopped)
 *
 * A service (ROLE_DO_SERVICE_START) runs from gain's success on. A demotion ends it first: TERM, KILL after its limit,
 * and when all of it is gone lose runs. One that outlives its KILL holds up lose for a moment only; then only a
 * successful fence, or its end, brings the member out of office. It does not stand while such a one is still there.
 *
 * STANDBY is also where a service that an operator has declared to be in office waits for its term (ROLE_BEGIN_ADOPT);
 * nothing comes of it: back to STARTING, where lose runs.
 *
 * PANIC ends with an operator's RECOVER or a stop, which run lose again; so does the end of a service that outlived its
 * KILL; that of such a hook runs fence, if it has not run yet. Before fence, and before PANIC where there is none,
 * everything of the election is killed. In STANDBY the fence_peer hook may run, at the elector's wish, before it says
 * LEAD.
 */
#ifndef TENURE_CORE_ROLE_H
#define TENURE_CORE_ROLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/reason.h"
#include "tenure/lease.h"

#define ROLE_STATES(X)             \
	X(STARTING, "starting")    \
	X(FOLLOWING, "following")  \
	X(STANDBY, "standby")      \
	X(PROMOTING, "promoting")  \
	X(ACTIVE, "active")        \
	X(DEMOTING, "demoting")    \
	X(FENCING, "fencing")      \
	X(PANIC, "panic")          \
	X(OUT, "out")

enum role_state {
#define X(code, text) ROLE_##code,
	ROLE_STATES(X)
#undef X
	ROLE_STATE_COUNT
};

const char *role_state_name(enum role_state state);

/* The hooks that the role core runs, one at a time. */
#define ROLE_HOOKS(X)      \
	X(NONE, "")        \
	X(GAIN, "gain")    \
	X(LOSE, "lose")    \
	X(FENCE, "fence")  \
	X(FOLLOW, "follow")  \
	X(FENCE_PEER, "fence_peer")

enum role_hook {
#define X(code, text) ROLE_HOOK_##code,
	ROLE_HOOKS(X)
#undef X
	ROLE_HOOK_COUNT
};

const char *role_hook_name(enum role_hook hook);

struct role_config {
	bool candidate; /* false: follows, never leads */
	bool has[ROLE_HOOK_COUNT];
	int64_t gain_ns;    /* limit of the gain hook */
	int64_t handoff_ns; /* limit of the lose hook in a planned demotion, and at start */
	int64_t follow_ns;  /* limit of the follow hook; 0: none */
	int64_t fence_peer_ns; /* limit of the fence_peer hook */
	bool service;       /* a command of its own runs while in office; budget.stop_ns is what its end may take */
	bool check;         /* only who is healthy (ROLE_EV_HEALTH) stands and stays */
	bool floor;         /* only tokens that ROLE_EV_FLOOR lets pass may lead */
	int64_t backoff_ns, backoff_max_ns;
	struct tenure_budget budget; /* lose_ns and fence_ns are their limits in a forced demotion */
};

/* What is known of the service at the start. */
enum role_beginning {
	ROLE_BEGIN_LOSE,  /* nothing: lose runs first, with reason startup, or restart when a term was left behind */
	ROLE_BEGIN_OUT,   /* it is out of office */
	ROLE_BEGIN_ADOPT, /* it runs as in office, by an operator's word, and waits for a term (tenured --adopt) */
};

enum role_event_type {
	ROLE_EV_BEGIN,     /* start: u.begin */
	ROLE_EV_TIMER,
	ROLE_EV_LEAD,      /* the elector: in office */
	ROLE_EV_LEASE,     /* the elector: the lease now runs from start for T */
	ROLE_EV_LOST,      /* the elector: the term of `token` is over */
	ROLE_EV_LEAVE,     /* planned: leave the office of `token` (0: whichever), `reason` */
	ROLE_EV_LEFT,      /* the elector: no candidate of ours is in the queue any more */
	ROLE_EV_LEADER,    /* the elector: who leads now */
	ROLE_EV_HOOK_DONE, /* a hook's process has been reaped */
	ROLE_EV_SERVICE_GONE, /* nothing of the service is left: as asked, by itself and for good, or it never started */
	ROLE_EV_HEALTH,    /* the check hook's verdict has changed */
	ROLE_EV_FENCE_PEER,/* the elector: fence the unclean incumbent of `token` first; not `wanted`: no longer */
	ROLE_EV_FLOOR,     /* which tokens may lead, as the disk has it */
	ROLE_EV_RECOVER,   /* an operator: out of PANIC, lose again */
	ROLE_EV_STOP,      /* leave office and stop; `force`: by the schedule, not at leisure */
};

struct role_event {
	enum role_event_type type;
	int64_t now_ns;
	union {
		struct {
			enum role_beginning how;
			int64_t token;        /* LOSE: of the term that an earlier supervisor has left; 0: none */
			int64_t adopt_by_ns;  /* ADOPT: in office by then, or lose runs */
		} begin;
		bool healthy;
		struct {
			int64_t token;
			enum tenure_reason reason;
			int64_t lease_start_ns, lease_timeout_ns;
			bool others; /* another member has led since this one: nothing to ADOPT */
		} lead;
		struct {
			int64_t start_ns, timeout_ns; /* of the session: T */
		} lease;
		struct {
			int64_t token;
			enum tenure_reason reason;
		} end; /* LOST, LEAVE */
		struct {
			int64_t token; /* of the incumbent; 0: nobody is or has been */
			bool active;   /* its gain hook has succeeded and it has not left */
			bool gone;     /* it has left, or its candidate is gone */
			bool self;     /* it is this member */
			bool others;   /* another member has led since this one: nothing to ADOPT */
			bool paused;   /* nobody leaves office for its health */
		} leader;
		struct {
			uint32_t run; /* as in ROLE_DO_RUN */
			bool ok;
			bool not_now; /* gain: exit status 75 */
		} hook;
		struct {
			int64_t token; /* 0: of a record that cannot be read */
			bool wanted;
		} fence_peer;
		struct {
			int64_t seen;    /* a token has to be above */
			int64_t durable; /* and not above this one */
		} floor;
		bool force;
	} u;
};

enum role_action_type {
	ROLE_DO_RUN,     /* start `hook`; it is told `limit_ns`; ends with ROLE_EV_HOOK_DONE of `run` */
	ROLE_DO_TERM,    /* SIGTERM to the group of `hook`, which runs */
	ROLE_DO_KILL,    /* SIGKILL to the group of `hook` (NONE: none runs) and to whatever else the election runs */
	ROLE_DO_STAND,   /* to the elector: be a candidate */
	ROLE_DO_RETIRE,  /* to the elector: leave the queue; answered by LEFT */
	ROLE_DO_CONFIRM, /* to the elector: gain has succeeded, `token` is active */
	ROLE_DO_GIVE_UP, /* to the elector: the service of `token` is out of office; answered by LEFT */
	ROLE_DO_CHANGED, /* the state changed: log, notify, mirror */
	ROLE_DO_PEER_FENCED, /* to the elector: the incumbent of `token` is fenced, or (not `ok`) could not be */
	ROLE_DO_SERVICE_START, /* its end, or a failure to start, is ROLE_EV_SERVICE_GONE */
	ROLE_DO_SERVICE_TERM,  /* ask it to end */
	ROLE_DO_SERVICE_KILL,  /* all of it */
	ROLE_DO_ON_PANIC, /* in PANIC, and the lease is over: on_panic; said once per PANIC */
};

struct role_action {
	enum role_action_type type;
	enum role_hook hook;
	uint32_t run;
	int64_t limit_ns; /* RUN: 0: none */
	int64_t token;    /* RUN, CONFIRM, GIVE_UP: of the term concerned; fence_peer, PEER_FENCED: of the peer */
	enum tenure_reason reason; /* RUN, CHANGED */
	bool planned;     /* RUN */
	bool ok;          /* PEER_FENCED */
	enum role_state state, old_state; /* CHANGED; RUN: as they are */
};

enum { ROLE_ACTIONS_MAX = 32 };

/* What to do, in this order. */
struct role_update {
	unsigned count;
	struct role_action actions[ROLE_ACTIONS_MAX];
};

struct role {
	struct role_config config;
	enum role_state state;
	enum tenure_reason reason;   /* of the last change of state */
	uint32_t transitions;        /* changes of state */

	/* The term in office. */
	int64_t token;               /* 0: none */
	int64_t spent;               /* highest token whose demotion has begun, or that was refused */
	int64_t passed_over;         /* another one that LEAD came for meanwhile: given up when the service is out; 0: none */
	int64_t timeout_ns;          /* T */
	int64_t lease_start_ns;
	bool lease_over;             /* LOST was said: no later proof is of this term's session */
	int64_t active_since_ns;
	enum tenure_reason leave_reason; /* of the demotion under way */
	bool planned;                /* it is not forced by the schedule */
	bool from_panic;             /* it is a new try out of PANIC: lose runs however late it is */
	bool lose_tried, fence_tried; /* its lose, its fence hook has been started */
	bool not_now;                /* gain ended with 75: no doubling of the back-off */

	/* The hook that runs. */
	enum role_hook hook;
	uint32_t run;                /* number of its run */
	bool killed;                 /* KILL was said for all of the election since it was started */
	int64_t hook_started_ns;
	int64_t hook_limit_ns;       /* from its start; 0: none */
	int64_t term_sent_ns;        /* 0: not yet */
	int64_t outlives_ns;         /* when it is taken to outlive its KILL; 0: no KILL sent */
	bool outlived;               /* it has: only its end, or a second stop, brings the role on */

	/* The service. */
	bool service;                /* it was started, and is not known to be gone */
	int64_t service_kill_ns;     /* when it is killed; 0: it was not asked to end */
	int64_t service_killed_ns;   /* when KILL was said; 0: not yet */
	bool service_outlived;       /* it outlives that: the demotion goes on, but only fence puts it out of office */
	bool service_went;           /* it has gone in FENCING or PANIC: in PANIC lose is worth another try */
	bool healthy;                /* as ROLE_EV_HEALTH said last */

	/* Whom to follow. */
	bool leader_known;
	int64_t leader_token;        /* newest incumbent heard of; 0: nobody */
	bool leader_active, leader_gone, leader_self;
	bool paused;                 /* the election is */
	int64_t followed;            /* token of the leader that follow succeeded with; 0: nobody; -1: not yet */
	int64_t following;           /* the same of the run under way */

	int64_t peer;                /* token of the incumbent that the running fence_peer hook fences */
	int64_t floor_seen, floor_durable; /* as ROLE_EV_FLOOR said last */

	/* The start. */
	bool established;            /* the startup lose hook has succeeded, or was not needed */
	bool lose_owed;              /* it may be in office: a stop does not cut the startup short */
	int64_t left_token;          /* of the term that an earlier supervisor has left, until lose has ended it; 0: none */
	bool adopting;               /* the service has the office without a term, and waits for one */
	int64_t adopt_by_ns;         /* or lose runs */

	bool standing;               /* the elector was told to stand */
	int64_t leave_by_ns;         /* RETIRE or GIVE_UP sent and LEFT not back: how long a stop waits; 0: none */
	bool stopping, forced;
	bool recovered;              /* lose was tried again in PANIC because of a stop */
	bool panic_told;             /* ON_PANIC was said */
	int64_t retry_at_ns;         /* back-off: nothing before; 0: none */
	unsigned failures;           /* in a row */
	int64_t follow_at_ns;        /* the same for the follow hook, whose success says nothing about gain */
	unsigned follow_failures;
};

/*
 * What outlives the process: as the state file keeps it, of the same boot. Instants stay valid; what the elector
 * says again (the leader) is not kept.
 */
struct role_saved {
	enum role_state state;
	enum tenure_reason reason, leave_reason;
	uint32_t transitions;
	int64_t token, spent;
	int64_t timeout_ns, lease_start_ns;
	bool lease_over, established, service, healthy;
	int64_t active_since_ns;
	int64_t followed;
	int64_t retry_at_ns, follow_at_ns;
	unsigned failures, follow_failures;
	bool panic_told, fence_tried;
	bool at_rest; /* no hook runs, and no service is being stopped */
};

void role_init(struct role *r, const struct role_config *config);

void role_save(const struct role *r, struct role_saved *out);

/*
 * In place of ROLE_EV_BEGIN: goes on as SAVED. A supervisor that was executed anew in place resumes whatever is at
 * rest; one that follows a dead supervisor a term that is ACTIVE. The unit's service, if SAVED has one, still runs.
 * Returns false, and leaves R alone, when SAVED is not at rest or does not make sense.
 */
bool role_resume(struct role *r, const struct role_saved *saved);

void role_step(struct role *r, const struct role_event *event, struct role_update *update);

/* When ROLE_EV_TIMER is due; INT64_MAX: never. */
int64_t role_deadline(const struct role *r);

/* End of the lease in office, or of a term that was left behind and is being ended; 0 when there is none. */
int64_t role_lease_deadline(const struct role *r);

/* Whether a service of this election may be in office (PROMOTING to PANIC). */
bool role_in_office(const struct role *r);

/*
 * Whether a role that was told to stop has done all it could; it may have ended in PANIC. After a second stop a
 * hook that outlives its KILL is not waited for.
 */
bool role_stopped(const struct role *r);

#endif
