/* Checks of the configuration as a whole: names, paths, environment, and what fits the lease. */
#include "common/config_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/http_socket.h"

const char *config_path_problem(const char *path)
{
	if (path[0] != '/')
		return "is not an absolute path";
	if (strlen(path) > CONFIG_PATH_MAX)
		return "is too long";
	for (const char *c = path; *c != '\0'; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return "has a control character in it";
	}
	for (const char *part = path + 1;; part++) {
		size_t n = strcspn(part, "/");
		if (n == 0)
			return part[0] == '\0' ? "ends with \"/\"" : "has an empty part (\"//\")";
		if (strncmp(part, "..", n) == 0 && n <= 2)
			return "has a part \".\" or \"..\"";
		part += n;
		if (*part == '\0')
			return NULL;
	}
}

static void check_member(struct config_parse *p)
{
	struct config *c = p->config;
	const struct config_rule *rule = config_rule_find(CONFIG_TOP, "member");
	union config_reading reading;
	char name[256] = "", why[256];

	if (c->member[0] == '\0') {
		if (gethostname(name, sizeof(name) - 1) < 0)
			name[0] = '\0';
		if (name[0] == '\0' || config_read_value(rule, name, &reading, why, sizeof(why)) < 0) {
			config_complain(p, CONFIG_TOP, "member",
					"the host name, \"%.80s\", does not do as a default; set one", name);
			return;
		}
		free(c->member);
		c->member = strdup(name);
		p->no_memory = p->no_memory || c->member == NULL;
	}
	if (c->member != NULL && strchr(c->member, '/') != NULL)
		config_complain(p, CONFIG_TOP, "member", "\"%s\" has a \"/\" in it", c->member);
}

static void check_listen(struct config_parse *p)
{
	const char *listen = p->config->http_listen, *problem;
	struct sockaddr_storage address;
	socklen_t size;

	problem = listen[0] != '\0' ? http_socket_parse(listen, &address, &size) : NULL;
	if (problem)
		config_complain(p, CONFIG_HTTP, "listen", "\"%.100s\" %s", listen, problem);
}

void config_check_top(struct config_parse *p)
{
	struct config *c = p->config;

	check_member(p);
	c->zookeeper.touch_lag_ns = c->zookeeper.tick_time_ns / 2 + c->zookeeper.ping_slack_ns;
	config_check_servers(p);
	if (c->zookeeper.acl != CONFIG_ACL_OPEN && c->zookeeper.auth_file[0] == '\0')
		config_complain(p, CONFIG_ZOOKEEPER, "acl",
				"needs an auth_file: nobody else could use the znodes");
	if (c->zookeeper.auth_file[0] != '\0' && p->options->check_files)
		config_check_auth(p);
	check_listen(p);
	config_check_elector_user(p);
	if (!p->options->found_elsewhere)
		config_check_groups(p);
}

static void check_path(struct config_parse *p, struct config_election *e)
{
	static const char reserved[] = "/zookeeper";
	char path[sizeof("/tenure/") + TENURE_ELECTION_SIZE];

	if (e->path[0] == '\0') {
		free(e->path);
		snprintf(path, sizeof(path), "/tenure/%s", e->name);
		e->path = strdup(path);
		p->no_memory = p->no_memory || e->path == NULL;
		return;
	}
	size_t n = sizeof(reserved) - 1;
	if (p->config->zookeeper.chroot[0] == '\0' && strncmp(e->path, reserved, n) == 0 &&
	    (e->path[n] == '\0' || e->path[n] == '/'))
		config_complain(p, CONFIG_ELECTION, "path", "\"%s\" is ZooKeeper's own", e->path);
}

static size_t name_length(const char *assignment)
{
	return strcspn(assignment, "=");
}

static void check_env(struct config_parse *p, const struct config_election *e)
{
	for (size_t i = 0; i < e->env_count; i++) {
		const char *text = e->env[i];
		size_t n = name_length(text);
		if (text[n] != '=' || n == 0 || (text[0] >= '0' && text[0] <= '9') ||
		    strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != n)
			config_complain(p, CONFIG_ELECTION, "env", "\"%.80s\" is not NAME=value", text);
		else if (strncmp(text, "TENURE_", 7) == 0)
			config_complain(p, CONFIG_ELECTION, "env",
					"\"%.80s\": TENURE_ names are set by the agent itself", text);
		for (size_t j = 0; j < i; j++) {
			if (name_length(e->env[j]) == n && strncmp(e->env[j], text, n) == 0)
				config_complain(p, CONFIG_ELECTION, "env", "\"%.*s\" is set twice",
						(int)(n < 80 ? n : 80), text);
		}
	}
}

