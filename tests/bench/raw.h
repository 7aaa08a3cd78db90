/* What the raw ZooKeeper programs of the benchmark share. */
#ifndef TENURE_BENCH_RAW_H
#define TENURE_BENCH_RAW_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <zookeeper/zookeeper.h>

static inline int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void must(bool ok, const char *what, int rc)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s\n", what, zerror(rc));
	exit(1);
}

/* Something that one of the library's threads says and the main thread waits for, at most 30 s. */
struct flag {
	pthread_mutex_t mutex;
	pthread_cond_t raised;
	bool up;
};

#define FLAG_INIT { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false }

static inline void raise_flag(struct flag *f)
{
	pthread_mutex_lock(&f->mutex);
	f->up = true;
	pthread_cond_signal(&f->raised);
	pthread_mutex_unlock(&f->mutex);
}

static inline void await_flag(struct flag *f, const char *what)
{
	struct timespec until;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 30;
	pthread_mutex_lock(&f->mutex);
	while (!f->up && rc == 0)
		rc = pthread_cond_timedwait(&f->raised, &f->mutex, &until);
	must(f->up, what, ZOPERATIONTIMEOUT);
	f->up = false;
	pthread_mutex_unlock(&f->mutex);
}

/* A handle that is connected. */
static inline zhandle_t *connect_to(const char *servers, int timeout_ms)
{
	zhandle_t *zh;
	const struct timespec pause = { .tv_nsec = 10000000 };

	zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
	zh = zookeeper_init2(servers, NULL, timeout_ms, NULL, NULL, ZOO_NO_LOG_CLIENTENV, NULL);
	must(zh != NULL, "zookeeper_init2", ZSYSTEMERROR);
	for (int i = 0; i < 1000 && zoo_state(zh) != ZOO_CONNECTED_STATE; i++)
		nanosleep(&pause, NULL);
	must(zoo_state(zh) == ZOO_CONNECTED_STATE, "connect", ZOPERATIONTIMEOUT);
	return zh;
}

#endif
