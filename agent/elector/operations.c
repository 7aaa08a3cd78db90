/* The requests that an elector core asks for, on ZooKeeper. */
#include "elector/operations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elector/contest.h"
#include "elector/instant.h"
#include "elector/shell.h"
#include "elector/survey.h"

static struct request make_request(struct contest *c, const struct elector_command *command, request_done *done)
{
	return (struct request){.done = done, .contest = c, .generation = command->generation,
				.index = (uint32_t)command->op};
}

/* What could not be handed over was not done; whether trying again helps is what the core needs to know. */
static void not_started(struct contest *c, const struct elector_command *command, int rc)
{
	bool passing = rc == -EAGAIN || rc == -ENOTCONN || rc == -ENOMEM;

	contest_defer(c, command->op, command->generation, passing ? ELECTOR_UNKNOWN : ELECTOR_REFUSED, rc);
}

static struct elector_event done_event(const struct request *request, const struct port_event *reply)
{
	struct elector_event event = {.type = ELECTOR_EV_DONE};

	event.u.done.op = (enum elector_op)request->index;
	event.u.done.generation = request->generation;
	event.u.done.result = contest_result(reply->u.reply.result);
	event.u.done.rc = reply->u.reply.rc;
	if (reply->u.reply.stat) {
		event.u.done.czxid = reply->u.reply.stat->czxid;
		event.u.done.owner = reply->u.reply.stat->ephemeral_owner;
		event.u.done.version = reply->u.reply.stat->version;
	} else if (event.u.done.result == ELECTOR_OK && request->index != ELECTOR_OP_DELETE &&
		   request->index != ELECTOR_OP_PURGE) {
		event.u.done.result = ELECTOR_UNKNOWN;
	}
	return event;
}

static void done_plain(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct elector_event event = done_event(request, reply);

	(void)shell;
	contest_step(request->contest, &event);
}

static void done_create(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct elector_event event = done_event(request, reply);
	const char *slash = event.u.done.result == ELECTOR_OK ? strrchr(reply->u.reply.data, '/') : NULL;

	(void)shell;
	if (slash)
		event.u.done.name = slash + 1;
	else if (event.u.done.result == ELECTOR_OK)
		event.u.done.result = ELECTOR_UNKNOWN;
	contest_step(request->contest, &event);
}

static void done_list(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct elector_event event = done_event(request, reply);

	(void)shell;
	event.u.done.names = reply->u.reply.names;
	event.u.done.name_count = reply->u.reply.name_count;
	contest_step(request->contest, &event);
}

static void done_read(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct contest *c = request->contest;
	struct elector_event event = done_event(request, reply);
	struct tenure_election_record record;

	(void)shell;
	if (event.u.done.result == ELECTOR_OK &&
	    kept_read(&c->kept, c->config->name, reply->u.reply.data, reply->u.reply.size, reply->u.reply.stat,
		      instant_now()) < 0)
		event.u.done.result = ELECTOR_UNKNOWN;
	kept_record(&c->kept, &record);
	event.u.done.record = &record;
	contest_step(c, &event);
	if (event.u.done.result == ELECTOR_OK)
		switchover_seen(c, &record);
}

static void done_write(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct contest *c = request->contest;
	struct elector_event event = done_event(request, reply);
	struct tenure_election_record record;

	(void)shell;
	if (event.u.done.result == ELECTOR_OK &&
	    kept_written(&c->kept, request->generation, reply->u.reply.stat, instant_now()) < 0)
		event.u.done.result = ELECTOR_UNKNOWN;
	if (event.u.done.result != ELECTOR_OK)
		kept_drop(&c->kept, request->generation);
	kept_record(&c->kept, &record);
	event.u.done.record = &record;
	contest_step(c, &event);
}

static void start_create(struct contest *c, const struct elector_command *command)
{
	struct request request = make_request(c, command, done_create);
	char prefix[TENURE_CANDIDATE_SIZE];
	char *path = NULL, *data = NULL;
	size_t size = 0;
	int rc = tenure_queue_prefix(command->guid, prefix, sizeof prefix);

	if (rc == 0)
		rc = tenure_candidate_encode(c->core.config.member, c->config->address ? c->config->address : "",
					     &data, &size);
	if (rc == 0) {
		path = contest_path(c->queue_path, prefix);
		rc = path ? ensemble_create(c->shell, &request, path, data, size, true, true) : -ENOMEM;
	}
	if (rc < 0)
		not_started(c, command, rc);
	free(path);
	free(data);
}

