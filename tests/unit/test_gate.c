/* The token gate: what it admits, what it keeps when the power or the disk fails, and who waits for whom. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tenure/gate.h"

enum {
	BLOCK_SIZE = 4096,
	FILE_SIZE = 2 * BLOCK_SIZE,
	LINE_SIZE = 80, /* longer than any line of a slot */
	PENDING_MAX = 16,
	ADMISSIONS = 300,
	DEADLINE_MS = 10000,
};

/* A write that the disk may or may not have. */
struct pending {
	unsigned slot;
	bool given_up; /* a sync has failed: the next one does not try it again */
	char data[BLOCK_SIZE];
};

/* The calls of the gate pass here (--wrap). Everything is as usual while it is all zero. */
static struct {
	unsigned fdatasyncs, directory_syncs;		  /* so far */
	unsigned fail_pwrite, fail_fdatasync, fail_fsync; /* the n-th from now on fails */
	int error;
	size_t short_pwrite; /* what a failing pwrite writes all the same; then it fails with no errno */
	bool lazy;	     /* fdatasync does nothing */
	const char *between; /* becomes the file between the readings of the two slots, once */
	/* The model of a disk that loses power. */
	bool model;
	unsigned die; /* the caller does, in its n-th fdatasync from now on */
	jmp_buf dead;
	char durable[FILE_SIZE];
	struct pending pending[PENDING_MAX];
	unsigned pending_count;
	int64_t admitted;
	unsigned crashes;
} disk;

static char directory[64], path[80], crash_path[80];

ssize_t __real_pwrite(int fd, const void *data, size_t size, off_t offset);
ssize_t __real_pread(int fd, void *data, size_t size, off_t offset);
int __real_fdatasync(int fd);
int __real_fsync(int fd);
ssize_t __wrap_pwrite(int fd, const void *data, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *data, size_t size, off_t offset);
int __wrap_fdatasync(int fd);
int __wrap_fsync(int fd);

static bool fails(unsigned *countdown)
{
	return *countdown > 0 && --*countdown == 0;
}

static void check_crashes(void);
static void settle(bool synced);
static void write_file(const char *name, const char *data, size_t size);

static void remember(unsigned slot, const char *data)
{
	struct pending *last = NULL;

	for (unsigned i = 0; i < disk.pending_count; i++)
		if (disk.pending[i].slot == slot)
			last = &disk.pending[i];
	if (!last || memcmp(last->data, data, BLOCK_SIZE) != 0) {
		assert_true(disk.pending_count < PENDING_MAX);
		last = &disk.pending[disk.pending_count++];
		last->slot = slot;
		memcpy(last->data, data, BLOCK_SIZE);
	}
	last->given_up = false;
}

ssize_t __wrap_pwrite(int fd, const void *data, size_t size, off_t offset)
{
	if (fails(&disk.fail_pwrite)) {
		if (disk.short_pwrite > 0)
			return __real_pwrite(fd, data, disk.short_pwrite, offset);
		errno = disk.error;
		return -1;
	}
	if (disk.model) {
		assert_int_equal(size, BLOCK_SIZE);
		remember(offset > 0, data);
	}
	return __real_pwrite(fd, data, size, offset);
}

ssize_t __wrap_pread(int fd, void *data, size_t size, off_t offset)
{
	if (disk.between && offset > 0) {
		write_file(path, disk.between, FILE_SIZE);
		disk.between = NULL;
	}
	return __real_pread(fd, data, size, offset);
}

int __wrap_fdatasync(int fd)
{
	bool failed = fails(&disk.fail_fdatasync);

	disk.fdatasyncs++;
	if (disk.model) {
		check_crashes();
		if (fails(&disk.die))
			longjmp(disk.dead, 1);
		settle(!failed);
	}
	if (failed) {
		errno = disk.error;
		return -1;
	}
	return disk.lazy || disk.model ? 0 : __real_fdatasync(fd);
}

int __wrap_fsync(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	if (S_ISDIR(st.st_mode))
		disk.directory_syncs++;
	if (fails(&disk.fail_fsync)) {
		errno = disk.error;
		return -1;
	}
	return disk.lazy ? 0 : __real_fsync(fd);
}

static int setup(void **state)
{
	(void)state;
	memset(&disk, 0, sizeof(disk));
	strcpy(directory, "/tmp/tenure-gate-XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/gate", directory);
	snprintf(crash_path, sizeof(crash_path), "%s/crash", directory);
	return 0;
}

