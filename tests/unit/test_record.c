/* The records in the znodes: round trips, edits, and what hostile bytes do. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "tenure/record.h"

#define FULL                                                                                                 \
	"{\"version\":1,\"paused\":true,\"successor\":\"db-b\",\"eligible\":[\"db-a\",\"db-b\"],"            \
	"\"transitions\":12,\"held\":\"4294967338\",\"request\":7,\"future\":{\"deep\":[1,2.5,null]},"       \
	"\"incumbent\":{\"member\":\"db-a\",\"address\":\"10.0.0.1:5432\",\"token\":\"4294967338\","         \
	"\"phase\":\"active\",\"clean\":false,\"since\":\"2026-01-02T03:04:05Z\",\"extra\":\"kept\"},"       \
	"\"history\":[{\"member\":\"db-c\",\"token\":\"17\",\"reason\":\"election\",\"at\":\"2025\"}]}"

static const struct tenure_edit take_edit = {
	.kind = TENURE_EDIT_TAKE,
	.token = 4294967400,
	.member = "db-b",
	.address = "10.0.0.2:5432",
	.reason = "handoff",
	.at = "2026-05-06T07:08:09Z",
};

/* Allocations of the JSON library: the one numbered `fail_at` fails. */
static size_t allocated, fail_at;
static long living;

static int decode(const char *text, struct tenure_election_record *out)
{
	memset(out, 0xa5, sizeof(*out));
	return tenure_election_decode(text, strlen(text), out);
}

/* The whole way of a change: what was read is parsed, edited, and given as text. */
static int edit_text(const char *bytes, size_t size, const struct tenure_edit *edit, char **out, size_t *out_size)
{
	struct tenure_document *document, *edited;
	struct tenure_election_record record, again;
	size_t made;
	int r;

	allocated = fail_at; /* past the one that fails: it is the edit that is to be tried */
	tenure_document_parse(bytes, size, &document, &record);
	allocated = 0;
	r = tenure_document_edit(document, edit, &edited, &record, out, out_size);
	tenure_document_free(document);
	if (r < 0)
		return r;
	tenure_document_free(edited);
	/* Read again, the text says the same. */
	made = allocated;
	allocated = fail_at;
	assert_int_equal(tenure_election_decode(*out, *out_size, &again), 0);
	assert_memory_equal(&again, &record, sizeof(again));
	allocated = made;
	return 0;
}

/* Applies EDIT to TEXT and decodes the result into OUT; the new text is the caller's. */
static char *edit_and_decode(const char *text, const struct tenure_edit *edit,
			     struct tenure_election_record *out)
{
	char *result = NULL;
	size_t size = 0;

	assert_int_equal(edit_text(text, strlen(text), edit, &result, &size), 0);
	assert_int_equal(strlen(result), size);
	assert_int_equal(decode(result, out), 0);
	return result;
}

/* Asserts that the record is the one of an election about which nothing is known. */
static void assert_nothing_known(const struct tenure_election_record *r, enum tenure_clean clean)
{
	struct tenure_election_record empty;

	memset(&empty, 0, sizeof(empty));
	empty.incumbent.clean = clean;
	assert_memory_equal(r, &empty, sizeof(empty));
}

/* Goal: every field of the design's record is read. Method: one record with all of them. */
static void test_election_decode(void **state)
{
	struct tenure_election_record r;

	(void)state;
	assert_int_equal(decode(FULL, &r), 0);
	assert_true(r.paused);
	assert_string_equal(r.successor, "db-b");
	assert_int_equal(r.eligible_count, 2);
	assert_string_equal(r.eligible[0], "db-a");
	assert_string_equal(r.eligible[1], "db-b");
	assert_int_equal(r.transitions, 12);
	assert_int_equal(r.held, 4294967338);
	assert_int_equal(r.request, 7);
	assert_string_equal(r.incumbent.member, "db-a");
	assert_string_equal(r.incumbent.address, "10.0.0.1:5432");
	assert_int_equal(r.incumbent.token, 4294967338);
	assert_int_equal(r.incumbent.phase, TENURE_PHASE_ACTIVE);
	assert_int_equal(r.incumbent.clean, TENURE_CLEAN_NO);
	assert_string_equal(r.incumbent.since, "2026-01-02T03:04:05Z");
	assert_int_equal(r.history_count, 1);
	assert_string_equal(r.history[0].member, "db-c");
	assert_int_equal(r.history[0].token, 17);
	assert_string_equal(r.history[0].reason, "election");
	assert_string_equal(r.history[0].at, "2025");
}

/*
 * Goal: a new election is no error to worry about, and nobody is unclean in it. Method: no bytes; records
 * without an incumbent.
 */
static void test_election_new(void **state)
{
	static const char *const texts[] = {
		"{\"version\":1}",
		"{\"version\":1,\"incumbent\":null}",
		"{\"version\":1,\"incumbent\":{}}",
		"{\"version\":1,\"incumbent\":{\"member\":\"\",\"token\":\"\",\"clean\":false}}",
		" \n{\"version\":1, \"unknown\":[]}\n",
	};
	struct tenure_election_record r;

	(void)state;
	memset(&r, 0xa5, sizeof(r));
	assert_int_equal(tenure_election_decode(NULL, 0, &r), -ENODATA);
	assert_nothing_known(&r, TENURE_CLEAN_YES);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(decode(texts[i], &r), 0);
		assert_nothing_known(&r, TENURE_CLEAN_YES);
	}
}

