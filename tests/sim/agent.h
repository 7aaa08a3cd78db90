/* The agents: client library, elector, supervisor, hooks, and the host they run on. Only sim.h includes it. */
#ifndef TENURE_SIM_AGENT_H
#define TENURE_SIM_AGENT_H

#include "net.h"

/* ---- library.c: the client library of one elector process ---- */

enum library_state { LIBRARY_CLOSED, LIBRARY_CONNECTING, LIBRARY_CONNECTED, LIBRARY_RESTING };

struct outstanding {
	uint32_t id;
	uint8_t type, op;
	bool write, heartbeat, reports;
	bool mark; /* SURVEY */
	uint32_t generation;
	int64_t sent_local_ns;
	struct record record; /* WRITE: as it will stand */
};

struct library {
	enum library_state state;
	struct link *link;
	unsigned next, tried; /* server to try; attempts since the last connection */
	uint16_t session;
	int64_t timeout_ns;   /* asked for, then as negotiated */
	int64_t zxid;
	int64_t received_ns, sent_ns, began_ns;
	int64_t pinged_local_ns;
	int64_t armed_ns;
	uint32_t last_id;
	unsigned head, count;
	struct outstanding out[REQUESTS_MAX];
};

struct elector_process;

void library_open(struct world *w, struct elector_process *p, unsigned session, int64_t timeout_ns, unsigned first);
void library_give_up(struct world *w, struct elector_process *p); /* ends the session if connected */
void library_request(struct world *w, struct elector_process *p, const struct request *r, struct outstanding out);
void library_receive(struct world *w, struct elector_process *p, struct link *link, const struct message *m);
void library_timer(struct world *w, struct elector_process *p);

/* ---- elector_process.c, operations.c: the elector around its cores ---- */

struct elector_process {
	struct host *host;
	unsigned slot;
	bool alive, orphan, started, begun;
	uint32_t life;
	uint32_t generation;
	int64_t paused_until;
	int64_t orphan_local_ns;
	int64_t alive_local_ns; /* when it has to say that its loop turns */
	int64_t armed_ns;
	struct link *up;
	struct library library;
	struct session session;
	struct elector core;
	uint64_t agent;
	uint32_t opens;
	bool pace, heartbeat_failed;
	/* START's */
	uint16_t resume_session;
	int64_t resume_timeout_ns, resume_start_ns;
	/* The member record. */
	bool member_known, member_dirty, member_out;
	/* The election record as the core knows it. */
	bool kept_valid;
	struct record kept;
	int32_t kept_version;
	/* Failures that are told in a turn of their own. */
	bool deferred[ELECTOR_OP_COUNT];
	uint32_t deferred_generation[ELECTOR_OP_COUNT];
	uint8_t deferred_result[ELECTOR_OP_COUNT];
	unsigned owed_count; /* requests of a handle that was given up */
	struct outstanding owed[REQUESTS_MAX];
	enum role_state role_state;
	int64_t role_token;
	bool member_urgent; /* a score waits to be published */
	bool scored;
	int64_t score, score_seq;
	int64_t marks[SESSIONS_MAX]; /* the scores counted in each session's member record, + 1; 0: none found */
	int64_t stepped_for; /* the incumbent of the vacancy that it has stepped back in; -1: none */
};

void elector_process_start(struct world *w, struct host *h);
void elector_process_spawned(struct world *w, struct elector_process *p);
void elector_process_kill(struct world *w, struct elector_process *p);
void elector_process_receive(struct world *w, struct elector_process *p, const struct message *m);
void elector_process_rule(struct world *w, struct elector_process *p);
void elector_process_timer(struct world *w, struct elector_process *p);
void elector_process_release(struct world *w, struct elector_process *p);
void elector_process_leave(struct world *w, struct elector_process *p);
void elector_process_resign(struct world *w, struct elector_process *p);
/* upward.c */
void process_send(struct world *w, struct elector_process *p, enum message_type type, const struct local *local);
void process_say_session(struct world *w, struct elector_process *p);
void process_say_lease(struct world *w, struct elector_process *p);
void process_say_candidate(struct world *w, struct elector_process *p);
void process_say_outlook(struct world *w, struct elector_process *p);