static void check_hooks(struct config_parse *p, const struct config_election *e)
{
	const struct {
		const char *name;
		const struct config_command *command;
	} hooks[] = {{"gain", &e->gain.command},
		     {"lose", &e->lose.command},
		     {"fence", &e->fence.command},
		     {"fence_peer", &e->fence_peer.command},
		     {"follow", &e->follow.command},
		     {"notify", &e->notify.command}};

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		if (hooks[i].command->words != NULL)
			config_check_command(p, e, CONFIG_HOOKS, hooks[i].name, hooks[i].command);
	}
	/* A list that was refused is set all the same. */
	if (e->gain.command.words != NULL && !config_is_set(p, CONFIG_HOOKS, "lose"))
		config_complain(p, CONFIG_HOOKS, "gain",
				"there is no lose hook; what gain starts must be stopped again");
}

static bool has_default(const struct config_rule *rule, const struct config_election *e)
{
	const char *at = (const char *)e + rule->offset;
	union config_reading fallback;
	int64_t number;
	int choice;
	char why[256];

	config_read_value(rule, rule->fallback, &fallback, why, sizeof(why));
	if (rule->kind == CONFIG_CHOICE) {
		memcpy(&choice, at, sizeof(choice));
		return choice == fallback.number;
	}
	memcpy(&number, at, sizeof(number));
	return number == fallback.number;
}

/* Settings in a section without a command are pointless, and a sign of an oversight. */
static void check_pointless(struct config_parse *p, const struct config_election *e, unsigned section)
{
	if (config_is_set(p, section, "command"))
		return; /* it was refused */
	for (size_t i = 0; i < config_rule_count; i++) {
		const struct config_rule *rule = &config_rules[i];

		if (rule->section == section && !config_rule_is_list(rule) && !has_default(rule, e))
			config_complain(p, section, rule->name, "there is no command in this section");
	}
}

/* The commands beside the hooks. */
static void check_others(struct config_parse *p, const struct config_election *e)
{
	const struct {
		unsigned section;
		const struct config_command *command;
	} others[] = {{CONFIG_CHECK, &e->check.hook.command},
		      {CONFIG_SCORE, &e->score.hook.command},
		      {CONFIG_SERVICE, &e->service.command}};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		unsigned section = others[i].section;

		if (others[i].command->words != NULL)
			config_check_command(p, e, section, "command", others[i].command);
		else
			check_pointless(p, e, section);
	}
	if (e->score.slack >= 0 && !config_is_set(p, CONFIG_SCORE, "command"))
		config_complain(p, CONFIG_ELECTION, "score_slack", "there is no score command to compare by");
}

int64_t config_lease_left(const struct config *c)
{
	const struct tenure_budget b = {.touch_lag_ns = c->zookeeper.touch_lag_ns,
					.ping_slack_ns = c->zookeeper.ping_slack_ns,
					.heartbeat_ns = c->zookeeper.heartbeat_ns};
	int64_t timeout = c->zookeeper.session_timeout_ns;

	return tenure_budget_hold(&b, timeout) + tenure_budget_margin(timeout);
}

/* Says a misfit of the option that is likeliest to be at fault. */
static void complain_of_misfit(struct config_parse *p, const struct config_election *e, const char *what)
{
	if (e->budget.stop_ns > e->budget.lose_ns)
		config_complain(p, CONFIG_SERVICE, "stop_timeout", "%s", what);
	else if (e->lose.command.words != NULL)
		config_complain(p, CONFIG_HOOKS, "lose_timeout", "%s", what);
	else if (e->fence.command.words != NULL)
		config_complain(p, CONFIG_HOOKS, "fence_timeout", "%s", what);
	else
		config_complain(p, CONFIG_ELECTION, "ride_out", "%s", what);
}

