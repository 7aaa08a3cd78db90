/*
 * The watchdog device: resets the host when nobody feeds it, a supervisor that is frozen or starved
 * included. It is fed only while every election with a service in office has more of its lease left than the
 * device needs to fire, so that the reset comes before the session can expire. (Linux:
 * Documentation/watchdog/watchdog-api.rst.)
 */
#ifndef TENURE_SUPERVISOR_WATCHDOG_H
#define TENURE_SUPERVISOR_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"

struct watchdog {
	int fd;              /* -1: none */
	bool stand_in;       /* no device at all: a file or FIFO, which takes no settings */
	int64_t timeout_ns;  /* the device's */
	int64_t interval_ns; /* between two feeds */
	int64_t feed_at_ns;  /* when it is due; CLOCK_NEVER without a device */
	bool starving;       /* it was said that it is not fed */
	bool failing;        /* it was said that feeding fails */
};

#define WATCHDOG_NONE ((struct watchdog){.fd = -1, .feed_at_ns = INT64_MAX})

/*
 * Opens CONFIG's device, which starts it, and sets its timeout: whole seconds, no more than a lease in its
 * steady state surely has left, over all elections that are candidates. Without a device: returns 0 and does
 * nothing ever after. Returns 0, or negative errno after having said in the log why the device cannot serve.
 */
int watchdog_open(struct watchdog *watchdog, const struct config *config, int64_t now_ns);

/*
 * Another configuration, or another lease: SESSION_NS is T of the session, 0 without one. What fails is
 * logged.
 */
void watchdog_adapt(struct watchdog *watchdog, const struct config *config, int64_t session_ns);

/*
 * Feeds it if it is due and may be fed: DEADLINE_NS is the earliest lease deadline of an election with a
 * service in office (CLOCK_NEVER: none).
 */
void watchdog_feed(struct watchdog *watchdog, int64_t deadline_ns, int64_t now_ns);

/*
 * CLEAN: no service is in office, so the device is switched off (magic close); else it is left running, and
 * fires.
 */
void watchdog_close(struct watchdog *watchdog, bool clean);

#endif
