/* A pipe from which lines are read as they come. */
#include "supervisor/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/clock.h"

void output_init(struct output *output)
{
	memset(output, 0, sizeof(*output));
	output->watch.fd = -1;
}

static void refill(struct output *output)
{
	int64_t now = clock_now_ns(), per_line = INT64_C(1000000000) / OUTPUT_LINES_PER_SECOND;
	int64_t lines = (now - output->refilled_ns) / per_line;

	if (lines <= 0)
		return;
	output->refilled_ns += lines * per_line;
	if (lines > OUTPUT_BURST_LINES - (int64_t)output->allowance)
		output->allowance = OUTPUT_BURST_LINES;
	else
		output->allowance += (unsigned)lines;
}

static void say_dropped(struct output *output)
{
	char text[80];

	if (output->dropped == 0)
		return;
	snprintf(text, sizeof(text), "[%llu lines dropped: more than %d in a second]",
		 (unsigned long long)output->dropped, OUTPUT_LINES_PER_SECOND);
	output->dropped = 0;
	output->take(output, text);
}

static void end_line(struct output *output)
{
	if (output->length > 0 && output->line[output->length - 1] == '\r')
		output->length--;
	output->line[output->length] = '\0';
	output->length = 0;
	if (output->allowance == 0)
		refill(output);
	if (output->allowance == 0) {
		output->dropped++;
		return;
	}
	output->allowance--;
	say_dropped(output);
	output->take(output, output->line);
}

static void add_byte(struct output *output, char byte)
{
	if (byte == '\n') {
		end_line(output);
		return;
	}
	output->line[output->length++] = byte == '\0' ? '?' : byte;
	if (output->length == OUTPUT_LINE_MAX)
		end_line(output);
}

/* Reads at most OUTPUT_TURN_BYTES. Returns false when nothing more will come. */
static bool read_some(struct output *output)
{
	char bytes[4096];
	size_t total = 0;

	while (total < OUTPUT_TURN_BYTES) {
		ssize_t n = read(output->watch.fd, bytes, sizeof(bytes));

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		if (n == 0)
			return false;
		for (ssize_t i = 0; i < n; i++)
			add_byte(output, bytes[i]);
		total += (size_t)n;
		if ((size_t)n < sizeof(bytes))
			break;
	}
	return true;
}

static void on_ready(struct watch *watch)
{
	struct output *output = watch_owner(watch, struct output, watch);

	if (!read_some(output))
		output_close(output);
}

int output_open(struct output *output, struct loop *loop, int fd, void (*take)(struct output *, const char *))
{
	int rc;

	output_init(output);
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0) {
		rc = -errno;
		goto fail;
	}
	output->line = malloc(OUTPUT_LINE_MAX + 1);
	if (!output->line) {
		rc = -ENOMEM;
		goto fail;
	}
	output->watch = (struct watch){.fd = fd, .ready = on_ready};
	output->loop = loop;
	output->take = take;
	output->allowance = OUTPUT_BURST_LINES;
	output->refilled_ns = clock_now_ns();
	rc = loop_add(loop, &output->watch);
	if (rc == 0)
		return 0;
fail:
	free(output->line);
	close(fd);
	output_init(output);
	return rc;
}

void output_drain(struct output *output)
{
	if (output->watch.fd < 0)
		return;
	/* Twice covers a full pipe and what came into it meanwhile; a chatty grandchild must not hold us
	 * here. */
	if (!read_some(output) || !read_some(output)) { /* NOLINT(misc-redundant-expression): it reads on */
		output_close(output);
		return;
	}
	if (output->length > 0)
		end_line(output);
	say_dropped(output);
}

void output_close(struct output *output)
{
	if (output->watch.fd < 0)
		return;
	if (output->length > 0)
		end_line(output);
	say_dropped(output);
	loop_remove(output->loop, &output->watch);
	close(output->watch.fd);
	free(output->line);
	output_init(output);
}