static int teardown(void **state)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;

	(void)state;
	while ((entry = readdir(dir)) != NULL)
		unlinkat(dirfd(dir), entry->d_name, entry->d_type == DT_DIR ? AT_REMOVEDIR : 0);
	closedir(dir);
	rmdir(directory);
	return 0;
}

static unsigned files(void)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	unsigned count = 0;

	while ((entry = readdir(dir)) != NULL)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

static struct tenure_gate opened(int64_t highest)
{
	struct tenure_gate gate;

	assert_int_equal(tenure_gate_open(path, -1, &gate), 0);
	assert_int_equal(gate.highest, highest);
	return gate;
}

/* Admits TOKEN by a gate opened and closed for it. */
static int admit(int64_t token)
{
	struct tenure_gate gate;
	int rc = tenure_gate_open(path, -1, &gate);

	assert_int_equal(rc, 0);
	rc = tenure_gate_admit(&gate, token);
	tenure_gate_close(&gate);
	return rc;
}

static void expect_highest(int64_t expected)
{
	struct tenure_gate gate = opened(expected);
	int64_t highest = -1;

	tenure_gate_close(&gate);
	assert_int_equal(tenure_gate_read(path, &highest), 0);
	assert_int_equal(highest, expected);
}

static void read_file(const char *name, char *data)
{
	int fd = open(name, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, data, FILE_SIZE), FILE_SIZE);
	close(fd);
}

static void write_file(const char *name, const char *data, size_t size)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	/* Cut to size, not to nothing: some filesystems then wait for the disk in close. */
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(write(fd, data, size), (ssize_t)size);
	close(fd);
}

/* Goal: no token below the highest passes. Method: equal, lower, higher; in one open gate and in the next. */
static void test_order(void **state)
{
	struct tenure_gate gate = opened(0);

	(void)state;
	assert_int_equal(tenure_gate_admit(&gate, 5), 0);
	assert_int_equal(tenure_gate_admit(&gate, 4), -EPERM);
	assert_int_equal(tenure_gate_admit(&gate, 5), 0);
	assert_int_equal(tenure_gate_admit(&gate, 9), 0);
	assert_int_equal(tenure_gate_admit(&gate, 8), -EPERM);
	assert_int_equal(gate.highest, 9);
	tenure_gate_close(&gate);
	assert_int_equal(gate.fd, -1);
	expect_highest(9);
	assert_int_equal(admit(8), -EPERM);
	assert_int_equal(admit(9), 0);
	assert_int_equal(admit(INT64_MAX), 0);
	assert_int_equal(admit(INT64_MAX - 1), -EPERM);
	expect_highest(INT64_MAX);
}

/* Goal: only tokens above 0 are tokens. Method: 0, negative. */
static void test_no_token(void **state)
{
	(void)state;
	assert_int_equal(admit(0), -EINVAL);
	assert_int_equal(admit(-1), -EINVAL);
	assert_int_equal(admit(INT64_MIN), -EINVAL);
	expect_highest(0);
}

/* Goal: forgetting admits any token again, for all. Method: a lower one before and after. */
static void test_forget(void **state)
{
	struct tenure_gate gate;

	(void)state;
	assert_int_equal(admit(100), 0);
	gate = opened(100);
	assert_int_equal(tenure_gate_forget(&gate), 0);
	assert_int_equal(gate.highest, 0);
	tenure_gate_close(&gate);
	expect_highest(0);
	assert_int_equal(admit(7), 0);
	assert_int_equal(admit(6), -EPERM);
	expect_highest(7);
}

