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
#include "elector/survey.h"

enum {
	LOOK_MS = 500,
	LOOKS_MAX = 180,
};

static void end(struct amend *a)
{
	rewrite_end(&a->rewrite);
	if (a->timer)
		event_del(a->timer);
	*a = (struct amend){.timer = a->timer, .rewrite = a->rewrite};
}

static void refuse(void *context, int status, const char *text)
{
	struct amend *a = context;

	client_refuse(a->client, status, "%s", text);
	end(a);
}

static json_t *list_of(const char (*names)[TENURE_MEMBER_SIZE], size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < count; i++)
		json_array_append_new(list, json_string(names[i]));
	return list;
}

/* What the record says now. UNKNOWN: who on the list is nowhere to be seen. Takes both lists; the second may be NULL. */
static void succeed(struct amend *a, bool changed, bool paused, json_t *eligible, json_t *unknown)
{
	client_reply(a->client, json_pack("{s:b, s:b, s:o?, s:o*}", "changed", changed, "paused", paused, "eligible",
					  eligible, "unknown", unknown));
	end(a);
}

/* ---- who on a new list is a member ---- */

static bool is_peer(const char *member, const struct elector_peer *peers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(peers[i].member, member) == 0)
			return true;
	return false;
}

static void surveyed(struct contest *c, uint32_t generation, enum elector_result result, int rc,
		     const struct elector_peer *peers, size_t count)
{
	struct amend *a = &c->amends[generation % AMENDS_MAX];
	json_t *unknown = NULL;

	(void)rc;
	if (!a->active || a->survey != generation)
		return;
	/* Of a crowd not everybody was looked at. */
	if (result == ELECTOR_OK && count < SURVEY_PEERS_MAX)
		unknown = json_array();
	for (size_t i = 0; unknown && i < a->members.count; i++)
		if (!is_peer(a->members.names[i], peers, count))
			json_array_append_new(unknown, json_string(a->members.names[i]));
	succeed(a, true, a->paused, list_of(a->members.names, a->members.count), unknown);
}

/* The list stands. A name that nobody has is perhaps a member's that is down, perhaps a slip of the pen. */
static void look_for_members(struct amend *a, bool paused)
{
	struct contest *c = a->contest;

	a->paused = paused;
	a->survey = c->amend_surveys++ * AMENDS_MAX + (uint32_t)(a - c->amends);
	if (survey_start(c, a->survey, false, surveyed) < 0)
		succeed(a, true, paused, list_of(a->members.names, a->members.count), NULL);
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
static bool list_is_not_ours(struct amend *a, const struct tenure_election_record *r)
{
	const struct contest *c = a->contest;
	bool ours = c->state_known && c->state.token != 0 && c->state.token == r->incumbent.token;

	if (ours && a->members.count > 0 && !names(&a->members, c->core.config.member)) {
		refuse(a, EXIT_REFUSED, "this member leads and is not on that list");
		return true;
	}
	/* Nobody leads: without the list somebody may. */
	if (ours || (a->members.count == 0 && (a->force || !may_lead(c, r))))
		return false;
	if (may_lead(c, r))
		client_refuse(a->client, EXIT_REFUSED, "only the leader changes the list; that is %s", r->incumbent.member);
	else
		client_refuse(a->client, EXIT_REFUSED, "only a leader sets the list, and nobody leads; --clear works");
	end(a);
	return true;
}

static void log_change(const struct amend *a)
{
	const char *election = a->contest->config->name;

	if (a->command == CONTROL_PAUSE)
		log_warning(election, "an operator pauses the election: nobody takes office", " ");
	else if (a->command == CONTROL_RESUME)
		log_warning(election, "an operator resumes the election", " ");
	else
		log_info(election, "the list of eligible members is changed", "members=%zu", a->members.count);
}

static const struct rewrite_matter matter;

static void look_again(evutil_socket_t fd, short what, void *context)
{
	struct amend *a = context;
	struct shell *shell = a->contest->shell;

	(void)fd;
	(void)what;
	if (!a->client)
		end(a);
	else if (++a->looks == LOOKS_MAX)
		refuse(a, EXIT_TRY_AGAIN, "resumed; the member that rode out the pause has not answered: see status, and forget");
	else
		rewrite_start(&a->rewrite, a->contest, &matter, a);
	shell_settle(shell);
}

static void wait_for_incumbent(struct amend *a)
{
	const struct timeval pause = {.tv_usec = LOOK_MS * 1000};

	if (!a->timer)
		a->timer = evtimer_new(a->contest->shell->base, look_again, a);
	client_progress(a->client, "waiting for the member that rode out the pause");
	if (!a->timer || event_add(a->timer, &pause) < 0)
		refuse(a, EXIT_INTERNAL, "out of memory");
}

/* ---- the rewrite ---- */

static enum rewrite_decision decide(void *context, const struct tenure_election_record *r, struct tenure_edit *edit)
{
	static const char *list[TENURE_ELIGIBLE_MAX];
	struct amend *a = context;

	if (nothing_to_do(a, r))
		return REWRITE_NOTHING;
	if (a->command == CONTROL_ELIGIBLE && list_is_not_ours(a, r))
		return REWRITE_REFUSED;
	for (size_t i = 0; i < a->members.count; i++)
		list[i] = a->members.names[i];
	*edit = (struct tenure_edit){.kind = a->command == CONTROL_PAUSE	 ? TENURE_EDIT_PAUSE :
					     a->command == CONTROL_RESUME ? TENURE_EDIT_RESUME :
									    TENURE_EDIT_ELIGIBLE,
				     .token = r->incumbent.token, .eligible = list, .eligible_count = a->members.count};
	return REWRITE_EDIT;
}

static void done(void *context, const struct tenure_election_record *r, bool changed)
{
	struct amend *a = context;

	if (changed)
		log_change(a);
	if (a->command == CONTROL_RESUME && r->held != 0)
		wait_for_incumbent(a);
	else if (changed && a->members.count > 0 && a->client)
		look_for_members(a, r->paused);
	else
		succeed(a, changed || a->looks > 0, r->paused, list_of(r->eligible, r->eligible_count), NULL);
}

static const struct rewrite_matter matter = {.decide = decide, .done = done, .failed = refuse};

void amend_start(struct contest *c, struct client *client, const struct control_line *line)
{
	struct amend *a = c->amends;

	while (a < c->amends + AMENDS_MAX && a->active)
		a++;
	if (a == c->amends + AMENDS_MAX) {
		client_refuse(client, EXIT_TRY_AGAIN, "other changes to the election are under way");
		return;
	}
	a->active = true;
	a->contest = c;
	a->client = client;
	a->command = line->command;
	a->force = line->force;
	a->members = line->members;
	a->changes = line->has_members;
	client_wait(client);
	rewrite_start(&a->rewrite, c, &matter, a);
}

void amend_forget(struct contest *c, const struct client *client)
{
	for (struct amend *a = c->amends; a < c->amends + AMENDS_MAX; a++)
		if (a->client == client)
			a->client = NULL;
}