/* None of these is a record of version 1. */
#define INCUMBENT(fields) "{\"version\":1,\"paused\":true,\"incumbent\":{" fields "}}"

static const char *const unreadable[] = {
	" ",
	"x",
	"null",
	"1",
	"\"text\"",
	"[]",
	"{}",
	"{",
	"{\"version\":1",
	"{\"version\":1}x",
	"{\"version\":1}{\"version\":1}",
	"{\"version\":2}",
	"{\"version\":0}",
	"{\"version\":\"1\"}",
	"{\"version\":1.0}",
	"{\"version\":true}",
	"{\"version\":1,\"version\":1}",
	"{'version':1}",
	"{\"version\":1,}",
	"\xef\xbb\xbf{\"version\":1}",
	"[{\"version\":1}]",
	"{\"version\":1,\"paused\":1}",
	"{\"version\":1,\"paused\":\"true\"}",
	"{\"version\":1,\"paused\":null}",
	"{\"version\":1,\"successor\":null}",
	"{\"version\":1,\"successor\":[\"a\"]}",
	"{\"version\":1,\"eligible\":\"a\"}",
	"{\"version\":1,\"eligible\":{}}",
	"{\"version\":1,\"eligible\":[1]}",
	"{\"version\":1,\"eligible\":[\"a\",null]}",
	"{\"version\":1,\"eligible\":null}",
	"{\"version\":1,\"transitions\":-1}",
	"{\"version\":1,\"transitions\":1.5}",
	"{\"version\":1,\"transitions\":\"1\"}",
	"{\"version\":1,\"transitions\":9223372036854775808}",
	"{\"version\":1,\"transitions\":-9223372036854775809}",
	"{\"version\":1,\"x\":1e999}",
	"{\"version\":1,\"request\":-3}",
	"{\"version\":1,\"request\":[]}",
	"{\"version\":1,\"held\":5}",
	"{\"version\":1,\"held\":true}",
	"{\"version\":1,\"held\":\"x\"}",
	"{\"version\":1,\"held\":\"-1\"}",
	"{\"version\":1,\"held\":\"+1\"}",
	"{\"version\":1,\"held\":\" 1\"}",
	"{\"version\":1,\"held\":\"1 \"}",
	"{\"version\":1,\"held\":\"01\"}",
	"{\"version\":1,\"held\":\"0\"}",
	"{\"version\":1,\"held\":\"0x1\"}",
	"{\"version\":1,\"held\":\"1.0\"}",
	"{\"version\":1,\"held\":\"9223372036854775808\"}",
	"{\"version\":1,\"held\":\"18446744073709551617\"}",
	"{\"version\":1,\"held\":\"99999999999999999999999999999999999999\"}",
	"{\"version\":1,\"successor\":\"a\\u0000b\"}",
	"{\"version\":1,\"successor\":\"\\ud800\"}",
	"{\"version\":1,\"successor\":\"a\nb\"}",
	"{\"version\":1,\"incumbent\":[]}",
	"{\"version\":1,\"incumbent\":\"db-a\"}",
	"{\"version\":1,\"incumbent\":false}",
	INCUMBENT("\"member\":\"a\""),
	INCUMBENT("\"member\":\"a\",\"token\":\"\""),
	INCUMBENT("\"token\":\"5\""),
	INCUMBENT("\"member\":\"\",\"token\":\"5\""),
	INCUMBENT("\"member\":\"a\",\"token\":5"),
	INCUMBENT("\"member\":7,\"token\":\"5\""),
	INCUMBENT("\"member\":\"a\",\"token\":\"5\",\"phase\":1"),
	INCUMBENT("\"member\":\"a\",\"token\":\"5\",\"address\":null"),
	INCUMBENT("\"member\":\"a\",\"token\":\"5\",\"since\":0"),
	INCUMBENT("\"member\":\"a\",\"token\":\"9223372036854775808\""),
};

/*
 * Goal: what is not a record of version 1 leaves an unclean incumbent and nothing else. Method: one bad
 * thing each.
 */
static void test_election_unreadable(void **state)
{
	struct tenure_election_record r;

	(void)state;
	for (size_t i = 0; i < sizeof(unreadable) / sizeof(unreadable[0]); i++) {
		assert_int_equal(decode(unreadable[i], &r), -EBADMSG);
		assert_nothing_known(&r, TENURE_CLEAN_UNKNOWN);
	}
}

/*
 * Goal: bytes that are no text at all are refused. Method: NULs anywhere, too many bytes, very deep
 * nesting, random bytes.
 */
static void test_election_binary(void **state)
{
	static char big[TENURE_RECORD_MAX + 1];
	static const char nul[] = "{\"version\":1,\"successor\":\"a\0b\"}";
	static const char tail[] = "{\"version\":1}\0";
	struct tenure_election_record r;
	unsigned seed = 1;

	(void)state;
	assert_int_equal(tenure_election_decode(nul, sizeof(nul) - 1, &r), -EBADMSG);
	assert_int_equal(tenure_election_decode(tail, sizeof(tail) - 1, &r), -EBADMSG);
	assert_int_equal(tenure_election_decode("\0\0\0", 3, &r), -EBADMSG);

	memset(big, ' ', sizeof(big));
	memcpy(big, "{\"version\":1}", 13);
	assert_int_equal(tenure_election_decode(big, sizeof(big) - 1, &r), 0);
	assert_int_equal(tenure_election_decode(big, sizeof(big), &r), -EBADMSG);
	assert_int_equal(tenure_election_decode(big, SIZE_MAX, &r), -EBADMSG);

	memset(big, '[', sizeof(big));
	assert_int_equal(tenure_election_decode(big, TENURE_RECORD_MAX, &r), -EBADMSG);
	memcpy(big, "{\"version\":1,\"x\":", 17);
	assert_int_equal(tenure_election_decode(big, TENURE_RECORD_MAX, &r), -EBADMSG);
	for (size_t i = 0; i + 5 <= TENURE_RECORD_MAX; i += 5)
		memcpy(big + i, "{\"a\":", 5);
	assert_int_equal(tenure_election_decode(big, TENURE_RECORD_MAX, &r), -EBADMSG);

	for (unsigned round = 0; round < 200; round++) {
		for (size_t i = 0; i < sizeof(big); i++)
			big[i] = (char)rand_r(&seed);
		big[0] = '\xff';
		assert_int_equal(tenure_election_decode(big, 1 + round * 300, &r), -EBADMSG);
		assert_nothing_known(&r, TENURE_CLEAN_UNKNOWN);
	}
}

