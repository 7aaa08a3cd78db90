/* The log: lines as people and machines get them, and that it never blocks. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "common/log.h"

enum { TEXT_SIZE = 1 << 17 };

/* stderr is a pipe for the length of each test. */
struct fixture {
	int saved, reader;
	char text[TEXT_SIZE];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int pipe_fds[2];

	if (!f || pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -1;
	f->saved = dup(2);
	f->reader = pipe_fds[0];
	fcntl(f->reader, F_SETFL, O_NONBLOCK);
	dup2(pipe_fds[1], 2);
	close(pipe_fds[1]);
	unsetenv("JOURNAL_STREAM");
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	dup2(f->saved, 2);
	close(f->saved);
	close(f->reader);
	log_open("test", LOG_LEVEL_INFO, LOG_FORMAT_TEXT, LOG_TARGET_STDERR);
	free(f);
	return 0;
}

/* All that has been written since the last call. */
static const char *written(struct fixture *f)
{
	size_t used = 0;
	ssize_t n;

	while ((n = read(f->reader, f->text + used, sizeof(f->text) - 1 - used)) > 0)
		used += (size_t)n;
	f->text[used] = '\0';
	return f->text;
}

/*
 * Goal: a value can be told from what stands around it, and cannot forge a line.
 * Method: quote values with blanks, quotes, control characters and bad UTF-8.
 */
static void values_are_quoted(void **state)
{
	static const struct {
		const char *value, *quoted;
	} cases[] = {
		{"plain", "plain"},
		{"", "\"\""},
		{"two words", "\"two words\""},
		{"a=b", "\"a=b\""},
		{"say \"no\"", "\"say \\\"no\\\"\""},
		{"back\\slash", "\"back\\\\slash\""},
		{"line\nelection=x", "\"line\\x0aelection=x\""},
		{"\x1b[31m", "\"\\x1b[31m\""},
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"\xff", "\"\\xff\""},
		{"\xc3", "\"\\xc3\""},
		{"\xe0\x80\x80", "\"\\xe0\\x80\\x80\""},
		{"\xed\xa0\x80", "\"\\xed\\xa0\\x80\""},
		{"\xf4\x90\x80\x80", "\"\\xf4\\x90\\x80\\x80\""},
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(log_quote(cases[i].value, buf, sizeof(buf)), cases[i].quoted);
}

/*
 * Goal: a value too long for its buffer is cut, and still ends with its quote.
 * Method: quote long values into every small size; nothing is written beyond it.
 */
static void quoting_keeps_its_bounds(void **state)
{
	char buf[32];

	(void)state;
	for (unsigned size = 0; size < sizeof(buf) - 1; size++) {
		memset(buf, '#', sizeof(buf));
		log_quote("a \n\n\n\"\"\"\" \xff\xff\xff very long value", buf, size);
		assert_int_equal(buf[size], '#');
		if (size == 0)
			continue;
		assert_true(strlen(buf) < size);
		if (size >= 3) {
			assert_int_equal(buf[0], '"');
			assert_int_equal(buf[strlen(buf) - 1], '"');
		}
	}
}

/*
 * Goal: the text form: time, level, process, sentence, election, pairs; one line each.
 * Method: log to a pipe and look at the line behind the time.
 */
static void text_lines(void **state)
{
	struct fixture *f = *state;
	const char *line;

	log_open("supervisor", LOG_LEVEL_INFO, LOG_FORMAT_TEXT, LOG_TARGET_STDERR);
	log_info("pg", "state changed", "state=%s token=%d", "active", 42);
	line = written(f);
	assert_int_equal(line[4], '-');
	assert_string_equal(line + strlen("2026-01-01T00:00:00.000Z"),
			    " info supervisor: state changed election=pg state=active token=42\n");
	log_warning(NULL, "nothing to add", " ");
	assert_string_equal(strchr(written(f), ' '), " warning supervisor: nothing to add\n");
	log_debug("pg", "not at this level", "a=%d", 1);
	assert_string_equal(written(f), "");
}

/*
 * Goal: under a journal lines carry their priority and no time.
 * Method: let JOURNAL_STREAM name the pipe that stderr is.
 */
static void journal_lines(void **state)
{
	struct fixture *f = *state;
	struct stat status;
	char stream[64];

	assert_int_equal(fstat(2, &status), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)status.st_dev,
		 (unsigned long long)status.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_open("elector", LOG_LEVEL_INFO, LOG_FORMAT_TEXT, LOG_TARGET_STDERR);
	log_error(NULL, "broken", "why=%s", "x");
	assert_string_equal(written(f), "<3>error elector: broken why=x\n");
	unsetenv("JOURNAL_STREAM");
}

static json_t *parse(const char *line)
{
	json_error_t error;
	json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &error);

	assert_non_null(object);
	assert_true(json_is_object(object));
	return object;
}

