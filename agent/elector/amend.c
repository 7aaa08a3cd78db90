/*
 * An operator's change to the election record. See amend.h. The record is read, changed and written on condition of the
 * version read, as the core itself does it: whoever was first, nothing of the other's is lost.
 */
#include "elector/amend.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "common/control.h"
#include "common/log.h"
#include "elector/contest.h"
#include "elector/control.h"
#include "elector/shell.h"

enum {
	ATTEMPTS_MAX = 5, /* at a record that others change meanwhile */
	LOOK_MS = 500,
	LOOKS_MAX = 180,
};

static void end(struct contest *c)
{
	struct amend *a = &c->amend;

	tenure_document_free(a->document);
	if (a->timer)
		event_del(a->timer);
	*a = (struct amend){.timer = a->timer, .generation = a->generation + 1};
}

static void refuse(struct contest *c, int status, const char *text)
{
	client_refuse(c->amend.client, status, "%s", text);
	end(c);
}

static void refuse_result(struct contest *c, enum port_result result)
{
	if (result == PORT_NOAUTH)
		refuse(c, EXIT_REFUSED, "no permission in ZooKeeper");
	else if (result == PORT_UNKNOWN)
		refuse(c, EXIT_UNREACHABLE, "the connection to ZooKeeper was lost; look again");
	else if (result == PORT_NONODE)
		refuse(c, EXIT_TRY_AGAIN, "the election has no znode yet");
	else
		refuse(c, EXIT_INTERNAL, "ZooKeeper refuses the request");
}

static json_t *list_of(const struct tenure_election_record *r)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < r->eligible_count; i++)
		json_array_append_new(list, json_string(r->eligible[i]));
	return list;
}

/* What the record says now. */
static void succeed(struct contest *c, const struct tenure_election_record *r, bool changed)
{
	client_reply(c->amend.client, json_pack("{s:b, s:b, s:o?}", "changed", changed, "paused", r->paused, "eligible",
						list_of(r)));
	end(c);
}

static struct request make_request(struct contest *c, request_done *done)
{
	return (struct request){.done = done, .contest = c, .generation = c->amend.generation};
}

static bool is_stale(const struct contest *c, const struct request *request, enum amend_phase phase)
{
	return request->generation != c->amend.generation || c->amend.phase != phase;
}

static void read_record(struct contest *c);

/* ---- what is asked for, and whether it may be ---- */

static bool same_list(const struct amend *a, const struct tenure_election_record *r)
{
	bool same = a->members.count == r->eligible_count;

	for (size_t i = 0; same && i < r->eligible_count; i++)
		same = strcmp(a->members.names[i], r->eligible[i]) == 0;
	return same;
}

/* Whether the record says already what is asked for. */
static bool nothing_to_do(const struct amend *a, const struct tenure_election_record *r)
{
	if (a->command == CONTROL_ELIGIBLE)
		return !a->changes || same_list(a, r);
	return r->paused == (a->command == CONTROL_PAUSE);
}

/* Whether a leader is, or may be, in office: the list is its to change. */
static bool may_lead(const struct contest *c, const struct tenure_election_record *r)
{
	bool gone = c->core.outlook.known && c->core.outlook.incumbent.token == r->incumbent.token && c->core.outlook.gone;

	return r->incumbent.clean == TENURE_CLEAN_NO && !gone;
}

static bool names(const struct control_members *members, const char *member)
{
	for (size_t i = 0; i < members->count; i++)
		if (strcmp(members->names[i], member) == 0)
			return true;
	return false;
}

/* Refuses, and returns true, where the list may not be changed from here. */
static bool list_is_not_ours(struct contest *c, const struct tenure_election_record *r)
{
	const struct amend *a = &c->amend;
	bool ours = c->state_known && c->state.token != 0 && c->state.token == r->incumbent.token;

	if (ours && a->members.count > 0 && !names(&a->members, c->core.config.member)) {
		refuse(c, EXIT_REFUSED, "this member leads and is not on that list");
		return true;
	}
	/* Nobody leads: without the list somebody may. */
	if (ours || (a->members.count == 0 && (a->force || !may_lead(c, r))))
		return false;
	if (may_lead(c, r))
		client_refuse(a->client, EXIT_REFUSED, "only the leader changes the list; that is %s", r->incumbent.member);
	else
		client_refuse(a->client, EXIT_REFUSED, "only a leader sets the list, and nobody leads; --clear works");
	end(c);
	return true;
}

/* ---- the record is written ---- */

static void log_change(const struct contest *c)
{
	const struct amend *a = &c->amend;

	if (a->command == CONTROL_PAUSE)
		log_warning(c->config->name, "an operator pauses the election: nobody takes office", " ");
	else if (a->command == CONTROL_RESUME)
		log_warning(c->config->name, "an operator resumes the election", " ");
	else
		log_info(c->config->name, "the list of eligible members is changed", "members=%zu", a->members.count);
}

