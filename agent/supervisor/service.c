/* The command that an election runs while in office. See service.h. */
#include "supervisor/service.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "supervisor/clock.h"
#include "supervisor/descendants.h"
#include "tenure/lease.h"

enum {
	DELAY_DOUBLINGS = 4,
	UNSURE_LOOKS = 5,
	LEFT_LOOKS = 100,
	LEFT_PAUSE_MS = 5,
};

static const int64_t delay_ns = INT64_C(1000000000); /* before the first restart in a row; doubled for each more */
static const int64_t settled_ns = INT64_C(60000000000); /* a life this long makes up for ends before it */
static const int64_t first_pause_ns = INT64_C(5000000);
static const int64_t unsure_pause_ns = INT64_C(1000000);
static const int64_t longest_pause_ns = INT64_C(200000000);
static const int64_t sweep_limit_ns = INT64_C(50000000);

static void on_done(struct process *process, const struct process_result *result);

static const char *name_of(const struct service *service)
{
	return service->process.election;
}

void service_init(struct service *service, struct process_table *table, const char *state_dir,
		  const char *election, const struct service_calls *calls)
{
	memset(service, 0, sizeof(*service));
	process_init(&service->process, table, election, "service", on_done);
	service->process.inherits_output = service->process.held = true;
	service->calls = calls;
	service->due_ns = CLOCK_NEVER;
	service->has_cgroup = state_dir != NULL;
	cgroup_init(&service->cgroup, state_dir ? state_dir : "", election);
}

void service_configure(struct service *service, const struct config_election *config)
{
	service->config = config;
}

/* ---- its end ---- */

static int64_t restart_delay(unsigned restarts)
{
	return delay_ns << (restarts < DELAY_DOUBLINGS ? restarts : DELAY_DOUBLINGS);
}

/* Nothing of it is left. */
static void cleared(struct service *service, int64_t now_ns)
{
	const struct config_service *config = &service->config->service;
	bool again = !service->stopping && config->on_exit == CONFIG_EXIT_RESTART &&
		     service->restarts < config->restart_limit;

	service->killing = false;
	if (again) {
		int64_t wait_ns = restart_delay(service->restarts++);

		service->phase = SERVICE_WAITING;
		service->due_ns = now_ns + wait_ns;
		log_info(name_of(service), "service is started again", "restart=%u limit=%lld delay_ms=%lld",
			 service->restarts, (long long)config->restart_limit, (long long)(wait_ns / TENURE_NS_PER_MS));
		return;
	}
	cgroup_remove(&service->cgroup);
	service->phase = SERVICE_NONE;
	service->due_ns = CLOCK_NEVER;
	service->restarts = 0;
	service->gone = true;
}

/*
 * Kills whatever is there, and does not wait for it. Once the first process is reaped its number names its session
 * only as long as nobody else has it. Returns whether nothing is left. What cannot be seen for so long is not just
 * being executed: it stays like that, and is another's.
 */
static bool sweep(struct service *service)
{
	bool reused = !process_running(&service->process) && service->session != 0 &&
		      (kill(service->session, 0) == 0 || errno != ESRCH);
	enum descendants_left left;

	cgroup_kill(&service->cgroup);
	left = descendants_sweep_service(name_of(service), reused ? 0 : service->session, sweep_limit_ns);
	service->unsure = left == DESCENDANTS_UNSURE ? service->unsure + 1 : 0;
	return left != DESCENDANTS_SOME && (service->unsure == 0 || service->unsure >= UNSURE_LOOKS) &&
	       !cgroup_populated(&service->cgroup);
}

static void look_again(struct service *service, int64_t now_ns)
{
	if (service->unsure > 0) {
		service->due_ns = now_ns + unsure_pause_ns;
		return;
	}
	service->due_ns = now_ns + service->pause_ns;
	service->pause_ns = 2 * service->pause_ns < longest_pause_ns ? 2 * service->pause_ns : longest_pause_ns;
}

static void clear(struct service *service, int64_t now_ns)
{
	if (sweep(service))
		cleared(service, now_ns);
	else
		look_again(service, now_ns);
}

/* Its first process is no more. */
static void ended(struct service *service, int64_t now_ns)
{
	service->phase = SERVICE_CLEARING;
	service->pause_ns = first_pause_ns;
	service->unsure = 0;
	clear(service, now_ns);
}

static void on_done(struct process *process, const struct process_result *result)
{
	struct service *service = watch_owner(process, struct service, process);
	long long ms = result->duration_ns / TENURE_NS_PER_MS;
	char quoted[PROCESS_WHY_SIZE];

	log_line(service->stopping ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, name_of(service),
		 service->stopping ? "service stopped" : "service ended by itself", "ms=%lld end=%s", ms,
		 log_quote(result->why, quoted, sizeof(quoted)));
	if (result->duration_ns >= settled_ns)
		service->restarts = 0;
	ended(service, clock_now_ns());
	service->calls->mirror(service);
	if (service->gone)
		service->calls->gone(service);
}

