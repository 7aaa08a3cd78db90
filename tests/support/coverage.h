/* Included before everything else in a build that counts lines: a process that leaves by _exit takes its counts along. */
#ifndef TENURE_TESTS_COVERAGE_H
#define TENURE_TESTS_COVERAGE_H

#include <unistd.h>

void __gcov_dump(void); /* NOLINT: the compiler's own name */

__attribute__((noreturn)) static inline void coverage_exit(int status)
{
	__gcov_dump();
	_exit(status);
}

#define _exit coverage_exit

#endif
