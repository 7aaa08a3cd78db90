/* The configuration's traps: what libconfuse would let pass, expand, merge or report on the wrong line. */
#include "test_config.h"

/*
 * Goal: a comment of any kind leaves the lines of what follows right.
 * Method: a wrong value after comments of every kind, inside lists too.
 */
static void test_comments_keep_lines(void **state)
{
	(void)state;
	refuse("# one\n// two\n/* three\n four */\nmember = a # five\norphan_limit = x\n",
	       "t.conf:6: orphan_limit: \"x\" is not a time; write 4000, 4000ms, 4s or 2m\n");
	refuse("election a { hooks { notify = {\"/bin/true\", # why\n /* and\n why */ \"x\"\n// end\n}\n"
	       "notify_timeout = 1h } }\n",
	       "t.conf:6: election \"a\": hooks: notify_timeout: \"1h\" is not a time; write 4000, 4000ms, "
	       "4s or 2m\n");
}

/*
 * Goal: comments inside lists are comments.
 * Method: a list with comments of every kind between its words.
 */
static void test_comment_inside_list(void **state)
{
	struct run r = accept_text(
		"election a { hooks { notify = { # a\n\"/bin/true\", // b, \"no\"\n/* c */ \"x\" /* d */, "
		"# e\n\"y\", } } }");

	(void)state;
	assert_int_equal(r.config->elections[0].notify.command.count, 3);
	assert_string_equal(r.config->elections[0].notify.command.words[1], "x");
	assert_string_equal(r.config->elections[0].notify.command.words[2], "y");
	assert_null(r.config->elections[0].notify.command.words[3]);
	run_free(&r);
}

/*
 * Goal: marks of comments inside quotes are text, quotes inside comments are not quotes.
 * Method: one of each.
 */
static void test_comment_marks_in_quotes(void **state)
{
	struct run r = accept_text(
		"/* \" ' { */ # \"\n// '\nelection a { env = {\"A=#x\", 'B=//y', \"C=/*z*/\"} }\n");

	(void)state;
	assert_string_equal(r.config->elections[0].env[0], "A=#x");
	assert_string_equal(r.config->elections[0].env[1], "B=//y");
	assert_string_equal(r.config->elections[0].env[2], "C=/*z*/");
	run_free(&r);
}

/*
 * Goal: what is left open is an error, at the line where it was opened.
 * Method: each kind of opening left open, with lines after it.
 */
static void test_left_open(void **state)
{
	(void)state;
	refuse("member = a\n/* x\ny\n",
	       "t.conf:2: the comment that begins here with \"/*\" is never closed\n");
	refuse("\nmember = \"a\nstate_dir = \"/x\"\n", "t.conf:2: a quote (\") is not closed on its line\n");
	refuse("\nmember = 'a\n", "t.conf:2: a quote (') is not closed on its line\n");
	refuse("member = \"a\\\"\n", "t.conf:1: a quote (\") is not closed on its line\n");
	refuse("\nzookeeper {\n\n tick_time = 1s\n",
	       "t.conf:2: zookeeper: the \"{\" that opens it is never closed\n");
	refuse("\nelection \"a\" {\n hooks\n {\n",
	       "t.conf:2: election \"a\": the \"{\" that opens it is never closed\n"
	       "t.conf:4: election \"a\": hooks: the \"{\" that opens it is never closed\n");
	refuse("election a {\n env = {\"A=b\",\n\"B=c\"\n",
	       "t.conf:2: election \"a\": env: the list that begins here with \"{\" is never closed\n");
	refuse("member = a\n}\n", "t.conf:2: a \"}\" without its \"{\"\n");
}

/*
 * Goal: a list that is not closed is found where the next option begins.
 * Method: an option inside the open list.
 */
static void test_list_runs_into_option(void **state)
{
	(void)state;
	refuse("election a { hooks {\n gain = {\"/x\", \"gain\"\n lose = {\"/x\"}\n} }\n",
	       "t.conf:3: expected \",\" or \"}\" in the list of \"gain\" that begins on line 2, found "
	       "\"lose\"\n");
	refuse("election a { env = {\"A=b\" \"B=c\"} }\n", "t.conf:1: expected \",\" or \"}\" in the list of "
							   "\"env\" that begins on line 1, found \"B=c\"\n");
	refuse_with("election a { env = {,} }\n", "expected a text or \"}\" in the list");
	refuse_with("election a { env = {{\"A=b\"}} }\n", "expected a text or \"}\" in the list");
}

