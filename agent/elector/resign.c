/* An operator's resign of one election, from the request to the end of the term. */
#include "elector/resign.h"

#include <event2/event.h>
#include <inttypes.h>
#include <string.h>

#include "common/control.h"
#include "common/log.h"
#include "core/role.h"
#include "elector/contest.h"
#include "elector/control.h"
#include "elector/facts.h"
#include "elector/instant.h"
#include "elector/shell.h"
#include "elector/survey.h"

#define RESIGN_SLACK_NS INT64_C(30000000000) /* beyond the hooks' limits */

static enum role_state state_of(const struct contest *c)
{
	return (enum role_state)c->state.u.state.state;
}

/* Whether the term that is to be left is in office, by what the supervisor last said. */
static bool in_office(const struct contest *c)
{
	enum role_state state = state_of(c);

	return c->state.token == c->resign.token &&
	       (state == ROLE_PROMOTING || state == ROLE_ACTIVE || state == ROLE_DEMOTING || state == ROLE_FENCING ||
		state == ROLE_PANIC);
}

static void end(struct contest *c)
{
	c->resign.phase = RESIGN_IDLE;
	c->resign.client = NULL;
	c->resign.generation++;
	if (c->resign.limit)
		event_del(c->resign.limit);
}

static void refuse(struct contest *c, int status, const char *text)
{
	client_refuse(c->resign.client, status, "%s", text);
	end(c);
}

static void on_limit(evutil_socket_t fd, short what, void *context)
{
	struct contest *c = context;

	(void)fd;
	(void)what;
	refuse(c, EXIT_TRY_AGAIN, "leaving office takes longer than the hooks' limits allow; see status");
	shell_settle(c->shell);
}

static bool arm_limit(struct contest *c)
{
	int64_t limit_ns = c->config->handoff_timeout_ns + c->config->budget.lose_ns + c->config->budget.fence_ns +
			   RESIGN_SLACK_NS;
	const struct timeval limit = {.tv_sec = (time_t)(limit_ns / INT64_C(1000000000))};

	if (!c->resign.limit)
		c->resign.limit = evtimer_new(c->shell->base, on_limit, c);
	return c->resign.limit && event_add(c->resign.limit, &limit) == 0;
}

static void leave(struct contest *c)
{
	struct message m = {.type = MESSAGE_LEAVE, .election = c->index, .token = c->resign.token,
			    .reason = TENURE_REASON_RESIGN};

	c->resign.phase = RESIGN_LEAVING;
	c->resign.told_state = ROLE_ACTIVE;
	log_info(c->config->name, "asked to resign", "token=%" PRId64, c->resign.token);
	upward_put(c->shell, &m);
}

static void refuse_alone(struct contest *c)
{
	refuse(c, EXIT_REFUSED, "nobody eligible waits behind; --force resigns all the same");
}

static void done_survey(struct contest *c, uint32_t generation, enum elector_result result, int rc,
			const struct elector_peer *peers, size_t count)
{
	(void)rc;
	if (generation != c->resign.generation || c->resign.phase != RESIGN_SURVEYING)
		return;
	if (result != ELECTOR_OK) {
		refuse(c, EXIT_UNREACHABLE, "cannot see who waits behind; --force resigns all the same");
		return;
	}
	for (size_t i = 0; i < count; i++)
		if (peers[i].waiting && peers[i].eligible && strcmp(peers[i].member, c->core.config.member) != 0) {
			leave(c);
			return;
		}
	refuse_alone(c);
}

static void done_list(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct contest *c = request->contest;
	struct tenure_queue_view view = {0};

	(void)shell;
	if (request->generation != c->resign.generation || c->resign.phase != RESIGN_LISTING)
		return;
	if (reply->u.reply.result == PORT_OK)
		tenure_queue_scan(reply->u.reply.names, reply->u.reply.name_count, c->core.own.guid,
				  c->core.config.agent, &view);
	c->resign.phase = RESIGN_SURVEYING;
	if (reply->u.reply.result != PORT_OK)
		refuse(c, EXIT_UNREACHABLE, "cannot see who waits behind; --force resigns all the same");
	else if (view.candidates < 2)
		refuse_alone(c);
	else if (!c->kept.valid || c->kept.record.eligible_count == 0)
		leave(c);
	else if (survey_start(c, c->resign.generation, done_survey) < 0)
		refuse(c, EXIT_UNREACHABLE, "cannot see who waits behind; --force resigns all the same");
}

static void refuse_not_leader(struct contest *c, struct client *client)
{
	struct status_election facts;

	facts_election(c, instant_now(), &facts);
	if (facts.record_known && !facts.gone && !facts.self && facts.incumbent->member[0])
		client_refuse(client, EXIT_NO, "not the leader; that is %s", facts.incumbent->member);
	else
		client_refuse(client, EXIT_NO, "not the leader");
}

void resign_start(struct contest *c, struct client *client, bool force)
{
	struct request list = {.done = done_list, .contest = c};

	if (c->resign.phase != RESIGN_IDLE) {
		client_refuse(client, EXIT_TRY_AGAIN, "a resign is under way");
		return;
	}
	if (!c->state_known || state_of(c) != ROLE_ACTIVE || c->state.token == 0) {
		refuse_not_leader(c, client);
		return;
	}
	c->resign.client = client;
	c->resign.token = c->state.token;
	c->resign.begun_ns = instant_now();
	if (!arm_limit(c)) {
		refuse(c, EXIT_INTERNAL, "out of memory");
		return;
	}
	client_wait(client);
	list.generation = ++c->resign.generation;
	c->resign.phase = RESIGN_LISTING;
	if (force)
		leave(c);
	else if (ensemble_children(c->shell, &list, c->queue_path, 0) < 0)
		refuse(c, EXIT_UNREACHABLE, "not connected: cannot see who waits behind; --force resigns all the same");
}

static void tell_progress(struct contest *c)
{
	enum role_state state = state_of(c);

	if (!in_office(c) || c->resign.told_state == state)
		return;
	c->resign.told_state = state;
	if (state == ROLE_DEMOTING)
		client_progress(c->resign.client, "running the lose hook");
	else if (state == ROLE_FENCING)
		client_progress(c->resign.client, "running the fence hook");
}

void resign_check(struct contest *c)
{
	int64_t token = c->resign.token;
	json_t *reply;

	if (c->resign.phase == RESIGN_IDLE)
		return;
	if (c->resign.phase != RESIGN_LEAVING) {
		if (!in_office(c) || state_of(c) != ROLE_ACTIVE)
			refuse(c, EXIT_TRY_AGAIN, "the term has ended by itself");
		return;
	}
	tell_progress(c);
	if (in_office(c)) {
		if (state_of(c) == ROLE_PANIC)
			refuse(c, EXIT_INTERNAL, "the service could not be put out of office: see the log");
		return;
	}
	if (c->core.own.czxid == token || c->core.term == token)
		return;
	client_progress(c->resign.client, "left the queue");
	reply = json_pack("{s:o, s:I}", "token", status_token(token), "took_ms",
			  (json_int_t)((instant_now() - c->resign.begun_ns) / TENURE_NS_PER_MS));
	client_reply(c->resign.client, reply);
	end(c);
}

void resign_forget(struct contest *c, const struct client *client)
{
	if (c->resign.client == client)
		c->resign.client = NULL;
}
