/*
 * Lets the n-th allocation fail, and in another round all from the n-th on, for each n until nothing fails any more.
 * EVERYWHERE means also those inside shared libraries: the program's own malloc comes before theirs. OURS are those of
 * the code under test alone, for what calls libraries that do not survive it.
 */
#ifndef TENURE_TESTS_NO_MEMORY_H
#define TENURE_TESTS_NO_MEMORY_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum no_memory_where { NO_MEMORY_OURS, NO_MEMORY_EVERYWHERE };

static struct {
	enum no_memory_where where;
	size_t fail_at; /* 0: nothing fails */
	bool all;       /* and all after it */
	size_t made;
} no_memory;
/* A library's thread has its own allocations. */
static _Thread_local bool no_memory_armed;
static atomic_long no_memory_living;

static inline bool no_memory_fails(enum no_memory_where caller)
{
	if (!no_memory_armed || no_memory.fail_at == 0 || caller != no_memory.where)
		return false;
	no_memory.made++;
	if (no_memory.made != no_memory.fail_at && !(no_memory.all && no_memory.made > no_memory.fail_at))
		return false;
	errno = ENOMEM;
	return true;
}

/* ---- the code under test: the linker's --wrap ---- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

void *__wrap_malloc(size_t size)
{
	return no_memory_fails(NO_MEMORY_OURS) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return no_memory_fails(NO_MEMORY_OURS) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return no_memory_fails(NO_MEMORY_OURS) ? NULL : __real_realloc(p, size);
}

char *__wrap_strdup(const char *s)
{
	return no_memory_fails(NO_MEMORY_OURS) ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return no_memory_fails(NO_MEMORY_OURS) ? NULL : __real_strndup(s, n);
}

/* ---- the whole program; a sanitizer has its own, and finds leaks by itself ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

static const enum no_memory_where no_memory_widest = NO_MEMORY_OURS;

#else

static const enum no_memory_where no_memory_widest = NO_MEMORY_EVERYWHERE;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

static inline void *no_memory_count(void *p)
{
	if (p != NULL)
		atomic_fetch_add(&no_memory_living, 1);
	return p;
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the C library's are not for us to use. */
#define VISIBLE __attribute__((visibility("default")))

VISIBLE void *malloc(size_t size)
{
	return no_memory_fails(NO_MEMORY_EVERYWHERE) ? NULL : no_memory_count(__libc_malloc(size));
}

VISIBLE void *calloc(size_t n, size_t size)
{
	return no_memory_fails(NO_MEMORY_EVERYWHERE) ? NULL : no_memory_count(__libc_calloc(n, size));
}

VISIBLE void *realloc(void *p, size_t size)
{
	if (p == NULL)
		return malloc(size);
	return no_memory_fails(NO_MEMORY_EVERYWHERE) ? NULL : __libc_realloc(p, size);
}

VISIBLE void free(void *p)
{
	if (p != NULL)
		atomic_fetch_sub(&no_memory_living, 1);
	__libc_free(p);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

#endif

/* What fails is what EXPRESSION asks for, not what the test itself needs around it. */
#define NO_MEMORY_IN(expression)         \
	do {                             \
		no_memory_armed = true;  \
		expression;              \
		no_memory_armed = false; \
	} while (0)

/* SCENARIO returns 0 (with a result that it has checked) or negative errno, and leaves nothing allocated. */
static inline void no_memory_round(int (*scenario)(void), enum no_memory_where where, bool all)
{
	int rc;

	no_memory.where = where;
	no_memory.fail_at = 0;
	/* Once for what the libraries keep for good. */
	assert_int_equal(scenario(), 0);
	for (size_t n = 1;; n++) {
		long before = atomic_load(&no_memory_living);

		no_memory.fail_at = n;
		no_memory.all = all;
		no_memory.made = 0;
		rc = scenario();
		no_memory.fail_at = 0;
		if (atomic_load(&no_memory_living) != before)
			fail_msg("allocation %zu fails (%s): %ld more living after it", n, all ? "and all later" : "alone",
				 atomic_load(&no_memory_living) - before);
		if (no_memory.made < n)
			break;
		if (rc != 0 && rc != -ENOMEM)
			fail_msg("allocation %zu fails (%s): %d", n, all ? "and all later" : "alone", rc);
	}
	assert_int_equal(rc, 0);
	/* What has been tried is all that there is, which may be nothing of ours, but not nothing at all. */
	assert_true(no_memory.made > 0 || where == NO_MEMORY_OURS);
}

static inline void no_memory_sweep(int (*scenario)(void), enum no_memory_where widest)
{
	for (int where = NO_MEMORY_OURS; where <= (int)widest && where <= (int)no_memory_widest; where++) {
		no_memory_round(scenario, (enum no_memory_where)where, false);
		no_memory_round(scenario, (enum no_memory_where)where, true);
	}
}

#endif
