/* The directory of the agent's running state. */
#include "supervisor/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "common/log.h"
#include "common/message.h"

enum { TEXT_SIZE = 1024, NAME_SIZE = 128 };

#define ELECTOR_FILE "elector"

/* At most SIZE - 1 bytes, as a string. Returns their number or negative errno. */
static ssize_t read_all(int fd, char *text, size_t size)
{
	size_t used = 0;
	ssize_t n = 1;

	while (n > 0 && used < size - 1) {
		n = read(fd, text + used, size - 1 - used);
		used += n > 0 ? (size_t)n : 0;
	}
	text[used] = '\0';
	return n < 0 ? -errno : (ssize_t)used;
}

static ssize_t read_text(int dir_fd, const char *name, char *text, size_t size)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read_all(fd, text, size);
	close(fd);
	return n;
}

/* What is written there is written between a decision and the hook: a disk may take long over it. */
static void warn_of_disk(const struct locked_dir *dir, const char *path)
{
	struct statfs status;

	if (fstatfs(dir->fd, &status) == 0 && status.f_type != TMPFS_MAGIC && status.f_type != RAMFS_MAGIC)
		log_warning(NULL, "state_dir is not on a tmpfs: a slow disk would delay hooks", "state_dir=%s", path);
}

/* The elector's clients must reach the control socket in there. */
int state_dir_open(struct locked_dir *dir, const char *path, int *handed)
{
	int rc = locked_dir_open(dir, "state_dir", path, 0755, "lock", handed);

	if (rc == 0)
		warn_of_disk(dir, path);
	return rc;
}

int state_dir_write(const struct locked_dir *dir, const char *name, const char *text, size_t size)
{
	char temporary[NAME_SIZE];
	int fd, rc = 0;

	snprintf(temporary, sizeof(temporary), "%s.new", name);
	fd = openat(dir->fd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	errno = EIO;
	if (write(fd, text, size) != (ssize_t)size || renameat(dir->fd, temporary, dir->fd, name) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

ssize_t state_dir_read(const struct locked_dir *dir, const char *name, char *text, size_t size)
{
	/* Nothing that stands in its place may hold us up. */
	int fd = openat(dir->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat status;
	ssize_t n;

	if (fd < 0)
		return errno == ELOOP ? -EPERM : -errno;
	if (fstat(fd, &status) < 0)
		n = -errno;
	else if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077) != 0)
		n = -EPERM;
	else
		n = read_all(fd, text, size);
	close(fd);
	return n;
}

void state_dir_remove(const struct locked_dir *dir, const char *name)
{
	char quoted[NAME_SIZE];

	if (unlinkat(dir->fd, name, 0) < 0 && errno != ENOENT)
		log_warning(NULL, "cannot remove a file of state_dir", "name=%s error=\"%s\"",
			    log_quote(name, quoted, sizeof(quoted)), strerror(errno));
}

/* Field 22 of its stat. */
uint64_t state_dir_start_of(pid_t pid)
{
	char name[32], text[TEXT_SIZE];
	char *field;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	if (read_text(AT_FDCWD, name, text, sizeof(text)) <= 0)
		return 0;
	/* The second field, a name in brackets, may contain anything; the third begins after its last
	 * bracket. */
	field = strrchr(text, ')');
	for (int i = 3; field && i <= 22; i++)
		field = strchr(field + 1, ' ');
	return field ? strtoull(field + 1, NULL, 10) : 0;
}

/* Whether PID runs the agent: as its elector, since nobody else has that as the second word. */
static bool is_elector(pid_t pid)
{
	char name[32], text[TEXT_SIZE];
	ssize_t n;
	size_t first;

	snprintf(name, sizeof(name), "/proc/%d/cmdline", (int)pid);
	n = read_text(AT_FDCWD, name, text, sizeof(text));
	if (n <= 0)
		return false;
	first = strlen(text) + 1;
	return first < (size_t)n && strcmp(text + first, "--elector") == 0;
}

int state_dir_orphan(struct locked_dir *dir)
{
	char text[64];
	unsigned long long started;
	int pid, fd;

	if (read_text(dir->fd, ELECTOR_FILE, text, sizeof(text)) <= 0 ||
	    sscanf(text, "%d %llu", &pid, &started) != 2 || pid <= 1)
		return -1;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return -1;
	/* The descriptor names one process for good: looked at after it was opened, it cannot become another one. */
	if (state_dir_start_of(pid) == started && is_elector(pid))
		return fd;
	close(fd);
	return -1;
}

void state_dir_release_orphan(int orphan_fd)
{
	if (syscall(SYS_pidfd_send_signal, orphan_fd, ELECTOR_RELEASE_SIGNAL, NULL, 0) < 0 && errno != ESRCH)
		log_error(NULL, "cannot release the elector of an earlier agent", "error=\"%s\"", strerror(errno));
}

int state_dir_end_orphan(int orphan_fd, int wait_ms)
{
	struct pollfd dead = {.fd = orphan_fd, .events = POLLIN};
	int rc = 0;

	if (syscall(SYS_pidfd_send_signal, orphan_fd, SIGKILL, NULL, 0) < 0 && errno != ESRCH) {
		log_error(NULL, "cannot end the elector of an earlier agent", "error=\"%s\"", strerror(errno));
		rc = -EBUSY;
	} else if (poll(&dead, 1, wait_ms) > 0) {
		log_info(NULL, "ended the elector of an earlier agent", " ");
	} else {
		log_error(NULL, "the elector of an earlier agent does not die", " ");
		rc = -EBUSY;
	}
	close(orphan_fd);
	return rc;
}

static int write_elector(struct locked_dir *dir, pid_t pid)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%d %llu\n", (int)pid, (unsigned long long)state_dir_start_of(pid));

	return state_dir_write(dir, ELECTOR_FILE, text, (size_t)n);
}

void state_dir_record_elector(struct locked_dir *dir, pid_t pid)
{
	int rc = 0;

	if (pid != 0)
		rc = write_elector(dir, pid);
	else if (unlinkat(dir->fd, ELECTOR_FILE, 0) < 0 && errno != ENOENT)
		rc = -errno;
	if (rc < 0)
		log_warning(NULL, "cannot note the elector in state_dir", "error=\"%s\"", strerror(-rc));
}
