/* An operator's forget: of a leader that has not left cleanly, or of the highest token ever seen. */
#ifndef TENURE_ELECTOR_FORGET_H
#define TENURE_ELECTOR_FORGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenure/limits.h"
#include "tenure/record.h"

struct client;
struct contest;
struct event;

enum forget_phase {
	FORGET_IDLE,
	FORGET_READING, /* the record */
	FORGET_LISTING, /* the queue */
	FORGET_LOOKING, /* at its candidates, one by one */
	FORGET_WRITING,
	FORGET_FLOOR,   /* the supervisor's disk */
};

struct forget {
	enum forget_phase phase;
	struct client *client; /* who waits; NULL: it has hung up */
	struct event *limit;   /* of FLOOR: the requests to ZooKeeper have limits of their own */
	uint32_t generation;   /* of the requests */
	bool look;             /* only say what would be forgotten */
	int64_t only;          /* forget no other incumbent than that of this token; -1: any */
	unsigned attempts;
	/* The record as read. */
	struct tenure_document *document;
	struct tenure_incumbent incumbent;
	int64_t held;
	int32_t version;
	/* The queue as listed. */
	char (*names)[TENURE_CANDIDATE_SIZE];
	size_t name_count, next;
	int64_t floor; /* FLOOR: the token to be forgotten */
};

/* Of the last leader. CLIENT is answered at once or waits. */
void forget_start(struct contest *contest, struct client *client, int64_t only, bool look);

/* Of the token floor. CLIENT is answered at once or waits. */
void forget_floor_start(struct contest *contest, struct client *client, bool look);

/* The supervisor has said which tokens may lead. */
void forget_floor_changed(struct contest *contest);

/* CLIENT hung up. What it asked for goes on. */
void forget_forget(struct contest *contest, const struct client *client);

#endif
