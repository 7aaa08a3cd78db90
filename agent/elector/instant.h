/* Instants: CLOCK_BOOTTIME for decisions, the wall clock for people. */
#ifndef TENURE_ELECTOR_INSTANT_H
#define TENURE_ELECTOR_INSTANT_H

#include <stdint.h>

#include "tenure/limits.h"

/* CLOCK_BOOTTIME in ns. */
int64_t instant_now(void);

/* The wall clock in ms since 1970. */
int64_t instant_wall_ms(void);

/* WALL_MS as ISO 8601 in UTC with milliseconds; "" when it is out of range. Returns BUF. */
const char *instant_text(int64_t wall_ms, char buf[TENURE_TIME_SIZE]);

#endif
