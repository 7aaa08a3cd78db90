/*
 * Passes a token gate again and again, for the storm of the live test: gate_worker GATE LOG SEED. Each token
 * is drawn near the highest of the moment. While the gate is still locked, it appends one line of 32 bytes to
 * LOG: "A TOKEN" admitted, "R TOKEN" refused. What must not be is appended as "X ...", and ends it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tenure/gate.h"

/* A page is a multiple of it, so a kill cuts no line in two. */
enum { LINE_SIZE = 32 };

static bool say(int log_fd, const char *what, int64_t number)
{
	char line[LINE_SIZE + 1];
	int size = snprintf(line, sizeof(line), "%s %" PRId64, what, number);

	return snprintf(line + size, sizeof(line) - (size_t)size, "%*s", LINE_SIZE - size, "\n") > 0 &&
	       write(log_fd, line, LINE_SIZE) == LINE_SIZE;
}

/* Some lower, many equal, some higher. */
static int64_t draw(int64_t highest, unsigned *seed)
{
	int r = rand_r(seed) % 10;
	int64_t token = highest;

	if (r < 3)
		token -= 1 + rand_r(seed) % 5;
	else if (r < 7)
		token += 1 + rand_r(seed) % 3;
	return token > 0 ? token : 1;
}

static bool pass(const char *path, int log_fd, int64_t token)
{
	struct tenure_gate gate;
	bool good;
	int rc = tenure_gate_open(path, -1, &gate);

	if (rc < 0) {
		say(log_fd, "X open", rc);
		return false;
	}
	rc = tenure_gate_admit(&gate, token);
	good = rc == 0 || rc == -EPERM;
	if (good)
		good = say(log_fd, rc == 0 ? "A" : "R", token);
	else
		say(log_fd, "X admit", rc);
	tenure_gate_close(&gate);
	return good;
}

int main(int argc, char **argv)
{
	int64_t highest = 0, before = 0;
	unsigned seed;
	int log_fd, rc;

	if (argc != 4)
		return 64;
	seed = (unsigned)strtoul(argv[3], NULL, 10);
	log_fd = open(argv[2], O_WRONLY | O_APPEND | O_CLOEXEC);
	if (log_fd < 0)
		return 70;
	do {
		rc = tenure_gate_read(argv[1], &highest);
		if (rc < 0 || highest < before) {
			say(log_fd, "X read", rc < 0 ? rc : highest);
			return 1;
		}
		before = highest;
	} while (pass(argv[1], log_fd, draw(highest, &seed)));
	return 1;
}