/* Goal: the new file is whole, private, and alone. Method: look at it, and at what else is there. */
static void test_created(void **state)
{
	struct tenure_gate gate = opened(0);
	struct stat st;

	(void)state;
	assert_int_equal(fstat(gate.fd, &st), 0);
	assert_int_equal(st.st_size, FILE_SIZE);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_nlink, 1);
	assert_true(st.st_blocks * 512 >= FILE_SIZE);
	assert_int_equal(fcntl(gate.fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(files(), 1);
	tenure_gate_close(&gate);
}

/* Goal: looking makes nothing. Method: read where there is no file, or no directory. */
static void test_read_nothing(void **state)
{
	int64_t highest = -1;

	(void)state;
	assert_int_equal(tenure_gate_read(path, &highest), 0);
	assert_int_equal(highest, 0);
	assert_int_equal(files(), 0);
	assert_int_equal(tenure_gate_read("/tmp/tenure-gate-no-such-directory/gate", &highest), 0);
}

/* Goal: looking waits for nobody. Method: read while the gate is locked. */
static void test_read_locked(void **state)
{
	struct tenure_gate gate = opened(0);
	int64_t highest;

	(void)state;
	assert_int_equal(tenure_gate_admit(&gate, 3), 0);
	assert_int_equal(tenure_gate_read(path, &highest), 0);
	assert_int_equal(highest, 3);
	tenure_gate_close(&gate);
}

static void expect_refused(const char *name, int expected)
{
	struct tenure_gate gate = {.fd = -7, .highest = -7};
	int64_t highest = -7;

	assert_int_equal(tenure_gate_open(name, 0, &gate), expected);
	assert_int_equal(gate.fd, -7);
	assert_int_equal(gate.highest, -7);
	assert_int_equal(tenure_gate_read(name, &highest), expected);
	assert_int_equal(highest, -7);
}

/* Goal: a file that is no gate stays as it is. Method: empty, text, cut, grown, zeros, another version. */
static void test_foreign_file(void **state)
{
	static char good[FILE_SIZE + 1], data[FILE_SIZE + 1], after[FILE_SIZE];

	(void)state;
	assert_int_equal(admit(5), 0);
	read_file(path, good);
	for (size_t size = 0; size <= FILE_SIZE + 1; size += size == 0 || size == 4095 ? 1 : 4095) {
		write_file(path, good, size);
		if (size != FILE_SIZE)
			expect_refused(path, -EBADMSG);
	}
	write_file(path, "hello\n", 6);
	expect_refused(path, -EBADMSG);
	write_file(path, data, FILE_SIZE);
	expect_refused(path, -EBADMSG);
	for (unsigned slot = 0; slot < 2; slot++)
		memcpy(data + slot * BLOCK_SIZE, "tenure-gate 2 1 1 0", 19);
	write_file(path, data, FILE_SIZE);
	expect_refused(path, -EBADMSG);
	read_file(path, after);
	assert_memory_equal(data, after, FILE_SIZE);
	assert_int_equal(files(), 1);
}

/* Goal: only a regular file, and by its own name. Method: one of each other kind, bad paths. */
static void test_no_regular_file(void **state)
{
	char name[PATH_MAX + 16];
	struct tenure_gate gate;
	int64_t highest;

	(void)state;
	assert_int_equal(tenure_gate_open(directory, 0, &gate), -EISDIR);
	assert_int_equal(tenure_gate_read(directory, &highest), -EBADMSG);
	expect_refused("/dev/null", -EBADMSG);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_refused(path, -EBADMSG);
	unlink(path);
	assert_int_equal(admit(5), 0);
	assert_int_equal(symlink("gate", crash_path), 0);
	expect_refused(crash_path, -ELOOP);
	unlink(path);
	expect_refused(crash_path, -ELOOP);
	assert_int_equal(files(), 1);
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	expect_refused(name, -ENAMETOOLONG);
}

/* Goal: a file that cannot be made leaves nothing behind. Method: bad paths; each call fails. */
static void test_creation_fails(void **state)
{
	struct tenure_gate gate;

	(void)state;
	assert_int_equal(tenure_gate_open("/tmp/tenure-gate-no-such-directory/gate", -1, &gate), -ENOENT);
	assert_int_equal(tenure_gate_open("", -1, &gate), -ENOENT);
	assert_int_equal(tenure_gate_open("/proc/gate", -1, &gate), -ENOENT);
	disk.error = EIO;
	disk.fail_pwrite = 1;
	assert_int_equal(tenure_gate_open(path, -1, &gate), -EIO);
	disk.fail_fsync = 1;
	assert_int_equal(tenure_gate_open(path, -1, &gate), -EIO);
	disk.fail_pwrite = 1;
	disk.short_pwrite = 5000;
	assert_int_equal(tenure_gate_open(path, -1, &gate), -ENOSPC);
	assert_int_equal(files(), 0);
	expect_highest(0);
}

/*
 * Goal: the file's name is on disk before a token is admitted, whoever made it. Method: a creator whose sync
 * of the directory fails; those after it must sync until one has admitted.
 */
static void test_name_on_disk(void **state)
{
	struct tenure_gate gate;

	(void)state;
	disk.error = EIO;
	disk.fail_fsync = 2;
	assert_int_equal(tenure_gate_open(path, -1, &gate), -EIO);
	assert_int_equal(disk.directory_syncs, 1);
	assert_int_equal(files(), 1);
	assert_int_equal(admit(5), 0);
	assert_int_equal(disk.directory_syncs, 2);
	assert_int_equal(admit(6), 0);
	assert_int_equal(disk.directory_syncs, 2);
}

/* Goal: what killed creators leave does no harm. Method: garbage, and a second name of the gate. */
static void test_leftovers(void **state)
{
	char name[100];

	(void)state;
	snprintf(name, sizeof(name), "%s.Xb3dEf", path);
	write_file(name, "tenure", 6);
	assert_int_equal(admit(5), 0);
	snprintf(name, sizeof(name), "%s.Yb3dEf", path);
	assert_int_equal(link(path, name), 0);
	assert_int_equal(admit(6), 0);
	expect_highest(6);
	assert_int_equal(files(), 3);
}

/* Goal: a spoilt slot is not taken for good. Method: change each byte of the newest; then both slots. */
static void test_damage(void **state)
{
	static char good[FILE_SIZE], data[FILE_SIZE], after[FILE_SIZE];
	struct tenure_gate gate;
	size_t newest;

	(void)state;
	assert_int_equal(admit(1000), 0);
	assert_int_equal(admit(2000), 0);
	gate = opened(2000);
	newest = gate.slot * BLOCK_SIZE;
	tenure_gate_close(&gate);
	read_file(path, good);
	for (size_t i = 0; i < BLOCK_SIZE; i++) {
		memcpy(data, good, FILE_SIZE);
		data[newest + i] ^= 1;
		write_file(path, data, FILE_SIZE);
		expect_highest(1000);
	}
	data[(BLOCK_SIZE - newest) + 20] ^= 1;
	write_file(path, data, FILE_SIZE);
	expect_refused(path, -EBADMSG);
	read_file(path, after);
	assert_memory_equal(data, after, FILE_SIZE);
}

/* The file while its slot that differs goes over from OLD to NEW: K bytes, the first or the last, are new. */
static void tear(const char *old, const char *new, size_t k, bool first, char *out)
{
	size_t slot = memcmp(old, new, BLOCK_SIZE) == 0 ? BLOCK_SIZE : 0;

	memcpy(out, first ? old : new, FILE_SIZE);
	memcpy(out + slot, (first ? new : old) + slot, first ? k : BLOCK_SIZE - k);
}

static void tear_everywhere(int64_t before, int64_t token)
{
	static char old[FILE_SIZE], new[FILE_SIZE], torn[FILE_SIZE];
	struct tenure_gate gate = opened(before);
	int64_t highest;
	unsigned olds = 0, news = 0;

	read_file(path, old);
	assert_int_equal(token > 0 ? tenure_gate_admit(&gate, token) : tenure_gate_forget(&gate), 0);
	tenure_gate_close(&gate);
	read_file(path, new);
	/* Behind the line are zeros, the same before and after: once byte by byte, then in steps. */
	for (size_t k = 0; k <= BLOCK_SIZE; k += k < LINE_SIZE || before == 0 ? 1 : 64) {
		for (int first = 0; first < 2; first++) {
			tear(old, new, k, first, torn);
			write_file(crash_path, torn, FILE_SIZE);
			assert_int_equal(tenure_gate_read(crash_path, &highest), 0);
			assert_true(highest == before || highest == token);
			olds += highest == before;
			news += highest == token;
		}
	}
	assert_true(olds > 0 && news > 0);
}

/*
 * Goal: a write cut short anywhere leaves the old token or the new one. Method: every prefix and every suffix
 * of the write, for tokens and numbers that get longer, shorter and little different, and for forget.
 */
static void test_torn_writes(void **state)
{
	static const int64_t tokens[] = {9, 10, 11, 99, 100, 1099511627776, 1099511627777, 0,
					 4294967338, INT64_MAX - 1, INT64_MAX, 0, 1};
	int64_t before = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		tear_everywhere(before, tokens[i]);
		before = tokens[i];
	}
}

