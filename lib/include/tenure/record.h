/*
 * The records in the znodes: JSON, read into plain structs and rewritten with unknown fields kept.
 * Tokens are decimal strings in JSON since they do not fit a double. Uses jansson; allocates.
 */
#ifndef TENURE_RECORD_H
#define TENURE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenure/export.h"
#include "tenure/limits.h"

#ifdef __cplusplus
extern "C" {
#endif

enum tenure_phase { TENURE_PHASE_NONE, TENURE_PHASE_PROMOTING, TENURE_PHASE_ACTIVE };

enum tenure_clean {
	TENURE_CLEAN_UNKNOWN, /* the record could not be read */
	TENURE_CLEAN_NO,
	TENURE_CLEAN_YES,
	TENURE_CLEAN_FENCED,
};

struct tenure_incumbent {
	char member[TENURE_MEMBER_SIZE]; /* "" when nobody has ever led */
	char address[TENURE_ADDRESS_SIZE];
	int64_t token;
	enum tenure_phase phase;
	enum tenure_clean clean;
	char since[TENURE_TIME_SIZE];
};

struct tenure_term {
	char member[TENURE_MEMBER_SIZE];
	int64_t token;
	char reason[TENURE_REASON_SIZE];
	char at[TENURE_TIME_SIZE];
};

/* The election record, on the election's own znode. */
struct tenure_election_record {
	bool paused;
	char successor[TENURE_MEMBER_SIZE];
	size_t eligible_count; /* 0: everybody is */
	char eligible[TENURE_ELIGIBLE_MAX][TENURE_MEMBER_SIZE];
	int64_t transitions;
	int64_t held;    /* token of an incumbent that rides out a pause; 0: none */
	int64_t request; /* number of the last switchover request */
	struct tenure_incumbent incumbent;
	size_t history_count; /* oldest first */
	struct tenure_term history[TENURE_HISTORY_MAX];
};

/*
 * Reads SIZE bytes of an election's znode. Returns 0; -ENODATA when it is empty (a new election:
 * *OUT is set to the empty record, in which nobody has led and the incumbent is clean); -EBADMSG when it
 * is not a record of version 1 (*OUT is the empty record with an incumbent of unknown cleanliness);
 * -ENOMEM (*OUT likewise). Text from peers is cut to its size and
 * control characters and bad UTF-8 are replaced by '?'.
 */
TENURE_API int tenure_election_decode(const char *bytes, size_t size, struct tenure_election_record *out);

/* Whether MEMBER may lead by the record's list. */
TENURE_API bool tenure_election_eligible(const struct tenure_election_record *r, const char *member);

enum tenure_edit_kind {
	TENURE_EDIT_TAKE,   /* incumbent = member, phase promoting, not clean; transitions + 1; history; clears successor */
	TENURE_EDIT_ACTIVE, /* phase active */
	TENURE_EDIT_CLEAN,  /* clean = true */
	TENURE_EDIT_FENCED, /* clean = "fenced" */
	TENURE_EDIT_FORGET, /* an operator answers for the last incumbent: clean = true, held = "" */
	TENURE_EDIT_PAUSE,  /* paused = true */
	TENURE_EDIT_RESUME, /* paused = false */
	TENURE_EDIT_ELIGIBLE, /* the list of who may lead; empty: everybody */
	TENURE_EDIT_NAME,   /* successor = member, of a new request number */
	TENURE_EDIT_UNNAME, /* successor = "" */
};

/* One change to the election record. The strings are borrowed. */
struct tenure_edit {
	enum tenure_edit_kind kind;
	int64_t token;
	const char *member;  /* TAKE, NAME */
	const char *address; /* TAKE */
	const char *reason;  /* TAKE */
	const char *at;      /* TAKE: wall clock for people */
	const char *const *eligible; /* ELIGIBLE: at most TENURE_ELIGIBLE_MAX members */
	size_t eligible_count;
};

/* A record as it was parsed, with the fields that this version does not know. Parsed once, edited cheaply. */
struct tenure_document;

/*
 * As tenure_election_decode, and what was parsed is handed out in *DOCUMENT, which the caller frees; NULL
 * when there is nothing to keep.
 */
TENURE_API int tenure_document_parse(const char *bytes, size_t size, struct tenure_document **document,
				     struct tenure_election_record *record);

/* What DOCUMENT says; of NULL the empty record, in which nobody has led. */
TENURE_API void tenure_document_read(const struct tenure_document *document, struct tenure_election_record *record);

/*
 * Applies EDIT to DOCUMENT (NULL: there was nothing readable), which stays as it is, and returns the edited
 * document, its record (RECORD may be NULL), and its text, of which the caller frees *EDITED and *OUT. Fields this version does not
 * know are kept; TAKE, FORGET, PAUSE, RESUME and ELIGIBLE put a new record in the place of none, which may be one that
 * cannot be read. All but TAKE, PAUSE and RESUME apply only while the incumbent's token is EDIT's (FORGET and ELIGIBLE
 * also with token 0: there is none). Returns 0, -ENOMEM, -ESTALE when
 * the token is another's, -EBADMSG when ACTIVE, CLEAN, FENCED, NAME or UNNAME meet no readable record, -EMSGSIZE when the result
 * would not fit TENURE_RECORD_MAX;
 * on failure the outputs are left alone.
 */
TENURE_API int tenure_document_edit(const struct tenure_document *document, const struct tenure_edit *edit,
				    struct tenure_document **edited, struct tenure_election_record *record,
				    char **out, size_t *out_size);

TENURE_API void tenure_document_free(struct tenure_document *document); /* NULL is fine */

/* The member record, on members/<member>-<guid>. */
struct tenure_member_record {
	char member[TENURE_MEMBER_SIZE];
	char address[TENURE_ADDRESS_SIZE];
	char host[TENURE_MEMBER_SIZE];
	int pid;
	char boot_id[TENURE_GUID_SIZE];
	char state[16];        /* a role state's name */
	int64_t demoted_token; /* the last term this member has left; 0: none */
	int64_t ready_for;     /* switchover request it is ready for */
	bool has_score;
	int64_t score;
	int64_t score_seq;
};

/* Returns 0 and text the caller frees, or -ENOMEM. */
TENURE_API int tenure_member_encode(const struct tenure_member_record *r, char **out, size_t *out_size);

/* Returns 0, or -EBADMSG or -ENOMEM and leaves *OUT alone. Text is cleaned as in tenure_election_decode. */
TENURE_API int tenure_member_decode(const char *bytes, size_t size, struct tenure_member_record *out);

/* The data of a candidate's znode: member and address, never changed. Returns 0 or -ENOMEM. */
TENURE_API int tenure_candidate_encode(const char *member, const char *address, char **out, size_t *out_size);

/* Returns 0, -ENOMEM, or -EBADMSG when the znode is not a tenure member's. */
TENURE_API int tenure_candidate_decode(const char *bytes, size_t size, char member[TENURE_MEMBER_SIZE],
				       char address[TENURE_ADDRESS_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
