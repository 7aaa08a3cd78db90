/* Names and order of the candidates under <election>/queue. Pure; no allocation. */
#ifndef TENURE_QUEUE_H
#define TENURE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenure/export.h"
#include "tenure/limits.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A candidate's name, taken apart. */
struct tenure_candidate_name {
	char guid[TENURE_GUID_SIZE]; /* "" when the name is of another client's shape */
	int32_t sequence;            /* negative after 2^31 creations under one parent */
};

/*
 * Takes NAME apart. Accepted are "_c_<guid>-latch-<sequence>" (Curator's names and ours),
 * "<anything>-latch-<sequence>" and "<anything>__lock__<sequence>" (kazoo), with the sequence exactly as
 * the server prints it ("%010d": ten characters with the sign, or eleven below -999999999).
 * Returns 0, or -EINVAL and leaves *OUT alone.
 */
TENURE_API int tenure_queue_parse(const char *name, struct tenure_candidate_name *out);

/* Writes "_c_<guid>-latch-" to BUF of SIZE bytes. Returns 0, or -ENAMETOOLONG. */
TENURE_API int tenure_queue_prefix(const char *guid, char *buf, size_t size);

/*
 * Whether sequence A was handed out before B. The counter is a signed 32-bit number that wraps, so
 * the sign of the difference decides; right as long as no two living candidates are more than 2^31
 * creations apart.
 */
TENURE_API bool tenure_queue_before(int32_t a, int32_t b);

/* Formats 128 random bits as a guid whose first half is AGENT and whose second is ATTEMPT. */
TENURE_API void tenure_queue_guid(uint64_t agent, uint64_t attempt, char out[TENURE_GUID_SIZE]);

/* Whether guid A and guid B are of one agent: their first halves are the same. */
TENURE_API bool tenure_queue_same_agent(const char *a, const char *b);

/* What one listing of the queue says to the member that holds OWN_GUID. */
struct tenure_queue_view {
	size_t candidates;                         /* names of a known shape */
	size_t strangers;                          /* names of another shape, ignored */
	size_t position;                           /* 1 is first; 0: OWN_GUID is not there */
	char first[TENURE_CANDIDATE_SIZE];         /* the head of the queue; "" when it is empty */
	char own[TENURE_CANDIDATE_SIZE];           /* "" when not there */
	char predecessor[TENURE_CANDIDATE_SIZE];   /* the one just before us; "" when first or absent */
	char before[TENURE_CANDIDATE_SIZE];        /* the one just before `predecessor`; "" when there is none */
	char leftover[TENURE_CANDIDATE_SIZE];      /* another znode of the same agent (first half of the guid) */
	char stranger[TENURE_CANDIDATE_SIZE];      /* one of the ignored names, cut to fit, for the log */
	char foreign[TENURE_CANDIDATE_SIZE];       /* one that is queueing but not of our shape */
	bool doubtful;                             /* by tenure_queue_settle: is `predecessor` before us? */
	bool first_doubtful;                       /* by tenure_queue_settle: is `first` the head? */
};

/*
 * Reads a listing in linear time. NAMES are N child names in any order, borrowed for the call.
 * OWN_GUID may be "" (nothing of ours yet); AGENT is the first half of this agent's guids.
 * A candidate's name too long for the view counts as a stranger.
 */
TENURE_API void tenure_queue_scan(const char *const *names, size_t n, const char *own_guid, uint64_t agent,
				  struct tenure_queue_view *out);

/*
 * The server's counter ends at 2^31 - 1: from then on it hands the same number out over and over,
 * now and then one just past the wrap between (ZooKeeper 3.8.0), and only the czxid tells who came
 * first. Goes through the same listing again and puts *VIEW right as far as it can: while there are
 * candidates whose order to ours is open, `predecessor` is one of them, `doubtful` is set, and
 * `position` counts all of them as ahead. The caller compares its czxid with the own one. If the other came
 * first, it is waited for; if not, its name becomes BEHIND ("" at the beginning) and the listing is read
 * again: up to BEHIND, in the order of strcmp, all such candidates are known to have come later, and
 * whoever joins from now on does so anyway.
 */
TENURE_API void tenure_queue_settle(const char *const *names, size_t n, const char *behind,
				    struct tenure_queue_view *view);

#ifdef __cplusplus
}
#endif

#endif