/*
 * Goal: what could not be written or synced is not admitted, the former token stands, and the same gate goes
 * on safely. Method: each call that the two ways through admit and forget make fails once.
 */
static void test_failing_disk(void **state)
{
	static const struct {
		unsigned pwrite, fdatasync;
		size_t written;
		int64_t token;
		int expected;
	} cases[] = {
		{1, 0, 0, 25, -ENOSPC}, {1, 0, 30, 25, -EIO},	{1, 0, 4095, 25, -EIO},
		{0, 1, 0, 25, -ENOSPC}, {0, 2, 0, 25, -ENOSPC}, {0, 1, 0, 20, -ENOSPC},
		{0, 1, 0, 0, -ENOSPC},	{0, 2, 0, 0, -ENOSPC},	{1, 0, 0, 0, -ENOSPC},
	};
	struct tenure_gate gate;

	(void)state;
	disk.error = ENOSPC;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unlink(path);
		assert_int_equal(admit(20), 0);
		gate = opened(20);
		disk.fail_pwrite = cases[i].pwrite;
		disk.fail_fdatasync = cases[i].fdatasync;
		disk.short_pwrite = cases[i].written;
		assert_int_equal(cases[i].token > 0 ? tenure_gate_admit(&gate, cases[i].token)
						    : tenure_gate_forget(&gate),
				 cases[i].expected);
		assert_int_equal(disk.fail_pwrite + disk.fail_fdatasync, 0);
		assert_int_equal(gate.highest, 20);
		assert_int_equal(tenure_gate_admit(&gate, 19), -EPERM);
		assert_int_equal(tenure_gate_admit(&gate, 20), 0);
		assert_int_equal(tenure_gate_admit(&gate, 21), 0);
		assert_int_equal(tenure_gate_admit(&gate, 20), -EPERM);
		tenure_gate_close(&gate);
		expect_highest(21);
		assert_int_equal(admit(20), -EPERM);
	}
}