/*
 * Goal: no damage to a record makes the reader fail other than cleanly. Method: cut it at every length,
 * change random bytes.
 */
static void test_election_damaged(void **state)
{
	const size_t size = strlen(FULL);
	struct tenure_election_record r;
	unsigned seed = 2, refused = 0;

	(void)state;
	for (size_t i = 1; i < size; i++) {
		char *cut = malloc(i);

		assert_non_null(cut);
		memcpy(cut, FULL, i);
		assert_int_equal(tenure_election_decode(cut, i, &r), -EBADMSG);
		free(cut);
	}
	for (unsigned round = 0; round < 20000; round++) {
		char text[sizeof(FULL)];
		int result;

		memcpy(text, FULL, sizeof(FULL));
		for (unsigned k = 0; k < 1 + round % 4; k++)
			text[(size_t)rand_r(&seed) % size] = (char)rand_r(&seed);
		result = tenure_election_decode(text, size, &r);
		assert_true(result == 0 || result == -EBADMSG);
		refused += result != 0;
		assert_true(strnlen(r.successor, sizeof(r.successor)) < sizeof(r.successor));
		assert_true(strnlen(r.incumbent.address, sizeof(r.incumbent.address)) <
			    sizeof(r.incumbent.address));
		assert_true(r.eligible_count <= TENURE_ELIGIBLE_MAX && r.history_count <= TENURE_HISTORY_MAX);
	}
	assert_in_range(refused, 1000, 19999);
}

/* Goal: text from peers is safe to print. Method: control characters, bad UTF-8 of every kind, good UTF-8. */
static void test_text_is_cleaned(void **state)
{
	static const struct {
		const char *text, *clean;
	} cases[] = {
		{"plain", "plain"},
		{"a\\nb\\tc\\u001b[31m", "a?b?c?[31m"},
		{"del\\u007f", "del?"},
		{"c1 \\u0085\\u009f", "c1 ??"},
		{"\\u00a0", "\xc2\xa0"},
		{"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
		 "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
		{"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
		{"bad \xff\xfe", "bad ??"},
		{"alone \x80", "alone ?"},
		{"cut \xe2\x82", "cut ??"},
		{"overlong \xc0\xaf", "overlong ??"},
		{"overlong \xe0\x9f\xbf", "overlong ???"},
		{"overlong \xf0\x8f\xbf\xbf", "overlong ????"},
		{"surrogate \xed\xa0\x80", "surrogate ???"},
		{"beyond \xf4\x90\x80\x80", "beyond ????"},
		{"beyond \xf5\x80\x80\x80", "beyond ????"},
		{"edges \xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf",
		 "edges \xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf"},
	};
	struct tenure_election_record r;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[256];

		snprintf(text, sizeof(text), "{\"version\":1,\"successor\":\"%s\"}", cases[i].text);
		assert_int_equal(decode(text, &r), 0);
		assert_string_equal(r.successor, cases[i].clean);
	}
}

/*
 * Goal: long text is cut to its field, never within a character. Method: a name of 64, 65 and 300 bytes,
 * and two-byte characters.
 */
static void test_text_is_cut(void **state)
{
	struct tenure_election_record r;
	char text[1024], name[512];

	(void)state;
	for (size_t length = 64; length <= 300; length += length == 64 ? 1 : 235) {
		memset(name, 'n', length);
		name[length] = '\0';
		snprintf(text, sizeof(text), "{\"version\":1,\"successor\":\"%s\"}", name);
		assert_int_equal(decode(text, &r), 0);
		assert_int_equal(strlen(r.successor), 64);
	}
	name[0] = 'x';
	for (size_t i = 1; i < 81; i += 2)
		memcpy(name + i, "\xc3\xbc", 2);
	name[81] = '\0';
	snprintf(text, sizeof(text), "{\"version\":1,\"successor\":\"%s\"}", name);
	assert_int_equal(decode(text, &r), 0);
	assert_int_equal(strlen(r.successor), 63);
	assert_memory_equal(r.successor, name, 63);
}

/*
 * Goal: how a term ended is read with care. Method: every value of clean and phase, also such as this
 * version does not know.
 */
static void test_incumbent_values(void **state)
{
	static const struct {
		const char *fields;
		enum tenure_clean clean;
		enum tenure_phase phase;
	} cases[] = {
		{"", TENURE_CLEAN_NO, TENURE_PHASE_NONE},
		{",\"clean\":false,\"phase\":\"promoting\"", TENURE_CLEAN_NO, TENURE_PHASE_PROMOTING},
		{",\"clean\":true,\"phase\":\"active\"", TENURE_CLEAN_YES, TENURE_PHASE_ACTIVE},
		{",\"clean\":\"fenced\",\"phase\":\"\"", TENURE_CLEAN_FENCED, TENURE_PHASE_NONE},
		{",\"clean\":\"true\",\"phase\":\"Active\"", TENURE_CLEAN_UNKNOWN, TENURE_PHASE_NONE},
		{",\"clean\":1,\"phase\":\"active and so much more\"", TENURE_CLEAN_UNKNOWN,
		 TENURE_PHASE_NONE},
		{",\"clean\":null", TENURE_CLEAN_UNKNOWN, TENURE_PHASE_NONE},
		{",\"clean\":{}", TENURE_CLEAN_UNKNOWN, TENURE_PHASE_NONE},
	};
	struct tenure_election_record r;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[256];

		snprintf(text, sizeof(text),
			 "{\"version\":1,\"incumbent\":{\"member\":\"a\",\"token\":\"9223372036854775807\"%s}"
			 "}",
			 cases[i].fields);
		assert_int_equal(decode(text, &r), 0);
		assert_int_equal(r.incumbent.token, INT64_MAX);
		assert_int_equal(r.incumbent.clean, cases[i].clean);
		assert_int_equal(r.incumbent.phase, cases[i].phase);
	}
}

