/*
 * The thread that closes handles: zookeeper_close joins the library's threads and may wait for a
 * server for seconds, which the owner of a port cannot afford.
 */
#ifndef TENURE_ZOOKEEPER_CLOSER_H
#define TENURE_ZOOKEEPER_CLOSER_H

#include <stdbool.h>
#include <stdint.h>

struct port_closer;
struct port_handle;

/* Returns 0 or negative errno. */
int port_closer_new(struct port_closer **out);

/*
 * Waits at most WAIT_MS for what is still to be closed; what is not done then is done behind our back.
 * NULL is fine.
 */
void port_closer_free(struct port_closer *c, int wait_ms);

/* Takes H over, to be closed after those before it. Returns a ticket for port_closer_wait. */
uint64_t port_closer_give(struct port_closer *c, struct port_handle *h);

/* Whether the handle of TICKET has been closed, after WAIT_MS at the latest. */
bool port_closer_wait(struct port_closer *c, uint64_t ticket, int wait_ms);

/* Handles that are still to be closed. */
unsigned port_closer_pending(struct port_closer *c);

#endif
