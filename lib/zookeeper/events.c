/* The bounded queue between the library's threads and the owner of a port. */
#include "zookeeper/events.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

int port_events_new(unsigned capacity, struct port_events **out)
{
	struct port_events *e = calloc(1, sizeof(*e) + capacity * sizeof(e->items[0]));
	int rc;

	if (!e)
		return -ENOMEM;
	e->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (e->fd < 0) {
		rc = -errno;
		goto fail;
	}
	rc = -pthread_mutex_init(&e->lock, NULL);
	if (rc < 0)
		goto fail_fd;
	e->capacity = capacity;
	e->references = 1;
	*out = e;
	return 0;

fail_fd:
	close(e->fd);
fail:
	free(e);
	return rc;
}

void port_events_ref(struct port_events *e)
{
	pthread_mutex_lock(&e->lock);
	e->references++;
	pthread_mutex_unlock(&e->lock);
}

void port_events_unref(struct port_events *e)
{
	bool last;

	if (!e)
		return;
	pthread_mutex_lock(&e->lock);
	assert(e->references > 0);
	last = --e->references == 0;
	pthread_mutex_unlock(&e->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&e->lock);
	close(e->fd);
	free(e);
}

/* The owner looks at the whole queue before it sleeps, so only the first item has to wake it. */
void port_events_push(struct port_events *e, const struct port_item *item)
{
	if (e->broken)
		return;
	if (e->count == e->capacity) {
		port_events_break(e);
		return;
	}
	e->items[(e->head + e->count) % e->capacity] = *item;
	if (e->count++ == 0)
		port_events_wake(e);
}

void port_events_break(struct port_events *e)
{
	e->broken = true;
	port_events_wake(e);
}

bool port_events_pop(struct port_events *e, struct port_item *item)
{
	if (e->count == 0)
		return false;
	*item = e->items[e->head];
	e->head = (e->head + 1) % e->capacity;
	/* So that only as much of it is touched as was ever needed at once. */
	if (--e->count == 0)
		e->head = 0;
	return true;
}

void port_events_clear(struct port_events *e)
{
	e->count = 0;
	e->broken = false;
}

void port_events_wake(const struct port_events *e)
{
	const uint64_t one = 1;

	/* It fails only when the counter is full, and then the descriptor is readable anyway. */
	if (write(e->fd, &one, sizeof(one)) < 0)
		return;
}

void port_events_drain(const struct port_events *e)
{
	uint64_t count;

	/* It fails only when there is nothing to drain. */
	if (read(e->fd, &count, sizeof(count)) < 0)
		return;
}