/*
 * Goal: a scalar set twice is an error that names both lines.
 * Method: duplicates at the top and inside; in two elections the same option is none.
 */
static void test_duplicate_scalars(void **state)
{
	(void)state;
	refuse("member = a\n\nmember = b\n", "t.conf:3: member: set a second time; the first is on line 1\n");
	refuse("zookeeper {\ntick_time = 1s\ntick_time = 1s }\n",
	       "t.conf:3: zookeeper: tick_time: set a second time; the first is on line 2\n");
	struct run r = accept_text("election a { address = x }\nelection b { address = x }\n");
	run_free(&r);
}

/*
 * Goal: a section or an election given twice is an error that names both lines, and is not merged.
 * Method: duplicates of each kind.
 */
static void test_duplicate_sections(void **state)
{
	(void)state;
	refuse("zookeeper { tick_time = 1s }\nzookeeper { ping_slack = 1s }\n",
	       "t.conf:2: zookeeper: a second such section; the first is on line 1\n");
	refuse("election a {\n hooks { }\n hooks { }\n}\n",
	       "t.conf:3: election \"a\": hooks: a second such section; the first is on line 2\n");
	refuse("election \"a\" { }\nelection b { }\nelection a { }\n",
	       "t.conf:3: election \"a\": there is one of that name on line 1\n");
}

/*
 * Goal: numbers and times are decimal, whatever zeros they begin with.
 * Method: 010000 ms, which libconfuse would read as 4096.
 */
static void test_leading_zeros_are_decimal(void **state)
{
	struct run r =
		accept_text("zookeeper { session_timeout = 010000 tick_time = 0100ms ping_slack = \"00s\" }");

	(void)state;
	assert_int_equal(r.config->zookeeper.session_timeout_ns, 10000 * TENURE_NS_PER_MS);
	assert_int_equal(r.config->zookeeper.tick_time_ns, 100 * TENURE_NS_PER_MS);
	assert_int_equal(r.config->zookeeper.ping_slack_ns, 0);
	run_free(&r);
	refuse_with("zookeeper { session_timeout = 0x4e20 }", "is not a time");
	refuse_with("election a { check { rise = 0x2 } }", "\"0x2\" is not a whole number");
	r = accept_text("election a { check { rise = 002 } }");
	run_free(&r);
}

/*
 * Goal: "${NAME}" stays as written.
 * Method: a variable that is set and one that is not, in both kinds of quotes; the escape of a dollar.
 */
static void test_no_environment(void **state)
{
	struct run r;

	(void)state;
	assert_int_equal(setenv("TENURE_TEST_VARIABLE", "expanded", 1), 0);
	r = accept_text(
		"election a { hooks { notify = {\"/bin/sh\", \"-c\", \"echo ${TENURE_TEST_VARIABLE} ${NO:-x} "
		"$x "
		"\\${TENURE_TEST_VARIABLE} \\\\${TENURE_TEST_VARIABLE}\", '${TENURE_TEST_VARIABLE}'} } }");
	char **words = r.config->elections[0].notify.command.words;
	assert_string_equal(words[2], "echo ${TENURE_TEST_VARIABLE} ${NO:-x} $x ${TENURE_TEST_VARIABLE} "
				      "\\${TENURE_TEST_VARIABLE}");
	assert_string_equal(words[3], "${TENURE_TEST_VARIABLE}");
	run_free(&r);
	refuse("member = ${TENURE_TEST_VARIABLE}\n",
	       "t.conf:1: unexpected \"$\"; text with such characters needs quotes\n");
	unsetenv("TENURE_TEST_VARIABLE");
}

/*
 * Goal: a directory, a FIFO, a missing or an oversized file as configuration is one error.
 * Method: config_read of each.
 */
