/*
 * An operator's forget. See forget.h. An incumbent whose candidate still queues is not forgotten: its session
 * lives, and with it perhaps its service. All candidates are looked at, since only the czxid names it for sure.
 */
#include "elector/forget.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/control.h"
#include "common/log.h"
#include "core/role.h"
#include "elector/contest.h"
#include "elector/control.h"
#include "elector/shell.h"
#include "elector/status.h"

enum {
	ATTEMPTS_MAX = 5,  /* at a record that others change meanwhile */
	FLOOR_LIMIT_S = 30 /* for a disk that does not answer */
};

static void end(struct contest *c)
{
	struct forget *f = &c->forget;

	tenure_document_free(f->document);
	free(f->names);
	if (f->limit)
		event_del(f->limit);
	*f = (struct forget){.limit = f->limit, .generation = f->generation + 1};
}

static void refuse(struct contest *c, int status, const char *text)
{
	client_refuse(c->forget.client, status, "%s", text);
	end(c);
}

static void refuse_result(struct contest *c, enum port_result result)
{
	if (result == PORT_NOAUTH)
		refuse(c, EXIT_REFUSED, "no permission in ZooKeeper");
	else if (result == PORT_UNKNOWN)
		refuse(c, EXIT_UNREACHABLE, "the connection to ZooKeeper was lost; look again");
	else
		refuse(c, EXIT_INTERNAL, "ZooKeeper refuses the request");
}

/* What an operator would have to answer for. */
static const char *what_is_found(const struct forget *f)
{
	if (f->incumbent.clean == TENURE_CLEAN_UNKNOWN)
		return "unreadable";
	if (f->incumbent.clean == TENURE_CLEAN_NO)
		return "unclean";
	return f->held != 0 ? "held" : "nothing";
}

static bool nothing_found(const struct forget *f)
{
	return f->held == 0 &&
	       (f->incumbent.clean == TENURE_CLEAN_YES || f->incumbent.clean == TENURE_CLEAN_FENCED);
}

static void succeed(struct contest *c, bool forgotten)
{
	const struct forget *f = &c->forget;
	bool named = !nothing_found(f) && f->incumbent.token != 0;

	client_reply(f->client, json_pack("{s:s, s:o, s:o, s:b}", "found", what_is_found(f), "member",
					  named ? json_string(f->incumbent.member) : json_null(), "token",
					  status_token(named ? f->incumbent.token : 0), "forgotten", forgotten));
	end(c);
}

static struct request make_request(struct contest *c, request_done *done)
{
	return (struct request){.done = done, .contest = c, .generation = c->forget.generation};
}

static bool is_stale(const struct contest *c, const struct request *request, enum forget_phase phase)
{
	return request->generation != c->forget.generation || c->forget.phase != phase;
}

/* ---- the record is written ---- */

static void read_record(struct contest *c);

static void done_write(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct contest *c = request->contest;
	struct forget *f = &c->forget;

	(void)shell;
	if (is_stale(c, request, FORGET_WRITING))
		return;
	if (reply->u.reply.result == PORT_OK) {
		log_warning(c->config->name, "an operator answers for the last leader: it is forgotten",
			    "leader=%s leader_token=%" PRId64 " found=%s", f->incumbent.member, f->incumbent.token,
			    what_is_found(f));
		succeed(c, true);
	} else if (reply->u.reply.result != PORT_BADVERSION) {
		refuse_result(c, reply->u.reply.result);
	} else if (++f->attempts == ATTEMPTS_MAX) {
		refuse(c, EXIT_TRY_AGAIN, "the election record changes all the time");
	} else {
		read_record(c);
	}
}

static void write_record(struct contest *c)
{
	const struct tenure_edit edit = {.kind = TENURE_EDIT_FORGET, .token = c->forget.incumbent.token};
	struct request request = make_request(c, done_write);
	struct tenure_election_record record;
	struct tenure_document *edited = NULL;
	char *text = NULL;
	size_t size = 0;
	int rc = tenure_document_edit(c->forget.document, &edit, &edited, &record, &text, &size);

	c->forget.phase = FORGET_WRITING;
	if (rc < 0)
		refuse(c, EXIT_INTERNAL, "the election record cannot be edited");
	else if (ensemble_set(c->shell, &request, c->path, text, size, c->forget.version) < 0)
		refuse_result(c, PORT_UNKNOWN);
	tenure_document_free(edited);
	free(text);
}

