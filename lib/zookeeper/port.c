/* The ZooKeeper port: its handle, its events as the owner takes them, and its requests. */
#include "zookeeper/port.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zookeeper/zookeeper.h>

#include "zookeeper/closer.h"
#include "zookeeper/events.h"
#include "zookeeper/handle.h"
#include "zookeeper/library_log.h"

enum {
	AUTH_MAX = 8,
	CLOSING_MAX = 16, /* handles that may wait to be closed */
	BOUND_MAX = 131072, /* requests, watches */
	WATCHES_DEFAULT = 256,
};

struct credential {
	char *scheme;
	char *bytes;
	size_t size;
};

/* The answer owed for a request whose reply will not come any more. */
struct owed {
	uint64_t cookie;
	int64_t sent_ns;
	bool write;
};

struct port {
	struct port_config config;
	struct port_events *events;
	struct port_closer *closer;
	struct port_handle *handle; /* NULL: none */
	bool over;                  /* the handle is of no use any more */
	enum port_acl acl;
	unsigned auth_count;
	struct credential auth[AUTH_MAX];
	unsigned outstanding; /* requests without an answer, the owed ones included */
	unsigned owed_head, owed_count;
	struct owed owed[]; /* a ring of requests_max */
};

int port_new(const struct port_config *config, struct port **out)
{
	const unsigned requests_max = config->requests_max;
	const unsigned watches_max = config->watches_max > 0 ? config->watches_max : WATCHES_DEFAULT;
	struct port *p;
	int rc;

	if (requests_max == 0 || requests_max > BOUND_MAX || watches_max > BOUND_MAX)
		return -EINVAL;
	p = calloc(1, sizeof(*p) + requests_max * sizeof(p->owed[0]));
	if (!p)
		return -ENOMEM;
	p->config = *config;
	p->config.watches_max = watches_max;
	/* A slot and a watch wait in the queue at most once: only session events can overflow it. */
	rc = port_events_new(requests_max + watches_max + PORT_SESSION_EVENTS_MAX, &p->events);
	if (rc < 0)
		goto fail;
	rc = port_closer_new(&p->closer);
	if (rc < 0)
		goto fail;
	zoo_set_debug_level(ZOO_LOG_LEVEL_INFO);
	if (config->log)
		port_log_attach(p->events->fd);
	*out = p;
	return 0;

fail:
	port_events_unref(p->events);
	free(p);
	return rc;
}

static void forget_credentials(struct port *p)
{
	struct credential *c;

	while (p->auth_count > 0) {
		c = &p->auth[--p->auth_count];
		explicit_bzero(c->bytes, c->size);
		free(c->bytes);
		free(c->scheme);
	}
}

static void owe(struct port *p, const struct port_slot *slot)
{
	const unsigned max = p->config.requests_max;

	assert(p->owed_count < max);
	p->owed[(p->owed_head + p->owed_count++) % max] = (struct owed){
		.cookie = slot->cookie,
		.sent_ns = slot->sent_ns,
		.write = slot->write,
	};
}

/*
 * Everything outstanding is answered as unknown from here on. Its slots stay used until the library lets
 * go of them; what the library may still say about them is not handed out.
 */
static void owe_all(struct port *p)
{
	struct port_handle *h = p->handle;
	unsigned i;

	for (i = 0; i < h->slot_count; i++) {
		if (!h->slots[i].used || h->slots[i].answered)
			continue;
		h->slots[i].answered = true;
		owe(p, &h->slots[i]);
	}
	if (p->owed_count > 0)
		port_events_wake(p->events);
}

/* The session of the handle is over, or it is given up: not another event of it. */
static void finish(struct port *p)
{
	p->handle->connected = false;
	p->over = true;
	port_handle_mute(p->handle);
	owe_all(p);
}

static uint64_t give_up(struct port *p)
{
	struct port_handle *h = p->handle;

	finish(p);
	p->handle = NULL;
	return port_closer_give(p->closer, h);
}

