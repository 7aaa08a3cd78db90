/* The status of an agent for people. */
#include "ctl/status.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ctl/output.h"

/* A field as a cell in a buffer of its own, so that a line may have several. */
struct cell {
	char text[OUTPUT_CELL_SIZE];
};

static const char *text_of(const json_t *object, const char *key, struct cell *c)
{
	return output_cell(json_object_get(object, key), c->text, sizeof(c->text));
}

static const char *span_of(const json_t *object, const char *key, struct cell *c)
{
	return output_span(json_object_get(object, key), c->text, sizeof(c->text));
}

/* An instant of the wall clock: as it came when it is text, else from milliseconds. */
static const char *instant_of(const json_t *object, const char *key, struct cell *c)
{
	const json_t *value = json_object_get(object, key);
	time_t seconds = (time_t)(json_integer_value(value) / 1000);
	struct tm parts;

	if (!json_is_integer(value) || gmtime_r(&seconds, &parts) == NULL ||
	    strftime(c->text, sizeof(c->text), "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		return output_cell(value, c->text, sizeof(c->text));
	return c->text;
}

/* WORD when the field is true, OTHERWISE when false, "-" when it is not known. */
static const char *word_of(const json_t *object, const char *key, const char *word, const char *otherwise)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_boolean(value))
		return "-";
	return json_is_true(value) ? word : otherwise;
}

static void print_zookeeper(const json_t *zk)
{
	struct cell a, b;

	output_line("zookeeper", "%s  %s", text_of(zk, "state", &a), text_of(zk, "server", &b));
	output_line("session", "%s  timeout %s", text_of(zk, "session", &a),
		    span_of(zk, "session_timeout_ms", &b));
	output_line("last commit", "%s ago", span_of(zk, "last_commit_age_ms", &a));
	output_line("reconnects", "%s", text_of(zk, "reconnects", &a));
}

static void print_hook(const json_t *hook)
{
	struct cell name, how, took, at;
	const json_t *signal = json_object_get(hook, "signal");

	if (!json_is_object(hook)) {
		output_line("last hook", "-");
		return;
	}
	if (json_is_true(json_object_get(hook, "timed_out")))
		snprintf(how.text, sizeof(how.text), "ran out of time");
	else if (json_is_integer(signal) && json_integer_value(signal) != 0)
		snprintf(how.text, sizeof(how.text), "signal %" JSON_INTEGER_FORMAT,
			 json_integer_value(signal));
	else
		snprintf(how.text, sizeof(how.text), "exit %.200s", text_of(hook, "exit", &name));
	output_line("last hook", "%s  %s  %s  at %s", text_of(hook, "name", &name), how.text,
		    span_of(hook, "ms", &took), instant_of(hook, "at", &at));
}

static void print_election(const char *name, const json_t *e)
{
	const char *state = json_string_value(json_object_get(e, "state"));
	bool leads = state != NULL && strcmp(state, "active") == 0; /* "ready" is said of a standby */
	json_t *title = json_string(name);
	struct cell a, b, c;

	printf("\n%s\n", output_cell(title, a.text, sizeof(a.text)));
	json_decref(title);
	output_line("state", "%s  since %s  %s", text_of(e, "state", &a), instant_of(e, "since", &b),
		    text_of(e, "reason", &c));
	output_line("leader", "%s  %s", text_of(e, "leader", &a), text_of(e, "leader_address", &b));
	output_line("token", "%s", text_of(e, "token", &a));
	output_line("lease left", "%s", span_of(e, "lease_ms", &a));
	output_line("hold left", "%s", span_of(e, "hold_ms", &a));
	output_line("position", "%s of %s", text_of(e, "position", &a), text_of(e, "members", &b));
	output_line("health", "%s%s%s", word_of(e, "healthy", "healthy", "not healthy"), leads ? "" : "  ",
		    leads ? "" : word_of(e, "ready", "ready", "not ready"));
	output_line("candidate", "%s  %s  %s", text_of(e, "candidate", &a),
		    word_of(e, "eligible", "eligible", "not eligible"),
		    word_of(e, "paused", "paused", "not paused"));
	if (json_is_string(json_object_get(e, "blocked")))
		output_line("blocked", "%s", text_of(e, "blocked", &a));
	output_line("token floor", "%s", text_of(e, "token_floor", &a));
	print_hook(json_object_get(e, "last_hook"));
}

void status_print(const json_t *status)
{
	json_t *elections = json_object_get(status, "elections");
	struct cell a, b, c, d;
	const char *name;
	json_t *election;

	puts(text_of(status, "member", &a));
	output_line("agent", "version %s  pid %s  elector %s", text_of(status, "version", &b),
		    text_of(status, "pid", &c), text_of(status, "elector_pid", &d));
	print_zookeeper(json_object_get(status, "zookeeper"));
	json_object_foreach(elections, name, election) print_election(name, election);
}
