/* A directory of the agent's own. */
#include "supervisor/locked_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"

enum { QUOTED_SIZE = 512, EVENT_SIZE = 64, LOCK_WAIT_MS = 500, STEP_MS = 10 };

static int say_locked(int lock_fd, const char *option, const char *path)
{
	char quoted[QUOTED_SIZE], event[EVENT_SIZE], text[32] = "";
	ssize_t n = pread(lock_fd, text, sizeof(text) - 1, 0);
	long pid = n > 0 ? strtol(text, NULL, 10) : 0;

	snprintf(event, sizeof(event), "another agent uses the same %s", option);
	log_error(NULL, event, "%s=%s pid=%ld", option, log_quote(path, quoted, sizeof(quoted)), pid);
	return -EBUSY;
}

/* Another descriptor of the same opening: the lock is its as well. */
static void take_handed(struct locked_dir *dir, int *handed)
{
	struct stat ours, theirs;

	if (*handed < 0 || fstat(dir->lock_fd, &ours) < 0 || fstat(*handed, &theirs) < 0 ||
	    ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
		return;
	close(dir->lock_fd);
	dir->lock_fd = *handed;
	*handed = -1;
}

/* A child that a killed agent has just forked holds its lock as well, and is dying. */
static int lock(int fd)
{
	int rc = flock(fd, LOCK_EX | LOCK_NB);

	for (int waited_ms = 0; rc < 0 && errno == EWOULDBLOCK && waited_ms < LOCK_WAIT_MS; waited_ms += STEP_MS) {
		poll(NULL, 0, STEP_MS);
		rc = flock(fd, LOCK_EX | LOCK_NB);
	}
	return rc;
}

static int lock_by(struct locked_dir *dir, const char *name, const char *option, const char *path, int *handed)
{
	char text[32];
	int n;

	dir->lock_fd = openat(dir->fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (dir->lock_fd < 0)
		return -errno;
	take_handed(dir, handed);
	if (lock(dir->lock_fd) < 0)
		return errno == EWOULDBLOCK ? say_locked(dir->lock_fd, option, path) : -errno;
	n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	if (ftruncate(dir->lock_fd, 0) < 0)
		return -errno;
	/* For people only: a full disk keeps nobody from the lock. */
	if (pwrite(dir->lock_fd, text, (size_t)n, 0) != n && errno != ENOSPC && errno != EDQUOT)
		return -errno;
	return 0;
}

int locked_dir_open(struct locked_dir *dir, const char *option, const char *path, mode_t mode, const char *lock,
		    int *handed)
{
	char quoted[QUOTED_SIZE], event[EVENT_SIZE];
	bool made;
	int rc = 0;

	*dir = LOCKED_DIR_CLOSED;
	made = mkdir(path, mode) == 0;
	if (!made && errno != EEXIST)
		rc = -errno;
	if (rc == 0) {
		dir->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir->fd < 0 || (made && fchmod(dir->fd, mode) < 0))
			rc = -errno;
	}
	if (rc == 0)
		rc = lock_by(dir, lock, option, path, handed);
	if (rc == 0)
		return 0;
	snprintf(event, sizeof(event), "cannot use %s", option);
	if (rc != -EBUSY)
		log_error(NULL, event, "%s=%s error=\"%s\"", option, log_quote(path, quoted, sizeof(quoted)),
			  strerror(-rc));
	locked_dir_close(dir);
	return rc;
}

void locked_dir_close(struct locked_dir *dir)
{
	if (dir->lock_fd >= 0)
		close(dir->lock_fd);
	if (dir->fd >= 0)
		close(dir->fd);
	*dir = LOCKED_DIR_CLOSED;
}
