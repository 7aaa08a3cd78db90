/* The elector core: what the facts call for. See elector.h and elector.c. */
#include "core/elector_internal.h"

void elector_write_record(struct step *s, enum tenure_edit_kind edit, int64_t token, enum tenure_reason reason)
{
	struct elector_command *c = request(s, ELECTOR_OP_WRITE);

	if (c == NULL)
		return;
	s->e->writing = edit;
	c->edit = edit;
	c->version = s->e->record_version;
	c->token = token;
	c->reason = reason;
}

static void read_record(struct step *s)
{
	struct elector_command *c = in_flight(s->e, ELECTOR_OP_WRITE) ? NULL : request(s, ELECTOR_OP_READ);

	if (c != NULL)
		c->watch = true;
}

static void create_candidate(struct step *s)
{
	struct elector *e = s->e;
	struct elector_command *c = request(s, ELECTOR_OP_CREATE);

	if (c == NULL)
		return;
	tenure_queue_guid(e->config.agent, s->event->entropy, e->trial);
	copy_name(c->guid, e->trial, sizeof c->guid);
}

/*
 * A term that ended well is marked so, as long as the record still names it. While that write is on
 * its way the candidate may be deleted behind it: one connection keeps their order.
 */
static void settle_owed_clean(struct step *s)
{
	struct elector *e = s->e;

	if (e->owed_clean == 0 || in_flight(e, ELECTOR_OP_WRITE))
		return;
	if (!e->record_read)
		read_record(s);
	else if (e->outlook.incumbent.token != e->owed_clean || e->outlook.incumbent.clean != TENURE_CLEAN_NO)
		e->owed_clean = 0;
	else
		elector_write_record(s, TENURE_EDIT_CLEAN, e->owed_clean, TENURE_REASON_NONE);
}

static void leave_queue(struct step *s)
{
	struct elector *e = s->e;
	bool clean_sent = e->owed_clean == 0 || (in_flight(e, ELECTOR_OP_WRITE) && e->writing == TENURE_EDIT_CLEAN);

	/* While a create is open it is not sure yet which of the two is ours to delete. */
	if (clean_sent && e->trial[0] == '\0')
		request_on(s, ELECTOR_OP_DELETE, e->own.name);
}

static enum tenure_reason taking_reason(const struct elector *e)
{
	const struct tenure_incumbent *last = &e->outlook.incumbent;

	if (strcmp(e->successor, e->config.member) == 0)
		return TENURE_REASON_SWITCHOVER;
	if (last->member[0] != '\0' && last->clean == TENURE_CLEAN_YES && strcmp(last->member, e->config.member) != 0)
		return TENURE_REASON_HANDOFF;
	return TENURE_REASON_ELECTION;
}

static void lead(struct step *s)
{
	struct elector *e = s->e;
	struct elector_command *c;

	e->term = e->own.czxid;
	e->term_lost = false;
	e->limits = 0;
	forget_note(e, ELECTOR_NOTE_BLOCKED);
	c = say(s, ELECTOR_DO_LEAD);
	c->token = e->term;
	c->reason = e->taking_reason;
}

static void take_office(struct step *s)
{
	struct elector *e = s->e;

	assert(elector_may_follow(e));
	e->previous = e->outlook.incumbent;
	e->taking_reason = taking_reason(e);
	e->tried = true;
	elector_write_record(s, TENURE_EDIT_TAKE, e->own.czxid, e->taking_reason);
}

static bool may_step_back(const struct elector *e)
{
	/* A record that names us is marked clean before our candidate goes: that is leaving, not stepping back. */
	return !(e->stepped && e->stepped_for == e->outlook.incumbent.token) && !e->committed &&
	       e->trial[0] == '\0' && e->former[0] == '\0' && !in_flight(e, ELECTOR_OP_OWNER);
}

/* A new candidate at the end of the queue; the present one is then a leftover of ours and is removed. */
bool elector_step_back(struct step *s, enum elector_note why)
{
	struct elector *e = s->e;

	if (!may_step_back(e))
		return false;
	e->stepped = true;
	e->stepped_for = e->outlook.incumbent.token;
	forget_note(e, why);
	note(s, why, NULL);
	create_candidate(s);
	return true;
}

void elector_survey(struct step *s, enum elector_survey what)
{
	struct elector_command *c = request(s, ELECTOR_OP_SURVEY);

	if (c == NULL)
		return;
	s->e->survey = what;
	c->mark = what == ELECTOR_SURVEY_MARK;
}