static void test_read_regular_files_only(void **state)
{
	char folder[64], path[128], *said = NULL;
	size_t said_size = 0, size = 0;
	unsigned char *text = NULL;
	struct config_errors errors = {.stream = open_memstream(&said, &said_size)};

	(void)state;
	make_folder(folder);
	assert_int_equal(config_read(folder, &text, &size, &errors), -EISDIR);
	snprintf(path, sizeof(path), "%s/fifo", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(config_read(path, &text, &size, &errors), -ENOTSUP);
	unlink(path);
	assert_int_equal(config_read(path, &text, &size, &errors), -ENOENT);
	snprintf(path, sizeof(path), "%s/big", folder);
	make_file(path, "x", 1, 0600);
	assert_int_equal(truncate(path, CONFIG_FILE_MAX + 1), 0);
	assert_int_equal(config_read(path, &text, &size, &errors), -EFBIG);
	assert_int_equal(truncate(path, CONFIG_FILE_MAX), 0);
	assert_int_equal(config_read(path, &text, &size, &errors), 0);
	assert_int_equal(size, CONFIG_FILE_MAX);
	free(text);
	fclose(errors.stream);
	assert_int_equal(errors.count, 4);
	assert_non_null(strstr(said, "big: cannot be read: is too large\n"));
	assert_non_null(strstr(said, "fifo: cannot be read: is not a regular file\n"));
	free(said);
	unlink(path);
	rmdir(folder);
}

/*
 * Goal: a NUL byte does not hide the rest of the file.
 * Method: NUL in the text, in quotes and as an escape.
 */
static void test_nul_bytes(void **state)
{
	static const char text[] = "member = a\n\nstate_dir\0 = b\n", quoted[] = "member = \"a\0b\"\n";
	struct run r = run_parse(text, sizeof(text) - 1, NULL, 0, false);

	(void)state;
	assert_string_equal(r.said, "t.conf:3: a NUL byte: this is not a text file\n");
	run_free(&r);
	r = run_parse(quoted, sizeof(quoted) - 1, NULL, 0, false);
	assert_string_equal(r.said, "t.conf:1: a NUL byte: this is not a text file\n");
	run_free(&r);
	refuse("member = \"a\\0\"\n", "t.conf:1: the number after \"\\\" is not a byte from 1 to 255\n");
	refuse("member = \"a\\x00\"\n", "t.conf:1: the number after \"\\\" is not a byte from 1 to 255\n");
}

/*
 * Goal: files with CRLF lines and a byte order mark are read like others, with the same lines.
 * Method: such a file with and without an error.
 */
static void test_crlf(void **state)
{
	struct run r = accept_text(
		"\xef\xbb\xbfmember = a\r\n# c\r\nelection b {\r\n env = {\"A=b\",\r\n\"C=d\"}\r\n}\r\n");

	(void)state;
	assert_string_equal(r.config->member, "a");
	assert_int_equal(r.config->elections[0].line, 3);
	assert_string_equal(r.config->elections[0].env[1], "C=d");
	run_free(&r);
	refuse("member = a\r\nmember = b\r\n",
	       "t.conf:2: member: set a second time; the first is on line 1\n");
	refuse("member = a\rmember = b\r", "t.conf:1: unexpected control character 0x0d\n");
}

/*
 * Goal: escapes mean one byte each and nothing is dropped silently.
 * Method: known and unknown escapes, and numbers that libconfuse would read too far.
 */
static void test_escapes(void **state)
{
	struct run r = accept_text(
		"election a { env = {\"A=\\\\\\\"\\t\\x41f\\1018\", 'B=\\n\\\\\\'', \"C=\\xe\"} }");

	(void)state;
	assert_string_equal(r.config->elections[0].env[0], "A=\\\"\tAfA8");
	assert_string_equal(r.config->elections[0].env[1], "B=\\n\\'");
	assert_string_equal(r.config->elections[0].env[2], "C=\x0e");
	run_free(&r);
	refuse("member = \"\\d\"\n",
	       "t.conf:1: unknown escape in double quotes; write \"\\\\\" for a backslash\n");
	refuse_with("member = \"\\777\"\n", "not a byte from 1 to 255");
	refuse_with("member = \"\\9\"\n", "unknown escape");
	refuse_with("member = \"a\001b\"\n", "t.conf:1: control character in quotes");
}

/*
 * Goal: bytes that libconfuse would skip without a word are errors.
 * Method: stray characters outside quotes.
 */
static void test_stray_characters(void **state)
{
	(void)state;
	refuse("member = a*b\n", "t.conf:1: unexpected \"*\"; text with such characters needs quotes\n");
	refuse("member = a+b\n", "t.conf:1: unexpected \"+\"; text with such characters needs quotes\n");
	refuse("member = (a)\n", "t.conf:1: unexpected \"(\"; text with such characters needs quotes\n");
	refuse("member = \xe2\x80\x9c"
	       "a\n",
	       "t.conf:1: unexpected byte 0xe2; text needs plain quotes, \" or '\n");
	refuse("\fmember = a\n", "t.conf:1: unexpected control character 0x0c\n");
	refuse("a = b, c\n",
	       "t.conf:1: expected the name of an option or section, without quotes, found \",\"\n");
}

/*
 * Goal: "+=" is refused: it would add to a list without its being seen.
 * Method: with a list and with a scalar.
 */
static void test_append(void **state)
{
	(void)state;
	refuse("election a { env = {\"A=b\"}\n}\nelection b { env += {\"C=d\"}\n}\nmember += x\n",
	       "t.conf:3: election \"b\": env: \"+=\" is not supported; write one list with \"=\"\n"
	       "t.conf:5: member: \"+=\" is not supported; write one list with \"=\"\n");
}

/*
 * Goal: deep nesting is bounded.
 * Method: a hundred thousand braces, known and unknown sections.
 */
static void test_deep_nesting(void **state)
{
	size_t size = 200000;
	char *text = malloc(size + 1);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < size; i += 2)
		memcpy(text + i, "x{", 3);
	refuse(text, "t.conf:1: more than 16 braces within each other\n");
	memset(text, '{', size);
	refuse_with(text, "t.conf:1: expected the name of an option or section");
	free(text);
}

