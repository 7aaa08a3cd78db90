/* One election on this member: its life, and how events reach its role core. */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "supervisor/clock.h"
#include "supervisor/panic.h"
#include "supervisor/state_dir.h"
#include "supervisor/unit_internal.h"

enum {
	TIMER_STEPS = 4, /* points of the schedule that one look at the clock may pass */
	FAILED_STEPS = 8, /* things in a row that cannot be started: each failure asks for at most one more */
};

static struct role_config role_settings(const struct config_election *config, bool floor)
{
	struct role_config settings = {
		.candidate = config->candidate,
		.gain_ns = config->gain.timeout_ns,
		.handoff_ns = config->handoff_timeout_ns,
		.follow_ns = config->follow.timeout_ns,
		.fence_peer_ns = config->fence_peer.timeout_ns,
		.service = config->service.command.words != NULL,
		.check = config->check.hook.command.words != NULL,
		.floor = floor,
		.backoff_ns = config->backoff_ns,
		.backoff_max_ns = config->backoff_max_ns,
		.budget = config->budget,
	};

	for (enum role_hook hook = ROLE_HOOK_GAIN; hook < ROLE_HOOK_COUNT; hook++)
		settings.has[hook] = unit_hook_config(config, hook)->command.words != NULL;
	return settings;
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
	unit_watch_spoil(unit);
	unit_send_state(unit);
	if (unit->config->notify.command.words)
		notifier_tell(&unit->notifier, unit_environment(unit, "notify", action,
								unit->config->notify.timeout_ns, now_ns));
}

/* ---- the role core's actions ---- */