/* ---- its start ---- */

static int join_fd(struct service *service)
{
	int rc = service->has_cgroup ? cgroup_open(&service->cgroup, true) : -ENOTSUP;

	if (rc == 0)
		rc = cgroup_join_fd(&service->cgroup);
	if (rc < 0 && service->has_cgroup && !service->cgroup_missed)
		log_info(name_of(service), "no control group for the service: its processes are found one by one",
			 "error=\"%s\"", strerror(-rc));
	service->cgroup_missed = rc < 0;
	return rc < 0 ? -1 : rc;
}

static void launch(struct service *service, int64_t now_ns)
{
	char why[PROCESS_WHY_SIZE] = "no memory", quoted[PROCESS_WHY_SIZE];
	char **environment = service->calls->environment(service, now_ns);
	int rc = -ENOMEM;

	service->calls->mirror(service);
	service->process.join_fd = join_fd(service);
	if (environment)
		rc = process_start(&service->process, service->config->service.command.words, environment,
				   &service->config->user, why);
	if (service->process.join_fd >= 0)
		close(service->process.join_fd);
	service->process.join_fd = -1;
	free(environment);
	if (rc < 0) {
		log_error(name_of(service), "service not started", "error=%s", log_quote(why, quoted, sizeof(quoted)));
		service->session = 0;
		ended(service, now_ns);
		return;
	}
	service->session = service->process.pid;
	service->phase = SERVICE_RUNNING;
	service->due_ns = CLOCK_NEVER;
	log_info(name_of(service), "service started", "pid=%d", (int)service->session);
	service->calls->mirror(service);
	process_release(&service->process);
}

void service_start(struct service *service, int64_t now_ns)
{
	assert(service->phase == SERVICE_NONE && service->config->service.command.words);
	service->stopping = service->killing = service->gone = false;
	service->restarts = 0;
	launch(service, now_ns);
}

/* ---- asked to end ---- */

static void ask(struct service *service, int signal_number, int64_t now_ns)
{
	service->stopping = true;
	if (service->phase == SERVICE_RUNNING) {
		log_info(name_of(service), "signal to service", "signal=%s", signal_number == SIGKILL ? "KILL" : "TERM");
		process_signal(&service->process, signal_number);
	} else if (service->phase != SERVICE_CLEARING) {
		cleared(service, now_ns);
	}
}

void service_stop(struct service *service, int64_t now_ns)
{
	ask(service, SIGTERM, now_ns);
}

void service_kill(struct service *service, int64_t now_ns)
{
	ask(service, SIGKILL, now_ns);
	if (service->phase != SERVICE_RUNNING)
		return;
	service->killing = true;
	service->pause_ns = first_pause_ns;
	sweep(service);
	look_again(service, now_ns);
}

/* ---- the rest ---- */

bool service_resume(struct service *service, pid_t pid, int64_t now_ns)
{
	if (pid != 0 && !process_adopt(&service->process, pid))
		return false;
	if (service->has_cgroup)
		cgroup_open(&service->cgroup, false);
	service->session = pid;
	if (pid != 0)
		service->phase = SERVICE_RUNNING;
	else
		ended(service, now_ns);
	return true;
}

void service_end_left(struct service *service)
{
	if (!service->has_cgroup || cgroup_open(&service->cgroup, false) < 0)
		return;
	if (cgroup_populated(&service->cgroup))
		log_warning(name_of(service), "killed what an earlier agent has left of the service", " ");
	/* Nobody is in office yet, so there is time. */
	for (int i = 0; i < LEFT_LOOKS && cgroup_populated(&service->cgroup); i++) {
		cgroup_kill(&service->cgroup);
		poll(NULL, 0, LEFT_PAUSE_MS);
	}
	cgroup_remove(&service->cgroup);
}

pid_t service_pid(const struct service *service)
{
	return service->process.pid;
}

int64_t service_deadline(const struct service *service)
{
	return service->due_ns;
}

void service_timer(struct service *service, int64_t now_ns)
{
	if (now_ns < service->due_ns)
		return;
	if (service->phase == SERVICE_WAITING) {
		launch(service, now_ns);
	} else if (service->phase == SERVICE_CLEARING) {
		clear(service, now_ns);
	} else if (service->killing) {
		sweep(service);
		look_again(service, now_ns);
	}
	if (service->gone)
		service->calls->gone(service);
}

void service_close(struct service *service)
{
	if (service->phase == SERVICE_RUNNING || service->phase == SERVICE_CLEARING)
		sweep(service);
	process_close(&service->process);
	cgroup_remove(&service->cgroup);
}
