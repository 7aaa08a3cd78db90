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

#define RECORD "{\"version\":1,\"incumbent\":{\"member\":\"a\",\"address\":\"\",\"token\":\"5\",\"phase\":\"promoting\",\"clean\":false}}"

static const struct tenure_edit active = {.kind = TENURE_EDIT_ACTIVE, .token = 5};

static const struct tenure_election_record *said(const struct kept *kept)
{
	static struct tenure_election_record record;

	kept_record(kept, &record);
	return &record;
}

static void read_text(struct kept *kept, const char *text, int64_t mzxid, int32_t version)
{
	const struct port_stat stat = {.mzxid = mzxid, .version = version};

	assert_int_equal(kept_read(kept, "pg", text, strlen(text), &stat, 100), 0);
}

static void begin_write(struct kept *kept, uint32_t generation)
{
	char *text;
	size_t size;

	assert_int_equal(kept_edit(kept, &active, generation, &text, &size), 0);
	assert_non_null(strstr(text, "\"active\""));
	free(text);
}

/* Goal: record and version belong together. Method: read, then a write that is committed. */
static void test_read_and_write(void **state)
{
	const struct port_stat stat = {.mzxid = 71, .version = 8};
	struct kept kept = {0};

	(void)state;
	read_text(&kept, RECORD, 70, 7);
	assert_true(kept.valid && said(&kept)->incumbent.phase == TENURE_PHASE_PROMOTING);
	begin_write(&kept, 3);
	assert_int_equal(said(&kept)->incumbent.phase, TENURE_PHASE_PROMOTING);
	assert_int_equal(kept_written(&kept, 3, &stat, 200), 0);
	assert_int_equal(said(&kept)->incumbent.phase, TENURE_PHASE_ACTIVE);
	assert_int_equal(kept.version, 8);
	assert_int_equal(kept.read_ns, 200);
	/* The next edit goes on from what was written. */
	begin_write(&kept, 4);
	kept_free(&kept);
}

/* Goal: a write that came to nothing, or one that another has replaced, changes nothing. Method: both. */
static void test_write_dropped(void **state)
{
	const struct port_stat stat = {.mzxid = 71, .version = 8};
	struct kept kept = {0};

	(void)state;
	read_text(&kept, RECORD, 70, 7);
	begin_write(&kept, 3);
	kept_drop(&kept, 2);
	assert_non_null(kept.writing);
	begin_write(&kept, 4);
	assert_int_equal(kept_written(&kept, 3, &stat, 200), -ESTALE);
	kept_drop(&kept, 4);
	assert_int_equal(kept_written(&kept, 4, &stat, 200), -ESTALE);
	assert_int_equal(said(&kept)->incumbent.phase, TENURE_PHASE_PROMOTING);
	assert_int_equal(kept.version, 7);
	kept_free(&kept);
}

/*
 * Goal: the same change is not parsed twice, another one always is. Method: other bytes under the same mzxid, which
 * no server would send; then the same version of a znode that was made again.
 */
static void test_parsed_once(void **state)
{
	struct kept kept = {0};

	(void)state;
	read_text(&kept, RECORD, 70, 7);
	read_text(&kept, "{\"version\":1}", 70, 7);
	assert_int_equal(said(&kept)->incumbent.token, 5);
	read_text(&kept, "{\"version\":1}", 90, 7);
	assert_int_equal(said(&kept)->incumbent.token, 0);
	kept_free(&kept);
}

/* Goal: an edit made ready is used, but not once the record has changed. Method: both, and another token. */
static void test_prepared(void **state)
{
	const struct port_stat stat = {.mzxid = 72, .version = 9};
	struct kept kept = {0};

	(void)state;
	read_text(&kept, RECORD, 70, 7);
	kept_prepare(&kept, &active);
	assert_non_null(kept.ready.text);
	begin_write(&kept, 3);
	assert_null(kept.ready.text);

	kept_prepare(&kept, &active);
	read_text(&kept, "{\"version\":1,\"paused\":true," "\"incumbent\":{\"member\":\"a\",\"token\":\"5\",\"phase\":\"promoting\",\"clean\":false}}", 71, 8);
	begin_write(&kept, 4);
	assert_non_null(kept.ready.text);
	assert_int_equal(kept_written(&kept, 4, &stat, 200), 0);
	assert_true(said(&kept)->paused && said(&kept)->incumbent.phase == TENURE_PHASE_ACTIVE);
	kept_prepare(&kept, &(struct tenure_edit){.kind = TENURE_EDIT_ACTIVE, .token = 6});
	assert_null(kept.ready.document);
	kept_free(&kept);
}

/* Goal: what cannot be read counts as an unclean incumbent, an empty znode as none. Method: garbage, nothing. */
static void test_unreadable(void **state)
{
	const struct port_stat first = {.mzxid = 1, .version = 1}, second = {.mzxid = 2, .version = 2};
	struct kept kept = {0};

	(void)state;
	assert_int_equal(kept_read(&kept, "pg", "a\0\xff\n{", 5, &first, 100), 0);
	assert_true(kept.valid);
	assert_int_equal(said(&kept)->incumbent.clean, TENURE_CLEAN_UNKNOWN);
	assert_int_equal(kept_read(&kept, "pg", NULL, 0, &second, 200), 0);
	assert_string_equal(said(&kept)->incumbent.member, "");
	assert_null(kept.document);
	kept_free(&kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_and_write), cmocka_unit_test(test_write_dropped),
		cmocka_unit_test(test_parsed_once), cmocka_unit_test(test_prepared),
		cmocka_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