/* Goal: the list of the eligible excludes and never opens by accident. Method: none, some, more than fit. */
static void test_eligible(void **state)
{
	struct tenure_election_record r;
	char text[4096];
	size_t used;

	(void)state;
	assert_int_equal(decode("{\"version\":1,\"eligible\":[]}", &r), 0);
	assert_true(tenure_election_eligible(&r, "anybody"));
	assert_int_equal(decode("{\"version\":1,\"eligible\":[\"app-10\",\"b\"]}", &r), 0);
	assert_true(tenure_election_eligible(&r, "app-10"));
	assert_true(tenure_election_eligible(&r, "b"));
	assert_false(tenure_election_eligible(&r, "app-1"));
	assert_false(tenure_election_eligible(&r, ""));
	assert_int_equal(decode("{\"version\":1,\"eligible\":[\"\"]}", &r), 0);
	assert_false(tenure_election_eligible(&r, "b"));

	used = (size_t)snprintf(text, sizeof(text), "{\"version\":1,\"eligible\":[\"m0\"");
	for (unsigned i = 1; i < 100; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, ",\"m%u\"", i);
	snprintf(text + used, sizeof(text) - used, "]}");
	assert_int_equal(decode(text, &r), 0);
	assert_int_equal(r.eligible_count, TENURE_ELIGIBLE_MAX);
	assert_true(tenure_election_eligible(&r, "m63"));
	assert_false(tenure_election_eligible(&r, "m64"));
}

/*
 * Goal: a broken history breaks nothing else. Method: terms of wrong types among good ones; no list at
 * all.
 */
static void test_history_is_lenient(void **state)
{
	struct tenure_election_record r;

	(void)state;
	assert_int_equal(decode("{\"version\":1,\"history\":\"lost\",\"transitions\":4}", &r), 0);
	assert_int_equal(r.history_count, 0);
	assert_int_equal(r.transitions, 4);
	assert_int_equal(decode("{\"version\":1,\"history\":[1,null,[],{\"token\":5},{\"member\":\"a\","
				"\"token\":\"5\"},"
				"{\"reason\":{}},{\"member\":\"b\",\"token\":\"6\"}]}",
				&r),
			 0);
	assert_int_equal(r.history_count, 2);
	assert_string_equal(r.history[0].member, "a");
	assert_int_equal(r.history[1].token, 6);
}

/*
 * Goal: taking office changes what it must and keeps the rest. Method: edit the full record, compare field
 * by field.
 */
static void test_take(void **state)
{
	struct tenure_election_record r;
	json_t *before = json_loads(FULL, 0, NULL), *after;
	char *text;

	(void)state;
	text = edit_and_decode(FULL, &take_edit, &r);
	assert_true(r.paused);
	assert_string_equal(r.successor, "");
	assert_int_equal(r.eligible_count, 2);
	assert_int_equal(r.transitions, 13);
	assert_int_equal(r.held, 4294967338);
	assert_int_equal(r.request, 7);
	assert_string_equal(r.incumbent.member, "db-b");
	assert_string_equal(r.incumbent.address, "10.0.0.2:5432");
	assert_int_equal(r.incumbent.token, 4294967400);
	assert_int_equal(r.incumbent.phase, TENURE_PHASE_PROMOTING);
	assert_int_equal(r.incumbent.clean, TENURE_CLEAN_NO);
	assert_string_equal(r.incumbent.since, "2026-05-06T07:08:09Z");
	assert_int_equal(r.history_count, 2);
	assert_string_equal(r.history[0].member, "db-c");
	assert_string_equal(r.history[1].member, "db-b");
	assert_int_equal(r.history[1].token, 4294967400);
	assert_string_equal(r.history[1].reason, "handoff");
	assert_string_equal(r.history[1].at, "2026-05-06T07:08:09Z");

	after = json_loads(text, 0, NULL);
	assert_true(json_equal(json_object_get(before, "future"), json_object_get(after, "future")));
	assert_null(json_object_get(json_object_get(after, "incumbent"), "extra"));
	assert_true(json_is_string(json_object_get(json_object_get(after, "incumbent"), "token")));
	json_decref(before);
	json_decref(after);
	free(text);
}

