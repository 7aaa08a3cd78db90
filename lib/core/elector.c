/*
 * The elector core. See elector.h.
 *
 * An event only records what has become known. advance() then looks at the whole and asks for what
 * is missing and not yet under way, so that a lost reply, a reconnect or a fired watch needs no path
 * of its own: it makes something unknown again.
 */
#include "core/elector.h"

#include <assert.h>
#include <string.h>

#define NS_PER_S INT64_C(1000000000)

struct step {
	struct elector *e;
	const struct elector_event *event;
	struct elector_update *update;
	int64_t now_ns;
};

static const char *const blocker_names[] = {
	[ELECTOR_CLEAR] = "none",
	[ELECTOR_BLOCKED_PAUSED] = "the election is paused",
	[ELECTOR_BLOCKED_HELD] = "the incumbent rides out a pause",
	[ELECTOR_BLOCKED_NOT_ELIGIBLE] = "not on the eligible list",
	[ELECTOR_BLOCKED_NAMED_OTHER] = "another member is the named successor",
	[ELECTOR_BLOCKED_TOKEN] = "our token is not above the last leader's",
	[ELECTOR_BLOCKED_LEASE] = "the lease is not proven far enough",
};

const char *elector_blocker_name(enum elector_blocker blocker)
{
	return blocker_names[blocker];
}

static void copy_name(char *to, const char *from, size_t size)
{
	size_t length = strnlen(from, size - 1);

	memcpy(to, from, length);
	memset(to + length, 0, size - length);
}

static struct elector_command *say(struct step *s, enum elector_command_type type)
{
	struct elector_command *c;

	assert(s->update->count < ELECTOR_COMMANDS_MAX);
	c = &s->update->commands[s->update->count++];
	memset(c, 0, sizeof *c);
	c->type = type;
	return c;
}

/* Said once; forget_note() makes it news again. */
static void note_rc(struct step *s, enum elector_note note, const char *subject, enum elector_op op, int rc)
{
	struct elector_command *c;

	if (s->e->noted[note])
		return;
	s->e->noted[note] = true;
	c = say(s, ELECTOR_DO_NOTE);
	c->note = note;
	c->subject = subject;
	c->op = op;
	c->rc = rc;
}

static void note(struct step *s, enum elector_note n, const char *subject)
{
	note_rc(s, n, subject, ELECTOR_OP_COUNT, 0);
}

static void forget_note(struct elector *e, enum elector_note n)
{
	e->noted[n] = false;
}

static bool in_flight(const struct elector *e, enum elector_op op)
{
	return e->pending[op] != 0;
}

/* A request, unless one of its kind is already under way: then NULL. */
static struct elector_command *request(struct step *s, enum elector_op op)
{
	struct elector_command *c;

	if (in_flight(s->e, op))
		return NULL;
	if (++s->e->generation == 0)
		s->e->generation = 1;
	s->e->pending[op] = s->e->generation;
	c = say(s, ELECTOR_DO_REQUEST);
	c->op = op;
	c->generation = s->e->generation;
	return c;
}

static void request_on(struct step *s, enum elector_op op, const char *name)
{
	struct elector_command *c = request(s, op);

	if (c != NULL)
		copy_name(c->name, name, sizeof c->name);
}

static int64_t backoff_ns(const struct elector *e, unsigned failures)
{
	int64_t wait_ns = e->config.backoff_ns;

	for (unsigned i = 1; i < failures && wait_ns < e->config.backoff_max_ns; i++)
		wait_ns *= 2;
	return wait_ns < e->config.backoff_max_ns ? wait_ns : e->config.backoff_max_ns;
}

static bool holds_candidate(const struct elector *e)
{
	return e->own.name[0] != '\0';
}

static bool first_in_queue(const struct elector *e)
{
	return holds_candidate(e) && e->listed && e->view.position == 1;
}

/* The state is what the facts amount to; nothing sets it by itself. */
static enum elector_state state_of(const struct elector *e)
{
	if (e->term != 0)
		return ELECTOR_OFFICE;
	if (holds_candidate(e) && e->withdraw)
		return ELECTOR_LEAVING;
	if (e->committed || (in_flight(e, ELECTOR_OP_WRITE) && e->writing == TENURE_EDIT_TAKE))
		return ELECTOR_TAKING;
	if (holds_candidate(e))
		return ELECTOR_QUEUED;
	return e->trial[0] != '\0' ? ELECTOR_JOINING : ELECTOR_OUT;
}

