/*
 * The processes that an election's hooks have left running below the supervisor, whatever session they are
 * in.
 */
#ifndef TENURE_SUPERVISOR_DESCENDANTS_H
#define TENURE_SUPERVISOR_DESCENDANTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Sends SIGKILL to every process below this one that has TENURE_ELECTION=ELECTION in the environment it was
 * started with, or that descends from such a one, and again to what these have started meanwhile, until none
 * is found or LIMIT_NS is over. Who has moved away, as a child of another manager of
 * services, is not found, and neither is an orphan that was started with an environment of its own. Needs a
 * subreaper. Returns the number of processes killed.
 */
unsigned descendants_kill(const char *election, int64_t limit_ns);

/*
 * The same for the election's service alone: what was started as it (TENURE_EVENT=service), what is in the session
 * SESSION of its first process (0: none; every one has its own), and what descends from either. Looks round once, for
 * at most LIMIT_NS, and waits for no end. UNSURE: nothing was found, but whose one or the other is could not be seen,
 * or not all was looked at.
 */
enum descendants_left { DESCENDANTS_NONE, DESCENDANTS_UNSURE, DESCENDANTS_SOME };

enum descendants_left descendants_sweep_service(const char *election, pid_t session, int64_t limit_ns);

/* Whether PID was started with TENURE_ELECTION=ELECTION. */
bool descendants_is_of(pid_t pid, const char *election);

#endif
