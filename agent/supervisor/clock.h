/* The two clocks: CLOCK_BOOTTIME for every decision, the wall clock for people. */
#ifndef TENURE_SUPERVISOR_CLOCK_H
#define TENURE_SUPERVISOR_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_NEVER INT64_MAX

static inline int64_t clock_now_ns(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static inline int64_t clock_wall_ms(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline int64_t clock_earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

#endif
