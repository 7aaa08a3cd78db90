/* What the files of the elector core share; nobody else includes this. */
#ifndef TENURE_CORE_ELECTOR_INTERNAL_H
#define TENURE_CORE_ELECTOR_INTERNAL_H

#include <assert.h>
#include <string.h>

#include "core/elector.h"

/* One step under way. */
struct step {
	struct elector *e;
	const struct elector_event *event;
	struct elector_update *update;
	int64_t now_ns;
};

/* Takes the event in: only what is known changes, and what must be said of it at once. */
void elector_learn(struct step *s);

/* Asks for what is missing and not yet under way. */
void elector_advance(struct step *s);

/* Our candidate is to go. */
void elector_withdraw(struct elector *e);

void elector_write_record(struct step *s, enum tenure_edit_kind edit, int64_t token, enum tenure_reason reason);

/* elector_blocker.c: in first place, with the record read. The objection is what record, order and disk say. */
enum elector_blocker elector_objection(const struct elector *e);
enum elector_blocker elector_blocker_of(struct step *s);

/*
 * elector_unclean.c: the last incumbent, seen from first place when nothing else objects. CLEAR, DELAY or FENCE;
 * at FENCE elector_fence() does what is due.
 */
enum elector_blocker elector_face_incumbent(struct step *s);
void elector_fence(struct step *s);

/*
 * elector_score.c: the best replica. Asked from first place when nothing else objects; at SCORE elector_heed_scores()
 * does what is due.
 */
enum elector_blocker elector_face_scores(struct step *s);
void elector_heed_scores(struct step *s);

/* A SURVEY that was asked for there came back; or it was refused, and asking again would not help. */
void elector_scores_known(struct step *s, const struct elector_done *done);
void elector_scores_refused(struct elector *e);

/* Whether time has to pass before the scores can be looked at. */
bool elector_settles(const struct elector *e, int64_t now_ns);

/* Behind the others, unless that was done before for this vacancy or cannot be done now. Returns whether. */
bool elector_step_back(struct step *s, enum elector_note why);

/* A survey, unless one is under way. */
void elector_survey(struct step *s, enum elector_survey what);

/* Promise S4: whether the incumbent of the record as read allows a successor. */
bool elector_may_follow(const struct elector *e);

/* Takes the wish to fence back as soon as it is pointless. */
void elector_review_fencing(struct step *s);
void elector_peer_fenced(struct step *s, int64_t token, bool ok);

static inline void copy_name(char *to, const char *from, size_t size)
{
	size_t length = strnlen(from, size - 1);

	memcpy(to, from, length);
	memset(to + length, 0, size - length);
}

static inline struct elector_command *say(struct step *s, enum elector_command_type type)
{
	struct elector_command *c;

	assert(s->update->count < ELECTOR_COMMANDS_MAX);
	c = &s->update->commands[s->update->count++];
	memset(c, 0, sizeof *c);
	c->type = type;
	return c;
}

/* Said once; forget_note() makes it news again. */
static inline void note_rc(struct step *s, enum elector_note note, const char *subject, enum elector_op op, int rc)
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

static inline void note(struct step *s, enum elector_note n, const char *subject)
{
	note_rc(s, n, subject, ELECTOR_OP_COUNT, 0);
}

static inline void forget_note(struct elector *e, enum elector_note n)
{
	e->noted[n] = false;
}

static inline bool in_flight(const struct elector *e, enum elector_op op)
{
	return e->pending[op] != 0;
}

/* A request, unless one of its kind is already under way: then NULL. */
static inline struct elector_command *request(struct step *s, enum elector_op op)
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

static inline void request_on(struct step *s, enum elector_op op, const char *name)
{
	struct elector_command *c = request(s, op);

	if (c != NULL)
		copy_name(c->name, name, sizeof c->name);
}

static inline int64_t backoff_ns(const struct elector *e, unsigned failures)
{
	int64_t wait_ns = e->config.backoff_ns;

	for (unsigned i = 1; i < failures && wait_ns < e->config.backoff_max_ns; i++)
		wait_ns *= 2;
	return wait_ns < e->config.backoff_max_ns ? wait_ns : e->config.backoff_max_ns;
}

static inline bool holds_candidate(const struct elector *e)
{
	return e->own.name[0] != '\0';
}

static inline bool first_in_queue(const struct elector *e)
{
	return holds_candidate(e) && e->listed && e->view.position == 1;
}

/* When a candidate in first place makes way; INT64_MAX: it has no reason to, or the fence_peer hook is at work. */
static inline int64_t limit_at(const struct elector *e)
{
	int64_t limit_ns = e->config.take_office_limit_ns != 0 ? e->config.take_office_limit_ns : e->timeout_ns;

	if (e->first_since_ns == 0 || e->term != 0 || e->fencing)
		return INT64_MAX;
	return e->first_since_ns + limit_ns;
}

#endif
