/* An operator's resign of one election, from the request to the end of the term. */
#include "elector/resign.h"

#include <inttypes.h>
#include <string.h>

#include "common/control.h"
#include "common/log.h"
#include "core/role.h"
#include "elector/contest.h"
#include "elector/control.h"
#include "elector/shell.h"
#include "elector/survey.h"

static enum role_state state_of(const struct contest *c)
{
	return (enum role_state)c->state.u.state.state;
}

static void end(struct contest *c)
{
	c->resign.phase = RESIGN_IDLE;
	c->resign.generation++;
	leaving_end(&c->resign.leaving);
}

static void refuse(struct contest *c, int status, const char *text)
{
	client_refuse(c->resign.leaving.client, status, "%s", text);
	end(c);
}

static void late(struct contest *c)
{
	refuse(c, EXIT_TRY_AGAIN, "leaving office takes longer than the hooks' limits allow; see status");
}

static void leave(struct contest *c)
{
	struct message m = {.type = MESSAGE_LEAVE, .election = c->index, .token = c->resign.leaving.token,
			    .reason = TENURE_REASON_RESIGN};

	c->resign.phase = RESIGN_LEAVING;
	log_info(c->config->name, "asked to resign", "token=%" PRId64, m.token);
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

static bool everybody_eligible(const struct contest *c)
{
	struct tenure_election_record record;

	kept_record(&c->kept, &record);
	return record.eligible_count == 0;
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
	else if (everybody_eligible(c))
		leave(c);
	else if (survey_start(c, c->resign.generation, false, done_survey) < 0)
		refuse(c, EXIT_UNREACHABLE, "cannot see who waits behind; --force resigns all the same");
}

void resign_start(struct contest *c, struct client *client, bool force)
{
	struct request list = {.done = done_list, .contest = c};

	if (c->resign.phase != RESIGN_IDLE || c->switchover.phase != SWITCHOVER_IDLE) {
		client_refuse(client, EXIT_TRY_AGAIN, "another handoff is under way");
		return;
	}
	if (!c->state_known || state_of(c) != ROLE_ACTIVE || c->state.token == 0) {
		leaving_refuse_not_leader(c, client);
		return;
	}
	if (leaving_begin(&c->resign.leaving, c, client, c->state.token, late) < 0) {
		client_refuse(client, EXIT_INTERNAL, "out of memory");
		return;
	}
	list.generation = ++c->resign.generation;
	c->resign.phase = RESIGN_LISTING;
	if (force)
		leave(c);
	else if (ensemble_children(c->shell, &list, c->queue_path, 0) < 0)
		refuse(c, EXIT_UNREACHABLE, "not connected: cannot see who waits behind; --force resigns all the same");
}

void resign_check(struct contest *c)
{
	struct leaving *leaving = &c->resign.leaving;

	if (c->resign.phase == RESIGN_IDLE)
		return;
	if (c->resign.phase != RESIGN_LEAVING) {
		if (!leaving_in_office(leaving) || state_of(c) != ROLE_ACTIVE)
			refuse(c, EXIT_TRY_AGAIN, "the term has ended by itself");
		return;
	}
	leaving_progress(leaving);
	if (leaving_in_office(leaving)) {
		if (state_of(c) == ROLE_PANIC)
			refuse(c, EXIT_INTERNAL, "the service could not be put out of office: see the log");
		return;
	}
	if (c->core.own.czxid == leaving->token || c->core.term == leaving->token)
		return;
	client_progress(leaving->client, "left the queue");
	client_reply(leaving->client, leaving_result(leaving));
	end(c);
}

void resign_forget(struct contest *c, const struct client *client)
{
	if (c->resign.leaving.client == client)
		c->resign.leaving.client = NULL;
}
