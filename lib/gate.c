/* The token gate on a file. The public header says what it promises. */
#include "tenure/gate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/*
 * A slot is one line, "tenure-gate 1 <number> <token> <checksum>\n", and zeros up to the end of its block.
 * The checksum is FNV-1a over the text before it. The slot with the highest number is the newest.
 */
#define LINE_HEAD "tenure-gate 1 "

enum {
	SLOT_COUNT = 2,
	BLOCK_SIZE = 4096,
	FILE_SIZE = SLOT_COUNT * BLOCK_SIZE,
	LINE_SIZE = 96, /* of the longest, with room to spare */
	FIRST_NUMBER = 1,
	OPEN_ATTEMPTS = 100, /* on a path that names another file each time */
	LOAD_ATTEMPTS = 32,  /* beside writers */
	POLL_MS = 5,
	FIRST_FD = 3,
};

static uint64_t fnv1a(const char *text, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3;
	return hash;
}

static void fill_block(char *block, uint64_t number, int64_t token)
{
	int size;

	memset(block, 0, BLOCK_SIZE);
	size = snprintf(block, LINE_SIZE, LINE_HEAD "%" PRIu64 " %" PRId64 " ", number, token);
	snprintf(block + size, LINE_SIZE - (size_t)size, "%016" PRIx64 "\n", fnv1a(block, (size_t)size));
}

/* Whether BLOCK is, to the last byte, what a slot with the number and token in it looks like. */
static bool parse_block(const char *block, uint64_t *number, int64_t *token)
{
	char line[LINE_SIZE], expected[BLOCK_SIZE], *end;

	memcpy(line, block, sizeof(line));
	line[sizeof(line) - 1] = '\0';
	if (strncmp(line, LINE_HEAD, strlen(LINE_HEAD)) != 0)
		return false;
	*number = strtoull(line + strlen(LINE_HEAD), &end, 10);
	*token = strtoll(end, NULL, 10);
	fill_block(expected, *number, *token);
	return *token >= 0 && memcmp(block, expected, sizeof(expected)) == 0;
}

/* Finds the newest slot. An unreadable block is an error, for it may be the newest. */
static int load(int fd, struct tenure_gate *gate)
{
	struct tenure_gate newest = {.fd = fd};
	char block[BLOCK_SIZE];
	uint64_t number;
	int64_t token;
	ssize_t n;

	for (unsigned slot = 0; slot < SLOT_COUNT; slot++) {
		n = pread(fd, block, sizeof(block), (off_t)slot * BLOCK_SIZE);
		if (n < 0)
			return -errno;
		if (n == BLOCK_SIZE && parse_block(block, &number, &token) && number > newest.number)
			newest = (struct tenure_gate){fd, token, number, slot};
	}
	if (newest.number == 0)
		return -EBADMSG;
	*gate = newest;
	return 0;
}

/* Returns a descriptor above stderr, lest what a program prints land in a gate; or negative errno. */
static int open_file(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK), high_fd, rc = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fd < FIRST_FD) {
		high_fd = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);
		rc = high_fd < 0 ? -errno : 0;
		close(fd);
		if (rc < 0)
			return rc;
		fd = high_fd;
	}
	if (fstat(fd, &st) < 0)
		rc = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_size != FILE_SIZE)
		rc = -EBADMSG;
	if (rc < 0)
		close(fd);
	return rc < 0 ? rc : fd;
}

static int write_new(int fd)
{
	char file[FILE_SIZE] = {0};
	ssize_t n;

	fill_block(file, FIRST_NUMBER, 0);
	n = pwrite(fd, file, sizeof(file), 0);
	if (n < 0)
		return -errno;
	if (n < FILE_SIZE)
		return -ENOSPC;
	return fsync(fd) < 0 ? -errno : 0;
}

