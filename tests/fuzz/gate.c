/*
 * The token gate's file. An input of 8192 bytes or more is the file; a shorter one gives the line of the first slot
 * and then, after its newline, that of the second. A checksum of "!" is replaced by the right one.
 */
#include "fuzz.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "tenure/gate.h"

enum { BLOCK_SIZE = 4096, SLOTS = 2, FILE_SIZE = SLOTS * BLOCK_SIZE };

/* Copies a line to BLOCK with the checksum that the format asks for: FNV-1a of the text before it. */
static void fill(char *block, const char *line, size_t size)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	size_t n = size;

	memcpy(block, line, size);
	if (n > 0 && line[n - 1] == '\n')
		n--;
	if (n == 0 || line[n - 1] != '!' || n + 16 >= BLOCK_SIZE)
		return;
	n--;
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)line[i]) * UINT64_C(0x100000001b3);
	snprintf(block + n, BLOCK_SIZE - n, "%016" PRIx64 "\n", hash);
}

static void make_file(char file[FILE_SIZE], const char *data, size_t size)
{
	const char *newline = size > 0 ? memchr(data, '\n', size) : NULL;
	size_t first = newline ? (size_t)(newline - data) + 1 : size;

	memset(file, 0, FILE_SIZE);
	if (size >= FILE_SIZE) {
		memcpy(file, data, FILE_SIZE);
		return;
	}
	if (first > BLOCK_SIZE)
		first = BLOCK_SIZE;
	fill(file, data, first);
	fill(file + BLOCK_SIZE, data + first, size - first < BLOCK_SIZE ? size - first : BLOCK_SIZE);
}

/* The file under test has a name, since a gate follows no link. */
static char path[4096];

static void write_file(const char *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");

	assert(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

/* Returns the token of the file, or negative errno. */
static int64_t read_gate(void)
{
	int64_t highest = -7;
	int rc = tenure_gate_read(path, &highest);

	assert(rc < 0 ? highest == -7 : highest >= 0);
	return rc < 0 ? rc : highest;
}

/* Whether one of the slots holds TOKEN, as text. */
static bool is_held(const char file[FILE_SIZE], int64_t token)
{
	char text[32];
	size_t n = (size_t)snprintf(text, sizeof(text), " %" PRId64 " ", token);

	return memmem(file, BLOCK_SIZE, text, n) || memmem(file + BLOCK_SIZE, BLOCK_SIZE, text, n);
}

/* One spoilt slot leaves the other's token or none, and a file of another size is no gate. */
static void check_damage(const char file[FILE_SIZE], int64_t highest, size_t at)
{
	char damaged[FILE_SIZE];
	int64_t rest[SLOTS];

	for (size_t slot = 0; slot < SLOTS; slot++) {
		memcpy(damaged, file, FILE_SIZE);
		damaged[slot * BLOCK_SIZE + at] ^= 1;
		write_file(damaged, FILE_SIZE);
		rest[slot] = read_gate();
		assert(rest[slot] == -EBADMSG || is_held(file, rest[slot]));
	}
	assert(rest[0] == highest || rest[1] == highest);
	write_file(file, FILE_SIZE - 1);
	assert(read_gate() == -EBADMSG);
}

/* What the gate admits is the file's next token, and nothing lower is. */
static void check_use(const char file[FILE_SIZE], int64_t highest)
{
	struct tenure_gate gate;
	int64_t next = highest < INT64_MAX ? highest + 1 : highest;

	write_file(file, FILE_SIZE);
	assert(tenure_gate_open(path, 0, &gate) == 0 && gate.highest == highest);
	/* The numbers end here, and the next would be no higher: no use of a gate gets so far. */
	if (gate.number >= UINT64_MAX - 1) {
		tenure_gate_close(&gate);
		return;
	}
	assert(tenure_gate_admit(&gate, 0) == -EINVAL);
	assert(highest < 2 || tenure_gate_admit(&gate, highest - 1) == -EPERM);
	assert(read_gate() == highest);
	assert(tenure_gate_admit(&gate, next) == 0 && read_gate() == next);
	assert(tenure_gate_forget(&gate) == 0 && read_gate() == 0);
	tenure_gate_close(&gate);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *folder = getenv("TMPDIR");
	char file[FILE_SIZE];
	struct tenure_gate gate;
	int64_t highest;
	int fd;

	snprintf(path, sizeof(path), "%s/fuzz-gate-XXXXXX", folder ? folder : "/tmp");
	fd = mkstemp(path);
	assert(fd >= 0);
	close(fd);
	make_file(file, (const char *)data, size);
	write_file(file, FILE_SIZE);
	highest = read_gate();
	if (highest >= 0) {
		assert(is_held(file, highest));
		check_damage(file, highest, size % 32);
		check_use(file, highest);
	} else {
		assert(highest == -EBADMSG && tenure_gate_open(path, 0, &gate) == -EBADMSG);
	}
	unlink(path);
	return 0;
}
