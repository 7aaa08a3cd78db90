/*
 * What the library's threads hand to the owner of a port: a bounded queue with an eventfd. Its lock
 * guards all that both sides touch, is held for copying only, and no other lock is taken under it.
 */
#ifndef TENURE_ZOOKEEPER_EVENTS_H
#define TENURE_ZOOKEEPER_EVENTS_H

#include <pthread.h>
#include <stdbool.h>

#include "zookeeper/port.h"

/* Changes of a session's state that may wait; a server that flaps faster than we look breaks the handle. */
enum { PORT_SESSION_EVENTS_MAX = 64 };

struct port_slot;
struct port_watch;

struct port_item {
	enum port_event_type type;
	union {
		struct session_credentials connected; /* CONNECTED */
		struct port_watch *watch;             /* WATCH */
		struct port_slot *slot;               /* REPLY */
	} u;
};

struct port_events {
	pthread_mutex_t lock;
	int fd;
	unsigned references; /* the port's and its handles' */
	bool broken;         /* something could not be queued: nothing more is */
	unsigned capacity, head, count;
	struct port_item items[];
};

/* Returns 0 or negative errno. The caller holds the first reference. */
int port_events_new(unsigned capacity, struct port_events **out);
void port_events_ref(struct port_events *e);
void port_events_unref(struct port_events *e); /* NULL is fine */

/* With the lock held: */
void port_events_push(struct port_events *e, const struct port_item *item);
void port_events_break(struct port_events *e);
bool port_events_pop(struct port_events *e, struct port_item *item);
void port_events_clear(struct port_events *e); /* forgets the items and that it was broken */

/* Makes the descriptor readable, or unreadable. The lock does not matter. */
void port_events_wake(const struct port_events *e);
void port_events_drain(const struct port_events *e);

#endif
