/* The survey of an election's members: who queues, and whose score is fresh. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The requests go to a tree in memory, and the answers come when the test says so. */
#define ensemble_children fake_children
#define ensemble_get fake_get
#include "elector/survey.c"

#include <cmocka.h>

enum { AGENTS = 40, OUT_MAX = 64 };

static const char folder[] = "/tenure/pg/members", queue_path[] = "/tenure/pg/queue";

struct agent {
	struct tenure_member_record record;
	char record_name[TENURE_MEMBER_SIZE + TENURE_GUID_SIZE], candidate[TENURE_CANDIDATE_SIZE];
	bool queues, hidden;
};

static struct world {
	struct shell shell;
	struct contest contest;
	struct agent agents[AGENTS];
	size_t agent_count;
	struct asked {
		struct request request;
		char path[512];
	} out[OUT_MAX];
	size_t out_count, out_most;
	size_t asked;
	size_t refuse_at; /* the request of this number cannot be sent */
	enum port_result listing; /* the answer to one of the queue */
	/* What the survey ended in. */
	unsigned ends;
	enum elector_result result;
	struct elector_peer peers[AGENTS];
	size_t peer_count;
} world;

static int ask(const struct request *request, const char *path)
{
	if (++world.asked == world.refuse_at)
		return -EAGAIN;
	assert_true(world.out_count < OUT_MAX);
	world.out[world.out_count].request = *request;
	snprintf(world.out[world.out_count++].path, sizeof world.out[0].path, "%s", path);
	if (world.out_count > world.out_most)
		world.out_most = world.out_count;
	return 0;
}

int fake_children(struct shell *shell, const struct request *request, const char *path, uint64_t watch_cookie)
{
	assert_ptr_equal(shell, &world.shell);
	assert_int_equal(watch_cookie, 0);
	return ask(request, path);
}

int fake_get(struct shell *shell, const struct request *request, const char *path, uint64_t watch_cookie)
{
	return fake_children(shell, request, path, watch_cookie);
}

static void answer_listing(const struct asked *asked, bool of_queue)
{
	const char *names[AGENTS + 1] = {"a stranger"};
	struct port_event reply = {.u.reply = {.result = PORT_OK, .names = names, .name_count = 1}};

	if (of_queue && world.listing != PORT_OK)
		reply = (struct port_event){.u.reply = {.result = world.listing}};
	for (size_t i = 0; i < world.agent_count && reply.u.reply.names; i++)
		if (!of_queue)
			names[reply.u.reply.name_count++] = world.agents[i].record_name;
		else if (world.agents[i].queues)
			names[reply.u.reply.name_count++] = world.agents[i].candidate;
	asked->request.done(&world.shell, &asked->request, &reply);
}

static void answer_get(const struct asked *asked)
{
	struct port_event reply = {.u.reply = {.result = PORT_NONODE}};
	char *text = NULL;

	for (size_t i = 0; i < world.agent_count; i++)
		if (!world.agents[i].hidden && strcmp(strrchr(asked->path, '/') + 1, world.agents[i].record_name) == 0) {
			assert_int_equal(tenure_member_encode(&world.agents[i].record, &text, &reply.u.reply.size), 0);
			reply.u.reply.result = PORT_OK;
			reply.u.reply.data = text;
		}
	asked->request.done(&world.shell, &asked->request, &reply);
	free(text);
}

/* Answers all that is asked for, the newest first. */
static void answer(void)
{
	while (world.out_count > 0) {
		const struct asked asked = world.out[--world.out_count];

		if (strcmp(asked.path, queue_path) == 0 || strcmp(asked.path, folder) == 0)
			answer_listing(&asked, strcmp(asked.path, queue_path) == 0);
		else
			answer_get(&asked);
	}
}

static void done(struct contest *contest, uint32_t generation, enum elector_result result, int rc,
		 const struct elector_peer *peers, size_t count)
{
	(void)rc;
	assert_ptr_equal(contest, &world.contest);
	assert_int_equal(generation, 7);
	assert_true(count <= AGENTS);
	world.ends++;
	world.result = result;
	memcpy(world.peers, peers, count * sizeof *peers);
	world.peer_count = count;
}

static void look(bool mark)
{
	world.ends = 0;
	assert_int_equal(survey_start(&world.contest, 7, mark, done), 0);
	assert_int_equal(world.ends, 0);
	answer();
	assert_int_equal(world.ends, 1);
}

/* COUNT standbys m0, m1, … that queue; we are m0. */
static void begin(size_t count)
{
	static char own_path[256];

	world = (struct world){.agent_count = count, .contest = {.shell = &world.shell}};
	world.contest.queue_path = (char *)queue_path;
	world.contest.member.folder = (char *)folder;
	for (size_t i = 0; i < count; i++) {
		struct agent *agent = &world.agents[i];
		char guid[TENURE_GUID_SIZE];

		agent->queues = true;
		snprintf(agent->record.member, sizeof agent->record.member, "m%zu", i);
		snprintf(agent->record.state, sizeof agent->record.state, "standby");
		tenure_queue_guid(0xa000 + i, 0, guid);
		snprintf(agent->record_name, sizeof agent->record_name, "m%zu-%s", i, guid);
		tenure_queue_guid(0xa000 + i, 0x1234 + i, guid);
		snprintf(agent->candidate, sizeof agent->candidate, "_c_%s-latch-%010u", guid, (unsigned)i);
	}
	snprintf(own_path, sizeof own_path, "%s/%s", folder, world.agents[0].record_name);
	world.contest.member.path = own_path;
}

