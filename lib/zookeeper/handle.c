/* Opening, watching over and closing one handle of the ZooKeeper library. */
#include "zookeeper/handle.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "zookeeper/library_log.h"

_Static_assert(sizeof(((clientid_t *)NULL)->passwd) == SESSION_PASSWORD_SIZE, "size of a session's password");

/* Timeouts beyond these are no server's word: what speaks there is not ZooKeeper. */
enum { TIMEOUT_MAX_MS = 24 * 60 * 60 * 1000, TIMEOUT_SURE_MS = 60 * 1000, TIMEOUT_FACTOR = 10 };

static bool absurd(int32_t negotiated_ms, int32_t requested_ms)
{
	if (negotiated_ms <= 0 || negotiated_ms > TIMEOUT_MAX_MS)
		return true;
	/* A short timeout is raised to the server's least, so only a long one is judged by the factor. */
	return negotiated_ms > TIMEOUT_SURE_MS && negotiated_ms / TIMEOUT_FACTOR > requested_ms;
}

/* What the library knows of the session; it was written before the event was queued. */
static bool credentials_of(zhandle_t *zh, const struct port_handle *h, struct session_credentials *out)
{
	const int32_t negotiated_ms = zoo_recv_timeout(zh);
	const clientid_t *id = zoo_client_id(zh);

	if (absurd(negotiated_ms, h->requested_ms))
		return false;
	out->id = id->client_id;
	memcpy(out->password, id->passwd, sizeof(out->password));
	out->timeout_ns = negotiated_ms * TENURE_NS_PER_MS;
	return true;
}

/* Library's thread: the global watcher. It may be called before zookeeper_init2 has returned. */
static void session_changed(zhandle_t *zh, int type, int state, const char *path, void *context)
{
	struct port_handle *h = context;
	struct port_item item = {.type = PORT_EV_BROKEN};

	(void)path;
	if (type != ZOO_SESSION_EVENT)
		return;
	if (state == ZOO_CONNECTED_STATE) {
		if (credentials_of(zh, h, &item.u.connected))
			item.type = PORT_EV_CONNECTED;
	} else if (state == ZOO_READONLY_STATE) {
		/* We never ask for it, so no ZooKeeper grants it: stays BROKEN. */
	} else if (state == ZOO_CONNECTING_STATE) {
		item.type = PORT_EV_DISCONNECTED;
	} else if (state == ZOO_EXPIRED_SESSION_STATE) {
		item.type = PORT_EV_EXPIRED;
	} else if (state == ZOO_AUTH_FAILED_STATE) {
		item.type = PORT_EV_AUTH_FAILED;
	} else {
		return;
	}
	pthread_mutex_lock(&h->events->lock);
	if (!h->muted && item.type == PORT_EV_BROKEN)
		port_events_break(h->events);
	else if (!h->muted)
		port_events_push(h->events, &item);
	pthread_mutex_unlock(&h->events->lock);
}

/* Takes a numeric "host:port" apart; asks no name server. */
static int parse_address(const char *text, struct port_address *out)
{
	const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
		.ai_socktype = SOCK_STREAM,
	};
	const char *colon = strrchr(text, ':');
	char host[sizeof(out->text)];
	struct addrinfo *found;
	size_t size;

	if (!colon || colon == text || strlen(text) >= sizeof(out->text))
		return -EINVAL;
	size = (size_t)(colon - text);
	memcpy(host, text, size);
	host[size] = '\0';
	if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
		return -EINVAL;
	memcpy(&out->socket, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	strcpy(out->text, text);
	return 0;
}

static int parse_addresses(struct port_handle *h, const char *const *addresses, size_t count)
{
	size_t i;
	int rc;

	for (i = 0; i < count; i++) {
		rc = parse_address(addresses[i], &h->addresses[i]);
		if (rc < 0)
			return rc;
	}
	h->address_count = count;
	return 0;
}

