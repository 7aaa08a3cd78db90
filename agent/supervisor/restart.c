/* The program is executed anew in place. See restart.h. */
#include "supervisor/restart.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/control.h"
#include "common/log.h"
#include "supervisor/clock.h"
#include "supervisor/handover.h"
#include "supervisor/supervisor.h"
#include "supervisor/surroundings.h"

enum { QUOTED_SIZE = 1024 };

static const int64_t check_limit_ns = INT64_C(10000000000);
static const int64_t quit_limit_ns = INT64_C(5000000000);

/* ---- what the process was started with ---- */

static size_t length(char *const *list)
{
	size_t n = 0;

	while (list[n])
		n++;
	return n;
}

/* The list, with room for EXTRA more. */
static char **copy(char *const *list, size_t extra)
{
	char **new = calloc(length(list) + extra + 1, sizeof(*new));

	for (size_t i = 0; new && list[i]; i++)
		new[i] = list[i];
	return new;
}

int restart_init(struct restart *restart, char **arguments, char *const *environment)
{
	memset(restart, 0, sizeof(*restart));
	output_init(&restart->errors);
	restart->kill_at_ns = CLOCK_NEVER;
	restart->arguments = arguments;
	restart->environment = copy(environment, 0);
	for (char **from = restart->environment, **to = from; from; from++) {
		if (!*from || strncmp(*from, HANDOVER_NAME "=", sizeof(HANDOVER_NAME)) != 0)
			*to++ = *from;
		if (!*from)
			break;
	}
	return restart->environment ? 0 : -ENOMEM;
}

void restart_free(struct restart *restart)
{
	output_close(&restart->errors);
	free(restart->environment);
}

/* Where the program was found: an upgrade has put another file in its place. */
static int find_program(char path[PATH_MAX])
{
	static const char deleted[] = " (deleted)";
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

	if (n < 0)
		return -errno;
	path[n] = '\0';
	if ((size_t)n > sizeof(deleted) - 1 && strcmp(path + n - (sizeof(deleted) - 1), deleted) == 0)
		path[n - (ssize_t)(sizeof(deleted) - 1)] = '\0';
	return 0;
}

static void finish(struct supervisor *supervisor)
{
	struct restart *restart = &supervisor->restart;

	restart->phase = RESTART_IDLE;
	restart->pid = 0;
	restart->kill_at_ns = CLOCK_NEVER;
	supervisor->host.quiet = false;
	output_close(&restart->errors);
}

/* To whoever has asked by the control socket. */
static void answer(struct supervisor *supervisor, bool refused, const char *why)
{
	struct message m = {.type = MESSAGE_RESTARTS};

	m.u.restarts.refused = refused;
	snprintf(m.u.restarts.why, sizeof(m.u.restarts.why), "%s", why);
	child_send(&supervisor->child, &m);
}

static void refuse(struct supervisor *supervisor, const char *why)
{
	log_error(NULL, "not restarted: the agent goes on as it is", "why=\"%s\"", why);
	answer(supervisor, true, why);
	finish(supervisor);
}

/* ---- checking, by the program that is to be executed ---- */

static void take_error(struct output *output, const char *line)
{
	char quoted[QUOTED_SIZE];

	(void)output;
	log_error(NULL, "restart", "error=%s", log_quote(line, quoted, sizeof(quoted)));
}

__attribute__((noreturn)) static void check(const struct restart *restart, const char *path, char **arguments, int fd,
					    pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || dup2(fd, STDOUT_FILENO) < 0 ||
	    dup2(fd, STDERR_FILENO) < 0 || surroundings_restore() < 0)
		_exit(EXIT_INTERNAL);
	execve(path, arguments, restart->environment);
	dprintf(STDERR_FILENO, "%s: %s\n", path, strerror(errno));
	_exit(EXIT_INTERNAL);
}

/* The arguments of the process, behind the one that makes it a check. */
static char **check_arguments(const struct restart *restart)
{
	static char mode[] = "--takes-over";
	char **arguments = copy(restart->arguments, 1);

	if (!arguments)
		return NULL;
	memmove(arguments + 2, arguments + 1, length(restart->arguments) * sizeof(*arguments));
	arguments[1] = mode;
	return arguments;
}

static int start_check(struct supervisor *supervisor)
{
	struct restart *restart = &supervisor->restart;
	char **arguments = check_arguments(restart), path[PATH_MAX];
	int rc = arguments ? find_program(path) : -ENOMEM, pipe_fds[2] = {-1, -1};
	pid_t parent = getpid();

	if (rc == 0 && pipe2(pipe_fds, O_CLOEXEC) < 0)
		rc = -errno;
	if (rc < 0)
		goto out;
	rc = output_open(&restart->errors, &supervisor->loop, pipe_fds[0], take_error);
	if (rc == 0) {
		restart->pid = fork();
		if (restart->pid == 0)
			check(restart, path, arguments, pipe_fds[1], parent);
		if (restart->pid < 0)
			rc = -errno;
	}
	close(pipe_fds[1]);
out:
	free(arguments);
	return rc;
}

static void begin_check(struct supervisor *supervisor, int64_t now_ns)
{
	struct restart *restart = &supervisor->restart;
	int rc;

	restart->phase = RESTART_CHECKING;
	mirror_all(supervisor); /* it is looked at */
	rc = start_check(supervisor);
	if (rc < 0)
		refuse(supervisor, strerror(-rc));
	else
		restart->kill_at_ns = now_ns + check_limit_ns;
}