static void check_fits(struct config_parse *p, const struct config_election *e)
{
	const struct config *c = p->config;
	const struct tenure_budget *b = &e->budget;
	int64_t timeout = c->zookeeper.session_timeout_ns, need = tenure_budget_need(b, timeout);
	int64_t ride_out = tenure_budget_ride_out(b, timeout);
	int64_t left = config_lease_left(c);
	char text[7][32], stop[64] = "", advice[96], what[512];

	if (!e->candidate || p->bad_times[CONFIG_ZOOKEEPER] || p->bad_times[CONFIG_ELECTION] ||
	    p->bad_times[CONFIG_HOOKS] || p->bad_times[CONFIG_SERVICE] || tenure_budget_fits(b, timeout))
		return;
	int64_t smallest = tenure_budget_smallest(b);
	if (smallest <= config_rule_find(CONFIG_ZOOKEEPER, "session_timeout")->max * TENURE_NS_PER_MS)
		snprintf(advice, sizeof(advice), "the smallest session_timeout that would do is %" PRId64,
			 smallest / TENURE_NS_PER_MS);
	else
		snprintf(advice, sizeof(advice), "no session_timeout in range would do");
	if (b->stop_ns > 0)
		snprintf(stop, sizeof(stop), "stop %s s + ", config_seconds(b->stop_ns, text[0], sizeof(text[0])));
	snprintf(what, sizeof(what),
		 "does not fit the lease: %slose %s s + fence %s s + margin %s s + ride_out %s s = %s s, "
		 "but a lease of %s s surely leaves only %s s; %s",
		 stop, config_seconds(b->lose_ns, text[0], sizeof(text[0])),
		 config_seconds(b->fence_ns, text[1], sizeof(text[1])),
		 config_seconds(tenure_budget_margin(timeout), text[2], sizeof(text[2])),
		 config_seconds(ride_out, text[3], sizeof(text[3])),
		 config_seconds(need, text[4], sizeof(text[4])),
		 config_seconds(timeout, text[5], sizeof(text[5])),
		 config_seconds(left, text[6], sizeof(text[6])), advice);
	complain_of_misfit(p, e, what);
}

void config_check_election(struct config_parse *p, struct config_election *e)
{
	const struct config *c = p->config;

	check_path(p, e);
	config_check_hook_user(p, e);
	check_env(p, e);
	check_hooks(p, e);
	check_others(p, e);
	e->budget.touch_lag_ns = c->zookeeper.touch_lag_ns;
	e->budget.ping_slack_ns = c->zookeeper.ping_slack_ns;
	e->budget.heartbeat_ns = c->zookeeper.heartbeat_ns;
	e->budget.stop_ns = e->service.command.words != NULL ? e->service.stop_timeout_ns : 0;
	e->budget.lose_ns = e->lose.command.words != NULL ? e->lose.timeout_ns : 0;
	e->budget.fence_ns = e->fence.command.words != NULL ? e->fence.timeout_ns : 0;
	check_fits(p, e);
	if (e->backoff_max_ns < e->backoff_ns && !p->bad_times[CONFIG_ELECTION])
		config_complain(p, CONFIG_ELECTION, "backoff_max", "is below backoff");
}

/* A device counts in whole seconds. */
static void check_watchdog(struct config_parse *p)
{
	const struct config *c = p->config;
	bool candidate = false;
	char left[32], timeout[32];

	for (size_t i = 0; i < c->election_count; i++)
		candidate = candidate || c->elections[i].candidate;
	if (c->watchdog_device[0] == '\0' || !candidate || p->bad_times[CONFIG_ZOOKEEPER])
		return;
	int64_t left_ns = config_lease_left(c);
	if (left_ns >= 1000 * TENURE_NS_PER_MS)
		return;
	config_complain(p, CONFIG_WATCHDOG, "device",
			"its shortest timeout is 1 s, but a lease of %s s surely leaves only %s s",
			config_seconds(c->zookeeper.session_timeout_ns, timeout, sizeof(timeout)),
			config_seconds(left_ns, left, sizeof(left)));
}

void config_check_elections(struct config_parse *p)
{
	const struct config *c = p->config;

	check_watchdog(p);
	/* CONFIG_ELECTIONS_MAX bounds this. */
	for (size_t i = 1; i < c->election_count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (strcmp(c->elections[i].path, c->elections[j].path) == 0)
				config_report_add(p->report, c->elections[i].line,
						  "election \"%s\": path: \"%s\" is that of election \"%s\" "
						  "on line %u too",
						  c->elections[i].name, c->elections[i].path,
						  c->elections[j].name, c->elections[j].line);
		}
	}
}
