/* The asynchronous calls and their completions. */
#include "zookeeper/requests.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <zookeeper/zookeeper.h>

#include "zookeeper/events.h"
#include "zookeeper/handle.h"
#include "zookeeper/watches.h"

enum port_result port_result_of(int rc, bool *answered)
{
	*answered = true;
	switch (rc) {
	case ZOK:
		return PORT_OK;
	case ZNONODE:
		return PORT_NONODE;
	case ZNODEEXISTS:
		return PORT_NODEEXISTS;
	case ZBADVERSION:
		return PORT_BADVERSION;
	case ZNOTEMPTY:
		return PORT_NOTEMPTY;
	case ZNOAUTH:
		return PORT_NOAUTH;
	/* A server says these too, but then it stumbled over the request or is about to hang up. */
	case ZSYSTEMERROR:
	case ZRUNTIMEINCONSISTENCY:
	case ZDATAINCONSISTENCY:
	case ZCONNECTIONLOSS:
	case ZMARSHALLINGERROR:
	case ZOPERATIONTIMEOUT:
	case ZINVALIDSTATE:
	case ZSSLCONNECTIONERROR:
	case ZSESSIONEXPIRED:
	case ZAUTHFAILED:
	case ZCLOSING:
	case ZNOTHING:
		*answered = false;
		return PORT_UNKNOWN;
	default:
		return PORT_REFUSED;
	}
}

void port_reply_free(struct port_reply *reply)
{
	free(reply->data);
	free(reply->names);
	memset(reply, 0, sizeof(*reply));
}

/* One that is free, or NULL. What was used before comes first, so that only as many are touched as were ever needed. */
static struct port_slot *free_slot(struct port_handle *h)
{
	if (!h->free_slots && h->slot_count < h->slots_max) {
		h->slots[h->slot_count].handle = h;
		h->free_slots = &h->slots[h->slot_count++];
	}
	return h->free_slots;
}

void port_slot_release(struct port_slot *slot)
{
	struct port_handle *h = slot->handle;

	assert(slot->used);
	port_reply_free(&slot->reply);
	memset(slot, 0, sizeof(*slot));
	slot->handle = h;
	slot->next_free = h->free_slots;
	h->free_slots = slot;
}

/* Library's thread, its code RC. The owner gets REPLY, or BROKEN when it could not be copied. */
static void complete(const void *context, int rc, struct port_reply *reply, bool copied)
{
	struct port_slot *slot = (struct port_slot *)context;
	struct port_handle *h = slot->handle;
	const struct port_item item = {.type = PORT_EV_REPLY, .u.slot = slot};

	pthread_mutex_lock(&h->events->lock);
	if (slot->watch)
		port_watch_returned(slot->watch, rc == ZOK);
	if (h->muted) {
		port_reply_free(reply);
	} else if (!copied) {
		port_reply_free(reply);
		port_events_break(h->events);
	} else {
		slot->reply = *reply;
		port_events_push(h->events, &item);
	}
	pthread_mutex_unlock(&h->events->lock);
}

static void copy_stat(struct port_reply *reply, const struct Stat *stat)
{
	if (!stat)
		return;
	reply->has_stat = true;
	reply->stat = (struct port_stat){
		.czxid = stat->czxid,
		.mzxid = stat->mzxid,
		.ephemeral_owner = stat->ephemeralOwner,
		.version = stat->version,
	};
}

/* Keeps SIZE bytes and a NUL behind them. */
static bool copy_data(struct port_reply *reply, const char *data, size_t size)
{
	reply->data = malloc(size + 1);
	if (!reply->data)
		return false;
	if (size > 0)
		memcpy(reply->data, data, size);
	reply->data[size] = '\0';
	reply->size = size;
	return true;
}

/* A listing that is not whole could make a member believe that it is first, so one too long is no listing. */
static bool copy_names(struct port_reply *reply, const struct String_vector *names)
{
	size_t count = names->count > 0 ? (size_t)names->count : 0;
	size_t i, size = count * sizeof(char *);
	bool whole = count <= PORT_NAMES_MAX;
	char *text;

	for (i = 0; whole && i < count; i++) {
		if (names->data[i])
			size += strlen(names->data[i]) + 1;
		else
			whole = false;
	}
	if (!whole) {
		reply->rc = PORT_RC_LISTING;
		reply->has_stat = false;
		return true;
	}
	reply->names = malloc(size > 0 ? size : 1);
	if (!reply->names)
		return false;
	text = (char *)(reply->names + count);
	for (i = 0; i < count; i++) {
		reply->names[i] = text;
		text = stpcpy(text, names->data[i]) + 1;
	}
	reply->name_count = count;
	return true;
}

