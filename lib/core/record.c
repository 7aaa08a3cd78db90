/* The records in the znodes: JSON, hostile until proven otherwise. */
#include "tenure/record.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/utf8.h"

enum { RECORD_VERSION = 1, TOKEN_SIZE = 24 };

/* Copies TEXT to BUF, cut between characters to fit, with '?' for control characters and bad UTF-8. */
static void clean_text(const char *text, char *buf, size_t size)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t left = strlen(text), used = 0;

	assert(size > 0);
	while (left > 0) {
		size_t length = utf8_length(s, left);
		size_t taken = length ? length : 1;
		bool control = s[0] < 0x20 || s[0] == 0x7f || (length == 2 && s[0] == 0xc2 && s[1] < 0xa0);
		bool bad = length == 0 || control;

		if (used + (bad ? 1 : taken) >= size)
			break;
		if (bad) {
			buf[used++] = '?';
		} else {
			memcpy(buf + used, s, taken);
			used += taken;
		}
		s += taken;
		left -= taken;
	}
	buf[used] = '\0';
}

/*
 * Whether the parser failed for want of memory. Mostly it then says nothing at all; but for a string
 * it claims that a token is wrong where it has just read a whole string, which would have been right.
 * To take that for a bad record would be to replace a good one.
 */
static bool without_memory(const json_error_t *error, const char *text)
{
	static const char value[] = "invalid token", key[] = "string or '}' expected";

	if (error->text[0] == '\0' || json_error_code(error) == json_error_out_of_memory)
		return true;
	return (strncmp(error->text, value, strlen(value)) == 0 ||
		strncmp(error->text, key, strlen(key)) == 0) &&
	       error->position > 0 && text[error->position - 1] == '"';
}

/*
 * Parses an object of our version. Bytes that are no UTF-8 are replaced first: the parser would
 * refuse the whole record for one bad name. Returns 0, -EBADMSG or -ENOMEM.
 */
static int parse(const char *bytes, size_t size, json_t **out)
{
	json_error_t error = {.line = 0};
	json_t *root, *version;
	char *copy;
	int r = 0;

	if (size == 0 || size > TENURE_RECORD_MAX)
		return -EBADMSG;
	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, bytes, size);
	for (size_t i = 0, length; i < size; i += length ? length : 1) {
		length = utf8_length((const unsigned char *)copy + i, size - i);
		if (length == 0)
			copy[i] = '?';
	}
	root = json_loadb(copy, size, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		r = without_memory(&error, copy) ? -ENOMEM : -EBADMSG;
	free(copy);
	if (r < 0)
		return r;

	version = json_object_get(root, "version");
	if (!json_is_integer(version) || json_integer_value(version) != RECORD_VERSION) {
		json_decref(root);
		return -EBADMSG;
	}
	*out = root;
	return 0;
}

/*
 * The getters leave *OUT alone and return true when the field is missing, and return false when it
 * is of another type or out of range.
 */
static bool get_text(const json_t *object, const char *key, char *out, size_t size)
{
	const json_t *value = json_object_get(object, key);

	if (!value)
		return true;
	if (!json_is_string(value))
		return false;
	clean_text(json_string_value(value), out, size);
	return true;
}

static bool get_bool(const json_t *object, const char *key, bool *out)
{
	const json_t *value = json_object_get(object, key);

	if (!value)
		return true;
	if (!json_is_boolean(value))
		return false;
	*out = json_is_true(value);
	return true;
}

static bool get_count(const json_t *object, const char *key, int64_t *out)
{
	const json_t *value = json_object_get(object, key);

	if (!value)
		return true;
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*out = json_integer_value(value);
	return true;
}

/* A token is a string of digits without leading zeros; "" stands for none. */
static bool get_token(const json_t *object, const char *key, int64_t *out)
{
	const json_t *value = json_object_get(object, key);
	int64_t token = 0;

	if (!value)
		return true;
	if (!json_is_string(value))
		return false;
	for (const char *s = json_string_value(value); *s; s++) {
		int digit = *s - '0';

		if (digit < 0 || digit > 9 || (digit == 0 && token == 0))
			return false;
		if (token > (INT64_MAX - digit) / 10)
			return false;
		token = token * 10 + digit;
	}
	*out = token;
	return true;
}

