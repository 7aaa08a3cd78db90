/* The facts for the status, gathered from the parts of the process. */
#include "elector/facts.h"

#include <string.h>
#include <unistd.h>

#include "elector/contest.h"
#include "elector/instant.h"
#include "elector/shell.h"

#define FACTS_FRESH_NS INT64_C(2000000000) /* how old what a look has shown may be */

#ifndef TENURE_VERSION
#define TENURE_VERSION "unknown"
#endif

static bool fresh(int64_t seen_ns, int64_t now_ns)
{
	return seen_ns != 0 && now_ns - seen_ns < FACTS_FRESH_NS;
}

static bool is_ours(const struct contest *c, const struct tenure_incumbent *incumbent)
{
	return incumbent->token != 0 && incumbent->token == c->core.own.czxid &&
	       strcmp(incumbent->member, c->core.config.member) == 0;
}

/* A record under watch is as good as new; any other only shortly after it was read. */
static void record_facts(const struct contest *c, int64_t now_ns, struct status_election *out)
{
	const struct elector *core = &c->core;
	const struct peek *peek = &c->peek;

	out->record_ns = c->kept.read_ns > peek->record_ns ? c->kept.read_ns : peek->record_ns;
	if (core->up && core->outlook.known && core->record_read && core->record_watched) {
		out->incumbent = &core->outlook.incumbent;
		out->gone = core->outlook.gone;
		out->paused = core->outlook.paused;
		out->eligible = core->outlook.eligible;
	} else if (core->up && fresh(peek->record_ns, now_ns)) {
		out->incumbent = &peek->incumbent;
		out->gone = peek->incumbent.token == 0 || peek->incumbent.clean == TENURE_CLEAN_YES ||
			    peek->incumbent.clean == TENURE_CLEAN_FENCED;
		out->paused = peek->paused;
		out->eligible = peek->eligible;
	} else {
		return;
	}
	out->record_known = true;
	out->self = is_ours(c, out->incumbent);
}

/* Whether our term, if there is one, rests on the present session: only then is its lease the term's. */
static bool term_rests(const struct contest *c)
{
	const int64_t token = c->state_known ? c->state.token : 0;

	return token == 0 || (c->core.term == token && !c->core.term_lost);
}

/* First in the queue, and not in office: why. */
static const char *blocked(const struct contest *c)
{
	const struct elector *core = &c->core;

	if (!core->up || !core->own.name[0] || !core->listed || core->view.position != 1 || core->term != 0 ||
	    core->blocker == ELECTOR_CLEAR)
		return NULL;
	if (core->blocker == ELECTOR_BLOCKED_FLOOR && c->floor.broken)
		return "the token floor is damaged, or its disk fails";
	return elector_blocker_name(core->blocker);
}

void facts_election(const struct contest *c, int64_t now_ns, struct status_election *out)
{
	const struct tenure_lease *lease = &c->shell->ensemble.session.lease;
	const struct elector *core = &c->core;

	*out = (struct status_election){
		.member = core->config.member,
		.address = c->config->address,
		.candidate = c->config->candidate,
		.state = c->state_known ? &c->state : NULL,
		.blocked = blocked(c),
		.token_floor = c->floor.seen,
		.in_queue = core->up && core->own.name[0] && core->own_checked,
	};
	record_facts(c, now_ns, out);
	if (core->up && fresh(c->peek.queue_ns, now_ns)) {
		out->position = c->peek.position;
		out->members = c->peek.members;
	}
	if (elector_wants_heartbeats(core) && term_rests(c))
		out->lease_ns = tenure_lease_deadline(lease);
	if (out->lease_ns)
		out->demote_ns = tenure_schedule_for(&c->config->budget, lease->timeout_ns, out->lease_ns).demote_ns;
}

static json_t *agent_json(struct shell *shell, int64_t now_ns)
{
	struct ensemble *e = &shell->ensemble;
	char server[128] = "";
	struct status_agent agent = {
		.member = shell->config->member,
		.version = TENURE_VERSION,
		.pid = shell->upward.supervisor_pid,
		.elector_pid = (int32_t)getpid(),
		.session_state = e->session.state,
		.server = server,
		.session_id = e->session.credentials.id,
		.timeout_ns = e->session.credentials.id ? e->session.lease.timeout_ns : 0,
		.commit_ns = e->commit_ns,
		.reconnects = e->connects ? e->connects - 1 : 0,
	};

	if (e->session.state != SESSION_CONNECTED || port_server(e->port, server, sizeof server) < 0)
		server[0] = '\0';
	return status_agent_json(&agent, now_ns);
}

json_t *facts_status(struct shell *shell, const struct contest *only)
{
	int64_t now_ns = instant_now();
	json_t *object = agent_json(shell, now_ns);
	json_t *elections = json_object_get(object, "elections");

	for (size_t i = 0; object && i < shell->contest_count; i++) {
		struct status_election election;

		if (only && only != &shell->contests[i])
			continue;
		facts_election(&shell->contests[i], now_ns, &election);
		if (json_object_set_new(elections, shell->contests[i].config->name,
					status_election_json(&election, now_ns)) < 0) {
			json_decref(object);
			object = NULL;
		}
	}
	return object;
}