/* ---- what becomes known ---- */

static void own_forgotten(struct elector *e)
{
	memset(&e->own, 0, sizeof e->own);
	memset(&e->view, 0, sizeof e->view);
	e->behind[0] = '\0';
	e->own_checked = false;
	e->withdraw = false;
	e->tried = false;
	e->committed = false;
	e->listed = false;
	e->watched[0] = '\0';
	e->watched_before[0] = '\0';
	e->first_since_ns = 0;
	e->outlook.position = 0;
}

static void term_over(struct step *s, enum tenure_reason reason)
{
	struct elector_command *c;

	if (s->e->term == 0 || s->e->term_lost)
		return;
	s->e->term_lost = true;
	c = say(s, ELECTOR_DO_LOST);
	c->token = s->e->term;
	c->reason = reason;
}

/* A record that names us although nobody was told to lead names nobody who has to be fenced. */
static void owe_clean(struct elector *e)
{
	if (e->tried && e->term == 0 && e->owed_clean == 0)
		e->owed_clean = e->own.czxid;
	e->tried = false;
	e->committed = false;
}

/* Our candidate is to go. */
static void withdraw(struct elector *e)
{
	if (!e->withdraw)
		owe_clean(e);
	e->withdraw = true;
}

/* Our candidate is gone, and not by our own doing. */
static void own_lost(struct step *s, enum tenure_reason reason)
{
	struct elector *e = s->e;

	term_over(s, reason);
	owe_clean(e);
	own_forgotten(e);
	e->parents_made = false; /* perhaps all of the path was deleted */
	say(s, ELECTOR_DO_CANDIDATE);
}

static void on_up(struct step *s)
{
	struct elector *e = s->e;

	e->up = true;
	e->session_id = s->event->u.up.session_id;
	e->timeout_ns = s->event->u.up.timeout_ns;
	e->fits = tenure_budget_fits(&e->config.budget, e->timeout_ns);
	if (e->fits)
		forget_note(e, ELECTOR_NOTE_UNFIT);
	else
		note(s, ELECTOR_NOTE_UNFIT, NULL);
	e->swept = false;
	e->retry_at_ns = 0;
}

/* What was asked is open again, what was seen is stale, and no watch is sure to be set. */
static void on_down(struct elector *e)
{
	e->up = false;
	memset(e->pending, 0, sizeof e->pending);
	e->own_checked = false;
	e->listed = false;
	e->watched[0] = '\0';
	e->watched_before[0] = '\0';
	e->record_read = false;
	e->record_watched = false;
	e->surveyed = false;
	e->outlook.known = false;
}

static void on_gone(struct step *s)
{
	struct elector *e = s->e;

	on_down(e);
	e->trial[0] = '\0';
	e->former[0] = '\0';
	e->session_id = 0;
	e->lease_ns = 0;
	e->parents_made = false; /* our member record went with the session */
	e->ghost[0] = '\0';
	if (holds_candidate(e))
		own_lost(s, TENURE_REASON_SESSION);
}

static void on_give_up(struct elector *e, int64_t token)
{
	e->stand = false;
	e->owes_left = true;
	e->owed_clean = token;
	e->activate = false;
	e->limits = 0;
	e->retry_at_ns = 0;
	if (e->term == token) {
		e->term = 0;
		e->term_lost = false;
	}
	if (holds_candidate(e) && e->own.czxid == token) {
		e->tried = false;
		e->committed = false;
		e->withdraw = true;
	}
}

static void on_stand(struct elector *e, bool stand)
{
	e->stand = stand;
	if (stand)
		return;
	e->owes_left = true;
	e->retry_at_ns = 0;
	if (holds_candidate(e) && e->term == 0)
		withdraw(e);
}