static void perform(struct unit *unit, const struct role_action *action, int64_t now_ns)
{
	switch (action->type) {
	case ROLE_DO_RUN:
		unit_run_hook(unit, action, now_ns);
		break;
	case ROLE_DO_TERM:
		unit_signal_hook(unit, action->hook, SIGTERM);
		break;
	case ROLE_DO_KILL:
		unit_kill_all(unit, action->hook);
		break;
	case ROLE_DO_STAND:
		unit_send(unit, MESSAGE_STAND, 0);
		break;
	case ROLE_DO_RETIRE:
		unit_leave(unit, MESSAGE_RETIRE, 0);
		break;
	case ROLE_DO_CONFIRM:
		unit_send(unit, MESSAGE_CONFIRM, action->token);
		break;
	case ROLE_DO_GIVE_UP:
		unit_leave(unit, MESSAGE_GIVE_UP, action->token);
		break;
	case ROLE_DO_CHANGED:
		changed(unit, action, now_ns);
		break;
	case ROLE_DO_PEER_FENCED:
		unit_send_peer_fenced(unit, action->token, action->ok);
		break;
	case ROLE_DO_SERVICE_START:
		service_start(&unit->service, now_ns);
		break;
	case ROLE_DO_SERVICE_TERM:
		service_stop(&unit->service, now_ns);
		break;
	case ROLE_DO_SERVICE_KILL:
		service_kill(&unit->service, now_ns);
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
	unit->stale = unit->stale || update.count > 0;
	if (unit->role.established)
		unit->left = 0;
	for (unsigned i = 0; i < update.count; i++)
		perform(unit, &update.actions[i], e->now_ns);
}

/* What could not be started, or was gone at once, is told afterwards, as an event of its own. */
static bool step_failed(struct unit *unit, int64_t now_ns)
{
	struct role_event e = {.now_ns = now_ns};

	if (unit->unstarted != 0) {
		e.type = ROLE_EV_HOOK_DONE;
		e.u.hook.run = unit->unstarted;
		unit->unstarted = 0;
	} else if (unit->service.gone) {
		e.type = ROLE_EV_SERVICE_GONE;
		unit->service.gone = false;
	} else {
		return false;
	}
	step(unit, &e);
	return true;
}

void unit_mirror(struct unit *unit)
{
	unit->stale = false;
	if (unit->host->mirror)
		unit->host->mirror(unit->host, unit);
}

/* After all that an event has brought about. */
static void settle(struct unit *unit, int64_t now_ns)
{
	for (int i = 0; i < FAILED_STEPS && step_failed(unit, now_ns); i++)
		;
	if (unit->stale)
		unit_mirror(unit);
	notifier_advance(&unit->notifier, now_ns);
}

void unit_event(struct unit *unit, const struct role_event *e)
{
	int64_t token = unit->role.token;

	step(unit, e);
	settle(unit, e->now_ns);
	if (token != 0 && token != unit->role.token)
		floor_saw(&unit->floor, token, e->now_ns); /* our own term is over */
}

/* ---- the token floor ---- */

static void tell_floor(struct unit *unit, int64_t now_ns)
{
	struct role_event e = {.type = ROLE_EV_FLOOR, .now_ns = now_ns};

	e.u.floor.seen = unit->floor.seen;
	e.u.floor.durable = unit->floor.durable;
	unit_event(unit, &e);
}

static void on_floor_changed(struct floor *floor)
{
	struct unit *unit = watch_owner(floor, struct unit, floor);

	tell_floor(unit, clock_now_ns());
	unit_send_floor(unit);
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

static void configure(struct unit *unit, uint32_t index, const struct config_election *config)
{
	unit->index = index;
	unit->config = config;
	unit->role.config = role_settings(config, unit->floor.path != NULL);
	notifier_configure(&unit->notifier, &config->notify, &config->user);
	unit_watch_configure(unit);
}

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
	unit->config = config;
	unit->since_ms = clock_wall_ms();
	role_init(&unit->role, &settings);
	unit_hooks_init(unit);
	unit_watch_init(unit);
	notifier_init(&unit->notifier, &host->processes, config->name);
	configure(unit, index, config);
	return unit;
}

void unit_free(struct unit *unit)
{
	if (!unit)
		return;
	unit_hooks_close(unit);
	unit_watch_close(unit);
	notifier_close(&unit->notifier);
	floor_close(&unit->floor);
	free(unit);
}

void unit_begin(struct unit *unit, enum role_beginning how, int64_t token, int64_t now_ns)
{
	struct role_event e = {.type = ROLE_EV_BEGIN, .now_ns = now_ns};

	if (how == ROLE_BEGIN_LOSE)
		service_end_left(&unit->service);
	unit->left = how == ROLE_BEGIN_LOSE ? token : 0;
	e.u.begin.how = how;
	e.u.begin.token = token;
	e.u.begin.adopt_by_ns = now_ns + unit->host->session_timeout_ns;
	unit_event(unit, &e);
	tell_floor(unit, now_ns);
}

/* A pid that was another's meanwhile is no longer of the same start. */
static bool resume_service(struct unit *unit, const struct saved_process *service, int64_t now_ns)
{
	if (service->pid != 0 && state_dir_start_of(service->pid) != service->start)
		return false;
	return service_resume(&unit->service, service->pid, now_ns);
}

bool unit_resume(struct unit *unit, const struct role_saved *saved, const struct saved_process *service,
		 int64_t now_ns)
{
	struct role resumed = unit->role;

	if (!role_resume(&resumed, saved))
		return false;
	if (saved->service && !resume_service(unit, service, now_ns))
		return false;
	unit->role = resumed;
	if (unit->config->check.hook.command.words)
		unit->health = (struct unit_health){.known = saved->healthy, .healthy = saved->healthy};
	unit->stale = true;
	tell_floor(unit, now_ns);
	return true;
}

bool unit_at_rest(const struct unit *unit)
{
	struct role_saved saved;

	role_save(&unit->role, &saved);
	return saved.at_rest && unit->service.phase != SERVICE_CLEARING && !process_running(&unit->check.process) &&
	       !process_running(&unit->score.process) && !process_running(&unit->floor.process) &&
	       !notifier_busy(&unit->notifier);
}

void unit_stop(struct unit *unit, bool force, int64_t now_ns)
{
	struct role_event e = {.type = ROLE_EV_STOP, .now_ns = now_ns};

	e.u.force = force;
	unit_event(unit, &e);
}

void unit_adopt_config(struct unit *unit, uint32_t index, const struct config_election *config)
{
	struct role_event e = {.type = ROLE_EV_HEALTH, .now_ns = clock_now_ns()};

	configure(unit, index, config);
	/* With a new check nobody is ill before it has said so. */
	e.u.healthy = unit->health.healthy;
	unit_event(unit, &e);
}

/* ---- the clock ---- */

void unit_timer(struct unit *unit, int64_t now_ns)
{
	struct role_event e = {.type = ROLE_EV_TIMER, .now_ns = now_ns};

	for (int i = 0; i < TIMER_STEPS && role_deadline(&unit->role) <= now_ns; i++)
		unit_event(unit, &e);
	unit_watch_timer(unit, now_ns);
	notifier_timer(&unit->notifier, now_ns);
	floor_timer(&unit->floor, now_ns);
}

int64_t unit_deadline(const struct unit *unit)
{
	int64_t first_ns = clock_earlier(role_deadline(&unit->role), notifier_deadline(&unit->notifier));

	first_ns = clock_earlier(first_ns, unit_watch_deadline(unit));
	return clock_earlier(first_ns, floor_deadline(&unit->floor));
}

int64_t unit_office_deadline(const struct unit *unit)
{
	return role_in_office(&unit->role) ? role_lease_deadline(&unit->role) : CLOCK_NEVER;
}
