/* A look at all members of an election: their records, and who queues. */
#include "elector/survey.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elector/contest.h"
#include "elector/shell.h"

struct survey {
	struct contest *contest;
	uint32_t generation;
	bool mark;
	survey_done *done;
	enum elector_result result;
	int rc;
	unsigned listings; /* under way */
	size_t queue_count;
	char (*queue)[TENURE_GUID_SIZE]; /* of the candidates */
	struct survey_marks found;       /* the member records; -1: not seen */
	size_t next;                     /* of them, to be asked for */
	unsigned outstanding;
	size_t peer_count;
	struct elector_peer peers[SURVEY_PEERS_MAX];
};

static void forget_marks(struct survey_marks *marks)
{
	for (size_t i = 0; i < marks->count; i++)
		free(marks->names[i]);
	free(marks->names);
	free(marks->taken);
	*marks = (struct survey_marks){0};
}

static void finish(struct survey *s)
{
	if (s->mark && s->result == ELECTOR_OK) {
		forget_marks(&s->contest->marks);
		s->contest->marks = s->found;
		s->found = (struct survey_marks){0};
	}
	s->done(s->contest, s->generation, s->result, s->rc, s->peers, s->peer_count);
	forget_marks(&s->found);
	free(s->queue);
	free(s);
}

static void fail(struct survey *s, enum elector_result result, int rc)
{
	s->result = result;
	s->rc = rc;
	s->peer_count = 0;
}

/* A record outlives its candidate while a session lasts; the guid in its name tells whose it is. */
static bool queues(const struct survey *s, const char *name)
{
	size_t length = strlen(name);
	const char *guid = name + length - (TENURE_GUID_SIZE - 1);

	if (length < TENURE_GUID_SIZE)
		return false;
	for (size_t i = 0; i < s->queue_count; i++)
		if (tenure_queue_same_agent(s->queue[i], guid))
			return true;
	return false;
}

static bool is_ours(const struct survey *s, const char *name)
{
	const struct member *member = &s->contest->member;

	return member->path && strcmp(member->path + strlen(member->folder) + 1, name) == 0;
}

/* Of the two scores behind the mark the first was perhaps under way by then; the second was not. */
static bool is_fresh(const struct survey *s, const char *name, int64_t taken)
{
	const struct survey_marks *marks = &s->contest->marks;

	for (size_t i = 0; i < marks->count; i++)
		if (strcmp(marks->names[i], name) == 0)
			return marks->taken[i] >= 0 && taken - marks->taken[i] >= 2;
	return false;
}

static bool is_eligible(const struct contest *c, const char *member)
{
	struct tenure_election_record record;

	kept_record(&c->kept, &record);
	return tenure_election_eligible(&record, member);
}

static void add_peer(struct survey *s, size_t index, const char *bytes, size_t size)
{
	const struct contest *c = s->contest;
	const char *name = s->found.names[index];
	struct elector_peer *peer = &s->peers[s->peer_count];
	struct tenure_member_record record;

	if (s->peer_count == SURVEY_PEERS_MAX || tenure_member_decode(bytes, size, &record) < 0)
		return;
	peer->self = is_ours(s, name);
	/* Of ourselves we know more than the record. */
	if (peer->self && c->state_known) {
		record.has_score = c->state.u.state.has_score;
		record.score = c->state.u.state.score;
		record.score_seq = c->state.u.state.score_seq;
	}
	snprintf(peer->member, sizeof peer->member, "%s", record.member);
	peer->waiting = strcmp(record.state, "standby") == 0 && queues(s, name);
	peer->eligible = is_eligible(c, record.member);
	peer->score_fresh = record.has_score && is_fresh(s, name, record.score_seq);
	peer->ready_for = record.ready_for;
	peer->score = peer->score_fresh ? record.score : 0;
	s->found.taken[index] = record.score_seq;
	s->peer_count++;
}

static void step(struct survey *s);

