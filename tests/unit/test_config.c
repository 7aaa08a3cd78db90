/* The configuration's values: defaults, ranges, what is said of wrong ones, files and users, the lease, the
 * words. */
#include "test_config.h"

#include <grp.h>
#include <pwd.h>

#include "common/config_found.h"
#include "common/config_internal.h"

static const int64_t SECOND_NS = 1000 * TENURE_NS_PER_MS;

/*
 * Goal: an empty file gives the documented defaults.
 * Method: parse nothing, and an election without options.
 */
static void test_defaults(void **state)
{
	struct run r = accept_text("election pg { }");
	const struct config *c = r.config;
	const struct config_election *e = &c->elections[0];
	char host[256] = "";

	(void)state;
	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	assert_string_equal(c->member, host);
	assert_string_equal(c->state_dir, "/run/tenure");
	assert_string_equal(c->data_dir, "/var/lib/tenure");
	assert_int_equal(c->orphan_limit_ns, 60 * SECOND_NS);
	assert_string_equal(c->zookeeper.servers, "127.0.0.1:2181");
	assert_string_equal(c->zookeeper.chroot, "");
	assert_int_equal(c->zookeeper.count, 1);
	assert_string_equal(c->zookeeper.list[0].host, "127.0.0.1");
	assert_int_equal(c->zookeeper.list[0].port, 2181);
	assert_int_equal(c->zookeeper.session_timeout_ns, 20 * SECOND_NS);
	assert_int_equal(c->zookeeper.tick_time_ns, 3 * SECOND_NS);
	assert_int_equal(c->zookeeper.heartbeat_ns, 0);
	assert_int_equal(c->zookeeper.ping_slack_ns, SECOND_NS / 2);
	assert_int_equal(c->zookeeper.touch_lag_ns, 2 * SECOND_NS);
	assert_string_equal(c->zookeeper.auth_file, "");
	assert_int_equal(c->zookeeper.acl, CONFIG_ACL_OPEN);
	assert_string_equal(c->control.socket, "/run/tenure/control.sock");
	assert_int_equal(c->control.admin_group, 0);
	assert_int_equal(c->log.level, LOG_LEVEL_INFO);
	assert_int_equal(c->log.format, LOG_FORMAT_TEXT);
	assert_int_equal(c->log.target, LOG_TARGET_STDERR);
	assert_string_equal(e->name, "pg");
	assert_string_equal(e->path, "/tenure/pg");
	assert_string_equal(e->address, "");
	assert_null(e->user.name);
	assert_true(e->candidate);
	assert_null(e->gain.command.words);
	assert_int_equal(e->gain.timeout_ns, 60 * SECOND_NS);
	assert_int_equal(e->lose.timeout_ns, 4 * SECOND_NS);
	assert_int_equal(e->fence.timeout_ns, 2 * SECOND_NS);
	assert_int_equal(e->follow.timeout_ns, 0);
	assert_int_equal(e->notify.timeout_ns, 10 * SECOND_NS);
	assert_int_equal(e->handoff_timeout_ns, 60 * SECOND_NS);
	assert_int_equal(e->take_office_limit_ns, 0);
	assert_int_equal(e->backoff_ns, SECOND_NS);
	assert_int_equal(e->backoff_max_ns, 60 * SECOND_NS);
	assert_int_equal(e->budget.lose_ns, 0);
	assert_int_equal(e->budget.fence_ns, 0);
	assert_int_equal(e->budget.ride_out_ns, 0);
	run_free(&r);
}

static const char full[] =
	"member = \"db-a\"\nstate_dir = \"/s\"\ndata_dir = \"\"\norphan_limit = 2m\n"
	"zookeeper {\n servers = \"zk1, [::1]:2182 ,zk3:2183/app/x\"\n session_timeout = 30s\n tick_time = "
	"2000ms\n"
	" heartbeat = 1000\n ping_slack = 400\n}\n"
	"control { socket = \"\" group = root }\nlog { level = debug format = json target = syslog }\n"
	"election \"pg\" {\n path = /x/y\n address = \"10.0.0.1:5432\"\n candidate = yes\n ride_out = 3s\n"
	" take_office_limit = 40s\n backoff = 2s\n backoff_max = 2m\n env = {\"PGDATA=/a b\", \"EMPTY=\"}\n"
	" hooks {\n  gain = {\"/h\", \"gain\"}\n  lose = {\"/h\", \"lose\"} lose_timeout = 5s\n"
	"  fence = /h\n  follow = {\"/h\", \"\"}\n  follow_timeout = 7s\n }\n}\n";

/*
 * Goal: every supported option reaches its place.
 * Method: a file that sets them to other values than the defaults.
 */
static void test_every_value(void **state)
{
	struct run r = accept_text(full);
	const struct config *c = r.config;
	const struct config_election *e = &c->elections[0];

	(void)state;
	assert_string_equal(c->member, "db-a");
	assert_string_equal(c->data_dir, "");
	assert_int_equal(c->orphan_limit_ns, 120 * SECOND_NS);
	assert_int_equal(c->zookeeper.count, 3);
	assert_string_equal(c->zookeeper.list[0].host, "zk1");
	assert_int_equal(c->zookeeper.list[0].port, 2181);
	assert_string_equal(c->zookeeper.list[1].host, "::1");
	assert_int_equal(c->zookeeper.list[1].port, 2182);
	assert_string_equal(c->zookeeper.list[2].host, "zk3");
	assert_string_equal(c->zookeeper.chroot, "/app/x");
	assert_int_equal(c->zookeeper.touch_lag_ns, 1400 * TENURE_NS_PER_MS);
	assert_string_equal(c->control.socket, "");
	assert_true(c->control.has_group);
	assert_int_equal(c->control.group, 0);
	assert_int_equal(c->log.level, LOG_LEVEL_DEBUG);
	assert_int_equal(c->log.format, LOG_FORMAT_JSON);
	assert_int_equal(c->log.target, LOG_TARGET_SYSLOG);
	assert_string_equal(e->path, "/x/y");
	assert_int_equal(e->line, 14);
	assert_int_equal(e->env_count, 2);
	assert_string_equal(e->env[0], "PGDATA=/a b");
	assert_null(e->env[2]);
	assert_int_equal(e->gain.line, 24);
	assert_int_equal(e->fence.line, 26);
	assert_string_equal(e->fence.command.words[0], "/h");
	assert_int_equal(e->follow.command.count, 2);
	assert_string_equal(e->follow.command.words[1], "");
	assert_int_equal(e->follow.timeout_ns, 7 * SECOND_NS);
	assert_int_equal(e->budget.lose_ns, 5 * SECOND_NS);
	assert_int_equal(e->budget.fence_ns, 2 * SECOND_NS);
	assert_int_equal(e->budget.ride_out_ns, 3 * SECOND_NS);
	assert_int_equal(e->budget.heartbeat_ns, SECOND_NS);
	assert_int_equal(e->budget.touch_lag_ns, c->zookeeper.touch_lag_ns);
	assert_int_equal(c->text_size, strlen(full));
	assert_memory_equal(c->text, full, c->text_size);
	run_free(&r);
}

/*
 * Goal: times are read as documented, and nothing else is a time.
 * Method: each form, the largest, and what is near to one.
 */
