/* Memory runs out at every place in turn: records, what is kept of them, messages, status, control lines, environments. */
#include "no_memory.h"

#include <jansson.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/log.h"
#include "common/message.h"
#include "core/role.h"
#include "elector/control_line.h"
#include "elector/kept.h"
#include "elector/requests.h"
#include "elector/status.h"
#include "supervisor/environment.h"
#include "tenure/record.h"

#define RECORD                                                                                                   \
	"{\"version\":1,\"paused\":false,\"successor\":\"db-b\",\"eligible\":[\"db-a\",\"db-b\"],"               \
	"\"transitions\":12,\"held\":\"\",\"request\":7,\"future\":{\"deep\":[1,2.5,null]},"                     \
	"\"incumbent\":{\"member\":\"db-a\",\"address\":\"10.0.0.1:5432\",\"token\":\"42\",\"phase\":\"active\"," \
	"\"clean\":false,\"since\":\"2026-01-02T03:04:05Z\",\"extra\":\"kept\"},"                                \
	"\"history\":[{\"member\":\"db-c\",\"token\":\"17\",\"reason\":\"election\",\"at\":\"2025\"}]}"

static const struct tenure_edit take = {
	.kind = TENURE_EDIT_TAKE, .token = 77, .member = "db-b", .address = "10.0.0.2:5432", .reason = "handoff", .at = "2026"};
static const struct tenure_edit clean = {.kind = TENURE_EDIT_CLEAN, .token = 42};

/* ---- records ---- */

static int decode_election(void)
{
	struct tenure_election_record record;
	int rc;

	NO_MEMORY_IN(rc = tenure_election_decode(RECORD, strlen(RECORD), &record));
	/* A record that could not be read counts as one of nobody knows whom. */
	assert_int_equal(record.incumbent.clean, rc == 0 ? TENURE_CLEAN_NO : TENURE_CLEAN_UNKNOWN);
	return rc;
}

static int edit_election(const struct tenure_edit *edit)
{
	struct tenure_document *document = NULL, *edited = NULL;
	struct tenure_election_record record, after;
	char *text = NULL;
	size_t size = 0;
	int rc;

	NO_MEMORY_IN(rc = tenure_document_parse(RECORD, strlen(RECORD), &document, &record));
	if (rc == 0) {
		NO_MEMORY_IN(rc = tenure_document_edit(document, edit, &edited, &after, &text, &size));
		/* It is whole, or it is not there. */
		assert_true((rc == 0) == (text != NULL) && (rc == 0) == (edited != NULL));
		if (rc == 0)
			assert_non_null(strstr(text, "\"future\""));
	}
	tenure_document_free(document);
	tenure_document_free(edited);
	free(text);
	return rc;
}

static int edit_take(void)
{
	return edit_election(&take);
}

static int edit_clean(void)
{
	return edit_election(&clean);
}

static int member_record(void)
{
	const struct tenure_member_record in = {.member = "db-a", .address = "10.0.0.1:5432", .host = "a", .pid = 7,
						.boot_id = "1", .state = "standby", .has_score = true, .score = 9};
	struct tenure_member_record out = {0};
	char *text = NULL;
	size_t size = 0;
	int rc;

	NO_MEMORY_IN(rc = tenure_member_encode(&in, &text, &size));
	if (rc == 0) {
		NO_MEMORY_IN(rc = tenure_member_decode(text, size, &out));
		assert_string_equal(out.member, rc == 0 ? "db-a" : "");
		assert_int_equal(out.score, rc == 0 ? 9 : 0);
	}
	free(text);
	return rc;
}

static int candidate_data(void)
{
	char *text = NULL, member[TENURE_MEMBER_SIZE] = "", address[TENURE_ADDRESS_SIZE] = "";
	size_t size = 0;
	int rc;

	NO_MEMORY_IN(rc = tenure_candidate_encode("db-a", "10.0.0.1:5432", &text, &size));
	if (rc == 0)
		NO_MEMORY_IN(rc = tenure_candidate_decode(text, size, member, address));
	if (rc == 0)
		assert_string_equal(address, "10.0.0.1:5432");
	free(text);
	return rc;
}

/* Goal: a record is read, changed and written whole, or -ENOMEM says that it is not. */
static void test_records(void **state)
{
	(void)state;
	no_memory_sweep(decode_election, NO_MEMORY_EVERYWHERE);
	no_memory_sweep(edit_take, NO_MEMORY_EVERYWHERE);
	no_memory_sweep(edit_clean, NO_MEMORY_EVERYWHERE);
	no_memory_sweep(member_record, NO_MEMORY_EVERYWHERE);
	no_memory_sweep(candidate_data, NO_MEMORY_EVERYWHERE);
}

/* ---- what the elector keeps ---- */

static int keep(void)
{
	struct tenure_election_record said;
	const struct port_stat first = {.mzxid = 70, .version = 7}, second = {.mzxid = 71, .version = 8};
	struct kept kept = {0};
	char *text = NULL;
	size_t size = 0;
	int rc;

	NO_MEMORY_IN(rc = kept_read(&kept, "pg", RECORD, strlen(RECORD), &first, 100));
	if (rc == 0) {
		NO_MEMORY_IN(kept_prepare(&kept, &clean));
		NO_MEMORY_IN(rc = kept_edit(&kept, &clean, 3, &text, &size));
	}
	if (rc == 0) {
		NO_MEMORY_IN(rc = kept_written(&kept, 3, &second, 200));
		kept_record(&kept, &said);
		assert_int_equal(said.incumbent.clean, TENURE_CLEAN_YES);
		assert_int_equal(kept.version, 8);
	}
	free(text);
	kept_free(&kept);
	return rc;
}