/* What the library brings. */
void process_connected(struct world *w, struct elector_process *p);
void process_lost(struct world *w, struct elector_process *p, bool expired);
void process_reply(struct world *w, struct elector_process *p, const struct outstanding *out, const struct reply *reply);
void process_watch(struct world *w, struct elector_process *p, enum elector_op op);
void process_pinged(struct world *w, struct elector_process *p);

void operations_start(struct world *w, struct elector_process *p, const struct elector_command *c);
void operations_done(struct world *w, struct elector_process *p, const struct outstanding *out,
		     const struct reply *reply);
void operations_member_changed(struct world *w, struct elector_process *p);
void operations_member_scored(struct world *w, struct elector_process *p);
bool operations_heartbeat(struct world *w, struct elector_process *p);
void process_step_core(struct world *w, struct elector_process *p, struct elector_event *event);
void process_defer(struct elector_process *p, enum elector_op op, uint32_t generation, enum elector_result result);

/* ---- supervisor.c ---- */

struct supervisor {
	struct host *host;
	bool alive, finishing;
	bool restarting; /* in place, as soon as nothing is under way */
	bool execing;
	unsigned dies_in; /* actions from now; 0: it does not */
	uint32_t life;
	int64_t paused_until;
	int64_t armed_ns;
	struct role role;
	uint64_t agent;
	/* The elector. */
	struct elector_process *child; /* NULL: down */
	struct elector_process *orphan; /* an earlier supervisor's, let live; NULL: none */
	uint32_t orphan_life;
	struct link *down;
	uint32_t generation;
	bool up, quitting, keep_session;
	bool killed;
	int64_t up_local, start_at_local, kill_at_local, silent_at_local, backoff_ns;
	unsigned slow_starts;
	/* The session. */
	uint16_t session;
	int64_t timeout_ns, lease_start_ns;
	/* The unit. */
	uint16_t candidate; /* znode + 1; 0: none */
	int64_t czxid;
	bool leaving;
	int64_t giving_up;
	int64_t left; /* token of a term of an earlier supervisor's that lose has not ended yet; 0: none */
	/* The floor. */
	int64_t floor_seen, floor_durable, floor_own;
	bool floor_writing;
	bool hook_ended, service_ended; /* its end has not been looked at yet */
	bool health_new;  /* nor has the check's verdict */
	int64_t score_seq;
};

/* child.c */
static inline int64_t child_alive_limit(int64_t timeout_ns)
{
	return timeout_ns / 3 > SECOND / 4 ? timeout_ns / 3 : SECOND / 4;
}

#define CHILD_QUIT_NS (5 * SECOND)

void child_init(struct supervisor *s);
void child_heard(struct world *w, struct supervisor *s, const struct message *m);
void child_quit(struct world *w, struct supervisor *s, bool keep_session);
void child_exited(struct world *w, struct supervisor *s);
void child_timer(struct world *w, struct supervisor *s);
int64_t child_deadline(const struct supervisor *s);

void supervisor_send(struct world *w, struct supervisor *s, enum message_type type, const struct local *local);
void supervisor_begin(struct world *w, struct supervisor *s, struct role_event *e);
void supervisor_look_after(struct world *w, struct supervisor *s);
void supervisor_stop(struct world *w, struct supervisor *s, bool force);
void supervisor_recover(struct world *w, struct supervisor *s);
void supervisor_timer(struct world *w, struct supervisor *s);
void supervisor_receive(struct world *w, struct supervisor *s, const struct message *m);
void supervisor_hook_ended(struct world *w, struct supervisor *s);
void supervisor_service_ended(struct world *w, struct supervisor *s);
void supervisor_health(struct world *w, struct supervisor *s);
void supervisor_scored(struct world *w, struct supervisor *s);
void supervisor_floor_written(struct world *w, struct supervisor *s);

/* ---- life.c: a supervisor's beginning and end, and what outlives it ---- */

