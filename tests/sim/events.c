/* Time: a binary heap of events (ties in the order of insertion), random numbers (splitmix64), memory of one
 * run. */
#include "sim.h"

#include <stdlib.h>

enum { EVENTS_MAX = 8192, ARENA_SIZE = 1 << 24 };

static struct event events[EVENTS_MAX];
static _Alignas(16) unsigned char arena[ARENA_SIZE];
static size_t arena_used;

/* Lives until the run's end. */
void *arena_take(size_t size)
{
	void *p = arena + arena_used;

	arena_used += (size + 15) & ~(size_t)15;
	if (arena_used > ARENA_SIZE)
		abort();
	return p;
}

bool arena_low(void)
{
	return arena_used > ARENA_SIZE / 4 * 3;
}

void arena_reset(struct world *w)
{
	arena_used = 0;
	w->heap.events = events;
	w->heap.count = 0;
	w->heap.inserted = 0;
	w->spare = NULL;
}

static bool before(const struct event *a, const struct event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void heap_push(struct world *w, int64_t at_ns, enum event_type type, unsigned a, unsigned b, void *p,
	       uint32_t life)
{
	struct heap *h = &w->heap;
	unsigned i = h->count++;
	struct event e = {.at_ns = at_ns > w->now_ns ? at_ns : w->now_ns,
			  .order = h->inserted++,
			  .life = life,
			  .type = (uint16_t)type,
			  .a = (uint16_t)a,
			  .b = (uint16_t)b,
			  .p = p};

	if (h->count >= EVENTS_MAX)
		abort();
	while (i > 0 && before(&e, &h->events[(i - 1) / 2])) {
		h->events[i] = h->events[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h->events[i] = e;
}

bool heap_pop(struct world *w, struct event *out)
{
	struct heap *h = &w->heap;
	struct event last;
	unsigned i = 0;

	if (h->count == 0)
		return false;
	*out = h->events[0];
	last = h->events[--h->count];
	for (;;) {
		unsigned child = 2 * i + 1;

		if (child >= h->count)
			break;
		if (child + 1 < h->count && before(&h->events[child + 1], &h->events[child]))
			child++;
		if (!before(&h->events[child], &last))
			break;
		h->events[i] = h->events[child];
		i = child;
	}
	h->events[i] = last;
	return true;
}

uint64_t random_next(struct world *w)
{
	uint64_t z = (w->random += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

int64_t random_below(struct world *w, int64_t bound)
{
	return bound <= 0 ? 0 : (int64_t)(((unsigned __int128)random_next(w) * (uint64_t)bound) >> 64);
}

int64_t random_between(struct world *w, int64_t low, int64_t high)
{
	return high <= low ? low : low + random_below(w, high - low + 1);
}

bool random_in(struct world *w, int64_t chance, int64_t of)
{
	return random_below(w, of) < chance;
}
