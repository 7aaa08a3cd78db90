/*
 * The elector core: the best replica. Who becomes first after an unclean end notes the scores that it finds, gives
 * the others the time for new ones, looks once, and steps back if a better replica waits behind it.
 */
#include "core/elector_internal.h"

static bool ended_uncleanly(const struct tenure_incumbent *last)
{
	/* Fenced is not clean: nobody has handed anything over. */
	return last->clean == TENURE_CLEAN_UNKNOWN || (last->clean != TENURE_CLEAN_YES && last->token != 0);
}

static bool minds_scores(const struct elector *e)
{
	/* For a named successor all others step back. Who has stepped back cannot do so again. */
	return e->config.score_slack >= 0 && !e->committed && ended_uncleanly(&e->outlook.incumbent) &&
	       strcmp(e->successor, e->config.member) != 0 &&
	       !(e->stepped && e->stepped_for == e->outlook.incumbent.token);
}

enum elector_blocker elector_face_scores(struct step *s)
{
	struct elector *e = s->e;
	int64_t after = e->outlook.incumbent.token;

	/* Who steps back must not be at work on the predecessor. */
	if (!minds_scores(e) || e->fencing)
		return ELECTOR_CLEAR;
	if (after != e->settling_after || e->own.czxid != e->settling_before) {
		e->settling = ELECTOR_SETTLE_MARK;
		e->settling_after = after;
		e->settling_before = e->own.czxid;
		e->survey = ELECTOR_SURVEY_OTHERS; /* one in flight was made for another vacancy */
	}
	return e->settling == ELECTOR_SETTLE_DONE ? ELECTOR_CLEAR : ELECTOR_BLOCKED_SCORE;
}

void elector_heed_scores(struct step *s)
{
	struct elector *e = s->e;

	if (e->settling == ELECTOR_SETTLE_BETTER)
		elector_step_back(s, ELECTOR_NOTE_STEP_BACK_SCORE);
	else if (e->settling == ELECTOR_SETTLE_MARK)
		elector_survey(s, ELECTOR_SURVEY_MARK);
	else if (!elector_settles(e, s->now_ns))
		elector_survey(s, ELECTOR_SURVEY_SCORES);
}

bool elector_settles(const struct elector *e, int64_t now_ns)
{
	return e->settling == ELECTOR_SETTLE_WAIT && now_ns < e->settled_ns;
}

/* A score that is not known is lower than any. */
static bool outdoes(const struct elector_peer *peer, const struct elector_peer *own, int64_t slack)
{
	if (own == NULL || !own->score_fresh)
		return true;
	/* The difference of two of them may not fit a signed number. */
	return peer->score > own->score && (uint64_t)peer->score - (uint64_t)own->score > (uint64_t)slack;
}

static bool better_waits(const struct elector *e, const struct elector_done *done)
{
	const struct elector_peer *own = NULL;

	for (size_t i = 0; i < done->peer_count; i++)
		if (done->peers[i].self)
			own = &done->peers[i];
	for (size_t i = 0; i < done->peer_count; i++) {
		const struct elector_peer *peer = &done->peers[i];

		if (!peer->self && peer->waiting && peer->eligible && peer->score_fresh &&
		    outdoes(peer, own, e->config.score_slack))
			return true;
	}
	return false;
}

void elector_scores_known(struct step *s, const struct elector_done *done)
{
	struct elector *e = s->e;

	if (e->survey == ELECTOR_SURVEY_MARK && e->settling == ELECTOR_SETTLE_MARK) {
		e->settling = ELECTOR_SETTLE_WAIT;
		e->settled_ns = s->now_ns + e->config.score_settle_ns;
	} else if (e->survey == ELECTOR_SURVEY_SCORES && e->settling == ELECTOR_SETTLE_WAIT) {
		e->settling = better_waits(e, done) ? ELECTOR_SETTLE_BETTER : ELECTOR_SETTLE_DONE;
	}
}

/* Nobody is known to be better, and a leader there must be. */
void elector_scores_refused(struct elector *e)
{
	if (e->survey != ELECTOR_SURVEY_OTHERS)
		e->settling = ELECTOR_SETTLE_DONE;
}
