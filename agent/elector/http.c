/* The HTTP interface: its clients, and the bounds that they are kept in. See http.h. */
#include "elector/http.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/http_socket.h"
#include "common/log.h"
#include "elector/http_answer.h"
#include "elector/instant.h"
#include "elector/shell.h"

enum {
	CLIENTS_MAX = 64,
	HEADERS_MAX = 8192, /* bytes of a request's head */
	BODY_MAX = 1024,    /* nobody has a reason to send one */
	SOON_MS = 1, /* until one that was hung up on is gone */
	TICK_MS = 100,
	SWEEP_MS = 1000,
	RETRY_MS = 1000,
};

static const int64_t client_limit_ns = INT64_C(20000000000); /* for a request to come whole and its answer to be taken */
static const int64_t look_limit_ns = INT64_C(500000000);

/*
 * evhttp owns the connections and does not tell when one ends. We hold a reference to each one's bufferevent: when
 * evhttp lets go of it, it takes its callbacks away. The list is in the order of the deadlines.
 */
struct http_client {
	struct http_client *next;
	struct bufferevent *stream;
	int64_t deadline_ns;
	bool ended;                     /* it has been hung up on */
	struct evhttp_request *request; /* waits for looks at ZooKeeper; NULL: none */
	int64_t look_ns;                /* until then */
};

struct http {
	struct shell *shell;
	struct evhttp *server;
	struct evhttp_bound_socket *bound; /* NULL: does not listen */
	struct event *turn; /* ends what is over, answers who has waited, takes the next one in */
	struct event *retry;
	struct http_client *clients;
	unsigned client_count;
	bool held; /* nobody is taken in any more */
};

static void turn_within(struct http *http, int ms)
{
	const struct timeval wait = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000L};

	event_add(http->turn, &wait);
}

/* ---- clients ---- */

static bool is_over(const struct http_client *client)
{
	bufferevent_data_cb read_cb;

	bufferevent_getcb(client->stream, &read_cb, NULL, NULL, NULL);
	return !read_cb;
}

/* evhttp sees the end of the connection and frees it, in a turn of its own. */
static void hang_up(struct http_client *client)
{
	client->ended = true;
	shutdown(bufferevent_getfd(client->stream), SHUT_RDWR);
}

static void append(struct http *http, struct http_client *client)
{
	struct http_client **link = &http->clients;

	while (*link)
		link = &(*link)->next;
	client->next = NULL;
	client->deadline_ns = instant_now() + client_limit_ns;
	*link = client;
}

static struct http_client *take_out(struct http *http, const struct bufferevent *stream)
{
	for (struct http_client **link = &http->clients; *link; link = &(*link)->next) {
		struct http_client *client = *link;

		if (client->stream == stream) {
			*link = client->next;
			return client;
		}
	}
	return NULL;
}

static void forget_ended(struct http *http)
{
	struct http_client **link = &http->clients;

	while (*link) {
		struct http_client *client = *link;

		if (!is_over(client)) {
			link = &client->next;
			continue;
		}
		*link = client->next;
		http->client_count--;
		bufferevent_decref(client->stream);
		free(client);
	}
}

/* A client that does nothing is not to keep others out: the one whose time would be over first makes room. */
static void make_room(struct http *http)
{
	struct http_client *first = NULL;

	for (struct http_client *client = http->clients; client; client = client->next) {
		if (client->ended)
			return;
		if (!first && !client->request)
			first = client;
	}
	if (first)
		hang_up(first);
}

static void end_overdue(struct http *http)
{
	int64_t now_ns = instant_now();

	for (struct http_client *client = http->clients; client; client = client->next)
		if (!client->ended && !client->request && now_ns >= client->deadline_ns)
			hang_up(client);
}

/* Called by evhttp for every connection, which it drops again when NULL is what it gets from us and from malloc. */
static struct bufferevent *on_connection(struct event_base *base, void *context)
{
	struct http *http = context;
	struct http_client *client = calloc(1, sizeof *client);

	/* One in a turn: whoever connects without end is not to hold up the rest. */
	evconnlistener_disable(evhttp_bound_socket_get_listener(http->bound));
	event_active(http->turn, EV_TIMEOUT, 0);
	if (client)
		client->stream = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	if (!client || !client->stream) {
		free(client);
		return NULL;
	}
	bufferevent_incref(client->stream);
	append(http, client);
	http->client_count++;
	return client->stream;
}

/* ---- answers ---- */

static void send_answer(struct http *http, struct evhttp_request *request)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
	struct http_answer answer = {.status = 500, .body = evbuffer_new(), .headers = headers};
	char length[24];

	if (!answer.body) {
		evhttp_send_error(request, HTTP_INTERNAL, NULL);
		return;
	}
	evhttp_add_header(headers, "Cache-Control", "no-store");
	evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
	http_answer(http->shell, evhttp_request_get_command(request),
		    evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request)), &answer);
	snprintf(length, sizeof length, "%zu", evbuffer_get_length(answer.body));
	evhttp_add_header(headers, "Content-Length", length);
	/* evhttp would send it all the same. */
	if (evhttp_request_get_command(request) == EVHTTP_REQ_HEAD)
		evbuffer_drain(answer.body, evbuffer_get_length(answer.body));
	evhttp_send_reply(request, answer.status, NULL, answer.body);
	evbuffer_free(answer.body);
}

