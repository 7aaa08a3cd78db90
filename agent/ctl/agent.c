/* The commands that ask the agent on this host: status, is-leader, resign, recover. */
#include <string.h>

#include "common/control.h"
#include "ctl/ask.h"
#include "ctl/client.h"
#include "ctl/commands.h"
#include "ctl/output.h"
#include "ctl/status.h"
#include "ctl/text.h"

int command_status(const struct ctl_options *o)
{
	struct client_call call = {.wait_ms = ASK_ANSWER_WAIT_MS};
	json_t *reply = NULL, *found;
	int status = ask_agent(o, ask_request(o), &call, &reply);

	if (status != EXIT_YES)
		return status == EXIT_TRY_AGAIN ? EXIT_UNREACHABLE : status;
	found = json_object_get(reply, "status");
	if (!json_is_true(json_object_get(reply, "ok"))) {
		status = client_refused(reply);
	} else if (!json_is_object(found)) {
		complain("the answer of the agent has no status");
		status = EXIT_UNREACHABLE;
	} else if (o->json) {
		status = output_json(found);
	} else {
		status_print(found);
	}
	json_decref(reply);
	return status;
}

/* A "yes" counts only with a token and while its lease, less the time the answer took, is not over. */
static int judge_leader(const json_t *reply, int64_t elapsed_ms, const char **token, int64_t *left_ms)
{
	const json_t *leader = json_object_get(reply, "leader");
	const json_t *lease = json_object_get(reply, "lease_ms");

	*token = NULL;
	*left_ms = 0;
	if (json_is_false(leader))
		return EXIT_NO;
	*token = json_string_value(json_object_get(reply, "token"));
	if (!json_is_true(leader) || *token == NULL || !json_is_integer(lease)) {
		complain("the agent does not know");
		return EXIT_UNKNOWN;
	}
	*left_ms = json_integer_value(lease);
	if (*left_ms > elapsed_ms) {
		*left_ms -= elapsed_ms;
		return EXIT_YES;
	}
	complain("the agent's answer is older than the lease that it speaks of");
	return EXIT_UNKNOWN;
}

static int print_leader(const struct ctl_options *o, int status, const char *token, int64_t left_ms)
{
	char clean[OUTPUT_CELL_SIZE];
	json_t *answer;
	int written;

	if (!o->json && status == EXIT_YES) {
		text_clean(token, strlen(token), clean, sizeof(clean));
		printf("%s %lld\n", clean, (long long)left_ms);
	}
	if (!o->json || status == EXIT_UNKNOWN)
		return status;
	if (status == EXIT_YES)
		answer = json_pack("{s:b, s:s, s:I}", "leader", 1, "token", token, "lease_ms",
				   (json_int_t)left_ms);
	else
		answer = json_pack("{s:b, s:n, s:n}", "leader", 0, "token", "lease_ms");
	written = output_json(answer);
	json_decref(answer);
	return written == EXIT_YES ? status : EXIT_UNKNOWN;
}

int command_is_leader(const struct ctl_options *o)
{
	struct client_call call = {.wait_ms = ASK_ANSWER_WAIT_MS};
	int64_t start_ms = client_now_ms(), left_ms;
	json_t *reply = NULL;
	const char *token;
	int status = ask_agent(o, ask_request(o), &call, &reply);

	if (status == EXIT_USAGE || status == EXIT_CONFIGURATION)
		return status;
	/* Whatever else keeps the answer from us: exit status 1 would say that somebody else may lead. */
	if (status != EXIT_YES)
		return EXIT_UNKNOWN;
	if (json_is_true(json_object_get(reply, "ok"))) {
		status = judge_leader(reply, client_now_ms() - start_ms, &token, &left_ms);
		status = print_leader(o, status, token, left_ms);
	} else {
		status = client_refused(reply) == EXIT_USAGE ? EXIT_USAGE : EXIT_UNKNOWN;
	}
	json_decref(reply);
	return status;
}

/* A term that has ended: WORDS say how, for people. */
static int print_left(const struct ctl_options *o, const json_t *reply, const char *words)
{
	json_t *token = json_object_get(reply, "token"), *took = json_object_get(reply, "took_ms");
	char cell[OUTPUT_CELL_SIZE], span[OUTPUT_CELL_SIZE];
	json_t *answer;
	int status;

	if (!o->json) {
		printf("%s %s after %s\n", words, output_cell(token, cell, sizeof(cell)),
		       output_span(took, span, sizeof(span)));
		return EXIT_YES;
	}
	answer = json_pack("{s:O?, s:O?}", "token", token, "took_ms", took);
	status = output_json(answer);
	json_decref(answer);
	return status;
}

/* Asks for what ends a term, and waits for that. */
static int leave(const struct ctl_options *o, json_t *request, const char *words)
{
	struct client_call call = {.wait_ms = ASK_CHANGE_WAIT_MS};
	json_t *reply = NULL;
	int status = ask_and_wait(o, request, &call, &reply);

	if (status != EXIT_YES)
		return status;
	status = json_is_true(json_object_get(reply, "ok")) ? print_left(o, reply, words) :
							      client_refused(reply);
	json_decref(reply);
	return status;
}

int command_resign(const struct ctl_options *o)
{
	json_t *request = ask_request(o);

	if (json_object_set_new(request, "force", json_boolean(o->force)) < 0) {
		json_decref(request);
		request = NULL;
	}
	return leave(o, request, "gave up token");
}

/* Who leads now, and how long that took. */
static int print_successor(const struct ctl_options *o, json_t *reply)
{
	char leader[OUTPUT_CELL_SIZE], token[OUTPUT_CELL_SIZE], span[OUTPUT_CELL_SIZE];

	if (o->json) {
		json_object_del(reply, "ok");
		return output_json(reply);
	}
	printf("%s leads with token %s after %s\n", output_cell(json_object_get(reply, "leader"), leader, sizeof(leader)),
	       output_cell(json_object_get(reply, "token"), token, sizeof(token)),
	       output_span(json_object_get(reply, "took_ms"), span, sizeof(span)));
	return EXIT_YES;
}

int command_switchover(const struct ctl_options *o)
{
	struct client_call call = {.wait_ms = ASK_CHANGE_WAIT_MS};
	json_t *request, *reply = NULL;
	int status;

	if (o->to == NULL || o->to[0] == '\0') {
		complain("switchover needs --to MEMBER");
		return EXIT_USAGE;
	}
	request = ask_request(o);
	if (json_object_set_new(request, "to", json_string(o->to)) < 0) {
		json_decref(request);
		complain("--to: not the name of a member");
		return EXIT_USAGE;
	}
	status = ask_and_wait(o, request, &call, &reply);
	if (status != EXIT_YES)
		return status;
	status = json_is_true(json_object_get(reply, "ok")) ? print_successor(o, reply) : client_refused(reply);
	json_decref(reply);
	return status;
}

int command_recover(const struct ctl_options *o)
{
	return leave(o, ask_request(o), "out of office with token");
}
