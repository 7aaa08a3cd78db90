/* The command that has the agent on this host executed anew. */
#include "common/control.h"
#include "ctl/ask.h"
#include "ctl/client.h"
#include "ctl/commands.h"
#include "ctl/output.h"

/* Takes the reply. Returns EXIT_YES when it is "ok", or an exit status after having said why not. */
static int judge(json_t *reply)
{
	int status = json_is_true(json_object_get(reply, "ok")) ? EXIT_YES : client_refused(reply);

	json_decref(reply);
	return status;
}

static int say(const struct ctl_options *o, int64_t took_ms)
{
	json_t *answer;
	int status;

	if (!o->json) {
		printf("the agent has restarted in %lld ms\n", (long long)took_ms);
		return EXIT_YES;
	}
	answer = json_pack("{s:I}", "took_ms", (json_int_t)took_ms);
	status = output_json(answer);
	json_decref(answer);
	return status;
}

/* First until the agent is about to do it, then until the next image answers. */
int command_restart(const struct ctl_options *o)
{
	struct client_call asking = {.wait_ms = ASK_CHANGE_WAIT_MS}, looking = {.wait_ms = ASK_CHANGE_WAIT_MS};
	int64_t start_ms;
	json_t *reply = NULL;
	int status = ask_and_wait(o, ask_request(o), &asking, &reply);

	if (status == EXIT_YES)
		status = judge(reply);
	if (status != EXIT_YES)
		return status;
	start_ms = client_now_ms();
	status = ask_and_wait(o, json_pack("{s:s}", "command", "status"), &looking, &reply);
	if (status == EXIT_YES)
		status = judge(reply);
	return status == EXIT_YES ? say(o, client_now_ms() - start_ms) : status;
}
