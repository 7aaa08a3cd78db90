/* One election on this member. */
#include "supervisor/unit.h"

#include <assert.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "supervisor/clock.h"
#include "supervisor/descendants.h"
#include "supervisor/environment.h"
#include "supervisor/panic.h"

enum {
	NOT_NOW_STATUS = 75, /* of the gain hook */
	TIMER_STEPS = 4,     /* points of the schedule that one look at the clock may pass */
	UNSTARTED_STEPS =
		8, /* hooks in a row that cannot be started: each failure asks for at most one more */
};

/* What is left of the turn for a sweep, when others have used it up. */
static const int64_t kill_least_ns = INT64_C(2000000);

static void event(struct unit *unit, const struct role_event *e);

static const struct config_hook *hook_config(const struct config_election *config, enum role_hook hook)
{
	switch (hook) {
	case ROLE_HOOK_GAIN:
		return &config->gain;
	case ROLE_HOOK_LOSE:
		return &config->lose;
	case ROLE_HOOK_FENCE:
		return &config->fence;
	case ROLE_HOOK_FOLLOW:
		return &config->follow;
	case ROLE_HOOK_FENCE_PEER:
		return &config->fence_peer;
	default:
		return NULL;
	}
}

static struct role_config role_settings(const struct config_election *config, bool floor)
{
	struct role_config settings = {
		.candidate = config->candidate,
		.gain_ns = config->gain.timeout_ns,
		.handoff_ns = config->handoff_timeout_ns,
		.follow_ns = config->follow.timeout_ns,
		.fence_peer_ns = config->fence_peer.timeout_ns,
		.floor = floor,
		.backoff_ns = config->backoff_ns,
		.backoff_max_ns = config->backoff_max_ns,
		.budget = config->budget,
	};

	for (enum role_hook hook = ROLE_HOOK_GAIN; hook < ROLE_HOOK_COUNT; hook++)
		settings.has[hook] = hook_config(config, hook)->command.words != NULL;
	return settings;
}

/* ---- what hooks and the elector are told ---- */

static char **environment_for(const struct unit *unit, const char *name, const struct role_action *action,
			      int64_t limit_ns, int64_t now_ns)
{
	const struct config_election *config = unit->config;
	bool led = unit->leader_known && !unit->leader_gone;
	struct environment_input in = {
		.event = name,
		.election = config->name,
		.member = unit->host->member,
		.address = config->address ? config->address : "",
		.state = role_state_name(action->state),
		.old_state = role_state_name(action->old_state),
		/* Before our term it is the one that we are going to lead by. */
		.token = action->type == ROLE_DO_RUN && action->hook == ROLE_HOOK_FENCE_PEER ? unit->czxid
											     : action->token,
		.reason = action->reason,
		.planned = action->planned,
		.leader = led ? unit->leader.member : "",
		.leader_address = led ? unit->leader.address : "",
		.previous = unit->has_previous ? &unit->previous : NULL,
		.deadline_ns = role_lease_deadline(&unit->role),
		.now_ns = now_ns,
		.timeout_ns = limit_ns,
		.transition = unit->role.transitions,
		.user = &config->user,
		.extra = config->env,
	};

	return environment_build(&in);
}

static void send(struct unit *unit, enum message_type type, int64_t token)
{
	struct message m = {.type = type, .election = unit->index, .token = token};

	unit->host->send(unit->host, &m);
}

static void send_state(struct unit *unit)
{
	struct message m = {
		.type = MESSAGE_STATE,
		.election = unit->index,
		.token = unit->role.token,
		.reason = unit->role.reason,
	};

	m.u.state.state = unit->role.state;
	m.u.state.since_ms = unit->since_ms;
	m.u.state.demoted_token = unit->demoted_token;
	m.u.state.transitions = unit->role.transitions;
	m.u.state.recovers = unit->recovers;
	m.u.state.healthy = true;
	m.u.state.last_hook = unit->last_hook;
	unit->host->send(unit->host, &m);
}

static void send_floor(struct unit *unit)
{
	struct message m = {.type = MESSAGE_FLOOR, .election = unit->index};

	m.u.floor.seen = unit->floor.seen;
	m.u.floor.durable = unit->floor.durable;
	m.u.floor.broken = unit->floor.broken || unit->floor.failing;
	unit->host->send(unit->host, &m);
}

static void send_peer_fenced(struct unit *unit, const struct role_action *action)
{
	struct message m = {.type = MESSAGE_PEER_FENCED, .election = unit->index, .token = action->token};

	m.u.fenced.ok = action->ok;
	unit->host->send(unit->host, &m);
}

