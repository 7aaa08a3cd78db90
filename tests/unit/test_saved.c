/* The state files' text: what is written is read again, and nothing else is. */
#include "core_support.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "supervisor/saved.h"

static struct saved_session some_session(void)
{
	struct saved_session session;

	memset(&session, 0, sizeof(session));
	strcpy(session.boot, "0f8fad5b-d9cb-469f-a165-70867728950e");
	strcpy(session.member, "db a%\n\x7f\xc3\xa9");
	session.supervisor = (struct saved_process){.pid = 4711, .start = UINT64_MAX};
	session.agent = UINT64_C(0x8000000000000001);
	session.identity = UINT64_C(0xfedcba9876543210);
	session.session.id = INT64_MIN;
	memset(session.session.password, 0xee, sizeof(session.session.password));
	session.session.timeout_ns = INT64_C(20000000000);
	session.lease_start_ns = INT64_MAX;
	session.elections = 3;
	memset(session.watchdog, '/', sizeof(session.watchdog) - 1);
	return session;
}

/* The largest that there can be: every text full of bytes that have to be escaped. */
static struct saved_term some_term(void)
{
	struct saved_term term;

	memset(&term, 0, sizeof(term));
	memset(term.boot, ' ', sizeof(term.boot) - 1);
	memset(term.election, '\n', sizeof(term.election) - 1);
	memset(term.candidate, '%', sizeof(term.candidate) - 1);
	memset(term.previous.member, 0xff, sizeof(term.previous.member) - 1);
	memset(term.previous.address, 1, sizeof(term.previous.address) - 1);
	memset(term.previous.since, ' ', sizeof(term.previous.since) - 1);
	term.identity = 1;
	term.session_id = -1;
	term.role.state = ROLE_OUT;
	term.role.reason = TENURE_REASON_STOP;
	term.role.leave_reason = TENURE_REASON_RESTART;
	term.role.transitions = UINT32_MAX;
	term.role.token = term.role.spent = term.role.timeout_ns = term.role.lease_start_ns = INT64_MAX;
	term.role.followed = -1;
	term.role.retry_at_ns = term.role.follow_at_ns = term.role.active_since_ns = INT64_MAX;
	term.role.failures = term.role.follow_failures = UINT32_MAX;
	term.role.lease_over = term.role.established = term.role.service = term.role.healthy = true;
	term.role.panic_told = term.role.fence_tried = term.role.at_rest = true;
	term.czxid = term.left = term.giving_up = term.demoted_token = term.since_ms = INT64_MAX;
	term.leaving = term.has_previous = true;
	term.previous.token = INT64_MIN;
	term.previous.phase = TENURE_PHASE_ACTIVE;
	term.previous.clean = TENURE_CLEAN_FENCED;
	term.hook = (struct saved_process){.pid = INT32_MAX, .start = UINT64_MAX};
	term.service = (struct saved_process){.pid = 2, .start = 1};
	return term;
}

/* Goal: nothing is lost, at either end of every range. Method: written, read, compared byte by byte. */
static void test_round_trip(void **state)
{
	struct saved_session session = some_session(), session_again;
	struct saved_term term = some_term(), term_again;
	char text[SAVED_SIZE];

	(void)state;
	memset(&session_again, 0, sizeof(session_again));
	assert_int_equal(saved_session_read(text, saved_session_write(&session, text), &session_again), 0);
	assert_memory_equal(&session, &session_again, sizeof(session));
	memset(&term_again, 0, sizeof(term_again));
	assert_int_equal(saved_term_read(text, saved_term_write(&term, text), &term_again), 0);
	assert_memory_equal(&term, &term_again, sizeof(term));
}

/* Goal: no byte can be another one. Method: each bit of each byte is turned. */
static void test_every_bit(void **state)
{
	struct saved_term term = some_term(), out;
	char text[SAVED_SIZE];
	size_t size = saved_term_write(&term, text);

	(void)state;
	for (size_t i = 0; i < size; i++) {
		for (int bit = 0; bit < 8; bit++) {
			text[i] = (char)(text[i] ^ (1 << bit));
			assert_int_equal(saved_term_read(text, size, &out), -EBADMSG);
			text[i] = (char)(text[i] ^ (1 << bit));
		}
	}
	assert_int_equal(saved_term_read(text, size, &out), 0);
}

/* Goal: a part of a file is no file, and neither is one with more behind it. */
static void test_every_length(void **state)
{
	struct saved_session session = some_session(), out;
	char text[SAVED_SIZE + 1];
	size_t size = saved_session_write(&session, text);

	(void)state;
	for (size_t n = 0; n < size; n++)
		assert_int_equal(saved_session_read(text, n, &out), -EBADMSG);
	text[size] = '\n';
	assert_int_equal(saved_session_read(text, size + 1, &out), -EBADMSG);
}

/* Puts TO in the place of FROM, and the checksum that belongs to the result. Returns its size. */
static size_t replace(char *text, const char *from, const char *to)
{
	char *at = strstr(text, from), *end;

	assert_non_null(at);
	memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
	memcpy(at, to, strlen(to));
	end = strstr(text, "\nchecksum ") + 1;
	sprintf(end, "checksum %016" PRIx64 "\n", saved_digest(0, text, (size_t)(end - text)));
	return strlen(text);
}

/*
 * Goal: with a right checksum it is still read strictly: another version, names, numbers that do not fit, and values
 * that no role can have.
 */
static void test_strict(void **state)
{
	static const char *const changes[][2] = {
		{"tenure-state 1", "tenure-state 2"}, {" term\n", " session\n"},
		{"role.state 8", "role.state 9"},     {"role.state 8", "role.state -1"},
		{"role.state 8", "role.state 08"},    {"role.state 8", "role.state 4294967304"},
		{"role.state 8", "role.state"},	      {"role.state 8\n", ""},
		{"leaving 1", "leaving 2"},	      {"leaving 1", "leaving yes"},
		{"leaving 1", "left 1"},	      {"czxid 9", "czxid -9"},
		{"czxid 9", "czxid 99"},	      {"hook.pid 2147483647", "hook.pid 1"},
		{"identity 1", "identity 0x1"},	      {"previous.clean 3", "previous.clean 4"},
		{"candidate %25", "candidate %"},     {"candidate %25", "candidate %00"},
		{"candidate %25", "candidate %25a"},  {"service.pid 2", "service.pid 2 "},
	};
	struct saved_term term = some_term(), out;
	char text[SAVED_SIZE + 16];

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		text[saved_term_write(&term, text)] = '\0';
		assert_int_equal(saved_term_read(text, replace(text, changes[i][0], changes[i][1]), &out), -EBADMSG);
	}
	/* The check itself: the same without a change. */
	text[saved_term_write(&term, text)] = '\0';
	assert_int_equal(saved_term_read(text, replace(text, "leaving 1", "leaving 0"), &out), 0);
	assert_false(out.leaving);
}

/* Goal: what is refused leaves the caller's alone. */
static void test_untouched(void **state)
{
	struct saved_term out, before;

	(void)state;
	memset(&out, 0x5a, sizeof(out));
	before = out;
	assert_int_equal(saved_term_read("tenure-state 1 term\n", 20, &out), -EBADMSG);
	assert_memory_equal(&out, &before, sizeof(out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_every_bit),  cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_strict),	   cmocka_unit_test(test_untouched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
