/* Memory runs out at every place in turn while a configuration is read, explained, and handed to the elector. */
#include "no_memory.h"

#include "test_config.h"

#include "common/config_found.h"

/* A little of everything: lists, times, users, several servers and elections, comments, overrides. */
static const char good[] = "# a comment\n"
			   "member = \"db-a\"\n"
			   "state_dir = /tmp\n"
			   "zookeeper { servers = \"10.0.0.1:2181,[::1]:2182,c/chroot\" session_timeout = 20s }\n"
			   "control { socket = \"\" }\n"
			   "election \"pg\" {\n"
			   "	user = \"root\"\n"
			   "	env = {\"PGDATA=/var/lib\", \"A=b\"}\n"
			   "	hooks { gain = {\"/bin/true\", \"gain\"} lose = {\"/bin/true\", \"lose\"} lose_timeout = 4s }\n"
			   "}\n"
			   "election \"other\" { hooks { gain = {\"/bin/true\"} lose = {\"/bin/true\"} } }\n";

static const char bad[] = "member = \"\"\n"
			  "zookeeper { servers = \"a:0\" tick_time = x nonsense = 1 }\n"
			  "election \"pg\" { hooks { gain = {\"relative\"} } }\n"
			  "election \"pg\" { hooks { gain_timeout = 1h } }\n";

static const char *const overrides[] = {"zookeeper.servers=z:1", "orphan_limit=30s"};

/* Where errors are said. It is there before memory runs out, and takes none. */
static FILE *sink;
static char sink_buffer[BUFSIZ];

static int parse_text(const char *text, size_t override_count, bool check_files, struct config **config)
{
	struct config_errors errors = {.stream = sink};
	struct config_options options = {
		.file = "t.conf", .overrides = overrides, .override_count = override_count, .check_files = check_files};
	int rc;

	*config = NULL;
	NO_MEMORY_IN(rc = config_parse((const unsigned char *)text, strlen(text), &options, &errors, config));
	assert_true((rc == 0) == (*config != NULL));
	/* For want of memory it may fail with nothing said, but never without failing. */
	assert_true(rc == -ENOMEM || (rc == 0) == (errors.count == 0));
	return rc;
}

/* That a user cannot be looked up for want of memory is said, as any other reason is. */
static int parse_good(size_t override_count, bool check_files, struct config **config)
{
	int rc = parse_text(good, override_count, check_files, config);

	return rc == -EINVAL ? -ENOMEM : rc;
}

static int parse_plain(void)
{
	struct config *config;
	int rc = parse_good(0, false, &config);

	if (rc == 0) {
		assert_int_equal(config->zookeeper.count, 3);
		assert_string_equal(config->zookeeper.chroot, "/chroot");
		assert_int_equal(config->election_count, 2);
		assert_string_equal(config->elections[1].path, "/tenure/other");
	}
	config_free(config);
	return rc;
}

static int parse_overridden(void)
{
	struct config *config;
	int rc = parse_good(2, true, &config);

	if (rc == 0) {
		assert_int_equal(config->zookeeper.count, 1);
		assert_int_equal(config->orphan_limit_ns, INT64_C(30000000000));
	}
	config_free(config);
	return rc;
}

static int parse_bad(void)
{
	struct config *config;
	int rc = parse_text(bad, 0, true, &config);

	/* Never taken for a good one. */
	assert_true(rc == -EINVAL || rc == -ENOMEM);
	return rc == -EINVAL ? 0 : rc;
}

static char file_name[] = "/tmp/tenure-no-memory-XXXXXX";

static int read_files(void)
{
	struct config_errors errors = {.stream = sink};
	struct config_auth auth[CONFIG_AUTH_MAX];
	unsigned char *text = NULL;
	size_t size = 0, count = 0;
	int rc;

	NO_MEMORY_IN(rc = config_read(file_name, &text, &size, &errors));
	if (rc == 0)
		NO_MEMORY_IN(rc = config_auth_read(file_name, &errors, auth, &count, NULL));
	if (rc == 0) {
		assert_int_equal(count, 2);
		assert_string_equal(auth[1].credential, "u:v");
		config_auth_free(auth, count);
	}
	free(text);
	/* A line that could not be kept is said to be wrong. */
	return rc == -EINVAL ? -ENOMEM : rc;
}

static struct config *whole;

static int hand_on(void)
{
	char bytes[16384];
	FILE *stream = fmemopen(bytes, sizeof(bytes), "w+");
	struct config *config = NULL;
	int rc, read;

	assert_non_null(stream);
	rc = config_found_write(whole, stream);
	assert_int_equal(rc, 0);
	rewind(stream);
	/* What it takes over it has to have room for: a configuration of the same elections. */
	rc = parse_good(0, false, &config);
	if (rc == 0) {
		NO_MEMORY_IN(read = config_found_read(config, stream));
		rc = read == 0 ? 0 : -ENOMEM;
	}
	config_free(config);
	fclose(stream);
	return rc;
}

/*
 * Goal: a configuration is read whole, or -ENOMEM says that it is not. Method: libconfuse 3.3 itself does not survive
 * (cfg_free frees what was never set), which is why it is run only at the start and, for a reload, in a child.
 */
static void test_parse(void **state)
{
	(void)state;
	no_memory_sweep(parse_plain, NO_MEMORY_OURS);
	no_memory_sweep(parse_overridden, NO_MEMORY_OURS);
	no_memory_sweep(parse_bad, NO_MEMORY_OURS);
}

static void test_files(void **state)
{
	int fd = mkstemp(file_name);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "digest:a:b\ndigest:u:v\n", 22), 22);
	close(fd);
	no_memory_sweep(read_files, NO_MEMORY_EVERYWHERE);
	unlink(file_name);
}

static void test_found(void **state)
{
	(void)state;
	assert_int_equal(parse_text(good, 0, true, &whole), 0);
	no_memory_sweep(hand_on, NO_MEMORY_OURS);
	config_free(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_found),
	};

	sink = fopen("/dev/null", "we");
	if (!sink || setvbuf(sink, sink_buffer, _IOFBF, sizeof(sink_buffer)) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