static void log_change(const struct unit *unit, const struct role_action *action, int64_t now_ns)
{
	enum log_level level = action->state == ROLE_PANIC ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO;
	int64_t deadline_ns = role_lease_deadline(&unit->role);
	char token[32] = "", lease[48] = "";

	if (action->token != 0)
		snprintf(token, sizeof(token), " token=%lld", (long long)action->token);
	if (deadline_ns > 0)
		snprintf(lease, sizeof(lease), " lease_ms=%lld",
			 (long long)((deadline_ns - now_ns) / TENURE_NS_PER_MS));
	log_line(level, unit->config->name, "state changed", "state=%s old=%s%s reason=%s%s",
		 role_state_name(action->state), role_state_name(action->old_state), token,
		 tenure_reason_name(action->reason), lease);
}

static void changed(struct unit *unit, const struct role_action *action, int64_t now_ns)
{
	unit->since_ms = clock_wall_ms();
	unit->host->changed = true;
	log_change(unit, action, now_ns);
	send_state(unit);
	if (unit->config->notify.command.words)
		notifier_tell(&unit->notifier, environment_for(unit, "notify", action,
							       unit->config->notify.timeout_ns, now_ns));
}

/* ---- the role core's actions ---- */

static void run_hook(struct unit *unit, const struct role_action *action, int64_t now_ns)
{
	struct unit_hook *hook = &unit->hooks[action->hook];
	const struct config_hook *config = hook_config(unit->config, action->hook);
	char why[PROCESS_WHY_SIZE] = "no memory", quoted[PROCESS_WHY_SIZE];
	char **environment =
		environment_for(unit, role_hook_name(action->hook), action, action->limit_ns, now_ns);
	int rc = -1;

	hook->run = action->run;
	if (environment)
		rc = process_start(&hook->process, config->command.words, environment, &unit->config->user,
				   why);
	free(environment);
	if (rc == 0)
		return;
	log_error(unit->config->name, "hook not started", "hook=%s error=%s", role_hook_name(action->hook),
		  log_quote(why, quoted, sizeof(quoted)));
	unit->unstarted = action->run;
}

static void signal_hook(struct unit *unit, enum role_hook hook, int signal_number)
{
	if (hook == ROLE_HOOK_NONE)
		return;
	log_warning(unit->config->name, "signal to hook", "hook=%s signal=%s", role_hook_name(hook),
		    signal_number == SIGKILL ? "KILL" : "TERM");
	process_signal(&unit->hooks[hook].process, signal_number);
}

/* A hook of a standby takes its own group along and no more: the service goes on as a standby's. */
static void kill_all(struct unit *unit, enum role_hook hook)
{
	int64_t began_ns = clock_now_ns(), *left_ns = &unit->host->kill_left_ns;
	unsigned killed;

	signal_hook(unit, hook, SIGKILL);
	if (hook == ROLE_HOOK_FOLLOW || hook == ROLE_HOOK_FENCE_PEER)
		return;
	killed = descendants_kill(unit->config->name, *left_ns > kill_least_ns ? *left_ns : kill_least_ns);
	*left_ns -= clock_now_ns() - began_ns;
	if (killed > 0)
		log_warning(unit->config->name, "killed everything of the election", "processes=%u", killed);
}

static void leave(struct unit *unit, enum message_type type, int64_t token)
{
	unit->leaving = true;
	unit->giving_up = type == MESSAGE_GIVE_UP ? token : 0;
	if (type == MESSAGE_GIVE_UP)
		unit->demoted_token = token;
	send(unit, type, token);
}

static void perform(struct unit *unit, const struct role_action *action, int64_t now_ns)
{
	switch (action->type) {
	case ROLE_DO_RUN:
		run_hook(unit, action, now_ns);
		break;
	case ROLE_DO_TERM:
		signal_hook(unit, action->hook, SIGTERM);
		break;
	case ROLE_DO_KILL:
		kill_all(unit, action->hook);
		break;
	case ROLE_DO_STAND:
		send(unit, MESSAGE_STAND, 0);
		break;
	case ROLE_DO_RETIRE:
		leave(unit, MESSAGE_RETIRE, 0);
		break;
	case ROLE_DO_CONFIRM:
		send(unit, MESSAGE_CONFIRM, action->token);
		break;
	case ROLE_DO_GIVE_UP:
		leave(unit, MESSAGE_GIVE_UP, action->token);
		break;
	case ROLE_DO_CHANGED:
		changed(unit, action, now_ns);
		break;
	case ROLE_DO_PEER_FENCED:
		send_peer_fenced(unit, action);
		break;
	case ROLE_DO_ON_PANIC:
		if (panic_act(unit->config))
			unit->host->exit_on_panic = true;
		break;
	}
}

