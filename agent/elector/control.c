/* The control socket: its clients, their lines and their answers. */
#include "elector/control.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/control.h"
#include "common/log.h"
#include "elector/commands.h"
#include "elector/contest.h"
#include "elector/restarting.h"
#include "elector/shell.h"

enum {
	IDLE_S = 60,
	STATUS_WAIT_MS = 500,
	GROUPS_MAX = 256,
	LINES_AT_ONCE = 16,
};

/*
 * A client is freed by sweep() alone, in a turn of its own: whoever holds one during a callback may rely
 * on it.
 */
struct client {
	struct control *control;
	struct client *next;
	struct bufferevent *stream;
	struct event *limit; /* until when a status waits for looks at ZooKeeper */
	bool may_change;
	bool waits;  /* for an answer; other lines have to wait */
	bool peeks;  /* waits for `status` */
	bool last;   /* hang up when everything is written */
	bool doomed; /* hang up */
	struct commands_status status;
};

struct control {
	struct shell *shell;
	int fd; /* -1: closed */
	struct event *listener;
	struct event *sweep;
	struct client *clients;
	unsigned client_count;
	bool held; /* nobody is taken in any more */
};

static void doom(struct client *client)
{
	if (client->doomed)
		return;
	client->doomed = true;
	bufferevent_disable(client->stream, EV_READ | EV_WRITE);
	for (size_t i = 0; i < client->control->shell->contest_count; i++)
		contest_hung_up(&client->control->shell->contests[i], client);
	restarting_forget(client->control->shell, client);
	event_active(client->control->sweep, EV_TIMEOUT, 0);
}

static void client_free(struct client *client)
{
	if (client->limit)
		event_free(client->limit);
	if (client->stream)
		bufferevent_free(client->stream);
	free(client);
}

/* ---- answers ---- */

static void set_idle_limit(struct client *client, bool limited)
{
	const struct timeval idle = {.tv_sec = IDLE_S};

	bufferevent_set_timeouts(client->stream, limited ? &idle : NULL, &idle);
}

static void send_object(struct client *client, json_t *object)
{
	struct evbuffer *output = bufferevent_get_output(client->stream);
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

	json_decref(object);
	if (!text || evbuffer_add(output, text, strlen(text)) < 0 || evbuffer_add(output, "\n", 1) < 0 ||
	    evbuffer_get_length(output) > CONTROL_REPLY_MAX)
		doom(client);
	free(text);
}

static void answer(struct client *client, json_t *object)
{
	if (!client || client->doomed) {
		json_decref(object);
		return;
	}
	send_object(client, object);
	client->peeks = false;
	if (client->waits) {
		client->waits = false;
		set_idle_limit(client, true);
		/* Lines that came meanwhile are read in a turn of their own. */
		event_active(client->control->sweep, EV_TIMEOUT, 0);
	}
}

void client_wait(struct client *client)
{
	if (!client || client->doomed)
		return;
	client->waits = true;
	set_idle_limit(client, false);
}

void client_progress(struct client *client, const char *text)
{
	if (client && !client->doomed)
		send_object(client, json_pack("{s:s}", "progress", text));
}

void client_reply(struct client *client, json_t *object)
{
	if (object && json_object_set_new(object, "ok", json_true()) == 0) {
		answer(client, object);
		return;
	}
	json_decref(object);
	client_refuse(client, EXIT_INTERNAL, "out of memory");
}

void client_refuse(struct client *client, int status, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	answer(client, json_pack("{s:b, s:i, s:s}", "ok", 0, "exit", status, "error", text));
}

/* ---- lines ---- */

static void run_line(struct client *client, const char *line, size_t size)
{
	const struct timeval limit = {.tv_usec = STATUS_WAIT_MS * 1000L};
	struct shell *shell = client->control->shell;

	/* The answer is not to be older than what the supervisor has said by now. */
	upward_drain(shell);
	if (client->doomed)
		return;
	client->peeks = commands_run(shell, client, client->may_change, line, size, &client->status);
	if (client->peeks) {
		client_wait(client);
		event_add(client->limit, &limit);
	}
}

static void read_lines(struct client *client)
{
	struct evbuffer *input = bufferevent_get_input(client->stream);
	unsigned i;

	for (i = 0; i < LINES_AT_ONCE && !client->waits && !client->last && !client->doomed; i++) {
		size_t size;
		char *line = evbuffer_readln(input, &size, EVBUFFER_EOL_LF);

		if ((line && size >= CONTROL_LINE_MAX) ||
		    (!line && evbuffer_get_length(input) >= CONTROL_LINE_MAX)) {
			client_refuse(client, EXIT_USAGE, "a line of more than %d bytes", CONTROL_LINE_MAX);
			client->last = true;
		} else if (line) {
			run_line(client, line, size);
		} else {
			return;
		}
		free(line);
	}
	/* The rest in another turn. */
	if (i == LINES_AT_ONCE && !client->waits)
		event_active(client->control->sweep, EV_TIMEOUT, 0);
}

static void on_read(struct bufferevent *stream, void *context)
{
	struct client *client = context;

	(void)stream;
	read_lines(client);
	shell_settle(client->control->shell);
}

static void on_written(struct bufferevent *stream, void *context)
{
	struct client *client = context;

	(void)stream;
	if (client->last && !client->waits)
		doom(client);
}

