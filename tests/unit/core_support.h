/* What the tests of the pure cores share: a seeded generator, milliseconds, and a watch on allocations. */
#ifndef TENURE_TESTS_CORE_SUPPORT_H
#define TENURE_TESTS_CORE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocations.h"
#include "tenure/lease.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define MS TENURE_NS_PER_MS
#define SECOND (1000 * MS)

/* A run of a random test: what is needed to repeat it is printed when it fails. */
struct random_run {
	uint64_t seed, state;
	unsigned step;
};

static inline void random_begin(struct random_run *run, uint64_t seed)
{
	*run = (struct random_run){.seed = seed, .state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
}

/* splitmix64. */
static inline uint64_t random_next(struct random_run *run)
{
	uint64_t z = run->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* From 0 to BOUND - 1. */
static inline int64_t random_below(struct random_run *run, int64_t bound)
{
	return (int64_t)(random_next(run) % (uint64_t)bound);
}

/* True once in N times. */
static inline bool random_once_in(struct random_run *run, int64_t n)
{
	return random_below(run, n) == 0;
}

/* An invariant of a random run. */
#define CHECK_RUN(run, condition)                                                                          \
	do {                                                                                               \
		if (!(condition)) {                                                                        \
			print_error("seed %llu, step %u: %s\n", (unsigned long long)(run)->seed,           \
				    (run)->step, #condition);                                              \
			fail();                                                                            \
		}                                                                                          \
	} while (0)

/* The defaults: tick 3 s, lose 4 s, fence 2 s. */
static inline struct tenure_budget default_budget(void)
{
	return (struct tenure_budget){.touch_lag_ns = 2000 * MS,
				      .ping_slack_ns = 500 * MS,
				      .lose_ns = 4 * SECOND,
				      .fence_ns = 2 * SECOND};
}

#endif
