/* An operator who waits until a service is out of office. See leaving.h. */
#include "elector/leaving.h"

#include <errno.h>
#include <event2/event.h>

#include "common/control.h"
#include "core/role.h"
#include "elector/contest.h"
#include "elector/control.h"
#include "elector/facts.h"
#include "elector/instant.h"
#include "elector/shell.h"
#include "elector/status.h"

#define LEAVING_SLACK_NS INT64_C(30000000000) /* beyond the hooks' limits */

static void on_limit(evutil_socket_t fd, short what, void *context)
{
	struct leaving *l = context;
	struct shell *shell = l->contest->shell;

	(void)fd;
	(void)what;
	l->late(l->contest);
	shell_settle(shell);
}

int leaving_begin(struct leaving *l, struct contest *c, struct client *client, int64_t token,
		  void (*late)(struct contest *contest))
{
	int64_t limit_ns = c->config->handoff_timeout_ns + c->config->budget.lose_ns + c->config->budget.fence_ns +
			   LEAVING_SLACK_NS;
	const struct timeval limit = {.tv_sec = (time_t)(limit_ns / INT64_C(1000000000))};

	if (!l->limit)
		l->limit = evtimer_new(c->shell->base, on_limit, l);
	if (!l->limit || event_add(l->limit, &limit) < 0)
		return -ENOMEM;
	l->contest = c;
	l->client = client;
	l->late = late;
	l->token = token;
	l->begun_ns = instant_now();
	l->told_state = c->state.u.state.state;
	client_wait(client);
	return 0;
}

bool leaving_in_office(const struct leaving *l)
{
	const struct message *m = &l->contest->state;
	uint32_t state = m->u.state.state;

	return m->token == l->token &&
	       (state == ROLE_PROMOTING || state == ROLE_ACTIVE || state == ROLE_DEMOTING || state == ROLE_FENCING ||
		state == ROLE_PANIC);
}

void leaving_progress(struct leaving *l)
{
	uint32_t state = l->contest->state.u.state.state;

	if (!leaving_in_office(l) || l->told_state == state)
		return;
	l->told_state = state;
	if (state == ROLE_DEMOTING)
		client_progress(l->client, "running the lose hook");
	else if (state == ROLE_FENCING)
		client_progress(l->client, "running the fence hook");
}

void leaving_refuse_not_leader(struct contest *c, struct client *client)
{
	struct status_election facts;

	facts_election(c, instant_now(), &facts);
	if (facts.record_known && !facts.gone && !facts.self && facts.incumbent->member[0])
		client_refuse(client, EXIT_NO, "not the leader; that is %s", facts.incumbent->member);
	else
		client_refuse(client, EXIT_NO, "not the leader");
}

json_t *leaving_result(const struct leaving *l)
{
	return json_pack("{s:o, s:I}", "token", status_token(l->token), "took_ms",
			 (json_int_t)((instant_now() - l->begun_ns) / TENURE_NS_PER_MS));
}

void leaving_end(struct leaving *l)
{
	l->client = NULL;
	if (l->limit)
		event_del(l->limit);
}
