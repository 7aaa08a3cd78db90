/* The directory of the agent's running state. */
#include "supervisor/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/log.h"

enum { TEXT_SIZE = 1024 };

#define ELECTOR_FILE	 "elector"
#define ELECTOR_FILE_NEW "elector.new"

/* Reads at most SIZE - 1 bytes of a small file. Returns their number or negative errno. */
static ssize_t read_text(int dir_fd, const char *name, char *text, size_t size)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	if (n < 0)
		n = -errno;
	text[n > 0 ? n : 0] = '\0';
	close(fd);
	return n;
}

/* The elector's clients must reach the control socket in there. */
int state_dir_open(struct locked_dir *dir, const char *path)
{
	return locked_dir_open(dir, "state_dir", path, 0755, "lock");
}

/* Start time of PID in clock ticks since boot (field 22 of its stat), or 0 when there is no such process. */
static unsigned long long start_time(pid_t pid)
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
	if (start_time(pid) == started && is_elector(pid)) {
		log_warning(NULL, "an earlier agent's elector keeps its session until lose has run", "pid=%d", pid);
		return fd;
	}
	close(fd);
	return -1;
}

void state_dir_end_orphan(int orphan_fd)
{
	if (syscall(SYS_pidfd_send_signal, orphan_fd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
		log_error(NULL, "cannot end the elector of an earlier agent", "error=\"%s\"", strerror(errno));
	else
		log_info(NULL, "ended the elector of an earlier agent", " ");
	close(orphan_fd);
}

static int write_elector(struct locked_dir *dir, pid_t pid)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%d %llu\n", (int)pid, start_time(pid));
	int fd = openat(dir->fd, ELECTOR_FILE_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
			0600);
	int rc = 0;

	if (fd < 0)
		return -errno;
	errno = EIO;
	if (write(fd, text, (size_t)n) != n || renameat(dir->fd, ELECTOR_FILE_NEW, dir->fd, ELECTOR_FILE) < 0)
		rc = -errno;
	close(fd);
	return rc;
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