struct mirror {
	bool written;
	struct elector_process *elector; /* the last that was started; NULL: it has ended */
	uint32_t elector_life;
	uint64_t agent;
	struct role_saved role;
	uint16_t session;
	int64_t timeout_ns, lease_start_ns;
	uint16_t candidate;
	int64_t czxid, left;
	bool leaving;
	int64_t giving_up;
};

void supervisor_mirror(struct world *w, struct supervisor *s);
void supervisor_boot(struct world *w, struct host *h);
void supervisor_die(struct world *w, struct host *h);
void supervisor_crash(struct world *w, struct host *h);
void supervisor_restart(struct world *w, struct supervisor *s);
void life_advance(struct world *w, struct supervisor *s);
void life_exec(struct world *w, struct supervisor *s);

/* ---- hooks.c ---- */

struct hook {
	bool running;
	enum role_hook kind;
	uint32_t run, life;
	bool ok, not_now;
	bool obeys;       /* dies of TERM */
	int64_t stuck_ns; /* how long it outlives KILL */
	bool killed;
	int64_t end_ns;
	int64_t token;
};

void hook_start(struct world *w, struct host *h, const struct role_action *a);
void hook_signal(struct world *w, struct host *h, bool kill);
void hook_end(struct world *w, struct host *h);

/* ---- service.c: the command that runs while in office, and whether it is fit ---- */

struct service {
	bool running;
	uint32_t life;
	bool obeys;       /* ends when it is asked to */
	int64_t stuck_ns; /* how long it outlives KILL */
	bool killed;
	bool cut_off;     /* by the fence hook, alive or not */
	int64_t end_ns;
};

void service_start(struct world *w, struct host *h);
void service_signal(struct world *w, struct host *h, bool kill);
void service_end(struct world *w, struct host *h);
void health_set(struct world *w, struct host *h, bool fit);

/* ---- hosts ---- */

struct host {
	unsigned id; /* also its member's number */
	int64_t offset_ns, drift_ppm;
	struct supervisor supervisor;
	struct elector_process electors[ELECTORS_MAX];
	struct hook hook;
	struct service service;
	struct mirror mirror; /* in state_dir */
	int64_t configured_timeout_ns;
	int64_t frozen_until;
	int64_t disk_floor;
	bool fit;         /* as the check hook finds it */
	bool adopts;      /* --adopt, at its first start */
	int64_t score;

	/* The service. */
	bool office;
	int64_t office_token;   /* 0: not known (startup) */
	uint16_t office_session;
	bool office_inherited;  /* its supervisor died during this term */
	bool office_panic;      /* it has been in PANIC */
	bool office_adopted;    /* by an operator's word; it has no term yet */
	int64_t kept_token;     /* of a term that a supervisor has taken over from the one before; 0: none */
	unsigned boot_waits;    /* for what an earlier supervisor has left running */
	int64_t crashed_ns;     /* the first crash that has left this term behind */
	bool orphaned;          /* and its elector is one that can renew the session */
	int64_t office_since_ns;
	int64_t adopt_by_ns;    /* --adopt: in office by then, or lose runs */
	bool waited;            /* as a standby, when the incumbent's host died */
	int64_t elector_since_ns; /* the elector runs, without a stop */
	bool hung_quit;
	int64_t hung_ns;        /* an elector that hangs does so since; 0: none */
	/* When the supervisor was not running. */
	bool down;
	unsigned down_count;
	struct {
		int64_t from, to;
	} downs[DOWNS_MAX];
	/* L3 */
	int64_t gain_failed_local;
	int64_t starts_window_ns;
	unsigned starts;
	int64_t last_start_ns;
};

/* A member is in office from the start of gain to the end of lose or fence, and as long as its service lives. */
static inline bool in_office(const struct host *h)
{
	return h->office || (h->service.running && !h->service.cut_off);
}

int64_t host_local(const struct host *h, int64_t true_ns);
int64_t host_true(const struct host *h, int64_t local_ns); /* the first instant at which it shows that */
static inline unsigned host_node(const struct host *h)
{
	return SERVERS_MAX + h->id;
}

#endif
