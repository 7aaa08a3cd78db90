/* Our tie to the ensemble: the session core, the port, the names of the servers, and requests on them. */
#ifndef TENURE_ELECTOR_ENSEMBLE_H
#define TENURE_ELECTOR_ENSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/session.h"
#include "elector/brake.h"
#include "elector/requests.h"
#include "elector/servers.h"
#include "zookeeper/port.h"

struct event;
struct shell;

struct ensemble {
	struct port *port;
	struct event *port_event;
	struct session session;
	bool pace;              /* as last told to the session core */
	bool heartbeat_failed;  /* it could not be sent; the core is still to be told */
	bool open_failed;       /* there is no handle; the same */
	size_t heartbeat_turn;  /* election whose record carried the last one */
	int64_t commit_ns;      /* when the last committed write was answered; 0: none yet */
	int64_t down_ns;        /* not connected since; 0: connected */
	uint32_t connects;
	uint32_t opens; /* handles so far */
	bool lost_said; /* so that being back is to be said as well */
	struct servers servers;
	struct brake connected, lost, expired, failed;
};

/* Takes PORT over, to be used on the shell's loop. Returns 0 or negative errno. */
int ensemble_init(struct shell *shell, struct port *port);

/* Begins with the session of CREDENTIALS; id 0: a new one. */
void ensemble_begin(struct shell *shell, const struct session_credentials *credentials, int64_t lease_start_ns);

/* One step of the session core, with everything that follows from it. Fills in the instant. */
void ensemble_step(struct shell *shell, struct session_event *event);

/* Tells the session core whether heartbeats are wanted, if that has changed. */
void ensemble_pace(struct shell *shell);

/* What came due by NOW_NS, and what was put off to a turn of its own. */
void ensemble_timer(struct shell *shell, int64_t now_ns);
void ensemble_later(struct shell *shell);

/* When ensemble_timer is next due; INT64_MAX: never. */
int64_t ensemble_deadline(const struct shell *shell);

bool ensemble_connected(const struct shell *shell);

/*
 * Requests, as in port.h. Each returns 0 or negative errno; then REQUEST's done is not called, and
 * never before these return. An answer that does not come within T counts as a broken handle.
 */
int ensemble_create(struct shell *shell, const struct request *request, const char *path, const char *data,
		    size_t size, bool ephemeral, bool sequential);
int ensemble_delete(struct shell *shell, const struct request *request, const char *path);
int ensemble_get(struct shell *shell, const struct request *request, const char *path, uint64_t watch_cookie);
int ensemble_set(struct shell *shell, const struct request *request, const char *path, const char *data, size_t size,
		 int32_t version);
int ensemble_children(struct shell *shell, const struct request *request, const char *path, uint64_t watch_cookie);

#endif
