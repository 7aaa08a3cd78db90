/* The bell of an election. See bell.h. */
#include "elector/bell.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "core/role.h"
#include "elector/contest.h"
#include "elector/shell.h"

static void done_listen(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	(void)shell;
	(void)request;
	(void)reply;
}

void bell_listen(struct contest *c)
{
	struct request request = {.done = done_listen, .contest = c};

	if (c->member.known && ensemble_connected(c->shell))
		ensemble_get(c->shell, &request, c->member.folder, contest_bell_cookie(c));
}

/* In the queue, on this connection, with a service that waits to be promoted: only that is ready. */
static bool is_ready(const struct contest *c)
{
	return c->state_known && c->state.u.state.state == ROLE_STANDBY && c->core.own_checked && c->core.stand;
}

static void done_look(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct contest *c = request->contest;
	struct tenure_election_record record;

	(void)shell;
	if (reply->u.reply.result != PORT_OK ||
	    tenure_election_decode(reply->u.reply.data, reply->u.reply.size, &record) < 0 ||
	    strcmp(record.successor, c->core.config.member) != 0 || record.request == c->member.ready_for)
		return;
	if (!is_ready(c)) {
		log_info(c->config->name, "named as the successor, but not ready", "request=%" PRId64, record.request);
		return;
	}
	log_info(c->config->name, "named as the successor, and ready", "request=%" PRId64, record.request);
	member_answers(c, record.request);
}

void bell_heard(struct contest *c)
{
	struct request look = {.done = done_look, .contest = c};

	/* The watch first, so that no ring between the two is missed. */
	bell_listen(c);
	if (ensemble_connected(c->shell))
		ensemble_get(c->shell, &look, c->path, 0);
}

int bell_ring(struct contest *c, int64_t number)
{
	struct request request = {.done = done_listen, .contest = c};
	char text[24];
	int size = snprintf(text, sizeof text, "%" PRId64, number);

	return ensemble_set(c->shell, &request, c->member.folder, text, (size_t)size, -1);
}
