/* What the HTTP interface answers to each path. See http_answer.h. */
#include "elector/http_answer.h"

#include <event2/buffer.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/role.h"
#include "elector/commands.h"
#include "elector/contest.h"
#include "elector/facts.h"
#include "elector/instant.h"
#include "elector/shell.h"

static void say(struct http_answer *answer, int status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void say(struct http_answer *answer, int status, const char *format, ...)
{
	va_list arguments;

	answer->status = status;
	if (!evhttp_find_header(answer->headers, "Content-Type"))
		evhttp_add_header(answer->headers, "Content-Type", "text/plain; charset=utf-8");
	va_start(arguments, format);
	evbuffer_add_vprintf(answer->body, format, arguments);
	va_end(arguments);
}

/* ---- of an election ---- */

static const char *state_of(const struct status_election *facts)
{
	uint32_t state = facts->state ? facts->state->u.state.state : ROLE_STATE_COUNT;

	return state < ROLE_STATE_COUNT ? role_state_name((enum role_state)state) : "not known yet";
}

static void answer_leader(const struct contest *c, struct http_answer *answer)
{
	const char *name = c->config->name;
	int64_t now_ns = instant_now();
	struct status_election facts;
	char token[24];

	facts_election(c, now_ns, &facts);
	if (!status_leads(&facts, now_ns)) {
		say(answer, 503, "%s does not lead %s: %s\n", facts.member, name, state_of(&facts));
		return;
	}
	snprintf(token, sizeof token, "%" PRId64, facts.state->token);
	evhttp_add_header(answer->headers, "X-Tenure-Token", token);
	say(answer, 200, "%s leads %s\n", facts.member, name);
}

static void answer_standby(const struct contest *c, struct http_answer *answer)
{
	struct status_election facts;

	facts_election(c, instant_now(), &facts);
	if (status_stands_by(&facts))
		say(answer, 200, "%s is a standby of %s\n", facts.member, c->config->name);
	else
		say(answer, 503, "%s is no ready standby of %s: %s\n", facts.member, c->config->name, state_of(&facts));
}

struct election_route {
	const char *name;
	void (*answer)(const struct contest *contest, struct http_answer *answer);
};

static const struct election_route election_routes[] = {{"leader", answer_leader}, {"standby", answer_standby}};

static const struct election_route *find_election_route(const char *name)
{
	for (size_t i = 0; i < sizeof election_routes / sizeof election_routes[0]; i++)
		if (strcmp(election_routes[i].name, name) == 0)
			return &election_routes[i];
	return NULL;
}

/* "/leader" is for an agent with one election. */
static void answer_only_one(struct shell *shell, const struct election_route *route, struct http_answer *answer)
{
	if (shell->contest_count == 1) {
		route->answer(&shell->contests[0], answer);
		return;
	}
	say(answer, 404, "this agent has %zu elections; ask for one of them:\n", shell->contest_count);
	for (size_t i = 0; i < shell->contest_count; i++)
		say(answer, 404, "/elections/%s/%s\n", shell->contests[i].config->name, route->name);
}

/* "NAME/leader" */
static void answer_election(struct shell *shell, const char *rest, struct http_answer *answer)
{
	size_t length = strcspn(rest, "/");
	const struct election_route *route = rest[length] ? find_election_route(rest + length + 1) : NULL;

	for (size_t i = 0; route && i < shell->contest_count; i++) {
		const char *name = shell->contests[i].config->name;

		if (strlen(name) == length && memcmp(name, rest, length) == 0) {
			route->answer(&shell->contests[i], answer);
			return;
		}
	}
	if (route)
		say(answer, 404, "there is no such election here\n");
	else
		say(answer, 404, "there is nothing here\n");
}

/* ---- of the agent ---- */

static void answer_live(struct shell *shell, struct http_answer *answer)
{
	(void)shell;
	say(answer, 200, "the agent runs\n");
}

/* A leader whom ZooKeeper is out of reach of is as ready as before: it rides that out. */
static bool has_joined(const struct shell *shell, const struct status_election *facts, int64_t now_ns)
{
	if (status_leads(facts, now_ns))
		return true;
	if (!facts->candidate)
		return facts->state && ensemble_connected(shell);
	return facts->in_queue;
}

static void answer_ready(struct shell *shell, struct http_answer *answer)
{
	int64_t now_ns = instant_now();
	struct status_election facts;
	size_t missing = 0;

	for (size_t i = 0; i < shell->contest_count; i++) {
		facts_election(&shell->contests[i], now_ns, &facts);
		if (has_joined(shell, &facts, now_ns))
			continue;
		missing++;
		say(answer, 503, "%s has not joined %s: %s\n", facts.member, shell->contests[i].config->name,
		    ensemble_connected(shell) ? state_of(&facts) : "not connected to ZooKeeper");
	}
	if (missing == 0)
		say(answer, 200, "joined\n");
}

static void answer_status(struct shell *shell, struct http_answer *answer)
{
	json_t *object = facts_status(shell, NULL);
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

	json_decref(object);
	if (text) {
		evhttp_add_header(answer->headers, "Content-Type", "application/json");
		say(answer, 200, "%s\n", text);
	} else {
		say(answer, 500, "out of memory\n");
	}
	free(text);
}

struct route {
	const char *path;
	void (*answer)(struct shell *shell, struct http_answer *answer);
	bool looks;
};

static const struct route routes[] = {
	{"/live", answer_live, false},
	{"/ready", answer_ready, false},
	{"/status", answer_status, true},
};

static const struct route *find_route(const char *path)
{
	for (size_t i = 0; path && i < sizeof routes / sizeof routes[0]; i++)
		if (strcmp(routes[i].path, path) == 0)
			return &routes[i];
	return NULL;
}

/* ---- the interface ---- */

bool http_answer_pending(const struct shell *shell)
{
	const struct commands_status all = {.only = NULL};

	return commands_status_pending(shell, &all);
}

bool http_answer_looks(struct shell *shell, const char *path)
{
	const struct route *route = find_route(path);
	bool pending = false;

	if (!route || !route->looks || shell->orphan)
		return false;
	for (size_t i = 0; i < shell->contest_count; i++)
		if (peek_start(&shell->contests[i]))
			pending = true;
	return pending;
}

static void answer_path(struct shell *shell, const char *path, struct http_answer *answer)
{
	static const char elections[] = "/elections/";
	const struct route *route = find_route(path);
	const struct election_route *only = path[0] == '/' ? find_election_route(path + 1) : NULL;

	if (route)
		route->answer(shell, answer);
	else if (only)
		answer_only_one(shell, only, answer);
	else if (strncmp(path, elections, sizeof elections - 1) == 0)
		answer_election(shell, path + sizeof elections - 1, answer);
	else
		say(answer, 404, "there is nothing here\n");
}

void http_answer(struct shell *shell, enum evhttp_cmd_type method, const char *path, struct http_answer *answer)
{
	if (shell->orphan) {
		say(answer, 503, "the agent's supervisor is gone\n");
	} else if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD && method != EVHTTP_REQ_OPTIONS) {
		evhttp_add_header(answer->headers, "Allow", "GET, HEAD, OPTIONS");
		say(answer, 405, "this interface only reads\n");
	} else {
		answer_path(shell, path ? path : "", answer);
	}
}
