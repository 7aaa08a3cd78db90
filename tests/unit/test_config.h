/* Helpers of the configuration's tests: parse a text, look at what was said, make files. */
#ifndef TENURE_TEST_CONFIG_H
#define TENURE_TEST_CONFIG_H

#include <errno.h>
#include <fcntl.h>
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

#include "common/config.h"

/* What came of one parse. */
struct run {
	int rc;
	struct config *config;
	char *said;
	size_t said_size;
	unsigned count;
};

static inline struct run run_parse(const char *text, size_t size, const char *const *overrides,
				   size_t override_count, bool check_files)
{
	struct run r = {0};
	struct config_errors errors = {.stream = open_memstream(&r.said, &r.said_size)};
	struct config_options options = {.file = "t.conf",
					 .overrides = overrides,
					 .override_count = override_count,
					 .check_files = check_files};

	assert_non_null(errors.stream);
	r.rc = config_parse((const unsigned char *)text, size, &options, &errors, &r.config);
	fclose(errors.stream);
	r.count = errors.count;
	/* Something is said exactly when it failed, and as many lines as are counted. */
	unsigned lines = 0;
	for (const char *c = r.said; *c != '\0'; c++)
		lines += *c == '\n';
	assert_int_equal(lines, r.count);
	assert_true((r.rc == 0) == (r.count == 0));
	assert_true((r.rc == 0) == (r.config != NULL));
	return r;
}

static inline struct run run_text(const char *text)
{
	return run_parse(text, strlen(text), NULL, 0, false);
}

static inline void run_free(struct run *r)
{
	config_free(r->config);
	free(r->said);
	*r = (struct run){0};
}

/* TEXT must fail, and say exactly SAID. */
static inline void refuse(const char *text, const char *said)
{
	struct run r = run_text(text);

	assert_string_equal(r.said, said);
	assert_int_equal(r.rc, -EINVAL);
	run_free(&r);
}

/* TEXT must fail, and PART be said somewhere. */
static inline void refuse_with(const char *text, const char *part)
{
	struct run r = run_text(text);

	assert_int_equal(r.rc, -EINVAL);
	if (strstr(r.said, part) == NULL)
		fail_msg("\"%s\" is not said in \"%s\"", part, r.said);
	run_free(&r);
}

static inline struct run accept_text(const char *text)
{
	struct run r = run_text(text);

	if (r.rc != 0)
		fail_msg("refused: %s", r.said);
	return r;
}

/* A directory of the test's own, removed with what is in it by remove_folder. */
static inline char *make_folder(char path[64])
{
	snprintf(path, 64, "/tmp/tenure-config-XXXXXX");
	assert_non_null(mkdtemp(path));
	return path;
}

static inline void make_file(const char *path, const char *text, size_t size, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

/* The whole of a file of the source tree, terminated. */
static inline char *read_source(const char *name, size_t *size)
{
	const char *root = getenv("TENURE_SOURCE_DIR");
	struct config_errors errors = {.stream = stderr};
	char path[4096];
	unsigned char *text = NULL;

	snprintf(path, sizeof(path), "%s/%s", root != NULL ? root : ".", name);
	assert_int_equal(config_read(path, &text, size, &errors), 0);
	return (char *)text;
}

#endif
