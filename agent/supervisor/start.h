/* How the agent begins: its own surroundings first, then what an earlier one has left, then its elections. And its end. */
#ifndef TENURE_SUPERVISOR_START_H
#define TENURE_SUPERVISOR_START_H

#include <stdint.h>

struct supervisor;

enum { START_NOTHING = 1 };

/*
 * Opens and makes all that the agent needs, and ends the processes that a dead one has left. Returns 0, or negative
 * errno when the agent cannot run, which has been logged: -EBUSY and -EADDRINUSE when another one is in its place; or
 * START_NOTHING when nothing stale is recorded.
 */
int start_open(struct supervisor *supervisor);

/* Starts the elector and begins every election, or goes on with it. */
void start_begin(struct supervisor *supervisor);

/* An earlier agent's elector ends its session as soon as every service is known to be out of office. */
void start_end_orphan(struct supervisor *supervisor, int64_t now_ns);

/* Frees and closes everything. */
void start_close(struct supervisor *supervisor);

#endif
