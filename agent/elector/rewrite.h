/*
 * A change to the election record by its agent: read, decided on, and written on condition of the version read, again if
 * somebody else was faster, so that nothing of the other's is lost.
 */
#ifndef TENURE_ELECTOR_REWRITE_H
#define TENURE_ELECTOR_REWRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "tenure/record.h"

struct contest;
struct rewrite;

enum rewrite_decision {
	REWRITE_EDIT,    /* *EDIT is to be written; what it points to is good until then */
	REWRITE_NOTHING, /* it says so already */
	REWRITE_REFUSED, /* the asker has called rewrite_end */
};

struct rewrite_matter {
	/* What to make of RECORD, as read. */
	enum rewrite_decision (*decide)(void *context, const struct tenure_election_record *record,
					struct tenure_edit *edit);
	/* The record says now what was asked for; CHANGED: by our write. May begin another one. */
	void (*done)(void *context, const struct tenure_election_record *record, bool changed);
	/* Nothing was written, or (EXIT_UNREACHABLE) nobody knows. STATUS is an exit status, WHY for people. */
	void (*failed)(void *context, int status, const char *why);
};

struct rewrite {
	const struct rewrite_matter *matter; /* NULL: none is under way */
	void *context;                       /* of its calls */
	uint32_t generation;                 /* of the requests */
	bool writing;
	unsigned attempts;
	struct tenure_document *document;
	int32_t version;
};

/* Ends in one call of done or failed, perhaps before this returns, if decide has not refused. REWRITE is CONTEST's. */
void rewrite_start(struct rewrite *rewrite, struct contest *contest, const struct rewrite_matter *matter, void *context);

/* Without a call. */
void rewrite_end(struct rewrite *rewrite);

#endif