static void step(struct unit *unit, const struct role_event *e)
{
	struct role_update update = {.count = 0};

	role_step(&unit->role, e, &update);
	for (unsigned i = 0; i < update.count; i++)
		perform(unit, &update.actions[i], e->now_ns);
}

/* Every event goes through here. A hook that could not be started has failed: told afterwards, as an event of
 * its own. */
static void event(struct unit *unit, const struct role_event *e)
{
	int64_t token = unit->role.token;

	step(unit, e);
	for (int i = 0; i < UNSTARTED_STEPS && unit->unstarted != 0; i++) {
		struct role_event failed = {.type = ROLE_EV_HOOK_DONE, .now_ns = e->now_ns};

		failed.u.hook.run = unit->unstarted;
		unit->unstarted = 0;
		step(unit, &failed);
	}
	notifier_advance(&unit->notifier, e->now_ns);
	if (token != 0 && token != unit->role.token)
		floor_saw(&unit->floor, token, e->now_ns); /* our own term is over */
}

static void note_hook(struct unit *unit, const char *name, const struct process_result *result)
{
	struct message_hook *last = &unit->last_hook;

	snprintf(last->name, sizeof(last->name), "%s", name);
	last->exit_status = result->exit_status;
	last->signal = result->signal;
	last->timed_out = result->signalled;
	last->duration_ms = result->duration_ns / TENURE_NS_PER_MS;
	last->at_ms = clock_wall_ms();
}

static void on_hook_done(struct process *process, const struct process_result *result)
{
	struct unit_hook *hook = watch_owner(process, struct unit_hook, process);
	struct unit *unit = hook->unit;
	struct role_event e = {.type = ROLE_EV_HOOK_DONE, .now_ns = clock_now_ns()};
	long long ms = result->duration_ns / TENURE_NS_PER_MS;
	char quoted[PROCESS_WHY_SIZE];

	if (result->exit_status == 0)
		log_info(unit->config->name, "hook succeeded", "hook=%s ms=%lld", process->hook, ms);
	else
		log_warning(unit->config->name, "hook failed", "hook=%s ms=%lld error=%s", process->hook, ms,
			    log_quote(result->why, quoted, sizeof(quoted)));
	note_hook(unit, process->hook, result);
	e.u.hook.run = hook->run;
	e.u.hook.ok = result->exit_status == 0;
	e.u.hook.not_now = hook == &unit->hooks[ROLE_HOOK_GAIN] && result->exit_status == NOT_NOW_STATUS;
	event(unit, &e);
	send_state(unit);
}

/* ---- the token floor ---- */

static void tell_floor(struct unit *unit, int64_t now_ns)
{
	struct role_event e = {.type = ROLE_EV_FLOOR, .now_ns = now_ns};

	e.u.floor.seen = unit->floor.seen;
	e.u.floor.durable = unit->floor.durable;
	event(unit, &e);
}

static void on_floor_changed(struct floor *floor)
{
	struct unit *unit = watch_owner(floor, struct unit, floor);

	tell_floor(unit, clock_now_ns());
	send_floor(unit);
}

/* Somebody leads, or has led. Our present candidate's own token is not what it has to be above. */
static void saw(struct unit *unit, int64_t token, int64_t now_ns)
{
	if (token != unit->czxid && token != unit->role.token)
		floor_saw(&unit->floor, token, now_ns);
}

void unit_read_floor(struct unit *unit)
{
	floor_read(&unit->floor);
}

void unit_adopt_floor(struct unit *unit, const struct unit *former)
{
	floor_adopt(&unit->floor, &former->floor);
}

/* ---- life ---- */

struct unit *unit_new(struct unit_host *host, uint32_t index, const struct config_election *config)
{
	struct unit *unit = calloc(1, sizeof(*unit));
	struct role_config settings = role_settings(config, host->data_dir[0] != '\0');