void restart_request(struct supervisor *supervisor, int64_t now_ns)
{
	if (supervisor->stop_signals > 0) {
		refuse(supervisor, "the agent stops");
		return;
	}
	if (supervisor->restart.phase != RESTART_IDLE) {
		log_info(NULL, "a restart is under way already", " ");
		return;
	}
	log_info(NULL, "restarting in place", " ");
	supervisor->restart.phase = RESTART_WAITING;
	restart_advance(supervisor, now_ns);
}

void restart_exited(struct supervisor *supervisor, int64_t now_ns)
{
	struct restart *restart = &supervisor->restart;
	int status = 0;

	(void)now_ns;
	while (waitpid(restart->pid, &status, 0) < 0 && errno == EINTR)
		;
	restart->pid = 0;
	restart->kill_at_ns = CLOCK_NEVER;
	output_drain(&restart->errors);
	output_close(&restart->errors);
	if (restart->phase != RESTART_CHECKING)
		return; /* the agent stops */
	if (WIFSIGNALED(status))
		refuse(supervisor, "checking the program took too long, or it crashed");
	else if (WEXITSTATUS(status) != EXIT_YES)
		refuse(supervisor, "the program or its configuration is not fit");
	else
		restart->phase = RESTART_QUIETING;
}

/* ---- until nothing runs but services ---- */

static bool is_quiet(const struct supervisor *supervisor)
{
	if (supervisor->unreaped)
		return false;
	for (size_t i = 0; i < supervisor->unit_count; i++) {
		if (!unit_at_rest(supervisor->units[i]))
			return false;
	}
	return true;
}

static void leave(struct supervisor *supervisor, int64_t now_ns)
{
	struct restart *restart = &supervisor->restart;

	/* A hook may have begun before this phase: no end to it but its own. */
	supervisor->host.quiet = true;
	if (!is_quiet(supervisor))
		return;
	restart->phase = RESTART_LEAVING;
	supervisor->reload.keep_session = true;
	answer(supervisor, false, "");
	child_quit(&supervisor->child, true, now_ns, quit_limit_ns);
}

/* ---- the execution ---- */

static void say_reloading(struct supervisor *supervisor)
{
	struct timespec monotonic = {0};

	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	service_manager_tell(&supervisor->manager, "RELOADING=1\nMONOTONIC_USEC=%lld",
			     (long long)monotonic.tv_sec * 1000000 + monotonic.tv_nsec / 1000);
}

/* Returns only when it fails, with negative errno. Pending signals stay blocked and pending. */
static int execute(struct supervisor *supervisor)
{
	const struct restart *restart = &supervisor->restart;
	const struct handover handover = {{
		[HANDOVER_STATE_LOCK] = supervisor->state_dir.lock_fd,
		[HANDOVER_DATA_LOCK] = supervisor->data_dir.lock_fd,
		[HANDOVER_CONTROL] = supervisor->control_fd,
		[HANDOVER_HTTP] = supervisor->http_fd,
	}};
	char path[PATH_MAX], variable[HANDOVER_TEXT_SIZE], **environment = copy(restart->environment, 1);
	int rc = environment ? find_program(path) : -ENOMEM;

	if (rc < 0)
		goto out;
	handover_write(&handover, variable);
	environment[length(environment)] = variable;
	handover_keep(&handover, true);
	surroundings_give_back();
	execve(path, restart->arguments, environment);
	rc = -errno;
	surroundings_take_again();
	handover_keep(&handover, false);
out:
	free(environment);
	return rc;
}

static void replace(struct supervisor *supervisor, int64_t now_ns)
{
	int rc;

	if (supervisor->child.pid != 0)
		return;
	if (!is_quiet(supervisor) || supervisor->reload.phase != RELOAD_IDLE) {
		/* What has come up meanwhile goes first, with an elector. */
		supervisor->child.start_at_ns = now_ns;
		supervisor->restart.phase = supervisor->reload.phase != RELOAD_IDLE ? RESTART_WAITING : RESTART_QUIETING;
		return;
	}
	say_reloading(supervisor);
	mirror_all(supervisor);
	log_info(NULL, "executing the program anew", " ");
	rc = execute(supervisor);
	supervisor->child.start_at_ns = now_ns;
	if (supervisor->ready)
		service_manager_tell(&supervisor->manager, "READY=1");
	refuse(supervisor, strerror(-rc));
}

void restart_advance(struct supervisor *supervisor, int64_t now_ns)
{
	struct restart *restart = &supervisor->restart;

	if (restart->phase == RESTART_CHECKING && now_ns >= restart->kill_at_ns) {
		restart->kill_at_ns = CLOCK_NEVER;
		kill(restart->pid, SIGKILL);
	}
	/* Another configuration since the check: it has to be made again. */
	if (restart->phase == RESTART_QUIETING && supervisor->reload.phase != RELOAD_IDLE)
		restart->phase = RESTART_WAITING;
	if (restart->phase == RESTART_WAITING && supervisor->reload.phase == RELOAD_IDLE)
		begin_check(supervisor, now_ns);
	if (restart->phase == RESTART_QUIETING)
		leave(supervisor, now_ns);
	if (restart->phase == RESTART_LEAVING)
		replace(supervisor, now_ns);
}

int64_t restart_deadline(const struct restart *restart)
{
	return restart->kill_at_ns;
}

void restart_cancel(struct supervisor *supervisor)
{
	struct restart *restart = &supervisor->restart;

	if (restart->phase == RESTART_CHECKING)
		kill(restart->pid, SIGKILL); /* reaped as usual */
	if (restart->phase != RESTART_IDLE)
		log_info(NULL, "no restart: the agent stops", " ");
	restart->phase = RESTART_IDLE;
	supervisor->host.quiet = false;
}
