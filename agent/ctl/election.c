/* The commands that read an election from ZooKeeper itself: list, history. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/control.h"
#include "ctl/commands.h"
#include "ctl/output.h"
#include "ctl/queue_list.h"
#include "ctl/reader.h"
#include "ctl/target.h"
#include "tenure/record.h"

enum { READ_WAIT_MS = 10000 };

/* An election's record as it was found. */
struct found {
	struct target target;
	struct reader *reader;
	struct tenure_election_record record;
	const char *quality; /* of the record: "ok", "empty" or "unreadable" */
};

static int status_of(int rc)
{
	switch (rc) {
	case -EINVAL:
		return EXIT_CONFIGURATION;
	case -EACCES:
		return EXIT_REFUSED;
	case -ETIMEDOUT:
		return EXIT_UNREACHABLE;
	default:
		return EXIT_INTERNAL;
	}
}

static int judge_record(struct found *f, const struct reader_item *item)
{
	const char *shown = item->path;
	int rc;

	switch (item->result) {
	case PORT_OK:
		break;
	case PORT_NONODE:
		complain("no election at %s", shown);
		return EXIT_NO;
	case PORT_NOAUTH:
		complain("%s: ZooKeeper does not let us read it; the credentials come from the auth_file",
			 shown);
		return EXIT_REFUSED;
	default:
		complain("%s: %s", shown, port_error_text(item->rc));
		return EXIT_INTERNAL;
	}
	rc = tenure_election_decode(item->data != NULL ? item->data : "", item->size, &f->record);
	f->quality = rc == 0 ? "ok" : rc == -ENODATA ? "empty" : "unreadable";
	return EXIT_YES;
}

/* Finds the election and reads its record. Returns an exit status; found_clear in any case. */
static int find(const struct ctl_options *o, struct found *f)
{
	struct reader_config config = {.wait_ms = o->wait_ms > 0 ? o->wait_ms : READ_WAIT_MS};
	struct reader_item item = {.children = false};
	int status = target_find(o, &f->target), rc;

	if (status != EXIT_YES)
		return status;
	config.servers = f->target.config->zookeeper.list;
	config.server_count = f->target.config->zookeeper.count;
	config.auth_file = f->target.auth_file;
	rc = reader_open(&config, &f->reader);
	if (rc < 0)
		return status_of(rc);
	snprintf(item.path, sizeof(item.path), "%s", f->target.path);
	rc = reader_read(f->reader, &item, 1);
	status = rc < 0 ? status_of(rc) : judge_record(f, &item);
	reader_item_clear(&item);
	return status;
}

static void found_clear(struct found *f)
{
	reader_close(f->reader);
	target_clear(&f->target);
}

/* Text that may be missing: null rather than "". */
static json_t *text_or_null(const char *text)
{
	return text[0] != '\0' ? json_string(text) : json_null();
}

/* Tokens do not fit a double: text in JSON. */
static json_t *token_or_null(int64_t token)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, token);
	return token != 0 ? json_string(text) : json_null();
}

static json_t *describe_incumbent(const struct tenure_incumbent *i)
{
	static const char *const phases[] = {"none", "promoting", "active"};
	static const char *const cleans[] = {NULL, "no", "yes", "fenced"};

	if (i->member[0] == '\0' && i->token == 0)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:s, s:s?, s:o}", "member", text_or_null(i->member), "address",
			 text_or_null(i->address), "token", token_or_null(i->token), "phase",
			 phases[i->phase], "clean", cleans[i->clean], "since", text_or_null(i->since));
}

static json_t *describe_record(const struct found *f)
{
	const struct tenure_election_record *r = &f->record;
	json_t *eligible = json_array();

	for (size_t i = 0; i < r->eligible_count; i++)
		json_array_append_new(eligible, json_string(r->eligible[i]));
	return json_pack("{s:s, s:s, s:b, s:o, s:o, s:o, s:I, s:o}", "path", f->target.path, "record",
			 f->quality, "paused", r->paused, "eligible", eligible, "successor",
			 text_or_null(r->successor), "held", token_or_null(r->held), "transitions",
			 (json_int_t)r->transitions, "incumbent", describe_incumbent(&r->incumbent));
}

