/* A command's question to the agent on this host. See ask.h. */
#include "ctl/ask.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/control.h"
#include "ctl/output.h"
#include "tenure/limits.h"

json_t *ask_request(const struct ctl_options *o)
{
	json_t *request = json_pack("{s:s}", "command", o->command);

	if (o->count > 0 && json_object_set_new(request, "election", json_string(o->arguments[0])) < 0) {
		json_decref(request);
		return NULL;
	}
	return request;
}

int ask_agent(const struct ctl_options *o, json_t *request, struct client_call *call, json_t **reply)
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

static void show_progress(void *context, const char *step, int64_t elapsed_ms)
{
	(void)context;
	output_progress(step, elapsed_ms);
}

int ask_and_wait(const struct ctl_options *o, json_t *request, struct client_call *call, json_t **reply)
{
	int status;

	if (isatty(STDERR_FILENO)) {
		call->progress = show_progress;
		output_progress("asking the agent", 0);
	}
	status = ask_agent(o, request, call, reply);
	output_progress_end();
	if (status == EXIT_TRY_AGAIN)
		complain("what was asked goes on all the same: see tenurectl status");
	return status;
}
