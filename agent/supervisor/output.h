/* A pipe from which lines are read as they come: bounded in length, rate and work for one turn. */
#ifndef TENURE_SUPERVISOR_OUTPUT_H
#define TENURE_SUPERVISOR_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/loop.h"

enum {
	OUTPUT_LINE_MAX = 2048,	  /* a longer line is taken in parts */
	OUTPUT_BURST_LINES = 500, /* at once; then */
	OUTPUT_LINES_PER_SECOND = 100,
	OUTPUT_TURN_BYTES = 65536, /* read at one go */
};

struct output {
	struct watch watch; /* fd -1: closed */
	struct loop *loop;
	void (*take)(struct output *output, const char *line);
	char *line; /* what stands before the next newline */
	size_t length;
	unsigned allowance; /* lines that may still be taken now */
	int64_t refilled_ns;
	uint64_t dropped;
};

void output_init(struct output *output);

/*
 * Reads from FD, which becomes the output's, until its end. TAKE gets each line without its newline, with
 * NULs shown as '?'. Returns 0, or negative errno, and then FD has been closed.
 */
int output_open(struct output *output, struct loop *loop, int fd,
		void (*take)(struct output *, const char *));

/* Takes what is there now, without waiting, a line that is not ended included. Goes on reading afterwards. */
void output_drain(struct output *output);

/* A closed one is fine. */
void output_close(struct output *output);

#endif