static void test_times(void **state)
{
	static const char *const wrong[] = {"",	  "s",	"-1",	"+1",	"1.5s", "4 s",
					    "1h", "1S", "0x10", "1mss", " 1",	"1e3"};
	int64_t ns = -1;

	(void)state;
	assert_int_equal(config_time("0", &ns), 0);
	assert_int_equal(ns, 0);
	assert_int_equal(config_time("1500", &ns), 0);
	assert_int_equal(ns, 1500 * TENURE_NS_PER_MS);
	assert_int_equal(config_time("250ms", &ns), 0);
	assert_int_equal(ns, 250 * TENURE_NS_PER_MS);
	assert_int_equal(config_time("4s", &ns), 0);
	assert_int_equal(ns, 4 * SECOND_NS);
	assert_int_equal(config_time("002m", &ns), 0);
	assert_int_equal(ns, 120 * SECOND_NS);
	assert_int_equal(config_time("9223372036s", &ns), 0);
	ns = 5;
	assert_int_equal(config_time("9223372037s", &ns), -ERANGE);
	assert_int_equal(config_time("99999999999999999999999999", &ns), -ERANGE);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(config_time(wrong[i], &ns), -EINVAL);
	assert_int_equal(ns, 5);
}

/*
 * Goal: every wrong value of a file is said in one run, in the order of the lines, each with its line.
 * Method: one wrong value of every kind.
 */
static void test_all_errors_in_one_run(void **state)
{
	(void)state;
	refuse("member = \"a b\"\n"
	       "state_dir = run\n"
	       "nonsense = 1\n"
	       "zookeeper {\n"
	       "  servers = \"zk1:0\"\n"
	       "  session_timeout = 100\n"
	       "  tick_time = 2h\n"
	       "  acl = everybody\n"
	       "  tick_time = 2s\n"
	       "}\n"
	       "election \"pg\" {\n"
	       "  path = \"/a//b\"\n"
	       "  candidate = perhaps\n"
	       "  env = {\"PGDATA\", \"TENURE_TOKEN=1\", \"A=1\", \"A=2\", \"1=2\"}\n"
	       "  hooks {\n"
	       "    gain = {\"bin/gain\"}\n"
	       "    lose_timeout = \"4 s\"\n"
	       "  }\n"
	       "  interop = true\n"
	       "}\n"
	       "election \"pg\" { }\n",
	       "t.conf:1: member: \"a b\" has a space in it\n"
	       "t.conf:2: state_dir: \"run\" is not an absolute path\n"
	       "t.conf:3: nonsense: unknown option\n"
	       "t.conf:5: zookeeper: servers: server \"zk1:0\" has no port from 1 to 65535 after \":\"\n"
	       "t.conf:6: zookeeper: session_timeout: \"100\" is out of range: 400ms to 10m\n"
	       "t.conf:7: zookeeper: tick_time: \"2h\" is not a time; write 4000, 4000ms, 4s or 2m\n"
	       "t.conf:8: zookeeper: acl: \"everybody\" is none of open|creator|private\n"
	       "t.conf:9: zookeeper: tick_time: set a second time; the first is on line 7\n"
	       "t.conf:12: election \"pg\": path: \"/a//b\" has an empty part (\"//\")\n"
	       "t.conf:13: election \"pg\": candidate: \"perhaps\" is neither true nor false\n"
	       "t.conf:14: election \"pg\": env: \"PGDATA\" is not NAME=value\n"
	       "t.conf:14: election \"pg\": env: \"TENURE_TOKEN=1\": TENURE_ names are set by the agent "
	       "itself\n"
	       "t.conf:14: election \"pg\": env: \"A\" is set twice\n"
	       "t.conf:14: election \"pg\": env: \"1=2\" is not NAME=value\n"
	       "t.conf:16: election \"pg\": hooks: gain: \"bin/gain\" is not an absolute path\n"
	       "t.conf:16: election \"pg\": hooks: gain: there is no lose hook; what gain starts must be "
	       "stopped again\n"
	       "t.conf:17: election \"pg\": hooks: lose_timeout: \"4 s\" is not a time; write 4000, 4000ms, "
	       "4s or 2m\n"
	       "t.conf:19: election \"pg\": interop: not yet supported\n"
	       "t.conf:21: election \"pg\": there is one of that name on line 11\n");
}

/*
 * Goal: values at the ends of their ranges are taken, the next ones not; 0 where it stands for a default.
 * Method: both ends of some options.
 */
static void test_ranges(void **state)
{
	struct run r = accept_text(
		"zookeeper { session_timeout = 400 tick_time = 10 ping_slack = 0 heartbeat = 10 }");

	(void)state;
	run_free(&r);
	r = accept_text("zookeeper { session_timeout = 10m tick_time = 1m heartbeat = 0 }");
	run_free(&r);
	refuse_with("zookeeper { session_timeout = 399 }", "out of range: 400ms to 10m");
	refuse_with("zookeeper { session_timeout = 600001 }", "out of range");
	refuse_with("zookeeper { tick_time = 9 }", "out of range: 10ms to 1m");
	refuse_with("zookeeper { tick_time = 60001 }", "out of range");
	refuse_with("zookeeper { tick_time = 99999999999999999999 }", "out of range");
	refuse_with("zookeeper { heartbeat = 9 }", "out of range: 0, or 10ms to 1m");
	refuse_with("election a { hooks { gain_timeout = 0 } }",
		    "gain_timeout: \"0\" is out of range: 10ms to 1440m");
	refuse_with("election a { backoff = 2s backoff_max = 1s }", "backoff_max: is below backoff");
	refuse_with("realtime { priority = 100 }", "priority: \"100\" is out of range: 0 to 99");
	refuse_with("election a { score_slack = 9223372036854775808 }", "out of range");
	refuse_with("election a { score_slack = many }", "\"many\" is not a whole number");
}

/*
 * Goal: what comes later is checked, accepted at its default and refused otherwise.
 * Method: each such option at its default, then each set.
 */
static void test_not_yet_supported(void **state)
{
	static const char *const set[] = {"zookeeper { tls { ca = /a } }",
					  "zookeeper { tls { cert = /a } }",
					  "zookeeper { tls { key = /a } }",
					  "election a { interop = true }"};
	struct run r = accept_text("zookeeper { tls { ca = \"\" } } election a { interop = off }");

	(void)state;
	run_free(&r);
	for (size_t i = 0; i < sizeof(set) / sizeof(set[0]); i++)
		refuse_with(set[i], ": not yet supported\n");
	refuse("zookeeper {\n tls {\n  ca = /a\n } }\n", "t.conf:3: zookeeper: tls: ca: not yet supported\n");
}

/*
 * Goal: where HTTP listens is an address and a port, and no name that would have to be looked up.
 * Method: each shape, good and bad.
 */
