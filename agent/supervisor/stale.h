/* `tenured --demote-stale`: puts out of office what a dead agent has left there, ends its session, and exits. */
#ifndef TENURE_SUPERVISOR_STALE_H
#define TENURE_SUPERVISOR_STALE_H

#include <stdbool.h>
#include <stdint.h>

struct supervisor;

/* Whether there is anything to do; and no election is to join. */
bool stale_prepare(struct supervisor *supervisor);

/* Goes on as far as it can: when every lose hook has succeeded the agent stops, and when one has failed for good. */
void stale_advance(struct supervisor *supervisor, int64_t now_ns);

#endif
