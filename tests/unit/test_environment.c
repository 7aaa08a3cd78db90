/* The environment of a hook: exactly what is promised. */
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/environment.h"

static char name_postgres[] = "postgres", home_postgres[] = "/var/lib/postgresql",
	    shell_postgres[] = "/bin/bash";
static const struct config_user postgres = {
	.name = name_postgres, .home = home_postgres, .shell = shell_postgres};

static struct environment_input minimal(void)
{
	return (struct environment_input){
		.event = "lose",
		.election = "pg",
		.member = "db-a",
		.address = "",
		.state = "starting",
		.old_state = "starting",
		.reason = TENURE_REASON_STARTUP,
		.planned = true,
		.leader = "",
		.leader_address = "",
	};
}

static size_t count(char *const *environment)
{
	size_t n = 0;

	while (environment[n])
		n++;
	return n;
}

static const char *value_of(char *const *environment, const char *name)
{
	size_t n = strlen(name);

	for (; *environment; environment++) {
		if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=')
			return *environment + n + 1;
	}
	return NULL;
}

static void assert_environment(char *const *environment, const char *const *expected)
{
	size_t n = 0;

	for (; expected[n]; n++) {
		assert_non_null(environment[n]);
		assert_string_equal(environment[n], expected[n]);
	}
	assert_null(environment[n]);
}

/*
 * Goal: a gain hook gets every variable of the list with its value, and nothing else.
 * Method: fill everything in and compare the whole block.
 */
static void everything_known(void **state)
{
	static const struct tenure_incumbent previous = {
		.member = "db-b",
		.address = "10.0.0.2:5432",
		.token = 4294967337,
		.clean = TENURE_CLEAN_YES,
	};
	static char pgdata[] = "PGDATA=/var/lib/postgresql/15/main";
	char *const extra[] = {pgdata, NULL};
	static const char *const expected[] = {
		"TENURE_EVENT=gain",
		"TENURE_ELECTION=pg",
		"TENURE_MEMBER=db-a",
		"TENURE_ADDRESS=10.0.0.1:5432",
		"TENURE_STATE=promoting",
		"TENURE_OLD_STATE=standby",
		"TENURE_TOKEN=4294967338",
		"TENURE_REASON=handoff",
		"TENURE_PLANNED=yes",
		"TENURE_LEADER=db-b",
		"TENURE_LEADER_ADDRESS=10.0.0.2:5432",
		"TENURE_PREVIOUS=db-b",
		"TENURE_PREVIOUS_ADDRESS=10.0.0.2:5432",
		"TENURE_PREVIOUS_TOKEN=4294967337",
		"TENURE_PREVIOUS_CLEAN=yes",
		"TENURE_DEADLINE_MS=120000",
		"TENURE_LEASE_MS=19500",
		"TENURE_TIMEOUT_MS=60000",
		"TENURE_TRANSITION=12",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/var/lib/postgresql",
		"USER=postgres",
		"LOGNAME=postgres",
		"SHELL=/bin/bash",
		"PGDATA=/var/lib/postgresql/15/main",
		NULL,
	};
	struct environment_input in = {
		.event = "gain",
		.election = "pg",
		.member = "db-a",
		.address = "10.0.0.1:5432",
		.state = "promoting",
		.old_state = "standby",
		.token = 4294967338,
		.reason = TENURE_REASON_HANDOFF,
		.planned = true,
		.leader = "db-b",
		.leader_address = "10.0.0.2:5432",
		.previous = &previous,
		.deadline_ns = INT64_C(120000999999),
		.now_ns = INT64_C(100500999999),
		.timeout_ns = INT64_C(60000000000),
		.transition = 12,
		.user = &postgres,
		.extra = extra,
	};
	char **environment = environment_build(&in);

	(void)state;
	assert_non_null(environment);
	assert_environment(environment, expected);
	free(environment);
}

/*
 * Goal: what is not known is empty, never 0; every variable is there all the same.
 * Method: the lose hook at the start.
 */
static void nothing_known(void **state)
{
	static const char *const empty[] = {
		"TENURE_TOKEN",	      "TENURE_LEADER",		 "TENURE_LEADER_ADDRESS",
		"TENURE_PREVIOUS",    "TENURE_PREVIOUS_ADDRESS", "TENURE_PREVIOUS_TOKEN",
		"TENURE_DEADLINE_MS", "TENURE_LEASE_MS",	 "TENURE_TIMEOUT_MS",
		"TENURE_ADDRESS",
	};
	struct environment_input in = minimal();
	char **environment = environment_build(&in);

	(void)state;
	assert_non_null(environment);
	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
		assert_non_null(value_of(environment, empty[i]));
		assert_string_equal(value_of(environment, empty[i]), "");
	}
	assert_string_equal(value_of(environment, "TENURE_PREVIOUS_CLEAN"), "unknown");
	assert_string_equal(value_of(environment, "TENURE_REASON"), "startup");
	assert_int_equal(count(environment), 24);
	free(environment);
}

