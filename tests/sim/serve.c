/*
 * A server and its clients. Pings and reads are answered from what the server knows, which may be old; a
 * write is answered when the server applies its transaction. One client's requests are answered in their
 * order, so a read waits for the writes before it. Whatever a client sends touches its session: at the leader
 * at once, elsewhere with the next answer to a ping. Opening a session that exists asks the leader, which
 * touches it.
 */
#include "sim.h"

#include <stdlib.h>

static struct message *answer_new(struct world *w, const struct client *c, uint32_t id)
{
	struct message *m = message_new(w, CLIENT_REPLY);
	const struct server *s = c->server;

	m->u.answer.zxid = s->committed == 0 ? 0 : w->txns[s->log[s->committed - 1]].zxid;
	m->u.answer.reply.id = id;
	m->u.answer.reply.count = 0;
	m->u.answer.reply.owner = 0;
	m->u.answer.reply.czxid = 0;
	return m;
}

static void touch(struct world *w, struct client *c)
{
	struct server *s = c->server;

	if (!c->ready)
		return;
	if (s->role == SERVER_LEADING) {
		leader_touch(w, s, c->session, c->timeout_ns);
	} else {
		s->touched |= UINT64_C(1) << c->session;
		s->touch_timeout[c->session] = c->timeout_ns;
	}
}

static void forget(struct client *c)
{
	struct server *s = c->server;

	for (unsigned i = 0; i < s->client_count; i++)
		if (s->clients[i] == c)
			s->clients[i--] = s->clients[--s->client_count];
	c->open = c->ready = false;
}

void serve_close(struct world *w, struct client *c)
{
	if (!c->open)
		return;
	forget(c);
	link_close(w, c->link, 1);
}

void serve_drop_all(struct world *w, struct server *s)
{
	while (s->client_count > 0)
		serve_close(w, s->clients[0]);
}

void serve_drop_session(struct world *w, struct server *s, unsigned session)
{
	for (unsigned i = s->client_count; i > 0; i--)
		if (s->clients[i - 1]->ready && s->clients[i - 1]->session == session)
			serve_close(w, s->clients[i - 1]);
}

/* ---- watches ---- */

static void fire(struct world *w, struct client *c, unsigned op, unsigned znode)
{
	struct message *m = message_new(w, CLIENT_WATCH);

	m->u.open.op = (uint8_t)op;
	m->u.open.znode = (uint16_t)znode;
	link_send(w, c->link, 1, m);
}

static void fire_deleted(struct world *w, struct client *c, unsigned znode)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < c->watch_count; i++) {
		if (c->watches[i].znode == znode)
			fire(w, c, c->watches[i].op, znode);
		else
			c->watches[kept++] = c->watches[i];
	}
	c->watch_count = kept;
}

void serve_changed(struct world *w, struct server *s, const struct change *change)
{
	for (unsigned i = 0; i < s->client_count; i++) {
		struct client *c = s->clients[i];

		for (unsigned k = 0; k < change->deleted_count; k++)
			fire_deleted(w, c, change->deleted[k]);
		if (change->record && c->data_watch) {
			c->data_watch = false;
			fire(w, c, ELECTOR_OP_READ, 0);
		}
	}
}

static void add_watch(struct client *c, const struct request *r)
{
	for (unsigned i = 0; i < c->watch_count; i++)
		if (c->watches[i].op == r->op && c->watches[i].znode == r->znode)
			return;
	if (c->watch_count == WATCHES_MAX)
		abort();
	c->watches[c->watch_count++] = (struct server_watch){r->op, r->znode};
}

/* ---- requests ---- */

static bool is_write(const struct request *r)
{
	return r->type < REQUEST_LOOK;
}

static void read_now(struct world *w, struct client *c, const struct request *r)
{
	struct message *m = answer_new(w, c, r->id);
	bool there = tree_read(w, &c->server->tree, r, &m->u.answer.reply);

	if (there && r->type == REQUEST_LOOK && r->watch)
		add_watch(c, r);
	if (there && r->type == REQUEST_READ && r->watch)
		c->data_watch = true;
	link_send(w, c->link, 1, m);
}

static void read_on(struct world *w, struct client *c)
{
	while (c->count > 0 && !is_write(&c->pending[c->head])) {
		struct request r = c->pending[c->head];

		c->head = (c->head + 1) % REQUESTS_MAX;
		c->count--;
		read_now(w, c, &r);
	}
}

static void take_request(struct world *w, struct client *c, const struct request *r)
{
	if (!is_write(r) && c->count == 0) {
		read_now(w, c, r);
		return;
	}
	if (c->count == REQUESTS_MAX)
		abort();
	c->pending[(c->head + c->count++) % REQUESTS_MAX] = *r;
	if (is_write(r))
		server_forward(w, c->server, r, c);
}

