/* Our member record of one election, which also carries the heartbeats. */
#ifndef TENURE_ELECTOR_MEMBER_H
#define TENURE_ELECTOR_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

struct contest;
struct shell;

struct member {
	char *folder;     /* "<election>/members" */
	char *path;       /* of our record; NULL: not chosen yet */
	bool known;       /* it is there and ours */
	bool dirty;       /* it says less than we know */
	bool urgent;      /* and what it lacks does not wait for a heartbeat */
	bool out;         /* a set is under way */
	int64_t ready_for; /* the switchover request that we have answered */
	unsigned attempts; /* names tried because another session had ours */
};

/* Makes the record, as the last of the parents; ends in parents_finish. */
void member_make(struct contest *contest);

/* What it says has changed: written with the next heartbeat, or at once where none is due. */
void member_changed(struct contest *contest);

/* We have a new score: written at once, lest it come too late to count. */
void member_scored(struct contest *contest);

/* We are ready for the switchover of REQUEST: written at once. */
void member_answers(struct contest *contest, int64_t request);

/* The session ended, and the record with it. */
void member_gone(struct contest *contest);

/* Sends one heartbeat on the record whose turn it is. Returns 0, -ENOENT when there is none, or negative errno. */
int member_heartbeat(struct shell *shell);

#endif
