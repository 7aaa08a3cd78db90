/* One hook's or service's process. See process.h. */
#include "supervisor/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/hook_file.h"
#include "common/log.h"
#include "supervisor/clock.h"
#include "supervisor/surroundings.h"

enum {
	FAILURE_FD = 3, /* in the child, until exec */
	STATUS_NOT_EXECUTABLE = 126,
	STATUS_NOT_FOUND = 127,
};

/* What the child was about to do when it failed. */
enum stage { STAGE_SURROUNDING, STAGE_FILE, STAGE_USER, STAGE_EXEC };

struct failure {
	enum stage stage;
	int error;
	char why[PROCESS_WHY_SIZE]; /* of STAGE_FILE alone */
};

struct pipes {
	int out[2], err[2], failure[2], go[2];
};

/* ---- the child, between fork and exec ---- */

__attribute__((noreturn)) static void report(int fd, const struct failure *failure)
{
	if (write(fd, failure, sizeof(*failure)) < 0)
		_exit(STATUS_NOT_EXECUTABLE);
	_exit(failure->error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
}

static void fail(int fd, enum stage stage, int error)
{
	struct failure failure = {.stage = stage, .error = error};

	report(fd, &failure);
}

/* Here and not in the parent, which no dead file server may hold up. */
static void check_file(const char *path, const struct config_user *user)
{
	struct failure failure = {.stage = STAGE_FILE};

	failure.error = -hook_file_check(path, user, failure.why, sizeof(failure.why));
	if (failure.error != 0)
		report(FAILURE_FD, &failure);
}

/* 0 to 2 are never among the agent's own, so no descriptor is overwritten before it is used. */
static void arrange_descriptors(const struct pipes *pipes, bool inherits_output)
{
	int failure = pipes->failure[1];
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, 0) < 0)
		fail(failure, STAGE_SURROUNDING, errno);
	if (!inherits_output && (dup2(pipes->out[1], 1) < 0 || dup2(pipes->err[1], 2) < 0))
		fail(failure, STAGE_SURROUNDING, errno);
	if (failure != FAILURE_FD && dup3(failure, FAILURE_FD, O_CLOEXEC) < 0)
		fail(failure, STAGE_SURROUNDING, errno);
	surroundings_close_from(FAILURE_FD + 1);
}

static void become(const struct config_user *user)
{
	if (!user || !user->name)
		return;
	if (geteuid() != 0 && user->uid == geteuid())
		return;
	if (setgroups(user->group_count, user->groups) < 0 || setgid(user->gid) < 0 || setuid(user->uid) < 0)
		fail(FAILURE_FD, STAGE_USER, errno);
}

/*
 * A hook ends with the agent that watches over it: one that went on alone would overlap those of the next agent. After
 * the change of user, which undoes it.
 */
static void bind_to_agent(pid_t agent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		fail(FAILURE_FD, STAGE_SURROUNDING, errno);
	if (getppid() != agent)
		_exit(STATUS_NOT_EXECUTABLE);
}

/* Who dies before he could note whom he has started takes it along. */
static void await_release(const struct pipes *pipes, pid_t agent)
{
	char go;

	close(pipes->go[1]);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != agent || read(pipes->go[0], &go, 1) != 1)
		_exit(STATUS_NOT_EXECUTABLE);
}

/* Without it, it is found by other means. */
static void join_cgroup(int join_fd)
{
	if (join_fd >= 0 && write(join_fd, "0", 1) < 0)
		return;
}

__attribute__((noreturn)) static void run_child(const struct process *process, const struct pipes *pipes,
						char *const *words, char *const *environment,
						const struct config_user *user, pid_t agent)
{
	const char *file = process->own_image ? "/proc/self/exe" : words[0];

	if (process->held)
		await_release(pipes, agent);
	join_cgroup(process->join_fd);
	arrange_descriptors(pipes, process->inherits_output);
	umask(022);
	if (setsid() < 0 || chdir("/") < 0)
		fail(FAILURE_FD, STAGE_SURROUNDING, errno);
	if (!process->own_image)
		check_file(file, user);
	become(user);
	bind_to_agent(agent);
	if (surroundings_restore() < 0)
		fail(FAILURE_FD, STAGE_SURROUNDING, errno);
	execve(file, words, environment);
	fail(FAILURE_FD, STAGE_EXEC, errno);
	_exit(STATUS_NOT_EXECUTABLE);
}

