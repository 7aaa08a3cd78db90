/* A look at all member records of an election. */
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
	survey_done *done;
	enum elector_result result;
	int rc;
	size_t name_count, next;
	char **names;
	unsigned outstanding;
	size_t peer_count;
	struct elector_peer peers[SURVEY_PEERS_MAX];
};

static void finish(struct survey *s)
{
	s->done(s->contest, s->generation, s->result, s->rc, s->peers, s->peer_count);
	for (size_t i = 0; i < s->name_count; i++)
		free(s->names[i]);
	free(s->names);
	free(s);
}

static void fail(struct survey *s, enum elector_result result, int rc)
{
	s->result = result;
	s->rc = rc;
	s->peer_count = 0;
}

static void add_peer(struct survey *s, const char *bytes, size_t size)
{
	const struct kept *kept = &s->contest->kept;
	struct elector_peer *peer = &s->peers[s->peer_count];
	struct tenure_member_record record;

	if (s->peer_count == SURVEY_PEERS_MAX || tenure_member_decode(bytes, size, &record) < 0)
		return;
	snprintf(peer->member, sizeof peer->member, "%s", record.member);
	peer->waiting = strcmp(record.state, "standby") == 0;
	peer->eligible = !kept->valid || tenure_election_eligible(&kept->record, record.member);
	s->peer_count++;
}

static void step(struct survey *s);

static void done_get(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct survey *s = request->context;

	(void)shell;
	s->outstanding--;
	if (reply->u.reply.result == PORT_OK && s->result == ELECTOR_OK)
		add_peer(s, reply->u.reply.data, reply->u.reply.size);
	else if (reply->u.reply.result == PORT_UNKNOWN)
		fail(s, ELECTOR_UNKNOWN, reply->u.reply.rc);
	/* One that has gone meanwhile, or may not be read, is nobody to count on. */
	step(s);
}

/* Keeps a few requests under way until every name has been asked for. */
static void step(struct survey *s)
{
	struct request request = {.done = done_get, .contest = s->contest, .context = s};

	while (s->result == ELECTOR_OK && s->next < s->name_count && s->outstanding < SURVEY_AT_ONCE) {
		char *path = contest_path(s->contest->member.folder, s->names[s->next++]);
		int rc = path ? ensemble_get(s->contest->shell, &request, path, 0) : -ENOMEM;

		free(path);
		if (rc < 0)
			fail(s, ELECTOR_UNKNOWN, rc);
		else
			s->outstanding++;
	}
	if (s->outstanding == 0)
		finish(s);
}

static int keep_names(struct survey *s, const char *const *names, size_t count)
{
	if (count > SURVEY_PEERS_MAX)
		count = SURVEY_PEERS_MAX;
	s->names = calloc(count ? count : 1, sizeof *s->names);
	if (!s->names)
		return -ENOMEM;
	for (; s->name_count < count; s->name_count++) {
		s->names[s->name_count] = strdup(names[s->name_count]);
		if (!s->names[s->name_count])
			return -ENOMEM;
	}
	return 0;
}

static void done_list(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct survey *s = request->context;
	enum elector_result result = contest_result(reply->u.reply.result);

	(void)shell;
	if (result != ELECTOR_OK)
		fail(s, result, reply->u.reply.rc);
	else if (keep_names(s, reply->u.reply.names, reply->u.reply.name_count) < 0)
		fail(s, ELECTOR_UNKNOWN, -ENOMEM);
	step(s);
}

int survey_start(struct contest *contest, uint32_t generation, survey_done *done)
{
	struct survey *s = calloc(1, sizeof *s);
	struct request request = {.done = done_list, .contest = contest, .context = s};
	int rc;

	if (!s)
		return -ENOMEM;
	s->contest = contest;
	s->generation = generation;
	s->done = done;
	rc = ensemble_children(contest->shell, &request, contest->member.folder, 0);
	if (rc < 0)
		free(s);
	return rc;
}