/*
 * Goal: a lease that has run out has 0 left, and not a negative time.
 * Method: a deadline before now.
 */
static void lease_run_out(void **state)
{
	struct environment_input in = minimal();
	char **environment;

	(void)state;
	in.deadline_ns = INT64_C(1000000000);
	in.now_ns = INT64_C(2000000000);
	environment = environment_build(&in);
	assert_non_null(environment);
	assert_string_equal(value_of(environment, "TENURE_LEASE_MS"), "0");
	assert_string_equal(value_of(environment, "TENURE_DEADLINE_MS"), "1000");
	free(environment);
}

/*
 * Goal: each way in which a predecessor may have ended has its word.
 * Method: one environment for each.
 */
static void words_for_clean(void **state)
{
	static const struct {
		enum tenure_clean clean;
		const char *word;
	} cases[] = {
		{TENURE_CLEAN_UNKNOWN, "unknown"},
		{TENURE_CLEAN_NO, "no"},
		{TENURE_CLEAN_YES, "yes"},
		{TENURE_CLEAN_FENCED, "no"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tenure_incumbent previous = {.member = "b", .clean = cases[i].clean};
		struct environment_input in = minimal();
		char **environment;

		in.previous = &previous;
		environment = environment_build(&in);
		assert_non_null(environment);
		assert_string_equal(value_of(environment, "TENURE_PREVIOUS_CLEAN"), cases[i].word);
		free(environment);
	}
}

/*
 * Goal: a peer's record cannot forge a line or a terminal's escape in what hooks print.
 * Method: control characters in a leader's name; UTF-8 and shell characters stay as they are.
 */
static void peers_text_is_cleaned(void **state)
{
	struct environment_input in = minimal();
	char **environment;

	(void)state;
	in.leader = "a\nTENURE_TOKEN=1\x1b\x7f";
	in.leader_address = "$(id) `id` gr\xc3\xbc\xc3\x9f";
	environment = environment_build(&in);
	assert_non_null(environment);
	assert_string_equal(value_of(environment, "TENURE_LEADER"), "a?TENURE_TOKEN=1??");
	assert_string_equal(value_of(environment, "TENURE_LEADER_ADDRESS"), "$(id) `id` gr\xc3\xbc\xc3\x9f");
	free(environment);
}

/*
 * Goal: the configuration may replace PATH and the like, and add, but not touch what tenure says.
 * Method: extra variables of the three kinds; each name is there once.
 */
static void extra_variables(void **state)
{
	static char path[] = "PATH=/opt/bin", token[] = "TENURE_TOKEN=1", other[] = "TENURE_SITE=x",
		    mine[] = "A=b c=d";
	char *const extra[] = {path, token, other, mine, NULL};
	struct environment_input in = minimal();
	char **environment;

	(void)state;
	in.extra = extra;
	environment = environment_build(&in);
	assert_non_null(environment);
	assert_string_equal(value_of(environment, "PATH"), "/opt/bin");
	assert_string_equal(value_of(environment, "TENURE_TOKEN"), "");
	assert_string_equal(value_of(environment, "TENURE_SITE"), "x");
	assert_string_equal(value_of(environment, "A"), "b c=d");
	assert_int_equal(count(environment), 24 + 2);
	free(environment);
}

/*
 * Goal: without `user` a hook is told who the agent is.
 * Method: compare with the entry of our own user.
 */
static void agents_own_user(void **state)
{
	const struct passwd *entry = getpwuid(geteuid());
	struct environment_input in = minimal();
	const struct config_user nobody_named = {.name = NULL};
	char **environment;

	(void)state;
	in.user = &nobody_named;
	environment = environment_build(&in);
	assert_non_null(environment);
	assert_string_equal(value_of(environment, "USER"), value_of(environment, "LOGNAME"));
	if (entry) {
		assert_string_equal(value_of(environment, "USER"), entry->pw_name);
		assert_string_equal(value_of(environment, "HOME"), entry->pw_dir);
	}
	free(environment);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_known),	 cmocka_unit_test(nothing_known),
		cmocka_unit_test(lease_run_out),	 cmocka_unit_test(words_for_clean),
		cmocka_unit_test(peers_text_is_cleaned), cmocka_unit_test(extra_variables),
		cmocka_unit_test(agents_own_user),
	};

	environment_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