static void look_again(evutil_socket_t fd, short what, void *context)
{
	struct contest *c = context;

	(void)fd;
	(void)what;
	if (++c->amend.looks == LOOKS_MAX)
		refuse(c, EXIT_TRY_AGAIN, "resumed; the member that rode out the pause has not answered: see status, and forget");
	else
		read_record(c);
	shell_settle(c->shell);
}

static void wait_for_incumbent(struct contest *c)
{
	const struct timeval pause = {.tv_usec = LOOK_MS * 1000};

	if (!c->amend.timer)
		c->amend.timer = evtimer_new(c->shell->base, look_again, c);
	c->amend.phase = AMEND_WAITING;
	client_progress(c->amend.client, "waiting for the member that rode out the pause");
	if (!c->amend.timer || event_add(c->amend.timer, &pause) < 0)
		refuse(c, EXIT_INTERNAL, "out of memory");
}

static void settled(struct contest *c, const struct tenure_election_record *r, bool changed)
{
	if (c->amend.command == CONTROL_RESUME && r->held != 0)
		wait_for_incumbent(c);
	else
		succeed(c, r, changed || c->amend.looks > 0);
}

static void done_write(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct contest *c = request->contest;
	struct amend *a = &c->amend;
	struct tenure_election_record record;

	(void)shell;
	if (is_stale(c, request, AMEND_WRITING))
		return;
	if (reply->u.reply.result == PORT_OK) {
		log_change(c);
		tenure_document_read(a->document, &record);
		settled(c, &record, true);
	} else if (reply->u.reply.result != PORT_BADVERSION) {
		refuse_result(c, reply->u.reply.result);
	} else if (++a->attempts == ATTEMPTS_MAX) {
		refuse(c, EXIT_TRY_AGAIN, "the election record changes all the time");
	} else {
		read_record(c);
	}
}

static void write_record(struct contest *c, const struct tenure_election_record *r)
{
	struct amend *a = &c->amend;
	struct request request = make_request(c, done_write);
	const char *list[TENURE_ELIGIBLE_MAX];
	struct tenure_edit edit = {.kind = a->command == CONTROL_PAUSE	? TENURE_EDIT_PAUSE :
					   a->command == CONTROL_RESUME ? TENURE_EDIT_RESUME :
									  TENURE_EDIT_ELIGIBLE,
				   .token = r->incumbent.token, .eligible = list, .eligible_count = a->members.count};
	struct tenure_document *edited;
	char *text;
	size_t size;
	int rc;

	for (size_t i = 0; i < a->members.count; i++)
		list[i] = a->members.names[i];
	rc = tenure_document_edit(a->document, &edit, &edited, NULL, &text, &size);
	if (rc < 0) {
		refuse(c, EXIT_INTERNAL, rc == -EMSGSIZE ? "the election record would be too long" :
							   "the election record cannot be edited");
		return;
	}
	tenure_document_free(a->document);
	a->document = edited;
	a->phase = AMEND_WRITING;
	if (ensemble_set(c->shell, &request, c->path, text, size, a->version) < 0)
		refuse_result(c, PORT_UNKNOWN);
	free(text);
}

static void record_known(struct contest *c, const struct port_event *reply)
{
	struct amend *a = &c->amend;
	struct tenure_election_record record;
	int rc;

	tenure_document_free(a->document);
	rc = tenure_document_parse(reply->u.reply.data, reply->u.reply.size, &a->document, &record);
	a->version = reply->u.reply.stat->version;
	if (rc == -ENOMEM)
		refuse(c, EXIT_INTERNAL, "out of memory");
	else if (rc == -EBADMSG || (rc == -ENODATA && a->version > 0))
		refuse(c, EXIT_REFUSED, "the election record cannot be read; see forget");
	else if (nothing_to_do(a, &record))
		settled(c, &record, false);
	else if (a->command != CONTROL_ELIGIBLE || !list_is_not_ours(c, &record))
		write_record(c, &record);
}

static void done_read(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct contest *c = request->contest;

	(void)shell;
	if (is_stale(c, request, AMEND_READING))
		return;
	if (reply->u.reply.result == PORT_OK && reply->u.reply.stat)
		record_known(c, reply);
	else
		refuse_result(c, reply->u.reply.result);
}

static void read_record(struct contest *c)
{
	struct request request = make_request(c, done_read);

	c->amend.phase = AMEND_READING;
	if (ensemble_get(c->shell, &request, c->path, 0) < 0)
		refuse_result(c, PORT_UNKNOWN);
}

void amend_start(struct contest *c, struct client *client, const struct control_line *line)
{
	struct amend *a = &c->amend;

	if (a->phase != AMEND_IDLE) {
		client_refuse(client, EXIT_TRY_AGAIN, "another change to the election is under way");
		return;
	}
	if (!ensemble_connected(c->shell)) {
		client_refuse(client, EXIT_UNREACHABLE, "not connected to ZooKeeper");
		return;
	}
	a->client = client;
	a->command = line->command;
	a->force = line->force;
	a->members = line->members;
	a->changes = line->has_members;
	client_wait(client);
	read_record(c);
}

void amend_forget(struct contest *c, const struct client *client)
{
	if (c->amend.client == client)
		c->amend.client = NULL;
}
