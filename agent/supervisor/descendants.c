/*
 * What is left of an election below the supervisor. A pid found in the tree may be another process's a
 * moment later: so it is pinned by a pidfd first, and looked at only then.
 */
#include "supervisor/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "supervisor/clock.h"
#include "tenure/lease.h"
#include "tenure/limits.h"

enum {
	PROCESSES_MAX = 4096, /* looked at in one round */
	PINNED_MAX = 256,     /* killed in one round */
	ENVIRONMENT_MAX = 1 << 18, /* bytes of it that are looked at: beside the hooks' own there may be more */
	CHUNK_SIZE = 4096,
	UNSURE_ROUNDS = 5, /* of a millisecond */
	MARK_SIZE = sizeof("TENURE_ELECTION=") + TENURE_ELECTION_SIZE,
};

struct found {
	pid_t pid, parent;
	bool ours; /* it, or one above it, is the election's */
};

struct round {
	char mark[MARK_SIZE]; /* "TENURE_ELECTION=..." */
	bool service;         /* only what is the service's */
	pid_t session;        /* and what is in this one; 0: none */
	struct found list[PROCESSES_MAX];
	size_t count;
	struct pollfd pinned[PINNED_MAX];
	nfds_t pinned_count;
	bool unsure; /* one has to be looked at again */
	bool late;   /* the time was over before all were looked at */
	int64_t end_ns;
};

/* ---- looking ---- */

/* Adds the children named in an open file of that kind, as far as there is room. */
static void add_named(struct round *round, FILE *file, const struct found *parent)
{
	int pid;

	while (round->count < PROCESSES_MAX && fscanf(file, "%d", &pid) == 1)
		round->list[round->count++] = (struct found){pid, parent->pid, parent->ours};
}

/* A child belongs to the thread that has forked it. */
static void add_children(struct round *round, const struct found *parent)
{
	char name[64];
	struct dirent *task;
	DIR *tasks;

	snprintf(name, sizeof(name), "/proc/%d/task", (int)parent->pid);
	tasks = opendir(name);
	while (tasks && (task = readdir(tasks)) != NULL) {
		FILE *file;

		if (task->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "/proc/%d/task/%.16s/children", (int)parent->pid, task->d_name);
		file = fopen(name, "re");
		if (file) {
			add_named(round, file, parent);
			fclose(file);
		}
	}
	if (tasks)
		closedir(tasks);
}

/* Parent of PID by now, 0 when it is a zombie or gone; and its session. */
static pid_t living_parent(pid_t pid, pid_t *session)
{
	char name[32], text[512], state = 'Z';
	const char *field;
	int fd, parent = 0;
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
	if (!field || sscanf(field + 1, " %c %d %*d %d", &state, &parent, session) != 3)
		return 0;
	return state == 'Z' || state == 'X' ? 0 : parent;
}

/*
 * Whether the environment that PID was started with has MARK among its strings. *WHOLE tells whether it was
 * seen whole: it vanishes while the process executes another file.
 */
static bool is_marked(pid_t pid, const char *mark, bool *whole)
{
	char name[32], chunk[CHUNK_SIZE];
	size_t length = strlen(mark) + 1, matched = 0, total = 0; /* the NUL counts */
	bool at_start = true, marked = false;
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/environ", (int)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	*whole = fd < 0 && errno == EACCES; /* another user's, which stays so */
	if (fd < 0)
		return false;
	while (!marked && total < ENVIRONMENT_MAX && (n = read(fd, chunk, sizeof(chunk))) > 0) {
		total += (size_t)n;
		for (ssize_t i = 0; i < n && !marked; i++) {
			at_start = at_start && chunk[i] == mark[matched];
			matched = at_start ? matched + 1 : 0;
			marked = matched == length;
			*whole = chunk[i] == '\0';
			if (*whole) {
				at_start = true;
				matched = 0;
			}
		}
	}
	close(fd);
	return marked;
}

