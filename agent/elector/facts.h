/* The facts for the status, gathered from the parts of the process. */
#ifndef TENURE_ELECTOR_FACTS_H
#define TENURE_ELECTOR_FACTS_H

#include <jansson.h>
#include <stdint.h>

#include "elector/status.h"

struct contest;
struct shell;

/* How CONTEST stands. *OUT borrows from it. */
void facts_election(const struct contest *contest, int64_t now_ns, struct status_election *out);

/* The whole status, or that of one election; NULL when there is no memory. */
json_t *facts_status(struct shell *shell, const struct contest *only);

#endif
