/*
 * What the leader does with sessions and writes, and what every server does with a committed transaction.
 *
 * Sessions' clocks live at the leader only. A session expires T after its last touch there, rounded up to the
 * next tick; touches come from the leader's own clients and from the learners' answers to its pings. A write
 * is checked against its session when it is ordered, but touches nothing. A new leader starts every clock
 * anew, with the timeout of the session's creation; a touch counts with that of the connection it came from.
 */
#include "sim.h"

static void arm_expire(struct world *w, struct server *l, int64_t at_ns)
{
	if (at_ns >= l->expire_at_ns)
		return;
	l->expire_at_ns = at_ns;
	heap_push(w, at_ns, EVENT_SERVER, TIMER_EXPIRE, 0, l, l->term);
}

static void set_expiry(struct world *w, struct server *l, unsigned session, int64_t timeout_ns)
{
	int64_t tick_ns = server_span(l, w->params.tick_ns);
	int64_t end_ns = w->now_ns + server_span(l, timeout_ns);

	l->expiry_ns[session] = (end_ns / tick_ns + 1) * tick_ns;
	arm_expire(w, l, l->expiry_ns[session]);
}

bool leader_touch(struct world *w, struct server *l, unsigned session, int64_t timeout_ns)
{
	uint64_t bit = UINT64_C(1) << session;

	if (!(l->tracked & bit) || (l->closing & bit))
		return false;
	set_expiry(w, l, session, timeout_ns);
	return true;
}

void leader_track_all(struct world *w, struct server *l)
{
	l->tracked = l->tree.sessions;
	l->closing = 0;
	l->expire_at_ns = NEVER;
	for (unsigned i = 1; i < w->session_count; i++) {
		l->owner[i] = SERVERS_MAX;
		if (l->tracked & UINT64_C(1) << i)
			set_expiry(w, l, i, w->sessions[i].timeout_ns);
	}
}

void leader_expire(struct world *w, struct server *l)
{
	int64_t next_ns = NEVER;

	l->expire_at_ns = NEVER;
	for (unsigned i = 1; i < w->session_count; i++) {
		uint64_t bit = UINT64_C(1) << i;
		struct request close = {.type = REQUEST_CLOSE, .session = (uint16_t)i};

		if (!(l->tracked & bit) || (l->closing & bit))
			continue;
		if (l->expiry_ns[i] <= w->now_ns) {
			TRACE(w, "server %u: session %u has run out", l->id, i);
			l->closing |= bit;
			leader_order(w, l, &close, l->id, NULL, true);
		} else if (l->expiry_ns[i] < next_ns) {
			next_ns = l->expiry_ns[i];
		}
	}
	if (next_ns != NEVER)
		arm_expire(w, l, next_ns);
}

/* ---- writes ---- */

static void propose(struct world *w, struct server *l, unsigned txn)
{
	for (unsigned i = 0; i < w->server_count; i++)
		if (l->learners[i]) {
			struct message *m = message_new(w, PEER_PROPOSE);

			m->u.peer.count = l->logged - 1;
			m->u.peer.txn = (uint16_t)txn;
			link_send(w, l->learners[i], 0, m);
		}
}

static uint8_t judge(const struct world *w, const struct server *l, const struct request *r, unsigned origin,
		     bool expiry)
{
	uint64_t bit = UINT64_C(1) << r->session;

	if (r->type == REQUEST_SESSION || expiry)
		return ANSWER_OK;
	/* Session 0 stands for an operator's own. */
	if (r->session != 0 && (!(l->tracked & bit) || (l->closing & bit)))
		return ANSWER_REFUSED;
	if (r->session != 0 && l->owner[r->session] != origin)
		return ANSWER_MOVED;
	return tree_judge(w, &l->prepared, r);
}

static void make_znode(struct world *w, const struct server *l, struct txn *txn)
{
	struct znode *z = &w->znodes[w->znode_count];
	char prefix[TENURE_CANDIDATE_SIZE];
	char digits[16];
	int n = 10;
	int64_t value = l->prepared.creations;

	tenure_queue_prefix(txn->request.u.guid, prefix, sizeof prefix);
	for (int i = n; i > 0; i--, value /= 10)
		digits[i - 1] = (char)('0' + value % 10);
	digits[n] = '\0';
	memset(z, 0, sizeof *z);
	strcpy(z->name, prefix);
	strcat(z->name, digits);
	z->czxid = txn->zxid;
	z->session = txn->request.session;
	txn->request.znode = (uint16_t)w->znode_count++;
}