/* ---- is the incumbent still in the queue? ---- */

static void look_at_next(struct contest *c);

static void done_look(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct contest *c = request->contest;
	struct forget *f = &c->forget;

	(void)shell;
	if (is_stale(c, request, FORGET_LOOKING))
		return;
	if (reply->u.reply.result == PORT_OK && reply->u.reply.stat &&
	    reply->u.reply.stat->czxid == f->incumbent.token) {
		client_refuse(f->client, EXIT_REFUSED, "%s is in office; a leader is not forgotten",
			      f->incumbent.member);
		end(c);
	} else if (reply->u.reply.result == PORT_OK || reply->u.reply.result == PORT_NONODE) {
		look_at_next(c);
	} else {
		refuse_result(c, reply->u.reply.result);
	}
}

/* A candidate has no children: what is asked for is its Stat. */
static void look_at_next(struct contest *c)
{
	struct request request = make_request(c, done_look);
	struct forget *f = &c->forget;
	char *path;
	int rc;

	f->phase = FORGET_LOOKING;
	if (f->next == f->name_count) {
		if (f->look)
			succeed(c, false);
		else
			write_record(c);
		return;
	}
	path = contest_path(c->queue_path, f->names[f->next++]);
	rc = path ? ensemble_children(c->shell, &request, path, 0) : -ENOMEM;
	free(path);
	if (rc < 0)
		refuse_result(c, PORT_UNKNOWN);
}

static int keep_names(struct forget *f, const char *const *names, size_t count)
{
	free(f->names);
	f->name_count = f->next = 0;
	f->names = calloc(count ? count : 1, sizeof *f->names);
	if (!f->names)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		/* Ours are never longer. */
		if (strlen(names[i]) < sizeof *f->names)
			strcpy(f->names[f->name_count++], names[i]);
	}
	return 0;
}

static void done_list(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct contest *c = request->contest;
	bool none = reply->u.reply.result == PORT_NONODE;

	(void)shell;
	if (is_stale(c, request, FORGET_LISTING))
		return;
	if (!none && reply->u.reply.result != PORT_OK)
		refuse_result(c, reply->u.reply.result);
	else if (keep_names(&c->forget, reply->u.reply.names, none ? 0 : reply->u.reply.name_count) < 0)
		refuse(c, EXIT_INTERNAL, "out of memory");
	else
		look_at_next(c);
}

static void list_queue(struct contest *c)
{
	struct request request = make_request(c, done_list);

	c->forget.phase = FORGET_LISTING;
	if (ensemble_children(c->shell, &request, c->queue_path, 0) < 0)
		refuse_result(c, PORT_UNKNOWN);
}

/* ---- what does the record say? ---- */

/* Whether the incumbent is this very member, whose supervisor still counts its service as in office. */
static bool in_office_here(const struct contest *c)
{
	return c->state_known && c->state.token != 0 && c->state.token == c->forget.incumbent.token;
}

static int keep_record(struct forget *f, const struct port_event *reply)
{
	bool none = reply->u.reply.result == PORT_NONODE; /* nobody has ever stood */
	struct tenure_election_record record;
	int rc;

	tenure_document_free(f->document);
	f->document = NULL;
	rc = tenure_document_parse(none ? "" : reply->u.reply.data, none ? 0 : reply->u.reply.size, &f->document,
				   &record);
	if (rc == -ENOMEM)
		return rc;
	f->incumbent = record.incumbent;
	f->held = record.held;
	f->version = none ? 0 : reply->u.reply.stat->version;
	return 0;
}

