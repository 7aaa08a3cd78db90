/* Requests of one handle: the asynchronous calls, and the slots in which their replies are kept. */
#ifndef TENURE_ZOOKEEPER_REQUESTS_H
#define TENURE_ZOOKEEPER_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zookeeper/port.h"

enum {
	PORT_NAMES_MAX = 65536, /* children in a reply; more are refused */
	PORT_PATH_MAX = 4096,   /* bytes of a path, its NUL included */
};

/* Code of a listing that was too long or not whole; neither the library nor a server has it. */
#define PORT_RC_LISTING (-100)

struct port_handle;
struct port_watch;

/* A reply, copied from the library. Owns what it points to. */
struct port_reply {
	int rc;
	bool has_stat;
	struct port_stat stat;
	char *data;
	size_t size;
	char **names; /* one block: the pointers, then the text */
	size_t name_count;
};

void port_reply_free(struct port_reply *reply);

/* A request that the library holds. It stays used until the library has let go of it. */
struct port_slot {
	struct port_handle *handle;
	struct port_slot *next_free;
	bool used;
	bool answered; /* the owner has had its reply */
	bool write;
	uint64_t cookie;
	int64_t sent_ns;
	struct port_watch *watch; /* or NULL */
	struct port_reply reply;  /* under the queue's lock until it is taken */
};

enum port_op { PORT_OP_CREATE, PORT_OP_DELETE, PORT_OP_GET, PORT_OP_SET, PORT_OP_CHILDREN };

struct port_call {
	enum port_op op;
	uint64_t cookie, watch_cookie;
	const char *path;
	const char *data;
	size_t size;
	int32_t version;
	int flags;         /* CREATE */
	enum port_acl acl; /* CREATE */
};

/* Hands CALL to the library. Returns as the functions of port.h do. */
int port_request(struct port_handle *h, const struct port_call *call);

/* The library has let go of SLOT. */
void port_slot_release(struct port_slot *slot);

/* What a code means for a request, and whether it was the server that said so. */
enum port_result port_result_of(int rc, bool *answered);

#endif