/*
 * Goal: there is no include and no environment by way of functions.
 * Method: the syntax that libconfuse offers for it.
 */
static void test_no_functions(void **state)
{
	(void)state;
	refuse_with("include(\"/etc/passwd\")\n", "t.conf:1: unexpected \"(\"");
	refuse_with("zookeeper|tick_time = 1s\n", "t.conf:1: unexpected \"|\"");
}

/*
 * Goal: the first syntax error ends the reading, and is all that is said.
 * Method: an unknown option before and after it.
 */
static void test_syntax_error_stands_alone(void **state)
{
	(void)state;
	refuse("nonsense = 1\nmember a\nmore = 2\n",
	       "t.conf:2: expected \"=\" after \"member\", found \"a\"\n");
	refuse("election a { hooks { lose_timeout = 4 s handoff_timeout = 60s } }\n",
	       "t.conf:1: expected \"=\" or \"{\" after \"s\" (a value with spaces needs quotes), found "
	       "\"=\"\n");
	refuse("member =\n", "t.conf:1: expected the value of \"member\", found the end of the file\n");
	refuse("\"member\" = a\n",
	       "t.conf:1: expected the name of an option or section, without quotes, found \"member\"\n");
}

/*
 * Goal: options and sections in each other's shape, names where there are none, are said and the rest is
 * read. Method: all of them in one file.
 */
static void test_wrong_shapes(void **state)
{
	(void)state;
	refuse("zookeeper = \"a:1\"\nmember { }\nstate_dir = {\"/a\"}\nhttp \"x\" { }\nelection { }\n"
	       "foo { bar { a = 1 } }\nbar = {1, 2}\nelection \"a b\" { }\n",
	       "t.conf:1: zookeeper: is a section; write zookeeper { ... }\n"
	       "t.conf:2: member: is an option; write member = ...\n"
	       "t.conf:3: state_dir: takes one value, not a list\n"
	       "t.conf:4: http: takes no name; write http { ... }\n"
	       "t.conf:5: election: needs a name; write election \"name\" { ... }\n"
	       "t.conf:6: foo: unknown section\n"
	       "t.conf:7: bar: unknown option\n"
	       "t.conf:8: election \"a b\": a name is 1 to 64 letters, digits, \"-\", \"_\" or \".\"\n");
}

/*
 * Goal: an error is one line, whatever bytes it quotes, and there is a bound on how many are said.
 * Method: a value with a newline; a thousand unknown options.
 */