static void created(int rc, const char *path, const struct Stat *stat, const void *context)
{
	struct port_reply reply = {.rc = rc};
	bool copied = true;

	copy_stat(&reply, stat);
	if (path)
		copied = copy_data(&reply, path, strlen(path));
	complete(context, rc, &reply, copied);
}

static void deleted(int rc, const void *context)
{
	struct port_reply reply = {.rc = rc};

	complete(context, rc, &reply, true);
}

static void was_set(int rc, const struct Stat *stat, const void *context)
{
	struct port_reply reply = {.rc = rc};

	copy_stat(&reply, stat);
	complete(context, rc, &reply, true);
}

static void got(int rc, const char *data, int size, const struct Stat *stat, const void *context)
{
	struct port_reply reply = {.rc = rc};
	bool copied = true;

	copy_stat(&reply, stat);
	if (rc == ZOK && data && size > 0)
		copied = copy_data(&reply, data, size > TENURE_RECORD_MAX ? TENURE_RECORD_MAX : (size_t)size);
	complete(context, rc, &reply, copied);
}

static void listed(int rc, const struct String_vector *names, const struct Stat *stat, const void *context)
{
	struct port_reply reply = {.rc = rc};
	bool copied = true;

	copy_stat(&reply, stat);
	if (rc == ZOK && names)
		copied = copy_names(&reply, names);
	complete(context, rc, &reply, copied);
}

/* The library copies the entries into the request. */
static int create(zhandle_t *zh, const struct port_call *call, const char *data, struct port_slot *slot)
{
	struct ACL entries[] = {
		{ZOO_PERM_ALL, {(char *)"auth", (char *)""}},
		{ZOO_PERM_READ, {(char *)"world", (char *)"anyone"}},
	};
	const struct ACL_vector closed = {call->acl == PORT_ACL_CREATOR ? 2 : 1, entries};
	const struct ACL_vector *acl = call->acl == PORT_ACL_OPEN ? &ZOO_OPEN_ACL_UNSAFE : &closed;

	return zoo_acreate2(zh, call->path, data, (int)call->size, acl, call->flags, created, slot);
}

static int call_library(zhandle_t *zh, const struct port_call *call, struct port_slot *slot)
{
	watcher_fn watcher = slot->watch ? port_watch_fired : NULL;
	const char *data = call->data ? call->data : "";

	switch (call->op) {
	case PORT_OP_CREATE:
		return create(zh, call, data, slot);
	case PORT_OP_DELETE:
		return zoo_adelete(zh, call->path, call->version, deleted, slot);
	case PORT_OP_GET:
		return zoo_awget(zh, call->path, watcher, slot->watch, got, slot);
	case PORT_OP_SET:
		return zoo_aset(zh, call->path, data, (int)call->size, call->version, was_set, slot);
	case PORT_OP_CHILDREN:
		return zoo_awget_children2(zh, call->path, watcher, slot->watch, listed, slot);
	}
	return ZBADARGUMENTS;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The library has not taken the request: undoes what was prepared. */
static int withdraw(struct port_slot *slot, int rc)
{
	struct port_handle *h = slot->handle;
	struct port_watch *watch = slot->watch;

	if (rc != ZBADARGUMENTS && rc != ZINVALIDSTATE) {
		/* Out of memory somewhere inside: whether it holds the slot is not known. */
		slot->answered = true;
		pthread_mutex_lock(&h->events->lock);
		port_events_break(h->events);
		pthread_mutex_unlock(&h->events->lock);
		return -ENOMEM;
	}
	if (watch) {
		pthread_mutex_lock(&h->events->lock);
		port_watch_returned(watch, false);
		pthread_mutex_unlock(&h->events->lock);
		port_watch_release(watch);
	}
	port_slot_release(slot);
	return rc == ZBADARGUMENTS ? -EINVAL : -ENOTCONN;
}

int port_request(struct port_handle *h, const struct port_call *call)
{
	struct port_watch *watch = NULL;
	struct port_slot *slot;
	int rc = 0;

	if (strnlen(call->path, PORT_PATH_MAX) == PORT_PATH_MAX)
		return -ENAMETOOLONG;
	if (call->size > TENURE_RECORD_MAX)
		return -EMSGSIZE;
	slot = free_slot(h);
	if (!slot)
		return -EAGAIN;
	if (call->watch_cookie != 0) {
		watch = port_watch_get(h, call->watch_cookie, call->path, call->op == PORT_OP_CHILDREN, &rc);
		if (!watch)
			return rc;
	}
	assert(!slot->used);
	h->free_slots = slot->next_free;
	slot->used = true;
	slot->write = call->op == PORT_OP_CREATE || call->op == PORT_OP_DELETE || call->op == PORT_OP_SET;
	slot->cookie = call->cookie;
	slot->watch = watch;
	slot->sent_ns = now_ns();
	rc = call_library(h->zh, call, slot);
	return rc == ZOK ? 0 : withdraw(slot, rc);
}
