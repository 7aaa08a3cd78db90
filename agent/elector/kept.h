/* The election record as last read or written: parsed, for the next edit. */
#ifndef TENURE_ELECTOR_KEPT_H
#define TENURE_ELECTOR_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenure/record.h"
#include "zookeeper/port.h"

struct kept {
	bool valid;
	struct tenure_document *document; /* NULL: empty, or not readable */
	bool unreadable;
	int32_t version;
	int64_t mzxid;   /* of the change that made it, which no other znode of that path can share */
	int64_t read_ns; /* when it was read or written; 0: never */
	/* A write under way: it becomes the kept record when it is committed. */
	struct tenure_document *writing;
	uint32_t writing_generation;
	/* An edit made ready before it is called for; of no use once the record has changed. */
	struct kept_ready {
		enum tenure_edit_kind kind;
		int64_t token, mzxid;
		struct tenure_document *document; /* NULL: nothing is ready */
		char *text;
		size_t size;
	} ready;
};

void kept_free(struct kept *kept);

/*
 * What it says: of a record that cannot be read, and where nothing is kept, as the decoder has it. It is taken from the
 * document each time: a thousand elections would hold 9 MB of such structures.
 */
void kept_record(const struct kept *kept, struct tenure_election_record *record);

/*
 * Keeps what SIZE bytes say; bytes of the change that is kept already are not parsed again. What cannot be
 * decoded is logged for ELECTION, cut and escaped, and kept as the record that the decoder gives for it.
 * Returns 0 or -ENOMEM.
 */
int kept_read(struct kept *kept, const char *election, const char *bytes, size_t size,
	      const struct port_stat *stat, int64_t now_ns);

/* Makes EDIT ready, so that kept_edit will cost nothing. Failure is no loss. */
void kept_prepare(struct kept *kept, const struct tenure_edit *edit);

/* Begins the write of GENERATION: its text, which the caller frees. Errors as tenure_document_edit. */
int kept_edit(struct kept *kept, const struct tenure_edit *edit, uint32_t generation, char **text, size_t *size);

/* The write of GENERATION was committed, which made STAT. Returns 0, or -ESTALE when another has begun since. */
int kept_written(struct kept *kept, uint32_t generation, const struct port_stat *stat, int64_t now_ns);

/* The write of GENERATION came to nothing, or nobody knows. */
void kept_drop(struct kept *kept, uint32_t generation);

#endif
