/*
 * One handle of the ZooKeeper library: its session, its requests and its watches. Opened, used and
 * given up by the port's owner; closed by the closer's thread, after which nothing of it is left.
 */
#ifndef TENURE_ZOOKEEPER_HANDLE_H
#define TENURE_ZOOKEEPER_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <zookeeper/zookeeper.h>

#include "zookeeper/events.h"
#include "zookeeper/requests.h"
#include "zookeeper/watches.h"

enum { PORT_ADDRESSES_MAX = 63 };

struct port_address {
	char text[64];
	struct sockaddr_storage socket;
};

struct port_handle {
	zhandle_t *zh;
	struct port_events *events;
	struct port_handle *next; /* the closer's list */
	int32_t requested_ms;
	bool muted;               /* under the queue's lock: given up or over; nothing more is queued */
	/* The owner's view, changed as it takes events: */
	bool connected;
	unsigned auth_sent, auth_count; /* credentials known to the library, and to be */
	unsigned watch_count, watches_max;
	struct port_watch *watches;
	struct port_slot *free_slots;
	size_t address_count;
	struct port_address addresses[PORT_ADDRESSES_MAX];
	unsigned slot_count, slots_max; /* used so far; there are */
	struct port_slot slots[];
};

/*
 * Opens a handle with room for SLOTS requests and WATCHES watches. ADDRESSES as in port_open; CREDENTIALS with
 * id 0 ask for a new session. Returns 0, -EINVAL for a wrong address, number of addresses or timeout, or negative errno.
 */
int port_handle_open(const char *const *addresses, size_t count,
		     const struct session_credentials *credentials, unsigned slots, unsigned watches,
		     struct port_events *events, struct port_handle **out);

/* From now on its callbacks queue nothing, and what they have queued is forgotten. */
void port_handle_mute(struct port_handle *h);

/* Closes and frees it: blocks for up to 4.5 s. Nobody else may use it any more. */
void port_handle_close(struct port_handle *h);

/* The address it is connected to, or NULL. */
const char *port_handle_server(struct port_handle *h);

#endif