static void test_errors_are_lines(void **state)
{
	char *text = malloc(1000 * 8 + 1);
	struct run r = {0};

	(void)state;
	refuse_with("election a { env = {\"a\\nb\"} }", "env: \"a?b\" is not NAME=value\n");
	assert_non_null(text);
	memset(text, ' ', 8000);
	for (int i = 0; i < 1000; i++)
		memcpy(text + 8 * i, "oo = 1\n", 7);
	text[8000] = '\0';
	struct config_errors errors = {.stream = open_memstream(&r.said, &r.said_size)};
	struct config_options options = {.file = "t.conf"};
	assert_int_equal(config_parse((unsigned char *)text, 8000, &options, &errors, &r.config), -EINVAL);
	fclose(errors.stream);
	assert_int_equal(errors.count, 1000);
	assert_non_null(strstr(r.said, "t.conf: 800 more errors\n"));
	free(r.said);
	free(text);
}

/*
 * Goal: no file, however cut, makes the parser crash or read beyond its end; what is cut within a
 * block or a value is refused.
 * Method: the sample file, its election put to use, cut at every byte, each piece in a buffer of its own
 * size.
 */
static void test_truncations(void **state)
{
	size_t size;
	char *text = read_source("etc/tenured.conf", &size);
	unsigned refused = 0;

	(void)state;
	for (size_t i = 0; i + 1 < size; i++) {
		if (text[i] == '\n' && text[i + 1] == '#' &&
		    (text[i + 2] == '\t' || strncmp(text + i + 2, "election", 8) == 0 || text[i + 2] == '}'))
			text[i + 1] = ' ';
	}
	for (size_t cut = 0; cut <= size; cut++) {
		char *piece = malloc(cut + 1);
		assert_non_null(piece);
		memcpy(piece, text, cut);
		struct run r = run_parse(piece, cut, NULL, 0, false);
		refused += r.rc != 0;
		if (cut == size && r.rc != 0)
			fail_msg("the whole file is refused: %s", r.said);
		run_free(&r);
		free(piece);
	}
	assert_true(refused > size / 4);
	free(text);
}

/*
 * Goal: no byte in a wrong place makes the parser crash.
 * Method: each of a set of bytes that mean something, put at every place of a small file.
 */
static void test_mutations(void **state)
{
	static const char seed[] = "member = \"a\\x41\" # c\nelection 'b' { env = {\"A=${B}\", \"C=d\"}\n"
				   "hooks { notify = {\"/bin/true\"} notify_timeout = 1s } }\n/* end */\n";
	static const char bytes[] = "\0\n\r\"'\\{}=,+#/*$ 0\xff";
	char text[sizeof(seed)];
	unsigned refused = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(seed) - 1; i++) {
		for (size_t j = 0; j < sizeof(bytes) - 1; j++) {
			memcpy(text, seed, sizeof(seed));
			text[i] = bytes[j];
			struct run r = run_parse(text, sizeof(seed) - 1, NULL, 0, false);
			refused += r.rc != 0;
			run_free(&r);
		}
	}
	assert_true(refused > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comments_keep_lines),
		cmocka_unit_test(test_comment_inside_list),
		cmocka_unit_test(test_comment_marks_in_quotes),
		cmocka_unit_test(test_left_open),
		cmocka_unit_test(test_list_runs_into_option),
		cmocka_unit_test(test_duplicate_scalars),
		cmocka_unit_test(test_duplicate_sections),
		cmocka_unit_test(test_leading_zeros_are_decimal),
		cmocka_unit_test(test_no_environment),
		cmocka_unit_test(test_read_regular_files_only),
		cmocka_unit_test(test_nul_bytes),
		cmocka_unit_test(test_crlf),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_stray_characters),
		cmocka_unit_test(test_append),
		cmocka_unit_test(test_deep_nesting),
		cmocka_unit_test(test_no_functions),
		cmocka_unit_test(test_syntax_error_stands_alone),
		cmocka_unit_test(test_wrong_shapes),
		cmocka_unit_test(test_errors_are_lines),
		cmocka_unit_test(test_truncations),
		cmocka_unit_test(test_mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