static void test_http_listen(void **state)
{
	static const char *const good[] = {"", "127.0.0.1:8650", "0.0.0.0:1", "[::1]:8650", "[::]:65535"};
	static const struct {
		const char *text, *problem;
	} bad[] = {{"8650", "is not address:port"},
		   {"127.0.0.1", "is not address:port"},
		   {"[::1]", "is not address:port"},
		   {"[::1]8650", "is not address:port"},
		   {"[::1", "is not address:port"},
		   {"127.0.0.1:", "has no port from 1 to 65535"},
		   {"127.0.0.1:0", "has no port from 1 to 65535"},
		   {"127.0.0.1:65536", "has no port from 1 to 65535"},
		   {"127.0.0.1:+80", "has no port from 1 to 65535"},
		   {"127.0.0.1:123456", "has no port from 1 to 65535"},
		   {"localhost:8650", "has no IPv4 address"},
		   {":8650", "has no IPv4 address"},
		   {"::1:8650", "has no IPv4 address"},
		   {"[127.0.0.1]:8650", "has no IPv6 address in its brackets"},
		   {"[]:8650", "has no IPv6 address in its brackets"},
		   {"[::1%lo]:8650", "has no IPv6 address in its brackets"},
		   {"[aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]:8650", "has too long an address"},
		   {"a b", "has a space in it"}};
	char text[160];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct run r;

		snprintf(text, sizeof(text), "http { listen = \"%s\" }", good[i]);
		r = accept_text(text);
		assert_string_equal(r.config->http_listen, good[i]);
		run_free(&r);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "http { listen = \"%s\" }", bad[i].text);
		refuse_with(text, bad[i].problem);
	}
}

/*
 * Goal: what runs beside the hooks is kept where it belongs, and is nothing by default; a setting without its
 * command is pointed out.
 * Method: everything set; nothing set; each setting alone.
 */
static void test_beside_hooks(void **state)
{
	static const char *const pointless[] = {"check { fall = 4 }", "check { command = {} interval = 3s }",
						"score { timeout = 3s }", "service { on_exit = restart }",
						"service { restart_limit = 0 }"};
	struct run r = accept_text(
		"realtime { lock_memory = yes priority = 7 } election a { score_slack = 16 score_settle = 9s "
		"check { command = {\"/bin/true\", x} interval = 3s timeout = 2s rise = 4 fall = 5 } "
		"score { command = {\"/bin/echo\"} interval = 4s timeout = 3s } "
		"service { command = {\"/bin/sleep\", \"1\"} stop_timeout = 2s on_exit = restart restart_limit = 6 } }");
	const struct config_election *e = &r.config->elections[0];
	char text[128];

	(void)state;
	assert_true(r.config->lock_memory);
	assert_int_equal(r.config->priority, 7);
	assert_int_equal(e->check.hook.command.count, 2);
	assert_int_equal(e->check.interval_ns, 3000 * TENURE_NS_PER_MS);
	assert_int_equal(e->check.hook.timeout_ns, 2000 * TENURE_NS_PER_MS);
	assert_int_equal(e->check.rise, 4);
	assert_int_equal(e->check.fall, 5);
	assert_string_equal(e->score.hook.command.words[0], "/bin/echo");
	assert_int_equal(e->score.slack, 16);
	assert_int_equal(config_score_settle(e), 9000 * TENURE_NS_PER_MS);
	assert_int_equal(e->service.stop_timeout_ns, 2000 * TENURE_NS_PER_MS);
	assert_int_equal(e->budget.stop_ns, 2000 * TENURE_NS_PER_MS);
	assert_int_equal(e->service.on_exit, CONFIG_EXIT_RESTART);
	assert_int_equal(e->service.restart_limit, 6);
	run_free(&r);

	r = accept_text("election a { check { command = {} rise = 2 } score { interval = 2000ms } "
			"service { command = {} on_exit = leave } }");
	e = &r.config->elections[0];
	assert_null(e->check.hook.command.words);
	assert_null(e->service.command.words);
	assert_int_equal(e->score.slack, -1);
	assert_int_equal(config_score_settle(e), 5000 * TENURE_NS_PER_MS);
	assert_int_equal(e->budget.stop_ns, 0);
	run_free(&r);

	for (size_t i = 0; i < sizeof(pointless) / sizeof(pointless[0]); i++) {
		snprintf(text, sizeof(text), "election a { %s }", pointless[i]);
		refuse_with(text, "there is no command in this section\n");
	}
	refuse_with("election a { score_slack = 0 }", "score_slack: there is no score command to compare by");
	refuse_with("election a { service { command = {run} } }", "service: command: \"run\" is not an absolute path");
	refuse_with("election a { service { command = {\"/bin/true\"} stop_timeout = 11s } }",
		    "stop_timeout: does not fit the lease: stop 11 s + lose 0 s");
}

/*
 * Goal: what guards against a leader that did not leave is kept where it belongs, and is nothing by default.
 * Method: each option set, then none.
 */
static void test_guards(void **state)
{
	struct run r = accept_text("data_dir = /d watchdog { device = \"/dev/watchdog\" } election a { "
				   "takeover_delay = 5s on_panic = reboot "
				   "hooks { fence_peer = {\"/x\", \"peer\"} fence_peer_timeout = 31s } }"
				   "election b { on_panic = exit }");
	const struct config_election *e = &r.config->elections[0];

	(void)state;
	assert_string_equal(r.config->data_dir, "/d");
	assert_string_equal(r.config->watchdog_device, "/dev/watchdog");
	assert_true(e->takeover_delay_ns == 5000 * TENURE_NS_PER_MS);
	assert_int_equal(e->on_panic, CONFIG_PANIC_REBOOT);
	assert_int_equal(e->fence_peer.command.count, 2);
	assert_string_equal(e->fence_peer.command.words[1], "peer");
	assert_true(e->fence_peer.timeout_ns == 31000 * TENURE_NS_PER_MS);
	assert_int_equal(r.config->elections[1].on_panic, CONFIG_PANIC_EXIT);
	run_free(&r);
	r = accept_text("election a { }");
	e = &r.config->elections[0];
	assert_string_equal(r.config->watchdog_device, "");
	assert_true(e->takeover_delay_ns == 0);
	assert_int_equal(e->on_panic, CONFIG_PANIC_LOG);
	assert_null(e->fence_peer.command.words);
	run_free(&r);
	refuse_with("election a { on_panic = explode }", "\"explode\" is none of log|exit|reboot");
	refuse_with("watchdog { device = dev/watchdog }", "is not an absolute path");
	refuse_with("election a { hooks { fence_peer = {\"x\"} } }", "fence_peer: \"x\" is not an absolute path");
}

/*
 * Goal: a watchdog device, which counts in seconds, is refused where a lease is too short for it. Method: leases
 * around the shortest that will do, with a candidate and without.
 */
static void test_watchdog_fits(void **state)
{
	static const char format[] = "watchdog {\n device = /w\n}\nzookeeper { session_timeout = %s tick_time = 1s "
				     "heartbeat = 100 ping_slack = 100 }\nelection a { candidate = %s }";
	char text[512];
	struct run r;

	(void)state;
	snprintf(text, sizeof(text), format, "2000", "true");
	r = accept_text(text); /* 2 - (0.6 + 0.1 + 0.3) = 1 */
	run_free(&r);
	snprintf(text, sizeof(text), format, "1999", "true");
	refuse(text, "t.conf:2: watchdog: device: its shortest timeout is 1 s, but a lease of 1.999 s surely leaves "
		     "only 0.999 s\n");
	snprintf(text, sizeof(text), format, "1999", "false");
	r = accept_text(text);
	run_free(&r);
}

