/* The election record: parsed, edited in every way, and read again. */
#include "fuzz.h"

#include <errno.h>

#include <jansson.h>

#include "tenure/record.h"

#define CLEAN(array) assert(fuzz_is_clean(array, sizeof(array)))

static const struct tenure_edit take = {.kind = TENURE_EDIT_TAKE,
					.token = INT64_C(4294967338),
					.member = "db-a",
					.address = "10.0.0.1:5432",
					.reason = "election",
					.at = "2024-05-06T07:08:09Z"};

static void check_record(const struct tenure_election_record *r)
{
	CLEAN(r->successor);
	CLEAN(r->incumbent.member);
	CLEAN(r->incumbent.address);
	CLEAN(r->incumbent.since);
	assert(r->transitions >= 0 && r->held >= 0 && r->request >= 0 && r->incumbent.token >= 0);
	assert((r->incumbent.token == 0) == (r->incumbent.member[0] == '\0'));
	assert(r->incumbent.phase <= TENURE_PHASE_ACTIVE && r->incumbent.clean <= TENURE_CLEAN_FENCED);
	assert(r->eligible_count <= TENURE_ELIGIBLE_MAX && r->history_count <= TENURE_HISTORY_MAX);
	for (size_t i = 0; i < r->eligible_count; i++) {
		CLEAN(r->eligible[i]);
		assert(tenure_election_eligible(r, r->eligible[i]));
	}
	for (size_t i = 0; i < r->history_count; i++) {
		CLEAN(r->history[i].member);
		CLEAN(r->history[i].reason);
		CLEAN(r->history[i].at);
		assert(r->history[i].token >= 0);
	}
}

static void check_same_term(const struct tenure_term *a, const struct tenure_term *b)
{
	assert(strcmp(a->member, b->member) == 0 && a->token == b->token);
	assert(strcmp(a->reason, b->reason) == 0 && strcmp(a->at, b->at) == 0);
}

static void check_same_incumbent(const struct tenure_incumbent *a, const struct tenure_incumbent *b)
{
	assert(strcmp(a->member, b->member) == 0 && strcmp(a->address, b->address) == 0);
	assert(strcmp(a->since, b->since) == 0 && a->token == b->token);
	assert(a->phase == b->phase && a->clean == b->clean);
}

static void check_same(const struct tenure_election_record *a, const struct tenure_election_record *b)
{
	assert(a->paused == b->paused && strcmp(a->successor, b->successor) == 0);
	assert(a->transitions == b->transitions && a->held == b->held && a->request == b->request);
	check_same_incumbent(&a->incumbent, &b->incumbent);
	assert(a->eligible_count == b->eligible_count && a->history_count == b->history_count);
	for (size_t i = 0; i < a->eligible_count; i++)
		assert(strcmp(a->eligible[i], b->eligible[i]) == 0);
	for (size_t i = 0; i < a->history_count; i++)
		check_same_term(&a->history[i], &b->history[i]);
}

/* EXPECTED begins as the record before EDIT and becomes what it must be after it, a history aside. */
static void expect(struct tenure_election_record *expected, const struct tenure_edit *edit)
{
	struct tenure_incumbent *incumbent = &expected->incumbent;

	switch (edit->kind) {
	case TENURE_EDIT_TAKE:
		*incumbent = (struct tenure_incumbent){.token = edit->token,
						       .phase = TENURE_PHASE_PROMOTING,
						       .clean = TENURE_CLEAN_NO};
		strcpy(incumbent->member, edit->member);
		strcpy(incumbent->address, edit->address);
		strcpy(incumbent->since, edit->at);
		expected->transitions += expected->transitions < INT64_MAX;
		expected->successor[0] = '\0';
		break;
	case TENURE_EDIT_ACTIVE:
		incumbent->phase = TENURE_PHASE_ACTIVE;
		break;
	case TENURE_EDIT_CLEAN:
		incumbent->clean = TENURE_CLEAN_YES;
		break;
	case TENURE_EDIT_FENCED:
		incumbent->clean = TENURE_CLEAN_FENCED;
		break;
	case TENURE_EDIT_FORGET:
		incumbent->clean = TENURE_CLEAN_YES;
		expected->held = 0;
		break;
	case TENURE_EDIT_PAUSE:
	case TENURE_EDIT_RESUME:
		expected->paused = edit->kind == TENURE_EDIT_PAUSE;
		break;
	case TENURE_EDIT_ELIGIBLE:
		expected->eligible_count = edit->eligible_count;
		for (size_t i = 0; i < edit->eligible_count; i++)
			strcpy(expected->eligible[i], edit->eligible[i]);
		break;
	case TENURE_EDIT_NAME:
		strcpy(expected->successor, edit->member);
		expected->request = expected->request < INT64_MAX ? expected->request + 1 : 1;
		break;
	case TENURE_EDIT_UNNAME:
		expected->successor[0] = '\0';
		break;
	}
}

