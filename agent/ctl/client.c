/* One request to the agent through its control socket, with a bounded wait. */
#include "ctl/client.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/control.h"
#include "ctl/output.h"

enum {
	TICK_MS = 200,
	FIRST_CAPACITY = 4096,
};

/* What has been received and not yet been taken. */
struct inbox {
	char *bytes;
	size_t used, capacity;
	size_t seen; /* no newline before this */
};

int64_t client_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int open_socket(const struct client_call *call, int *out)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	/* The agent's backlog may be full: this bounds the wait in connect. */
	struct timeval limit = {.tv_sec = call->wait_ms / 1000, .tv_usec = call->wait_ms % 1000 * 1000 + 1};
	int fd, rc;

	if (strlen(call->socket) >= sizeof(address.sun_path)) {
		complain("%s: too long for the name of a socket", call->socket);
		return -EINVAL;
	}
	strcpy(address.sun_path, call->socket);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		goto failed;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		goto failed;
	*out = fd;
	return 0;
failed:
	rc = errno == EAGAIN ? -ETIMEDOUT : -errno;
	complain("no agent answers at %s: %s", call->socket, strerror(-rc));
	if (fd >= 0)
		close(fd);
	return rc;
}

static int send_request(int fd, const struct client_call *call)
{
	char *text = json_dumps(call->request, JSON_COMPACT);
	size_t size, sent = 0;
	int rc = 0;

	if (text == NULL)
		return -ENOMEM;
	size = strlen(text);
	if (size >= CONTROL_LINE_MAX) {
		complain("the request is too long");
		free(text);
		return -EINVAL;
	}
	text[size++] = '\n'; /* in place of the NUL: what follows goes by size */
	while (sent < size && rc == 0) {
		ssize_t n = send(fd, text + sent, size - sent, MSG_NOSIGNAL);

		if (n >= 0)
			sent += (size_t)n;
		else if (errno != EINTR)
			rc = errno == EAGAIN ? -ETIMEDOUT : -errno;
	}
	free(text);
	if (rc < 0)
		complain("cannot ask the agent at %s: %s", call->socket, strerror(-rc));
	return rc;
}

/* Reads what is there. Returns 0, or negative errno after having said so. */
static int receive(int fd, const struct client_call *call, struct inbox *in)
{
	ssize_t n;

	if (in->used == in->capacity) {
		size_t capacity = in->capacity == 0 ? FIRST_CAPACITY : in->capacity * 2;
		char *grown;

		if (in->capacity >= CONTROL_REPLY_MAX) {
			complain("the answer of the agent at %s is longer than %d bytes", call->socket,
				 CONTROL_REPLY_MAX);
			return -EMSGSIZE;
		}
		grown = realloc(in->bytes, capacity);
		if (grown == NULL)
			return -ENOMEM;
		in->bytes = grown;
		in->capacity = capacity;
	}
	n = recv(fd, in->bytes + in->used, in->capacity - in->used, MSG_DONTWAIT);
	if (n > 0) {
		in->used += (size_t)n;
		return 0;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	n = n == 0 ? -ECONNRESET : -errno;
	complain("the agent at %s closed the connection before it had answered", call->socket);
	return (int)n;
}

/* Looks at one line. Returns 1 and the reply when it is the last one, 0 for progress, or negative errno. */
static int take_line(const char *line, size_t size, const struct client_call *call, int64_t elapsed_ms,
		     json_t **reply)
{
	json_t *value = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);
	const char *step = json_string_value(json_object_get(value, "progress"));

	if (json_is_boolean(json_object_get(value, "ok"))) {
		*reply = value;
		return 1;
	}
	if (step != NULL && call->progress != NULL)
		call->progress(call->context, step, elapsed_ms);
	json_decref(value);
	if (step != NULL)
		return 0;
	complain("the answer of the agent at %s is not one of tenured", call->socket);
	return -EPROTO;
}

/* Takes every whole line. Returns as take_line. */
static int take_lines(struct inbox *in, const struct client_call *call, int64_t elapsed_ms, json_t **reply)
{
	size_t start = 0;
	int rc = 0;

	while (rc == 0) {
		char *end =
			in->used > in->seen ? memchr(in->bytes + in->seen, '\n', in->used - in->seen) : NULL;

		if (end == NULL)
			break;
		rc = take_line(in->bytes + start, (size_t)(end - in->bytes) - start, call, elapsed_ms, reply);
		start = in->seen = (size_t)(end - in->bytes) + 1;
	}
	if (start > 0)
		memmove(in->bytes, in->bytes + start, in->used - start);
	in->used -= start;
	in->seen = in->used;
	return rc;
}

static int await_reply(int fd, const struct client_call *call, int64_t start_ms, struct inbox *in,
		       json_t **reply)
{
	for (;;) {
		int64_t elapsed_ms = client_now_ms() - start_ms, left_ms = call->wait_ms - elapsed_ms;
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		int rc;

		if (left_ms <= 0) {
			complain("the agent at %s has not answered within %.1f s", call->socket,
				 (double)call->wait_ms / 1000);
			return -ETIMEDOUT;
		}
		if (call->progress != NULL && left_ms > TICK_MS)
			left_ms = TICK_MS;
		rc = poll(&wait, 1, (int)left_ms);
		if (rc < 0 && errno != EINTR)
			return -errno;
		if (rc <= 0) {
			if (call->progress != NULL)
				call->progress(call->context, NULL, client_now_ms() - start_ms);
			continue;
		}
		rc = receive(fd, call, in);
		if (rc == 0)
			rc = take_lines(in, call, client_now_ms() - start_ms, reply);
		if (rc != 0)
			return rc > 0 ? 0 : rc;
	}
}

int client_ask(const struct client_call *call, json_t **reply)
{
	struct inbox in = {0};
	int64_t start_ms = client_now_ms();
	int fd = -1, rc;

	rc = open_socket(call, &fd);
	if (rc < 0)
		return rc;
	rc = send_request(fd, call);
	if (rc == 0)
		rc = await_reply(fd, call, start_ms, &in, reply);
	if (rc == -ENOMEM)
		complain("out of memory");
	free(in.bytes);
	close(fd);
	return rc;
}

int client_refused(const json_t *reply)
{
	static const int known[] = {EXIT_NO,	   EXIT_UNKNOWN,   EXIT_USAGE,	 EXIT_UNREACHABLE,
				    EXIT_INTERNAL, EXIT_TRY_AGAIN, EXIT_REFUSED, EXIT_CONFIGURATION};
	const char *text = json_string_value(json_object_get(reply, "error"));
	json_int_t status = json_integer_value(json_object_get(reply, "exit"));

	complain("%s", text != NULL ? text : "the agent refused and did not say why");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (status == known[i])
			return known[i];
	return EXIT_INTERNAL;
}