/* WATCH, CHECK and OWNER ask for a candidate's children: it has none, so that a watch fires on its end alone. */
static void start_look(struct contest *c, const struct elector_command *command)
{
	struct request request = make_request(c, command, done_plain);
	uint64_t watch = command->op == ELECTOR_OP_OWNER ? 0 : contest_watch_cookie(c, command->op);
	char *path = contest_path(c->queue_path, command->name);
	int rc = path ? ensemble_children(c->shell, &request, path, watch) : -ENOMEM;

	if (rc < 0)
		not_started(c, command, rc);
	free(path);
}

static void start_delete(struct contest *c, const struct elector_command *command)
{
	struct request request = make_request(c, command, done_plain);
	char *path = contest_path(c->queue_path, command->name);
	int rc = path ? ensemble_delete(c->shell, &request, path) : -ENOMEM;

	if (rc < 0)
		not_started(c, command, rc);
	free(path);
}

static void start_read(struct contest *c, const struct elector_command *command)
{
	struct request request = make_request(c, command, done_read);
	uint64_t watch = command->watch ? contest_watch_cookie(c, ELECTOR_OP_READ) : 0;
	int rc = ensemble_get(c->shell, &request, c->path, watch);

	if (rc < 0)
		not_started(c, command, rc);
}

static void start_write(struct contest *c, const struct elector_command *command)
{
	struct request request = make_request(c, command, done_write);
	struct kept *kept = &c->kept;
	char at[TENURE_TIME_SIZE];
	const struct tenure_edit edit = {
		.kind = command->edit,
		.token = command->token,
		.member = c->core.config.member,
		.address = c->config->address ? c->config->address : "",
		.reason = tenure_reason_name(command->reason),
		.at = instant_text(instant_wall_ms(), at),
	};
	char *text = NULL;
	size_t size = 0;
	int rc;

	if (!kept->valid || kept->version != command->version) {
		contest_defer(c, command->op, command->generation, ELECTOR_BADVERSION, 0);
		return;
	}
	rc = kept_edit(kept, &edit, command->generation, &text, &size);
	if (rc < 0) {
		contest_defer(c, command->op, command->generation,
			     rc == -ESTALE || rc == -EBADMSG ? ELECTOR_STALE : ELECTOR_REFUSED, rc);
		return;
	}
	rc = ensemble_set(c->shell, &request, c->path, text, size, command->version);
	free(text);
	if (rc < 0) {
		kept_drop(kept, command->generation);
		not_started(c, command, rc);
	}
}

static void done_survey(struct contest *c, uint32_t generation, enum elector_result result, int rc,
			const struct elector_peer *peers, size_t count)
{
	struct elector_event event = {.type = ELECTOR_EV_DONE};

	event.u.done = (struct elector_done){.op = ELECTOR_OP_SURVEY, .generation = generation, .result = result,
					     .rc = rc, .peers = peers, .peer_count = count};
	contest_step(c, &event);
}

void operations_start(struct contest *c, const struct elector_command *command)
{
	struct request request = make_request(c, command, done_list);
	int rc = 0;

	switch (command->op) {
	case ELECTOR_OP_PARENTS:
		parents_start(c, command->generation);
		break;
	case ELECTOR_OP_CREATE:
		start_create(c, command);
		break;
	case ELECTOR_OP_LIST:
		rc = ensemble_children(c->shell, &request, c->queue_path, 0);
		break;
	case ELECTOR_OP_WATCH:
	case ELECTOR_OP_CHECK:
	case ELECTOR_OP_OWNER:
		start_look(c, command);
		break;
	case ELECTOR_OP_DELETE:
	case ELECTOR_OP_PURGE:
		start_delete(c, command);
		break;
	case ELECTOR_OP_READ:
		start_read(c, command);
		break;
	case ELECTOR_OP_WRITE:
		start_write(c, command);
		break;
	case ELECTOR_OP_SURVEY:
		rc = survey_start(c, command->generation, command->mark, done_survey);
		break;
	case ELECTOR_OP_COUNT:
		break;
	}
	if (rc < 0)
		not_started(c, command, rc);
}