static void token_text(int64_t token, char out[TOKEN_SIZE])
{
	if (token == 0)
		out[0] = '\0';
	else
		snprintf(out, TOKEN_SIZE, "%" PRId64, token);
}

static enum tenure_clean read_clean(const json_t *value)
{
	if (!value || json_is_false(value))
		return TENURE_CLEAN_NO;
	if (json_is_true(value))
		return TENURE_CLEAN_YES;
	if (json_is_string(value) && strcmp(json_string_value(value), "fenced") == 0)
		return TENURE_CLEAN_FENCED;
	return TENURE_CLEAN_UNKNOWN;
}

static bool read_incumbent(const json_t *root, struct tenure_incumbent *out)
{
	const json_t *object = json_object_get(root, "incumbent");
	struct tenure_incumbent incumbent = {.phase = TENURE_PHASE_NONE};
	char phase[16] = "";

	if (!object || json_is_null(object))
		return true;
	if (!json_is_object(object) ||
	    !get_text(object, "member", incumbent.member, sizeof(incumbent.member)) ||
	    !get_text(object, "address", incumbent.address, sizeof(incumbent.address)) ||
	    !get_token(object, "token", &incumbent.token) ||
	    !get_text(object, "phase", phase, sizeof(phase)) ||
	    !get_text(object, "since", incumbent.since, sizeof(incumbent.since)))
		return false;
	if (incumbent.member[0] == '\0' && incumbent.token == 0)
		return true;
	if (incumbent.member[0] == '\0' || incumbent.token == 0)
		return false;
	if (strcmp(phase, "promoting") == 0)
		incumbent.phase = TENURE_PHASE_PROMOTING;
	else if (strcmp(phase, "active") == 0)
		incumbent.phase = TENURE_PHASE_ACTIVE;
	incumbent.clean = read_clean(json_object_get(object, "clean"));
	*out = incumbent;
	return true;
}

/* A list that is too long is cut: to leave members out is safe, to let everybody lead is not. */
static bool read_eligible(const json_t *root, struct tenure_election_record *out)
{
	const json_t *list = json_object_get(root, "eligible");
	size_t n = json_array_size(list);

	if (list && !json_is_array(list))
		return false;
	for (size_t i = 0; i < n && i < TENURE_ELIGIBLE_MAX; i++) {
		const json_t *name = json_array_get(list, i);

		if (!json_is_string(name))
			return false;
		clean_text(json_string_value(name), out->eligible[i], sizeof(out->eligible[i]));
		out->eligible_count++;
	}
	return true;
}

/* The history decides nothing, so terms that cannot be read are passed over. */
static void read_history(const json_t *root, struct tenure_election_record *out)
{
	const json_t *list = json_object_get(root, "history");
	size_t n = json_array_size(list);

	for (size_t i = n > TENURE_HISTORY_MAX ? n - TENURE_HISTORY_MAX : 0; i < n; i++) {
		const json_t *object = json_array_get(list, i);
		struct tenure_term term = {.token = 0};

		if (json_is_object(object) && get_text(object, "member", term.member, sizeof(term.member)) &&
		    get_token(object, "token", &term.token) &&
		    get_text(object, "reason", term.reason, sizeof(term.reason)) &&
		    get_text(object, "at", term.at, sizeof(term.at)))
			out->history[out->history_count++] = term;
	}
}

/* The record of an election that nobody has led: there is nobody who could still be in office. */
static void empty_record(struct tenure_election_record *out)
{
	memset(out, 0, sizeof(*out));
	out->incumbent.clean = TENURE_CLEAN_YES;
}

/* Reads a parsed record. Returns 0, or -EBADMSG when a field that decides something is not what it must be. */
static int read_election(const json_t *root, struct tenure_election_record *out)
{
	empty_record(out);
	if (!get_bool(root, "paused", &out->paused) ||
	    !get_text(root, "successor", out->successor, sizeof(out->successor)) || !read_eligible(root, out) ||
	    !get_count(root, "transitions", &out->transitions) || !get_token(root, "held", &out->held) ||
	    !get_count(root, "request", &out->request) || !read_incumbent(root, &out->incumbent))
		return -EBADMSG;
	read_history(root, out);
	return 0;
}