/* The file gets its name when it is whole and on disk, and never in place of another. */
static int create(const char *path)
{
	char name[PATH_MAX];
	int fd, rc;

	if (snprintf(name, sizeof(name), "%s.XXXXXX", path) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = write_new(fd);
	if (rc == 0 && link(name, path) < 0 && errno != EEXIST)
		rc = -errno;
	close(fd);
	unlink(name);
	return rc;
}

static int sync_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char name[PATH_MAX] = ".";
	int fd, rc;

	if (slash && (size_t)(slash - path) + 1 >= sizeof(name))
		return -ENAMETOOLONG;
	if (slash) {
		memcpy(name, path, (size_t)(slash - path) + 1);
		name[slash - path + 1] = '\0';
	}
	fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fsync(fd) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* DEADLINE_MS below 0: none. */
static int lock(int fd, int64_t deadline_ms)
{
	const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};

	if (deadline_ms < 0)
		return flock(fd, LOCK_EX) < 0 ? -errno : 0;
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return -errno;
		if (now_ms() >= deadline_ms)
			return -EAGAIN;
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* Whether PATH still names the file: a lock on one that was removed or replaced keeps nobody out. */
static bool is_named(int fd, const char *path)
{
	struct stat ours, named;

	return fstat(fd, &ours) == 0 && lstat(path, &named) == 0 && ours.st_dev == named.st_dev &&
	       ours.st_ino == named.st_ino;
}

/* Returns the locked descriptor of the file that PATH names, or negative errno. */
static int open_locked(const char *path, int64_t deadline_ms)
{
	int fd, rc;

	for (int i = 0; i < OPEN_ATTEMPTS; i++) {
		fd = open_file(path, O_RDWR);
		if (fd == -ENOENT) {
			rc = create(path);
			if (rc < 0)
				return rc;
			continue;
		}
		if (fd < 0)
			return fd;
		rc = lock(fd, deadline_ms);
		if (rc == 0 && is_named(fd, path))
			return fd;
		close(fd);
		if (rc < 0)
			return rc;
	}
	return -ESTALE;
}

int tenure_gate_open(const char *path, int wait_ms, struct tenure_gate *gate)
{
	struct tenure_gate opened;
	int fd, rc;

	fd = open_locked(path, wait_ms < 0 ? -1 : now_ms() + wait_ms);
	if (fd < 0)
		return fd;
	rc = load(fd, &opened);
	/* Until something was admitted, nobody may have lived to put the name on disk. */
	if (rc == 0 && opened.number == FIRST_NUMBER)
		rc = sync_directory(path);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	*gate = opened;
	return 0;
}

static int write_newest(const struct tenure_gate *gate)
{
	char block[BLOCK_SIZE];
	ssize_t n;

	fill_block(block, gate->number, gate->highest);
	n = pwrite(gate->fd, block, sizeof(block), (off_t)gate->slot * BLOCK_SIZE);
	if (n < 0)
		return -errno;
	return n == BLOCK_SIZE ? 0 : -EIO;
}

static int sync_newest(const struct tenure_gate *gate)
{
	int rc = fdatasync(gate->fd) < 0 ? -errno : 0;

	/* The kernel takes what it failed to write for written: the next sync must find it anew. */
	if (rc < 0)
		(void)write_newest(gate);
	return rc;
}

/* Puts TOKEN into the other slot; the newest must be on disk. GATE changes on success only. */
static int put(struct tenure_gate *gate, int64_t token)
{
	struct tenure_gate next = {gate->fd, token, gate->number + 1, !gate->slot};
	int rc = write_newest(&next);

	if (rc == 0)
		rc = sync_newest(&next);
	if (rc == 0)
		*gate = next;
	return rc;
}

int tenure_gate_admit(struct tenure_gate *gate, int64_t token)
{
	int rc;

	if (token <= 0)
		return -EINVAL;
	if (token < gate->highest)
		return -EPERM;
	/* Whoever wrote the newest may have died before it was on disk: then the other slot is all there is.
	 */
	rc = sync_newest(gate);
	if (rc < 0 || token == gate->highest)
		return rc;
	return put(gate, token);
}

int tenure_gate_forget(struct tenure_gate *gate)
{
	int rc = sync_newest(gate);

	return rc < 0 ? rc : put(gate, 0);
}

void tenure_gate_close(struct tenure_gate *gate)
{
	close(gate->fd);
	gate->fd = -1;
}

int tenure_gate_read(const char *path, int64_t *highest)
{
	struct tenure_gate gate = {0};
	uint64_t number;
	int fd = open_file(path, O_RDONLY), rc = 0;

	if (fd == -ENOENT) {
		*highest = 0;
		return 0;
	}
	if (fd < 0)
		return fd;
	/* A writer may spoil one slot while we read the other: what two readings agree on has stood. */
	for (int i = 0; i < LOAD_ATTEMPTS; i++) {
		number = gate.number;
		rc = load(fd, &gate);
		if (rc == 0 && gate.number == number)
			break;
	}
	close(fd);
	if (rc == 0)
		*highest = gate.highest;
	return rc;
}