/*
 * Goal: the servers' list is taken apart, and what is malformed is named.
 * Method: good and bad lists.
 */
static void test_servers(void **state)
{
	static const char *const wrong[][2] = {
		{"", "is empty"},
		{"a,,b", "server \"\" is empty"},
		{"a,", "server \"\" is empty"},
		{"/app", "server \"\" is empty"},
		{"a:", "has no port"},
		{"a:65536", "has no port"},
		{"a:21x", "has no port"},
		{":2181", "has no host"},
		{"::1:2181", "write an IPv6 address in brackets"},
		{"[::1", "has a \"[\" without \"]\""},
		{"[::1]x", "has something other than"},
		{"[zk]:1", "is not an IPv6 address in brackets"},
		{"a b:1", "is not host:port"},
		{"http://a:1", "has no port"},
		{"a:1/", "chroot \"/\" ends with \"/\""},
		{"a:1/b/", "chroot \"/b/\" ends with \"/\""},
		{"a:1/b//c", "has an empty part"},
		{"a:1/../c", "has a part \".\" or \"..\""},
		{"a:1/b,c:1/b", "the chroot comes once"},
	};
	char text[128];
	struct run r = accept_text("zookeeper { servers = \"[::1]:2181/app\" }");

	(void)state;
	assert_string_equal(r.config->zookeeper.list[0].host, "::1");
	assert_string_equal(r.config->zookeeper.chroot, "/app");
	run_free(&r);
	r = accept_text("zookeeper { servers = \"[fe80::1%eth0],zk_2.example.org:1\" }");
	assert_int_equal(r.config->zookeeper.count, 2);
	assert_string_equal(r.config->zookeeper.list[0].host, "fe80::1%eth0");
	assert_int_equal(r.config->zookeeper.list[0].port, 2181);
	run_free(&r);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(text, sizeof(text), "zookeeper {\n servers = \"%s\" }", wrong[i][0]);
		refuse_with(text, wrong[i][1]);
		refuse_with(text, "t.conf:2: zookeeper: servers: ");
	}
}

/*
 * Goal: names and paths that would not do in ZooKeeper or in the file system are refused.
 * Method: one of each kind.
 */
static void test_names_and_paths(void **state)
{
	static const char *const paths[][2] = {{"a", "is not an absolute path"},
					       {"/", "ends with"},
					       {"/a/", "ends with"},
					       {"/a//b", "has an empty part"},
					       {"/a/./b", "has a part"},
					       {"/a/..", "has a part"},
					       {"/a\\nb", "not printable"},
					       {"/zookeeper", "is ZooKeeper's own"},
					       {"/zookeeper/quota", "is ZooKeeper's own"}};
	char text[256], name[80];

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		snprintf(text, sizeof(text), "election a { path = \"%s\" }", paths[i][0]);
		refuse_with(text, paths[i][1]);
	}
	struct run r = accept_text("zookeeper { servers = \"a/b\" } election a { path = /zookeeper }"
				   "election b { path = \"/a/...\" }");
	run_free(&r);
	refuse("election a { path = /x }\nelection b { }\nelection c { path = \"/x\" }\nelection d { path = "
	       "/tenure/b }\n",
	       "t.conf:3: election \"c\": path: \"/x\" is that of election \"a\" on line 1 too\n"
	       "t.conf:4: election \"d\": path: \"/tenure/b\" is that of election \"b\" on line 2 too\n");
	refuse_with("member = a/b", "member: \"a/b\" has a \"/\" in it");
	refuse_with("member = \"a\\tb\"", "not printable");
	refuse_with("election a { address = \"h\xc3\xb6st:1\" }", "not printable ASCII");
	memset(name, 'x', sizeof(name));
	snprintf(text, sizeof(text), "member = %.64s election %.64s { }", name, name);
	r = accept_text(text);
	run_free(&r);
	snprintf(text, sizeof(text), "member = %.65s", name);
	refuse_with(text, "is too long");
	snprintf(text, sizeof(text), "election %.65s { }", name);
	refuse_with(text, "a name is 1 to 64 letters");
	refuse_with("election \"..\" { }", "a name is 1 to 64 letters");
	refuse_with("election \"\" { }", "a name is 1 to 64 letters");
	refuse_with("control { group = \"no-such-group-here\" }", "\"no-such-group-here\": no such group");
	refuse_with("control { admin_group = \"no-such-group-here\" }", "no such group");
	refuse_with("zookeeper { acl = private }", "acl: needs an auth_file");
}

/*
 * Goal: hooks that do not fit the lease are refused, with the smallest session timeout that would do.
 * Method: lose limits around what fits; then the proposed timeout and one less.
 */
static void test_fits_the_lease(void **state)
{
	static const char form[] = "zookeeper { session_timeout = %d }\nelection a { candidate = %s hooks {\n"
				   "lose = {\"/l\"}\nlose_timeout = %dms\nfence = {\"/f\"} } }\n";
	char text[256];
	struct run r;

	(void)state;
	snprintf(text, sizeof(text), form, 20000, "true", 8100);
	r = accept_text(text);
	run_free(&r);
	snprintf(text, sizeof(text), form, 20000, "true", 8101);
	refuse(text,
	       "t.conf:4: election \"a\": hooks: lose_timeout: does not fit the lease: lose 8.101 s + fence "
	       "2 s + margin "
	       "0.4 s + ride_out 4 s = 14.501 s, but a lease of 20 s surely leaves only 14.5 s; the smallest "
	       "session_timeout that would do is 20002\n");
	snprintf(text, sizeof(text), form, 20001, "true", 8101);
	refuse_with(text, "would do is 20002\n");
	snprintf(text, sizeof(text), form, 20002, "true", 8101);
	r = accept_text(text);
	run_free(&r);
	snprintf(text, sizeof(text), form, 20000, "false", 8101);
	r = accept_text(text);
	run_free(&r);
	refuse_with("\nelection a { ride_out = 10m }",
		    "t.conf:2: election \"a\": ride_out: does not fit the lease");
	refuse_with("election a { ride_out = 10m }", "no session_timeout in range would do");
	refuse_with("\nelection a { hooks { fence = /f\nfence_timeout = 11s } }",
		    "t.conf:3: election \"a\": hooks: fence_timeout: does");
}

/*
 * Goal: -o sets scalars of the top and of zookeeper, the last one counting, and is said as such when wrong.
 * Method: good and bad ones over a file that sets the same.
 */
