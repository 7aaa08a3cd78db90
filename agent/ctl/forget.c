/* forget: of a leader that has not left cleanly, or of the token floor. Asks first. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/control.h"
#include "ctl/ask.h"
#include "ctl/commands.h"
#include "ctl/output.h"

enum { REPLY_SIZE = 64 }; /* bytes of what a person types */

/* What the agent may find, as a question and as a result; both are given the member and the token. */
static const struct finding {
	const char *name;
	const char *question, *result;
	const char *danger;
	bool names_token; /* only */
} findings[] = {
	{"unclean", "Forget that %s (token %s) has not left cleanly?", "forgot that %s (token %s) had not left cleanly\n",
	 "that its service is dead", false},
	{"held", "Forget that %s (token %s) keeps its office through a pause?",
	 "forgot that %s (token %s) kept its office through a pause\n", "that its service is dead", false},
	{"unreadable", "Forget the election record, which cannot be read?",
	 "forgot the election record, which could not be read\n", "that no member's service is in office", false},
	{"floor", "Forget the highest token seen, %s?", "forgot the highest token seen, %s\n",
	 "that the ensemble has lost its data and no leader of before is left", true},
};

static const struct finding *find(const json_t *reply)
{
	const char *name = json_string_value(json_object_get(reply, "found"));

	for (size_t i = 0; name != NULL && i < sizeof(findings) / sizeof(findings[0]); i++)
		if (strcmp(findings[i].name, name) == 0)
			return &findings[i];
	return NULL;
}

static void say(FILE *stream, const struct finding *finding, const char *format, const json_t *reply)
{
	char member[OUTPUT_CELL_SIZE], token[OUTPUT_CELL_SIZE];

	output_cell(json_object_get(reply, "member"), member, sizeof(member));
	output_cell(json_object_get(reply, finding->names_token ? "token_floor" : "token"), token, sizeof(token));
	if (finding->names_token)
		fprintf(stream, format, token);
	else
		fprintf(stream, format, member, token);
}

static int print_result(const struct ctl_options *o, json_t *reply)
{
	const struct finding *finding = find(reply);

	if (o->json) {
		json_object_del(reply, "ok");
		return output_json(reply);
	}
	if (finding == NULL)
		puts("nothing to forget");
	else
		say(stdout, finding, finding->result, reply);
	return EXIT_YES;
}

/* Whether a person at the terminal says yes to what REPLY has found. */
static bool confirmed(const struct finding *finding, const json_t *reply)
{
	char line[REPLY_SIZE];

	say(stderr, finding, finding->question, reply);
	fprintf(stderr, " Only if you are SURE %s. [y/N] ", finding->danger);
	fflush(stderr);
	return fgets(line, sizeof(line), stdin) != NULL && (strcmp(line, "y\n") == 0 || strcmp(line, "yes\n") == 0);
}

/* INCUMBENT: the token of the leader that was asked about; NULL: any. Returns as ask_agent. */
static int ask(const struct ctl_options *o, bool look, const char *incumbent, json_t **reply)
{
	struct client_call call = {.wait_ms = look ? ASK_ANSWER_WAIT_MS : ASK_CHANGE_WAIT_MS};
	json_t *request = ask_request(o);
	int status;

	if (json_object_set_new(request, "token", json_boolean(o->token)) < 0 ||
	    json_object_set_new(request, "look", json_boolean(look)) < 0 ||
	    (incumbent != NULL && json_object_set_new(request, "incumbent", json_string(incumbent)) < 0)) {
		json_decref(request);
		request = NULL;
	}
	status = look ? ask_agent(o, request, &call, reply) : ask_and_wait(o, request, &call, reply);
	if (status == EXIT_YES && !json_is_true(json_object_get(*reply, "ok"))) {
		status = client_refused(*reply);
		json_decref(*reply);
		*reply = NULL;
	}
	return status;
}

/* Shows what there is to be forgotten and asks. *DONE: there is nothing more to do. */
static int ask_first(const struct ctl_options *o, json_t **shown, bool *done)
{
	const struct finding *finding;
	int status;

	*done = true;
	if (!isatty(STDIN_FILENO)) {
		complain("forget asks first, and there is no terminal; --force does not ask");
		return EXIT_REFUSED;
	}
	status = ask(o, true, NULL, shown);
	if (status != EXIT_YES)
		return status;
	finding = find(*shown);
	if (finding == NULL)
		return print_result(o, *shown);
	if (!confirmed(finding, *shown)) {
		complain("nothing is forgotten");
		return EXIT_NO;
	}
	*done = false;
	return EXIT_YES;
}

int command_forget(const struct ctl_options *o)
{
	json_t *shown = NULL, *reply = NULL;
	const char *incumbent = NULL;
	int status = EXIT_YES;
	bool done = false;

	if (!o->force)
		status = ask_first(o, &shown, &done);
	if (!done) {
		/* What was answered for is that leader, and no later one. */
		if (shown != NULL && !o->token) {
			incumbent = json_string_value(json_object_get(shown, "token"));
			incumbent = incumbent != NULL ? incumbent : "0";
		}
		status = ask(o, false, incumbent, &reply);
		if (status == EXIT_YES)
			status = print_result(o, reply);
	}
	json_decref(shown);
	json_decref(reply);
	return status;
}