/*
 * Goal: every pair becomes a member; numbers are numbers, tokens are strings, quoted values are unquoted.
 * Method: parse a line with pairs of every kind by another JSON library.
 */
static void json_lines(void **state)
{
	struct fixture *f = *state;
	char quoted[128];
	json_t *object;

	log_open("supervisor", LOG_LEVEL_INFO, LOG_FORMAT_JSON, LOG_TARGET_STDERR);
	log_info("pg", "took office", "token=%s lease_ms=%d zero=0 lead=007 why=%s bad=%s empty=\"\"", "42",
		 -5, log_quote("a \"b\"\\\n\x01", quoted, sizeof(quoted)), "\"\\xff\"");
	object = parse(written(f));
	assert_string_equal(json_string_value(json_object_get(object, "event")), "took office");
	assert_string_equal(json_string_value(json_object_get(object, "process")), "supervisor");
	assert_string_equal(json_string_value(json_object_get(object, "level")), "info");
	assert_string_equal(json_string_value(json_object_get(object, "election")), "pg");
	assert_string_equal(json_string_value(json_object_get(object, "token")), "42");
	assert_int_equal(json_integer_value(json_object_get(object, "lease_ms")), -5);
	assert_true(json_is_integer(json_object_get(object, "zero")));
	assert_string_equal(json_string_value(json_object_get(object, "lead")), "007");
	assert_string_equal(json_string_value(json_object_get(object, "why")), "a \"b\"\\\n\x01");
	assert_string_equal(json_string_value(json_object_get(object, "bad")), "\\xff");
	assert_string_equal(json_string_value(json_object_get(object, "empty")), "");
	assert_non_null(json_object_get(object, "time"));
	json_decref(object);
}

/*
 * Goal: a line has a bound, and a cut JSON line is still JSON.
 * Method: log values that are too long, in both forms.
 */
static void long_lines_are_cut(void **state)
{
	struct fixture *f = *state;
	char *value = malloc(10000);
	json_t *object;
	size_t n;

	assert_non_null(value);
	memset(value, 'x', 9999);
	value[9999] = '\0';
	log_open("supervisor", LOG_LEVEL_INFO, LOG_FORMAT_TEXT, LOG_TARGET_STDERR);
	log_info(NULL, "long", "value=%s", value);
	n = strlen(written(f));
	assert_int_equal(n, 4096);
	assert_int_equal(f->text[n - 1], '\n');

	log_open("supervisor", LOG_LEVEL_INFO, LOG_FORMAT_JSON, LOG_TARGET_STDERR);
	log_info(NULL, "long", "first=1 value=%s", value);
	object = parse(written(f));
	assert_true(strlen(f->text) <= 4096);
	assert_int_equal(json_integer_value(json_object_get(object, "first")), 1);
	assert_null(json_object_get(object, "value"));
	json_decref(object);
	free(value);
}

/*
 * Goal: a pipe that nobody reads blocks nothing; what is lost is counted, and said afterwards.
 * Method: log into a small pipe until lines are lost, empty it, and log once more.
 */
static void full_pipe_drops(void **state)
{
	struct fixture *f = *state;
	uint64_t before = log_dropped(), lost;
	char expected[64];

	fcntl(2, F_SETPIPE_SZ, 4096);
	log_open("supervisor", LOG_LEVEL_INFO, LOG_FORMAT_TEXT, LOG_TARGET_STDERR);
	for (int i = 0; i < 200; i++)
		log_info("pg", "noise", "i=%d", i);
	lost = log_dropped() - before;
	assert_true(lost > 0 && lost < 200);
	written(f);
	log_info("pg", "after", " ");
	snprintf(expected, sizeof(expected), "log lines dropped total=%llu\n",
		 (unsigned long long)log_dropped());
	assert_non_null(strstr(written(f), expected));
	assert_non_null(strstr(f->text, "after"));
	log_info("pg", "once", " ");
	assert_null(strstr(written(f), "dropped"));
}

/* The line that says how many were lost so far. */
static const char *dropped_line(char *line, size_t size)
{
	snprintf(line, size, "log lines dropped total=%llu\n", (unsigned long long)log_dropped());
	return line;
}

/*
 * Goal: a reader that has gone costs lines and nothing else; another one is told how many, once.
 * Method: close a FIFO's reading end, log, open it again.
 */
static void reader_that_leaves(void **state)
{
	struct fixture *f = *state;
	char directory[] = "/tmp/tenure-log-XXXXXX", path[64], line[64];
	uint64_t before = log_dropped();
	void (*former)(int) = signal(SIGPIPE, SIG_IGN);
	int fd;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/fifo", directory);
	assert_int_equal(mkfifo(path, 0600), 0);
	close(f->reader);
	f->reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(f->reader >= 0 && fd >= 0);
	dup2(fd, 2);
	close(fd);
	log_open("supervisor", LOG_LEVEL_INFO, LOG_FORMAT_TEXT, LOG_TARGET_STDERR);
	log_info("pg", "heard", " ");
	assert_non_null(strstr(written(f), "heard"));
	close(f->reader);
	for (int i = 0; i < 3; i++)
		log_info("pg", "nobody listens", " ");
	assert_int_equal(log_dropped() - before, 3);
	f->reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	log_info("pg", "heard again", " ");
	assert_non_null(strstr(written(f), dropped_line(line, sizeof(line))));
	assert_non_null(strstr(f->text, "heard again"));
	log_info("pg", "once", " ");
	assert_null(strstr(written(f), "dropped"));
	unlink(path);
	rmdir(directory);
	signal(SIGPIPE, former);
}

