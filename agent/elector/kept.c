/* The election record as last read or written. See kept.h. */
#include "elector/kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

enum { KEPT_LOGGED = 256 }; /* bytes of an unreadable record that go to the log */

static void forget_ready(struct kept_ready *ready)
{
	tenure_document_free(ready->document);
	free(ready->text);
	ready->document = NULL;
	ready->text = NULL;
}

void kept_free(struct kept *kept)
{
	tenure_document_free(kept->document);
	tenure_document_free(kept->writing);
	forget_ready(&kept->ready);
	*kept = (struct kept){0};
}

void kept_record(const struct kept *kept, struct tenure_election_record *record)
{
	tenure_document_read(kept->document, record);
	if (kept->unreadable)
		record->incumbent.clean = TENURE_CLEAN_UNKNOWN;
}

static void log_unreadable(const char *election, const char *bytes, size_t size, int32_t version)
{
	char text[KEPT_LOGGED + 1], quoted[4 * KEPT_LOGGED + 8];
	size_t length = size < KEPT_LOGGED ? size : KEPT_LOGGED;

	if (length > 0)
		memcpy(text, bytes, length);
	text[length] = '\0';
	for (size_t i = 0; i < length; i++)
		if (text[i] == '\0')
			text[i] = '?';
	log_warning(election, "the election record is not one of ours", "version=%d size=%zu data=%s", version, size,
		    log_quote(text, quoted, sizeof quoted));
}

int kept_read(struct kept *kept, const char *election, const char *bytes, size_t size,
	      const struct port_stat *stat, int64_t now_ns)
{
	struct tenure_document *document;
	struct tenure_election_record record;
	int rc;

	if (!kept->valid || kept->mzxid != stat->mzxid) {
		rc = tenure_document_parse(bytes, size, &document, &record);
		if (rc == -ENOMEM)
			return rc;
		/* What was written once and is empty now tells as little as what cannot be read. */
		if (rc == -ENODATA && stat->version > 0)
			rc = -EBADMSG;
		if (rc == -EBADMSG)
			log_unreadable(election, bytes, size, stat->version);
		tenure_document_free(kept->document);
		kept->document = document;
		kept->unreadable = rc == -EBADMSG;
		kept->mzxid = stat->mzxid;
		kept->valid = true;
	}
	kept->version = stat->version;
	kept->read_ns = now_ns;
	return 0;
}

void kept_prepare(struct kept *kept, const struct tenure_edit *edit)
{
	struct kept_ready *ready = &kept->ready;

	forget_ready(ready);
	ready->kind = edit->kind;
	ready->token = edit->token;
	ready->mzxid = kept->mzxid;
	tenure_document_edit(kept->document, edit, &ready->document, NULL, &ready->text, &ready->size);
}

static bool is_ready(const struct kept *kept, const struct tenure_edit *edit)
{
	const struct kept_ready *ready = &kept->ready;

	return ready->document && ready->kind == edit->kind && ready->token == edit->token &&
	       ready->mzxid == kept->mzxid;
}

int kept_edit(struct kept *kept, const struct tenure_edit *edit, uint32_t generation, char **text, size_t *size)
{
	struct tenure_document *writing;
	int rc;

	if (!is_ready(kept, edit)) {
		rc = tenure_document_edit(kept->document, edit, &writing, NULL, text, size);
		if (rc < 0)
			return rc;
	} else {
		writing = kept->ready.document;
		*text = kept->ready.text;
		*size = kept->ready.size;
		kept->ready.document = NULL;
		kept->ready.text = NULL;
	}
	tenure_document_free(kept->writing);
	kept->writing = writing;
	kept->writing_generation = generation;
	return 0;
}

int kept_written(struct kept *kept, uint32_t generation, const struct port_stat *stat, int64_t now_ns)
{
	if (!kept->writing || kept->writing_generation != generation)
		return -ESTALE;
	tenure_document_free(kept->document);
	kept->document = kept->writing;
	kept->writing = NULL;
	kept->unreadable = false;
	kept->mzxid = stat->mzxid;
	kept->version = stat->version;
	kept->read_ns = now_ns;
	kept->valid = true;
	return 0;
}

void kept_drop(struct kept *kept, uint32_t generation)
{
	if (kept->writing_generation != generation)
		return;
	tenure_document_free(kept->writing);
	kept->writing = NULL;
}
