/*
 * What the servers agree on: the sessions, the queue, the member records and the election record, changed by
 * transactions in one order. Only what the elector core asks for is there; the znodes above are one flag.
 */
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void tree_init(struct tree *t)
{
	memset(t, 0, sizeof *t);
	t->record.member = t->record.successor = -1;
	t->record.clean = TENURE_CLEAN_YES;
}

unsigned znode_find(const struct world *w, const char *name)
{
	for (unsigned i = w->znode_count; i > 1; i--)
		if (strcmp(w->znodes[i - 1].name, name) == 0)
			return i - 1;
	return 0;
}

bool tree_has(const struct tree *t, unsigned znode)
{
	for (unsigned i = 0; i < t->queue_count; i++)
		if (t->queue[i] == znode)
			return true;
	return false;
}

static int find_member(const struct tree *t, unsigned session)
{
	for (int i = 0; i < t->member_count; i++)
		if (t->members[i].session == session)
			return i;
	return -1;
}

/* What the answer to the write R is, with everything ordered before it. */
uint8_t tree_judge(const struct world *w, const struct tree *t, const struct request *r)
{
	switch (r->type) {
	case REQUEST_MEMBER:
		return find_member(t, r->session) >= 0 ? ANSWER_EXISTS : ANSWER_OK;
	case REQUEST_SET:
		return find_member(t, r->session) >= 0 ? ANSWER_OK : ANSWER_NONODE;
	case REQUEST_CREATE:
		return t->path && t->queue_count < QUEUE_MAX && w->znode_count < ZNODES_MAX ? ANSWER_OK
											    : ANSWER_NONODE;
	case REQUEST_DELETE:
		return tree_has(t, r->znode) ? ANSWER_OK : ANSWER_NONODE;
	case REQUEST_WRITE:
		if (!t->path)
			return ANSWER_NONODE;
		return r->version == t->version ? ANSWER_OK : ANSWER_BADVERSION;
	default:
		return ANSWER_OK;
	}
}

static void remove_znode(struct tree *t, unsigned at, struct change *change)
{
	if (change)
		change->deleted[change->deleted_count++] = t->queue[at];
	memmove(&t->queue[at], &t->queue[at + 1], sizeof t->queue[0] * (t->queue_count - at - 1u));
	t->queue_count--;
}

static void end_session(struct world *w, struct tree *t, unsigned session, struct change *change)
{
	int member = find_member(t, session);

	for (unsigned i = t->queue_count; i > 0; i--)
		if (w->znodes[t->queue[i - 1]].session == session)
			remove_znode(t, i - 1, change);
	if (member >= 0)
		t->members[member] = t->members[--t->member_count];
	t->sessions &= ~(UINT64_C(1) << session);
}

static void apply_ok(struct world *w, struct tree *t, const struct request *r, struct change *change)
{
	int member = find_member(t, r->session);

	switch (r->type) {
	case REQUEST_SESSION:
		t->sessions |= UINT64_C(1) << r->session;
		break;
	case REQUEST_CLOSE:
		end_session(w, t, r->session, change);
		break;
	case REQUEST_MEMBER:
		t->path = true;
		if (t->member_count == MEMBERS_MAX)
			break;
		t->members[t->member_count++] = (struct peer){
			.session = r->session, .member = (uint8_t)r->znode, .standing = r->standing};
		break;
	case REQUEST_SET:
		if (member >= 0)
			t->members[member].standing = r->standing;
		break;
	case REQUEST_CREATE:
		t->queue[t->queue_count++] = r->znode;
		t->creations++;
		break;
	case REQUEST_DELETE:
		for (unsigned i = 0; i < t->queue_count; i++)
			if (t->queue[i] == r->znode) {
				remove_znode(t, i, change);
				break;
			}
		break;
	case REQUEST_WRITE:
		t->record = r->u.record;
		t->version++;
		if (change)
			change->record = true;
		break;
	default:
		break;
	}
}

void tree_apply(struct world *w, struct tree *t, const struct txn *txn, struct change *change)
{
	if (change) {
		change->record = false;
		change->deleted_count = 0;
	}
	if (txn->answer == ANSWER_OK)
		apply_ok(w, t, &txn->request, change);
}

static bool queues(const struct world *w, const struct tree *t, unsigned session)
{
	for (unsigned i = 0; i < t->queue_count; i++)
		if (w->znodes[t->queue[i]].session == session)
			return true;
	return false;
}

/* A read. Returns false when the znode asked for is not there. */
bool tree_read(const struct world *w, const struct tree *t, const struct request *r, struct reply *reply)
{
	bool there = t->path;

	reply->count = 0;
	switch (r->type) {
	case REQUEST_LOOK:
		there = tree_has(t, r->znode);
		reply->czxid = w->znodes[r->znode].czxid;
		reply->owner = w->znodes[r->znode].session;
		break;
	case REQUEST_LIST:
		reply->count = t->queue_count;
		memcpy(reply->u.names, t->queue, sizeof t->queue[0] * t->queue_count);
		break;
	case REQUEST_READ:
		reply->version = t->version;
		reply->u.record = t->record;
		break;
	case REQUEST_SURVEY:
		reply->count = t->member_count;
		memcpy(reply->u.peers, t->members, sizeof t->members[0] * t->member_count);
		for (unsigned i = 0; i < reply->count; i++)
			reply->u.peers[i].queues = queues(w, t, reply->u.peers[i].session);
		break;
	case REQUEST_PROBE:
		there = true;
		break;
	default:
		abort();
	}
	reply->answer = there ? ANSWER_OK : ANSWER_NONODE;
	return there;
}
