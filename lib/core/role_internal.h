/* What the files of the role core share; nobody else includes this. */
#ifndef TENURE_CORE_ROLE_INTERNAL_H
#define TENURE_CORE_ROLE_INTERNAL_H

#include "core/role.h"

#define NS_PER_S INT64_C(1000000000)

/* ---- role_clock.c: what is due when (INT64_MAX: never), and how long what may take ---- */

/* The points of the term in office. */
struct tenure_schedule role_schedule(const struct role *r);

/* When the lease forces a demotion. */
int64_t role_demote_at(const struct role *r);

/* When the running hook is first asked to end because of its own limit. */
int64_t role_term_at(const struct role *r);

/* When the running hook is to be killed. */
int64_t role_kill_at(const struct role *r);

/* When a killed hook that is still there is given up. */
int64_t role_outlives_at(const struct role *r);

/* When on_panic is due. */
int64_t role_panic_at(const struct role *r);

/* The limits of a lose and of a fence hook that start now. */
int64_t role_lose_limit(const struct role *r, int64_t now_ns);
int64_t role_fence_limit(const struct role *r, int64_t now_ns);

static inline int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

#endif