/* ---- the parent ---- */

static void take_line(const struct process *process, const char *stream, const char *line)
{
	log_hook_output(process->election, process->hook, stream, line);
}

static void take_out(struct output *output, const char *line)
{
	struct process *process = watch_owner(output, struct process, out);

	if (process->heard)
		process->heard(process, line);
	else
		take_line(process, "stdout", line);
}

static void take_err(struct output *output, const char *line)
{
	take_line(watch_owner(output, struct process, err), "stderr", line);
}

static void close_pair(int pair[2])
{
	for (int i = 0; i < 2; i++) {
		if (pair[i] >= 0)
			close(pair[i]);
		pair[i] = -1;
	}
}

static void close_pipes(struct pipes *pipes)
{
	close_pair(pipes->out);
	close_pair(pipes->err);
	close_pair(pipes->failure);
	close_pair(pipes->go);
}

static int open_pipes(struct pipes *pipes, const struct process *process)
{
	*pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
	if ((process->held && pipe2(pipes->go, O_CLOEXEC) < 0) ||
	    (!process->inherits_output && (pipe2(pipes->out, O_CLOEXEC) < 0 || pipe2(pipes->err, O_CLOEXEC) < 0)) ||
	    pipe2(pipes->failure, O_CLOEXEC | O_NONBLOCK) < 0) {
		int rc = -errno;

		close_pipes(pipes);
		return rc;
	}
	return 0;
}

void process_init(struct process *process, struct process_table *table, const char *election,
		  const char *hook,
		  void (*done)(struct process *process, const struct process_result *result))
{
	memset(process, 0, sizeof(*process));
	process->table = table;
	process->failure_fd = process->join_fd = process->go_fd = -1;
	process->done = done;
	snprintf(process->election, sizeof(process->election), "%s", election);
	snprintf(process->hook, sizeof(process->hook), "%s", hook);
	output_init(&process->out);
	output_init(&process->err);
}

bool process_running(const struct process *process)
{
	return process->pid != 0;
}

static void close_outputs(struct process *process)
{
	output_close(&process->out);
	output_close(&process->err);
	free(process->path);
	process->path = NULL;
}

/* Takes the reading ends over: whatever goes wrong, they are closed with the outputs. */
static int open_outputs(struct process *process, struct pipes *pipes)
{
	int out = pipes->out[0], err = pipes->err[0], rc;

	if (process->inherits_output)
		return 0;
	rc = output_open(&process->out, process->table->loop, out, take_out);
	pipes->out[0] = -1;
	if (rc < 0)
		return rc;
	pipes->err[0] = -1;
	return output_open(&process->err, process->table->loop, err, take_err);
}

static void link_to_table(struct process *process, pid_t pid)
{
	process->pid = pid;
	process->signalled = false;
	process->next = process->table->first;
	process->table->first = process;
}

int process_start(struct process *process, char *const *words, char *const *environment,
		  const struct config_user *user, char *why)
{
	struct pipes pipes;
	pid_t pid, agent = getpid();
	int rc;

	assert(process->pid == 0 && words && words[0]);
	close_outputs(process);
	process->path = strdup(words[0]);
	rc = process->path ? open_pipes(&pipes, process) : -ENOMEM;
	if (rc < 0)
		goto fail;
	rc = open_outputs(process, &pipes);
	if (rc < 0)
		goto fail_pipes;
	process->started_ns = clock_now_ns();
	pid = fork();
	if (pid == 0)
		run_child(process, &pipes, words, environment, user, agent);
	if (pid < 0) {
		rc = -errno;
		goto fail_pipes;
	}
	process->failure_fd = pipes.failure[0];
	process->go_fd = pipes.go[1];
	pipes.failure[0] = pipes.go[1] = -1;
	link_to_table(process, pid);
	close_pipes(&pipes);
	return 0;

fail_pipes:
	close_pipes(&pipes);
fail:
	close_outputs(process);
	snprintf(why, PROCESS_WHY_SIZE, "cannot start %s: %s", words[0], strerror(-rc));
	return rc;
}

void process_release(struct process *process)
{
	ssize_t n = process->go_fd < 0 ? 0 : write(process->go_fd, "", 1);

	(void)n; /* one that is dead already will be reaped */
	if (process->go_fd >= 0)
		close(process->go_fd);
	process->go_fd = -1;
}

