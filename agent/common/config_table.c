/* The table of all options: names, kinds, defaults, ranges, and where their values are kept. */
#include "common/config_internal.h"

#include <string.h>

const struct config_section config_sections[CONFIG_SECTION_COUNT] = {
	[CONFIG_TOP] = {"", CONFIG_NO_SECTION, false},
	[CONFIG_ZOOKEEPER] = {"zookeeper", CONFIG_TOP, false},
	[CONFIG_TLS] = {"tls", CONFIG_ZOOKEEPER, false},
	[CONFIG_CONTROL] = {"control", CONFIG_TOP, false},
	[CONFIG_HTTP] = {"http", CONFIG_TOP, false},
	[CONFIG_LOG] = {"log", CONFIG_TOP, false},
	[CONFIG_WATCHDOG] = {"watchdog", CONFIG_TOP, false},
	[CONFIG_REALTIME] = {"realtime", CONFIG_TOP, false},
	[CONFIG_ELECTION] = {"election", CONFIG_TOP, true},
	[CONFIG_HOOKS] = {"hooks", CONFIG_ELECTION, false},
	[CONFIG_CHECK] = {"check", CONFIG_ELECTION, false},
	[CONFIG_SCORE] = {"score", CONFIG_ELECTION, false},
	[CONFIG_SERVICE] = {"service", CONFIG_ELECTION, false},
};

#define IN_CONFIG(field)   offsetof(struct config, field)
#define IN_ELECTION(field) offsetof(struct config_election, field)
#define NOWHERE		   SIZE_MAX

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

/* clang-format off */
#define TEXT(section, name, fallback, max, flags, offset) \
	{ section, name, CONFIG_TEXT, fallback, 0, max, NULL, flags, offset }
#define PATH(section, name, fallback, max, flags, offset) \
	{ section, name, CONFIG_PATH, fallback, 0, max, NULL, flags, offset }
#define TIME(section, name, fallback, min, max, flags, offset) \
	{ section, name, CONFIG_TIME, fallback, min, max, NULL, flags, offset }
#define INTEGER(section, name, fallback, min, max, offset) \
	{ section, name, CONFIG_INTEGER, fallback, min, max, NULL, 0, offset }
#define BOOL(section, name, fallback, flags, offset) \
	{ section, name, CONFIG_BOOL, fallback, 0, 0, NULL, flags, offset }
#define CHOICE(section, name, fallback, choices, flags, offset) \
	{ section, name, CONFIG_CHOICE, fallback, 0, 0, choices, flags, offset }
#define COMMAND(section, name, flags, offset) \
	{ section, name, CONFIG_COMMAND, NULL, 0, 0, NULL, flags, offset }
/* clang-format on */