/* Goal: the descriptor decides, not the promise. Method: the gate's file opened for reading alone. */
static void test_read_only(void **state)
{
	struct tenure_gate gate;

	(void)state;
	assert_int_equal(admit(20), 0);
	gate = opened(20);
	close(gate.fd);
	gate.fd = open(path, O_RDONLY);
	assert_int_equal(tenure_gate_admit(&gate, 21), -EBADF);
	assert_int_equal(gate.highest, 20);
	tenure_gate_close(&gate);
	expect_highest(20);
}

/* Goal: an equal token is synced: the first caller may not have lived to. Method: count the syncs. */
static void test_equal_is_synced(void **state)
{
	unsigned before;

	(void)state;
	assert_int_equal(admit(20), 0);
	before = disk.fdatasyncs;
	assert_int_equal(admit(20), 0);
	assert_int_equal(disk.fdatasyncs, before + 1);
	assert_int_equal(admit(19), -EPERM);
	assert_int_equal(disk.fdatasyncs, before + 1);
}

/* What a successful or failed sync makes of the writes before it. */
static void settle(bool synced)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < disk.pending_count; i++) {
		if (!synced) {
			disk.pending[i].given_up = true;
		} else if (!disk.pending[i].given_up) {
			memcpy(disk.durable + disk.pending[i].slot * BLOCK_SIZE, disk.pending[i].data,
			       BLOCK_SIZE);
			/* It lies over whatever was given up before it. */
			for (unsigned j = 0; j < i; j++)
				if (disk.pending[j].slot == disk.pending[i].slot)
					disk.pending[j].slot = 2;
			disk.pending[i].slot = 2;
		}
	}
	for (unsigned i = 0; i < disk.pending_count; i++)
		if (disk.pending[i].slot < 2)
			disk.pending[kept++] = disk.pending[i];
	disk.pending_count = kept;
}

static void check_crash(const char *image)
{
	int64_t highest = -1;

	disk.crashes++;
	write_file(crash_path, image, FILE_SIZE);
	assert_int_equal(tenure_gate_read(crash_path, &highest), 0);
	assert_true(highest >= disk.admitted);
}

/* Every state in which the pending writes from FIRST on may leave SLOT, and those after it. */
static void check_slot(const char *image, unsigned slot, unsigned first)
{
	char torn[FILE_SIZE];
	unsigned i = first;

	while (i < disk.pending_count && disk.pending[i].slot != slot)
		i++;
	if (slot == 2) {
		check_crash(image);
		return;
	}
	check_slot(image, slot + 1, 0);
	if (i == disk.pending_count)
		return;
	memcpy(torn, image, FILE_SIZE);
	for (size_t size = 1; size < LINE_SIZE; size += 4) {
		memcpy(torn + slot * BLOCK_SIZE, disk.pending[i].data, size);
		check_slot(torn, slot + 1, 0);
	}
	memcpy(torn + slot * BLOCK_SIZE, disk.pending[i].data, BLOCK_SIZE);
	check_slot(torn, slot, i + 1);
	check_slot(image, slot, i + 1);
}