static void record_known(struct step *s, const struct elector_done *done)
{
	struct elector *e = s->e;
	const struct tenure_election_record *r = done->record;

	e->record_read = true;
	if (e->record_version != done->version)
		e->surveyed = false; /* it was made for another successor or list */
	e->record_version = done->version;
	if (r->incumbent.clean != TENURE_CLEAN_UNKNOWN)
		forget_note(e, ELECTOR_NOTE_RECORD_UNREADABLE);
	else
		note(s, ELECTOR_NOTE_RECORD_UNREADABLE, NULL);
	/* Who looks on at an empty queue has no watch there: a new incumbent is not in that listing yet. */
	if (!holds_candidate(e) && e->outlook.incumbent.token != r->incumbent.token)
		e->listed = false;
	e->held = r->held != 0;
	copy_name(e->successor, r->successor, sizeof e->successor);
	e->outlook.known = true;
	e->outlook.incumbent = r->incumbent;
	e->outlook.paused = r->paused;
	e->outlook.eligible = tenure_election_eligible(r, e->config.member);
	e->outlook.transitions = r->transitions;

	/* A write whose reply was lost: our token in the record means that it was done. */
	if (e->term == 0)
		e->committed = holds_candidate(e) && !e->withdraw && e->own.czxid != 0 &&
			       r->incumbent.token == e->own.czxid && r->incumbent.clean == TENURE_CLEAN_NO;
	e->tried = e->tried || e->committed;
	if (e->term != 0 && r->incumbent.token > e->term) {
		note(s, ELECTOR_NOTE_USURPED, e->outlook.incumbent.member);
		term_over(s, TENURE_REASON_SESSION);
	}
}

/* A candidate of our session is there: it takes the place of the one before, which is to be removed. */
static void replace_own(struct elector *e, const char *name, int64_t czxid)
{
	if (holds_candidate(e))
		copy_name(e->former, e->own.name, sizeof e->former);
	copy_name(e->own.name, name, sizeof e->own.name);
	copy_name(e->own.guid, e->trial, sizeof e->own.guid);
	e->own.czxid = czxid;
	e->own_checked = false;
	e->behind[0] = '\0';
	e->tried = false;
	e->committed = false;
}

/* The create whose reply was lost: it is there, and ours, or it was never made. */
static void trial_known(struct elector *e)
{
	if (e->view.position > 0) {
		replace_own(e, e->view.own, 0);
	} else {
		/* The candidate we still hold, if any, has not been looked for yet. */
		e->listed = !holds_candidate(e);
	}
	e->trial[0] = '\0';
}

static void listing_known(struct step *s, const struct elector_done *done)
{
	struct elector *e = s->e;
	bool trying = e->trial[0] != '\0' && !in_flight(e, ELECTOR_OP_CREATE);
	const char *guid = trying ? e->trial : e->own.guid;

	tenure_queue_scan(done->names, done->name_count, guid, e->config.agent, &e->view);
	tenure_queue_settle(done->names, done->name_count, trying ? "" : e->behind, &e->view);
	if (e->term != 0 && e->view.doubtful)
		e->view.position = 1; /* whoever is in office came first */
	e->listed = true;
	if (e->view.strangers > 0)
		note(s, ELECTOR_NOTE_STRANGER, e->view.stranger);
	else
		forget_note(e, ELECTOR_NOTE_STRANGER);
	if (e->view.foreign[0] != '\0')
		note(s, ELECTOR_NOTE_FOREIGN, e->view.foreign);
	else
		forget_note(e, ELECTOR_NOTE_FOREIGN);
	if (trying)
		trial_known(e);
	if (!e->listed)
		return;
	e->outlook.members = e->view.candidates;
	e->outlook.position = holds_candidate(e) ? e->view.position : 0;
}

static void created(struct step *s, const struct elector_done *done)
{
	struct elector *e = s->e;

	replace_own(e, done->name, done->czxid);
	e->trial[0] = '\0';
	e->listed = false;
	e->failures = 0;
	say(s, ELECTOR_DO_CANDIDATE);
}

static void checked(struct step *s, const struct elector_done *done)
{
	struct elector *e = s->e;
	bool ours = done->owner == e->session_id && (e->own.czxid == 0 || e->own.czxid == done->czxid);

	if (!ours) {
		own_lost(s, TENURE_REASON_ZNODE_DELETED);
		return;
	}
	e->own_checked = true;
	if (e->own.czxid == 0) {
		e->own.czxid = done->czxid;
		say(s, ELECTOR_DO_CANDIDATE);
	}
}

static void written(struct step *s, const struct elector_done *done)
{
	struct elector *e = s->e;

	switch (e->writing) {
	case TENURE_EDIT_TAKE:
		break; /* record_known() sees our token */
	case TENURE_EDIT_ACTIVE:
		e->activate = false;
		break;
	case TENURE_EDIT_CLEAN:
		e->owed_clean = 0;
		break;
	}
	record_known(s, done);
}

