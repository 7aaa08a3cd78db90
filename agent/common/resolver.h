/*
 * The servers' names as numeric addresses. getaddrinfo may hang for as long as it likes: every name has a
 * thread of its own while it is being looked up, and the loop takes what was found when the fd is
 * readable. A name that hangs holds up no other.
 */
#ifndef TENURE_COMMON_RESOLVER_H
#define TENURE_COMMON_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/config.h"

enum {
	RESOLVER_ADDRESSES_MAX = 16,
	RESOLVER_ADDRESS_SIZE = 64, /* "host:port", IPv6 as "::1:2181" */
};

/* Numeric addresses, each once and sorted, so that two sets can be compared. */
struct resolver_set {
	size_t count;
	char addresses[RESOLVER_ADDRESSES_MAX][RESOLVER_ADDRESS_SIZE];
	size_t busy;       /* names being looked up */
	size_t failed;     /* names that did not resolve when last looked up */
	char example[256]; /* one of these, "" when there is none */
	char why[64];      /* and what was said of it */
};

bool resolver_set_equal(const struct resolver_set *a, const struct resolver_set *b);

struct resolver;

/* LIST stays the caller's and must outlive the resolver. Returns 0 or negative errno. */
int resolver_new(const struct config_server *list, size_t count, struct resolver **out);

/* Waits for the threads. NULL is fine. */
void resolver_free(struct resolver *resolver);

/* Readable when a look-up has ended. */
int resolver_fd(const struct resolver *resolver);

/* Whether every server is given by number, so that looking again would find nothing new. */
bool resolver_numeric(const struct resolver *resolver);

/* Looks up every name that is not being looked up already. A thread that cannot be had counts as a failed look-up. */
void resolver_start(struct resolver *resolver);

/*
 * How things stand. A name that did not resolve when last looked up keeps the addresses it had; at
 * most RESOLVER_ADDRESSES_MAX are given, the first of every server before the second of any.
 */
void resolver_take(struct resolver *resolver, struct resolver_set *out);

#endif
