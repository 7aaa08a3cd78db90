/* The election record as last read or written: its bytes, for the next edit, and what they say. */
#ifndef TENURE_ELECTOR_KEPT_H
#define TENURE_ELECTOR_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenure/record.h"

struct kept {
	bool valid;
	char *bytes;
	size_t size;
	int32_t version;
	int64_t read_ns; /* when it was read or written; 0: never */
	struct tenure_election_record record;
	/* A write under way: its bytes become the kept ones when it is committed. */
	char *writing;
	size_t writing_size;
	uint32_t writing_generation;
};

void kept_free(struct kept *kept);

/*
 * Keeps SIZE bytes read as VERSION and decodes them. What cannot be decoded is logged for ELECTION,
 * cut and escaped, and kept as the record that the decoder gives for it. Returns 0 or -ENOMEM.
 */
int kept_read(struct kept *kept, const char *election, const char *bytes, size_t size, int32_t version,
	      int64_t now_ns);

/* The write of GENERATION was committed as VERSION. Returns 0, or -ESTALE when another has begun since. */
int kept_written(struct kept *kept, uint32_t generation, int32_t version, int64_t now_ns);

/* The write of GENERATION came to nothing, or nobody knows. */
void kept_drop(struct kept *kept, uint32_t generation);

#endif
