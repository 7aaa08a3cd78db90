/* A control group of our own below the agent's. See cgroup.h. */
#include "supervisor/cgroup.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { TEXT_SIZE = 256, LINE_SIZE = PATH_MAX + 64 };

/* ---- where the agent is ---- */

/* Where the hierarchy of version 2 is mounted. */
static int find_mount(char *path, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *mount, entry;
	char line[LINE_SIZE];
	int rc = -ENOTSUP;

	if (!mounts)
		return -errno;
	while (rc < 0 && (mount = getmntent_r(mounts, &entry, line, sizeof(line))) != NULL) {
		if (strcmp(mount->mnt_type, "cgroup2") != 0)
			continue;
		rc = (size_t)snprintf(path, size, "%s", mount->mnt_dir) < size ? 0 : -ENAMETOOLONG;
	}
	endmntent(mounts);
	return rc;
}

/* Adds the place of this process in it. */
static int add_own_place(char *path, size_t size)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	size_t used = strlen(path);
	char line[LINE_SIZE];
	int rc = -ENOTSUP;

	if (!file)
		return -errno;
	while (rc < 0 && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "0::/", 4) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		rc = (size_t)snprintf(path + used, size - used, "%s", line + 3) < size - used ? 0 : -ENAMETOOLONG;
	}
	fclose(file);
	return rc;
}

static int open_parent(void)
{
	char path[PATH_MAX];
	int rc = find_mount(path, sizeof(path)), fd;

	if (rc == 0)
		rc = add_own_place(path, sizeof(path));
	if (rc < 0)
		return rc;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* ---- the group ---- */

/* FNV-1a. */
static uint64_t digest(uint64_t seed, const char *text)
{
	do {
		seed = (seed ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	} while (*text++ != '\0');
	return seed;
}

void cgroup_init(struct cgroup *cgroup, const char *state_dir, const char *election)
{
	uint64_t own = digest(digest(UINT64_C(0xcbf29ce484222325), state_dir), election);

	cgroup->parent_fd = cgroup->fd = -1;
	snprintf(cgroup->name, sizeof(cgroup->name), "tenure-%s-%08" PRIx32, election, (uint32_t)(own ^ own >> 32));
	for (char *c = cgroup->name; *c != '\0'; c++) {
		if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
			*c = '_';
	}
}

int cgroup_open(struct cgroup *cgroup, bool make)
{
	int rc = 0;

	if (cgroup->fd >= 0)
		return 0;
	cgroup->parent_fd = open_parent();
	if (cgroup->parent_fd < 0)
		return cgroup->parent_fd;
	if (make && mkdirat(cgroup->parent_fd, cgroup->name, 0755) < 0 && errno != EEXIST) {
		rc = -errno;
	} else {
		cgroup->fd = openat(cgroup->parent_fd, cgroup->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		rc = cgroup->fd < 0 ? -errno : 0;
	}
	if (rc < 0)
		cgroup_close(cgroup);
	return rc;
}

int cgroup_join_fd(const struct cgroup *cgroup)
{
	int fd = cgroup->fd < 0 ? -1 : openat(cgroup->fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

bool cgroup_populated(const struct cgroup *cgroup)
{
	int fd = cgroup->fd < 0 ? -1 : openat(cgroup->fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	char text[TEXT_SIZE];
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return strstr(text, "populated 1") != NULL;
}

/* Pinned first: a number that was read may be another process's by now. */
static void kill_member(const struct cgroup *cgroup, pid_t pid)
{
	char name[32], text[LINE_SIZE] = "";
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	FILE *file;

	if (fd < 0)
		return;
	snprintf(name, sizeof(name), "/proc/%d/cgroup", (int)pid);
	file = fopen(name, "re");
	while (file && fgets(text, sizeof(text), file) && strncmp(text, "0::/", 4) != 0)
		;
	if (file)
		fclose(file);
	if (strstr(text, cgroup->name))
		syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
	close(fd);
}

static void kill_members(const struct cgroup *cgroup)
{
	int fd = openat(cgroup->fd, "cgroup.procs", O_RDONLY | O_CLOEXEC), pid;
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

	if (!file) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while (fscanf(file, "%d", &pid) == 1)
		kill_member(cgroup, pid);
	fclose(file);
}

void cgroup_kill(const struct cgroup *cgroup)
{
	int fd = cgroup->fd < 0 ? -1 : openat(cgroup->fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
	bool killed = fd >= 0 && write(fd, "1", 1) == 1;

	if (fd >= 0)
		close(fd);
	/* Older than Linux 5.14. */
	if (!killed && cgroup->fd >= 0)
		kill_members(cgroup);
}

void cgroup_close(struct cgroup *cgroup)
{
	if (cgroup->fd >= 0)
		close(cgroup->fd);
	if (cgroup->parent_fd >= 0)
		close(cgroup->parent_fd);
	cgroup->fd = cgroup->parent_fd = -1;
}

void cgroup_remove(struct cgroup *cgroup)
{
	if (cgroup->fd >= 0)
		unlinkat(cgroup->parent_fd, cgroup->name, AT_REMOVEDIR);
	cgroup_close(cgroup);
}