static void test_overrides(void **state)
{
	static const char text[] = "member = a\nzookeeper { servers = \"a:1\" tick_time = 1s }\n";
	static const char *const good[] = {"member=b", "zookeeper.servers=z:1,y/q", "member=c",
					   "zookeeper.acl=open"};
	static const char *const bad[] = {"zookeeper.servers=z:x",
					  "control.socket=/x",
					  "member",
					  "election=x",
					  "zookeeper.tls=x",
					  "http.listen=x",
					  "zookeeper.session_timeout=1"};
	struct run r = run_parse(text, strlen(text), good, 4, false);

	(void)state;
	assert_int_equal(r.rc, 0);
	assert_string_equal(r.config->member, "c");
	assert_int_equal(r.config->zookeeper.count, 2);
	assert_string_equal(r.config->zookeeper.chroot, "/q");
	assert_int_equal(r.config->override_count, 4);
	assert_string_equal(r.config->overrides[1], good[1]);
	run_free(&r);
	r = run_parse(text, strlen(text), bad, 7, false);
	assert_string_equal(
		r.said,
		"-o control.socket: unknown; -o sets options of the top and \"zookeeper.\" ones only\n"
		"-o member: write KEY=VALUE\n"
		"-o election: unknown; -o sets options of the top and \"zookeeper.\" ones only\n"
		"-o zookeeper.tls: unknown; -o sets options of the top and \"zookeeper.\" ones only\n"
		"-o http.listen: unknown; -o sets options of the top and \"zookeeper.\" ones only\n"
		"-o zookeeper.session_timeout: \"1\" is out of range: 400ms to 10m\n"
		"-o zookeeper.servers: server \"z:x\" has no port from 1 to 65535 after \":\"\n");
	run_free(&r);
}

/* One hook under test: its file named in a configuration that is checked with its files. */
static void check_hook(const char *folder, const char *file, const char *user, const char *said)
{
	char text[512], expected[512];

	snprintf(text, sizeof(text), "election a {\n%s\nhooks {\nnotify = {\"%s/%s\"} } }\n", user, folder,
		 file);
	struct run r = run_parse(text, strlen(text), NULL, 0, true);
	snprintf(expected, sizeof(expected), "t.conf:4: election \"a\": hooks: notify: %s/%s: %s", folder,
		 file, said != NULL ? said : "");
	if (said == NULL && r.rc != 0)
		fail_msg("refused: %s", r.said);
	if (said != NULL && strncmp(r.said, expected, strlen(expected)) != 0)
		fail_msg("\"%s\" is not said first in \"%s\"", expected, r.said);
	run_free(&r);
	r = run_parse(text, strlen(text), NULL, 0, false);
	assert_int_equal(r.rc, 0);
	run_free(&r);
}

/* No hook is passed over. */
static void check_every_hook(const char *folder)
{
	static const char *const hooks[] = {"gain", "lose", "fence", "fence_peer", "follow", "notify"};

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		char text[512], expected[128];

		snprintf(text, sizeof(text), "election a { hooks { %s\n%s = {\"%s/none\"} } }",
			 strcmp(hooks[i], "lose") == 0 ? "" : "lose = {\"/bin/true\"}", hooks[i], folder);
		snprintf(expected, sizeof(expected), "t.conf:2: election \"a\": hooks: %s: ", hooks[i]);
		struct run r = run_parse(text, strlen(text), NULL, 0, true);
		if (strncmp(r.said, expected, strlen(expected)) != 0)
			fail_msg("\"%s\" is not said first in \"%s\"", expected, r.said);
		run_free(&r);
	}
}

/*
 * Goal: a hook that is missing, a directory, not executable or changeable by others is refused; without
 * check_files nothing is looked at.
 * Method: files and directories of all those kinds.
 */
static void test_hook_files(void **state)
{
	char folder[64], path[160], below[160];

	(void)state;
	make_folder(folder);
	snprintf(below, sizeof(below), "%s/d", folder);
	assert_int_equal(mkdir(below, 0755), 0);
	snprintf(path, sizeof(path), "%s/d/h", folder);
	check_hook(folder, "d/h", "", "No such file or directory\n");
	make_file(path, "#!/bin/sh\n", 10, 0644);
	check_hook(folder, "d/h", "", "is not executable\n");
	assert_int_equal(chmod(path, 0755), 0);
	check_hook(folder, "d/h", "", NULL);
	check_hook(folder, "d", "", "is not a regular file\n");
	check_every_hook(folder);
	if (geteuid() == 0) {
		assert_int_equal(chmod(path, 0757), 0);
		check_hook(folder, "d/h", "", "others can change ");
		assert_int_equal(chmod(path, 0755), 0);
		assert_int_equal(chmod(below, 0777), 0);
		check_hook(folder, "d/h", "", "others can change ");
		assert_int_equal(chmod(below, 01777), 0);
		check_hook(folder, "d/h", "", NULL);
		/* In a sticky directory everybody may have put it there. */
		assert_int_equal(chown(path, 65534, 65534), 0);
		check_hook(folder, "d/h", "", "others can change ");
		check_hook(folder, "d/h", "user = nobody", NULL);
		assert_int_equal(chmod(below, 0775), 0);
		assert_int_equal(chown(below, 0, 65534), 0);
		check_hook(folder, "d/h", "", "others can change ");
		check_hook(folder, "d/h", "user = nobody", NULL);
	}
	unlink(path);
	rmdir(below);
	rmdir(folder);
}

/*
 * Goal: a link does not lead around the check of the directories.
 * Method: a link in a good directory to a file in one that everybody may write to.
 */
static void test_hook_behind_link(void **state)
{
	char folder[64], open_folder[160], file[160], link[160], good[160], detour[200];

	(void)state;
	if (geteuid() != 0)
		skip();
	make_folder(folder);
	snprintf(good, sizeof(good), "%s/good", folder);
	snprintf(open_folder, sizeof(open_folder), "%s/open", folder);
	snprintf(file, sizeof(file), "%s/open/h", folder);
	snprintf(link, sizeof(link), "%s/link", folder);
	assert_int_equal(mkdir(open_folder, 0700), 0);
	make_file(file, "#!/bin/sh\n", 10, 0755);
	assert_int_equal(symlink(file, link), 0);
	check_hook(folder, "link", "", NULL);
	assert_int_equal(chmod(open_folder, 0777), 0);
	check_hook(folder, "link", "", "others can change ");
	unlink(link);

	/* Nor does a link to a link there that leads back to a good file. */
	snprintf(detour, sizeof(detour), "%s/detour", open_folder);
	assert_int_equal(symlink("../good", detour), 0);
	assert_int_equal(symlink("open/detour", link), 0);
	assert_int_equal(rename(file, good), 0);
	check_hook(folder, "link", "", "others can change ");
	unlink(link);
	unlink(detour);
	unlink(good);
	rmdir(open_folder);
	rmdir(folder);
}

/*
 * Goal: users are looked up with their groups; unknown ones are refused; not looked at without check_files.
 * Method: nobody and a user that does not exist, in both places.
 */
static void test_users(void **state)
{
	static const char good[] = "election a { user = nobody }\n", root[] = "election a { user = root }\n";
	static const char bad[] =
		"elector_user = \"no-such-user\"\nelection a {\nuser = \"no-such-user\" }\n";
	struct run r = run_parse(bad, strlen(bad), NULL, 0, true);
	struct passwd *nobody = getpwnam("nobody");

	(void)state;
	assert_string_equal(r.said, "t.conf:1: elector_user: \"no-such-user\": no such user\n"
				    "t.conf:3: election \"a\": user: \"no-such-user\": no such user\n");
	run_free(&r);
	r = run_parse(bad, strlen(bad), NULL, 0, false);
	assert_int_equal(r.rc, 0);
	assert_string_equal(r.config->elections[0].user.name, "no-such-user");
	assert_string_equal(r.config->elector_user, "no-such-user");
	run_free(&r);
	if (geteuid() != 0) {
		r = run_parse(root, strlen(root), NULL, 0, true);
		assert_string_equal(
			r.said, "t.conf:1: election \"a\": user: \"root\": only an agent started as root can "
				"change its user\n");
		run_free(&r);
		return;
	}
	r = run_parse(good, strlen(good), NULL, 0, true);
	assert_int_equal(r.rc, 0);
	const struct config_user *user = &r.config->elections[0].user;
	assert_non_null(nobody);
	assert_int_equal(user->uid, nobody->pw_uid);
	assert_int_equal(user->gid, nobody->pw_gid);
	assert_string_equal(user->home, nobody->pw_dir);
	assert_string_equal(user->shell, nobody->pw_shell);
	assert_true(user->group_count >= 1);
	assert_int_equal(user->groups[0], nobody->pw_gid);
	assert_string_equal(r.config->elector_user, getpwnam("tenure") != NULL ? "tenure" : "nobody");
	run_free(&r);
}

