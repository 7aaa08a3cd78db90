/*
 * The elector core. See elector.h.
 *
 * An event only records what has become known (elector_facts.c). Then the whole is looked at, and what
 * is missing and not yet under way is asked for (elector_moves.c), so that a lost reply, a reconnect or a
 * fired watch needs no path of its own: it makes something unknown again.
 */
#include "core/elector_internal.h"

static const int64_t second_ns = 1000 * TENURE_NS_PER_MS;

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
	bool taking = first_in_queue(e) && e->term == 0;

	/* Nobody is to be kept busy with news while office is being taken; they come with LEAD, or with what blocks it. */
	if (taking && (in_flight(e, ELECTOR_OP_READ) || in_flight(e, ELECTOR_OP_WRITE)))
		return;
	if (e->outlook.known && incumbent_gone(e))
		e->gone_token = e->outlook.incumbent.token;
	/* A listing that has to be made anew tells nothing meanwhile. */
	if (e->outlook.known)
		e->outlook.gone = e->outlook.incumbent.token == e->gone_token;
	/* Padding that differs tells the same once more, no worse. NOLINTNEXTLINE(*-memory-comparison,cert-*) */
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
	assert(!e->fencing_wanted || e->fencing);
	assert((!e->fencing && !e->fenced) || e->unclean_token >= 0);
}

void elector_init(struct elector *e, const struct elector_config *config)
{
	memset(e, 0, sizeof *e);
	e->config = *config;
	e->previous.clean = TENURE_CLEAN_UNKNOWN;
	e->taking_reason = TENURE_REASON_ELECTION;
	e->unclean_token = -1;
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
	elector_learn(&s);
	/* Before a new candidate is made: LEFT speaks of the former one. */
	tell_left(&s);
	elector_advance(&s);
	elector_review_fencing(&s);
	if (!first_in_queue(e) || e->term != 0 || e->withdraw)
		e->blocker = ELECTOR_CLEAR;
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
		first_ns = sooner(e, first_ns, e->fence_at_ns);
		if (e->unclean_token >= 0)
			first_ns = sooner(e, first_ns, e->unclean_since_ns + e->config.takeover_delay_ns);
		if (elector_settles(e, e->now_ns))
			first_ns = sooner(e, first_ns, e->settled_ns);
		if (e->surveyed)
			first_ns = sooner(e, first_ns, e->survey_at_ns);
	}
	return first_ns;
}

bool elector_wants_heartbeats(const struct elector *e)
{
	bool joins_soon = e->stand && e->join_at_ns - e->now_ns < second_ns;

	if (e->term != 0 || e->trial[0] != '\0')
		return true;
	if (!holds_candidate(e))
		return joins_soon;
	return !e->listed || e->view.position <= 2;
}
