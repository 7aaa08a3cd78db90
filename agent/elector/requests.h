/* The table of outstanding requests to ZooKeeper: who asked, and until when an answer must be here. */
#ifndef TENURE_ELECTOR_REQUESTS_H
#define TENURE_ELECTOR_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "zookeeper/port.h"

struct contest;
struct request;
struct shell;

/* A request came back. What REPLY points to is valid during the call only. */
typedef void request_done(struct shell *shell, const struct request *request, const struct port_event *reply);

struct request {
	request_done *done;
	struct contest *contest; /* whose; NULL: of nobody in particular */
	void *context;           /* the asker's */
	uint32_t generation;     /* the asker's */
	uint32_t index;          /* the asker's */
	bool heartbeat;          /* the answer to SESSION_DO_HEARTBEAT */
};

struct request_slot;

struct requests {
	struct request_slot *slots;
	uint32_t capacity;
	uint32_t free;           /* first free slot, a list; capacity: none */
	uint32_t oldest, newest; /* the used ones in order of issue; capacity: none */
	uint32_t count;
	int64_t grace_ns; /* when the oldest was first seen overdue, the end of its grace; 0: it was not */
};

/* Returns 0 or -ENOMEM. CAPACITY is at least 1. */
int requests_init(struct requests *r, uint32_t capacity);
void requests_free(struct requests *r);

/* Notes REQUEST, to be answered before DEADLINE_NS. Returns its cookie, or 0 when the table is full. */
uint64_t requests_add(struct requests *r, const struct request *request, int64_t deadline_ns);

/* Takes the request of COOKIE out. Returns false for a cookie that is not outstanding. */
bool requests_take(struct requests *r, uint64_t cookie, struct request *out);

/* When requests_overdue is to be asked again; INT64_MAX: never. */
int64_t requests_deadline(const struct requests *r);

/*
 * Whether the oldest request has stayed without an answer past its deadline and a grace of a second
 * after that was first seen: a process that was paused finds all its deadlines passed, while the
 * answers are about to come.
 */
bool requests_overdue(struct requests *r, int64_t now_ns);

#endif
