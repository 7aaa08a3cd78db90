/*
 * Preloaded under valgrind, where /proc/self/exe is valgrind itself: what the agent executes anew is the program that
 * TENURE_TEST_PROGRAM names. The limit of descriptors, which valgrind needs for its own, stays.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the C library's are not for us to use. */

#define VISIBLE __attribute__((visibility("default")))

VISIBLE int execve(const char *path, char *const words[], char *const environment[])
{
	const char *program = getenv("TENURE_TEST_PROGRAM");

	if (program != NULL && strcmp(path, "/proc/self/exe") == 0)
		path = program;
	return (int)syscall(SYS_execve, path, words, environment);
}

VISIBLE int execv(const char *path, char *const words[])
{
	return execve(path, words, environ);
}

VISIBLE int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	return resource == RLIMIT_NOFILE ? 0 : (int)syscall(SYS_setrlimit, resource, limit);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