	if (!unit)
		return NULL;
	if (floor_init(&unit->floor, &host->processes, host->data_dir, config->name, on_floor_changed) < 0) {
		free(unit);
		return NULL;
	}
	unit->host = host;
	unit->since_ms = clock_wall_ms();
	role_init(&unit->role, &settings);
	for (enum role_hook hook = ROLE_HOOK_GAIN; hook < ROLE_HOOK_COUNT; hook++) {
		unit->hooks[hook].unit = unit;
		process_init(&unit->hooks[hook].process, &host->processes, config->name, role_hook_name(hook),
			     on_hook_done);
	}
	notifier_init(&unit->notifier, &host->processes, config->name);
	unit_adopt_config(unit, index, config);
	return unit;
}

void unit_free(struct unit *unit)
{
	if (!unit)
		return;
	for (enum role_hook hook = ROLE_HOOK_GAIN; hook < ROLE_HOOK_COUNT; hook++)
		process_close(&unit->hooks[hook].process);
	notifier_close(&unit->notifier);
	floor_close(&unit->floor);
	free(unit);
}

void unit_begin(struct unit *unit, bool skip_lose, int64_t now_ns)
{
	struct role_event e = {.type = ROLE_EV_BEGIN, .now_ns = now_ns};

	e.u.skip_lose = skip_lose;
	event(unit, &e);
	tell_floor(unit, now_ns);
}

void unit_stop(struct unit *unit, bool force, int64_t now_ns)
{
	struct role_event e = {.type = ROLE_EV_STOP, .now_ns = now_ns};

	e.u.force = force;
	event(unit, &e);
}

void unit_adopt_config(struct unit *unit, uint32_t index, const struct config_election *config)
{
	unit->index = index;
	unit->config = config;
	unit->role.config = role_settings(config, unit->floor.path != NULL);
	notifier_configure(&unit->notifier, &config->notify, &config->user);
}

/* ---- the elector's messages ---- */

void unit_lease(struct unit *unit, int64_t start_ns, int64_t timeout_ns, int64_t now_ns)
{
	struct role_event e = {.type = ROLE_EV_LEASE, .now_ns = now_ns};

	e.u.lease.start_ns = start_ns;
	e.u.lease.timeout_ns = timeout_ns;
	event(unit, &e);
}

void unit_session_over(struct unit *unit, int64_t now_ns)
{
	struct role_event e = {.type = ROLE_EV_LOST, .now_ns = now_ns};

	unit->candidate[0] = '\0';
	unit->czxid = 0;
	e.u.end.token = unit->role.token;
	e.u.end.reason = TENURE_REASON_SESSION;
	event(unit, &e);
}

static void on_lead(struct unit *unit, const struct message *m, int64_t timeout_ns, int64_t now_ns)
{
	struct role_event e = {.type = ROLE_EV_LEAD, .now_ns = now_ns};
	bool credible = m->u.lead.lease_start_ns <= now_ns && m->u.lead.lease_timeout_ns <= timeout_ns;

	/* With a lease that cannot be believed nothing is proven, and the role core gives the office back. */
	if (!credible)
		log_error(unit->config->name, "a lease that cannot be true is not believed", "token=%lld",
			  (long long)m->token);
	e.u.lead.token = m->token;
	e.u.lead.reason = m->reason;
	e.u.lead.lease_start_ns = credible ? m->u.lead.lease_start_ns : 0;
	e.u.lead.lease_timeout_ns = credible ? m->u.lead.lease_timeout_ns : 0;
	if (!role_in_office(&unit->role)) {
		unit->previous = m->u.lead.previous;
		unit->has_previous = true;
	}
	event(unit, &e);
}

static void on_leader(struct unit *unit, const struct message *m, int64_t now_ns)
{
	struct role_event e = {.type = ROLE_EV_LEADER, .now_ns = now_ns};

	unit->leader_known = m->u.leader.known;
	unit->leader_gone = m->u.leader.gone;
	unit->leader = m->u.leader.incumbent;
	if (!m->u.leader.known)
		return;
	e.u.leader.token = m->u.leader.incumbent.token;
	e.u.leader.active = m->u.leader.incumbent.phase == TENURE_PHASE_ACTIVE && !m->u.leader.gone;
	e.u.leader.gone = m->u.leader.gone;
	e.u.leader.self = m->u.leader.self;
	event(unit, &e);
	saw(unit, m->u.leader.incumbent.token, now_ns);
}

static void on_candidate(struct unit *unit, const struct message *m, int64_t now_ns)
{
	memcpy(unit->candidate, m->u.restore.name, sizeof(unit->candidate));
	unit->czxid = m->u.restore.czxid;
	if (unit->czxid != 0)
		floor_want(&unit->floor, unit->czxid, now_ns);
}

