/* What every part of the simulator knows: bounds, units. Only sim.h includes it. */
#ifndef TENURE_SIM_BASE_H
#define TENURE_SIM_BASE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/elector.h"
#include "core/role.h"
#include "core/session.h"

#define MS INT64_C(1000000)
#define SECOND INT64_C(1000000000)
#define NEVER INT64_MAX

enum {
	HOSTS_MAX = 4,
	SERVERS_MAX = 6, /* five voters and an observer */
	NODES_MAX = SERVERS_MAX + HOSTS_MAX,
	SESSIONS_MAX = 64,
	ZNODES_MAX = 256,
	TXNS_MAX = 4096,
	QUEUE_MAX = 24,
	MEMBERS_MAX = 16,
	LINKS_MAX = 256,
	REQUESTS_MAX = 32,
	WATCHES_MAX = 24,
	DOWNS_MAX = 16,
	ELECTORS_MAX = 3, /* of one host: a supervisor's own, and the orphans of earlier ones */
};

struct world;

#endif