static void surveyed(struct elector *e, const struct elector_done *done, const struct elector_event *event)
{
	bool named = e->successor[0] != '\0' && strcmp(e->successor, e->config.member) != 0;

	e->surveyed = true;
	e->better = false;
	e->survey_at_ns = event->now_ns + e->timeout_ns / 4;
	for (size_t i = 0; i < done->peer_count; i++) {
		const struct elector_peer *peer = &done->peers[i];
		if (peer->waiting && strcmp(peer->member, e->config.member) != 0 &&
		    (named ? strcmp(peer->member, e->successor) == 0 : peer->eligible))
			e->better = true;
	}
}

static void watching(struct step *s, const struct elector_done *done)
{
	struct elector *e = s->e;

	if (e->asks_before)
		return;
	e->watched_czxid = done->czxid;
	if (e->view.doubtful && strcmp(e->watched, e->view.predecessor) == 0 && done->czxid > e->own.czxid) {
		copy_name(e->behind, e->watched, sizeof e->behind);
		e->watched[0] = '\0';
		e->listed = false;
		return;
	}
	if (done->owner == 0)
		note(s, ELECTOR_NOTE_NOT_EPHEMERAL, e->watched);
}

static void request_failed(struct step *s, const struct elector_done *done)
{
	struct elector *e = s->e;

	if (done->result == ELECTOR_NOAUTH)
		note_rc(s, ELECTOR_NOTE_NOAUTH, NULL, done->op, done->rc);
	else if (done->result == ELECTOR_REFUSED)
		note_rc(s, ELECTOR_NOTE_REFUSED, NULL, done->op, done->rc);
	/* A definite no to a create leaves nothing open. */
	if (done->op == ELECTOR_OP_CREATE && done->result != ELECTOR_UNKNOWN)
		e->trial[0] = '\0';
	else if (done->op == ELECTOR_OP_CREATE)
		e->listed = false;
	/* Who may not write the record cannot mark it either, and must not block the queue for that. */
	if ((done->op == ELECTOR_OP_READ || done->op == ELECTOR_OP_WRITE) && done->result != ELECTOR_UNKNOWN &&
	    e->owed_clean != 0) {
		e->owed_clean = 0;
		return;
	}
	/* Nor is it a candidate. */
	if (done->result == ELECTOR_NOAUTH && (done->op == ELECTOR_OP_READ || done->op == ELECTOR_OP_WRITE) &&
	    e->term == 0 && holds_candidate(e)) {
		withdraw(e);
		e->join_at_ns = s->now_ns + e->config.backoff_max_ns;
	}
	e->failures++;
	e->retry_at_ns = s->now_ns + backoff_ns(e, e->failures);
}

static void on_done_ok(struct step *s, const struct elector_done *done)
{
	struct elector *e = s->e;

	e->failures = 0;
	switch (done->op) {
	case ELECTOR_OP_PARENTS:
		e->parents_made = true;
		forget_note(e, ELECTOR_NOTE_NOAUTH);
		forget_note(e, ELECTOR_NOTE_REFUSED);
		break;
	case ELECTOR_OP_CREATE:
		created(s, done);
		break;
	case ELECTOR_OP_LIST:
		listing_known(s, done);
		break;
	case ELECTOR_OP_WATCH:
		watching(s, done);
		break;
	case ELECTOR_OP_CHECK:
		checked(s, done);
		break;
	case ELECTOR_OP_OWNER:
		if (done->owner != e->session_id)
			copy_name(e->ghost, e->asked, sizeof e->ghost);
		else if (strcmp(e->asked, e->own.name) != 0)
			copy_name(e->former, e->asked, sizeof e->former);
		break;
	case ELECTOR_OP_DELETE:
		own_forgotten(e);
		say(s, ELECTOR_DO_CANDIDATE);
		break;
	case ELECTOR_OP_PURGE:
		e->former[0] = '\0';
		e->listed = false;
		e->swept = false;
		break;
	case ELECTOR_OP_READ:
		e->record_watched = true;
		record_known(s, done);
		break;
	case ELECTOR_OP_WRITE:
		written(s, done);
		break;
	case ELECTOR_OP_SURVEY:
		surveyed(e, done, s->event);
		break;
	case ELECTOR_OP_COUNT:
		break;
	}
}