/* Who has said all still gets its answer. */
static void on_event(struct bufferevent *stream, short what, void *context)
{
	struct client *client = context;
	bool unsaid = client->waits || evbuffer_get_length(bufferevent_get_output(stream)) > 0;

	if ((what & BEV_EVENT_EOF) && unsaid)
		client->last = true;
	else
		doom(client);
	shell_settle(client->control->shell);
}

static void on_limit(evutil_socket_t fd, short what, void *context)
{
	struct client *client = context;
	struct shell *shell = client->control->shell;

	(void)fd;
	(void)what;
	upward_drain(shell);
	if (client->peeks && !client->doomed)
		commands_status_end(shell, client, &client->status);
	shell_settle(shell);
}

/* ---- clients ---- */

static bool in_admin_group(int fd, gid_t gid, gid_t admin)
{
	gid_t groups[GROUPS_MAX];
	socklen_t size = sizeof groups;

	if (gid == admin)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
		return false;
	for (size_t i = 0; i < size / sizeof *groups; i++)
		if (groups[i] == admin)
			return true;
	return false;
}

static bool may_change(const struct shell *shell, int fd)
{
	struct ucred peer;
	socklen_t size = sizeof peer;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return false;
	return peer.uid == 0 || peer.uid == shell->owner ||
	       in_admin_group(fd, peer.gid, shell->config->control.admin_group);
}

/* Takes over FD. */
static int add_client(struct control *control, int fd)
{
	struct client *client = calloc(1, sizeof *client);

	if (!client) {
		close(fd);
		return -ENOMEM;
	}
	client->control = control;
	client->may_change = may_change(control->shell, fd);
	client->limit = evtimer_new(control->shell->base, on_limit, client);
	client->stream = bufferevent_socket_new(control->shell->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!client->stream)
		close(fd);
	if (!client->stream || !client->limit) {
		client_free(client);
		return -ENOMEM;
	}
	bufferevent_setcb(client->stream, on_read, on_written, on_event, client);
	bufferevent_setwatermark(client->stream, EV_READ, 0, (size_t)2 * CONTROL_LINE_MAX);
	set_idle_limit(client, true);
	bufferevent_enable(client->stream, EV_READ | EV_WRITE);
	client->next = control->clients;
	control->clients = client;
	control->client_count++;
	return 0;
}

static void on_connect(evutil_socket_t listener, short what, void *context)
{
	const struct timeval a_while = {.tv_usec = 100000};
	struct control *control = context;
	int fd;

	(void)what;
	while (control->client_count < CONTROL_CLIENTS_MAX) {
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		/* Without a descriptor for it, who waits would be reported again and again. */
		if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
			event_del(control->listener);
			event_add(control->sweep, &a_while);
		}
		if (fd < 0)
			return;
		if (add_client(control, fd) < 0)
			return;
	}
	/* More wait in the backlog until somebody leaves. */
	event_del(control->listener);
}

/* Frees who is doomed, and goes on with who is not. */
static void on_sweep(evutil_socket_t fd, short what, void *context)
{
	struct control *control = context;
	struct client **link = &control->clients;

	(void)fd;
	(void)what;
	for (struct client *client = control->clients; client; client = client->next) {
		if (client->peeks && !client->doomed &&
		    !commands_status_pending(control->shell, &client->status)) {
			upward_drain(control->shell);
			commands_status_end(control->shell, client, &client->status);
		}
		if (!client->doomed && !client->waits)
			read_lines(client);
	}
	while (*link) {
		struct client *client = *link;

		if (client->doomed) {
			*link = client->next;
			control->client_count--;
			client_free(client);
		} else {
			link = &client->next;
		}
	}
	if (control->fd >= 0 && !control->held && control->client_count < CONTROL_CLIENTS_MAX)
		event_add(control->listener, NULL);
	shell_settle(control->shell);
}

/* ---- the interface ---- */

int control_open(struct shell *shell, int fd)
{
	struct control *control = calloc(1, sizeof *control);

	if (!control)
		return -ENOMEM;
	shell->control = control;
	control->shell = shell;
	control->fd = fd;
	if (evutil_make_socket_nonblocking(fd) < 0)
		return -EBADF;
	control->listener = event_new(shell->base, fd, EV_READ | EV_PERSIST, on_connect, control);
	control->sweep = event_new(shell->base, -1, 0, on_sweep, control);
	if (!control->listener || !control->sweep || event_add(control->listener, NULL) < 0)
		return -ENOMEM;
	return 0;
}

void control_close(struct control *control)
{
	if (!control || control->fd < 0)
		return;
	event_del(control->listener);
	close(control->fd);
	control->fd = -1;
	for (struct client *client = control->clients; client; client = client->next)
		doom(client);
}

void control_hold(struct control *control)
{
	if (!control || control->fd < 0)
		return;
	control->held = true;
	event_del(control->listener);
}

void control_abandon(struct shell *shell, int status, const char *error)
{
	if (!shell->control)
		return;
	for (struct client *client = shell->control->clients; client; client = client->next) {
		struct evbuffer *output = bufferevent_get_output(client->stream);

		if (client->doomed)
			continue;
		if (client->waits)
			client_refuse(client, status, "%s", error);
		/* The stream keeps it from everybody else. */
		evbuffer_unfreeze(output, 1);
		if (evbuffer_get_length(output) > 0)
			evbuffer_write(output, bufferevent_getfd(client->stream));
	}
}

void control_peeked(struct shell *shell)
{
	if (shell->control)
		event_active(shell->control->sweep, EV_TIMEOUT, 0);
}