/* Parses with an auth file of MODE and CONTENTS; NULL: no such file. */
static struct run parse_with_auth(const char *contents, mode_t mode)
{
	char folder[64], path[128], text[256];

	make_folder(folder);
	snprintf(path, sizeof(path), "%s/auth", folder);
	if (contents != NULL)
		make_file(path, contents, strlen(contents), mode);
	snprintf(text, sizeof(text), "zookeeper {\nauth_file = \"%s\"\nacl = creator }\n", path);
	struct run r = run_parse(text, strlen(text), NULL, 0, true);
	unlink(path);
	rmdir(folder);
	return r;
}

static void refuse_auth(const char *contents, mode_t mode, const char *part)
{
	struct run r = parse_with_auth(contents, mode);

	assert_int_equal(r.rc, -EINVAL);
	if (strstr(r.said, part) == NULL || strncmp(r.said, "t.conf:2: zookeeper: auth_file: /tmp/", 37) != 0)
		fail_msg("\"%s\" is not said in \"%s\"", part, r.said);
	assert_null(strstr(r.said, "secret"));
	run_free(&r);
}

/*
 * Goal: the auth file is checked, its secrets are never shown, and a change is noticed.
 * Method: good and bad files.
 */
static void test_auth_file(void **state)
{
	struct run a = parse_with_auth("# ours\n\ndigest:user:secret\r\nip:secret", 0600);
	struct run b = parse_with_auth("digest:user:other", 0640);

	(void)state;
	assert_int_equal(a.rc, 0);
	assert_int_equal(b.rc, 0);
	assert_int_not_equal(a.config->zookeeper.auth_digest, b.config->zookeeper.auth_digest);
	run_free(&a);
	run_free(&b);
	refuse_auth(NULL, 0, "cannot be read: No such file or directory");
	refuse_auth("digest:user:secret\n", 0604, "has mode 0604");
	refuse_auth("digest:user:secret\n", 0620, "has mode 0620");
	refuse_auth("# nothing\n", 0600, "has no credential in it");
	refuse_auth("digest:a:b\nsecret\n:secret\ndigest:\n", 0600, "auth: line 2 is not scheme:credential");
	refuse_auth("digest:a:b\nsecret\n:secret\ndigest:\n", 0600, "auth: line 3 is not scheme:credential");
	refuse_auth("digest:a:b\nsecret\n:secret\ndigest:\n", 0600, "auth: line 4 is not scheme:credential");
	refuse_auth("a:1\na:2\na:3\na:4\na:5\na:6\na:7\na:8\na:9\n", 0600,
		    "line 9 is one credential too many");
}

/*
 * Goal: credentials are read as they stand, colons included.
 * Method: read a file.
 */
static void test_auth_read(void **state)
{
	char folder[64], path[128];
	struct config_auth list[CONFIG_AUTH_MAX];
	struct config_errors errors = {.stream = stderr};
	uint64_t digest = 0;
	size_t count = 0;

	(void)state;
	make_folder(folder);
	snprintf(path, sizeof(path), "%s/auth", folder);
	make_file(path, "digest:user:pass:word \r\nip:10.0.0.1\n", 36, 0600);
	assert_int_equal(config_auth_read(path, &errors, list, &count, &digest), 0);
	assert_int_equal(count, 2);
	assert_string_equal(list[0].scheme, "digest");
	assert_string_equal(list[0].credential, "user:pass:word ");
	assert_string_equal(list[1].credential, "10.0.0.1");
	assert_int_not_equal(digest, 0);
	config_auth_free(list, count);
	unlink(path);
	rmdir(folder);
}

static void refuse_auth_bytes(const char *bytes, size_t size, int expected)
{
	char folder[64], path[128], *said = NULL;
	struct config_auth list[CONFIG_AUTH_MAX];
	size_t count = 9, said_size;
	struct config_errors errors = {.stream = open_memstream(&said, &said_size)};

	make_folder(folder);
	snprintf(path, sizeof(path), "%s/auth", folder);
	if (bytes != NULL)
		make_file(path, bytes, size, 0600);
	else
		assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(config_auth_read(path, &errors, list, &count, NULL), expected);
	fclose(errors.stream);
	assert_int_equal(count, 0);
	assert_non_null(strstr(said, path));
	free(said);
	remove(path);
	rmdir(folder);
}

/*
 * Goal: an auth file that is no text, too long or no file gives no credential at all.
 * Method: a good line before each.
 */
static void test_auth_refused(void **state)
{
	static char big[CONFIG_AUTH_FILE_MAX + 1] = "digest:a:b\n";

	(void)state;
	memset(big + strlen(big), '#', sizeof(big) - strlen(big));
	refuse_auth_bytes(big, sizeof(big), -EFBIG);
	refuse_auth_bytes("digest:a:b\na:b\0c:d\n", 19, -EINVAL);
	refuse_auth_bytes(NULL, 0, -EISDIR);
}

/* TEXT with the lines of its commented election put to use; commands that need files are harmless without
 * check_files. */
static void use_election(char *text)
{
	bool in_election = false;

	for (char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1) {
		if (strncmp(line, "#election", 9) == 0)
			in_election = true;
		if (in_election && line[0] == '#')
			line[0] = ' ';
		if (strchr(line, '\n') == NULL)
			break;
	}
}

static void compare_elections(const struct config_election *a, const struct config_election *b)
{
	assert_string_equal(a->path, b->path);
	assert_string_equal(a->address, b->address);
	assert_null(a->user.name);
	assert_int_equal(a->candidate, b->candidate);
	assert_int_equal(a->env_count, 0);
	assert_int_equal(a->gain.timeout_ns, b->gain.timeout_ns);
	assert_int_equal(a->lose.timeout_ns, b->lose.timeout_ns);
	assert_int_equal(a->fence.timeout_ns, b->fence.timeout_ns);
	assert_int_equal(a->follow.timeout_ns, b->follow.timeout_ns);
	assert_int_equal(a->notify.timeout_ns, b->notify.timeout_ns);
	assert_int_equal(a->handoff_timeout_ns, b->handoff_timeout_ns);
	assert_int_equal(a->take_office_limit_ns, b->take_office_limit_ns);
	assert_int_equal(a->backoff_ns, b->backoff_ns);
	assert_int_equal(a->backoff_max_ns, b->backoff_max_ns);
	assert_int_equal(a->budget.ride_out_ns, b->budget.ride_out_ns);
	assert_int_equal(a->takeover_delay_ns, b->takeover_delay_ns);
	assert_int_equal(a->on_panic, b->on_panic);
	assert_int_equal(a->fence_peer.timeout_ns, b->fence_peer.timeout_ns);
}