/* Something that we believed to be there is not. */
static void on_done_nonode(struct step *s, const struct elector_done *done)
{
	struct elector *e = s->e;

	switch (done->op) {
	case ELECTOR_OP_CHECK:
		own_lost(s, TENURE_REASON_ZNODE_DELETED);
		break;
	case ELECTOR_OP_DELETE:
		own_forgotten(e);
		say(s, ELECTOR_DO_CANDIDATE);
		break;
	case ELECTOR_OP_PURGE:
		e->former[0] = '\0';
		/* fallthrough */
	case ELECTOR_OP_WATCH:
	case ELECTOR_OP_OWNER:
		e->listed = false;
		break;
	default:
		if (done->op == ELECTOR_OP_CREATE)
			e->trial[0] = '\0';
		e->parents_made = false;
		e->own_checked = false;
		e->failures++;
		if (e->failures > 1)
			e->retry_at_ns = s->now_ns + backoff_ns(e, e->failures);
		break;
	}
}

static void on_done(struct step *s)
{
	const struct elector_done *done = &s->event->u.done;
	struct elector *e = s->e;

	assert(done->op < ELECTOR_OP_COUNT);
	if (done->generation == 0 || e->pending[done->op] != done->generation)
		return; /* asked for by an earlier state of affairs */
	e->pending[done->op] = 0;
	if (done->op == ELECTOR_OP_WATCH && done->result != ELECTOR_OK)
		(e->asks_before ? e->watched_before : e->watched)[0] = '\0';
	switch (done->result) {
	case ELECTOR_OK:
		on_done_ok(s, done);
		break;
	case ELECTOR_NONODE:
		on_done_nonode(s, done);
		break;
	case ELECTOR_BADVERSION:
		e->record_read = false;
		break;
	case ELECTOR_STALE:
		/* The record is another's by now: there is nothing left for us to say in it. */
		if (e->writing == TENURE_EDIT_CLEAN)
			e->owed_clean = 0;
		e->activate = false;
		e->record_read = false;
		break;
	case ELECTOR_UNKNOWN:
		if (done->op == ELECTOR_OP_WRITE)
			e->record_read = false;
		request_failed(s, done);
		break;
	case ELECTOR_NOAUTH:
	case ELECTOR_REFUSED:
		request_failed(s, done);
		break;
	}
}

static void on_changed(struct elector *e, enum elector_op op)
{
	switch (op) {
	case ELECTOR_OP_WATCH:
		/*
		 * One of the two ahead is gone; the watch on the other one stands. Who is second takes office next,
		 * so what it needs is asked at once.
		 */
		e->listed = false;
		e->record_read = false;
		break;
	case ELECTOR_OP_CHECK:
		e->own_checked = false;
		break;
	case ELECTOR_OP_READ:
		e->record_read = false;
		e->record_watched = false;
		break;
	default:
		break;
	}
}

/* ---- what to do about it ---- */

static void write_record(struct step *s, enum tenure_edit_kind edit, int64_t token, enum tenure_reason reason)
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
		write_record(s, TENURE_EDIT_CLEAN, e->owed_clean, TENURE_REASON_NONE);
}

static void leave_queue(struct step *s)
{
	struct elector *e = s->e;
	bool clean_sent = e->owed_clean == 0 || (in_flight(e, ELECTOR_OP_WRITE) && e->writing == TENURE_EDIT_CLEAN);

	/* While a create is open it is not sure yet which of the two is ours to delete. */
	if (clean_sent && e->trial[0] == '\0')
		request_on(s, ELECTOR_OP_DELETE, e->own.name);
}

static enum elector_blocker blocker_of(const struct elector *e, int64_t now_ns)
{
	if (e->outlook.paused)
		return ELECTOR_BLOCKED_PAUSED;
	if (e->held)
		return ELECTOR_BLOCKED_HELD;
	if (!e->outlook.eligible)
		return ELECTOR_BLOCKED_NOT_ELIGIBLE;
	/* A named successor who does not wait has made the naming void. */
	if (e->successor[0] != '\0' && strcmp(e->successor, e->config.member) != 0 && !(e->surveyed && !e->better))
		return ELECTOR_BLOCKED_NAMED_OTHER;
	if (e->own.czxid <= e->outlook.incumbent.token)
		return ELECTOR_BLOCKED_TOKEN;
	if (e->lease_ns - now_ns < tenure_budget_need(&e->config.budget, e->timeout_ns))
		return ELECTOR_BLOCKED_LEASE;
	return ELECTOR_CLEAR;
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