static bool is_ours(struct round *round, pid_t pid, pid_t session)
{
	bool whole = true, also_whole = true, ours = round->session != 0 && session == round->session;

	if (!ours)
		ours = is_marked(pid, round->mark, &whole) &&
		       (!round->service || is_marked(pid, "TENURE_EVENT=service", &also_whole));
	round->unsure = round->unsure || !whole || !also_whole;
	return ours;
}

/* Pins it if it is the election's, and stops it: a child that it started now would be missed. */
static void look_at(struct round *round, struct found *found)
{
	pid_t session = 0;
	int fd = (int)syscall(SYS_pidfd_open, found->pid, 0);

	if (fd < 0)
		return;
	/* Another parent: gone, or an orphan by now, and found as such in the next round. */
	if (living_parent(found->pid, &session) != found->parent) {
		close(fd);
		return;
	}
	found->ours = found->ours || is_ours(round, found->pid, session);
	if (found->ours) {
		syscall(SYS_pidfd_send_signal, fd, SIGSTOP, NULL, 0);
		round->pinned[round->pinned_count++] = (struct pollfd){.fd = fd, .events = POLLIN};
	} else {
		close(fd);
	}
	add_children(round, found);
}

/*
 * The whole tree is read, parents first, before anybody is killed: whose child an orphan was is not to be
 * seen.
 */
static void look_around(struct round *round)
{
	struct found self = {.pid = getpid()};

	round->count = round->pinned_count = 0;
	round->unsure = round->late = false;
	add_children(round, &self);
	for (size_t i = 0; i < round->count && round->pinned_count < PINNED_MAX; i++) {
		look_at(round, &round->list[i]);
		round->late = clock_now_ns() >= round->end_ns;
		if (round->late)
			return;
	}
}

/* ---- killing ---- */

/* Returns how many were killed. Their ends are waited for: the dead start nothing more. */
static unsigned kill_pinned(struct round *round)
{
	unsigned killed = 0;

	for (nfds_t i = 0; i < round->pinned_count; i++) {
		if (syscall(SYS_pidfd_send_signal, round->pinned[i].fd, SIGKILL, NULL, 0) == 0)
			killed++;
	}
	for (nfds_t i = 0; i < round->pinned_count; i++) {
		int64_t left_ns = round->end_ns - clock_now_ns();

		/* One in an uninterruptible sleep may use up the time. */
		if (left_ns > 0)
			poll(&round->pinned[i], 1, (int)(left_ns / TENURE_NS_PER_MS));
		close(round->pinned[i].fd);
	}
	return killed;
}

static const char *make_mark(char mark[MARK_SIZE], const char *election)
{
	snprintf(mark, MARK_SIZE, "TENURE_ELECTION=%s", election);
	return mark;
}

bool descendants_is_of(pid_t pid, const char *election)
{
	char mark[MARK_SIZE];
	bool whole;

	return is_marked(pid, make_mark(mark, election), &whole);
}

/* Too large for the stack, and there is one thread. */
static struct round *new_round(const char *election, int64_t limit_ns)
{
	static struct round round;

	make_mark(round.mark, election);
	round.service = false;
	round.session = 0;
	round.end_ns = clock_now_ns() + limit_ns;
	return &round;
}

unsigned descendants_kill(const char *election, int64_t limit_ns)
{
	struct round *round = new_round(election, limit_ns);
	unsigned killed = 0, unsure = 0;

	do {
		look_around(round);
		killed += kill_pinned(round);
		/* An environment that is not seen whole for so long is not just being replaced: it is like that. */
		if (round->pinned_count == 0 && (!round->unsure || ++unsure == UNSURE_ROUNDS))
			break;
		if (round->pinned_count == 0)
			poll(NULL, 0, 1);
	} while (clock_now_ns() < round->end_ns);
	return killed;
}

enum descendants_left descendants_sweep_service(const char *election, pid_t session, int64_t limit_ns)
{
	struct round *round = new_round(election, limit_ns);

	round->service = true;
	round->session = session;
	look_around(round);
	round->end_ns = 0;
	kill_pinned(round);
	if (round->pinned_count > 0)
		return DESCENDANTS_SOME;
	return round->unsure || round->late ? DESCENDANTS_UNSURE : DESCENDANTS_NONE;
}