bool process_adopt(struct process *process, pid_t pid)
{
	siginfo_t info;

	assert(process->pid == 0);
	/* One that has ended meanwhile is a child of ours until it is reaped. */
	if (pid <= 0 || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		return false;
	process->started_ns = clock_now_ns();
	link_to_table(process, pid);
	return true;
}

void process_signal(struct process *process, int signal_number)
{
	if (process->pid == 0)
		return;
	process->signalled = true;
	/* Right after fork the child may not lead its group yet. */
	if (kill(-process->pid, signal_number) < 0 && errno == ESRCH)
		kill(process->pid, signal_number);
}

static void unlink_from_table(struct process *process)
{
	struct process **link = &process->table->first;

	while (*link != process)
		link = &(*link)->next;
	*link = process->next;
	process->next = NULL;
	process->pid = 0;
	if (process->failure_fd >= 0)
		close(process->failure_fd);
	process->failure_fd = -1;
	process_release(process);
}

void process_close(struct process *process)
{
	if (process->pid != 0) {
		process_signal(process, SIGKILL);
		unlink_from_table(process);
	}
	close_outputs(process);
}

static void say_failure(const struct process *process, const struct failure *failure, char *why)
{
	const char *text = strerror(failure->error), *hint = "";

	switch (failure->stage) {
	case STAGE_EXEC:
		/* The file was there a moment ago: it is about what it names. */
		if (failure->error == ENOENT && access(process->path, F_OK) == 0)
			hint = " (the file exists: its interpreter does not; does its first line end in CR "
			       "LF?)";
		else if (failure->error == ENOEXEC)
			hint = " (a script needs a first line like #!/bin/sh)";
		snprintf(why, PROCESS_WHY_SIZE, "cannot run %s: %s%s", process->path, text, hint);
		break;
	case STAGE_FILE:
		snprintf(why, PROCESS_WHY_SIZE, "%s", failure->why);
		break;
	case STAGE_USER:
		snprintf(why, PROCESS_WHY_SIZE, "cannot run %s as another user: %s", process->path, text);
		break;
	default:
		snprintf(why, PROCESS_WHY_SIZE, "cannot prepare the run of %s: %s", process->path, text);
		break;
	}
}

static void say_signal(const struct process_result *result, char *why)
{
	const char *name = sigabbrev_np(result->signal);
	const char *by = result->signalled ? " (by the agent)" : "";

	if (name)
		snprintf(why, PROCESS_WHY_SIZE, "killed by SIG%s%s", name, by);
	else
		snprintf(why, PROCESS_WHY_SIZE, "killed by signal %d%s", result->signal, by);
}

static void say_exit(const struct process_result *result, char *why)
{
	const char *hint = "";

	if (result->exit_status == STATUS_NOT_EXECUTABLE)
		hint = " (a command it wanted to run is not executable)";
	else if (result->exit_status == STATUS_NOT_FOUND)
		hint = " (a command it wanted to run was not found)";
	snprintf(why, PROCESS_WHY_SIZE, "exit status %d%s", result->exit_status, hint);
}

static void fill_result(const struct process *process, int status, struct process_result *result)
{
	struct failure failure;

	*result = (struct process_result){
		.ran = true,
		.exit_status = -1,
		.signalled = process->signalled,
		.duration_ns = clock_now_ns() - process->started_ns,
	};
	if (read(process->failure_fd, &failure, sizeof(failure)) == (ssize_t)sizeof(failure)) {
		result->ran = false;
		say_failure(process, &failure, result->why);
	} else if (WIFSIGNALED(status)) {
		result->signal = WTERMSIG(status);
		say_signal(result, result->why);
	} else {
		result->exit_status = WEXITSTATUS(status);
		say_exit(result, result->why);
	}
}

bool process_table_exited(struct process_table *table, pid_t pid)
{
	struct process *process = table->first;
	struct process_result result;
	int status = 0;

	while (process && process->pid != pid)
		process = process->next;
	if (!process)
		return false;
	/* A hook that was told to end leaves nobody of its group behind. Its number is ours until it is
	 * reaped. */
	if (process->signalled)
		kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	output_drain(&process->out);
	output_drain(&process->err);
	fill_result(process, status, &result);
	unlink_from_table(process);
	process->done(process, &result);
	return true;
}
