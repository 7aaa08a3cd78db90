/*
 * The processes that an election's hooks have left running below the supervisor, whatever session they are
 * in.
 */
#ifndef TENURE_SUPERVISOR_DESCENDANTS_H
#define TENURE_SUPERVISOR_DESCENDANTS_H

#include <stdint.h>

/*
 * Sends SIGKILL to every process below this one that has TENURE_ELECTION=ELECTION in the environment it was
 * started with, or that descends from such a one, and again to what these have started meanwhile, until none
 * is found or LIMIT_NS is over. Who has moved away, as a child of another manager of
 * services, is not found, and neither is an orphan that was started with an environment of its own. Needs a
 * subreaper. Returns the number of processes killed.
 */
unsigned descendants_kill(const char *election, int64_t limit_ns);

#endif
