/* The elector core: what each event makes known. See elector.h and elector.c. */
#include "core/elector_internal.h"

/* Another candidate, or none, is to take the place of our present one. */
static void leave_own(struct elector *e)
{
	e->own_checked = false;
	e->check_stale = in_flight(e, ELECTOR_OP_CHECK);
	e->behind[0] = '\0';
	e->tried = false;
	e->committed = false;
}

static void own_forgotten(struct elector *e)
{
	leave_own(e);
	memset(&e->own, 0, sizeof e->own);
	memset(&e->view, 0, sizeof e->view);
	e->withdraw = false;
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

void elector_withdraw(struct elector *e)
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
	e->check_stale = false;
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

/* Who leaves office stays out of the queue for a moment: the way is the successor's. */
static const int64_t step_aside_ns = 100 * TENURE_NS_PER_MS;

static void on_give_up(struct step *s, int64_t token)
{
	struct elector *e = s->e;

	e->stand = false;
	e->owes_left = true;
	e->owed_clean = token;
	e->activate = false;
	e->limits = 0;
	e->retry_at_ns = 0;
	if (e->term == token) {
		e->term = 0;
		e->term_lost = false;
		e->join_at_ns = s->now_ns + step_aside_ns;
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
		elector_withdraw(e);
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
	leave_own(e);
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
	/* What was not watched may be of a path that was deleted since: its versions begin again. */
	e->record_read = e->record_read && e->record_watched;
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
	case TENURE_EDIT_FENCED:
	case TENURE_EDIT_FORGET:
	case TENURE_EDIT_PAUSE:
	case TENURE_EDIT_RESUME:
	case TENURE_EDIT_ELIGIBLE:
	case TENURE_EDIT_NAME:
	case TENURE_EDIT_UNNAME:
		break; /* record_known() sees what it changed */
	case TENURE_EDIT_ACTIVE:
		e->activate = false;
		break;
	case TENURE_EDIT_CLEAN:
		e->owed_clean = 0;
		break;
	}
	record_known(s, done);
}

static void surveyed(struct step *s, const struct elector_done *done)
{
	struct elector *e = s->e;
	bool named = e->successor[0] != '\0' && strcmp(e->successor, e->config.member) != 0;

	if (e->survey != ELECTOR_SURVEY_OTHERS) {
		elector_scores_known(s, done);
		return;
	}
	e->surveyed = true;
	e->better = false;
	e->survey_at_ns = s->now_ns + e->timeout_ns / 4;
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
	e->watched_ephemeral = done->owner != 0;
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
	if (done->op == ELECTOR_OP_SURVEY && done->result != ELECTOR_UNKNOWN)
		elector_scores_refused(e);
	/* Who may not write the record cannot mark it either, and must not block the queue for that. */
	if ((done->op == ELECTOR_OP_READ || done->op == ELECTOR_OP_WRITE) && done->result != ELECTOR_UNKNOWN &&
	    e->owed_clean != 0) {
		e->owed_clean = 0;
		return;
	}
	/* Nor is it a candidate. */
	if (done->result == ELECTOR_NOAUTH && (done->op == ELECTOR_OP_READ || done->op == ELECTOR_OP_WRITE) &&
	    e->term == 0 && holds_candidate(e)) {
		elector_withdraw(e);
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
		surveyed(s, done);
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
	if (done->op == ELECTOR_OP_CHECK && e->check_stale) {
		e->check_stale = false;
		return;
	}
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

/*
 * Whether a deletion that is told now makes us first. The server tells of it before it answers with a listing that
 * lacks the znode, so it is one of those that the last listing showed ahead of us: the only one.
 */
static bool moves_to_first(const struct elector *e)
{
	return holds_candidate(e) && e->listed && e->view.position == 2 && !e->view.doubtful &&
	       e->watched_ephemeral && strcmp(e->watched, e->view.predecessor) == 0;
}

static void one_ahead_gone(struct elector *e)
{
	if (moves_to_first(e)) {
		e->view.position = 1;
		e->view.candidates--;
		e->view.predecessor[0] = e->watched[0] = '\0';
		copy_name(e->view.first, e->own.name, sizeof e->view.first);
		e->outlook.position = 1;
		e->outlook.members = e->view.candidates;
	} else {
		/* The watch on the other of the two ahead stands. */
		e->listed = false;
	}
	/* Under watch the record is as fresh as can be: a change before this was told before it. */
	if (!e->record_watched)
		e->record_read = false;
}

static void on_changed(struct elector *e, enum elector_op op)
{
	switch (op) {
	case ELECTOR_OP_WATCH:
		one_ahead_gone(e);
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

void elector_learn(struct step *s)
{
	const struct elector_event *event = s->event;
	struct elector *e = s->e;

	switch (event->type) {
	case ELECTOR_EV_UP:
		on_up(s);
		break;
	case ELECTOR_EV_DOWN:
		on_down(e);
		break;
	case ELECTOR_EV_GONE:
		on_gone(s);
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
		on_give_up(s, event->u.token);
		break;
	case ELECTOR_EV_PEER_FENCED:
		elector_peer_fenced(s, event->u.fenced.token, event->u.fenced.ok);
		break;
	case ELECTOR_EV_FLOOR:
		e->floor_seen = event->u.floor.seen;
		e->floor_durable = event->u.floor.durable;
		break;
	case ELECTOR_EV_DONE:
		on_done(s);
		break;
	case ELECTOR_EV_CHANGED:
		on_changed(e, event->u.changed);
		break;
	case ELECTOR_EV_TIMER:
		break;
	}
}