/*
 * Goal: the sample file is valid, and what it shows as defaults are the defaults.
 * Method: parse it as it stands and with its election put to use, and compare with an empty file.
 */
static void test_sample_shows_defaults(void **state)
{
	size_t size;
	char *text = read_source("etc/tenured.conf", &size);
	struct run sample = accept_text(text), empty = accept_text("election pg { }");
	const struct config *a = sample.config, *b = empty.config;

	(void)state;
	assert_string_equal(a->member, b->member);
	assert_string_equal(a->state_dir, b->state_dir);
	assert_string_equal(a->data_dir, b->data_dir);
	assert_string_equal(a->elector_user, b->elector_user);
	assert_int_equal(a->orphan_limit_ns, b->orphan_limit_ns);
	assert_string_equal(a->zookeeper.servers, b->zookeeper.servers);
	assert_int_equal(a->zookeeper.session_timeout_ns, b->zookeeper.session_timeout_ns);
	assert_int_equal(a->zookeeper.tick_time_ns, b->zookeeper.tick_time_ns);
	assert_int_equal(a->zookeeper.heartbeat_ns, b->zookeeper.heartbeat_ns);
	assert_int_equal(a->zookeeper.ping_slack_ns, b->zookeeper.ping_slack_ns);
	assert_string_equal(a->zookeeper.auth_file, b->zookeeper.auth_file);
	assert_int_equal(a->zookeeper.acl, b->zookeeper.acl);
	assert_string_equal(a->watchdog_device, b->watchdog_device);
	assert_string_equal(a->control.socket, b->control.socket);
	assert_string_equal(a->control.group_name, b->control.group_name);
	assert_string_equal(a->control.admin_group_name, b->control.admin_group_name);
	assert_memory_equal(&a->log, &b->log, sizeof(a->log));
	assert_int_equal(a->election_count, 0);
	run_free(&sample);
	use_election(text);
	sample = accept_text(text);
	assert_int_equal(sample.config->election_count, 1);
	compare_elections(&sample.config->elections[0], &empty.config->elections[0]);
	run_free(&sample);
	run_free(&empty);
	free(text);
}

/*
 * Goal: no option is missing from the sample file or from the man page, and their defaults agree with the
 * table. Method: go through the table.
 */
static void test_options_documented(void **state)
{
	size_t size;
	char *sample = read_source("etc/tenured.conf", &size),
	     *page = read_source("agent/man/tenured.conf.5", &size);

	(void)state;
	for (size_t i = 0; i < config_rule_count; i++) {
		const struct config_rule *rule = &config_rules[i];
		const char *section = config_sections[rule->section].name;
		char line[160];
		snprintf(line, sizeof(line), "%s = ", rule->name);
		if (strstr(sample, line) == NULL)
			fail_msg("%s is not in the sample file", rule->name);
		snprintf(line, sizeof(line), "\n.It %s Ta %s Ta ", rule->name,
			 *section != '\0' ? section : "\\(em");
		const char *row = strstr(page, line);
		if (row == NULL)
			fail_msg("%s of \"%s\" is not in the man page's table", rule->name, section);
		snprintf(line, sizeof(line), " Ta %s Ta ",
			 rule->fallback == NULL || *rule->fallback == '\0' ? "\\(em" : rule->fallback);
		const char *found = strstr(row, line);
		if (found == NULL || found > strchr(row + 1, '\n'))
			fail_msg("the default of %s of \"%s\" is another in the man page", rule->name,
				 section);
	}
	free(sample);
	free(page);
}

/*
 * Goal: the configuration is explained in the design's words and numbers.
 * Method: the defaults with a lose of 4 s and a fence of 2 s.
 */
static void test_explain(void **state)
{
	struct run r = accept_text("member = m zookeeper { servers = \"a:1/c\" } election pg { hooks { gain "
				   "= /g lose = /l fence = /f } }"
				   "election f { candidate = false } election n { }");
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	(void)state;
	assert_non_null(stream);
	config_explain(r.config, stream);
	fclose(stream);
	assert_string_equal(
		text, "ZooKeeper at a:1/c: lease 20 s, a heartbeat every 1 s, no server's tick above 3 s\n"
		      "the highest tokens seen are kept in /var/lib/tenure: only higher ones may lead\n"
		      "\n"
		      "election \"pg\" at /c/tenure/pg, member \"m\"\n"
		      "  rides out 8.1 s without ZooKeeper; after a crash a standby takes over within 20 s "
		      "and two ticks\n"
		      "  a lease that is not renewed, from its start:\n"
		      "     13.600 s  the lose hook runs, at most 4 s\n"
		      "     17.600 s  SIGKILL for what is left; if lose has failed, the fence hook runs, at "
		      "most 2 s\n"
		      "     19.600 s  out of office\n"
		      "     20.000 s  the session may expire: somebody else may lead\n"
		      "  a planned handoff gives the lose hook 60 s while the lease is renewed\n"
		      "\n"
		      "election \"f\" at /c/tenure/f, member \"m\"\n"
		      "  follows, never leads\n"
		      "\n"
		      "election \"n\" at /c/tenure/n, member \"m\"\n"
		      "  rides out 14.1 s without ZooKeeper; after a crash a standby takes over within 20 s "
		      "and two ticks\n"
		      "  a lease that is not renewed, from its start:\n"
		      "     19.600 s  out of office\n"
		      "     20.000 s  the session may expire: somebody else may lead\n"
		      "  no gain and lose hooks: leadership is only announced\n");
	free(text);
	run_free(&r);
}

/*
 * Goal: what comes before gain after an unclean end, what happens in panic, the watchdog and the floor are explained.
 * Method: all of them, one a line.
 */
static void test_explain_guards(void **state)
{
	static const char *const lines[] = {
		"\nno tokens are kept: an ensemble that was wiped or restored would be obeyed\n",
		"\nwatchdog /w: resets the host when it is not fed for 14 s; not fed while a lease in office has less left\n",
		"\n  after an unclean end: waits 5 s, then the fence_peer hook, at most 30 s, before gain\n",
		"\n  if the service cannot be put out of office, the agent exits when the lease is over\n",
		"\n  after an unclean end: waits 0.25 s\n",
		"\n  after an unclean end: the fence_peer hook, at most 1 s, before gain\n",
		"\n  if the service cannot be put out of office, the host is rebooted when the lease is over\n",
	};
	struct run r = accept_text("member = m data_dir = \"\" watchdog { device = /w }"
				   "election a { takeover_delay = 5s on_panic = exit hooks { fence_peer = /p } }"
				   "election b { takeover_delay = 250 }"
				   "election c { on_panic = reboot hooks { fence_peer = /p fence_peer_timeout = 1s } }");
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);

	(void)state;
	assert_non_null(stream);
	config_explain(r.config, stream);
	fclose(stream);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (strstr(text, lines[i]) == NULL)
			fail_msg("not said: %s\nin: %s", lines[i], text);
	}
	free(text);
	run_free(&r);
}

/*
 * Goal: a reload keeps session and term exactly when what they rest on is unchanged.
 * Method: pairs of configurations.
 */
