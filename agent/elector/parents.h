/* The persistent znodes of an election, from the chroot down, and after them our member record. */
#ifndef TENURE_ELECTOR_PARENTS_H
#define TENURE_ELECTOR_PARENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/elector.h"

struct contest;

enum { PARENTS_MAX = 48 };

struct parents {
	char *paths[PARENTS_MAX]; /* top down */
	unsigned count;
	bool too_deep;
	bool running;
	bool reports;        /* the core waits for the end, */
	uint32_t generation; /* by this number */
	unsigned outstanding;
	bool looked; /* refused ones have been looked at */
	bool said;   /* what stands in the way has been logged; once until it is out of the way */
	enum elector_result results[PARENTS_MAX];
	int rcs[PARENTS_MAX];
};

/* PATH is the election's, CHROOT before it. Returns 0 or -ENOMEM. */
int parents_init(struct parents *parents, const char *chroot, const char *path);

/* For the core: its end is told as the end of ELECTOR_OP_PARENTS. */
void parents_start(struct contest *contest, uint32_t generation);

/* On our own behalf: the member record is gone. */
void parents_repair(struct contest *contest);

/* Names PATH as what cannot be made, unless something of the kind has been said already. */
void parents_complain(struct contest *contest, const char *path, enum elector_result result, int rc);

/* The member record is there, or cannot be. */
void parents_finish(struct contest *contest, enum elector_result result, int rc);

#endif
