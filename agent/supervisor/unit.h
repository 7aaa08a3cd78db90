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
#include "supervisor/process.h"

/* What the units share. SEND takes each message for the elector; it may be lost while that is down. */
struct unit_host {
	struct process_table processes;
	const char *member, *data_dir;
	void (*send)(struct unit_host *host, struct message *m);
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

struct unit {
	struct unit_host *host;
	uint32_t index; /* in the configuration */
	const struct config_election *config;
	struct role role;
	struct unit_hook hooks[ROLE_HOOK_COUNT]; /* NONE is not used */
	struct notifier notifier;
	struct floor floor;
	uint32_t unstarted; /* run that could not be started and has still to be told; 0: none */

	/* The candidate, to be handed to a next elector. */
	char candidate[TENURE_CANDIDATE_SIZE];
	int64_t czxid; /* its token */
	bool leaving;	   /* RETIRE or GIVE_UP was said, LEFT has not come */
	int64_t giving_up; /* token of that GIVE_UP; 0: RETIRE */

	/* Facts for hooks and the status. */
	bool leader_known, leader_gone;
	struct tenure_incumbent leader, previous;
	bool has_previous;
	int64_t demoted_token;
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

/* Begins: the lose hook, unless SKIP_LOSE says that the service is known to be out of office. */
void unit_begin(struct unit *unit, bool skip_lose, int64_t now_ns);

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
