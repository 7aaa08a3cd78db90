/*
 * What outlives a supervisor, as text: a session, and for each election its term. One "name value" a line, in a fixed
 * order; the first line names format, version and kind, the last is a checksum of all before it.
 */
#ifndef TENURE_SUPERVISOR_SAVED_H
#define TENURE_SUPERVISOR_SAVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/role.h"
#include "core/session.h"
#include "tenure/limits.h"
#include "tenure/record.h"

enum {
	SAVED_SIZE = 8192,     /* bytes of a text, at most */
	SAVED_BOOT_SIZE = 37,  /* a boot id */
	SAVED_PATH_SIZE = 256,
};

/* A process, told from a later one of the same number by its start. */
struct saved_process {
	int32_t pid; /* 0: none */
	uint64_t start; /* clock ticks since boot */
};

struct saved_session {
	char boot[SAVED_BOOT_SIZE];
	char member[TENURE_MEMBER_SIZE];
	struct saved_process supervisor;
	uint64_t agent; /* first half of every guid: by it a candidate is known as ours */
	uint64_t identity; /* of the settings that it was made with: saved_session_identity */
	struct session_credentials session; /* id 0: none */
	int64_t lease_start_ns;
	uint32_t elections; /* that have a term of their own */
	char watchdog[SAVED_PATH_SIZE]; /* the device that runs */
};

struct saved_term {
	char boot[SAVED_BOOT_SIZE];
	char election[TENURE_ELECTION_SIZE];
	uint64_t identity;  /* of the election's settings: saved_election_identity */
	int64_t session_id; /* that the term and the candidate rest on; 0: none */
	struct role_saved role;
	char candidate[TENURE_CANDIDATE_SIZE];
	int64_t czxid;
	int64_t left; /* token of a term of an earlier supervisor's that lose has not ended yet; 0: none */
	bool leaving;
	int64_t giving_up;
	int64_t demoted_token, since_ms;
	bool has_previous;
	struct tenure_incumbent previous;
	struct saved_process hook, service; /* those that run */
};

/* Writes TEXT (SAVED_SIZE bytes) and returns its length. */
size_t saved_session_write(const struct saved_session *session, char *text);
size_t saved_term_write(const struct saved_term *term, char *text);

/* Returns 0, or -EBADMSG when SIZE bytes of TEXT are not what this version writes: *OUT is then untouched. */
int saved_session_read(const char *text, size_t size, struct saved_session *out);
int saved_term_read(const char *text, size_t size, struct saved_term *out);

/* Digest of SIZE bytes, after others whose digest is SEED (0: none). */
uint64_t saved_digest(uint64_t seed, const void *bytes, size_t size);

#endif