void port_free(struct port *p, int wait_ms)
{
	if (!p)
		return;
	if (p->handle)
		give_up(p);
	port_log_detach(p->events->fd);
	port_closer_free(p->closer, wait_ms);
	port_events_unref(p->events);
	forget_credentials(p);
	free(p);
}

int port_fd(const struct port *p)
{
	return p->events->fd;
}

int port_add_auth(struct port *p, const char *scheme, const char *credential, size_t size)
{
	struct credential c = {.size = size};

	if (p->auth_count == AUTH_MAX)
		return -ENOSPC;
	if (size > TENURE_RECORD_MAX)
		return -EMSGSIZE;
	c.scheme = strdup(scheme);
	c.bytes = malloc(size > 0 ? size : 1);
	if (!c.scheme || !c.bytes) {
		free(c.scheme);
		free(c.bytes);
		return -ENOMEM;
	}
	memcpy(c.bytes, credential, size);
	p->auth[p->auth_count++] = c;
	return 0;
}

void port_set_acl(struct port *p, enum port_acl acl)
{
	p->acl = acl;
}

int port_open(struct port *p, const char *const *addresses, size_t count,
	      const struct session_credentials *credentials)
{
	int rc;

	if (p->handle)
		give_up(p);
	if (port_closer_pending(p->closer) > CLOSING_MAX)
		return -EBUSY;
	rc = port_handle_open(addresses, count, credentials, p->config.requests_max, p->config.watches_max,
			      p->events, &p->handle);
	if (rc < 0)
		return rc;
	p->handle->auth_count = p->auth_count;
	p->over = false;
	return 0;
}

int port_close_session(struct port *p, int wait_ms)
{
	bool connected;
	uint64_t ticket;

	if (!p->handle)
		return 0;
	/* What the library knows may be newer than what has been taken. */
	connected = p->handle->connected && zoo_state(p->handle->zh) == ZOO_CONNECTED_STATE;
	ticket = give_up(p);
	if (!connected)
		return -ENOTCONN;
	return port_closer_wait(p->closer, ticket, wait_ms) ? 0 : -ETIMEDOUT;
}

int port_server(struct port *p, char *buf, size_t size)
{
	const char *server = p->handle ? port_handle_server(p->handle) : NULL;

	if (!server)
		return -ENOTCONN;
	if (strlen(server) >= size)
		return -ENAMETOOLONG;
	strcpy(buf, server);
	return 0;
}

static int request(struct port *p, const struct port_call *call)
{
	int rc;

	if (!p->handle || !p->handle->connected)
		return -ENOTCONN;
	if (p->outstanding >= p->config.requests_max)
		return -EAGAIN;
	rc = port_request(p->handle, call);
	if (rc == 0)
		p->outstanding++;
	return rc;
}

int port_create(struct port *p, uint64_t cookie, const char *path, const char *data, size_t size,
		bool ephemeral, bool sequential)
{
	const struct port_call call = {
		.op = PORT_OP_CREATE,
		.cookie = cookie,
		.path = path,
		.data = data,
		.size = size,
		.flags = (ephemeral ? ZOO_EPHEMERAL : 0) | (sequential ? ZOO_SEQUENCE : 0),
		.acl = p->acl,
	};

	return request(p, &call);
}

int port_delete(struct port *p, uint64_t cookie, const char *path, int32_t version)
{
	const struct port_call call = {
		.op = PORT_OP_DELETE,
		.cookie = cookie,
		.path = path,
		.version = version,
	};

	return request(p, &call);
}

int port_get(struct port *p, uint64_t cookie, const char *path, uint64_t watch_cookie)
{
	const struct port_call call = {
		.op = PORT_OP_GET,
		.cookie = cookie,
		.path = path,
		.watch_cookie = watch_cookie,
	};

	return request(p, &call);
}

int port_set(struct port *p, uint64_t cookie, const char *path, const char *data, size_t size,
	     int32_t version)
{
	const struct port_call call = {
		.op = PORT_OP_SET,
		.cookie = cookie,
		.path = path,
		.data = data,
		.size = size,
		.version = version,
	};

	return request(p, &call);
}