static void done_get(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct survey *s = request->context;

	(void)shell;
	s->outstanding--;
	if (reply->u.reply.result == PORT_OK && s->result == ELECTOR_OK)
		add_peer(s, request->index, reply->u.reply.data, reply->u.reply.size);
	else if (reply->u.reply.result == PORT_UNKNOWN)
		fail(s, ELECTOR_UNKNOWN, reply->u.reply.rc);
	/* One that has gone meanwhile, or may not be read, is nobody to count on. */
	step(s);
}

/* With both listings there, keeps a few requests under way until every record has been asked for. */
static void step(struct survey *s)
{
	struct request request = {.done = done_get, .contest = s->contest, .context = s};

	if (s->listings > 0)
		return;
	while (s->result == ELECTOR_OK && s->next < s->found.count && s->outstanding < SURVEY_AT_ONCE) {
		char *path = contest_path(s->contest->member.folder, s->found.names[s->next]);
		int rc;

		request.index = (uint32_t)s->next++;
		rc = path ? ensemble_get(s->contest->shell, &request, path, 0) : -ENOMEM;
		free(path);
		if (rc < 0)
			fail(s, ELECTOR_UNKNOWN, rc);
		else
			s->outstanding++;
	}
	if (s->outstanding == 0)
		finish(s);
}

static int keep_members(struct survey *s, const char *const *names, size_t count)
{
	struct survey_marks *found = &s->found;

	if (count > SURVEY_PEERS_MAX)
		count = SURVEY_PEERS_MAX;
	found->names = calloc(count ? count : 1, sizeof *found->names);
	found->taken = calloc(count ? count : 1, sizeof *found->taken);
	if (!found->names || !found->taken)
		return -ENOMEM;
	for (; found->count < count; found->count++) {
		found->taken[found->count] = -1;
		found->names[found->count] = strdup(names[found->count]);
		if (!found->names[found->count])
			return -ENOMEM;
	}
	return 0;
}

static int keep_queue(struct survey *s, const char *const *names, size_t count)
{
	struct tenure_candidate_name parsed;

	s->queue = calloc(count ? count : 1, sizeof *s->queue);
	if (!s->queue)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (tenure_queue_parse(names[i], &parsed) == 0 && parsed.guid[0])
			memcpy(s->queue[s->queue_count++], parsed.guid, sizeof parsed.guid);
	return 0;
}

static void listed(const struct request *request, const struct port_event *reply,
		   int (*keep)(struct survey *, const char *const *, size_t))
{
	struct survey *s = request->context;
	enum elector_result result = contest_result(reply->u.reply.result);

	s->listings--;
	if (result != ELECTOR_OK)
		fail(s, result, reply->u.reply.rc);
	else if (keep(s, reply->u.reply.names, reply->u.reply.name_count) < 0)
		fail(s, ELECTOR_UNKNOWN, -ENOMEM);
	step(s);
}

static void done_members(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	(void)shell;
	listed(request, reply, keep_members);
}

static void done_queue(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	(void)shell;
	listed(request, reply, keep_queue);
}

int survey_start(struct contest *contest, uint32_t generation, bool mark, survey_done *done)
{
	struct survey *s = calloc(1, sizeof *s);
	struct request members = {.done = done_members, .contest = contest, .context = s};
	struct request queue = {.done = done_queue, .contest = contest, .context = s};
	int rc;

	if (!s)
		return -ENOMEM;
	s->contest = contest;
	s->generation = generation;
	s->mark = mark;
	s->done = done;
	rc = ensemble_children(contest->shell, &members, contest->member.folder, 0);
	if (rc < 0) {
		free(s);
		return rc;
	}
	s->listings = 1;
	rc = ensemble_children(contest->shell, &queue, contest->queue_path, 0);
	if (rc < 0)
		fail(s, ELECTOR_UNKNOWN, rc);
	else
		s->listings = 2;
	return 0;
}
