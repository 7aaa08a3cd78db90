/* A brake for log lines that an unfriendly network could repeat without end. */
#ifndef TENURE_ELECTOR_BRAKE_H
#define TENURE_ELECTOR_BRAKE_H

#include <stdbool.h>
#include <stdint.h>

struct brake {
	int64_t said_ns; /* 0: never */
	unsigned held;   /* lines not said since */
};

/* Whether a line may be said now: the first, then one in ten seconds. *HELD is how many were not. */
bool brake_pass(struct brake *brake, int64_t now_ns, unsigned *held);

#endif
