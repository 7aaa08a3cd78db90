/*
 * The command that an election runs while in office: started, watched, started again as configured, and ended with
 * all that it has started.
 *
 *   NONE ──start──► RUNNING ──its process has ended──► CLEARING ──nothing of it is left──► NONE: gone
 *                      ▲                                  │ and it is to be started again
 *                      └──────────── WAITING ◄────────────┘
 */
#ifndef TENURE_SUPERVISOR_SERVICE_H
#define TENURE_SUPERVISOR_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/config.h"
#include "supervisor/cgroup.h"
#include "supervisor/process.h"

struct service;

/* What the service asks of its unit. */
struct service_calls {
	char **(*environment)(struct service *service, int64_t now_ns); /* for it to free; NULL: no memory */
	void (*mirror)(struct service *service); /* it is about to be started, or has been */
	void (*gone)(struct service *service);	 /* `gone` was set outside of the calls below */
};

enum service_phase { SERVICE_NONE, SERVICE_RUNNING, SERVICE_CLEARING, SERVICE_WAITING };

struct service {
	struct process process;
	const struct service_calls *calls;
	const struct config_election *config;
	struct cgroup cgroup;
	bool has_cgroup;    /* there is a name for one */
	bool cgroup_missed; /* it could not be made, which was said */
	enum service_phase phase;
	bool stopping;	   /* asked to end */
	bool killing;	   /* by force */
	bool gone;	   /* nothing is left of it, and the unit has not taken that in yet */
	pid_t session;	   /* that its first process leads, or has led */
	unsigned restarts; /* in a row */
	int64_t due_ns;	   /* when it is to be looked at again; CLOCK_NEVER */
	int64_t pause_ns;  /* between two looks */
	unsigned unsure;   /* looks in a row that did not see all */
};

/* STATE_DIR: NULL where no control group is wanted. */
void service_init(struct service *service, struct process_table *table, const char *state_dir,
		  const char *election, const struct service_calls *calls);
void service_configure(struct service *service, const struct config_election *config);

/* Starts it. That it could not be started is `gone`, or a restart. */
void service_start(struct service *service, int64_t now_ns);

/* SIGTERM to its group; what its first process leaves behind is killed. */
void service_stop(struct service *service, int64_t now_ns);

/* SIGKILL to all of it, and again until nothing is left. */
void service_kill(struct service *service, int64_t now_ns);

/*
 * Takes up what an earlier image of this process has started: its first process PID, or 0 when that was gone and was
 * to be started again. Returns false when PID is no child of ours.
 */
bool service_resume(struct service *service, pid_t pid, int64_t now_ns);

/* Kills what a dead supervisor has left in the control group; waits for it, but not for long. */
void service_end_left(struct service *service);

/* Its first process; 0: none runs. */
pid_t service_pid(const struct service *service);

int64_t service_deadline(const struct service *service);
void service_timer(struct service *service, int64_t now_ns);

/* Kills it, without a word to the unit. */
void service_close(struct service *service);

#endif