struct tenure_document {
	json_t *root;
};

/* Takes over ROOT, which may be NULL for want of memory. */
static struct tenure_document *new_document(json_t *root)
{
	struct tenure_document *document = root ? malloc(sizeof(*document)) : NULL;

	if (document)
		document->root = root;
	else
		json_decref(root);
	return document;
}

void tenure_document_free(struct tenure_document *document)
{
	if (!document)
		return;
	json_decref(document->root);
	free(document);
}

int tenure_document_parse(const char *bytes, size_t size, struct tenure_document **document,
			  struct tenure_election_record *record)
{
	json_t *root = NULL;
	int r;

	*document = NULL;
	empty_record(record);
	if (size == 0)
		return -ENODATA;
	r = parse(bytes, size, &root);
	if (r == 0)
		r = read_election(root, record);
	if (r == 0) {
		*document = new_document(root);
		root = NULL;
		if (*document)
			return 0;
		r = -ENOMEM;
	}
	json_decref(root);
	empty_record(record);
	record->incumbent.clean = TENURE_CLEAN_UNKNOWN;
	return r;
}

void tenure_document_read(const struct tenure_document *document, struct tenure_election_record *record)
{
	empty_record(record);
	if (document)
		read_election(document->root, record);
}

int tenure_election_decode(const char *bytes, size_t size, struct tenure_election_record *out)
{
	struct tenure_document *document;
	int r = tenure_document_parse(bytes, size, &document, out);

	tenure_document_free(document);
	return r;
}

bool tenure_election_eligible(const struct tenure_election_record *r, const char *member)
{
	for (size_t i = 0; i < r->eligible_count; i++) {
		if (strcmp(r->eligible[i], member) == 0)
			return true;
	}
	return r->eligible_count == 0;
}

/* Text of our own as a JSON string, or NULL when there is no memory. */
static json_t *text_value(const char *text)
{
	char clean[TENURE_ADDRESS_SIZE];

	clean_text(text ? text : "", clean, sizeof(clean));
	return json_string(clean);
}

/*
 * Takes over OBJECT, which may be NULL for want of memory. Returns 0 and text the caller frees, -ENOMEM or
 * -EMSGSIZE. (json_dumps() would lose some of it where its buffer cannot grow, and say nothing.)
 */
static int dump(json_t *object, char **out, size_t *out_size)
{
	size_t size = object ? json_dumpb(object, NULL, 0, JSON_COMPACT) : 0;
	char *text = NULL;
	int r = size > TENURE_RECORD_MAX ? -EMSGSIZE : -ENOMEM;

	if (size > 0 && size <= TENURE_RECORD_MAX)
		text = malloc(size + 1);
	if (text && json_dumpb(object, text, size, JSON_COMPACT) == size) {
		text[size] = '\0';
		*out = text;
		*out_size = size;
		text = NULL;
		r = 0;
	}
	free(text);
	json_decref(object);
	return r;
}

/* As json_copy(), which without memory loses members and says nothing. */
static json_t *copy_of(json_t *value)
{
	json_t *copy = json_copy(value);

	if (json_object_size(copy) == json_object_size(value) && json_array_size(copy) == json_array_size(value))
		return copy; /* or NULL, where there is nothing to copy */
	json_decref(copy);
	return NULL;
}

/* The lists and objects of ROOT may be another document's, too: they are copied before they change. */
static int add_history(json_t *root, const struct tenure_edit *edit, const char *token)
{
	json_t *former = json_object_get(root, "history");
	json_t *list = json_is_array(former) ? copy_of(former) : json_array();

	if (json_object_set_new(root, "history", list) < 0 ||
	    json_array_append_new(list, json_pack("{s:o,s:s,s:o,s:o}", "member", text_value(edit->member),
						  "token", token, "reason", text_value(edit->reason), "at",
						  text_value(edit->at))) < 0)
		return -ENOMEM;
	while (json_array_size(list) > TENURE_HISTORY_MAX)
		json_array_remove(list, 0);
	return 0;
}