static int table_of_requests(void)
{
	const struct request request = {.index = 5};
	struct request out;
	struct requests requests;
	int rc;

	NO_MEMORY_IN(rc = requests_init(&requests, 8));
	if (rc < 0)
		return rc;
	assert_true(requests_take(&requests, requests_add(&requests, &request, 1), &out));
	requests_free(&requests);
	return 0;
}

static int line(void)
{
	static const char text[] = "{\"command\":\"resign\",\"election\":\"pg\",\"force\":true}";
	struct control_line parsed = {0};
	const char *error = NULL;
	int rc;

	NO_MEMORY_IN(rc = control_line_parse(text, strlen(text), &parsed, &error));
	if (rc == 0)
		assert_true(parsed.force && strcmp(parsed.election, "pg") == 0);
	else
		assert_non_null(error);
	return rc == -EBADMSG ? -ENOMEM : rc;
}

static int status(void)
{
	struct message state = {.type = MESSAGE_STATE, .token = 42, .reason = TENURE_REASON_ELECTION};
	const struct tenure_incumbent us = {.member = "db-a", .address = "10.0.0.1:5432", .token = 42};
	const struct status_agent agent = {.member = "db-a", .version = "1", .pid = 1, .elector_pid = 2, .server = "a:1",
					   .session_state = SESSION_CONNECTED, .session_id = 3, .timeout_ns = 4};
	struct status_election election = {
		.member = "db-a", .address = "10.0.0.1:5432", .candidate = true, .state = &state, .record_known = true,
		.incumbent = &us, .self = true, .eligible = true, .record_ns = 1, .position = 1, .members = 3,
		.in_queue = true, .lease_ns = 900, .demote_ns = 800, .token_floor = 41, .blocked = "a test"};
	json_t *of_agent, *of_election;
	int rc;

	state.u.state.state = ROLE_ACTIVE;
	state.u.state.since_ms = 1700000000123;
	NO_MEMORY_IN(of_agent = status_agent_json(&agent, 100));
	NO_MEMORY_IN(of_election = status_election_json(&election, 100));
	rc = of_agent && of_election ? 0 : -ENOMEM;
	/* Nothing is left out for want of memory. */
	if (of_election)
		assert_int_equal(json_object_size(of_election), 22);
	json_decref(of_agent);
	json_decref(of_election);
	return rc;
}

/* Goal: the elector's parts fail whole. */
static void test_elector(void **state)
{
	(void)state;
	no_memory_sweep(keep, NO_MEMORY_EVERYWHERE);
	no_memory_sweep(table_of_requests, NO_MEMORY_EVERYWHERE);
	no_memory_sweep(line, NO_MEMORY_EVERYWHERE);
	no_memory_sweep(status, NO_MEMORY_EVERYWHERE);
}

/* ---- the supervisor ---- */

static int queue_of_messages(void)
{
	struct message m = {.type = MESSAGE_QUIT}, got;
	struct message_queue *queue;
	int fds[2], rc = 0;

	NO_MEMORY_IN(queue = message_queue_new(100));
	if (!queue)
		return -ENOMEM;
	for (unsigned i = 0; i < 100 && rc == 0; i++)
		NO_MEMORY_IN(rc = message_queue_put(queue, &m));
	if (rc == 0) {
		assert_int_equal(message_queue_waiting(queue), 100);
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
		message_queue_flush(queue, fds[0]);
		assert_int_equal(message_receive(fds[1], &got), 1);
		assert_int_equal(got.type, MESSAGE_QUIT);
		close(fds[0]);
		close(fds[1]);
	}
	message_queue_free(queue);
	return rc == -ENOBUFS ? -ENOMEM : rc;
}

static int environment(void)
{
	static char pgdata[] = "PGDATA=/var/lib/postgresql";
	char *const extra[] = {pgdata, NULL};
	const struct environment_input in = {
		.event = "gain", .election = "pg", .member = "db-a", .address = "10.0.0.1:5432", .state = "promoting",
		.old_state = "standby", .token = 42, .reason = TENURE_REASON_ELECTION, .leader = "db-a",
		.leader_address = "10.0.0.1:5432", .deadline_ns = 900, .now_ns = 100, .timeout_ns = 60, .transition = 3,
		.user = &(struct config_user){0}, .extra = extra};
	char **built;
	bool found = false;

	NO_MEMORY_IN(built = environment_build(&in));
	if (!built)
		return -ENOMEM;
	for (char **each = built; *each; each++)
		found = found || strcmp(*each, pgdata) == 0;
	assert_true(found);
	free(built);
	return 0;
}

/* Goal: a hook has its whole environment or none, a message is queued or refused. */
static void test_supervisor(void **state)
{
	(void)state;
	environment_init();
	no_memory_sweep(queue_of_messages, NO_MEMORY_EVERYWHERE);
	no_memory_sweep(environment, NO_MEMORY_EVERYWHERE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_elector),
		cmocka_unit_test(test_supervisor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