/*
 * The list as the library wants it. With an even number of entries its cursor skips some of them on
 * every turn, so one is repeated.
 */
static void join_addresses(const struct port_handle *h, char *out)
{
	const size_t count = h->address_count;
	const size_t total = count % 2 == 0 ? count + 1 : count;
	size_t i;

	for (i = 0; i < total; i++) {
		if (i > 0)
			*out++ = ',';
		out = stpcpy(out, h->addresses[i % count].text);
	}
}

/* The library's threads inherit the mask: signals are for the program's own threads. */
static int start(struct port_handle *h, const clientid_t *id)
{
	char hosts[(PORT_ADDRESSES_MAX + 1) * sizeof(h->addresses[0].text)];
	sigset_t all, former;
	int rc = 0;

	join_addresses(h, hosts);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &former);
	zoo_deterministic_conn_order(1);
	errno = 0;
	h->zh = zookeeper_init2(hosts, session_changed, h->requested_ms, id, h, ZOO_NO_LOG_CLIENTENV,
				port_log_line);
	if (!h->zh)
		rc = errno > 0 ? -errno : -EIO;
	pthread_sigmask(SIG_SETMASK, &former, NULL);
	if (h->zh)
		zoo_set_servers_resolution_delay(h->zh, -1);
	return rc;
}

static void free_handle(struct port_handle *h)
{
	unsigned i;

	for (i = 0; i < h->slot_count; i++)
		port_reply_free(&h->slots[i].reply);
	port_watches_free(h);
	port_events_unref(h->events);
	free(h);
}

int port_handle_open(const char *const *addresses, size_t count,
		     const struct session_credentials *credentials, unsigned slots, unsigned watches,
		     struct port_events *events, struct port_handle **out)
{
	const int64_t timeout_ms = credentials->timeout_ns / TENURE_NS_PER_MS;
	clientid_t id = {.client_id = credentials->id};
	struct port_handle *h;
	int rc;

	if (count == 0 || count > PORT_ADDRESSES_MAX || timeout_ms <= 0 || timeout_ms > TIMEOUT_MAX_MS)
		return -EINVAL;
	h = calloc(1, sizeof(*h) + slots * sizeof(h->slots[0]));
	if (!h)
		return -ENOMEM;
	port_events_ref(events);
	h->events = events;
	h->requested_ms = (int32_t)timeout_ms;
	h->watches_max = watches;
	h->slots_max = slots;
	rc = parse_addresses(h, addresses, count);
	if (rc < 0)
		goto fail;
	memcpy(id.passwd, credentials->password, sizeof(id.passwd));
	rc = start(h, credentials->id != 0 ? &id : NULL);
	if (rc < 0)
		goto fail;
	*out = h;
	return 0;

fail:
	free_handle(h);
	return rc;
}

void port_handle_mute(struct port_handle *h)
{
	pthread_mutex_lock(&h->events->lock);
	if (!h->muted) {
		h->muted = true;
		port_events_clear(h->events);
	}
	pthread_mutex_unlock(&h->events->lock);
}

void port_handle_close(struct port_handle *h)
{
	zookeeper_close(h->zh);
	free_handle(h);
}

static bool same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a->ss_family == AF_INET6 && a6->sin6_port == b6->sin6_port &&
	       memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
}

/*
 * The library asks its descriptor for the peer while its own thread may have closed it, so that the
 * number may be another connection's by now: believed is only what is one of our servers.
 */
const char *port_handle_server(struct port_handle *h)
{
	struct sockaddr_storage peer = {0};
	socklen_t size = sizeof(peer);
	size_t i;

	if (!h->connected || !zookeeper_get_connected_host(h->zh, (struct sockaddr *)&peer, &size))
		return NULL;
	for (i = 0; i < h->address_count; i++)
		if (same_address(&peer, &h->addresses[i].socket))
			return h->addresses[i].text;
	return NULL;
}
