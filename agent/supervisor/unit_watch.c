/* What runs beside the hooks of one election: its service, and what is asked of it again and again. */
#include <stddef.h>
#include <string.h>

#include "common/log.h"
#include "supervisor/clock.h"
#include "supervisor/unit_internal.h"

/* ---- the service ---- */

static struct unit *unit_of(struct service *service)
{
	return watch_owner(service, struct unit, service);
}

static char **service_environment(struct service *service, int64_t now_ns)
{
	return unit_environment_now(unit_of(service), "service", 0, now_ns);
}

static void mirror_service(struct service *service)
{
	unit_mirror(unit_of(service));
}

static void on_service_gone(struct service *service)
{
	struct role_event e = {.type = ROLE_EV_SERVICE_GONE, .now_ns = clock_now_ns()};

	service->gone = false;
	unit_event(unit_of(service), &e);
}

static const struct service_calls service_calls = {
	.environment = service_environment,
	.mirror = mirror_service,
	.gone = on_service_gone,
};

/* ---- check ---- */

/* Promise S3: beside another hook nothing is asked. A service on its way into office or out of it is not judged. */
static bool may_ask(const struct unit *unit)
{
	return !unit->host->quiet && (unit->role.established || unit->role.adopting) && !unit->role.stopping && unit->role.hook == ROLE_HOOK_NONE;
}

static bool may_check(const struct unit *unit)
{
	switch (unit->role.state) {
	case ROLE_FOLLOWING:
	case ROLE_STANDBY:
	case ROLE_ACTIVE:
	case ROLE_OUT:
		return may_ask(unit);
	default:
		return false;
	}
}

static void tell_health(struct unit *unit)
{
	struct role_event e = {.type = ROLE_EV_HEALTH, .now_ns = clock_now_ns(), .u.healthy = unit->health.healthy};

	unit->stale = true;
	unit_event(unit, &e);
	unit_send_state(unit);
}

static void judge(struct unit *unit, bool healthy)
{
	struct unit_health *health = &unit->health;

	if (health->known && health->healthy == healthy)
		return;
	health->known = true;
	health->healthy = healthy;
	if (healthy)
		log_info(unit->config->name, "healthy", "passes=%lld", (long long)health->passes);
	else
		log_warning(unit->config->name, "not healthy", "failures=%lld", (long long)health->failures);
	tell_health(unit);
}

static const char *on_check(struct probe *probe, bool ok)
{
	struct unit *unit = watch_owner(probe, struct unit, check);
	struct unit_health *health = &unit->health;

	health->passes = ok ? health->passes + 1 : 0;
	health->failures = ok ? 0 : health->failures + 1;
	if (health->passes >= unit->config->check.rise)
		judge(unit, true);
	else if (health->failures >= unit->config->check.fall)
		judge(unit, false);
	return NULL;
}

/* ---- score ---- */

static bool may_score(const struct unit *unit)
{
	return unit->role.config.candidate && (unit->role.state == ROLE_STANDBY || unit->role.state == ROLE_OUT) &&
	       may_ask(unit);
}

static const char *on_score(struct probe *probe, bool ok)
{
	struct unit *unit = watch_owner(probe, struct unit, score);

	unit->has_score = ok && probe_number(probe, &unit->last_score);
	unit->score_seq++;
	unit_send_state(unit);
	return ok && !unit->has_score ? "it does not print one integer" : NULL;
}

/* ---- both ---- */

void unit_watch_spoil(struct unit *unit)
{
	probe_spoil(&unit->check);
	probe_spoil(&unit->score);
	/* Of a standby. What it was then is no news of a leader. */
	if (role_in_office(&unit->role))
		unit->has_score = false;
}

void unit_watch_timer(struct unit *unit, int64_t now_ns)
{
	service_timer(&unit->service, now_ns);
	probe_timer(&unit->check, now_ns);
	probe_timer(&unit->score, now_ns);
	if (probe_due(&unit->check, may_check(unit), now_ns))
		probe_start(&unit->check,
			    unit_environment_now(unit, "check", unit->check.hook->timeout_ns, now_ns), now_ns);
	if (probe_due(&unit->score, may_score(unit), now_ns))
		probe_start(&unit->score,
			    unit_environment_now(unit, "score", unit->score.hook->timeout_ns, now_ns), now_ns);
}

int64_t unit_watch_deadline(const struct unit *unit)
{
	int64_t check_ns = probe_deadline(&unit->check, may_check(unit));
	int64_t score_ns = probe_deadline(&unit->score, may_score(unit));

	return clock_earlier(service_deadline(&unit->service), clock_earlier(check_ns, score_ns));
}

void unit_watch_init(struct unit *unit)
{
	struct process_table *table = &unit->host->processes;
	const char *name = unit->config->name;

	service_init(&unit->service, table, unit->host->state_dir, name, &service_calls);
	probe_init(&unit->check, table, name, "check", false, on_check);
	probe_init(&unit->score, table, name, "score", true, on_score);
}

void unit_watch_configure(struct unit *unit)
{
	const struct config_election *config = unit->config;

	service_configure(&unit->service, config);
	probe_configure(&unit->check, &config->check.hook, config->check.interval_ns, &config->user);
	probe_configure(&unit->score, &config->score.hook, config->score.interval_ns, &config->user);
	if (!config->check.hook.command.words)
		unit->health = (struct unit_health){.known = true, .healthy = true};
	if (!config->score.hook.command.words)
		unit->has_score = false;
}

void unit_watch_close(struct unit *unit)
{
	service_close(&unit->service);
	probe_close(&unit->check);
	probe_close(&unit->score);
}
