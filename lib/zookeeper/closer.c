/* The thread that closes handles, one after the other. */
#include "zookeeper/closer.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "zookeeper/handle.h"

struct port_closer {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	unsigned references; /* the owner's and the thread's */
	struct port_handle *first, *last;
	uint64_t given, closed;
	bool stop;
};

static void unref(struct port_closer *c)
{
	bool last;

	pthread_mutex_lock(&c->lock);
	assert(c->references > 0);
	last = --c->references == 0;
	pthread_mutex_unlock(&c->lock);
	if (!last)
		return;
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static void *run(void *context)
{
	struct port_closer *c = context;
	struct port_handle *h;

	pthread_mutex_lock(&c->lock);
	for (;;) {
		while (!c->first && !c->stop)
			pthread_cond_wait(&c->changed, &c->lock);
		h = c->first;
		if (!h)
			break;
		c->first = h->next;
		pthread_mutex_unlock(&c->lock);
		port_handle_close(h);
		pthread_mutex_lock(&c->lock);
		c->closed++;
		pthread_cond_broadcast(&c->changed);
	}
	pthread_mutex_unlock(&c->lock);
	unref(c);
	return NULL;
}

static int init_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;
	int rc = -pthread_condattr_init(&attributes);

	if (rc < 0)
		return rc;
	rc = -pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	if (rc == 0)
		rc = -pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
	return rc;
}

int port_closer_new(struct port_closer **out)
{
	struct port_closer *c = calloc(1, sizeof(*c));
	sigset_t all, former;
	int rc;

	if (!c)
		return -ENOMEM;
	rc = -pthread_mutex_init(&c->lock, NULL);
	if (rc < 0)
		goto fail;
	rc = init_condition(&c->changed);
	if (rc < 0)
		goto fail_lock;
	c->references = 2;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &former);
	rc = -pthread_create(&c->thread, NULL, run, c);
	pthread_sigmask(SIG_SETMASK, &former, NULL);
	if (rc < 0)
		goto fail_condition;
	*out = c;
	return 0;

fail_condition:
	pthread_cond_destroy(&c->changed);
fail_lock:
	pthread_mutex_destroy(&c->lock);
fail:
	free(c);
	return rc;
}

uint64_t port_closer_give(struct port_closer *c, struct port_handle *h)
{
	uint64_t ticket;

	h->next = NULL;
	pthread_mutex_lock(&c->lock);
	if (c->first)
		c->last->next = h;
	else
		c->first = h;
	c->last = h;
	ticket = ++c->given;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	return ticket;
}

static bool wait_locked(struct port_closer *c, uint64_t ticket, int wait_ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	if (wait_ms > 0) {
		until.tv_sec += wait_ms / 1000;
		until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
	}
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	while (c->closed < ticket)
		if (pthread_cond_timedwait(&c->changed, &c->lock, &until) == ETIMEDOUT)
			break;
	return c->closed >= ticket;
}

bool port_closer_wait(struct port_closer *c, uint64_t ticket, int wait_ms)
{
	bool closed;

	pthread_mutex_lock(&c->lock);
	closed = wait_locked(c, ticket, wait_ms);
	pthread_mutex_unlock(&c->lock);
	return closed;
}

unsigned port_closer_pending(struct port_closer *c)
{
	unsigned pending;

	pthread_mutex_lock(&c->lock);
	pending = (unsigned)(c->given - c->closed);
	pthread_mutex_unlock(&c->lock);
	return pending;
}

void port_closer_free(struct port_closer *c, int wait_ms)
{
	bool closed;

	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_cond_broadcast(&c->changed);
	closed = wait_locked(c, c->given, wait_ms);
	pthread_mutex_unlock(&c->lock);
	if (closed)
		pthread_join(c->thread, NULL);
	else
		pthread_detach(c->thread);
	unref(c);
}