static void track(struct world *w, struct server *l, const struct txn *txn)
{
	uint64_t bit = UINT64_C(1) << txn->request.session;

	if (txn->request.type == REQUEST_SESSION) {
		l->tracked |= bit;
		l->closing &= ~bit;
		l->owner[txn->request.session] = txn->origin;
		set_expiry(w, l, txn->request.session, w->sessions[txn->request.session].timeout_ns);
	} else {
		l->closing |= bit;
	}
}

void leader_order(struct world *w, struct server *l, const struct request *r, unsigned origin,
		  struct client *client, bool expiry)
{
	struct txn *txn = &w->txns[w->txn_count];

	if (w->txn_count + 1 == TXNS_MAX || w->znode_count + 1 == ZNODES_MAX) {
		w->exhausted = w->over = true;
		return;
	}
	memset(txn, 0, sizeof *txn);
	txn->zxid = l->epoch << 32 | ++l->counter;
	txn->client = client;
	txn->request = *r;
	txn->origin = (uint8_t)origin;
	txn->expiry = expiry;
	txn->answer = judge(w, l, r, origin, expiry);
	if (txn->answer == ANSWER_OK && r->type == REQUEST_CREATE)
		make_znode(w, l, txn);
	if (txn->answer == ANSWER_OK && r->type == REQUEST_WRITE && r->edit == TENURE_EDIT_TAKE &&
	    r->session != 0)
		check_take_ordered(w, &l->prepared, txn);
	if (txn->answer == ANSWER_OK && (r->type == REQUEST_SESSION || r->type == REQUEST_CLOSE))
		track(w, l, txn);
	if (expiry)
		check_expiry_ordered(w, txn);
	else if (txn->answer == ANSWER_OK)
		check_given_up(w, r);
	tree_apply(w, &l->prepared, txn, NULL);
	l->log[l->logged++] = (uint16_t)w->txn_count;
	l->acked[l->id] = l->logged;
	propose(w, l, w->txn_count++);
	leader_commit(w, l);
}

void leader_commit(struct world *w, struct server *l)
{
	int upto = l->committed;

	if (!l->established)
		return;
	while (upto < l->logged) {
		unsigned acks = 0;

		for (unsigned i = 0; i < w->voter_count; i++)
			acks += (i == l->id || (l->learners[i] && l->synced[i])) && l->acked[i] > upto;
		if (acks < w->voter_count / 2 + 1)
			break;
		upto++;
	}
	if (upto == l->committed)
		return;
	for (unsigned i = 0; i < w->server_count; i++)
		if (l->learners[i] && l->synced[i]) {
			struct message *m = message_new(w, PEER_COMMIT);

			m->u.peer.committed = upto;
			link_send(w, l->learners[i], 0, m);
		}
	server_apply(w, l, upto);
}

/* What the leader has committed up to there. */
void server_apply(struct world *w, struct server *s, int upto)
{
	uint32_t life = s->term;

	while (s->committed < upto && s->term == life && !w->over) {
		struct txn *txn = &w->txns[s->log[s->committed++]];
		struct change change;

		tree_apply(w, &s->tree, txn, &change);
		if (!txn->committed) {
			txn->committed = true;
			check_committed(w, txn);
		}
		serve_changed(w, s, &change);
		if (txn->request.type == REQUEST_CLOSE && txn->answer == ANSWER_OK)
			serve_drop_session(w, s, txn->request.session);
		if (txn->client && txn->origin == s->id)
			serve_committed(w, s, txn->client, txn);
	}
}

/* A write of one of S's clients, on its way to being ordered. */
void server_forward(struct world *w, struct server *s, const struct request *r, struct client *client)
{
	struct message *m;

	if (s->role == SERVER_LEADING) {
		leader_order(w, s, r, s->id, client, false);
	} else if (s->role == SERVER_LEARNING) {
		m = message_new(w, PEER_REQUEST);
		m->u.forward.request = *r;
		m->u.forward.client = client;
		link_send(w, s->up, 1, m);
	}
}
