/* For tests that run real processes as the supervisor does: a loop, a table, and everything that ends is reaped. */
#ifndef TENURE_TESTS_PROCESS_SUPPORT_H
#define TENURE_TESTS_PROCESS_SUPPORT_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "supervisor/clock.h"
#include "supervisor/process.h"

enum { WORLD_PATIENCE_S = 20, WORLD_TEXT_SIZE = 1 << 16 };

/* What a test program has one of. */
struct process_world {
	struct loop loop;
	struct process_table table;
	char directory[64];
	int saved, output; /* the real stderr; the log in memory */
	char text[WORLD_TEXT_SIZE];
};

static struct process_world world;

static inline int world_open(void)
{
	memset(&world, 0, sizeof(world));
	if (loop_open(&world.loop) < 0)
		return -1;
	world.table.loop = &world.loop;
	snprintf(world.directory, sizeof(world.directory), "/tmp/tenure-unit-XXXXXX");
	if (!mkdtemp(world.directory))
		return -1;
	world.saved = dup(2);
	world.output = memfd_create("log", MFD_CLOEXEC);
	dup2(world.output, 2);
	log_open("supervisor", LOG_LEVEL_DEBUG, LOG_FORMAT_TEXT, LOG_TARGET_STDERR);
	return 0;
}

static inline void world_reap(void)
{
	for (;;) {
		siginfo_t info = {.si_pid = 0};

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
			return;
		if (!process_table_exited(&world.table, info.si_pid))
			waitpid(info.si_pid, NULL, 0);
	}
}

static inline void world_close(void)
{
	char command[128];

	world_reap();
	dup2(world.saved, 2);
	close(world.saved);
	close(world.output);
	loop_close(&world.loop);
	snprintf(command, sizeof(command), "rm -r '%s'", world.directory);
	if (system(command) != 0)
		abort();
}

static inline const char *world_log(void)
{
	ssize_t n = pread(world.output, world.text, sizeof(world.text) - 1, 0);

	world.text[n > 0 ? n : 0] = '\0';
	return world.text;
}

static inline unsigned world_logged(const char *text)
{
	unsigned n = 0;

	for (const char *found = world_log(); (found = strstr(found, text)); found++)
		n++;
	return n;
}

/* One turn of a loop that never waits longer than a millisecond. */
static inline void world_turn(void)
{
	struct timespec pause = {.tv_nsec = 1000000};

	nanosleep(&pause, NULL);
	loop_wait(&world.loop, false);
	loop_dispatch(&world.loop);
	world_reap();
}

/* The content of the file NAME of the directory, "" while there is none. */
static inline const char *world_file(const char *name)
{
	static char text[4096];
	char path[160];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", world.directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	return text;
}

/* Makes an executable of the directory; PATH gets its name. */
static inline void world_script(char path[160], const char *name, const char *text)
{
	FILE *file;

	snprintf(path, 160, "%s/%s", world.directory, name);
	file = fopen(path, "we");
	if (!file)
		abort();
	fputs(text, file);
	fclose(file);
	chmod(path, 0755);
}

static inline bool world_alive(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};

	return kill(pid, 0) == 0 &&
	       (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0);
}

#endif