int port_children(struct port *p, uint64_t cookie, const char *path, uint64_t watch_cookie)
{
	const struct port_call call = {
		.op = PORT_OP_CHILDREN,
		.cookie = cookie,
		.path = path,
		.watch_cookie = watch_cookie,
	};

	return request(p, &call);
}

/*
 * An authentication's completion runs on the library's I/O thread, with a lock held. There is nothing to
 * do in it: a refused credential makes the session's state AUTH_FAILED.
 */
static void authenticated(int rc, const void *context)
{
	(void)rc;
	(void)context;
}

/*
 * Hands over the credentials that the library does not know yet; it sends them again by itself on
 * every later connection. They go before any request, since none is made before PORT_EV_CONNECTED.
 */
static void authenticate(struct port *p)
{
	struct port_handle *h = p->handle;
	int rc = ZOK;

	while (h->auth_sent < h->auth_count) {
		const struct credential *c = &p->auth[h->auth_sent];

		rc = zoo_add_auth(h->zh, c->scheme, c->bytes, (int)c->size, authenticated, NULL);
		if (rc != ZOK)
			break;
		h->auth_sent++;
	}
	/* ZINVALIDSTATE: the connection is lost again, or the session; that event is on its way. */
	if (rc == ZOK || rc == ZINVALIDSTATE)
		return;
	pthread_mutex_lock(&p->events->lock);
	port_events_break(p->events);
	pthread_mutex_unlock(&p->events->lock);
}

/* An event on its way out, with what has to be freed once the callback has returned. */
struct delivery {
	struct port_event event;
	struct port_reply reply;
};

static bool deliver_owed(struct port *p, struct delivery *d)
{
	const struct owed *owed = &p->owed[p->owed_head];

	if (p->owed_count == 0)
		return false;
	d->event.type = PORT_EV_REPLY;
	d->event.u.reply.cookie = owed->cookie;
	d->event.u.reply.result = PORT_UNKNOWN;
	d->event.u.reply.rc = ZCONNECTIONLOSS;
	d->event.u.reply.write = owed->write;
	d->event.u.reply.sent_ns = owed->sent_ns;
	p->owed_head = (p->owed_head + 1) % p->config.requests_max;
	p->owed_count--;
	p->outstanding--;
	return true;
}

/*
 * Why an answer of the server handed out here came on the present connection: the request was accepted
 * after CONNECTED had been taken, and had an older connection carried the answer, that connection's
 * DISCONNECTED would have been queued behind the answer but before the present CONNECTED; when it was
 * taken, every request outstanding was answered as unknown. The queue keeps the library's order.
 */
static bool deliver_reply(struct port *p, struct port_slot *slot, struct delivery *d)
{
	struct port_watch *watch = slot->watch;
	const bool told = slot->answered;
	bool answered;

	d->reply = slot->reply;
	memset(&slot->reply, 0, sizeof(slot->reply));
	d->event.type = PORT_EV_REPLY;
	d->event.u.reply.cookie = slot->cookie;
	d->event.u.reply.result = port_result_of(d->reply.rc, &answered);
	d->event.u.reply.rc = d->reply.rc;
	d->event.u.reply.answered = answered;
	d->event.u.reply.write = slot->write;
	d->event.u.reply.sent_ns = slot->sent_ns;
	d->event.u.reply.stat = d->reply.has_stat ? &d->reply.stat : NULL;
	d->event.u.reply.data = d->reply.data;
	d->event.u.reply.size = d->reply.size;
	d->event.u.reply.names = (const char *const *)d->reply.names;
	d->event.u.reply.name_count = d->reply.name_count;
	port_slot_release(slot);
	if (watch)
		port_watch_release(watch);
	if (told) {
		port_reply_free(&d->reply);
		return false;
	}
	p->outstanding--;
	return true;
}

