/* The queue of an election with what its members say of themselves. */
#ifndef TENURE_CTL_QUEUE_LIST_H
#define TENURE_CTL_QUEUE_LIST_H

#include <jansson.h>

#include "ctl/reader.h"
#include "tenure/record.h"

enum { QUEUE_LIST_MAX = 256 }; /* candidates, and members beside the queue, that are looked at */

/*
 * Reads the queue and the member records below PATH and adds to ANSWER: "candidates" in the queue's order and
 * "members" that are not in it (their position is null), "left_out", "strangers". Returns 0, or negative
 * errno after having said what is wrong.
 */
int queue_list(struct reader *reader, const char *path, const struct tenure_election_record *record,
	       json_t *answer);

#endif