/* Only the newest of the history is new. What cannot be read in it is passed over, so that less may be seen. */
static void expect_history(struct tenure_election_record *expected, const struct tenure_election_record *edited,
			   const struct tenure_edit *edit)
{
	if (edit->kind == TENURE_EDIT_TAKE) {
		const struct tenure_term *newest = &edited->history[edited->history_count - 1];

		assert(edited->history_count > 0);
		assert(newest->token == edit->token && strcmp(newest->member, edit->member) == 0);
		assert(strcmp(newest->reason, edit->reason) == 0 && strcmp(newest->at, edit->at) == 0);
		expected->history_count = edited->history_count;
		memcpy(expected->history, edited->history, sizeof(expected->history));
	}
}

/* Whether an edit may change KEY of the record or of its incumbent. */
static bool may_change(const char *key, const struct tenure_edit *edit, bool inner)
{
	static const char *const changed[][5] = {
		[TENURE_EDIT_TAKE] = {"incumbent", "transitions", "successor", "history"},
		[TENURE_EDIT_FORGET] = {"held", "incumbent"},
		[TENURE_EDIT_ACTIVE] = {"incumbent"},
		[TENURE_EDIT_CLEAN] = {"incumbent"},
		[TENURE_EDIT_FENCED] = {"incumbent"},
		[TENURE_EDIT_PAUSE] = {"paused"},
		[TENURE_EDIT_RESUME] = {"paused"},
		[TENURE_EDIT_ELIGIBLE] = {"eligible"},
		[TENURE_EDIT_NAME] = {"successor", "request"},
		[TENURE_EDIT_UNNAME] = {"successor", "request"},
	};

	if (inner)
		return edit->kind == TENURE_EDIT_TAKE ||
		       strcmp(key, edit->kind == TENURE_EDIT_ACTIVE ? "phase" : "clean") == 0;
	for (const char *const *name = changed[edit->kind]; *name; name++) {
		if (strcmp(*name, key) == 0)
			return true;
	}
	return false;
}

/* Everything that is not the edit's stays as it was, also what this version does not know. */
static void check_kept(json_t *before, json_t *after, const struct tenure_edit *edit, bool inner)
{
	const char *key;
	json_t *value;

	json_object_foreach(before, key, value) {
		if (!may_change(key, edit, inner))
			assert(json_equal(value, json_object_get(after, key)));
	}
	if (!inner)
		check_kept(json_object_get(before, "incumbent"), json_object_get(after, "incumbent"), edit, true);
}

/* The terms of BEFORE but for the oldest that had to go are still there, whatever they are. */
static void check_history_kept(json_t *before, json_t *after)
{
	size_t n = json_array_size(json_object_get(before, "history"));
	size_t m = json_array_size(json_object_get(after, "history"));

	assert(m > 0 && m <= TENURE_HISTORY_MAX && (m == n + 1 || m == TENURE_HISTORY_MAX));
	for (size_t i = 1; i < m && i <= n; i++)
		assert(json_equal(json_array_get(json_object_get(before, "history"), n - i),
				  json_array_get(json_object_get(after, "history"), m - 1 - i)));
}

/* Compares the texts before and after. BYTES may be ones that only the record's own reader takes. */
static void check_texts(const char *bytes, size_t size, const char *text, size_t text_size,
			const struct tenure_edit *edit)
{
	json_t *before = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
	json_t *after = json_loadb(text, text_size, JSON_REJECT_DUPLICATES, NULL);

	assert(after != NULL);
	if (before) {
		check_kept(before, after, edit, false);
		if (edit->kind == TENURE_EDIT_TAKE)
			check_history_kept(before, after);
	}
	json_decref(before);
	json_decref(after);
}