static int take(json_t *root, const struct tenure_edit *edit, int64_t transitions)
{
	char token[TOKEN_SIZE];

	token_text(edit->token, token);
	if (transitions < INT64_MAX)
		transitions++;
	if (json_object_set_new(root, "transitions", json_integer(transitions)) < 0 ||
	    json_object_set_new(root, "successor", json_string("")) < 0 ||
	    json_object_set_new(root, "incumbent",
				json_pack("{s:o,s:o,s:s,s:s,s:b,s:o}", "member", text_value(edit->member),
					  "address", text_value(edit->address), "token", token, "phase",
					  "promoting", "clean", 0, "since", text_value(edit->at))) < 0)
		return -ENOMEM;
	return add_history(root, edit, token);
}

static json_t *new_record(void)
{
	return json_pack("{s:i,s:b,s:s,s:[],s:i,s:s,s:i}", "version", RECORD_VERSION, "paused", 0,
			 "successor", "", "eligible", "transitions", 0, "held", "", "request", 0);
}

/* Sets one field of the incumbent; takes VALUE over, which may be NULL for want of memory. */
static int mark(json_t *root, const char *key, json_t *value)
{
	json_t *incumbent = copy_of(json_object_get(root, "incumbent"));

	if (json_object_set_new(root, "incumbent", incumbent) < 0) {
		json_decref(value);
		return -ENOMEM;
	}
	return json_object_set_new(incumbent, key, value) < 0 ? -ENOMEM : 0;
}

/* Without an incumbent there is only the hold to be lifted. */
static int forget(json_t *root, int64_t token)
{
	if (json_object_set_new(root, "held", json_string("")) < 0)
		return -ENOMEM;
	return token != 0 ? mark(root, "clean", json_true()) : 0;
}

static int set_paused(json_t *root, bool paused)
{
	return json_object_set_new(root, "paused", json_boolean(paused)) < 0 ? -ENOMEM : 0;
}

static int set_eligible(json_t *root, const struct tenure_edit *edit)
{
	json_t *list = json_array();

	assert(edit->eligible_count <= TENURE_ELIGIBLE_MAX);
	for (size_t i = 0; i < edit->eligible_count; i++)
		if (json_array_append_new(list, text_value(edit->eligible[i])) < 0) {
			json_decref(list);
			return -ENOMEM;
		}
	return json_object_set_new(root, "eligible", list) < 0 ? -ENOMEM : 0;
}

static int set_successor(json_t *root, const char *member, int64_t request)
{
	return json_object_set_new(root, "successor", text_value(member)) < 0 ||
			       json_object_set_new(root, "request", json_integer(request)) < 0 ?
		       -ENOMEM :
		       0;
}

/* Whether it is for whoever leads, or nobody, and not for the incumbent of its token alone. */
static bool binds_nobody(enum tenure_edit_kind kind)
{
	return kind == TENURE_EDIT_TAKE || kind == TENURE_EDIT_PAUSE || kind == TENURE_EDIT_RESUME;
}

static bool begins_anew(enum tenure_edit_kind kind)
{
	return binds_nobody(kind) || kind == TENURE_EDIT_FORGET || kind == TENURE_EDIT_ELIGIBLE;
}

static int apply(json_t *root, const struct tenure_edit *edit)
{
	struct tenure_election_record record;
	int r = root ? read_election(root, &record) : -ENOMEM;

	if (r < 0)
		return r;
	if (!binds_nobody(edit->kind) && record.incumbent.token != edit->token)
		return -ESTALE;
	switch (edit->kind) {
	case TENURE_EDIT_TAKE:
		return take(root, edit, record.transitions);
	case TENURE_EDIT_ACTIVE:
		return mark(root, "phase", json_string("active"));
	case TENURE_EDIT_CLEAN:
		return mark(root, "clean", json_true());
	case TENURE_EDIT_FENCED:
		return mark(root, "clean", json_string("fenced"));
	case TENURE_EDIT_FORGET:
		return forget(root, edit->token);
	case TENURE_EDIT_PAUSE:
	case TENURE_EDIT_RESUME:
		return set_paused(root, edit->kind == TENURE_EDIT_PAUSE);
	case TENURE_EDIT_ELIGIBLE:
		return set_eligible(root, edit);
	case TENURE_EDIT_NAME:
		return set_successor(root, edit->member, record.request < INT64_MAX ? record.request + 1 : 1);
	case TENURE_EDIT_UNNAME:
		return set_successor(root, "", record.request);
	}
	return -EBADMSG;
}