/* The power fails now. */
static void check_crashes(void)
{
	check_slot(disk.durable, 0, 0);
}

/* Returns what admit does, or 1 when the caller has died in it. */
static int admit_or_die(struct tenure_gate *gate, int64_t token)
{
	return setjmp(disk.dead) == 0 ? tenure_gate_admit(gate, token) : 1;
}

/*
 * Goal: a power failure at any point, after any callers that died between write and sync and any syncs that
 * failed, leaves a gate that knows the last token admitted. Method: a model of the page cache and the disk;
 * at each sync every combination of written, torn and lost writes is read.
 */
static void test_power_failure(void **state)
{
	struct tenure_gate gate = {.fd = -1};
	unsigned deaths = 0, failures = 0;
	int64_t token;
	int rc;

	(void)state;
	assert_int_equal(admit(1), 0);
	read_file(path, disk.durable);
	disk.model = true;
	disk.error = EIO;
	disk.admitted = 1;
	srand(1);
	for (int i = 0; i < ADMISSIONS; i++) {
		if (gate.fd < 0)
			assert_int_equal(tenure_gate_open(path, -1, &gate), 0);
		token = gate.highest + rand() % 3;
		disk.fail_fdatasync = rand() % 4 == 0 ? 1 + (unsigned)rand() % 2 : 0;
		disk.die = rand() % 4 == 0 ? 1 + (unsigned)rand() % 2 : 0;
		rc = admit_or_die(&gate, token);
		disk.admitted = rc == 0 ? token : disk.admitted;
		deaths += rc > 0;
		failures += rc < 0;
		check_crashes();
		if (rc > 0 || rand() % 2 == 0)
			tenure_gate_close(&gate);
	}
	if (gate.fd >= 0)
		tenure_gate_close(&gate);
	assert_true(deaths > ADMISSIONS / 20);
	assert_true(failures > ADMISSIONS / 20);
	assert_true(disk.admitted > ADMISSIONS / 4);
	assert_true(disk.crashes > 10 * ADMISSIONS);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A child that does WORK with the ends of two pipes of its own: one to be told, one to tell. */
struct child {
	pid_t pid;
	int tell, hear;
};

static struct child start(int (*work)(int hear, int tell))
{
	int down[2], up[2];
	struct child child;

	assert_int_equal(pipe2(down, O_CLOEXEC) | pipe2(up, O_CLOEXEC), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		close(down[1]);
		close(up[0]);
		_exit(work(down[0], up[1]));
	}
	close(down[0]);
	close(up[1]);
	child.tell = down[1];
	child.hear = up[0];
	return child;
}

static void hear(int fd)
{
	char byte;

	assert_int_equal(read(fd, &byte, 1), 1);
}

/* Tells it to go on and waits for its end; WORK must have returned 0. */
static void finish(struct child *child)
{
	int status;

	/* A byte, for later children keep the pipe open. One that has ended needs none. */
	assert_true(write(child->tell, "", 1) == 1 || errno == EPIPE);
	close(child->tell);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	close(child->hear);
	assert_int_equal(status, 0);
}

/* Holds the gate until it hears something. */
static int hold(int hear_fd, int tell_fd)
{
	struct tenure_gate gate;
	char byte;

	return tenure_gate_open(path, -1, &gate) < 0 || write(tell_fd, "", 1) != 1 ||
	       read(hear_fd, &byte, 1) < 0;
}

/* Goal: no wait, and a wait that ends in time. Method: another process holds the gate all the while. */
static void test_wait_limit(void **state)
{
	struct child holder = start(hold);
	struct tenure_gate gate;
	int64_t start_ms;

	(void)state;
	hear(holder.hear);
	start_ms = now_ms();
	assert_int_equal(tenure_gate_open(path, 0, &gate), -EAGAIN);
	assert_true(now_ms() - start_ms < 90);
	assert_int_equal(tenure_gate_open(path, 100, &gate), -EAGAIN);
	assert_true(now_ms() - start_ms >= 100);
	assert_true(now_ms() - start_ms < DEADLINE_MS);
	finish(&holder);
	assert_int_equal(tenure_gate_open(path, 0, &gate), 0);
	tenure_gate_close(&gate);
}

static int wait_limited(int hear_fd, int tell_fd)
{
	struct tenure_gate gate;

	(void)hear_fd;
	(void)tell_fd;
	return tenure_gate_open(path, 2 * DEADLINE_MS, &gate);
}

/* The gate it gets is the one that PATH names. */
static int wait_for_ever(int hear_fd, int tell_fd)
{
	struct tenure_gate gate;
	struct stat ours, named;

	(void)hear_fd;
	(void)tell_fd;
	return tenure_gate_open(path, -1, &gate) < 0 || fstat(gate.fd, &ours) < 0 || stat(path, &named) < 0 ||
	       ours.st_ino != named.st_ino;
}

static bool ends_within(pid_t pid, int64_t ms)
{
	const struct timespec pause = {.tv_nsec = 2000000};
	int64_t end_ms = now_ms() + ms;
	siginfo_t info = {0};

	while (info.si_pid == 0 && now_ms() < end_ms) {
		assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
		nanosleep(&pause, NULL);
	}
	return info.si_pid == pid;
}

static bool has_opened(pid_t pid, const char *name)
{
	char link[64], target[PATH_MAX];
	ssize_t n;

	for (int fd = 3; fd < 32; fd++) {
		snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid, fd);
		n = readlink(link, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		if (strcmp(target, name) == 0)
			return true;
	}
	return false;
}

static void wait_until_opened(pid_t pid)
{
	const struct timespec pause = {.tv_nsec = 2000000};
	int64_t end_ms = now_ms() + DEADLINE_MS;

	while (!has_opened(pid, path)) {
		assert_true(now_ms() < end_ms);
		nanosleep(&pause, NULL);
	}
}

/* Goal: whoever waits gets the lock when it is free, and not before. Method: with and without a limit. */
static void test_wait_rewarded(void **state)
{
	int (*const ways[])(int, int) = {wait_limited, wait_for_ever};
	struct child holder, waiter;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		holder = start(hold);
		hear(holder.hear);
		waiter = start(ways[i]);
		wait_until_opened(waiter.pid);
		assert_false(ends_within(waiter.pid, 100));
		finish(&holder);
		assert_true(ends_within(waiter.pid, DEADLINE_MS));
		finish(&waiter);
	}
}

