/* Which addresses the servers have: when their names are looked up, and what is made of the answers. */
#ifndef TENURE_ELECTOR_SERVERS_H
#define TENURE_ELECTOR_SERVERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/resolver.h"
#include "elector/brake.h"

struct event;
struct shell;

struct servers {
	struct resolver *resolver;
	struct event *event;
	struct resolver_set set; /* as handed to the session core */
	bool looking;            /* a round is under way */
	int64_t begun_ns;        /* of the newest round */
	int64_t patience_ns;     /* while a round is under way: until when names that hang are waited for */
	int64_t retry_ns;        /* next round for names that failed; INT64_MAX: none failed */
	unsigned failures;       /* rounds in a row in which one failed */
	struct brake failed;
};

/* Returns 0 or negative errno. */
int servers_init(struct shell *shell);

/* Begins the first round. */
void servers_begin(struct shell *shell);

/* What came due. */
void servers_timer(struct shell *shell, int64_t now_ns);

/* When servers_timer is next due; INT64_MAX: never. */
int64_t servers_deadline(const struct shell *shell);

#endif