static void end(void)
{
	forget_marks(&world.contest.marks);
}

static void set_score(size_t index, bool known, int64_t score, int64_t taken)
{
	world.agents[index].record.has_score = known;
	world.agents[index].record.score = score;
	world.agents[index].record.score_seq = taken;
}

static const struct elector_peer *peer(size_t index)
{
	for (size_t i = 0; i < world.peer_count; i++)
		if (strcmp(world.peers[i].member, world.agents[index].record.member) == 0)
			return &world.peers[i];
	return NULL;
}

/*
 * Goal: who waits has a candidate and says standby, and who has gone is nobody. Method: one of each, among enough
 * members that not all are asked for at once.
 */
static void test_who_waits(void **state)
{
	(void)state;
	begin(AGENTS);
	world.agents[1].queues = false;
	strcpy(world.agents[2].record.state, "active");
	world.agents[3].hidden = true;
	look(false);
	assert_int_equal(world.result, ELECTOR_OK);
	assert_int_equal(world.peer_count, AGENTS - 1);
	assert_true(world.out_most <= SURVEY_AT_ONCE);
	assert_false(peer(1)->waiting);
	assert_false(peer(2)->waiting);
	assert_null(peer(3));
	for (size_t i = 0; i < AGENTS; i++) {
		if (i != 3)
			assert_int_equal(peer(i)->self, i == 0);
		if (i == 0 || i > 3)
			assert_true(peer(i)->waiting && peer(i)->eligible);
	}
}

/*
 * Goal: a score is fresh from the second one behind the mark on, in the record that was marked. Method: without a mark,
 * with it, one score, two; a failed one; a record made anew; what only a peer out of its mind would count.
 */
static void test_fresh(void **state)
{
	(void)state;
	begin(6);
	for (size_t i = 1; i < 6; i++)
		set_score(i, true, 100, 5);
	set_score(5, true, 100, INT64_MAX);
	look(false);
	assert_false(peer(1)->score_fresh);
	look(true);
	assert_false(peer(1)->score_fresh);
	set_score(1, true, 101, 6);
	set_score(2, true, -102, 7);
	set_score(3, false, 103, 9);
	set_score(4, true, 104, 9);
	world.agents[4].record_name[strlen(world.agents[4].record_name) - 1] = 'f';
	for (unsigned times = 0; times < 2; times++) {
		look(false);
		assert_false(peer(1)->score_fresh);
		assert_true(peer(2)->score_fresh);
		assert_int_equal(peer(2)->score, -102);
		assert_false(peer(3)->score_fresh);
		assert_false(peer(4)->score_fresh);
		assert_true(peer(4)->waiting);
		assert_false(peer(5)->score_fresh);
	}
	/* The next mark is the only one that counts. */
	look(true);
	look(false);
	assert_false(peer(2)->score_fresh);
	end();
}

/* Goal: of ourselves the supervisor's word counts, not a record that lags behind. Method: they differ. */
static void test_own_score(void **state)
{
	struct message *m = &world.contest.state;

	(void)state;
	begin(2);
	world.contest.state_known = true;
	m->u.state.score_seq = 3;
	look(true);
	m->u.state.has_score = true;
	m->u.state.score = 42;
	m->u.state.score_seq = 5;
	look(false);
	assert_true(peer(0)->self && peer(0)->score_fresh);
	assert_int_equal(peer(0)->score, 42);
	m->u.state.has_score = false;
	look(false);
	assert_false(peer(0)->score_fresh);
	end();
}

/*
 * Goal: a survey that fails ends once, and marks nothing. Method: every request in turn cannot be sent; then the queue
 * may not be listed.
 */
static void test_failure(void **state)
{
	(void)state;
	begin(3);
	look(true);
	for (size_t i = 1; i < 3; i++)
		set_score(i, true, 1, 2);
	world.refuse_at = world.asked + 1;
	assert_true(survey_start(&world.contest, 7, true, done) < 0);
	/* Two listings, a stranger's record and three more. */
	for (size_t at = 2; at <= 6; at++) {
		world.refuse_at = world.asked + at;
		look(true);
		assert_int_equal(world.result, ELECTOR_UNKNOWN);
		assert_int_equal(world.peer_count, 0);
	}
	world.refuse_at = 0;
	world.listing = PORT_NOAUTH;
	look(true);
	assert_int_equal(world.result, ELECTOR_NOAUTH);
	world.listing = PORT_OK;
	look(false);
	assert_true(peer(1)->score_fresh && peer(2)->score_fresh);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_waits),
		cmocka_unit_test(test_fresh),
		cmocka_unit_test(test_own_score),
		cmocka_unit_test(test_failure),
	};

	return cmocka_run_group_tests_name("elector survey", tests, NULL, NULL);
}
