/* The hooks of one election that its role core asks for. */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "supervisor/clock.h"
#include "supervisor/descendants.h"
#include "supervisor/environment.h"
#include "supervisor/unit_internal.h"

enum { NOT_NOW_STATUS = 75 }; /* of the gain hook */

/* What is left of the turn for a sweep, when others have used it up. */
static const int64_t kill_least_ns = INT64_C(2000000);

const struct config_hook *unit_hook_config(const struct config_election *config, enum role_hook hook)
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

/* ---- what they are told ---- */

char **unit_environment(const struct unit *unit, const char *name, const struct role_action *action, int64_t limit_ns,
			int64_t now_ns)
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

char **unit_environment_now(const struct unit *unit, const char *name, int64_t limit_ns, int64_t now_ns)
{
	struct role_action as_it_is = {
		.type = ROLE_DO_CHANGED,
		.token = unit->role.token,
		.reason = unit->role.reason,
		.planned = unit->role.planned,
		.state = unit->role.state,
		.old_state = unit->role.state,
	};

	return unit_environment(unit, name, &as_it_is, limit_ns, now_ns);
}

/* ---- their runs ---- */

void unit_run_hook(struct unit *unit, const struct role_action *action, int64_t now_ns)
{
	struct unit_hook *hook = &unit->hooks[action->hook];
	const struct config_hook *config = unit_hook_config(unit->config, action->hook);
	char why[PROCESS_WHY_SIZE] = "no memory", quoted[PROCESS_WHY_SIZE];
	char **environment = unit_environment(unit, role_hook_name(action->hook), action, action->limit_ns, now_ns);
	int rc = -1;

	unit_watch_spoil(unit);
	hook->run = action->run;
	unit_mirror(unit);
	if (environment)
		rc = process_start(&hook->process, config->command.words, environment, &unit->config->user,
				   why);
	free(environment);
	unit_mirror(unit);
	process_release(&hook->process);
	if (rc == 0)
		return;
	log_error(unit->config->name, "hook not started", "hook=%s error=%s", role_hook_name(action->hook),
		  log_quote(why, quoted, sizeof(quoted)));
	unit->unstarted = action->run;
}

void unit_signal_hook(struct unit *unit, enum role_hook hook, int signal_number)
{
	if (hook == ROLE_HOOK_NONE)
		return;
	log_warning(unit->config->name, "signal to hook", "hook=%s signal=%s", role_hook_name(hook),
		    signal_number == SIGKILL ? "KILL" : "TERM");
	process_signal(&unit->hooks[hook].process, signal_number);
}

/* A hook of a standby takes its own group along and no more: the service goes on as a standby's. */
void unit_kill_all(struct unit *unit, enum role_hook hook)
{
	int64_t began_ns = clock_now_ns(), *left_ns = &unit->host->kill_left_ns;
	unsigned killed;

	unit_signal_hook(unit, hook, SIGKILL);
	if (hook == ROLE_HOOK_FOLLOW || hook == ROLE_HOOK_FENCE_PEER)
		return;
	cgroup_kill(&unit->service.cgroup);
	killed = descendants_kill(unit->config->name, *left_ns > kill_least_ns ? *left_ns : kill_least_ns);
	*left_ns -= clock_now_ns() - began_ns;
	if (killed > 0)
		log_warning(unit->config->name, "killed everything of the election", "processes=%u", killed);
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
	unit->stale = true;
	e.u.hook.run = hook->run;
	e.u.hook.ok = result->exit_status == 0;
	e.u.hook.not_now = hook == &unit->hooks[ROLE_HOOK_GAIN] && result->exit_status == NOT_NOW_STATUS;
	unit_event(unit, &e);
	unit_send_state(unit);
}

void unit_hooks_init(struct unit *unit)
{
	for (enum role_hook hook = ROLE_HOOK_GAIN; hook < ROLE_HOOK_COUNT; hook++) {
		unit->hooks[hook].unit = unit;
		process_init(&unit->hooks[hook].process, &unit->host->processes, unit->config->name,
			     role_hook_name(hook), on_hook_done);
		unit->hooks[hook].process.held = true;
	}
}

void unit_hooks_close(struct unit *unit)
{
	for (enum role_hook hook = ROLE_HOOK_GAIN; hook < ROLE_HOOK_COUNT; hook++)
		process_close(&unit->hooks[hook].process);
}