static void on_fence_peer(struct unit *unit, const struct message *m, int64_t now_ns)
{
	struct role_event e = {.type = ROLE_EV_FENCE_PEER, .now_ns = now_ns};

	e.u.fence_peer.token = m->u.peer.incumbent.token;
	e.u.fence_peer.wanted = m->u.peer.wanted;
	if (m->u.peer.wanted && !role_in_office(&unit->role)) {
		unit->previous = m->u.peer.incumbent;
		unit->has_previous = true;
	}
	event(unit, &e);
}

static void on_end(struct unit *unit, enum role_event_type type, const struct message *m, int64_t now_ns)
{
	struct role_event e = {.type = type, .now_ns = now_ns};

	e.u.end.token = m->token;
	e.u.end.reason = m->reason;
	event(unit, &e);
}

void unit_message(struct unit *unit, const struct message *m, int64_t timeout_ns, int64_t now_ns)
{
	struct role_event left = {.type = ROLE_EV_LEFT, .now_ns = now_ns};
	struct role_event recover = {.type = ROLE_EV_RECOVER, .now_ns = now_ns};

	switch (m->type) {
	case MESSAGE_CANDIDATE:
		on_candidate(unit, m, now_ns);
		break;
	case MESSAGE_LEAD:
		if (m->token > 0)
			on_lead(unit, m, timeout_ns, now_ns);
		break;
	case MESSAGE_LOST:
		on_end(unit, ROLE_EV_LOST, m, now_ns);
		break;
	case MESSAGE_LEAVE:
		on_end(unit, ROLE_EV_LEAVE, m, now_ns);
		break;
	case MESSAGE_LEFT:
		unit->leaving = false;
		unit->giving_up = 0;
		event(unit, &left);
		break;
	case MESSAGE_LEADER:
		on_leader(unit, m, now_ns);
		break;
	case MESSAGE_FENCE_PEER:
		on_fence_peer(unit, m, now_ns);
		break;
	case MESSAGE_RECOVER:
		unit->recovers++;
		event(unit, &recover);
		send_state(unit);
		break;
	case MESSAGE_FORGET_FLOOR:
		floor_forget(&unit->floor, now_ns);
		break;
	default:
		break;
	}
}

void unit_restore(struct unit *unit)
{
	struct message m = {.type = MESSAGE_RESTORE, .election = unit->index};

	if (unit->candidate[0] == '\0')
		return;
	memcpy(m.u.restore.name, unit->candidate, sizeof(unit->candidate));
	m.u.restore.czxid = unit->czxid;
	m.u.restore.told = role_in_office(&unit->role) && unit->role.token == unit->czxid;
	unit->host->send(unit->host, &m);
}

/* In office by a candidate that is gone, nobody may join by another before the service is out of office. */
static bool stands(const struct unit *unit)
{
	return unit->role.standing && (!role_in_office(&unit->role) || unit->role.token == unit->czxid);
}

void unit_repeat(struct unit *unit)
{
	send_floor(unit);
	/* In the order in which they were said: leaving ends the standing before it. */
	if (unit->giving_up != 0)
		send(unit, MESSAGE_GIVE_UP, unit->giving_up);
	else if (unit->leaving || (!stands(unit) && unit->candidate[0] != '\0'))
		send(unit, MESSAGE_RETIRE, 0);
	if (stands(unit))
		send(unit, MESSAGE_STAND, 0);
	if (unit->role.state == ROLE_ACTIVE)
		send(unit, MESSAGE_CONFIRM, unit->role.token);
	send_state(unit);
}

/* ---- the clock ---- */

void unit_timer(struct unit *unit, int64_t now_ns)
{
	struct role_event e = {.type = ROLE_EV_TIMER, .now_ns = now_ns};

	for (int i = 0; i < TIMER_STEPS && role_deadline(&unit->role) <= now_ns; i++)
		event(unit, &e);
	notifier_timer(&unit->notifier, now_ns);
	floor_timer(&unit->floor, now_ns);
}

int64_t unit_deadline(const struct unit *unit)
{
	int64_t first_ns = clock_earlier(role_deadline(&unit->role), notifier_deadline(&unit->notifier));

	return clock_earlier(first_ns, floor_deadline(&unit->floor));
}

int64_t unit_office_deadline(const struct unit *unit)
{
	return role_in_office(&unit->role) ? role_lease_deadline(&unit->role) : CLOCK_NEVER;
}
