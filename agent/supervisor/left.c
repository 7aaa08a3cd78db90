/* Processes that a dead supervisor has left behind. See left.h. */
#include "supervisor/left.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/clock.h"
#include "supervisor/descendants.h"
#include "supervisor/state_dir.h"
#include "tenure/lease.h"

enum { PINNED_MAX = 256, TEXT_SIZE = 512 };

struct round {
	const struct saved_process *process;
	const char *election;
	struct pollfd pinned[PINNED_MAX];
	nfds_t count;
};

/* The session that PID is in, 0 when it is a zombie or gone. */
static pid_t session_of(pid_t pid)
{
	char name[32], text[TEXT_SIZE], state = 'Z';
	int fd, session = 0;
	const char *field;
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	/* The name in brackets may contain anything. */
	field = strrchr(text, ')');
	if (!field || sscanf(field + 1, " %c %*d %*d %d", &state, &session) != 2)
		return 0;
	return state == 'Z' || state == 'X' ? 0 : session;
}

/* The session's leader is known by its start; for the others the number could be another session's by now. */
static bool is_left(const struct round *round, pid_t pid)
{
	pid_t session = session_of(pid); /* 0: it is dead */

	if (pid == round->process->pid)
		return session != 0 && state_dir_start_of(pid) == round->process->start;
	return session == round->process->pid && descendants_is_of(pid, round->election);
}

/* Stopped first: what it started now would be missed. */
static void look_at(struct round *round, pid_t pid)
{
	int fd;

	if (pid != round->process->pid && session_of(pid) != round->process->pid)
		return;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return;
	if (!is_left(round, pid)) {
		close(fd);
		return;
	}
	syscall(SYS_pidfd_send_signal, fd, SIGSTOP, NULL, 0);
	round->pinned[round->count++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

static void look_around(struct round *round)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;

	round->count = 0;
	while (processes && round->count < PINNED_MAX && (entry = readdir(processes)) != NULL) {
		if (isdigit((unsigned char)entry->d_name[0]))
			look_at(round, (pid_t)strtol(entry->d_name, NULL, 10));
	}
	if (processes)
		closedir(processes);
}

static unsigned kill_pinned(struct round *round, int64_t end_ns)
{
	unsigned killed = 0;

	for (nfds_t i = 0; i < round->count; i++)
		killed += syscall(SYS_pidfd_send_signal, round->pinned[i].fd, SIGKILL, NULL, 0) == 0;
	for (nfds_t i = 0; i < round->count; i++) {
		int64_t left_ns = end_ns - clock_now_ns();

		if (left_ns > 0)
			poll(&round->pinned[i], 1, (int)(left_ns / TENURE_NS_PER_MS) + 1);
		close(round->pinned[i].fd);
	}
	return killed;
}

unsigned left_end(const struct saved_process *process, const char *election, int64_t limit_ns)
{
	static struct round round; /* too large for the stack, and there is one thread */
	int64_t end_ns = clock_now_ns() + limit_ns;
	unsigned killed = 0;

	if (process->pid == 0 || process->pid == getpid())
		return 0;
	round.process = process;
	round.election = election;
	do {
		look_around(&round);
		killed += kill_pinned(&round, end_ns);
	} while (round.count > 0 && clock_now_ns() < end_ns);
	return killed;
}
