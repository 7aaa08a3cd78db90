/* How the agent comes to its end: every role leaves office, then the elector ends the session. */
#ifndef TENURE_SUPERVISOR_STOPPING_H
#define TENURE_SUPERVISOR_STOPPING_H

#include <stdbool.h>
#include <stdint.h>

struct supervisor;

#define STOPPING_LIMIT_NS INT64_C(5000000000) /* what the elector and notify hooks get at the end */

/* Asks every role to stop; again: by force. */
void stopping_request(struct supervisor *supervisor, int64_t now_ns);

/*
 * An election in panic asks for the agent's end (on_panic = exit): the others leave office by the schedule,
 * the session is kept, and what is in panic stays as it is.
 */
void stopping_on_panic(struct supervisor *supervisor, int64_t now_ns);

/* Goes on as far as it can. */
void stopping_advance(struct supervisor *supervisor, int64_t now_ns);

/* Whether the agent has ended with every service known to be out of office. */
bool stopping_clean(const struct supervisor *supervisor);

/* Whether an election is in panic. */
bool stopping_in_panic(const struct supervisor *supervisor);

#endif
