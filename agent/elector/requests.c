/* The table of outstanding requests to ZooKeeper: who asked, and until when an answer must be here. */
#include "elector/requests.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#define REQUESTS_GRACE_NS INT64_C(1000000000)

struct request_slot {
	struct request request;
	int64_t deadline_ns;
	uint32_t serial; /* of its use; 0 only before the first */
	uint32_t previous, next;
	bool used;
};

int requests_init(struct requests *r, uint32_t capacity)
{
	assert(capacity > 0);
	*r = (struct requests){.capacity = capacity, .oldest = capacity, .newest = capacity};
	r->slots = calloc(capacity, sizeof *r->slots);
	if (!r->slots)
		return -ENOMEM;
	return 0;
}

void requests_free(struct requests *r)
{
	free(r->slots);
	*r = (struct requests){0};
}

/* A slot that was never used is followed by the next such one: what nobody needs is not even touched. */
static uint32_t next_free(const struct requests *r, uint32_t i)
{
	return r->slots[i].serial == 0 ? i + 1 : r->slots[i].next;
}

uint64_t requests_add(struct requests *r, const struct request *request, int64_t deadline_ns)
{
	uint32_t i = r->free;
	struct request_slot *slot;

	if (i == r->capacity)
		return 0;
	slot = &r->slots[i];
	assert(!slot->used);
	r->free = next_free(r, i);
	slot->request = *request;
	slot->deadline_ns = deadline_ns;
	slot->used = true;
	if (++slot->serial == 0)
		slot->serial = 1;
	slot->previous = r->newest;
	slot->next = r->capacity;
	if (r->newest == r->capacity)
		r->oldest = i;
	else
		r->slots[r->newest].next = i;
	r->newest = i;
	r->count++;
	return (uint64_t)slot->serial << 32 | i;
}

bool requests_take(struct requests *r, uint64_t cookie, struct request *out)
{
	uint32_t i = (uint32_t)(cookie & UINT32_MAX);
	struct request_slot *slot;

	if (i >= r->capacity)
		return false;
	slot = &r->slots[i];
	if (!slot->used || slot->serial != cookie >> 32)
		return false;
	*out = slot->request;
	if (i == r->oldest) {
		r->oldest = slot->next;
		r->grace_ns = 0;
	} else {
		r->slots[slot->previous].next = slot->next;
	}
	if (i == r->newest)
		r->newest = slot->previous;
	else
		r->slots[slot->next].previous = slot->previous;
	slot->used = false;
	slot->next = r->free;
	r->free = i;
	r->count--;
	return true;
}

int64_t requests_deadline(const struct requests *r)
{
	if (r->oldest == r->capacity)
		return INT64_MAX;
	return r->grace_ns ? r->grace_ns : r->slots[r->oldest].deadline_ns;
}

bool requests_overdue(struct requests *r, int64_t now_ns)
{
	if (now_ns < requests_deadline(r))
		return false;
	if (r->grace_ns) {
		r->grace_ns = now_ns + REQUESTS_GRACE_NS;
		return true;
	}
	r->grace_ns = now_ns + REQUESTS_GRACE_NS;
	return false;
}
