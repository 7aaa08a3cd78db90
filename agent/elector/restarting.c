/* An operator's restart. See restarting.h. */
#include "elector/restarting.h"

#include "common/control.h"
#include "common/log.h"
#include "elector/control.h"
#include "elector/http.h"
#include "elector/shell.h"

void restarting_start(struct shell *shell, struct client *client)
{
	struct message m = {.type = MESSAGE_RESTART};

	if (shell->restart_asked) {
		client_refuse(client, EXIT_TRY_AGAIN, "a restart is under way");
		return;
	}
	if (shell->orphan) {
		client_refuse(client, EXIT_TRY_AGAIN, "the agent stops");
		return;
	}
	log_info(NULL, "asked to restart the agent", " ");
	client_wait(client);
	shell->restart_asked = true;
	shell->restart_client = client;
	upward_put(shell, &m);
}

void restarting_answer(struct shell *shell, const struct message *m)
{
	struct client *client = shell->restart_client;

	shell->restart_asked = false;
	shell->restart_client = NULL;
	if (m->u.restarts.refused) {
		client_refuse(client, EXIT_REFUSED, "%s; see the log", m->u.restarts.why);
		return;
	}
	control_hold(shell->control);
	http_hold(shell->http);
	client_reply(client, json_pack("{s:b}", "restarts", 1));
}

void restarting_forget(struct shell *shell, const struct client *client)
{
	if (shell->restart_client == client)
		shell->restart_client = NULL;
}