static void deliver_watch(struct port *p, struct port_watch *watch, struct delivery *d)
{
	pthread_mutex_lock(&p->events->lock);
	watch->queued = false;
	pthread_mutex_unlock(&p->events->lock);
	d->event.type = PORT_EV_WATCH;
	d->event.u.watch = watch->cookie;
	port_watch_release(watch);
}

static bool deliver_disconnected(struct port *p, struct delivery *d)
{
	if (!p->handle->connected)
		return false;
	p->handle->connected = false;
	owe_all(p);
	d->event.type = PORT_EV_DISCONNECTED;
	return true;
}

static void deliver_connected(struct port *p, const struct session_credentials *credentials,
			      struct delivery *d)
{
	p->handle->connected = true;
	authenticate(p);
	d->event.type = PORT_EV_CONNECTED;
	d->event.u.connected = *credentials;
}

/* Returns false when there is nothing to tell the owner about ITEM. */
static bool deliver_item(struct port *p, const struct port_item *item, struct delivery *d)
{
	switch (item->type) {
	case PORT_EV_CONNECTED:
		deliver_connected(p, &item->u.connected, d);
		return true;
	case PORT_EV_DISCONNECTED:
		return deliver_disconnected(p, d);
	case PORT_EV_WATCH:
		deliver_watch(p, item->u.watch, d);
		return true;
	case PORT_EV_REPLY:
		return deliver_reply(p, item->u.slot, d);
	case PORT_EV_EXPIRED:
	case PORT_EV_AUTH_FAILED:
	case PORT_EV_BROKEN:
		finish(p);
		d->event.type = item->type;
		return true;
	}
	return false;
}

/* The oldest item, or the word that no more can come. */
static bool next_item(struct port *p, struct port_item *item)
{
	struct port_events *e = p->events;
	bool found;

	pthread_mutex_lock(&e->lock);
	if (e->count > 0 && e->items[e->head].type == PORT_EV_CONNECTED && p->handle->connected) {
		/* The library may drop a connection without a word; its requests are answered first. */
		item->type = PORT_EV_DISCONNECTED;
		found = true;
	} else {
		found = port_events_pop(e, item);
	}
	if (!found && e->broken) {
		item->type = PORT_EV_BROKEN;
		found = true;
	}
	pthread_mutex_unlock(&e->lock);
	return found;
}

/* Answers owed come first: they belong behind the event just delivered, before all that is still queued. */
static bool next(struct port *p, struct delivery *d)
{
	struct port_item item;

	memset(d, 0, sizeof(*d));
	if (deliver_owed(p, d))
		return true;
	while (p->handle && !p->over && next_item(p, &item))
		if (deliver_item(p, &item, d))
			return true;
	return false;
}

static void take_log(struct port *p)
{
	char line[PORT_LOG_LINE_SIZE];
	enum port_log_level level;
	unsigned i;

	if (!p->config.log)
		return;
	for (i = 0; i < PORT_LOG_LINES_MAX && port_log_take(p->events->fd, &level, line); i++)
		p->config.log(p->config.context, level, line);
	if (i == PORT_LOG_LINES_MAX)
		port_events_wake(p->events);
}

static bool waiting(struct port *p)
{
	bool some;

	pthread_mutex_lock(&p->events->lock);
	some = p->owed_count > 0 || p->events->count > 0 || p->events->broken;
	pthread_mutex_unlock(&p->events->lock);
	return some;
}

unsigned port_take(struct port *p, unsigned bound,
		   void (*take)(void *context, const struct port_event *event), void *context)
{
	struct delivery d;
	unsigned taken = 0;

	port_events_drain(p->events);
	take_log(p);
	while (taken < bound && next(p, &d)) {
		take(context, &d.event);
		port_reply_free(&d.reply);
		taken++;
	}
	if (waiting(p))
		port_events_wake(p->events);
	return taken;
}

const char *port_error_text(int rc)
{
	enum { QUOTA_EXCEEDED = -125 }; /* servers say it since 3.7, the library knows no name for it */

	if (rc == QUOTA_EXCEEDED)
		return "quota exceeded";
	return rc == PORT_RC_LISTING ? "too many children to list" : zerror(rc);
}
