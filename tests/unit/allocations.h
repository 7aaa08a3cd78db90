/* How often the code linked into a test has asked for memory; calls inside shared libraries do not count. */
#ifndef TENURE_TESTS_ALLOCATIONS_H
#define TENURE_TESTS_ALLOCATIONS_H

#include <stddef.h>

size_t allocations_made(void);

#endif
