/* One election on this member: its role core, its hooks, its side of the talk with the elector. */
#ifndef TENURE_SUPERVISOR_UNIT_H
#define TENURE_SUPERVISOR_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "common/message.h"
#include "core/role.h"
#include "supervisor/floor.h"
#include "supervisor/notifier.h"
#include "supervisor/probe.h"
#include "supervisor/process.h"
#include "supervisor/saved.h"
#include "supervisor/service.h"

struct unit;

/*
 * What the units share. STATE_DIR may be NULL: no control groups. SEND takes each message for the elector; it may be
 * lost while that is down. MIRROR, which may be NULL, mirrors UNIT in state_dir: before a hook or a service is started,
 * after it has been, and after every change.
 */
struct unit_host {
	struct process_table processes;
	const char *member, *data_dir, *state_dir;
	int64_t session_timeout_ns; /* T as configured */
	void (*send)(struct unit_host *host, struct message *m);
	void (*mirror)(struct unit_host *host, const struct unit *unit);
	bool quiet; /* the agent is about to execute itself anew: nothing begins that can wait */
	bool changed; /* a state has changed since the host last looked */
	int64_t kill_left_ns; /* of what all elections together may take in this turn to find what they have to kill */
	bool exit_on_panic; /* an election in panic asks for the agent's end */
};

/* A hook's run, told to ROLE_EV_HOOK_DONE. */
struct unit_hook {
	struct process process;
	struct unit *unit;
	uint32_t run;
};

/* What the check hook says: so many answers in a row decide. */
struct unit_health {
	bool known, healthy;
	int64_t passes, failures; /* in a row */
};

struct unit {
	struct unit_host *host;
	uint32_t index; /* in the configuration */
	const struct config_election *config;
	struct role role;
	struct unit_hook hooks[ROLE_HOOK_COUNT]; /* NONE is not used */
	struct service service;
	struct probe check, score;
	struct notifier notifier;
	struct floor floor;
	uint32_t unstarted; /* run that could not be started and has still to be told; 0: none */
	bool stale;	    /* the mirror does not show it as it is */

	/* The candidate, to be handed to a next elector. */
	char candidate[TENURE_CANDIDATE_SIZE];
	int64_t czxid; /* its token */
	bool leaving;	   /* RETIRE or GIVE_UP was said, LEFT has not come */
	int64_t giving_up; /* token of that GIVE_UP; 0: RETIRE */

	int64_t left; /* token of an earlier supervisor's term: its candidate stays until lose has succeeded; 0: none */

	/* Facts for hooks and the status. */
	bool leader_known, leader_gone;
	struct tenure_incumbent leader, previous;
	bool has_previous;
	int64_t demoted_token;
	struct unit_health health;
	bool has_score;
	int64_t last_score, score_seq;
	int64_t since_ms;
	uint32_t recovers; /* how often an operator has asked for it */
	struct message_hook last_hook;
};

/* Returns NULL when there is no memory. CONFIG is borrowed. */
struct unit *unit_new(struct unit_host *host, uint32_t index, const struct config_election *config);

/* NULL is fine. What still runs is killed. */
void unit_free(struct unit *unit);

/*
 * Before unit_begin: what the disk says of its tokens; or what an earlier unit of the same name knew of
 * them.
 */
void unit_read_floor(struct unit *unit);
void unit_adopt_floor(struct unit *unit, const struct unit *former);

/*
 * Begins. TOKEN, for ROLE_BEGIN_LOSE: of the term that an earlier supervisor has left (0: none). ROLE_BEGIN_ADOPT: in
 * office within T of the configuration, or lose runs.
 */
void unit_begin(struct unit *unit, enum role_beginning how, int64_t token, int64_t now_ns);

/*
 * In place of unit_begin: goes on as SAVED, with SERVICE, which this process has started before it was executed anew
 * (pid 0: it was to be started again). Returns false when that does not make sense; then unit_begin is still due.
 */
bool unit_resume(struct unit *unit, const struct role_saved *saved, const struct saved_process *service,
		 int64_t now_ns);

/* Whether nothing runs but its service, and all of it is in what is mirrored. */
bool unit_at_rest(const struct unit *unit);

void unit_stop(struct unit *unit, bool force, int64_t now_ns);

/* Goes on with other settings of the same election, at another place in the configuration. */
void unit_adopt_config(struct unit *unit, uint32_t index, const struct config_election *config);

/* The session's lease, already found credible. */
void unit_lease(struct unit *unit, int64_t start_ns, int64_t timeout_ns, int64_t now_ns);

/* The session that its term rested on is no more. */
void unit_session_over(struct unit *unit, int64_t now_ns);

/* Whatever the elector says of one election. TIMEOUT_NS: T of the session, 0: none. */
void unit_message(struct unit *unit, const struct message *m, int64_t timeout_ns, int64_t now_ns);

/* A new elector is up: its candidate (before GO), and after that all that it has to know. */
void unit_restore(struct unit *unit);
void unit_repeat(struct unit *unit);

/* Looks at the clock: every deadline that has passed takes effect. */
void unit_timer(struct unit *unit, int64_t now_ns);
int64_t unit_deadline(const struct unit *unit);

/* End of the lease that a service in office has; CLOCK_NEVER: none is in office. */
int64_t unit_office_deadline(const struct unit *unit);

#endif