static void print_incumbent(const json_t *incumbent)
{
	char member[OUTPUT_CELL_SIZE], address[OUTPUT_CELL_SIZE], token[OUTPUT_CELL_SIZE];
	char phase[OUTPUT_CELL_SIZE], clean[OUTPUT_CELL_SIZE], since[OUTPUT_CELL_SIZE];

#define CELL(name) output_cell(json_object_get(incumbent, #name), name, sizeof(name))
	output_line("incumbent", "%s  %s", CELL(member), CELL(address));
	output_line("token", "%s", CELL(token));
	output_line("phase", "%s since %s", CELL(phase), CELL(since));
	output_line("left cleanly", "%s", CELL(clean));
#undef CELL
}

static void print_field(const json_t *answer, const char *label, const char *key)
{
	char cell[OUTPUT_CELL_SIZE];

	output_line(label, "%s", output_cell(json_object_get(answer, key), cell, sizeof(cell)));
}

static void print_list(const json_t *answer)
{
	static const struct output_column columns[] = {
		{"POSITION", "position"}, {"LEADER", "leader"}, {"MEMBER", "member"}, {"ADDRESS", "address"},
		{"TOKEN", "token"},	  {"STATE", "state"},	{"ZNODE", "znode"},
	};
	/* Those beside the queue stand below it, without a position. */
	json_t *rows = json_copy(json_object_get(answer, "candidates"));
	json_int_t left_out = json_integer_value(json_object_get(answer, "left_out"));
	json_int_t strangers = json_integer_value(json_object_get(answer, "strangers"));
	char cell[OUTPUT_CELL_SIZE];

	puts(output_cell(json_object_get(answer, "path"), cell, sizeof(cell)));
	print_field(answer, "record", "record");
	print_incumbent(json_object_get(answer, "incumbent"));
	print_field(answer, "paused", "paused");
	if (json_array_size(json_object_get(answer, "eligible")) > 0)
		print_field(answer, "eligible", "eligible");
	else
		output_line("eligible", "everybody");
	print_field(answer, "successor", "successor");
	print_field(answer, "held", "held");
	print_field(answer, "transitions", "transitions");
	putchar('\n');
	json_array_extend(rows, json_object_get(answer, "members"));
	if (json_array_size(rows) > 0)
		output_table(rows, columns, sizeof(columns) / sizeof(columns[0]));
	else
		puts("nobody is in the queue");
	json_decref(rows);
	if (left_out > 0)
		printf("%" JSON_INTEGER_FORMAT " more were left out\n", left_out);
	if (strangers > 0)
		printf("%" JSON_INTEGER_FORMAT " znodes of another shape in the queue\n", strangers);
}

int command_list(const struct ctl_options *o)
{
	struct found f = {.quality = "empty"};
	json_t *answer = NULL;
	int status = find(o, &f), rc;

	if (status != EXIT_YES)
		goto out;
	answer = describe_record(&f);
	rc = queue_list(f.reader, f.target.path, &f.record, answer);
	if (rc < 0)
		status = status_of(rc);
	else if (o->json)
		status = output_json(answer);
	else
		print_list(answer);
out:
	json_decref(answer);
	found_clear(&f);
	return status;
}

static json_t *describe_history(const struct tenure_election_record *r)
{
	json_t *terms = json_array();

	for (size_t i = 0; i < r->history_count; i++) {
		const struct tenure_term *term = &r->history[i];

		json_array_append_new(terms,
				      json_pack("{s:o, s:o, s:o, s:o}", "token", token_or_null(term->token),
						"member", text_or_null(term->member), "reason",
						text_or_null(term->reason), "at", text_or_null(term->at)));
	}
	return terms;
}

int command_history(const struct ctl_options *o)
{
	static const struct output_column columns[] = {
		{"TOKEN", "token"}, {"MEMBER", "member"}, {"REASON", "reason"}, {"AT", "at"}};
	struct found f = {.quality = "empty"};
	json_t *terms = NULL;
	int status = find(o, &f);

	if (status != EXIT_YES)
		goto out;
	if (strcmp(f.quality, "unreadable") == 0) {
		complain("%s: its data is no election record", f.target.path);
		status = EXIT_UNKNOWN;
		goto out;
	}
	terms = describe_history(&f.record);
	if (o->json)
		status = output_json(terms);
	else if (json_array_size(terms) > 0)
		output_table(terms, columns, sizeof(columns) / sizeof(columns[0]));
	else
		puts("nobody has led yet");
out:
	json_decref(terms);
	found_clear(&f);
	return status;
}
