/*
 * Watches of one handle. The library knows a watch by function and context, so there is one context
 * for each cookie, path and kind: arming it again adds nothing to the library's lists. A context is
 * freed once the library cannot know it any more.
 */
#ifndef TENURE_ZOOKEEPER_WATCHES_H
#define TENURE_ZOOKEEPER_WATCHES_H

#include <stdbool.h>
#include <stdint.h>

#include <zookeeper/zookeeper.h>

struct port_handle;

struct port_watch {
	struct port_handle *handle;
	struct port_watch *next;
	uint64_t cookie;
	bool children;      /* kind: on the children, else on the data */
	/* Under the queue's lock: */
	unsigned in_flight; /* requests that would arm it */
	bool armed;         /* in the library's lists */
	bool queued;        /* its event waits for the owner */
	char path[];
};

/*
 * The context of COOKIE, PATH and kind, made if there is none yet, with one more request in flight.
 * Returns NULL when there is no memory or there are too many (*RC: -ENOMEM, -EAGAIN).
 */
struct port_watch *port_watch_get(struct port_handle *h, uint64_t cookie, const char *path, bool children,
				  int *rc);

/* With the lock held: a request in flight has come back, or was never sent. */
void port_watch_returned(struct port_watch *w, bool armed);

/* Owner's thread: frees W if the library cannot know it any more. */
void port_watch_release(struct port_watch *w);

/* The watcher_fn of all of them. */
void port_watch_fired(zhandle_t *zh, int type, int state, const char *path, void *context);

/* After the library's handle is gone: frees all. */
void port_watches_free(struct port_handle *h);

#endif
