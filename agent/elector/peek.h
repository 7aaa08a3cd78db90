/*
 * A look at an election for the status alone: the queue, and the record where no watch keeps it fresh. At
 * most one a second, and only when somebody asks.
 */
#ifndef TENURE_ELECTOR_PEEK_H
#define TENURE_ELECTOR_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenure/record.h"

struct contest;
struct shell;

struct peek {
	unsigned outstanding;
	int64_t begun_ns;  /* 0: never */
	int64_t record_ns; /* when the record was read; 0: not on this connection */
	bool paused, eligible;
	struct tenure_incumbent incumbent;
	int64_t queue_ns;  /* when the queue was listed; 0: not on this connection */
	size_t position, members;
};

/* Begins one if the last is too old. Returns whether one is under way. */
bool peek_start(struct contest *contest);

/* The connection was lost: what was seen is no longer known. */
void peek_forget(struct contest *contest);

#endif
