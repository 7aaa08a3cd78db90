/* A look at all member records of an election. */
#ifndef TENURE_ELECTOR_SURVEY_H
#define TENURE_ELECTOR_SURVEY_H

#include <stddef.h>
#include <stdint.h>

#include "core/elector.h"

enum { SURVEY_PEERS_MAX = 256, SURVEY_AT_ONCE = 16 };

struct contest;

/* PEERS are valid during the call. */
typedef void survey_done(struct contest *contest, uint32_t generation, enum elector_result result, int rc,
			 const struct elector_peer *peers, size_t count);

/* Ends in one call of DONE with GENERATION, never before this returns. Returns 0, or negative errno: no call. */
int survey_start(struct contest *contest, uint32_t generation, survey_done *done);

#endif