/*
 * Goal: a new or unreadable election gets a whole record. Method: take office on nothing and on rubbish;
 * every field is there.
 */
static void test_take_new(void **state)
{
	static const char *const texts[] = {"", "rubbish", "{\"version\":2,\"paused\":true}", "\xff\xfe",
					    "[1]"};
	static const char *const keys[] = {"version", "paused",	 "successor", "eligible", "transitions",
					   "held",    "request", "incumbent", "history"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct tenure_election_record r;
		char *text = edit_and_decode(texts[i], &take_edit, &r);
		json_t *root = json_loads(text, 0, NULL);

		assert_int_equal(json_object_size(root), sizeof(keys) / sizeof(keys[0]));
		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			assert_non_null(json_object_get(root, keys[k]));
		assert_false(r.paused);
		assert_int_equal(r.transitions, 1);
		assert_int_equal(r.history_count, 1);
		assert_string_equal(r.incumbent.member, "db-b");
		assert_int_equal(r.incumbent.clean, TENURE_CLEAN_NO);
		json_decref(root);
		free(text);
	}
}

/*
 * Goal: a whole term goes through the record. Method: take, active, clean, then the next one takes, 40
 * times.
 */
static void test_terms(void **state)
{
	struct tenure_election_record r;
	char *text = strdup("");
	json_t *root;

	(void)state;
	for (int64_t token = 100; token < 140; token++) {
		struct tenure_edit edit = take_edit;
		char *next;

		edit.token = token;
		next = edit_and_decode(text, &edit, &r);
		free(text);
		assert_int_equal(r.incumbent.phase, TENURE_PHASE_PROMOTING);

		edit.kind = TENURE_EDIT_ACTIVE;
		text = edit_and_decode(next, &edit, &r);
		free(next);
		assert_int_equal(r.incumbent.phase, TENURE_PHASE_ACTIVE);
		assert_int_equal(r.incumbent.clean, TENURE_CLEAN_NO);

		edit.kind = TENURE_EDIT_CLEAN;
		next = edit_and_decode(text, &edit, &r);
		free(text);
		assert_int_equal(r.incumbent.clean, TENURE_CLEAN_YES);
		assert_int_equal(r.incumbent.token, token);
		assert_string_equal(r.incumbent.member, "db-b");
		text = next;
	}
	root = json_loads(text, 0, NULL);
	assert_int_equal(json_array_size(json_object_get(root, "history")), TENURE_HISTORY_MAX);
	json_decref(root);
	assert_int_equal(r.transitions, 40);
	assert_int_equal(r.history_count, TENURE_HISTORY_MAX);
	assert_int_equal(r.history[0].token, 108);
	assert_int_equal(r.history[TENURE_HISTORY_MAX - 1].token, 139);
	free(text);
}

/* Goal: an operator's edits touch their own field and nothing else, whoever leads. Method: as for the small edits. */
static void test_operators_edits(void **state)
{
	static const char *const list[] = {"db-c", "db-d"};
	static const struct tenure_edit edits[] = {
		{.kind = TENURE_EDIT_PAUSE},
		{.kind = TENURE_EDIT_RESUME},
		{.kind = TENURE_EDIT_ELIGIBLE, .token = 4294967338, .eligible = list, .eligible_count = 2},
		{.kind = TENURE_EDIT_ELIGIBLE, .token = 4294967338},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
		json_t *wanted = json_loads(FULL, 0, NULL), *got;
		struct tenure_election_record r;
		char *text = edit_and_decode(FULL, &edits[i], &r);

		if (edits[i].kind == TENURE_EDIT_ELIGIBLE) {
			json_t *names = json_array();

			for (size_t j = 0; j < edits[i].eligible_count; j++)
				json_array_append_new(names, json_string(list[j]));
			json_object_set_new(wanted, "eligible", names);
			assert_int_equal(r.eligible_count, edits[i].eligible_count);
			assert_int_equal(tenure_election_eligible(&r, "db-x"), edits[i].eligible_count == 0);
		} else {
			json_object_set_new(wanted, "paused", json_boolean(edits[i].kind == TENURE_EDIT_PAUSE));
			assert_int_equal(r.paused, edits[i].kind == TENURE_EDIT_PAUSE);
		}
		got = json_loads(text, 0, NULL);
		assert_true(json_equal(wanted, got));
		json_decref(wanted);
		json_decref(got);
		free(text);
	}
}

/* Goal: an election that nobody has stood in can be paused; only its leader's list is taken. Method: no record; a token. */
static void test_operators_edits_apply(void **state)
{
	const struct tenure_edit pause = {.kind = TENURE_EDIT_PAUSE}, list = {.kind = TENURE_EDIT_ELIGIBLE, .token = 7};
	struct tenure_document *document, *edited;
	struct tenure_election_record r;
	size_t size;
	char *text;

	(void)state;
	assert_int_equal(tenure_document_edit(NULL, &pause, &edited, &r, &text, &size), 0);
	assert_true(r.paused && r.incumbent.token == 0);
	tenure_document_free(edited);
	free(text);
	assert_int_equal(tenure_document_parse(FULL, strlen(FULL), &document, &r), 0);
	assert_int_equal(tenure_document_edit(document, &list, &edited, &r, &text, &size), -ESTALE);
	tenure_document_free(document);
}

static const enum tenure_edit_kind small_edits[] = {TENURE_EDIT_ACTIVE, TENURE_EDIT_CLEAN, TENURE_EDIT_FENCED,
						    TENURE_EDIT_FORGET};
