/*
 * An operator's switchover: the leader's agent names the successor in the election record and rings the bell; once that
 * member has answered that it is ready, the leader leaves office. Whoever is first in the queue then steps back for it.
 */
#ifndef TENURE_ELECTOR_SWITCHOVER_H
#define TENURE_ELECTOR_SWITCHOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "elector/leaving.h"
#include "elector/rewrite.h"
#include "tenure/limits.h"

struct client;
struct contest;
struct event;
struct tenure_election_record;

enum switchover_phase {
	SWITCHOVER_IDLE,
	SWITCHOVER_LOOKING,   /* is the member there, and fit? */
	SWITCHOVER_NAMING,    /* it in the record */
	SWITCHOVER_ASKING,    /* is it ready? */
	SWITCHOVER_LEAVING,   /* office */
	SWITCHOVER_FOLLOWING, /* until it is in office */
	SWITCHOVER_VOIDING,   /* the name is taken out again */
};

struct switchover {
	enum switchover_phase phase;
	struct leaving leaving;
	char target[TENURE_MEMBER_SIZE];
	int64_t request;     /* its number in the record */
	uint32_t generation; /* of the looks */
	struct event *timer; /* of the next look */
	int64_t asked_ns;
	bool abandoned;      /* the operator has hung up */
	struct rewrite rewrite;
	/* VOIDING: the answer to be given after it. */
	int status;
	char why[160];
};

/* CLIENT is answered at once or waits. */
void switchover_start(struct contest *contest, struct client *client, const char *target);

/* The term may have moved on. Cheap; called after every event. */
void switchover_check(struct contest *contest);

/* RECORD was read by this leader: a name in it that nobody here is busy with is an earlier process's, and void. */
void switchover_seen(struct contest *contest, const struct tenure_election_record *record);

/* CLIENT hung up: what has not begun to leave office does not. */
void switchover_forget(struct contest *contest, const struct client *client);

#endif
