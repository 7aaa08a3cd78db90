/* Requests on the control socket as they are read from their lines, and the credentials file. */
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

#include "elector/auth.h"
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
		{"{\"command\":\"resign\",\"election\":1}", -EINVAL},
		{"{\"command\":\"resign\",\"force\":\"yes\"}", -EINVAL},
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

struct seen {
	unsigned count;
	char text[256];
};

static int note(void *context, const char *scheme, const char *credential, size_t size)
{
	struct seen *seen = context;
	size_t used = strlen(seen->text);

	assert_int_equal(strlen(credential), size);
	snprintf(seen->text + used, sizeof seen->text - used, "<%s|%s>", scheme, credential);
	return ++seen->count > 2 ? -ENOSPC : 0;
}

/* Reads a file of these bytes and mode. */
static int read_file(const char *bytes, size_t size, mode_t mode, struct seen *seen, char why[128])
{
	char name[] = "/tmp/tenure-auth-XXXXXX";
	int fd = mkstemp(name), rc;

	assert_true(fd >= 0);
	assert_true(write(fd, bytes, size) == (ssize_t)size);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
	memset(seen, 0, sizeof *seen);
	why[0] = '\0';
	rc = auth_read(name, note, seen, why, 128);
	unlink(name);
	assert_true(rc == 0 || why[0]);
	return rc;
}

/* Goal: comments, empty lines, colons in the credential, a missing last newline. Method: one file with all. */
static void test_auth(void **state)
{
	static const char text[] = "# ours\n\ndigest:user:pass:word\r\nip:127.0.0.1";
	struct seen seen;
	char why[128];

	(void)state;
	assert_int_equal(read_file(text, strlen(text), 0600, &seen, why), 0);
	assert_string_equal(seen.text, "<digest|user:pass:word><ip|127.0.0.1>");
}

/* Goal: a file that is open to others, malformed, too long or absent is refused with its cause. Method: each once. */
static void test_auth_refused(void **state)
{
	static const char good[] = "digest:u:p\n", bad[] = "digest:u:p\nnonsense\n", many[] = "a:1\nb:2\nc:3\n";
	char *big = malloc(AUTH_FILE_MAX + 10);
	struct seen seen;
	char why[128];

	(void)state;
	assert_non_null(big);
	memset(big, '#', AUTH_FILE_MAX + 10);
	assert_int_equal(read_file(good, strlen(good), 0644, &seen, why), -EPERM);
	assert_non_null(strstr(why, "0644"));
	assert_int_equal(seen.count, 0);
	assert_int_equal(read_file(bad, strlen(bad), 0600, &seen, why), -EINVAL);
	assert_non_null(strstr(why, "line 2"));
	assert_int_equal(read_file(many, strlen(many), 0600, &seen, why), -ENOSPC);
	assert_non_null(strstr(why, "line 3"));
	assert_int_equal(read_file("a:b\0c:d\n", 8, 0600, &seen, why), -EINVAL);
	assert_int_equal(read_file(big, AUTH_FILE_MAX + 10, 0600, &seen, why), -EFBIG);
	assert_int_equal(auth_read("/nonexistent/auth", note, &seen, why, sizeof why), -ENOENT);
	assert_int_equal(auth_read("/", note, &seen, why, sizeof why), -EINVAL);
	free(big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests), cmocka_unit_test(test_refused), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_auth),     cmocka_unit_test(test_auth_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
