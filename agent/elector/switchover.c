/* An operator's switchover. See switchover.h. */
#include "elector/switchover.h"

#include <event2/event.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/control.h"
#include "common/log.h"
#include "core/role.h"
#include "elector/bell.h"
#include "elector/contest.h"
#include "elector/control.h"
#include "elector/instant.h"
#include "elector/shell.h"
#include "elector/status.h"
#include "elector/survey.h"

enum { LOOK_MS = 100 };

static const int64_t answer_limit_ns = 10 * INT64_C(1000000000);

static enum role_state state_of(const struct contest *c)
{
	return (enum role_state)c->state.u.state.state;
}

static void end(struct contest *c)
{
	struct switchover *s = &c->switchover;

	rewrite_end(&s->rewrite);
	if (s->timer)
		event_del(s->timer);
	leaving_end(&s->leaving);
	s->phase = SWITCHOVER_IDLE;
	s->generation++;
}

__attribute__((format(printf, 3, 4))) static void refuse(struct contest *c, int status, const char *format, ...)
{
	char text[160];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	client_refuse(c->switchover.leaving.client, status, "%s", text);
	end(c);
}

/* ---- the name is taken out of the record again ---- */

static enum rewrite_decision decide_void(void *context, const struct tenure_election_record *r, struct tenure_edit *edit)
{
	const struct contest *c = context;

	if (r->successor[0] == '\0' || r->request != c->switchover.request)
		return REWRITE_NOTHING;
	*edit = (struct tenure_edit){.kind = TENURE_EDIT_UNNAME, .token = r->incumbent.token};
	return REWRITE_EDIT;
}

static void voided(void *context, const struct tenure_election_record *r, bool changed)
{
	struct contest *c = context;
	struct switchover *s = &c->switchover;

	(void)r;
	if (changed)
		log_info(c->config->name, "the named successor is void", "request=%" PRId64, s->request);
	refuse(c, s->status, "%s", s->why);
}

/* It stays until somebody takes office; the one answer that matters is the first. */
static void not_voided(void *context, int status, const char *why)
{
	struct contest *c = context;

	(void)status;
	(void)why;
	refuse(c, c->switchover.status, "%s", c->switchover.why);
}

static const struct rewrite_matter voiding = {.decide = decide_void, .done = voided, .failed = not_voided};

__attribute__((format(printf, 3, 4))) static void give_up(struct contest *c, int status, const char *format, ...)
{
	struct switchover *s = &c->switchover;
	va_list args;

	va_start(args, format);
	vsnprintf(s->why, sizeof s->why, format, args);
	va_end(args);
	s->status = status;
	s->phase = SWITCHOVER_VOIDING;
	s->generation++;
	rewrite_start(&s->rewrite, c, &voiding, c);
}

static void late(struct contest *c)
{
	if (c->switchover.phase == SWITCHOVER_FOLLOWING)
		refuse(c, EXIT_TRY_AGAIN, "left office; %s has not taken it yet: see status", c->switchover.target);
	else
		refuse(c, EXIT_TRY_AGAIN, "leaving office takes longer than the hooks' limits allow; see status");
}

/* ---- looks at the other member ---- */

static void look(struct contest *c);

static void on_timer(evutil_socket_t fd, short what, void *context)
{
	struct contest *c = context;

	(void)fd;
	(void)what;
	look(c);
	shell_settle(c->shell);
}

static void look_later(struct contest *c)
{
	const struct timeval pause = {.tv_usec = LOOK_MS * 1000};
	struct switchover *s = &c->switchover;

	if (!s->timer)
		s->timer = evtimer_new(c->shell->base, on_timer, c);
	if (!s->timer || event_add(s->timer, &pause) < 0)
		give_up(c, EXIT_INTERNAL, "out of memory");
}

static void leave(struct contest *c)
{
	struct switchover *s = &c->switchover;
	struct message m = {.type = MESSAGE_LEAVE, .election = c->index, .token = s->leaving.token,
			    .reason = TENURE_REASON_SWITCHOVER};

	s->phase = SWITCHOVER_LEAVING;
	log_info(c->config->name, "asked to hand over", "token=%" PRId64 " successor=%s", m.token, s->target);
	upward_put(c->shell, &m);
}

