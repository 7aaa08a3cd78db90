/*
 * The token floor of one election: the highest token that this member has ever seen there, kept in data_dir
 * as a token gate's file (tenure/gate.h). An ensemble that was wiped or restored from a backup hands out
 * lower ones, which may not lead. The disk is never waited for: a process of its own writes (`tenured
 * --floor`), so that one that is full or hangs delays no deadline. It is asked for as soon as our candidate
 * exists, long before its turn comes.
 *
 * The file holds the highest of all that was seen and of our own candidates; in memory the present candidate
 * is not among what it has to be above.
 */
#ifndef TENURE_SUPERVISOR_FLOOR_H
#define TENURE_SUPERVISOR_FLOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/process.h"

struct floor {
	struct process process; /* the writer */
	char *path;      /* NULL: no floor is kept */
	int64_t seen;    /* by others, or by us in terms that are over: a new token has to be above */
	int64_t durable; /* tokens up to here are on disk; INT64_MAX when no floor is kept */
	int64_t own;     /* of our present candidate, or the last one; 0: none yet */
	bool broken;     /* the file is damaged: no new token may lead until an operator says forget */
	bool failing;    /* the last attempt to write failed */
	bool forgetting; /* an operator has said so, and it has yet to be done */
	int64_t writing; /* what the running writer writes; 0: it forgets */
	int64_t retry_ns;    /* the next pause after a failure */
	int64_t retry_at_ns; /* after a failure; CLOCK_NEVER: none */
	int64_t give_up_at_ns; /* when a writer that hangs is killed; CLOCK_NEVER: none runs, or it was */
	void (*changed)(struct floor *floor); /* anything of the above that others are told did */
};

/*
 * A floor in DATA_DIR/ELECTION.token ("": none is kept). CHANGED is called from the functions below and when
 * a writer has ended; after floor_forget always, whatever came of it. The file is not read: nothing leads
 * before the writer has seen it. Returns 0 or -ENOMEM.
 */
int floor_init(struct floor *floor, struct process_table *table, const char *data_dir, const char *election,
	       void (*changed)(struct floor *floor));

/*
 * Reads the file, for which a disk may have to be waited for: before the loop begins. What is wrong is
 * logged.
 */
void floor_read(struct floor *floor);

/* Goes on from what FORMER, of the same file, knew. Before its first use. */
void floor_adopt(struct floor *floor, const struct floor *former);

/*
 * Goes on from what the file says, in which OWN, the token of a candidate that goes on as well, may be the highest: it
 * has no more to be above that.
 */
void floor_resume(struct floor *floor, int64_t own);

/* Somebody leads, or has led, by TOKEN, which is not that of our present candidate. */
void floor_saw(struct floor *floor, int64_t token, int64_t now_ns);

/* Our candidate has TOKEN: it is to be on disk before it leads. */
void floor_want(struct floor *floor, int64_t token, int64_t now_ns);

/* An operator's: any token may lead again. Tried once; what came of it is logged. */
void floor_forget(struct floor *floor, int64_t now_ns);

void floor_timer(struct floor *floor, int64_t now_ns);
int64_t floor_deadline(const struct floor *floor);
void floor_close(struct floor *floor);

/*
 * The writer: `tenured --floor PATH TOKEN` (0: forget). Returns the exit status, after saying on stderr what
 * failed.
 */
int floor_main(int argc, char **argv);

#endif