static void test_same(void **state)
{
	static const char base[] =
		"member = m zookeeper { servers = \"a:1/c\" } election e { hooks { notify = /n } }";
	static const char *const session[] = {
		"member = x zookeeper { servers = \"a:1/c\" }", "member = m zookeeper { servers = \"a:1\" }",
		"member = m zookeeper { servers = \"a:1/c\" session_timeout = 21s }",
		"member = m zookeeper { servers = \"a:1/c\" auth_file = /x }",
		"member = m zookeeper { servers = \"a:1/c\" auth_file = /x acl = private }"};
	static const char *const election[] = {"election f { path = /tenure/e }", "election e { path = /x }",
					       "election e { candidate = false }",
					       "election e { user = nobody }", "election e { address = x }"};
	static const struct {
		const char *text;
		bool same;
	} hooks[] = {{"election e { hooks { gain = /g lose = /l fence = /f } }", true},
		     {"election e { hooks { gain = /x lose = /y fence = /z } }", true},
		     {"election e { hooks { gain = /g lose = /l follow = /w } }", false},
		     {"election e { hooks { follow = /w } }", false}};
	struct run a = accept_text(base);
	struct run b = accept_text("member = m zookeeper { servers = \"b:1,c:1/c\" tick_time = 2s } "
				   "election e { env = {\"A=b\"} backoff = 2s hooks { notify = /o } }");

	(void)state;
	assert_true(config_same_session(a.config, b.config));
	assert_true(config_same_election(&a.config->elections[0], &b.config->elections[0]));
	run_free(&b);
	for (size_t i = 0; i < sizeof(session) / sizeof(session[0]); i++) {
		b = accept_text(session[i]);
		assert_false(config_same_session(a.config, b.config));
		run_free(&b);
	}
	for (size_t i = 0; i < sizeof(election) / sizeof(election[0]); i++) {
		b = accept_text(election[i]);
		assert_false(config_same_election(&a.config->elections[0], &b.config->elections[0]));
		run_free(&b);
	}
	run_free(&a);
	/* What a term ends by must still be there; by which command is the operator's affair. */
	a = accept_text("election e { hooks { gain = /g lose = /l fence = /f follow = /w } }");
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		b = accept_text(hooks[i].text);
		assert_int_equal(config_same_election(&a.config->elections[0], &b.config->elections[0]), hooks[i].same);
		assert_true(config_same_election(&b.config->elections[0], &b.config->elections[0]));
		run_free(&b);
	}
	run_free(&a);
}

static void assert_same_user(const struct config_user *a, const struct config_user *b)
{
	assert_int_equal(a->uid, b->uid);
	assert_int_equal(a->gid, b->gid);
	assert_string_equal(a->home, b->home);
	assert_string_equal(a->shell, b->shell);
	assert_int_equal(a->group_count, b->group_count);
	assert_memory_equal(a->groups, b->groups, a->group_count * sizeof(*a->groups));
}

/*
 * Goal: what one process has looked up, another one gets without looking, or an error.
 * Method: the agent's own user, with text that a format could trip over; all of it, and every part cut short.
 */
static void test_found(void **state)
{
	static const char nobody[] = "control { admin_group = nosuch } election e { user = nosuch }";
	const struct config_options options = {.file = "t.conf", .found_elsewhere = true};
	struct config_errors errors = {.stream = stderr};
	const struct passwd *self = getpwuid(geteuid());
	char text[512], *found = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&found, &size);
	struct run a, b = {0};

	(void)state;
	if (!self)
		skip();
	snprintf(text, sizeof(text), "member = m control { admin_group = root } election e { } election f { user = %s }",
		 self->pw_name);
	a = run_parse(text, strlen(text), NULL, 0, true);
	if (a.rc != 0)
		fail_msg("refused: %s", a.said);
	free(a.config->elections[1].user.home);
	a.config->elections[1].user.home = strdup("/a home:\n 7");
	a.config->zookeeper.auth_digest = UINT64_MAX;
	assert_int_equal(config_found_write(a.config, stream), 0);
	fclose(stream);
	assert_int_equal(config_parse((const unsigned char *)nobody, strlen(nobody), &options, &errors, &b.config), 0);
	for (size_t n = 0; n <= size; n++) {
		run_free(&b);
		assert_int_equal(config_parse((const unsigned char *)text, strlen(text), &options, &errors, &b.config), 0);
		stream = n > 0 ? fmemopen(found, n, "r") : fopen("/dev/null", "r");
		assert_non_null(stream);
		b.rc = config_found_read(b.config, stream);
		fclose(stream);
		if (n < size / 2)
			assert_int_equal(b.rc, -EBADMSG);
	}
	assert_int_equal(b.rc, 0);
	assert_same_user(&a.config->elections[1].user, &b.config->elections[1].user);
	assert_int_equal(b.config->control.admin_group, a.config->control.admin_group);
	assert_int_equal(b.config->control.has_group, a.config->control.has_group);
	assert_string_equal(b.config->elector_user, a.config->elector_user);
	assert_true(config_same_session(a.config, b.config));
	assert_true(config_same_election(&a.config->elections[1], &b.config->elections[1]));
	free(found);
	run_free(&a);
	run_free(&b);
}

/*
 * Goal: the elector, which sees no files, gets the same configuration from the text and overrides that were
 * kept. Method: parse with files, then parse what was kept without.
 */
static void test_elector_sees_the_same(void **state)
{
	static const char text[] =
		"member = m\nelection e { hooks { gain = {\"/bin/true\"} lose = {\"/bin/true\"} } }\n";
	static const char *const overrides[] = {"zookeeper.session_timeout=30s"};
	struct run a = run_parse(text, strlen(text), overrides, 1, true);

	(void)state;
	if (a.rc != 0)
		fail_msg("refused: %s", a.said);
	struct run b = run_parse((const char *)a.config->text, a.config->text_size,
				 (const char *const *)a.config->overrides, a.config->override_count, false);
	assert_int_equal(b.rc, 0);
	assert_int_equal(b.config->zookeeper.session_timeout_ns, 30 * SECOND_NS);
	assert_true(config_same_session(a.config, b.config));
	assert_memory_equal(&a.config->elections[0].budget, &b.config->elections[0].budget,
			    sizeof(struct tenure_budget));
	run_free(&a);
	run_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_every_value),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_all_errors_in_one_run),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_not_yet_supported),
		cmocka_unit_test(test_http_listen),
		cmocka_unit_test(test_servers),
		cmocka_unit_test(test_names_and_paths),
		cmocka_unit_test(test_fits_the_lease),
		cmocka_unit_test(test_overrides),
		cmocka_unit_test(test_hook_files),
		cmocka_unit_test(test_hook_behind_link),
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_auth_file),
		cmocka_unit_test(test_auth_read),
		cmocka_unit_test(test_auth_refused),
		cmocka_unit_test(test_sample_shows_defaults),
		cmocka_unit_test(test_options_documented),
		cmocka_unit_test(test_explain),
		cmocka_unit_test(test_explain_guards),
		cmocka_unit_test(test_beside_hooks),
		cmocka_unit_test(test_guards),
		cmocka_unit_test(test_watchdog_fits),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_elector_sees_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
