/* Requests on the control socket as they are read from their lines. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "elector/control_line.h"

static int parse(const char *text, struct control_line *out)
{
	const char *error = NULL;
	int rc = control_line_parse(text, strlen(text), out, &error);

	assert_true(rc == 0 || (error && error[0]));
	return rc;
}

/* Goal: the protocol's requests are understood. Method: each as control.h shows it. */
static void test_requests(void **state)
{
	struct control_line line;

	(void)state;
	assert_int_equal(parse("{\"command\":\"status\"}", &line), 0);
	assert_int_equal(line.command, CONTROL_STATUS);
	assert_string_equal(line.election, "");
	assert_int_equal(parse("{\"command\":\"is-leader\",\"election\":\"pg\"}", &line), 0);
	assert_int_equal(line.command, CONTROL_IS_LEADER);
	assert_string_equal(line.election, "pg");
	assert_int_equal(parse("{\"command\":\"resign\",\"election\":null,\"force\":true,\"later\":[1]}", &line), 0);
	assert_int_equal(line.command, CONTROL_RESIGN);
	assert_true(line.force);
	assert_int_equal(parse("{\"command\":\"resign\",\"force\":false}\r", &line), 0);
	assert_false(line.force);
	assert_int_equal(parse("{\"command\":\"recover\",\"election\":\"pg\"}", &line), 0);
	assert_int_equal(line.command, CONTROL_RECOVER);
}

/* Goal: forget is told what of, and whose at most. Method: each form, down to the bounds of a token. */
static void test_forget(void **state)
{
	struct control_line line;

	(void)state;
	assert_int_equal(parse("{\"command\":\"forget\",\"election\":\"pg\"}", &line), 0);
	assert_int_equal(line.command, CONTROL_FORGET);
	assert_false(line.token || line.look);
	assert_true(line.incumbent == -1);
	assert_int_equal(parse("{\"command\":\"forget\",\"token\":true,\"look\":true}", &line), 0);
	assert_true(line.token && line.look);
	assert_int_equal(parse("{\"command\":\"forget\",\"incumbent\":\"9223372036854775807\"}", &line), 0);
	assert_true(line.incumbent == INT64_MAX);
	assert_int_equal(parse("{\"command\":\"forget\",\"incumbent\":\"0\"}", &line), 0);
	assert_true(line.incumbent == 0);
	assert_int_equal(parse("{\"command\":\"forget\",\"incumbent\":null}", &line), 0);
	assert_true(line.incumbent == -1);
}

/* Goal: anything else is refused and leaves the result alone. Method: bad shapes, one by one. */
static void test_refused(void **state)
{
	static const struct {
		const char *text;
		int rc;
	} cases[] = {
		{"", -EBADMSG},
		{"status", -EBADMSG},
		{"[]", -EBADMSG},
		{"{}", -EBADMSG},
		{"{\"command\":7}", -EBADMSG},
		{"{\"command\":\"status\"", -EBADMSG},
		{"{\"command\":\"status\"} x", -EBADMSG},
		{"{\"command\":\"status\",\"command\":\"resign\"}", -EBADMSG},
		{"{\"command\":\"stat\\u0000us\"}", -EBADMSG},
		{"{\"command\":\"\xff\"}", -EBADMSG},
		{"{\"command\":\"format\"}", -ENOSYS},
		{"{\"command\":\"eligible\",\"members\":\"a\"}", -EINVAL},
		{"{\"command\":\"eligible\",\"members\":[\"a\",\"\"]}", -EINVAL},
		{"{\"command\":\"eligible\",\"members\":[\"a\",1]}", -EINVAL},
		{"{\"command\":\"eligible\",\"members\":[\"a\",\"b/c\"]}", -EINVAL},
		{"{\"command\":\"eligible\",\"members\":[\"a\",\"b\",\"a\"]}", -EINVAL},
		{"{\"command\":\"resign\",\"election\":1}", -EINVAL},
		{"{\"command\":\"resign\",\"force\":\"yes\"}", -EINVAL},
		{"{\"command\":\"forget\",\"token\":\"5\"}", -EINVAL},
		{"{\"command\":\"forget\",\"look\":1}", -EINVAL},
		{"{\"command\":\"forget\",\"incumbent\":5}", -EINVAL},
		{"{\"command\":\"forget\",\"incumbent\":\"\"}", -EINVAL},
		{"{\"command\":\"forget\",\"incumbent\":\"-1\"}", -EINVAL},
		{"{\"command\":\"forget\",\"incumbent\":\"5x\"}", -EINVAL},
		{"{\"command\":\"forget\",\"incumbent\":\"9223372036854775808\"}", -EINVAL},
	};
	struct control_line line = {.command = CONTROL_IS_LEADER, .election = "kept"};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(parse(cases[i].text, &line), cases[i].rc);
		assert_int_equal(line.command, CONTROL_IS_LEADER);
		assert_string_equal(line.election, "kept");
	}
}

/* Goal: names and nesting are bounded. Method: a name that just fits, one that does not, a deep line. */
static void test_bounds(void **state)
{
	char text[4096], name[TENURE_ELECTION_SIZE + 1];
	struct control_line line;

	(void)state;
	memset(name, 'e', sizeof name);
	name[TENURE_ELECTION_SIZE - 1] = '\0';
	snprintf(text, sizeof text, "{\"command\":\"status\",\"election\":\"%s\"}", name);
	assert_int_equal(parse(text, &line), 0);
	assert_string_equal(line.election, name);
	name[TENURE_ELECTION_SIZE - 1] = 'e';
	name[TENURE_ELECTION_SIZE] = '\0';
	snprintf(text, sizeof text, "{\"command\":\"status\",\"election\":\"%s\"}", name);
	assert_int_equal(parse(text, &line), -EINVAL);
	memset(text, '[', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	assert_int_equal(parse(text, &line), -EBADMSG);
}

/* ---- the credentials file ---- */

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests), cmocka_unit_test(test_forget), cmocka_unit_test(test_refused), cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
