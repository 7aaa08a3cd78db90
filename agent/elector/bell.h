/*
 * The bell of an election: the data of its members folder, which every member watches and nobody changes but for a
 * request to all of them. Who hears it looks at the election record: those far behind in the queue have no watch there,
 * lest each handoff wake them all.
 */
#ifndef TENURE_ELECTOR_BELL_H
#define TENURE_ELECTOR_BELL_H

#include <stdint.h>

struct contest;

/* Watches from now on, on this connection. */
void bell_listen(struct contest *contest);

/* It rings: answers a switchover request to this member in its member record, if it can take office. */
void bell_heard(struct contest *contest);

/* Rings for REQUEST. Returns 0 or negative errno. */
int bell_ring(struct contest *contest, int64_t request);

#endif