static void asked(struct contest *c, const struct elector_peer *peer)
{
	struct switchover *s = &c->switchover;

	if (s->abandoned)
		give_up(c, EXIT_TRY_AGAIN, "the operator has hung up");
	else if (!peer || !peer->waiting)
		give_up(c, EXIT_TRY_AGAIN, "%s is not a standby in the queue any more", s->target);
	else if (peer->ready_for == s->request)
		leave(c);
	else if (instant_now() - s->asked_ns >= answer_limit_ns)
		give_up(c, EXIT_TRY_AGAIN, "%s does not answer", s->target);
	else
		look_later(c);
}

/* ---- it is named ---- */

static enum rewrite_decision decide_name(void *context, const struct tenure_election_record *r, struct tenure_edit *edit)
{
	struct contest *c = context;
	struct switchover *s = &c->switchover;

	if (r->paused)
		refuse(c, EXIT_REFUSED, "the election is paused");
	else if (r->incumbent.token != s->leaving.token)
		refuse(c, EXIT_TRY_AGAIN, "the term has ended by itself");
	else if (!tenure_election_eligible(r, s->target))
		refuse(c, EXIT_REFUSED, "%s is not on the eligible list", s->target);
	else {
		*edit = (struct tenure_edit){.kind = TENURE_EDIT_NAME, .token = r->incumbent.token, .member = s->target};
		return REWRITE_EDIT;
	}
	return REWRITE_REFUSED;
}

static void named(void *context, const struct tenure_election_record *r, bool changed)
{
	struct contest *c = context;
	struct switchover *s = &c->switchover;

	(void)changed;
	s->request = r->request;
	s->phase = SWITCHOVER_ASKING;
	s->asked_ns = instant_now();
	client_progress(s->leaving.client, "asking the successor whether it is ready");
	if (bell_ring(c, s->request) < 0)
		give_up(c, EXIT_UNREACHABLE, "the connection to ZooKeeper was lost");
	else
		look_later(c);
}

static void not_named(void *context, int status, const char *why)
{
	struct contest *c = context;

	refuse(c, status, "%s", why);
}

static const struct rewrite_matter naming = {.decide = decide_name, .done = named, .failed = not_named};

static void looked_first(struct contest *c, const struct elector_peer *peer)
{
	struct switchover *s = &c->switchover;

	if (!peer) {
		refuse(c, EXIT_REFUSED, "%s is not a member of the election", s->target);
	} else if (!peer->waiting) {
		refuse(c, EXIT_REFUSED, "%s is not a healthy standby in the queue", s->target);
	} else {
		s->phase = SWITCHOVER_NAMING;
		rewrite_start(&s->rewrite, c, &naming, c);
	}
}

static void done_survey(struct contest *c, uint32_t generation, enum elector_result result, int rc,
			const struct elector_peer *peers, size_t count)
{
	struct switchover *s = &c->switchover;
	const struct elector_peer *found = NULL;

	(void)rc;
	if (generation != s->generation || (s->phase != SWITCHOVER_LOOKING && s->phase != SWITCHOVER_ASKING))
		return;
	for (size_t i = 0; i < count; i++)
		if (strcmp(peers[i].member, s->target) == 0 && (!found || peers[i].waiting))
			found = &peers[i];
	if (s->phase == SWITCHOVER_ASKING && result == ELECTOR_OK)
		asked(c, found);
	else if (s->phase == SWITCHOVER_ASKING)
		give_up(c, EXIT_UNREACHABLE, "the connection to ZooKeeper was lost");
	else if (result == ELECTOR_OK)
		looked_first(c, found);
	else
		refuse(c, EXIT_UNREACHABLE, "cannot see the other members");
}

static void done_record(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct contest *c = request->contest;
	struct switchover *s = &c->switchover;
	struct tenure_election_record r;

	(void)shell;
	if (request->generation != s->generation || s->phase != SWITCHOVER_FOLLOWING)
		return;
	if (reply->u.reply.result != PORT_OK ||
	    tenure_election_decode(reply->u.reply.data, reply->u.reply.size, &r) < 0 ||
	    r.incumbent.token == s->leaving.token || r.incumbent.phase != TENURE_PHASE_ACTIVE) {
		look_later(c);
	} else if (strcmp(r.incumbent.member, s->target) != 0) {
		refuse(c, EXIT_TRY_AGAIN, "%s has taken office instead", r.incumbent.member);
	} else {
		json_t *result = leaving_result(&s->leaving);

		json_object_set_new(result, "leader", json_string(s->target));
		json_object_set_new(result, "token", status_token(r.incumbent.token));
		client_reply(s->leaving.client, result);
		end(c);
	}
}