static void done_read(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct contest *c = request->contest;
	struct forget *f = &c->forget;

	(void)shell;
	if (is_stale(c, request, FORGET_READING))
		return;
	if (reply->u.reply.result != PORT_NONODE && (reply->u.reply.result != PORT_OK || !reply->u.reply.stat))
		refuse_result(c, reply->u.reply.result);
	else if (keep_record(f, reply) < 0)
		refuse(c, EXIT_INTERNAL, "out of memory");
	else if (nothing_found(f))
		succeed(c, false);
	else if (f->only >= 0 && f->incumbent.token != f->only)
		refuse(c, EXIT_TRY_AGAIN, "somebody else has led meanwhile; look again");
	else if (in_office_here(c))
		refuse(c, EXIT_REFUSED, "this member's own term has not ended; see status, and recover");
	else
		list_queue(c);
}

static void read_record(struct contest *c)
{
	struct request request = make_request(c, done_read);

	c->forget.phase = FORGET_READING;
	if (ensemble_get(c->shell, &request, c->path, 0) < 0)
		refuse_result(c, PORT_UNKNOWN);
}

static bool is_busy(const struct contest *c, struct client *client)
{
	if (c->forget.phase != FORGET_IDLE)
		client_refuse(client, EXIT_TRY_AGAIN, "a forget is under way");
	return c->forget.phase != FORGET_IDLE;
}

void forget_start(struct contest *c, struct client *client, int64_t only, bool look)
{
	if (is_busy(c, client))
		return;
	if (!ensemble_connected(c->shell)) {
		client_refuse(client, EXIT_UNREACHABLE, "not connected to ZooKeeper");
		return;
	}
	c->forget.client = client;
	c->forget.only = only;
	c->forget.look = look;
	client_wait(client);
	read_record(c);
}

/* ---- the token floor ---- */

static void succeed_floor(struct contest *c, int64_t floor, const char *found, bool forgotten)
{
	client_reply(c->forget.client, json_pack("{s:s, s:o, s:b}", "found", found, "token_floor", status_token(floor),
						 "forgotten", forgotten));
	end(c);
}

static void on_floor_limit(evutil_socket_t fd, short what, void *context)
{
	struct contest *c = context;

	(void)fd;
	(void)what;
	refuse(c, EXIT_TRY_AGAIN, "the disk with data_dir does not take it: see the log");
	shell_settle(c->shell);
}

static bool arm_limit(struct contest *c)
{
	const struct timeval limit = {.tv_sec = FLOOR_LIMIT_S};

	if (!c->forget.limit)
		c->forget.limit = evtimer_new(c->shell->base, on_floor_limit, c);
	return c->forget.limit && event_add(c->forget.limit, &limit) == 0;
}

void forget_floor_start(struct contest *c, struct client *client, bool look)
{
	struct message m = {.type = MESSAGE_FORGET_FLOOR, .election = c->index};
	const struct contest_floor *floor = &c->floor;
	bool found = floor->seen != 0 || floor->broken;

	if (is_busy(c, client))
		return;
	if (!floor->known) {
		client_refuse(client, EXIT_TRY_AGAIN, "the agent is starting");
		return;
	}
	c->forget.client = client;
	if (look || !found) {
		succeed_floor(c, floor->seen, found ? "floor" : "nothing", false);
		return;
	}
	if (!arm_limit(c)) {
		refuse(c, EXIT_INTERNAL, "out of memory");
		return;
	}
	c->forget.phase = FORGET_FLOOR;
	c->forget.floor = floor->seen;
	client_wait(client);
	upward_put(c->shell, &m);
}

void forget_floor_changed(struct contest *c)
{
	const struct contest_floor *floor = &c->floor;

	/* The leader of now may have been seen already. */
	if (c->forget.phase != FORGET_FLOOR || floor->broken || (c->forget.floor != 0 && floor->seen >= c->forget.floor))
		return;
	log_warning(c->config->name, "an operator has the highest token forgotten: any token may lead", "seen=%" PRId64,
		    c->forget.floor);
	succeed_floor(c, c->forget.floor, "floor", true);
}

void forget_forget(struct contest *c, const struct client *client)
{
	if (c->forget.client == client)
		c->forget.client = NULL;
}
