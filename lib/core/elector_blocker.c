/*
 * The elector core: what stands between a candidate in first place and office. See elector.h and elector.c.
 */
#include "core/elector_internal.h"

static const char *const blocker_names[] = {
	[ELECTOR_CLEAR] = "none",
	[ELECTOR_BLOCKED_PAUSED] = "the election is paused",
	[ELECTOR_BLOCKED_HELD] = "the incumbent rides out a pause",
	[ELECTOR_BLOCKED_NOT_ELIGIBLE] = "not on the eligible list",
	[ELECTOR_BLOCKED_NAMED_OTHER] = "another member is the named successor",
	[ELECTOR_BLOCKED_TOKEN] = "our token is not above the highest seen",
	[ELECTOR_BLOCKED_FLOOR] = "our token is not on disk yet",
	[ELECTOR_BLOCKED_SCORE] = "waiting for the scores of the others",
	[ELECTOR_BLOCKED_DELAY] = "takeover_delay is not over yet",
	[ELECTOR_BLOCKED_FENCE] = "the last incumbent is not fenced yet",
	[ELECTOR_BLOCKED_LEASE] = "the lease is not proven far enough",
};

const char *elector_blocker_name(enum elector_blocker blocker)
{
	return blocker_names[blocker];
}

/* A record that names us already holds no higher token; the disk may. */
static enum elector_blocker token_objection(const struct elector *e)
{
	if (!e->committed && e->own.czxid <= e->outlook.incumbent.token)
		return ELECTOR_BLOCKED_TOKEN;
	if (!e->config.floor)
		return ELECTOR_CLEAR;
	if (e->own.czxid <= e->floor_seen)
		return ELECTOR_BLOCKED_TOKEN;
	return e->own.czxid > e->floor_durable ? ELECTOR_BLOCKED_FLOOR : ELECTOR_CLEAR;
}

enum elector_blocker elector_objection(const struct elector *e)
{
	if (e->committed)
		return token_objection(e); /* the rest was asked before TAKE */
	if (e->outlook.paused)
		return ELECTOR_BLOCKED_PAUSED;
	if (e->held)
		return ELECTOR_BLOCKED_HELD;
	if (!e->outlook.eligible)
		return ELECTOR_BLOCKED_NOT_ELIGIBLE;
	/* A named successor who does not wait has made the naming void. */
	if (e->successor[0] != '\0' && strcmp(e->successor, e->config.member) != 0 &&
	    !(e->surveyed && !e->better))
		return ELECTOR_BLOCKED_NAMED_OTHER;
	return token_objection(e);
}

enum elector_blocker elector_blocker_of(struct step *s)
{
	const struct elector *e = s->e;
	enum elector_blocker b = elector_objection(e), score;
	bool lease_short = e->lease_ns - s->now_ns < tenure_budget_need(&e->config.budget, e->timeout_ns);

	if (b == ELECTOR_CLEAR) {
		b = elector_face_incumbent(s);
		/*
		 * takeover_delay runs meanwhile, but who steps back does so at once, for the next one's delay begins with
		 * its turn; and fences nobody, for that is left to who takes office.
		 */
		score = elector_face_scores(s);
		b = score != ELECTOR_CLEAR ? score : b;
	}
	/* Who could not lead does not fence either. */
	if (lease_short && (b == ELECTOR_CLEAR || (b == ELECTOR_BLOCKED_FENCE && !e->fencing && !e->fenced)))
		b = ELECTOR_BLOCKED_LEASE;
	return b;
}
