/*
 * The elector core: first in the queue behind an incumbent that has not left cleanly. It is given
 * takeover_delay to come back or to die by itself, then it is fenced, the record says so, and only then is
 * office taken (promise S4).
 */
#include "core/elector_internal.h"

/*
 * Whose clean end is missing: its token; 0: of a record that cannot be read; -1: nobody's, or our own
 * member's.
 */
static int64_t unclean_incumbent(const struct elector *e)
{
	const struct tenure_incumbent *last = &e->outlook.incumbent;

	if (last->clean != TENURE_CLEAN_UNKNOWN && (last->clean != TENURE_CLEAN_NO || last->token == 0))
		return -1;
	/* Nobody fences itself: the lose hook has run since. */
	return strcmp(last->member, e->config.member) == 0 ? -1 : last->token;
}

/*
 * What is known of a token stays true. A record that cannot be read may be another one the next time: what is
 * known of it holds as long as our candidate was first all the while, so that nobody has led meanwhile. While
 * the hook is at work it stays with the one that it fences, and we stay blocked, wanted or not: only one at a
 * time.
 */
static void know_incumbent(struct step *s)
{
	struct elector *e = s->e;
	int64_t token = unclean_incumbent(e);

	if (e->fencing || (token == e->unclean_token && (token != 0 || e->unclean_before == e->own.czxid)))
		return;
	e->unclean_token = token;
	e->unclean_before = e->own.czxid;
	e->unclean_since_ns = s->now_ns;
	e->fenced = false;
	e->fence_at_ns = 0;
	e->fence_failures = 0;
}

enum elector_blocker elector_face_incumbent(struct step *s)
{
	const struct elector *e = s->e;

	know_incumbent(s);
	if (e->unclean_token < 0)
		return ELECTOR_CLEAR;
	if (s->now_ns < e->unclean_since_ns + e->config.takeover_delay_ns)
		return ELECTOR_BLOCKED_DELAY;
	if (!e->config.fence_peer)
		return ELECTOR_CLEAR;
	/* Where there is no record to say it in, it is enough to know it. */
	return e->fenced && e->unclean_token == 0 ? ELECTOR_CLEAR : ELECTOR_BLOCKED_FENCE;
}

bool elector_may_follow(const struct elector *e)
{
	int64_t token = unclean_incumbent(e);

	if (e->fencing)
		return false;
	return !e->config.fence_peer || token < 0 || (token == 0 && e->unclean_token == 0 && e->fenced);
}

static void say_fence_peer(struct step *s, bool wanted)
{
	struct elector_command *c = say(s, ELECTOR_DO_FENCE_PEER);

	s->e->fencing_wanted = wanted;
	c->token = s->e->unclean_token;
	c->wanted = wanted;
}

void elector_fence(struct step *s)
{
	struct elector *e = s->e;

	if (e->fencing)
		return;
	if (e->fenced) {
		elector_write_record(s, TENURE_EDIT_FENCED, e->unclean_token, TENURE_REASON_NONE);
	} else if (s->now_ns >= e->fence_at_ns) {
		e->fencing = true;
		e->fence_said_ns = s->now_ns;
		say_fence_peer(s, true);
	}
}

/* While something has yet to be learned, as behind a lost connection, the wish stands. */
static bool still_wanted(const struct elector *e)
{
	if (!holds_candidate(e) || e->withdraw || !e->stand || !e->fits)
		return false;
	if (e->listed && e->view.position != 1 && !e->view.doubtful)
		return false;
	return !e->record_read ||
	       (unclean_incumbent(e) == e->unclean_token && elector_objection(e) == ELECTOR_CLEAR);
}

void elector_review_fencing(struct step *s)
{
	struct elector *e = s->e;

	if (e->fencing_wanted && !still_wanted(e))
		say_fence_peer(s, false);
}

void elector_peer_fenced(struct step *s, int64_t token, bool ok)
{
	struct elector *e = s->e;
	bool wanted = e->fencing_wanted;

	if (!e->fencing)
		return;
	e->fencing = e->fencing_wanted = false;
	/* What the hook took is not held against us. */
	if (e->first_since_ns != 0)
		e->first_since_ns += s->now_ns - e->fence_said_ns;
	if (token != e->unclean_token)
		return;
	if (ok) {
		e->fenced = true; /* even if it was not wanted any more */
		e->fence_failures = 0;
	} else if (wanted) {
		e->fence_failures++;
		e->fence_at_ns = s->now_ns + backoff_ns(e, e->fence_failures);
		forget_note(e, ELECTOR_NOTE_FENCE_FAILED);
		note(s, ELECTOR_NOTE_FENCE_FAILED, e->outlook.incumbent.member);
	}
}
