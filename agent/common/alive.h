/* How long the elector may say nothing before it counts as hung, and how often it says that it lives: of T, both. */
#ifndef TENURE_AGENT_ALIVE_H
#define TENURE_AGENT_ALIVE_H

#include <stdint.h>

static inline int64_t alive_limit_ns(int64_t session_timeout_ns)
{
	const int64_t least_ns = INT64_C(250000000);
	int64_t limit_ns = session_timeout_ns / 3;

	return limit_ns > least_ns ? limit_ns : least_ns;
}

static inline int64_t alive_every_ns(int64_t session_timeout_ns)
{
	return alive_limit_ns(session_timeout_ns) / 4;
}

#endif