/*
 * Goal: a file that can take no more, or only a part of a line, costs lines; the part runs into no later line.
 * Method: let the limit of a file's size end within a line; then raise it.
 */
static void file_that_is_full(void **state)
{
	struct fixture *f = *state;
	uint64_t before = log_dropped();
	void (*former)(int) = signal(SIGXFSZ, SIG_IGN);
	struct rlimit limit, low;
	FILE *file = tmpfile();
	char line[64], *next;
	ssize_t n;

	assert_non_null(file);
	assert_true(dup2(fileno(file), 2) >= 0);
	log_open("supervisor", LOG_LEVEL_INFO, LOG_FORMAT_TEXT, LOG_TARGET_STDERR);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	low = limit;
	low.rlim_cur = 100;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	for (int i = 0; i < 4; i++)
		log_info("pg", "more than half of what the file may hold", " ");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(log_dropped() - before, 3);
	log_info("pg", "room again", " ");
	n = pread(fileno(file), f->text, sizeof(f->text) - 1, 0);
	assert_true(n > 0);
	f->text[n] = '\0';
	next = strstr(f->text, dropped_line(line, sizeof(line)));
	assert_non_null(next);
	assert_non_null(strstr(next, "\n2"));
	assert_non_null(strstr(next, "room again"));
	while (next > f->text && next[-1] != '\n')
		next--;
	assert_int_equal(next[4], '-');
	fclose(file);
	signal(SIGXFSZ, former);
}

/*
 * Goal: a full disk costs lines only, and they are counted.
 * Method: /dev/full, which is always full.
 */
static void disk_that_is_full(void **state)
{
	uint64_t before = log_dropped();
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0 && dup2(fd, 2) >= 0);
	close(fd);
	log_open("supervisor", LOG_LEVEL_INFO, LOG_FORMAT_TEXT, LOG_TARGET_STDERR);
	for (int i = 0; i < 5; i++)
		log_info("pg", "nothing fits", " ");
	assert_int_equal(log_dropped() - before, 5);
}

/*
 * Goal: stderr may be shared, so its own flags stay as they are.
 * Method: look at the flags of the descriptor after lines were logged.
 */
static void shared_description_stays_blocking(void **state)
{
	struct fixture *f = *state;

	log_open("supervisor", LOG_LEVEL_INFO, LOG_FORMAT_TEXT, LOG_TARGET_STDERR);
	log_info(NULL, "line", " ");
	assert_int_equal(fcntl(2, F_GETFL) & O_NONBLOCK, 0);
	assert_non_null(strstr(written(f), "line"));
}

/*
 * Goal: opening the log again and again leaks no descriptor.
 * Method: the next free descriptor is the same before and after.
 */
static void reopening_leaks_nothing(void **state)
{
	int before, after;

	(void)state;
	log_open("supervisor", LOG_LEVEL_INFO, LOG_FORMAT_TEXT, LOG_TARGET_STDERR);
	before = dup(0);
	close(before);
	for (int i = 0; i < 50; i++)
		log_open("supervisor", LOG_LEVEL_INFO, LOG_FORMAT_JSON, LOG_TARGET_STDERR);
	after = dup(0);
	close(after);
	assert_int_equal(before, after);
}

/*
 * Goal: what a hook prints stays within its line.
 * Method: log output with a newline and pairs of its own in it.
 */
static void hook_output_is_contained(void **state)
{
	struct fixture *f = *state;

	log_open("supervisor", LOG_LEVEL_INFO, LOG_FORMAT_TEXT, LOG_TARGET_STDERR);
	log_hook_output("pg", "gain", "stdout", "a\nelection=other state=active");
	assert_non_null(strstr(written(f), "election=pg hook=gain stream=stdout "
					   "text=\"a\\x0aelection=other state=active\"\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_quoted),
		cmocka_unit_test(quoting_keeps_its_bounds),
		cmocka_unit_test_setup_teardown(text_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(journal_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(json_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_lines_are_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(full_pipe_drops, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reader_that_leaves, set_up, tear_down),
		cmocka_unit_test_setup_teardown(file_that_is_full, set_up, tear_down),
		cmocka_unit_test_setup_teardown(disk_that_is_full, set_up, tear_down),
		cmocka_unit_test_setup_teardown(shared_description_stays_blocking, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reopening_leaks_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(hook_output_is_contained, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
