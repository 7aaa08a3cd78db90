/* An operator's change to the election record. See amend.h. */
#include "elector/amend.h"

#include <event2/event.h>
#include <jansson.h>
#include <string.h>

#include "common/control.h"
#include "common/log.h"
#include "elector/contest.h"
#include "elector/control.h"
#include "elector/shell.h"

enum {
	LOOK_MS = 500,
	LOOKS_MAX = 180,
};

static void end(struct contest *c)
{
	struct amend *a = &c->amend;

	rewrite_end(&a->rewrite);
	if (a->timer)
		event_del(a->timer);
	*a = (struct amend){.timer = a->timer, .rewrite = a->rewrite};
}

static void refuse(struct contest *c, int status, const char *text)
{
	client_refuse(c->amend.client, status, "%s", text);
	end(c);
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

static const struct rewrite_matter matter;

static void look_again(evutil_socket_t fd, short what, void *context)
{
	struct contest *c = context;

	(void)fd;
	(void)what;
	if (++c->amend.looks == LOOKS_MAX)
		refuse(c, EXIT_TRY_AGAIN, "resumed; the member that rode out the pause has not answered: see status, and forget");
	else
		rewrite_start(&c->amend.rewrite, c, &matter);
	shell_settle(c->shell);
}

static void wait_for_incumbent(struct contest *c)
{
	const struct timeval pause = {.tv_usec = LOOK_MS * 1000};

	if (!c->amend.timer)
		c->amend.timer = evtimer_new(c->shell->base, look_again, c);
	client_progress(c->amend.client, "waiting for the member that rode out the pause");
	if (!c->amend.timer || event_add(c->amend.timer, &pause) < 0)
		refuse(c, EXIT_INTERNAL, "out of memory");
}

/* ---- the rewrite ---- */

static enum rewrite_decision decide(struct contest *c, const struct tenure_election_record *r, struct tenure_edit *edit)
{
	static const char *list[TENURE_ELIGIBLE_MAX];
	const struct amend *a = &c->amend;

	if (nothing_to_do(a, r))
		return REWRITE_NOTHING;
	if (a->command == CONTROL_ELIGIBLE && list_is_not_ours(c, r))
		return REWRITE_REFUSED;
	for (size_t i = 0; i < a->members.count; i++)
		list[i] = a->members.names[i];
	*edit = (struct tenure_edit){.kind = a->command == CONTROL_PAUSE	 ? TENURE_EDIT_PAUSE :
					     a->command == CONTROL_RESUME ? TENURE_EDIT_RESUME :
									    TENURE_EDIT_ELIGIBLE,
				     .token = r->incumbent.token, .eligible = list, .eligible_count = a->members.count};
	return REWRITE_EDIT;
}

static void done(struct contest *c, const struct tenure_election_record *r, bool changed)
{
	if (changed)
		log_change(c);
	if (c->amend.command == CONTROL_RESUME && r->held != 0)
		wait_for_incumbent(c);
	else
		succeed(c, r, changed || c->amend.looks > 0);
}

static const struct rewrite_matter matter = {.decide = decide, .done = done, .failed = refuse};

void amend_start(struct contest *c, struct client *client, const struct control_line *line)
{
	struct amend *a = &c->amend;

	if (a->active) {
		client_refuse(client, EXIT_TRY_AGAIN, "another change to the election is under way");
		return;
	}
	a->active = true;
	a->client = client;
	a->command = line->command;
	a->force = line->force;
	a->members = line->members;
	a->changes = line->has_members;
	client_wait(client);
	rewrite_start(&a->rewrite, c, &matter);
}

void amend_forget(struct contest *c, const struct client *client)
{
	if (c->amend.client == client)
		c->amend.client = NULL;
}