int tenure_document_edit(const struct tenure_document *document, const struct tenure_edit *edit,
			 struct tenure_document **edited, struct tenure_election_record *record, char **out,
			 size_t *out_size)
{
	struct tenure_document *next;
	json_t *root;
	char *text = NULL;
	size_t size = 0;
	int r;

	assert(edit->token > 0 || (edit->token == 0 && begins_anew(edit->kind) && edit->kind != TENURE_EDIT_TAKE));
	if (!document && !begins_anew(edit->kind))
		return -EBADMSG;
	root = document ? copy_of(document->root) : new_record();
	r = apply(root, edit);
	if (r == 0)
		r = dump(json_incref(root), &text, &size);
	if (r < 0) {
		json_decref(root);
		return r;
	}
	next = new_document(root);
	if (!next) {
		free(text);
		return -ENOMEM;
	}
	if (record)
		read_election(root, record);
	*edited = next;
	*out = text;
	*out_size = size;
	return 0;
}

int tenure_member_encode(const struct tenure_member_record *r, char **out, size_t *out_size)
{
	char token[TOKEN_SIZE];

	token_text(r->demoted_token, token);
	return dump(json_pack("{s:i,s:o,s:o,s:o,s:i,s:o,s:o,s:s,s:I,s:o,s:I}", "version", RECORD_VERSION,
			      "member", text_value(r->member), "address", text_value(r->address), "host",
			      text_value(r->host), "pid", r->pid, "boot_id", text_value(r->boot_id), "state",
			      text_value(r->state), "demoted_token", token, "ready_for",
			      (json_int_t)r->ready_for, "score",
			      r->has_score ? json_integer(r->score) : json_null(), "score_seq",
			      (json_int_t)r->score_seq),
		    out, out_size);
}

static bool read_score(const json_t *root, struct tenure_member_record *out)
{
	const json_t *score = json_object_get(root, "score");

	if (!score || json_is_null(score))
		return true;
	if (!json_is_integer(score))
		return false;
	out->has_score = true;
	out->score = json_integer_value(score);
	return true;
}

int tenure_member_decode(const char *bytes, size_t size, struct tenure_member_record *out)
{
	struct tenure_member_record record = {.pid = 0};
	int64_t pid = 0;
	json_t *root;
	int r = parse(bytes, size, &root);

	if (r < 0)
		return r;
	if (get_text(root, "member", record.member, sizeof(record.member)) && record.member[0] &&
	    get_text(root, "address", record.address, sizeof(record.address)) &&
	    get_text(root, "host", record.host, sizeof(record.host)) && get_count(root, "pid", &pid) &&
	    pid <= INT_MAX && get_text(root, "boot_id", record.boot_id, sizeof(record.boot_id)) &&
	    get_text(root, "state", record.state, sizeof(record.state)) &&
	    get_token(root, "demoted_token", &record.demoted_token) &&
	    get_count(root, "ready_for", &record.ready_for) && read_score(root, &record) &&
	    get_count(root, "score_seq", &record.score_seq)) {
		record.pid = (int)pid;
		*out = record;
	} else {
		r = -EBADMSG;
	}
	json_decref(root);
	return r;
}

int tenure_candidate_encode(const char *member, const char *address, char **out, size_t *out_size)
{
	return dump(json_pack("{s:i,s:o,s:o}", "version", RECORD_VERSION, "member", text_value(member),
			      "address", text_value(address)),
		    out, out_size);
}

int tenure_candidate_decode(const char *bytes, size_t size, char member[TENURE_MEMBER_SIZE],
			    char address[TENURE_ADDRESS_SIZE])
{
	char found_member[TENURE_MEMBER_SIZE] = "", found_address[TENURE_ADDRESS_SIZE] = "";
	json_t *root;
	int r = parse(bytes, size, &root);

	if (r < 0)
		return r;
	if (get_text(root, "member", found_member, sizeof(found_member)) && found_member[0] &&
	    get_text(root, "address", found_address, sizeof(found_address))) {
		memcpy(member, found_member, sizeof(found_member));
		memcpy(address, found_address, sizeof(found_address));
	} else {
		r = -EBADMSG;
	}
	json_decref(root);
	return r;
}