static const enum tenure_clean ends[] = {TENURE_CLEAN_NO, TENURE_CLEAN_YES, TENURE_CLEAN_FENCED, TENURE_CLEAN_YES};

enum { SMALL_EDITS = sizeof(small_edits) / sizeof(small_edits[0]) };

/*
 * Goal: the small edits touch their own fields and nothing else. Method: compare the JSON with these fields
 * put right by hand.
 */
static void test_small_edits(void **state)
{
	(void)state;
	for (size_t i = 0; i < SMALL_EDITS; i++) {
		const struct tenure_edit edit = {.kind = small_edits[i], .token = 4294967338};
		json_t *wanted = json_loads(FULL, 0, NULL), *incumbent = json_object_get(wanted, "incumbent"),
		       *got;
		struct tenure_election_record r;
		char *text = edit_and_decode(FULL, &edit, &r);

		if (edit.kind == TENURE_EDIT_CLEAN || edit.kind == TENURE_EDIT_FORGET)
			json_object_set_new(incumbent, "clean", json_true());
		if (edit.kind == TENURE_EDIT_FENCED)
			json_object_set_new(incumbent, "clean", json_string("fenced"));
		if (edit.kind == TENURE_EDIT_FORGET)
			json_object_set_new(wanted, "held", json_string(""));
		assert_int_equal(r.incumbent.clean, ends[i]);
		assert_int_equal(r.held, edit.kind == TENURE_EDIT_FORGET ? 0 : 4294967338);
		got = json_loads(text, 0, NULL);
		assert_true(json_equal(wanted, got));
		json_decref(wanted);
		json_decref(got);
		free(text);
	}
}

/*
 * Goal: an incumbent whose end is of an unknown kind can be fenced and forgotten. Method: both, on such a
 * record.
 */
static void test_unknown_end(void **state)
{
	(void)state;
	for (int fenced = 0; fenced < 2; fenced++) {
		const struct tenure_edit edit = {.kind = fenced ? TENURE_EDIT_FENCED : TENURE_EDIT_FORGET,
						 .token = 5};
		struct tenure_election_record r;
		char *text = edit_and_decode("{\"version\":1,\"incumbent\":{\"member\":\"a\",\"token\":\"5\","
					     "\"clean\":\"later\"}}",
					     &edit, &r);

		assert_int_equal(r.incumbent.clean, fenced ? TENURE_CLEAN_FENCED : TENURE_CLEAN_YES);
		assert_string_equal(r.incumbent.member, "a");
		free(text);
	}
}

/*
 * Goal: FORGET without a token answers for what cannot be read, and lifts a hold of which nobody is the
 * owner. Method: rubbish becomes a new record; a record without an incumbent loses only its hold; one with an
 * incumbent is not forgotten by the way.
 */
static void test_forget_without_token(void **state)
{
	static const char *const bad[] = {"", "rubbish", "{\"version\":2,\"paused\":true}",
					  "{\"version\":1,\"paused\":true,\"incumbent\":7}"};
	static const char nobody[] = "{\"version\":1,\"paused\":true,\"held\":\"7\",\"future\":[1],"
				     "\"transitions\":3,\"incumbent\":{\"extra\":1}}";
	const struct tenure_edit edit = {.kind = TENURE_EDIT_FORGET};
	struct tenure_election_record r;
	json_t *wanted = json_loads(nobody, 0, NULL), *got;
	char *text;
	size_t size;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		text = edit_and_decode(bad[i], &edit, &r);
		assert_nothing_known(&r, TENURE_CLEAN_YES);
		free(text);
	}
	text = edit_and_decode(nobody, &edit, &r);
	assert_int_equal(r.held, 0);
	assert_true(r.paused);
	assert_int_equal(r.incumbent.clean, TENURE_CLEAN_YES);
	json_object_set_new(wanted, "held", json_string(""));
	got = json_loads(text, 0, NULL);
	assert_true(json_equal(wanted, got));
	json_decref(wanted);
	json_decref(got);
	free(text);

	text = NULL;
	assert_int_equal(edit_text(FULL, strlen(FULL), &edit, &text, &size), -ESTALE);
	assert_null(text);
}

/*
 * Goal: nobody writes into another's term. Method: the small edits with other tokens, on records without an
 * incumbent, and on rubbish.
 */
static void test_stale_edits(void **state)
{
	static const char *const bad[] = {"", "rubbish", "{\"version\":2}",
					  "{\"version\":1,\"incumbent\":7}"};
	char *text = (char *)0x1;
	size_t size = 99;

	(void)state;
	for (size_t i = 0; i < SMALL_EDITS; i++) {
		struct tenure_edit edit = {.kind = small_edits[i], .token = 4294967337};

		assert_int_equal(edit_text(FULL, strlen(FULL), &edit, &text, &size), -ESTALE);
		edit.token = 4294967339;
		assert_int_equal(edit_text(FULL, strlen(FULL), &edit, &text, &size), -ESTALE);
		assert_int_equal(edit_text("{\"version\":1}", 13, &edit, &text, &size), -ESTALE);
		for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
			assert_int_equal(edit_text(bad[k], strlen(bad[k]), &edit, &text, &size),
					 edit.kind == TENURE_EDIT_FORGET ? -ESTALE : -EBADMSG);
	}
	assert_ptr_equal(text, (char *)0x1);
	assert_int_equal(size, 99);
}

/*
 * Goal: a record never outgrows its limit, and odd numbers in it do no harm. Method: a record nearly as
 * long as allowed; the highest count.
 */