static void look(struct contest *c)
{
	struct switchover *s = &c->switchover;
	struct request request = {.done = done_record, .contest = c, .generation = s->generation};

	if (s->phase == SWITCHOVER_FOLLOWING) {
		/* Not connected just now: the next look may be. */
		if (ensemble_get(c->shell, &request, c->path, 0) < 0)
			look_later(c);
	} else if (survey_start(c, s->generation, false, done_survey) < 0) {
		if (s->phase == SWITCHOVER_ASKING)
			give_up(c, EXIT_UNREACHABLE, "the connection to ZooKeeper was lost");
		else
			refuse(c, EXIT_UNREACHABLE, "not connected to ZooKeeper");
	}
}

void switchover_start(struct contest *c, struct client *client, const char *target)
{
	struct switchover *s = &c->switchover;

	if (s->phase != SWITCHOVER_IDLE || c->resign.phase != RESIGN_IDLE) {
		client_refuse(client, EXIT_TRY_AGAIN, "another handoff is under way");
	} else if (!c->state_known || state_of(c) != ROLE_ACTIVE || c->state.token == 0) {
		leaving_refuse_not_leader(c, client);
	} else if (strcmp(target, c->core.config.member) == 0) {
		client_refuse(client, EXIT_REFUSED, "%s leads already", target);
	} else if (c->core.outlook.known && c->core.outlook.paused) {
		client_refuse(client, EXIT_REFUSED, "the election is paused");
	} else if (leaving_begin(&s->leaving, c, client, c->state.token, late) < 0) {
		client_refuse(client, EXIT_INTERNAL, "out of memory");
	} else {
		snprintf(s->target, sizeof s->target, "%s", target);
		s->phase = SWITCHOVER_LOOKING;
		s->abandoned = false;
		s->request = 0;
		s->generation++;
		look(c);
	}
}

void switchover_check(struct contest *c)
{
	struct switchover *s = &c->switchover;
	bool in_office;

	if (s->phase == SWITCHOVER_IDLE || s->phase == SWITCHOVER_FOLLOWING || s->phase == SWITCHOVER_VOIDING)
		return;
	in_office = leaving_in_office(&s->leaving);
	if (s->phase != SWITCHOVER_LEAVING) {
		if (in_office && state_of(c) == ROLE_ACTIVE)
			return;
		if (s->phase == SWITCHOVER_ASKING)
			give_up(c, EXIT_TRY_AGAIN, "the term has ended by itself");
		else
			refuse(c, EXIT_TRY_AGAIN, "the term has ended by itself");
		return;
	}
	leaving_progress(&s->leaving);
	if (in_office && state_of(c) == ROLE_PANIC)
		give_up(c, EXIT_INTERNAL, "the service could not be put out of office: see the log");
	if (in_office || c->core.own.czxid == s->leaving.token || c->core.term == s->leaving.token)
		return;
	client_progress(s->leaving.client, "left the queue; waiting for the successor");
	s->phase = SWITCHOVER_FOLLOWING;
	look(c);
}

void switchover_seen(struct contest *c, const struct tenure_election_record *r)
{
	struct switchover *s = &c->switchover;

	if (s->phase != SWITCHOVER_IDLE || r->successor[0] == '\0' || !c->state_known || state_of(c) != ROLE_ACTIVE ||
	    c->state.token != r->incumbent.token)
		return;
	s->request = r->request;
	give_up(c, EXIT_TRY_AGAIN, "nobody waits for it");
}

void switchover_forget(struct contest *c, const struct client *client)
{
	struct switchover *s = &c->switchover;

	if (s->phase == SWITCHOVER_IDLE || !client || s->leaving.client != client)
		return;
	s->leaving.client = NULL;
	s->abandoned = true;
}