/* ---- opening ---- */

static void welcome(struct world *w, struct client *c)
{
	struct message *m = message_new(w, CLIENT_CONNECTED);

	serve_drop_session(w, c->server, c->session);
	c->ready = true;
	m->u.open.session = c->session;
	m->u.open.timeout_ns = c->timeout_ns;
	link_send(w, c->link, 1, m);
}

void serve_validated(struct world *w, struct server *s, struct client *c, bool valid)
{
	(void)s;
	if (!c->open)
		return;
	if (valid) {
		welcome(w, c);
		return;
	}
	link_send_plain(w, c->link, 1, CLIENT_EXPIRED);
	serve_close(w, c);
}

static void ask_leader(struct world *w, struct client *c)
{
	struct server *s = c->server;
	struct message *m;

	if (s->role == SERVER_LEADING) {
		bool valid = leader_touch(w, s, c->session, c->timeout_ns);

		if (valid)
			s->owner[c->session] = (uint8_t)s->id;
		serve_validated(w, s, c, valid);
		return;
	}
	m = message_new(w, PEER_REVALIDATE);
	m->u.peer.client = c;
	m->u.peer.session = c->session;
	m->u.peer.timeout_ns = c->timeout_ns;
	link_send(w, s->up, 1, m);
}

static void new_session(struct world *w, struct client *c)
{
	struct request r = {.type = REQUEST_SESSION};

	if (w->session_count == SESSIONS_MAX) {
		w->exhausted = w->over = true;
		return;
	}
	c->session = (uint16_t)w->session_count;
	w->sessions[w->session_count++] =
		(struct session_info){.id = INT64_C(0x100000000) + c->session, .timeout_ns = c->timeout_ns};
	r.session = c->session;
	take_request(w, c, &r);
}

static void on_connect(struct world *w, struct link *link, const struct message *m)
{
	struct server *s = link->owner[1];
	int64_t zxid = s->committed == 0 ? 0 : w->txns[s->log[s->committed - 1]].zxid;
	struct client *c;

	/* A server that knows less than the client has seen does not serve it. */
	if (!s->alive || !s->serving || m->u.open.zxid > zxid || s->client_count == REQUESTS_MAX) {
		link_close(w, link, 1);
		return;
	}
	c = arena_take(sizeof *c);
	c->link = link;
	c->server = s;
	c->open = true;
	c->ready = c->data_watch = false;
	c->session = m->u.open.session;
	c->timeout_ns = m->u.open.timeout_ns;
	c->head = c->count = c->watch_count = 0;
	if (c->timeout_ns < 2 * w->params.tick_ns)
		c->timeout_ns = 2 * w->params.tick_ns;
	link->client = c;
	s->clients[s->client_count++] = c;
	if (c->session == 0)
		new_session(w, c);
	else
		ask_leader(w, c);
}

/* ---- the interface ---- */

void serve_committed(struct world *w, struct server *s, struct client *c, const struct txn *txn)
{
	const struct request *r = &txn->request;
	struct message *m;

	if (!c->open || c->server != s)
		return;
	assert(c->count > 0 && c->pending[c->head].id == r->id);
	c->head = (c->head + 1) % REQUESTS_MAX;
	c->count--;
	if (r->type == REQUEST_SESSION) {
		welcome(w, c);
		return;
	}
	/* The session was opened elsewhere since, or a late attempt to do so has come through: a matter of
	 * connections. */
	if (txn->answer == ANSWER_MOVED) {
		serve_close(w, c);
		return;
	}
	m = answer_new(w, c, r->id);
	m->u.answer.reply.answer = txn->answer;
	m->u.answer.reply.znode = r->znode;
	m->u.answer.reply.version = r->version + 1;
	if (txn->answer == ANSWER_OK && r->type == REQUEST_CREATE)
		m->u.answer.reply.czxid = txn->zxid;
	link_send(w, c->link, 1, m);
	read_on(w, c);
}

void serve_receive(struct world *w, struct link *link, const struct message *m)
{
	struct client *c = link->client;

	if (m->type == CLIENT_CONNECT) {
		on_connect(w, link, m);
		return;
	}
	if (m->type == FIN) {
		if (c)
			serve_close(w, c);
		else
			link_close(w, link, 1);
		return;
	}
	if (!c || !c->open)
		return;
	touch(w, c);
	if (m->type == CLIENT_PING)
		link_send_plain(w, c->link, 1, CLIENT_PONG);
	else if (m->type == CLIENT_REQUEST)
		take_request(w, c, &m->u.request);
}
