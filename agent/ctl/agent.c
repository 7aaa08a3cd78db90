/* The commands that ask the agent on this host: status, is-leader, resign. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/control.h"
#include "ctl/client.h"
#include "ctl/commands.h"
#include "ctl/output.h"
#include "ctl/status.h"
#include "ctl/text.h"
#include "tenure/limits.h"

enum {
	ANSWER_WAIT_MS = 5000,
	RESIGN_WAIT_MS = 90000,
};

static json_t *make_request(const struct ctl_options *o)
{
	json_t *request = json_pack("{s:s}", "command", o->command);

	if (o->count > 0 && json_object_set_new(request, "election", json_string(o->arguments[0])) < 0) {
		json_decref(request);
		return NULL;
	}
	return request;
}

/* Asks the agent. Returns an exit status; only with EXIT_YES there is a *REPLY. */
static int ask(const struct ctl_options *o, json_t *request, struct client_call *call, json_t **reply)
{
	char *socket = NULL;
	int status, rc;

	if (request == NULL || (o->count > 0 && strlen(o->arguments[0]) >= TENURE_ELECTION_SIZE)) {
		complain("%s: not the name of an election", o->count > 0 ? o->arguments[0] : o->command);
		status = EXIT_USAGE;
		goto out;
	}
	status = ctl_options_socket(o, &socket);
	if (status != EXIT_YES)
		goto out;
	call->socket = socket;
	call->request = request;
	call->wait_ms = o->wait_ms > 0 ? o->wait_ms : call->wait_ms;
	rc = client_ask(call, reply);
	if (rc == -EINVAL)
		status = EXIT_USAGE;
	else if (rc == -ETIMEDOUT)
		status = EXIT_TRY_AGAIN;
	else if (rc < 0)
		status = rc == -ENOMEM ? EXIT_INTERNAL : EXIT_UNREACHABLE;
out:
	free(socket);
	json_decref(request);
	return status;
}

int command_status(const struct ctl_options *o)
{
	struct client_call call = {.wait_ms = ANSWER_WAIT_MS};
	json_t *reply = NULL, *found;
	int status = ask(o, make_request(o), &call, &reply);

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
	struct client_call call = {.wait_ms = ANSWER_WAIT_MS};
	int64_t start_ms = client_now_ms(), left_ms;
	json_t *reply = NULL;
	const char *token;
	int status = ask(o, make_request(o), &call, &reply);

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

static void show_progress(void *context, const char *step, int64_t elapsed_ms)
{
	(void)context;
	output_progress(step, elapsed_ms);
}

static int print_resigned(const struct ctl_options *o, const json_t *reply)
{
	json_t *token = json_object_get(reply, "token"), *took = json_object_get(reply, "took_ms");
	char cell[OUTPUT_CELL_SIZE], span[OUTPUT_CELL_SIZE];
	json_t *answer;
	int status;

	if (!o->json) {
		printf("gave up token %s after %s\n", output_cell(token, cell, sizeof(cell)),
		       output_span(took, span, sizeof(span)));
		return EXIT_YES;
	}
	answer = json_pack("{s:O?, s:O?}", "token", token, "took_ms", took);
	status = output_json(answer);
	json_decref(answer);
	return status;
}

int command_resign(const struct ctl_options *o)
{
	struct client_call call = {.wait_ms = RESIGN_WAIT_MS};
	json_t *request = make_request(o), *reply = NULL;
	int status;

	if (json_object_set_new(request, "force", json_boolean(o->force)) < 0) {
		json_decref(request);
		request = NULL;
	}
	if (isatty(STDERR_FILENO)) {
		call.progress = show_progress;
		output_progress("asking the agent", 0);
	}
	status = ask(o, request, &call, &reply);
	output_progress_end();
	if (status == EXIT_TRY_AGAIN)
		complain("what was asked goes on all the same: see tenurectl status");
	if (status != EXIT_YES)
		return status;
	status =
		json_is_true(json_object_get(reply, "ok")) ? print_resigned(o, reply) : client_refused(reply);
	json_decref(reply);
	return status;
}
