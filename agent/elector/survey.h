/* A look at all members of an election: their records, and who queues. */
#ifndef TENURE_ELECTOR_SURVEY_H
#define TENURE_ELECTOR_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/elector.h"

enum { SURVEY_PEERS_MAX = 256, SURVEY_AT_ONCE = 16 };

struct contest;

/* The scores that a marking survey found: how many each member had taken by then. */
struct survey_marks {
	size_t count;
	char **names; /* of the member records */
	int64_t *taken;
};

/* PEERS are valid during the call. */
typedef void survey_done(struct contest *contest, uint32_t generation, enum elector_result result, int rc,
			 const struct elector_peer *peers, size_t count);

/*
 * Ends in one call of DONE with GENERATION, never before this returns. MARK: scores that come after what it finds are
 * fresh from then on. Returns 0, or negative errno: no call.
 */
int survey_start(struct contest *contest, uint32_t generation, bool mark, survey_done *done);

#endif