static void test_take_limits(void **state)
{
	static char big[TENURE_RECORD_MAX];
	struct tenure_election_record r;
	char *text = NULL;
	size_t size = 0;

	(void)state;
	memset(big, 'x', sizeof(big));
	memcpy(big, "{\"version\":1,\"blob\":\"", 21);
	memcpy(big + sizeof(big) - 2, "\"}", 2);
	assert_int_equal(tenure_election_decode(big, sizeof(big), &r), 0);
	assert_int_equal(edit_text(big, sizeof(big), &take_edit, &text, &size), -EMSGSIZE);
	assert_null(text);

	text = edit_and_decode("{\"version\":1,\"transitions\":9223372036854775807,\"history\":3}",
			       &take_edit, &r);
	assert_int_equal(r.transitions, INT64_MAX);
	assert_int_equal(r.history_count, 1);
	free(text);
}

/*
 * Goal: text of our own that is no good UTF-8 does not break the record. Method: take office with odd and
 * missing strings.
 */
static void test_take_odd_text(void **state)
{
	const struct tenure_edit edit = {.kind = TENURE_EDIT_TAKE,
					 .token = 1,
					 .member = "m\xff\n\"\\",
					 .address = NULL,
					 .reason = "",
					 .at = "now"};
	struct tenure_election_record r;
	char *text = edit_and_decode("", &edit, &r);

	(void)state;
	assert_string_equal(r.incumbent.member, "m??\"\\");
	assert_string_equal(r.incumbent.address, "");
	free(text);
}

/*
 * Goal: a member record comes back as it was. Method: there and back, with and without a score, at the
 * limits of the numbers.
 */