/* Goal: a file that was removed admits nobody. Method: it goes while one process waits for its lock. */
static void test_removed_meanwhile(void **state)
{
	struct child holder = start(hold), waiter;

	(void)state;
	hear(holder.hear);
	waiter = start(wait_for_ever);
	wait_until_opened(waiter.pid);
	unlink(path);
	finish(&holder);
	finish(&waiter);
	expect_highest(0);
}

static int listen_only(int hear_fd, int tell_fd)
{
	char byte;

	(void)tell_fd;
	return read(hear_fd, &byte, 1) != 1;
}

/* Goal: the lock lives as long as any copy of the descriptor. Method: a child has one; ours is closed. */
static void test_lock_inherited(void **state)
{
	struct tenure_gate gate = opened(0), other;
	struct child heir = start(listen_only);

	(void)state;
	tenure_gate_close(&gate);
	assert_int_equal(tenure_gate_open(path, 0, &other), -EAGAIN);
	finish(&heir);
	assert_int_equal(tenure_gate_open(path, 0, &other), 0);
	tenure_gate_close(&other);
}

static int open_without_stdio(int hear_fd, int tell_fd)
{
	struct tenure_gate gate;

	(void)hear_fd;
	(void)tell_fd;
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	return tenure_gate_open(path, -1, &gate) < 0 || gate.fd < 3 ||
	       fcntl(gate.fd, F_GETFD) != FD_CLOEXEC || write(1, "x", 1) >= 0;
}

/* Goal: what a program prints never lands in the gate. Method: a process whose 0, 1 and 2 are closed. */
static void test_never_stdio(void **state)
{
	struct child child = start(open_without_stdio);

	(void)state;
	finish(&child);
	expect_highest(0);
}

