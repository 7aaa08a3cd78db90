/* The requests on the control socket. */
#include "elector/commands.h"

#include <stdio.h>
#include <string.h>

#include "common/control.h"
#include "elector/contest.h"
#include "elector/control.h"
#include "elector/control_line.h"
#include "elector/facts.h"
#include "elector/instant.h"
#include "elector/restarting.h"
#include "elector/shell.h"

/* The election of a request; says what is wrong when there is none. */
static struct contest *find_election(struct shell *shell, struct client *client, const char *name)
{
	if (!name[0] && shell->contest_count == 1)
		return &shell->contests[0];
	for (size_t i = 0; name[0] && i < shell->contest_count; i++)
		if (strcmp(shell->contests[i].config->name, name) == 0)
			return &shell->contests[i];
	if (name[0])
		client_refuse(client, EXIT_USAGE, "no election \"%s\" here", name);
	else
		client_refuse(client, EXIT_USAGE, "which of the %zu elections?", shell->contest_count);
	return NULL;
}

static bool covers(const struct commands_status *status, const struct contest *c)
{
	return !status->only || status->only == c;
}

bool commands_status_pending(const struct shell *shell, const struct commands_status *status)
{
	for (size_t i = 0; i < shell->contest_count; i++)
		if (covers(status, &shell->contests[i]) && shell->contests[i].peek.outstanding > 0)
			return true;
	return false;
}

void commands_status_end(struct shell *shell, struct client *client, const struct commands_status *status)
{
	client_reply(client, json_pack("{s:o?}", "status", facts_status(shell, status->only)));
}

static bool run_status(struct shell *shell, struct client *client, const struct control_line *line,
		       struct commands_status *status)
{
	bool pending = false;

	status->only = NULL;
	if (line->election[0]) {
		status->only = find_election(shell, client, line->election);
		if (!status->only)
			return false;
	}
	for (size_t i = 0; i < shell->contest_count; i++)
		if (covers(status, &shell->contests[i]) && peek_start(&shell->contests[i]))
			pending = true;
	if (!pending)
		commands_status_end(shell, client, status);
	return pending;
}

static void run_is_leader(struct client *client, const struct contest *c)
{
	int64_t now_ns = instant_now();
	struct status_election facts;

	facts_election(c, now_ns, &facts);
	if (!facts.state)
		client_refuse(client, EXIT_UNKNOWN, "the agent is starting");
	else if (status_leads(&facts, now_ns))
		client_reply(client,
			     json_pack("{s:b, s:o, s:I}", "leader", 1, "token", status_token(facts.state->token),
				       "lease_ms", (json_int_t)((facts.lease_ns - now_ns) / TENURE_NS_PER_MS)));
	else
		client_reply(client, json_pack("{s:b}", "leader", 0));
}

static void refuse_change(struct client *client)
{
	client_refuse(client, EXIT_REFUSED, "that is for root, the agent's user and the admin group");
}

static void run_change(struct contest *c, struct client *client, const struct control_line *line)
{
	if (line->command == CONTROL_RESIGN)
		resign_start(c, client, line->force);
	else if (line->command == CONTROL_RECOVER)
		recover_start(c, client);
	else if (line->command == CONTROL_SWITCHOVER)
		switchover_start(c, client, line->to);
	else if (line->command != CONTROL_FORGET)
		amend_start(c, client, line);
	else if (line->token)
		forget_floor_start(c, client, line->look);
	else
		forget_start(c, client, line->incumbent, line->look);
}

bool commands_run(struct shell *shell, struct client *client, bool may_change, const char *text, size_t size,
		  struct commands_status *status)
{
	struct control_line line;
	struct contest *c;
	const char *error;

	if (control_line_parse(text, size, &line, &error) < 0) {
		client_refuse(client, EXIT_USAGE, "%s", error);
		return false;
	}
	if (line.command == CONTROL_STATUS)
		return run_status(shell, client, &line, status);
	if (line.command == CONTROL_RESTART) {
		if (may_change)
			restarting_start(shell, client);
		else
			refuse_change(client);
		return false;
	}
	c = find_election(shell, client, line.election);
	if (!c)
		return false;
	if (line.command == CONTROL_IS_LEADER)
		run_is_leader(client, c);
	else if (line.command == CONTROL_ELIGIBLE && !line.has_members)
		amend_start(c, client, &line);
	else if (!may_change)
		refuse_change(client);
	else
		run_change(c, client, &line);
	return false;
}
