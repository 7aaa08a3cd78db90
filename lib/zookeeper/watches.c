/* Contexts of watches: shared by cookie and path, freed when the library has let go of them. */
#include "zookeeper/watches.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "zookeeper/events.h"
#include "zookeeper/handle.h"

static struct port_watch *find(const struct port_handle *h, uint64_t cookie, const char *path, bool children)
{
	struct port_watch *w;

	for (w = h->watches; w; w = w->next)
		if (w->cookie == cookie && w->children == children && strcmp(w->path, path) == 0)
			return w;
	return NULL;
}

static struct port_watch *make(struct port_handle *h, uint64_t cookie, const char *path, bool children,
			       int *rc)
{
	const size_t size = strlen(path) + 1;
	struct port_watch *w;

	if (h->watch_count == h->watches_max) {
		*rc = -EAGAIN;
		return NULL;
	}
	w = calloc(1, sizeof(*w) + size);
	if (!w) {
		*rc = -ENOMEM;
		return NULL;
	}
	w->handle = h;
	w->cookie = cookie;
	w->children = children;
	memcpy(w->path, path, size);
	w->next = h->watches;
	h->watches = w;
	h->watch_count++;
	return w;
}

struct port_watch *port_watch_get(struct port_handle *h, uint64_t cookie, const char *path, bool children,
				  int *rc)
{
	struct port_watch *w = find(h, cookie, path, children);

	if (!w)
		w = make(h, cookie, path, children, rc);
	if (!w)
		return NULL;
	pthread_mutex_lock(&h->events->lock);
	w->in_flight++;
	pthread_mutex_unlock(&h->events->lock);
	return w;
}

void port_watch_returned(struct port_watch *w, bool armed)
{
	assert(w->in_flight > 0);
	w->in_flight--;
	if (armed)
		w->armed = true;
}

/*
 * The library arms a watch and takes it from its lists on its I/O thread, and tells its completion
 * thread in the same order. What we have heard may be old, but never so that a watch looks unknown
 * while it is listed: to be listed again takes a request, which is in flight until we have heard of it.
 */
void port_watch_release(struct port_watch *w)
{
	struct port_handle *h = w->handle;
	struct port_watch **link;
	bool known;

	pthread_mutex_lock(&h->events->lock);
	known = w->armed || w->in_flight > 0 || w->queued;
	pthread_mutex_unlock(&h->events->lock);
	if (known)
		return;
	for (link = &h->watches; *link != w; link = &(*link)->next)
		assert(*link);
	*link = w->next;
	assert(h->watch_count > 0);
	h->watch_count--;
	free(w);
}

void port_watch_fired(zhandle_t *zh, int type, int state, const char *path, void *context)
{
	struct port_watch *w = context;
	struct port_events *e = w->handle->events;
	const struct port_item item = {.type = PORT_EV_WATCH, .u.watch = w};

	(void)zh;
	(void)state;
	(void)path;
	/* The library tells every watcher about the session, and goes on to keep the watch. */
	if (type == ZOO_SESSION_EVENT)
		return;
	pthread_mutex_lock(&e->lock);
	w->armed = false;
	if (!w->handle->muted && !w->queued) {
		w->queued = true;
		port_events_push(e, &item);
	}
	pthread_mutex_unlock(&e->lock);
}

void port_watches_free(struct port_handle *h)
{
	struct port_watch *w;

	while ((w = h->watches)) {
		h->watches = w->next;
		free(w);
	}
	h->watch_count = 0;
}
