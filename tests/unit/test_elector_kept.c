/* The election record as an elector keeps it between a read and the next write. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "elector/kept.h"

static void begin_write(struct kept *kept, const char *text, uint32_t generation)
{
	free(kept->writing);
	kept->writing = strdup(text);
	kept->writing_size = strlen(text);
	kept->writing_generation = generation;
}

/* Goal: bytes and version belong together. Method: read, then a write that is committed. */
static void test_read_and_write(void **state)
{
	static const char before[] = "{\"version\":1,\"paused\":true}", after[] = "{\"version\":1,\"paused\":false}";
	struct kept kept = {0};

	(void)state;
	assert_int_equal(kept_read(&kept, "pg", before, strlen(before), 7, 100), 0);
	assert_true(kept.valid && kept.record.paused);
	begin_write(&kept, after, 3);
	assert_true(kept.record.paused);
	assert_int_equal(kept_written(&kept, 3, 8, 200), 0);
	assert_false(kept.record.paused);
	assert_int_equal(kept.version, 8);
	assert_int_equal(kept.read_ns, 200);
	assert_memory_equal(kept.bytes, after, strlen(after));
	kept_free(&kept);
}

/* Goal: a write that came to nothing, or one that another has replaced, changes nothing. Method: both. */
static void test_write_dropped(void **state)
{
	static const char before[] = "{\"version\":1,\"paused\":true}", after[] = "{\"version\":1}";
	struct kept kept = {0};

	(void)state;
	assert_int_equal(kept_read(&kept, "pg", before, strlen(before), 7, 100), 0);
	begin_write(&kept, after, 3);
	kept_drop(&kept, 2);
	assert_non_null(kept.writing);
	begin_write(&kept, after, 4);
	assert_int_equal(kept_written(&kept, 3, 8, 200), -ESTALE);
	kept_drop(&kept, 4);
	assert_int_equal(kept_written(&kept, 4, 8, 200), -ESTALE);
	assert_true(kept.record.paused);
	assert_int_equal(kept.version, 7);
	kept_free(&kept);
}

/* Goal: what cannot be read counts as an unclean incumbent, an empty znode as none. Method: garbage, nothing. */
static void test_unreadable(void **state)
{
	struct kept kept = {0};

	(void)state;
	assert_int_equal(kept_read(&kept, "pg", "a\0\xff\n{", 5, 1, 100), 0);
	assert_true(kept.valid);
	assert_int_equal(kept.record.incumbent.clean, TENURE_CLEAN_UNKNOWN);
	assert_int_equal(kept_read(&kept, "pg", NULL, 0, 2, 200), 0);
	assert_string_equal(kept.record.incumbent.member, "");
	assert_int_equal(kept.size, 0);
	kept_free(&kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_and_write), cmocka_unit_test(test_write_dropped),
		cmocka_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