/* One of many that make the gate at the same instant: when the pipe is closed. */
static int race(int barrier, int64_t token)
{
	struct tenure_gate gate;
	struct stat ours, named;
	char byte;
	int rc;

	if (read(barrier, &byte, 1) != 0 || tenure_gate_open(path, -1, &gate) < 0)
		return 1;
	if (fstat(gate.fd, &ours) < 0 || stat(path, &named) < 0 || ours.st_ino != named.st_ino)
		return 2;
	rc = tenure_gate_admit(&gate, token);
	return rc == 0 || (rc == -EPERM && gate.highest > token) ? 0 : 3;
}

/* Goal: of several creators one wins and all use its file. Method: eight at once, many times. */
static void test_creation_race(void **state)
{
	enum { CREATORS = 8, ROUNDS = 50 };
	int barrier[2], status;

	(void)state;
	disk.lazy = true;
	for (int round = 0; round < ROUNDS; round++) {
		unlink(path);
		assert_int_equal(pipe2(barrier, O_CLOEXEC), 0);
		for (int i = 1; i <= CREATORS; i++) {
			pid_t pid = fork();

			assert_true(pid >= 0);
			if (pid == 0) {
				close(barrier[1]);
				_exit(race(barrier[0], i));
			}
		}
		close(barrier[0]);
		close(barrier[1]);
		for (int i = 0; i < CREATORS; i++) {
			assert_true(wait(&status) > 0);
			assert_int_equal(status, 0);
		}
		expect_highest(CREATORS);
		assert_int_equal(files(), 1);
	}
}

/* Admits more and more until it hears something. */
static int write_on(int hear_fd, int tell_fd)
{
	struct tenure_gate gate;
	char byte;

	disk.lazy = true;
	if (fcntl(hear_fd, F_SETFL, O_NONBLOCK) < 0 || tenure_gate_open(path, -1, &gate) < 0 ||
	    write(tell_fd, "", 1) != 1)
		return 1;
	while (read(hear_fd, &byte, 1) < 0)
		if (tenure_gate_admit(&gate, gate.highest + 1) < 0)
			return 2;
	return 0;
}

/* Goal: whoever looks sees no token that was outdone before. Method: look while another admits. */
static void test_read_beside_writer(void **state)
{
	struct child writer = start(write_on);
	int64_t before = 0, highest = 0, end_ms = now_ms() + 30000;
	unsigned changes = 0;

	(void)state;
	hear(writer.hear);
	while (changes <= 1000 && now_ms() < end_ms) {
		assert_int_equal(tenure_gate_read(path, &highest), 0);
		assert_true(highest >= before);
		changes += highest > before;
		before = highest;
	}
	finish(&writer);
	assert_true(changes > 1000);
	expect_highest(tenure_gate_read(path, &highest) == 0 ? highest : -1);
}

/*
 * Goal: the same where it is hardest. Method: between the readings of the two slots a writer goes on by one
 * token in the first and is at work on the second, so that both are spoilt for the reader.
 */
static void test_read_between_writes(void **state)
{
	static char before[FILE_SIZE], old[FILE_SIZE], new[FILE_SIZE], torn[FILE_SIZE];
	int64_t highest = 0;

	(void)state;
	for (int64_t token = 1; token <= 3; token++)
		assert_int_equal(admit(token), 0);
	read_file(path, before);
	assert_int_equal(admit(4), 0);
	read_file(path, old);
	assert_int_equal(admit(5), 0);
	read_file(path, new);
	tear(old, new, 15, true, torn);
	write_file(path, before, FILE_SIZE);
	disk.between = torn;
	assert_int_equal(tenure_gate_read(path, &highest), 0);
	assert_null(disk.between);
	assert_int_equal(highest, 4);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_order),
		TEST(test_no_token),
		TEST(test_forget),
		TEST(test_created),
		TEST(test_read_nothing),
		TEST(test_read_locked),
		TEST(test_foreign_file),
		TEST(test_no_regular_file),
		TEST(test_creation_fails),
		TEST(test_name_on_disk),
		TEST(test_leftovers),
		TEST(test_damage),
		TEST(test_torn_writes),
		TEST(test_failing_disk),
		TEST(test_read_only),
		TEST(test_equal_is_synced),
		TEST(test_power_failure),
		TEST(test_wait_limit),
		TEST(test_wait_rewarded),
		TEST(test_removed_meanwhile),
		TEST(test_lock_inherited),
		TEST(test_never_stdio),
		TEST(test_creation_race),
		TEST(test_read_beside_writer),
		TEST(test_read_between_writes),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
