/*
 * SIGUSR2 and `tenurectl restart`: the program is executed anew in place, with the same pid; children and terms stay.
 *
 *   IDLE ──asked──► WAITING ──no reload──► CHECKING ──good──► QUIETING ──no hook runs──► LEAVING ──elector gone──► exec
 *                                             └──bad──► IDLE     ▲                          │ a hook runs after all
 *                                                                └──────────────────────────┘
 */
#ifndef TENURE_SUPERVISOR_RESTART_H
#define TENURE_SUPERVISOR_RESTART_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisor/output.h"

struct supervisor;

enum restart_phase { RESTART_IDLE, RESTART_WAITING, RESTART_CHECKING, RESTART_QUIETING, RESTART_LEAVING };

struct restart {
	enum restart_phase phase;
	char **arguments, **environment; /* that the process was started with */
	pid_t pid;			 /* of the child that checks */
	int64_t kill_at_ns;
	struct output errors;
};

/* ARGUMENTS and ENVIRONMENT have to last; the environment may be changed meanwhile, its strings may not. */
int restart_init(struct restart *restart, char **arguments, char *const *environment);

void restart_free(struct restart *restart);

/* Begins, unless one is under way or the agent stops. */
void restart_request(struct supervisor *supervisor, int64_t now_ns);

/* The child that checks has exited, and is reaped here. */
void restart_exited(struct supervisor *supervisor, int64_t now_ns);

/* Goes on as far as it can; it does not return from the execution. */
void restart_advance(struct supervisor *supervisor, int64_t now_ns);

int64_t restart_deadline(const struct restart *restart);

/* The agent stops. */
void restart_cancel(struct supervisor *supervisor);

#endif