static bool is_allowed_failure(int rc, const struct tenure_document *document,
			       const struct tenure_election_record *record, const struct tenure_edit *edit)
{
	int64_t token = document ? record->incumbent.token : 0;

	if (rc == -ESTALE)
		return edit->kind != TENURE_EDIT_TAKE && edit->kind != TENURE_EDIT_PAUSE &&
		       edit->kind != TENURE_EDIT_RESUME && edit->token != token;
	if (rc == -EBADMSG)
		return !document && ((edit->kind >= TENURE_EDIT_ACTIVE && edit->kind <= TENURE_EDIT_FENCED) ||
				     edit->kind >= TENURE_EDIT_NAME);
	return rc == -EMSGSIZE;
}

/* Edits DOCUMENT, which reads as RECORD and was read from BYTES. Returns the edited one or NULL. */
static struct tenure_document *check_edit(const struct tenure_document *document,
					  const struct tenure_election_record *record, const char *bytes, size_t size,
					  const struct tenure_edit *edit, struct tenure_election_record *edited_record,
					  char **text, size_t *text_size)
{
	struct tenure_document *edited, *again;
	struct tenure_election_record expected = *record, read;
	char *second;
	size_t second_size;
	int rc = tenure_document_edit(document, edit, &edited, edited_record, text, text_size);

	if (rc < 0) {
		assert(is_allowed_failure(rc, document, record, edit));
		return NULL;
	}
	check_record(edited_record);
	if (document) {
		expect(&expected, edit);
		expect_history(&expected, edited_record, edit);
		check_same(&expected, edited_record);
		check_texts(bytes, size, *text, *text_size, edit);
	}
	assert(*text_size <= TENURE_RECORD_MAX && tenure_election_decode(*text, *text_size, &read) == 0);
	check_same(&read, edited_record);
	/* The document stays as it was: the same edit gives the same text. */
	assert(tenure_document_edit(document, edit, &again, &read, &second, &second_size) == 0);
	assert(second_size == *text_size && memcmp(second, *text, second_size) == 0);
	free(second);
	tenure_document_free(again);
	return edited;
}

static void check_edit_alone(const struct tenure_document *document, const struct tenure_election_record *record,
			     const char *bytes, size_t size, const struct tenure_edit *edit)
{
	struct tenure_election_record edited_record;
	char *text = NULL;
	size_t text_size;

	tenure_document_free(check_edit(document, record, bytes, size, edit, &edited_record, &text, &text_size));
	free(text);
}

/* What a term does to a record: each edit is of the document that the one before has made. */
static void check_term(const struct tenure_document *document, const struct tenure_election_record *record,
		       const char *bytes, size_t size)
{
	struct tenure_election_record taken;
	char *text = NULL;
	size_t text_size;
	struct tenure_document *edited = check_edit(document, record, bytes, size, &take, &taken, &text, &text_size);

	for (enum tenure_edit_kind kind = TENURE_EDIT_ACTIVE; edited && kind <= TENURE_EDIT_UNNAME; kind++) {
		static const char *const two[] = {"a", "b"};
		const struct tenure_edit edit = {
			.kind = kind, .token = take.token, .eligible = two, .eligible_count = 2, .member = "c"};

		check_edit_alone(edited, &taken, text, text_size, &edit);
	}
	tenure_document_free(edited);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data;
	struct tenure_document *document;
	struct tenure_election_record record, decoded;
	int rc = tenure_document_parse(bytes, size, &document, &record);

	assert((rc == 0 && size > 0) || (rc == -ENODATA && size == 0) || rc == -EBADMSG);
	assert((rc == 0) == (document != NULL));
	assert(rc != -EBADMSG || (record.incumbent.clean == TENURE_CLEAN_UNKNOWN && record.incumbent.token == 0));
	assert(tenure_election_decode(bytes, size, &decoded) == rc);
	check_record(&record);
	check_same(&record, &decoded);

	for (enum tenure_edit_kind kind = TENURE_EDIT_ACTIVE; kind <= TENURE_EDIT_FORGET; kind++) {
		const struct tenure_edit own = {.kind = kind, .token = record.incumbent.token};
		const struct tenure_edit other = {.kind = kind, .token = take.token};

		if (own.token > 0 || kind == TENURE_EDIT_FORGET)
			check_edit_alone(document, &record, bytes, size, &own);
		check_edit_alone(document, &record, bytes, size, &other);
	}
	check_term(document, &record, bytes, size);
	tenure_document_free(document);
	return 0;
}
