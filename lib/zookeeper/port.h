/*
 * The ZooKeeper port: the only place that includes zookeeper.h. It turns the library's watchers and
 * completions, which run on threads of its own, into events in a bounded queue, and our requests
 * into asynchronous calls. All functions are for one thread, the one that owns the port; port_fd()
 * becomes readable when there is something to take.
 *
 * Rules it keeps (the library's traps): asynchronous calls only; never a NULL completion; no multi;
 * numeric addresses, an odd number of them; no resolving by the library; its own log callback;
 * nothing but copying on its threads; no call races zookeeper_close, which runs on a thread of its
 * own once a handle is given up.
 */
#ifndef TENURE_ZOOKEEPER_PORT_H
#define TENURE_ZOOKEEPER_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/session.h"
#include "tenure/limits.h"

struct port;

enum port_result {
	PORT_OK,
	PORT_NONODE,
	PORT_NODEEXISTS,
	PORT_BADVERSION,
	PORT_NOTEMPTY,
	PORT_NOAUTH,
	PORT_UNKNOWN, /* connection lost, handle given up or session over: perhaps done, perhaps not */
	PORT_REFUSED, /* any other answer; rc says which. Also a listing above 65536 names: none is cut */
};

struct port_stat {
	int64_t czxid;
	int64_t mzxid;
	int64_t ephemeral_owner;
	int32_t version;
};

enum port_event_type {
	PORT_EV_CONNECTED,    /* u.connected */
	PORT_EV_DISCONNECTED, /* what was outstanding comes back as PORT_UNKNOWN right behind it */
	/* The handle is of no use any more: as after a disconnection, and no event of it follows. */
	PORT_EV_EXPIRED,
	PORT_EV_AUTH_FAILED,
	PORT_EV_BROKEN,       /* the event queue overflowed, or the server's answer was absurd */
	PORT_EV_WATCH,        /* u.watch: the watch of this cookie was used up */
	PORT_EV_REPLY,        /* u.reply */
};

/* One event. Pointers in it are valid until the callback of port_take returns. */
struct port_event {
	enum port_event_type type;
	union {
		struct session_credentials connected; /* timeout_ns: as negotiated */
		uint64_t watch;
		struct {
			uint64_t cookie;
			enum port_result result;
			int rc;
			bool write;       /* it was a create, set or delete */
			bool answered;    /* the server answered, on the present connection */
			int64_t sent_ns;  /* CLOCK_BOOTTIME before the request was handed over */
			const struct port_stat *stat; /* or NULL */
			/* get: bytes, cut to TENURE_RECORD_MAX; create: the path as made, terminated */
			const char *data;
			size_t size;
			const char *const *names; /* children */
			size_t name_count;
		} reply;
	} u;
};

enum port_log_level { PORT_LOG_ERROR, PORT_LOG_WARNING, PORT_LOG_INFO };

struct port_config {
	unsigned requests_max;   /* outstanding at once; more are refused with -EAGAIN */
	unsigned watches_max;    /* at once, likewise; 0: 256 */
	/*
	 * A line the library logged; may be NULL. Called by the owner's thread from port_take; lines beyond
	 * a bound are dropped. Those of all ports of a process go to the newest one: the library does not
	 * tell them apart.
	 */
	void (*log)(void *context, enum port_log_level level, const char *line);
	void *context;
};

/* Who may do what with the znodes that we create. */
enum port_acl { PORT_ACL_OPEN, PORT_ACL_CREATOR, PORT_ACL_PRIVATE };

/* Returns 0 and a port without a handle in *OUT, or negative errno (-EINVAL: no requests, or a bound above 131072). */
int port_new(const struct port_config *config, struct port **out);

/*
 * Gives up the handle, which ends its session if it is connected, and frees the port; waits for what is
 * being closed at most WAIT_MS. NULL is fine. Not for a process that wants its session to outlive it:
 * that one calls _exit. Not to be called from port_take's callback.
 */
void port_free(struct port *port, int wait_ms);

/* Readable when port_take has something to hand out. Close-on-exec. */
int port_fd(const struct port *port);

/* One credential ("digest", "user:password") for handles opened from now on. Copied. At most 8: -ENOSPC. */
int port_add_auth(struct port *port, const char *scheme, const char *credential, size_t size);

void port_set_acl(struct port *port, enum port_acl acl);

/*
 * Opens a handle and gives up the present one, if any: its outstanding requests come back as
 * PORT_UNKNOWN, and no event of it follows them. ADDRESSES are COUNT numeric "host:port" (IPv6
 * without brackets: "::1:2181"), tried in this order. CREDENTIALS with id 0 ask for a new session of
 * timeout_ns. Returns 0 or negative errno (-EINVAL: an address that is not numeric, more than 63 of
 * them, a timeout of less than 1 ms or more than a day; -EBUSY: too many handles are still being
 * closed); on failure there is no handle.
 *
 * Giving a connected handle up ends its session; callers must not do it while a lease rests on it.
 */
int port_open(struct port *port, const char *const *addresses, size_t count,
	      const struct session_credentials *credentials);

/*
 * Gives up the handle and ends its session, waiting for the server's word at most WAIT_MS. Returns 0
 * (also when there is no handle), -ETIMEDOUT, or -ENOTCONN: not connected, so that the session runs
 * out by itself.
 */
int port_close_session(struct port *port, int wait_ms);

/* The connected server in BUF, as it was given to port_open. Returns 0, -ENOTCONN or -ENAMETOOLONG. */
int port_server(struct port *port, char *buf, size_t size);

/*
 * Requests. PATH is absolute (a chroot is the caller's to put before it). COOKIE comes back in the
 * reply. Each returns 0, or -EAGAIN (too many outstanding, or too many watches), -ENOTCONN (not
 * connected, as far as the events taken say), -EINVAL (not a path), -ENAMETOOLONG (4096 bytes),
 * -EMSGSIZE (data above TENURE_RECORD_MAX), -ENOMEM; then no reply follows. Every accepted request is
 * answered exactly once. One that came back as PORT_UNKNOWN may still be carried out, but only before
 * any later request of the same handle. `version` -1 is any.
 *
 * WATCH_COOKIE, when not 0, comes back in PORT_EV_WATCH once the watch is used up. Watches with the
 * same cookie, path and kind (data, children) are one watch: armed twice it fires once. A watch
 * whose request came back as PORT_UNKNOWN may fire all the same.
 */
int port_create(struct port *p, uint64_t cookie, const char *path, const char *data, size_t size,
		bool ephemeral, bool sequential);
int port_delete(struct port *p, uint64_t cookie, const char *path, int32_t version);
int port_get(struct port *p, uint64_t cookie, const char *path, uint64_t watch_cookie);
int port_set(struct port *p, uint64_t cookie, const char *path, const char *data, size_t size,
	     int32_t version);
int port_children(struct port *p, uint64_t cookie, const char *path, uint64_t watch_cookie);

/* Hands every event that waits, oldest first, at most BOUND of them, to TAKE. Returns how many. */
unsigned port_take(struct port *port, unsigned bound,
		   void (*take)(void *context, const struct port_event *event), void *context);

/* Text for a library code, for logs. */
const char *port_error_text(int rc);

#endif
