/* Counts allocations. The linker's --wrap sends every call of the code under test here. */
#include "allocations.h"

#include <stdatomic.h>

/* Weak, so that a test may put its own in their place. */
#define WRAPPER __attribute__((weak))

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);

WRAPPER void *__wrap_malloc(size_t size);
WRAPPER void *__wrap_calloc(size_t n, size_t size);
WRAPPER void *__wrap_realloc(void *p, size_t size);
WRAPPER char *__wrap_strdup(const char *s);
WRAPPER char *__wrap_strndup(const char *s, size_t n);

static atomic_size_t made;

size_t allocations_made(void)
{
	return made;
}

void *__wrap_malloc(size_t size)
{
	made++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	made++;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	made++;
	return __real_realloc(p, size);
}

char *__wrap_strdup(const char *s)
{
	made++;
	return __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	made++;
	return __real_strndup(s, n);
}