static void make_way(struct step *s)
{
	struct elector *e = s->e;

	forget_note(e, ELECTOR_NOTE_LIMIT);
	note(s, ELECTOR_NOTE_LIMIT, elector_blocker_name(e->blocker));
	elector_withdraw(e);
	e->limits++;
	e->join_at_ns = s->now_ns + backoff_ns(e, e->limits);
	settle_owed_clean(s);
	leave_queue(s);
}

/* First, and not taking office: is there somebody better behind us? */
static void consider_others(struct step *s)
{
	struct elector *e = s->e;

	if (e->blocker == ELECTOR_BLOCKED_TOKEN) {
		if (!elector_step_back(s, ELECTOR_NOTE_STEP_BACK))
			note(s, ELECTOR_NOTE_TOKEN_REGRESSED, NULL);
		return;
	}
	if (e->blocker != ELECTOR_BLOCKED_NOT_ELIGIBLE && e->blocker != ELECTOR_BLOCKED_NAMED_OTHER)
		return;
	if (!e->surveyed || s->now_ns >= e->survey_at_ns)
		elector_survey(s, ELECTOR_SURVEY_OTHERS);
	else if (e->better)
		elector_step_back(s, ELECTOR_NOTE_STEP_BACK);
	else
		note(s, ELECTOR_NOTE_NOBODY_ELIGIBLE, NULL);
}

/* Blocked: what it is, and since when it counts. */
static void be_blocked(struct step *s)
{
	struct elector *e = s->e;
	bool held_back = e->blocker == ELECTOR_BLOCKED_PAUSED || e->blocker == ELECTOR_BLOCKED_HELD ||
			 e->blocker == ELECTOR_BLOCKED_DELAY ||
			 (e->blocker == ELECTOR_BLOCKED_SCORE && elector_settles(e, s->now_ns));

	if (e->blocker != e->blocker_noted)
		forget_note(e, ELECTOR_NOTE_BLOCKED);
	e->blocker_noted = e->blocker;
	note(s, ELECTOR_NOTE_BLOCKED, elector_blocker_name(e->blocker));
	if (held_back)
		e->first_since_ns = 0;
	else if (e->first_since_ns == 0 && !e->fencing)
		e->first_since_ns = s->now_ns;
}

static void be_first(struct step *s)
{
	struct elector *e = s->e;

	if (!e->record_read || !e->record_watched)
		read_record(s);
	if (!e->record_read || !e->own_checked)
		return;
	if (in_flight(e, ELECTOR_OP_WRITE) || e->trial[0] != '\0')
		return;
	e->blocker = elector_blocker_of(s);
	if (e->blocker == ELECTOR_CLEAR) {
		if (e->committed)
			lead(s);
		else
			take_office(s);
		return;
	}
	be_blocked(s);
	if (s->now_ns >= limit_at(e))
		make_way(s);
	else if (e->blocker == ELECTOR_BLOCKED_FENCE)
		elector_fence(s);
	else if (e->blocker == ELECTOR_BLOCKED_SCORE)
		elector_heed_scores(s);
	else
		consider_others(s);
}

static void watch(struct step *s, const char *name)
{
	struct elector *e = s->e;

	if (strcmp(e->watched, name) == 0 || in_flight(e, ELECTOR_OP_WATCH))
		return;
	forget_note(e, ELECTOR_NOTE_NOT_EPHEMERAL);
	copy_name(e->watched, name, sizeof e->watched);
	e->watched_czxid = 0;
	e->watched_ephemeral = false;
	e->asks_before = false;
	request_on(s, ELECTOR_OP_WATCH, name);
}

/*
 * The one before the predecessor as well: when it goes we move up, perhaps to second place, where
 * heartbeats begin. So two wake per departure, and who takes office next has its lease proven by then.
 */
static void watch_before(struct step *s, const char *name)
{
	struct elector *e = s->e;

	if (name[0] == '\0' || strcmp(e->watched_before, name) == 0 || in_flight(e, ELECTOR_OP_WATCH))
		return;
	copy_name(e->watched_before, name, sizeof e->watched_before);
	e->asks_before = true;
	request_on(s, ELECTOR_OP_WATCH, name);
}