static void on_request(struct evhttp_request *request, void *context)
{
	struct http *http = context;
	struct http_client *client =
		take_out(http, evhttp_connection_get_bufferevent(evhttp_request_get_connection(request)));

	if (client)
		append(http, client);
	/* The answer is not to be older than what the supervisor has said by now. */
	upward_drain(http->shell);
	if (client && http_answer_looks(http->shell, evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request)))) {
		client->request = request;
		client->look_ns = instant_now() + look_limit_ns;
		turn_within(http, TICK_MS);
	} else {
		send_answer(http, request);
	}
	shell_settle(http->shell);
}

/* Returns whether some wait on. */
static bool answer_waiting(struct http *http)
{
	int64_t now_ns = instant_now();
	bool waiting = false;

	for (struct http_client *client = http->clients; client; client = client->next) {
		struct evhttp_request *request = client->request;

		if (!request)
			continue;
		if (now_ns < client->look_ns && http_answer_pending(http->shell)) {
			waiting = true;
			continue;
		}
		client->request = NULL;
		upward_drain(http->shell);
		send_answer(http, request);
	}
	return waiting;
}

static void on_turn(evutil_socket_t fd, short what, void *context)
{
	struct http *http = context;
	bool waiting, full;

	(void)fd;
	(void)what;
	waiting = answer_waiting(http);
	forget_ended(http);
	end_overdue(http);
	full = http->client_count >= CLIENTS_MAX;
	if (full)
		make_room(http);
	else if (http->bound && !http->held)
		evconnlistener_enable(evhttp_bound_socket_get_listener(http->bound));
	if (http->clients)
		turn_within(http, full ? SOON_MS : waiting ? TICK_MS : SWEEP_MS);
	shell_settle(http->shell);
}

/* ---- listening ---- */

static void on_accept_error(struct evconnlistener *listener, void *context)
{
	struct http *http = context;

	/* Without a descriptor for it, who waits would be reported again and again. */
	evconnlistener_disable(listener);
	turn_within(http, TICK_MS);
}

static int listen_on(struct http *http, int fd)
{
	struct evconnlistener *listener = evconnlistener_new(
		http->shell->base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);

	if (!listener) {
		close(fd);
		return -ENOMEM;
	}
	http->bound = evhttp_bind_listener(http->server, listener);
	if (!http->bound) {
		evconnlistener_free(listener);
		return -ENOMEM;
	}
	evconnlistener_set_error_cb(listener, on_accept_error);
	return 0;
}

/* The supervisor has said why it could not; the port may become free. */
static void on_retry(evutil_socket_t fd, short what, void *context)
{
	const struct timeval wait = {.tv_sec = RETRY_MS / 1000};
	struct http *http = context;
	const char *listen = http->shell->config->http_listen;

	(void)what;
	fd = http->held ? -1 : http_socket_open(listen);
	if (fd >= 0 && listen_on(http, fd) == 0)
		log_info(NULL, "listens for HTTP", "listen=%s", listen);
	else
		event_add(http->retry, &wait);
}

int http_open(struct shell *shell, int fd)
{
	struct http *http = calloc(1, sizeof *http);

	if (!http)
		return -ENOMEM;
	shell->http = http;
	http->shell = shell;
	http->server = evhttp_new(shell->base);
	http->turn = evtimer_new(shell->base, on_turn, http);
	http->retry = evtimer_new(shell->base, on_retry, http);
	if (!http->server || !http->turn || !http->retry)
		return -ENOMEM;
	evhttp_set_bevcb(http->server, on_connection, http);
	evhttp_set_gencb(http->server, on_request, http);
	evhttp_set_max_headers_size(http->server, HEADERS_MAX);
	evhttp_set_max_body_size(http->server, BODY_MAX);
	/* All of them, and any other word: we refuse what is not for reading. */
	evhttp_set_allowed_methods(http->server, UINT16_MAX);
	if (fd >= 0)
		return listen_on(http, fd);
	on_retry(-1, 0, http);
	return 0;
}

void http_close(struct http *http)
{
	if (!http)
		return;
	http->held = true;
	if (http->bound)
		evhttp_del_accept_socket(http->server, http->bound);
	http->bound = NULL;
}

void http_hold(struct http *http)
{
	if (!http)
		return;
	http->held = true;
	if (http->bound)
		evconnlistener_disable(evhttp_bound_socket_get_listener(http->bound));
}

void http_peeked(struct http *http)
{
	if (http)
		event_active(http->turn, EV_TIMEOUT, 0);
}