	e->previous = e->outlook.incumbent;
	e->taking_reason = taking_reason(e);
	e->tried = true;
	write_record(s, TENURE_EDIT_TAKE, e->own.czxid, e->taking_reason);
}

/* A new candidate at the end of the queue; the present one is then a leftover of ours and is removed. */
static void step_back(struct step *s)
{
	struct elector *e = s->e;

	e->stepped = true;
	e->stepped_for = e->outlook.incumbent.token;
	note(s, ELECTOR_NOTE_STEP_BACK, NULL);
	create_candidate(s);
}

static bool may_step_back(const struct elector *e)
{
	return !(e->stepped && e->stepped_for == e->outlook.incumbent.token) && e->trial[0] == '\0' &&
	       e->former[0] == '\0';
}

static int64_t limit_at(const struct elector *e)
{
	int64_t limit_ns = e->config.take_office_limit_ns != 0 ? e->config.take_office_limit_ns : e->timeout_ns;

	return e->first_since_ns == 0 || e->term != 0 ? INT64_MAX : e->first_since_ns + limit_ns;
}

static void make_way(struct step *s)
{
	struct elector *e = s->e;

	forget_note(e, ELECTOR_NOTE_LIMIT);
	note(s, ELECTOR_NOTE_LIMIT, elector_blocker_name(e->blocker));
	withdraw(e);
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
		if (may_step_back(e))
			step_back(s);
		else
			note(s, ELECTOR_NOTE_TOKEN_REGRESSED, NULL);
		return;
	}
	if (e->blocker != ELECTOR_BLOCKED_NOT_ELIGIBLE && e->blocker != ELECTOR_BLOCKED_NAMED_OTHER)
		return;
	if (!e->surveyed || s->now_ns >= e->survey_at_ns)
		request(s, ELECTOR_OP_SURVEY);
	else if (e->better && may_step_back(e))
		step_back(s);
	else if (!e->better)
		note(s, ELECTOR_NOTE_NOBODY_ELIGIBLE, NULL);
}

static void be_first(struct step *s)
{
	struct elector *e = s->e;
	enum elector_blocker before = e->blocker;
	bool held_back;

	if (!e->record_read || !e->record_watched)
		read_record(s);
	if (!e->record_read || !e->own_checked)
		return;
	if (in_flight(e, ELECTOR_OP_WRITE) || e->trial[0] != '\0')
		return;
	e->blocker = blocker_of(e, s->now_ns);
	if (e->committed) {
		/* The record names us already; only the lease can still be short. */
		e->blocker = e->lease_ns - s->now_ns < tenure_budget_need(&e->config.budget, e->timeout_ns) ?
				     ELECTOR_BLOCKED_LEASE : ELECTOR_CLEAR;
	}
	if (e->blocker == ELECTOR_CLEAR) {
		if (e->committed)
			lead(s);
		else
			take_office(s);
		return;
	}
	if (e->blocker != before)
		forget_note(e, ELECTOR_NOTE_BLOCKED);
	note(s, ELECTOR_NOTE_BLOCKED, elector_blocker_name(e->blocker));
	held_back = e->blocker == ELECTOR_BLOCKED_PAUSED || e->blocker == ELECTOR_BLOCKED_HELD;
	if (held_back || e->first_since_ns == 0)
		e->first_since_ns = held_back ? 0 : s->now_ns;
	if (s->now_ns >= limit_at(e))
		make_way(s);
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
		if (e->view.position == 2 && !e->record_read)
			read_record(s);
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
			write_record(s, TENURE_EDIT_ACTIVE, e->term, TENURE_REASON_NONE);
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

static void advance(struct step *s)
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
			withdraw(e);
			leave_queue(s);
		} else {
			be_queued(s);
		}
	}
	if (e->config.follows)
		look_on(s);
}

/* ---- what others are told ---- */

/* The incumbent is gone when it said so, or when whoever is first now is another. */
static bool incumbent_gone(const struct elector *e)
{
	const struct tenure_incumbent *i = &e->outlook.incumbent;

	if (i->token == 0 || i->clean == TENURE_CLEAN_YES || i->clean == TENURE_CLEAN_FENCED)
		return true;
	if (!e->listed || e->term != 0)
		return false;
	if (first_in_queue(e))
		return i->token != e->own.czxid;
	if (e->view.first[0] == '\0')
		return true;
	if (e->view.first_doubtful)
		return false;
	return strcmp(e->watched, e->view.first) == 0 && e->watched_czxid != 0 && e->watched_czxid != i->token;
}

