/* How the agent begins, and its end. See start.h. */
#include "supervisor/start.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/control.h"
#include "common/log.h"
#include "supervisor/clock.h"
#include "supervisor/control_socket.h"
#include "supervisor/environment.h"
#include "supervisor/realtime.h"
#include "supervisor/stale.h"
#include "supervisor/supervisor.h"
#include "supervisor/surroundings.h"

enum { ORPHAN_WAIT_MS = 500 };

/* For a session to be ended; in vain where the ensemble cannot be reached. */
static const int64_t release_limit_ns = INT64_C(3000000000);

/* ---- the process ---- */

static int set_up_process(struct supervisor *supervisor, sigset_t *signals)
{
	static const int taken[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR2};

	sigemptyset(signals);
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		sigaddset(signals, taken[i]);
	if (sigprocmask(SIG_SETMASK, signals, NULL) < 0)
		return -errno;
	/* By this name the processes of an election are found: one that we were started with is another agent's. */
	unsetenv("TENURE_ELECTION");
	/* What a hook leaves behind is reaped by us, also where we are not process 1. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return -errno;
	return surroundings_init(handover_take(&supervisor->handover));
}

static int open_loop(struct supervisor *supervisor, const sigset_t *signals)
{
	int rc = loop_open(&supervisor->loop);

	if (rc < 0)
		return rc;
	supervisor->signals.fd = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
	supervisor->timer.fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (supervisor->signals.fd < 0 || supervisor->timer.fd < 0)
		return -errno;
	rc = loop_add(&supervisor->loop, &supervisor->signals);
	return rc < 0 ? rc : loop_add(&supervisor->loop, &supervisor->timer);
}

static int make_units(struct supervisor *supervisor)
{
	size_t n = supervisor->config->election_count;

	supervisor->units = calloc(n + 1, sizeof(struct unit *));
	if (!supervisor->units)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		supervisor->units[i] =
			unit_new(&supervisor->host, (uint32_t)i, &supervisor->config->elections[i]);
		if (!supervisor->units[i])
			return -ENOMEM;
		supervisor->unit_count = i + 1;
	}
	return 0;
}

static int open_process(struct supervisor *supervisor)
{
	struct config *config = supervisor->config;
	sigset_t signals;
	int rc = set_up_process(supervisor, &signals);

	log_open("supervisor", config->log.level, config->log.format, config->log.target);
	service_manager_init(&supervisor->manager);
	if (rc == 0)
		rc = open_loop(supervisor, &signals);
	if (rc == 0 && getrandom(&supervisor->agent, sizeof(supervisor->agent), 0) < 0)
		rc = -errno;
	if (rc == 0)
		rc = mirror_init(&supervisor->mirror);
	environment_init();
	if (rc == 0)
		rc = make_units(supervisor);
	if (rc < 0)
		log_error(NULL, "the agent cannot start", "error=\"%s\"", strerror(-rc));
	return rc;
}

/* ---- its places ---- */

static int open_state(struct supervisor *supervisor)
{
	int *lock_fd = &supervisor->handover.fds[HANDOVER_STATE_LOCK];
	int rc = state_dir_open(&supervisor->state_dir, supervisor->config->state_dir, lock_fd);

	if (rc < 0)
		return rc;
	rc = takeover_read(&supervisor->takeover, &supervisor->state_dir, &supervisor->mirror, supervisor->config,
			   &supervisor->mirror.self, clock_now_ns());
	if (rc < 0)
		log_error(NULL, "the agent cannot start", "error=\"%s\"", strerror(-rc));
	return rc;
}

static int read_floors(struct supervisor *supervisor)
{
	const char *path = supervisor->config->data_dir;
	int rc;

	if (path[0] == '\0')
		return 0;
	rc = locked_dir_open(&supervisor->data_dir, "data_dir", path, 0700, "floor-lock",
			     &supervisor->handover.fds[HANDOVER_DATA_LOCK]);
	for (size_t i = 0; rc == 0 && i < supervisor->unit_count; i++)
		unit_read_floor(supervisor->units[i]);
	return rc;
}

/* An earlier agent's elector lets go of the control socket as soon as it knows that it is alone; if not, it hangs. */
static void await_orphan(struct supervisor *supervisor)
{
	const char *path = supervisor->config->control.socket;

	if (supervisor->orphan_fd < 0 || control_socket_await(path, ORPHAN_WAIT_MS))
		return;
	state_dir_end_orphan(supervisor->orphan_fd, ORPHAN_WAIT_MS);
	supervisor->orphan_fd = -1;
	control_socket_await(path, ORPHAN_WAIT_MS);
}

/* The socket that the image before us has listened on, if it is still the one that is wanted. */
static int adopt_control(struct supervisor *supervisor)
{
	const char *path = supervisor->config->control.socket;
	int *handed = &supervisor->handover.fds[HANDOVER_CONTROL], fd = *handed;
	struct sockaddr_un address = {.sun_family = AF_UNSPEC};
	socklen_t size = sizeof(address);

	*handed = -1;
	if (fd < 0 || getsockname(fd, (struct sockaddr *)&address, &size) < 0 || address.sun_family != AF_UNIX)
		return -1;
	address.sun_path[sizeof(address.sun_path) - 1] = '\0';
	if (strcmp(address.sun_path, path) == 0 &&
	    control_socket_share(path, supervisor->config->control.has_group, supervisor->config->control.group) == 0)
		return fd;
	control_socket_close(fd, address.sun_path);
	return -1;
}

static int open_control(struct supervisor *supervisor)
{
	const struct config *config = supervisor->config;

	supervisor->control_fd = adopt_control(supervisor);
	if (config->control.socket[0] == '\0' || supervisor->control_fd >= 0)
		return 0;
	supervisor->control_fd =
		control_socket_open(config->control.socket, config->control.has_group, config->control.group);
	return supervisor->control_fd < 0 ? supervisor->control_fd : 0;
}

int start_open(struct supervisor *supervisor)
{
	bool stale = supervisor->options->demote_stale;
	int rc = open_process(supervisor);

	if (rc == 0)
		rc = open_state(supervisor);
	if (rc == 0 && stale && !stale_prepare(supervisor))
		rc = START_NOTHING;
	if (rc == 0)
		rc = read_floors(supervisor);
	if (rc != 0)
		return rc;
	supervisor->orphan_fd =
		takeover_end_processes(&supervisor->takeover, state_dir_orphan(&supervisor->state_dir));
	await_orphan(supervisor);
	if (stale)
		return 0;
	rc = open_control(supervisor);
	supervisor->http_fd = supervisor->handover.fds[HANDOVER_HTTP];
	supervisor->handover.fds[HANDOVER_HTTP] = -1;
	handover_close(&supervisor->handover);
	if (rc == 0)
		rc = realtime_begin(supervisor->config);
	return rc == 0 ? watchdog_open(&supervisor->watchdog, supervisor->config, clock_now_ns()) : rc;
}

/* ---- its elections ---- */

static void take_session(struct supervisor *supervisor)
{
	const struct takeover *takeover = &supervisor->takeover;

	if (!takeover->session)
		return;
	supervisor->agent = takeover->saved.agent;
	supervisor->session = takeover->saved.session;
	supervisor->lease_start_ns = supervisor->left_lease_ns = takeover->saved.lease_start_ns;
	log_info(NULL, takeover->in_place ? "goes on in place" : "takes an earlier agent's session up",
		 "session=0x%llx", (unsigned long long)supervisor->session.id);
}

static void begin_unit(struct supervisor *supervisor, size_t i)
{
	struct unit *unit = supervisor->units[i];
	enum takeover_how how = supervisor->takeover.terms[i].how;
	const char *adopted = supervisor->options->adopt;
	bool adopt = adopted && strcmp(adopted, unit->config->name) == 0;

	if (supervisor->options->demote_stale && how == TAKEOVER_OUT) {
		unit_begin(unit, ROLE_BEGIN_OUT, 0, clock_now_ns());
		unit_stop(unit, false, clock_now_ns());
		return;
	}
	if (adopt && (how == TAKEOVER_RESUME || how == TAKEOVER_LOSE))
		log_warning(unit->config->name, "not adopted: an earlier agent has left a term of its own", " ");
	else if (adopt && !supervisor->takeover.in_place) {
		unit_begin(unit, ROLE_BEGIN_ADOPT, 0, clock_now_ns());
		return;
	}
	takeover_begin(&supervisor->takeover, i, unit, clock_now_ns());
	/* It bounds the lose hook of a term that was left behind. */
	if (supervisor->lease_start_ns != 0)
		unit_lease(unit, supervisor->lease_start_ns, supervisor->session.timeout_ns, clock_now_ns());
}

void start_begin(struct supervisor *supervisor)
{
	log_info(NULL, "started", "version=%s pid=%d", TENURE_VERSION, (int)getpid());
	take_session(supervisor);
	supervisor_start_elector(supervisor, clock_now_ns());
	for (size_t i = 0; i < supervisor->unit_count; i++)
		begin_unit(supervisor, i);
	mirror_configuration(supervisor);
	mirror_all(supervisor);
	takeover_free(&supervisor->takeover);
	watchdog_adapt(&supervisor->watchdog, supervisor->config, supervisor->session.timeout_ns);
	supervisor->watchdog_at_ns = clock_now_ns();
	/* Children may have ended while nobody looked. */
	supervisor->unreaped = true;
}

void start_end_orphan(struct supervisor *supervisor, int64_t now_ns)
{
	if (supervisor->orphan_fd < 0)
		return;
	for (size_t i = 0; i < supervisor->unit_count; i++) {
		if (!supervisor->units[i]->role.established)
			return;
	}
	if (supervisor->orphan_end_ns == CLOCK_NEVER) {
		state_dir_release_orphan(supervisor->orphan_fd);
		supervisor->orphan_end_ns = now_ns + release_limit_ns;
		return;
	}
	if (now_ns < supervisor->orphan_end_ns)
		return;
	state_dir_end_orphan(supervisor->orphan_fd, ORPHAN_WAIT_MS);
	supervisor->orphan_fd = -1;
	supervisor->orphan_end_ns = CLOCK_NEVER;
}

/* ---- the end ---- */

void start_close(struct supervisor *supervisor)
{
	/* Where a stale service may still be in office, its elector keeps others away as an orphan. */
	if (supervisor->child.pid != 0 && !supervisor->failed)
		kill(supervisor->child.pid, SIGKILL);
	child_close(&supervisor->child);
	for (size_t i = 0; i < supervisor->unit_count; i++)
		unit_free(supervisor->units[i]);
	free(supervisor->units);
	takeover_free(&supervisor->takeover);
	restart_free(&supervisor->restart);
	control_socket_close(supervisor->control_fd, supervisor->config->control.socket);
	if (supervisor->http_fd >= 0)
		close(supervisor->http_fd);
	locked_dir_close(&supervisor->data_dir);
	locked_dir_close(&supervisor->state_dir);
	if (supervisor->orphan_fd >= 0)
		close(supervisor->orphan_fd);
	handover_close(&supervisor->handover);
	service_manager_close(&supervisor->manager);
	if (supervisor->signals.fd >= 0)
		close(supervisor->signals.fd);
	if (supervisor->timer.fd >= 0)
		close(supervisor->timer.fd);
	loop_close(&supervisor->loop);
	config_free(supervisor->config);
}