static void test_member_round_trip(void **state)
{
	const struct tenure_member_record records[] = {
		{.member = "db-a"},
		{.member = "db-a",
		 .address = "10.0.0.1:5432",
		 .host = "alpha",
		 .pid = INT_MAX,
		 .boot_id = "01234567-89ab-cdef-fedc-ba9876543210",
		 .state = "standby",
		 .demoted_token = INT64_MAX,
		 .ready_for = 3,
		 .has_score = true,
		 .score = INT64_MIN,
		 .score_seq = INT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct tenure_member_record got;
		char *text;
		size_t size;

		assert_int_equal(tenure_member_encode(&records[i], &text, &size), 0);
		assert_int_equal(strlen(text), size);
		assert_int_equal(tenure_member_decode(text, size, &got), 0);
		assert_string_equal(got.member, records[i].member);
		assert_string_equal(got.address, records[i].address);
		assert_string_equal(got.host, records[i].host);
		assert_int_equal(got.pid, records[i].pid);
		assert_string_equal(got.boot_id, records[i].boot_id);
		assert_string_equal(got.state, records[i].state);
		assert_int_equal(got.demoted_token, records[i].demoted_token);
		assert_int_equal(got.ready_for, records[i].ready_for);
		assert_int_equal(got.has_score, records[i].has_score);
		assert_int_equal(got.score, records[i].score);
		assert_int_equal(got.score_seq, records[i].score_seq);
		free(text);
	}
}

/* Goal: the member record is the design's. Method: the exact text. */
static void test_member_text(void **state)
{
	const struct tenure_member_record r = {.member = "a",
					       .address = "b",
					       .host = "c",
					       .pid = 1,
					       .boot_id = "d",
					       .state = "standby",
					       .demoted_token = 4294967338};
	char *text;
	size_t size;

	(void)state;
	assert_int_equal(tenure_member_encode(&r, &text, &size), 0);
	assert_string_equal(text,
			    "{\"version\":1,\"member\":\"a\",\"address\":\"b\",\"host\":\"c\",\"pid\":1,"
			    "\"boot_id\":\"d\",\"state\":\"standby\",\"demoted_token\":\"4294967338\","
			    "\"ready_for\":0,\"score\":null,\"score_seq\":0}");
	free(text);
}

/*
 * Goal: a bad member record is refused and leaves the output alone. Method: wrong types, ranges, and no
 * bytes.
 */
static void test_member_unreadable(void **state)
{
	static const char *const texts[] = {
		"",
		"x",
		"[]",
		"{\"version\":1}",
		"{\"member\":\"a\"}",
		"{\"version\":2,\"member\":\"a\"}",
		"{\"version\":1,\"member\":\"\"}",
		"{\"version\":1,\"member\":7}",
		"{\"version\":1,\"member\":\"a\",\"address\":7}",
		"{\"version\":1,\"member\":\"a\",\"host\":[]}",
		"{\"version\":1,\"member\":\"a\",\"pid\":-1}",
		"{\"version\":1,\"member\":\"a\",\"pid\":2147483648}",
		"{\"version\":1,\"member\":\"a\",\"pid\":\"1\"}",
		"{\"version\":1,\"member\":\"a\",\"boot_id\":null}",
		"{\"version\":1,\"member\":\"a\",\"state\":1}",
		"{\"version\":1,\"member\":\"a\",\"demoted_token\":5}",
		"{\"version\":1,\"member\":\"a\",\"ready_for\":-1}",
		"{\"version\":1,\"member\":\"a\",\"score\":\"5\"}",
		"{\"version\":1,\"member\":\"a\",\"score\":1.5}",
		"{\"version\":1,\"member\":\"a\",\"score_seq\":{}}",
	};
	struct tenure_member_record r, untouched;

	(void)state;
	memset(&r, 0xa5, sizeof(r));
	untouched = r;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(tenure_member_decode(texts[i], strlen(texts[i]), &r), -EBADMSG);
	assert_memory_equal(&r, &untouched, sizeof(r));
}

/*
 * Goal: a candidate's data comes back; that of other clients is told apart. Method: there and back; what
 * kazoo and Curator write.
 */
static void test_candidate(void **state)
{
	static const char *const foreign[] = {"",
					      "db-a",
					      "5f0c6c9e",
					      "{}",
					      "{\"version\":1}",
					      "{\"id\":\"x\"}",
					      "{\"version\":1,\"member\":\"\"}",
					      "{\"version\":1,\"member\":[]}",
					      "{\"version\":1,\"member\":\"a\",\"address\":1}"};
	char member[TENURE_MEMBER_SIZE] = "kept", address[TENURE_ADDRESS_SIZE] = "kept", *text;
	size_t size;

	(void)state;
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		assert_int_equal(tenure_candidate_decode(foreign[i], strlen(foreign[i]), member, address),
				 -EBADMSG);
	assert_string_equal(member, "kept");
	assert_string_equal(address, "kept");

	assert_int_equal(tenure_candidate_encode("db-a", "[::1]:5432", &text, &size), 0);
	assert_string_equal(text, "{\"version\":1,\"member\":\"db-a\",\"address\":\"[::1]:5432\"}");
	assert_int_equal(tenure_candidate_decode(text, size, member, address), 0);
	assert_string_equal(member, "db-a");
	assert_string_equal(address, "[::1]:5432");
	free(text);
	assert_int_equal(tenure_candidate_encode("db-a", NULL, &text, &size), 0);
	assert_int_equal(tenure_candidate_decode(text, size, member, address), 0);
	assert_string_equal(address, "");
	free(text);
}

static void *counting_malloc(size_t size)
{
	if (++allocated == fail_at)
		return NULL;
	living++;
	return malloc(size);
}

static void counting_free(void *p)
{
	if (p)
		living--;
	free(p);
}

/*
 * Goal: without memory every function says so, at every allocation, and loses none. Method: let each
 * allocation of the JSON library fail in turn until a run goes through. Taking office must not
 * mistake want of memory for an unreadable record, which it would replace.
 */
static void test_no_memory(void **state)
{
	static struct tenure_election_record r;
	const struct tenure_member_record member = {.member = "db-a", .has_score = true};
	const struct tenure_edit clean_edit = {.kind = TENURE_EDIT_CLEAN, .token = 4294967338};
	const struct tenure_edit fenced_edit = {.kind = TENURE_EDIT_FENCED, .token = 4294967338};
	const struct tenure_edit forget_edit = {.kind = TENURE_EDIT_FORGET, .token = 4294967338};
	unsigned done = 0;

	(void)state;
	json_set_alloc_funcs(counting_malloc, counting_free);
	for (unsigned function = 0; function < 8; function++) {
		fail_at = 0;
		do {
			int result;
			char *text = NULL;
			size_t size;

			fail_at++;
			allocated = 0;
			living = 0;
			if (function == 0)
				result = tenure_election_decode(FULL, strlen(FULL), &r);
			else if (function == 1)
				result = edit_text(FULL, strlen(FULL), &take_edit, &text, &size);
			else if (function == 2)
				result = edit_text("", 0, &take_edit, &text, &size);
			else if (function == 3)
				result = edit_text(FULL, strlen(FULL), &clean_edit, &text, &size);
			else if (function == 4)
				result = edit_text(FULL, strlen(FULL), &fenced_edit, &text, &size);
			else if (function == 5)
				result = edit_text(FULL, strlen(FULL), &forget_edit, &text, &size);
			else if (function == 6)
				result = tenure_member_encode(&member, &text, &size);
			else
				result = tenure_candidate_encode("db-a", "b", &text, &size);
			assert_true(result == 0 || result == -ENOMEM);
			/*
			 * No edit loses a field on the quiet. (The library's own lexer may lose a
			 * character.)
			 */
			if (function > 0)
				assert_int_equal(result, allocated < fail_at ? 0 : -ENOMEM);
			if (result < 0)
				assert_null(text);
			if (function == 0 && result < 0)
				assert_nothing_known(&r, TENURE_CLEAN_UNKNOWN);
			assert_int_equal(living, 0);
			free(text);
		} while (allocated >= fail_at);
		assert_true(fail_at > 5);
		done++;
	}
	json_set_alloc_funcs(malloc, free);
	assert_int_equal(done, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_election_decode),
		cmocka_unit_test(test_election_new),
		cmocka_unit_test(test_election_unreadable),
		cmocka_unit_test(test_election_binary),
		cmocka_unit_test(test_election_damaged),
		cmocka_unit_test(test_text_is_cleaned),
		cmocka_unit_test(test_text_is_cut),
		cmocka_unit_test(test_incumbent_values),
		cmocka_unit_test(test_eligible),
		cmocka_unit_test(test_history_is_lenient),
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_take_new),
		cmocka_unit_test(test_terms),
		cmocka_unit_test(test_small_edits),
		cmocka_unit_test(test_operators_edits),
		cmocka_unit_test(test_operators_edits_apply),
		cmocka_unit_test(test_unknown_end),
		cmocka_unit_test(test_forget_without_token),
		cmocka_unit_test(test_stale_edits),
		cmocka_unit_test(test_take_limits),
		cmocka_unit_test(test_take_odd_text),
		cmocka_unit_test(test_member_round_trip),
		cmocka_unit_test(test_member_text),
		cmocka_unit_test(test_member_unreadable),
		cmocka_unit_test(test_candidate),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
