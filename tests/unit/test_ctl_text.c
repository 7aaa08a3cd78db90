/* What tenurectl does to text before a terminal sees it, and how it finds the nearest name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/text.h"

static void expect_clean(const char *text, const char *expected)
{
	char out[256];

	assert_int_equal(text_clean(text, strlen(text), out, sizeof(out)), strlen(expected));
	assert_string_equal(out, expected);
}

/* Goal: plain text comes through. Method: ASCII, and letters of two, three and four bytes. */
static void test_plain(void **state)
{
	(void)state;
	expect_clean("", "");
	expect_clean("db-a 10.0.0.1:5432 ~!", "db-a 10.0.0.1:5432 ~!");
	expect_clean("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
}

/* Goal: nothing that a terminal obeys or hides comes through, or can be forged. Method: one of each kind. */
static void test_escapes(void **state)
{
	(void)state;
	expect_clean("\x1b[2J\r\n\t\x7f", "\\x1b[2J\\x0d\\x0a\\x09\\x7f");
	expect_clean("\\x1b", "\\\\x1b");
	expect_clean("\xc2\x9b", "\\xc2\\x9b");			  /* CSI in one character */
	expect_clean("\xe2\x80\xae", "\\xe2\\x80\\xae");	  /* right-to-left override */
	expect_clean("\xe2\x80\x8b", "\\xe2\\x80\\x8b");	  /* zero width space */
	expect_clean("\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81"); /* invisible tag letter */
}

/* Goal: bad UTF-8 is shown by byte, and swallows nothing that follows. Method: every kind of bad sequence. */
static void test_malformed(void **state)
{
	(void)state;
	expect_clean("\x80z", "\\x80z");
	expect_clean("\xffz", "\\xffz");
	expect_clean("\xc3z", "\\xc3z");
	expect_clean("\xe2\x82z", "\\xe2\\x82z");
	expect_clean("\xc0\xafz", "\\xc0\\xafz");		    /* overlong "/" */
	expect_clean("\xed\xa0\x80z", "\\xed\\xa0\\x80z");	    /* surrogate */
	expect_clean("\xf4\x90\x80\x80z", "\\xf4\\x90\\x80\\x80z"); /* beyond Unicode */
	expect_clean("z\xe2\x82", "z\\xe2\\x82");		    /* cut off by the end */
}

/*
 * Goal: every output is clean ASCII or well-formed and harmless, terminated and within its buffer. Method:
 * all pairs of bytes into every size of a small buffer with a guard behind it.
 */
static void test_all_pairs_fit(void **state)
{
	(void)state;
	for (unsigned pair = 0; pair < 0x10000; pair++) {
		const char text[2] = {(char)(pair >> 8), (char)(pair & 0xff)};

		for (size_t size = 1; size <= 9; size++) {
			char out[10];
			size_t length;

			memset(out, '#', sizeof(out));
			length = text_clean(text, sizeof(text), out, size);
			assert_true(length < size);
			assert_int_equal(out[length], '\0');
			assert_int_equal(out[size], '#');
			for (size_t i = 0; i < length; i++)
				assert_true((unsigned char)out[i] >= 0x20 && out[i] != 0x7f);
		}
	}
}

/* Goal: what does not fit is cut between characters. Method: a letter of two bytes and an escape at the edge.
 */
static void test_cut(void **state)
{
	char out[5];

	(void)state;
	assert_int_equal(text_clean("abc\xc3\xa9", 5, out, sizeof(out)), 3);
	assert_string_equal(out, "abc");
	assert_int_equal(text_clean("a\x1b", 2, out, sizeof(out)), 1);
	assert_string_equal(out, "a");
}

/* Goal: columns line up. Method: characters are counted, not bytes. */
static void test_width(void **state)
{
	(void)state;
	assert_int_equal(text_width(""), 0);
	assert_int_equal(text_width("abc"), 3);
	assert_int_equal(text_width("\xc3\xa9\xe2\x82\xac"), 2);
}

/* Goal: the nearest name is found. Method: one mistake of each kind, both ways, and words too long. */
static void test_distance(void **state)
{
	static const struct {
		const char *a, *b;
		size_t distance;
	} cases[] = {
		{"", "", 0},
		{"list", "list", 0},
		{"", "list", 4},
		{"lst", "list", 1},
		{"lisst", "list", 1},
		{"lost", "list", 1},
		{"lsit", "list", 1},
		{"stauts", "status", 1},
		{"tsil", "list", 3},
		{"history", "resign", 6},
		{"is-leadr", "is-leader", 1},
	};
	char longest[TEXT_DISTANCE_MAX + 2];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(text_distance(cases[i].a, cases[i].b), cases[i].distance);
		assert_int_equal(text_distance(cases[i].b, cases[i].a), cases[i].distance);
	}
	memset(longest, 'x', sizeof(longest));
	longest[TEXT_DISTANCE_MAX + 1] = '\0';
	assert_int_equal(text_distance(longest, "x"), TEXT_DISTANCE_MAX);
	longest[TEXT_DISTANCE_MAX] = '\0';
	assert_int_equal(text_distance(longest, "x"), TEXT_DISTANCE_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	  cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_malformed), cmocka_unit_test(test_all_pairs_fit),
		cmocka_unit_test(test_cut),	  cmocka_unit_test(test_width),
		cmocka_unit_test(test_distance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
