/* A look at an election for the status alone. See peek.h. */
#include "elector/peek.h"

#include <string.h>

#include "elector/contest.h"
#include "elector/control.h"
#include "elector/http.h"
#include "elector/instant.h"
#include "elector/shell.h"

#define PEEK_PERIOD_NS INT64_C(1000000000)

static void ended(struct shell *shell, struct peek *peek)
{
	if (--peek->outstanding > 0)
		return;
	control_peeked(shell);
	http_peeked(shell->http);
}

static void done_get(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct contest *c = request->contest;
	struct tenure_election_record record;
	/* No such znode: an election that nobody has ever stood in. */
	bool none = reply->u.reply.result == PORT_NONODE;

	if (none || reply->u.reply.result == PORT_OK) {
		tenure_election_decode(none ? "" : reply->u.reply.data, none ? 0 : reply->u.reply.size, &record);
		c->peek.record_ns = instant_now();
		c->peek.paused = record.paused;
		c->peek.eligible = tenure_election_eligible(&record, c->core.config.member);
		c->peek.incumbent = record.incumbent;
	}
	ended(shell, &c->peek);
}

static void done_list(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct contest *c = request->contest;
	struct tenure_queue_view view;

	if (reply->u.reply.result == PORT_OK) {
		tenure_queue_scan(reply->u.reply.names, reply->u.reply.name_count, c->core.own.guid,
				  c->core.config.agent, &view);
		tenure_queue_settle(reply->u.reply.names, reply->u.reply.name_count, c->core.behind, &view);
		c->peek.queue_ns = instant_now();
		c->peek.position = c->core.own.guid[0] ? view.position : 0;
		if (c->core.term != 0 && view.doubtful)
			c->peek.position = 1; /* whoever is in office came first */
		c->peek.members = view.candidates;
	}
	ended(shell, &c->peek);
}

bool peek_start(struct contest *c)
{
	struct request get = {.done = done_get, .contest = c}, list = {.done = done_list, .contest = c};
	bool watched = c->core.record_read && c->core.record_watched;
	int64_t now_ns = instant_now();

	if (c->peek.outstanding > 0)
		return true;
	if (!ensemble_connected(c->shell) || (c->peek.begun_ns && now_ns - c->peek.begun_ns < PEEK_PERIOD_NS))
		return false;
	c->peek.begun_ns = now_ns;
	if (ensemble_children(c->shell, &list, c->queue_path, 0) == 0)
		c->peek.outstanding++;
	if (!watched && ensemble_get(c->shell, &get, c->path, 0) == 0)
		c->peek.outstanding++;
	return c->peek.outstanding > 0;
}

void peek_forget(struct contest *c)
{
	c->peek.begun_ns = c->peek.record_ns = c->peek.queue_ns = 0;
}