static void tell_left(struct step *s)
{
	struct elector *e = s->e;

	if (!e->owes_left || holds_candidate(e) || e->trial[0] != '\0' || e->former[0] != '\0')
		return;
	e->owes_left = false;
	say(s, ELECTOR_DO_LEFT);
}

static void tell_outlook(struct step *s)
{
	struct elector *e = s->e;

	if (e->outlook.known)
		e->outlook.gone = incumbent_gone(e);
	if (memcmp(&e->outlook, &e->said, sizeof e->said) != 0) {
		e->said = e->outlook;
		say(s, ELECTOR_DO_OUTLOOK);
	}
}

static void check_invariants(const struct elector *e)
{
	assert(!e->committed || holds_candidate(e));
	assert(!e->own_checked || holds_candidate(e));
	assert(e->term == 0 || !e->withdraw);
	assert(e->up || e->pending[ELECTOR_OP_WRITE] == 0);
	assert(!e->term_lost || e->term != 0);
}

/* ---- the interface ---- */

void elector_init(struct elector *e, const struct elector_config *config)
{
	memset(e, 0, sizeof *e);
	e->config = *config;
	e->previous.clean = TENURE_CLEAN_UNKNOWN;
	e->taking_reason = TENURE_REASON_ELECTION;
}

void elector_restore(struct elector *e, const char *name, int64_t czxid, bool told)
{
	struct tenure_candidate_name parsed;

	if (tenure_queue_parse(name, &parsed) != 0 || parsed.guid[0] == '\0')
		return;
	copy_name(e->own.name, name, sizeof e->own.name);
	copy_name(e->own.guid, parsed.guid, sizeof e->own.guid);
	e->own.czxid = czxid;
	e->stand = true;
	e->term = told ? czxid : 0;
	e->tried = true; /* by the earlier process, for all we know */
	e->committed = told;
}

void elector_step(struct elector *e, const struct elector_event *event, struct elector_update *update)
{
	struct step s = { e, event, update, event->now_ns };

	update->count = 0;
	switch (event->type) {
	case ELECTOR_EV_UP:
		on_up(&s);
		break;
	case ELECTOR_EV_DOWN:
		on_down(e);
		break;
	case ELECTOR_EV_GONE:
		on_gone(&s);
		break;
	case ELECTOR_EV_LEASE:
		e->lease_ns = event->u.deadline_ns;
		break;
	case ELECTOR_EV_STAND:
		on_stand(e, event->u.stand);
		break;
	case ELECTOR_EV_ACTIVE:
		e->activate = event->u.token == e->term && e->term != 0;
		break;
	case ELECTOR_EV_GIVE_UP:
		on_give_up(e, event->u.token);
		break;
	case ELECTOR_EV_DONE:
		on_done(&s);
		break;
	case ELECTOR_EV_CHANGED:
		on_changed(e, event->u.changed);
		break;
	case ELECTOR_EV_TIMER:
		break;
	}
	/* Before a new candidate is made: LEFT speaks of the former one. */
	tell_left(&s);
	advance(&s);
	tell_outlook(&s);
	e->now_ns = event->now_ns;
	e->state = state_of(e);
	check_invariants(e);
}

/* The earlier of two instants, of which DUE_NS counts only if the last step has not seen it pass. */
static int64_t sooner(const struct elector *e, int64_t first_ns, int64_t due_ns)
{
	return due_ns > e->now_ns && due_ns < first_ns ? due_ns : first_ns;
}

int64_t elector_deadline(const struct elector *e)
{
	int64_t first_ns = INT64_MAX;

	if (!e->up)
		return INT64_MAX;
	if (e->retry_at_ns != 0)
		return e->retry_at_ns;
	if (e->stand && !holds_candidate(e))
		first_ns = sooner(e, first_ns, e->join_at_ns);
	if (first_in_queue(e) && e->term == 0) {
		first_ns = sooner(e, first_ns, limit_at(e));
		if (e->surveyed)
			first_ns = sooner(e, first_ns, e->survey_at_ns);
	}
	return first_ns;
}

bool elector_wants_heartbeats(const struct elector *e)
{
	if (e->term != 0 || e->trial[0] != '\0')
		return true;
	return holds_candidate(e) && (!e->listed || e->view.position <= 2);
}
