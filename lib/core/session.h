/*
 * The session core: opens, keeps and gives up the ZooKeeper session, paces its heartbeats and holds
 * its lease. Pure: every event carries its instant (CLOCK_BOOTTIME, ns), nothing is allocated.
 *
 *              OPEN               connected
 *   CLOSED ───────────► CONNECTING ─────────► CONNECTED
 *     ▲  addresses known   ▲   ▲                 │  │
 *     │                    │   └─────────────────┘  │
 *     └────────────────────┴──── expired ◄──────────┘
 *        (fresh handle)          (or auth failed: wait, then a fresh handle)
 */
#ifndef TENURE_CORE_SESSION_H
#define TENURE_CORE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "tenure/lease.h"

enum { SESSION_PASSWORD_SIZE = 16 };

/* What is needed to take a session up again in another handle or process. */
struct session_credentials {
	int64_t id; /* 0: none */
	uint8_t password[SESSION_PASSWORD_SIZE];
	int64_t timeout_ns; /* T: the smallest it was ever opened with */
};

struct session_config {
	int64_t timeout_ns; /* asked for when a new session is made */
	struct tenure_budget budget; /* touch_lag, ping_slack and heartbeat; the rest unused */
};

enum session_state { SESSION_CLOSED, SESSION_CONNECTING, SESSION_CONNECTED };

enum session_event_type {
	SESSION_EV_ADDRESSES,    /* servers resolved for the first time, or to others than before */
	SESSION_EV_CONNECTED,    /* connected: credentials as the library reports them */
	SESSION_EV_DISCONNECTED, /* connection lost, session perhaps alive */
	SESSION_EV_EXPIRED,      /* the server says that the session is gone */
	SESSION_EV_AUTH_FAILED,  /* credentials refused; the handle is of no use any more */
	SESSION_EV_HANDLE_FAILED,/* the library could not make a handle, or its queue overflowed */
	SESSION_EV_REPLY,        /* a request came back */
	SESSION_EV_PACE,         /* heartbeats wanted or not (first or second place somewhere) */
	SESSION_EV_TIMER,
};

struct session_event {
	enum session_event_type type;
	int64_t now_ns;
	union {
		struct session_credentials connected;
		struct {
			int64_t sent_ns;
			bool answered;  /* by the server, on the present connection, whatever the answer */
			bool committed; /* a write, rc OK */
			bool heartbeat; /* the answer to SESSION_DO_HEARTBEAT */
		} reply;
		bool pace;
	} u;
};

enum session_action {
	SESSION_DO_NONE,
	SESSION_DO_OPEN,      /* drop the present handle if any, then open one: credentials in s->credentials, id 0 = fresh */
	SESSION_DO_HEARTBEAT, /* set a member record now; sent_ns = the event's instant */
	SESSION_DO_RESTART,   /* another connection is needed while a lease rests on the session: leave by _exit */
};

enum { SESSION_ACTIONS_MAX = 4 };

/* What to do, in this order. */
struct session_update {
	unsigned count;
	enum session_action actions[SESSION_ACTIONS_MAX];
	bool up;            /* connected just now (verify everything) */
	bool down;          /* connection lost just now */
	bool gone;          /* the session ended just now: its znodes are or will be gone */
	bool lease_changed; /* the lease's deadline moved */
	bool saved;         /* credentials changed: hand them up */
};

struct session {
	struct session_config config;
	enum session_state state;
	struct session_credentials credentials;
	struct tenure_lease lease;
	bool addresses_known;
	bool addresses_changed;   /* while the present handle used the former ones */
	bool pace;
	bool heartbeat_out;       /* one is outstanding */
	int64_t heartbeat_at_ns;  /* next one on the grid; while one is out: when that one was sent */
	int64_t adrift_ns;        /* not connected since then, by this handle; 0 while connected */
	bool orphaned;            /* nobody would start a process that leaves */
	int64_t open_at_ns;       /* back-off before the next handle; 0: none */
	unsigned failures;        /* handles in a row that were of no use */
};

void session_init(struct session *s, const struct session_config *config);

/*
 * Before the first event: take up a session of an earlier process, which must be dead. LEASE_START_NS: what that
 * process had proven; 0: nothing.
 */
void session_resume(struct session *s, const struct session_credentials *credentials, int64_t lease_start_ns);

/* There is no supervisor any more: SESSION_DO_RESTART is not said again. */
void session_orphan(struct session *s);

void session_step(struct session *s, const struct session_event *event, struct session_update *update);

/* When SESSION_EV_TIMER is due; INT64_MAX: never. */
int64_t session_deadline(const struct session *s);

#endif