static void remove_leftover(struct step *s)
{
	struct elector *e = s->e;

	e->swept = true;
	if (e->view.leftover[0] == '\0' || strcmp(e->view.leftover, e->ghost) == 0 || e->former[0] != '\0' ||
	    in_flight(e, ELECTOR_OP_OWNER))
		return;
	forget_note(e, ELECTOR_NOTE_LEFTOVER);
	note(s, ELECTOR_NOTE_LEFTOVER, e->view.leftover);
	copy_name(e->asked, e->view.leftover, sizeof e->asked);
	request_on(s, ELECTOR_OP_OWNER, e->asked);
}

static void be_queued(struct step *s)
{
	struct elector *e = s->e;

	if (!e->own_checked)
		request_on(s, ELECTOR_OP_CHECK, e->own.name);
	if (!e->listed) {
		request(s, ELECTOR_OP_LIST);
		return;
	}
	if (e->view.position == 0) {
		e->own_checked = false;
		e->listed = false;
		e->retry_at_ns = s->now_ns + e->config.backoff_ns;
		return;
	}
	remove_leftover(s);
	if (e->term != 0)
		return;
	if (e->view.position == 1) {
		be_first(s);
		return;
	}
	e->first_since_ns = 0;
	/* Who is second keeps the record ready: it takes office next, and the leaver's mark comes before its end. */
	if (e->view.position == 2 && (!e->record_read || !e->record_watched))
		read_record(s);
	/* To tell who came first, our own czxid must be known. */
	if (!e->view.doubtful || e->own.czxid != 0) {
		watch(s, e->view.predecessor);
		watch_before(s, e->view.before);
	}
}

/* In office: keep the record's watch, and say so there when the gain hook has succeeded. */
static void be_in_office(struct step *s)
{
	struct elector *e = s->e;

	if (!e->record_read || !e->record_watched)
		read_record(s);
	if (e->record_read && e->activate && e->outlook.incumbent.token == e->term && !in_flight(e, ELECTOR_OP_WRITE)) {
		if (e->outlook.incumbent.phase == TENURE_PHASE_ACTIVE)
			e->activate = false;
		else
			elector_write_record(s, TENURE_EDIT_ACTIVE, e->term, TENURE_REASON_NONE);
	}
}

/* Not in the queue, but to follow a leader one must know whether it is still there. */
static void look_on(struct step *s)
{
	struct elector *e = s->e;

	if (!e->record_read || !e->record_watched)
		read_record(s);
	if (holds_candidate(e) || e->trial[0] != '\0')
		return;
	if (!e->listed)
		request(s, ELECTOR_OP_LIST);
	else if (e->view.first[0] != '\0')
		watch(s, e->view.first);
}

/* What a member that holds nothing has left in the queue before a crash goes before it joins. */
static void sweep(struct step *s)
{
	struct elector *e = s->e;

	if (holds_candidate(e) || e->trial[0] != '\0')
		return;
	if (e->listed)
		remove_leftover(s);
	else if (!e->swept)
		request(s, ELECTOR_OP_LIST);
}

static bool joins_now(const struct elector *e, int64_t now_ns)
{
	bool wanted = e->stand && e->fits && e->term == 0 && now_ns >= e->join_at_ns;
	bool cleared = e->swept && e->former[0] == '\0' && !in_flight(e, ELECTOR_OP_OWNER);

	return wanted && cleared && !holds_candidate(e) && e->trial[0] == '\0';
}

void elector_advance(struct step *s)
{
	struct elector *e = s->e;

	if (!e->up || s->now_ns < e->retry_at_ns)
		return;
	e->retry_at_ns = 0;
	if (!e->parents_made) {
		request(s, ELECTOR_OP_PARENTS);
		return;
	}
	settle_owed_clean(s);
	if (e->former[0] != '\0')
		request_on(s, ELECTOR_OP_PURGE, e->former);
	sweep(s);
	if (joins_now(e, s->now_ns))
		create_candidate(s);
	if (e->trial[0] != '\0' && !in_flight(e, ELECTOR_OP_CREATE) && !e->listed)
		request(s, ELECTOR_OP_LIST);
	if (e->term != 0)
		be_in_office(s);
	if (holds_candidate(e)) {
		if (e->term == 0 && (e->withdraw || !e->stand || !e->fits)) {
			elector_withdraw(e);
			leave_queue(s);
		} else {
			be_queued(s);
		}
	}
	if (e->config.follows)
		look_on(s);
}
