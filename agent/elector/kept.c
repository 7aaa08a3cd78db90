/* The election record as last read or written: its bytes, for the next edit, and what they say. */
#include "elector/kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

enum { KEPT_LOGGED = 256 }; /* bytes of an unreadable record that go to the log */

void kept_free(struct kept *kept)
{
	free(kept->bytes);
	free(kept->writing);
	*kept = (struct kept){0};
}

static void log_unreadable(const char *election, const char *bytes, size_t size, int32_t version)
{
	char text[KEPT_LOGGED + 1], quoted[4 * KEPT_LOGGED + 8];
	size_t length = size < KEPT_LOGGED ? size : KEPT_LOGGED;

	memcpy(text, bytes, length);
	text[length] = '\0';
	for (size_t i = 0; i < length; i++)
		if (text[i] == '\0')
			text[i] = '?';
	log_warning(election, "the election record is not one of ours", "version=%d size=%zu data=%s", version, size,
		    log_quote(text, quoted, sizeof quoted));
}

int kept_read(struct kept *kept, const char *election, const char *bytes, size_t size, int32_t version,
	      int64_t now_ns)
{
	char *copy = malloc(size ? size : 1);
	bool seen = kept->valid && kept->version == version;

	if (!copy)
		return -ENOMEM;
	if (size)
		memcpy(copy, bytes, size);
	free(kept->bytes);
	kept->bytes = copy;
	kept->size = size;
	kept->version = version;
	kept->read_ns = now_ns;
	kept->valid = true;
	if (tenure_election_decode(copy, size, &kept->record) == -EBADMSG && !seen)
		log_unreadable(election, copy, size, version);
	return 0;
}

int kept_written(struct kept *kept, uint32_t generation, int32_t version, int64_t now_ns)
{
	if (!kept->writing || kept->writing_generation != generation)
		return -ESTALE;
	free(kept->bytes);
	kept->bytes = kept->writing;
	kept->size = kept->writing_size;
	kept->writing = NULL;
	kept->version = version;
	kept->read_ns = now_ns;
	kept->valid = true;
	tenure_election_decode(kept->bytes, kept->size, &kept->record);
	return 0;
}

void kept_drop(struct kept *kept, uint32_t generation)
{
	if (kept->writing_generation != generation)
		return;
	free(kept->writing);
	kept->writing = NULL;
}