const struct config_rule config_rules[] = {
	TEXT(CONFIG_TOP, "member", "", TENURE_MEMBER_SIZE - 1, CONFIG_EMPTY_OK, IN_CONFIG(member)),
	PATH(CONFIG_TOP, "state_dir", CONFIG_DEFAULT_STATE_DIR, CONFIG_PATH_MAX, 0, IN_CONFIG(state_dir)),
	PATH(CONFIG_TOP, "data_dir", "/var/lib/tenure", CONFIG_PATH_MAX, CONFIG_EMPTY_OK,
	     IN_CONFIG(data_dir)),
	TEXT(CONFIG_TOP, "elector_user", "", 255, CONFIG_EMPTY_OK, IN_CONFIG(elector_user)),
	TIME(CONFIG_TOP, "orphan_limit", "60s", 0, HOUR, 0, IN_CONFIG(orphan_limit_ns)),

	TEXT(CONFIG_ZOOKEEPER, "servers", "127.0.0.1:2181", CONFIG_TOKEN_MAX, 0,
	     IN_CONFIG(zookeeper.servers)),
	TIME(CONFIG_ZOOKEEPER, "session_timeout", "20000", 400, 10 * MINUTE, 0,
	     IN_CONFIG(zookeeper.session_timeout_ns)),
	TIME(CONFIG_ZOOKEEPER, "tick_time", "3000", 10, MINUTE, 0, IN_CONFIG(zookeeper.tick_time_ns)),
	TIME(CONFIG_ZOOKEEPER, "heartbeat", "0", 10, MINUTE, CONFIG_ZERO_OK,
	     IN_CONFIG(zookeeper.heartbeat_ns)),
	TIME(CONFIG_ZOOKEEPER, "ping_slack", "500", 0, MINUTE, 0, IN_CONFIG(zookeeper.ping_slack_ns)),
	PATH(CONFIG_ZOOKEEPER, "auth_file", "", CONFIG_PATH_MAX, CONFIG_EMPTY_OK,
	     IN_CONFIG(zookeeper.auth_file)),
	CHOICE(CONFIG_ZOOKEEPER, "acl", "open", "open|creator|private", 0, IN_CONFIG(zookeeper.acl)),
	PATH(CONFIG_TLS, "ca", "", CONFIG_PATH_MAX, CONFIG_EMPTY_OK | CONFIG_LATER, NOWHERE),
	PATH(CONFIG_TLS, "cert", "", CONFIG_PATH_MAX, CONFIG_EMPTY_OK | CONFIG_LATER, NOWHERE),
	PATH(CONFIG_TLS, "key", "", CONFIG_PATH_MAX, CONFIG_EMPTY_OK | CONFIG_LATER, NOWHERE),

	/* 107 bytes is what a socket's address takes. */
	PATH(CONFIG_CONTROL, "socket", "/run/tenure/control.sock", 107, CONFIG_EMPTY_OK,
	     IN_CONFIG(control.socket)),
	TEXT(CONFIG_CONTROL, "group", "tenure", 255, CONFIG_EMPTY_OK, IN_CONFIG(control.group_name)),
	TEXT(CONFIG_CONTROL, "admin_group", "root", 255, 0, IN_CONFIG(control.admin_group_name)),

	TEXT(CONFIG_HTTP, "listen", "", 255, CONFIG_EMPTY_OK, IN_CONFIG(http_listen)),

	CHOICE(CONFIG_LOG, "level", "info", "error|warning|info|debug", 0, IN_CONFIG(log.level)),
	CHOICE(CONFIG_LOG, "format", "text", "text|json", 0, IN_CONFIG(log.format)),
	CHOICE(CONFIG_LOG, "target", "stderr", "stderr|syslog", 0, IN_CONFIG(log.target)),

	PATH(CONFIG_WATCHDOG, "device", "", CONFIG_PATH_MAX, CONFIG_EMPTY_OK, IN_CONFIG(watchdog_device)),
	BOOL(CONFIG_REALTIME, "lock_memory", "false", 0, IN_CONFIG(lock_memory)),
	INTEGER(CONFIG_REALTIME, "priority", "0", 0, 99, IN_CONFIG(priority)),

	PATH(CONFIG_ELECTION, "path", "", CONFIG_PATH_MAX, CONFIG_EMPTY_OK, IN_ELECTION(path)),
	TEXT(CONFIG_ELECTION, "address", "", TENURE_ADDRESS_SIZE - 1, CONFIG_EMPTY_OK, IN_ELECTION(address)),
	TEXT(CONFIG_ELECTION, "user", "", 255, CONFIG_EMPTY_OK, IN_ELECTION(user.name)),
	BOOL(CONFIG_ELECTION, "candidate", "true", 0, IN_ELECTION(candidate)),
	{CONFIG_ELECTION, "env", CONFIG_ENV, NULL, 0, 0, NULL, 0, IN_ELECTION(env)},
	BOOL(CONFIG_ELECTION, "interop", "false", CONFIG_LATER, NOWHERE),
	TIME(CONFIG_ELECTION, "ride_out", "0", 10, 10 * MINUTE, CONFIG_ZERO_OK,
	     IN_ELECTION(budget.ride_out_ns)),
	TIME(CONFIG_ELECTION, "take_office_limit", "0", 100, HOUR, CONFIG_ZERO_OK,
	     IN_ELECTION(take_office_limit_ns)),
	TIME(CONFIG_ELECTION, "takeover_delay", "0", 0, HOUR, 0, IN_ELECTION(takeover_delay_ns)),
	TIME(CONFIG_ELECTION, "backoff", "1s", 10, HOUR, 0, IN_ELECTION(backoff_ns)),
	TIME(CONFIG_ELECTION, "backoff_max", "60s", 10, DAY, 0, IN_ELECTION(backoff_max_ns)),
	CHOICE(CONFIG_ELECTION, "on_panic", "log", "log|exit|reboot", 0, IN_ELECTION(on_panic)),
	INTEGER(CONFIG_ELECTION, "score_slack", "-1", -1, INT64_MAX, IN_ELECTION(score.slack)),
	TIME(CONFIG_ELECTION, "score_settle", "0", 0, HOUR, 0, IN_ELECTION(score.settle_ns)),

	COMMAND(CONFIG_HOOKS, "gain", 0, IN_ELECTION(gain.command)),
	TIME(CONFIG_HOOKS, "gain_timeout", "60s", 10, DAY, 0, IN_ELECTION(gain.timeout_ns)),
	COMMAND(CONFIG_HOOKS, "lose", 0, IN_ELECTION(lose.command)),
	TIME(CONFIG_HOOKS, "lose_timeout", "4s", 10, 10 * MINUTE, 0, IN_ELECTION(lose.timeout_ns)),
	TIME(CONFIG_HOOKS, "handoff_timeout", "60s", 10, DAY, 0, IN_ELECTION(handoff_timeout_ns)),
	COMMAND(CONFIG_HOOKS, "fence", 0, IN_ELECTION(fence.command)),
	TIME(CONFIG_HOOKS, "fence_timeout", "2s", 10, 10 * MINUTE, 0, IN_ELECTION(fence.timeout_ns)),
	COMMAND(CONFIG_HOOKS, "fence_peer", 0, IN_ELECTION(fence_peer.command)),
	TIME(CONFIG_HOOKS, "fence_peer_timeout", "30s", 10, HOUR, 0, IN_ELECTION(fence_peer.timeout_ns)),
	COMMAND(CONFIG_HOOKS, "follow", 0, IN_ELECTION(follow.command)),
	TIME(CONFIG_HOOKS, "follow_timeout", "0", 10, DAY, CONFIG_ZERO_OK, IN_ELECTION(follow.timeout_ns)),
	COMMAND(CONFIG_HOOKS, "notify", 0, IN_ELECTION(notify.command)),
	TIME(CONFIG_HOOKS, "notify_timeout", "10s", 10, HOUR, 0, IN_ELECTION(notify.timeout_ns)),

	COMMAND(CONFIG_CHECK, "command", 0, IN_ELECTION(check.hook.command)),
	TIME(CONFIG_CHECK, "interval", "2s", 100, HOUR, 0, IN_ELECTION(check.interval_ns)),
	TIME(CONFIG_CHECK, "timeout", "1s", 10, HOUR, 0, IN_ELECTION(check.hook.timeout_ns)),
	INTEGER(CONFIG_CHECK, "rise", "2", 1, 1000, IN_ELECTION(check.rise)),
	INTEGER(CONFIG_CHECK, "fall", "3", 1, 1000, IN_ELECTION(check.fall)),

	COMMAND(CONFIG_SCORE, "command", 0, IN_ELECTION(score.hook.command)),
	TIME(CONFIG_SCORE, "interval", "2s", 100, HOUR, 0, IN_ELECTION(score.interval_ns)),
	TIME(CONFIG_SCORE, "timeout", "1s", 10, HOUR, 0, IN_ELECTION(score.hook.timeout_ns)),

	COMMAND(CONFIG_SERVICE, "command", 0, IN_ELECTION(service.command)),
	TIME(CONFIG_SERVICE, "stop_timeout", "10s", 10, HOUR, 0, IN_ELECTION(service.stop_timeout_ns)),
	CHOICE(CONFIG_SERVICE, "on_exit", "leave", "leave|restart", 0, IN_ELECTION(service.on_exit)),
	INTEGER(CONFIG_SERVICE, "restart_limit", "3", 0, 1000, IN_ELECTION(service.restart_limit)),
};

const size_t config_rule_count = sizeof(config_rules) / sizeof(config_rules[0]);

_Static_assert(sizeof(config_rules) / sizeof(config_rules[0]) <= CONFIG_RULES_MAX, "table too long");

const struct config_rule *config_rule_find(unsigned section, const char *name)
{
	for (size_t i = 0; i < config_rule_count; i++) {
		if (config_rules[i].section == section && strcmp(config_rules[i].name, name) == 0)
			return &config_rules[i];
	}
	return NULL;
}

unsigned config_section_find(unsigned parent, const char *name)
{
	for (unsigned i = CONFIG_TOP + 1; i < CONFIG_SECTION_COUNT; i++) {
		if (config_sections[i].parent == parent && strcmp(config_sections[i].name, name) == 0)
			return i;
	}
	return CONFIG_NO_SECTION;
}

bool config_rule_is_list(const struct config_rule *rule)
{
	return rule->kind == CONFIG_COMMAND || rule->kind == CONFIG_ENV;
}
