/* Processes that a dead supervisor has left behind. */
#ifndef TENURE_SUPERVISOR_LEFT_H
#define TENURE_SUPERVISOR_LEFT_H

#include <stdint.h>

#include "supervisor/saved.h"

/*
 * Kills what is left of the session that PROCESS has led (every hook and every service leads one), of ELECTION, and
 * waits at most LIMIT_NS until it is dead: what is not by then will never run again either, since it is stuck in the
 * kernel with its end before it. Returns how many were killed.
 */
unsigned left_end(const struct saved_process *process, const char *election, int64_t limit_ns);

#endif
