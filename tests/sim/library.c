/*
 * The ZooKeeper client library of one elector process, with the port above it: one connection at a time,
 * requests in order, a ping after T/3 without a send and with nothing outstanding, the connection given up
 * after 2T/3 without a packet, an attempt to connect likewise; servers in turn, with a rest of T/60 after
 * each round. Expiry is learned from a server only. After a disconnection what was outstanding comes back as
 * unknown.
 */
#include "sim.h"

#include <stdlib.h>

static void arm(struct world *w, struct elector_process *p, int64_t at_ns)
{
	if (at_ns >= p->library.armed_ns)
		return;
	p->library.armed_ns = at_ns;
	heap_push(w, at_ns, EVENT_LIBRARY, 0, 0, p, p->life);
}

static int64_t patience(const struct library *l)
{
	return l->timeout_ns * 2 / 3;
}

static void attempt(struct world *w, struct elector_process *p)
{
	struct library *l = &p->library;
	struct server *s = &w->servers[l->next % w->server_count];
	struct message *m = message_new(w, CLIENT_CONNECT);

	l->next++;
	l->tried++;
	l->state = LIBRARY_CONNECTING;
	l->began_ns = w->now_ns;
	l->link = link_open(w, LINK_CLIENT, host_node(p->host), p, s->id, s);
	m->u.open.session = l->session;
	m->u.open.timeout_ns = l->timeout_ns;
	m->u.open.zxid = l->zxid;
	link_send(w, l->link, 0, m);
	arm(w, p, w->now_ns + patience(l));
}

/* Their answers are owed, and told in a turn of their own. */
static void owe_all(struct elector_process *p)
{
	struct library *l = &p->library;

	while (l->count > 0) {
		assert(p->owed_count < REQUESTS_MAX);
		p->owed[p->owed_count++] = l->out[l->head];
		l->head = (l->head + 1) % REQUESTS_MAX;
		l->count--;
	}
}

static void drop(struct world *w, struct elector_process *p)
{
	link_close(w, p->library.link, 0);
	p->library.link = NULL;
	owe_all(p);
}

static void fail(struct world *w, struct elector_process *p)
{
	struct library *l = &p->library;
	bool connected = l->state == LIBRARY_CONNECTED;

	drop(w, p);
	l->state = LIBRARY_RESTING;
	l->began_ns = w->now_ns + MS;
	if (!connected && l->tried % w->server_count == 0)
		l->began_ns += l->timeout_ns / 60;
	arm(w, p, l->began_ns);
	if (connected) {
		l->tried = 0;
		process_lost(w, p, false);
	}
}

void library_open(struct world *w, struct elector_process *p, unsigned session, int64_t timeout_ns,
		  unsigned first)
{
	struct library *l = &p->library;

	library_give_up(w, p);
	l->session = (uint16_t)session;
	l->timeout_ns = timeout_ns;
	l->zxid = 0;
	l->next = first;
	l->tried = 0;
	attempt(w, p);
}

void library_give_up(struct world *w, struct elector_process *p)
{
	struct library *l = &p->library;
	struct request close = {.type = REQUEST_CLOSE, .session = l->session};
	struct message *m;

	if (l->state == LIBRARY_CONNECTED) {
		m = message_new(w, CLIENT_REQUEST);
		close.id = ++l->last_id;
		m->u.request = close;
		link_send(w, l->link, 0, m);
	}
	drop(w, p);
	l->state = LIBRARY_CLOSED;
}

void library_request(struct world *w, struct elector_process *p, const struct request *r,
		     struct outstanding out)
{
	struct library *l = &p->library;
	struct message *m = message_new(w, CLIENT_REQUEST);

	assert(l->state == LIBRARY_CONNECTED);
	if (l->count == REQUESTS_MAX)
		abort();
	m->u.request = *r;
	m->u.request.id = out.id = ++l->last_id;
	m->u.request.session = l->session;
	out.type = r->type;
	out.op = r->op;
	out.write = r->type < REQUEST_LOOK;
	out.sent_local_ns = host_local(p->host, w->now_ns);
	l->out[(l->head + l->count++) % REQUESTS_MAX] = out;
	l->sent_ns = w->now_ns;
	link_send(w, l->link, 0, m);
}

static void on_connected(struct world *w, struct elector_process *p, const struct message *m)
{
	struct library *l = &p->library;

	l->state = LIBRARY_CONNECTED;
	l->tried = 0;
	l->session = m->u.open.session;
	l->timeout_ns = m->u.open.timeout_ns;
	l->sent_ns = w->now_ns;
	l->head = l->count = 0;
	arm(w, p, w->now_ns + l->timeout_ns / 3);
	process_connected(w, p);
}

static void on_reply(struct world *w, struct elector_process *p, const struct message *m)
{
	struct library *l = &p->library;
	struct outstanding out = l->out[l->head];

	if (l->count == 0)
		return;
	assert(out.id == m->u.answer.reply.id);
	l->head = (l->head + 1) % REQUESTS_MAX;
	l->count--;
	if (m->u.answer.zxid > l->zxid)
		l->zxid = m->u.answer.zxid;
	process_reply(w, p, &out, &m->u.answer.reply);
}

void library_receive(struct world *w, struct elector_process *p, struct link *link, const struct message *m)
{
	struct library *l = &p->library;

	if (!p->alive || l->link != link)
		return;
	l->received_ns = w->now_ns;
	switch (m->type) {
	case FIN:
		fail(w, p);
		break;
	case CLIENT_CONNECTED:
		on_connected(w, p, m);
		break;
	case CLIENT_EXPIRED:
		drop(w, p);
		l->state = LIBRARY_CLOSED;
		process_lost(w, p, true);
		break;
	case CLIENT_REPLY:
		on_reply(w, p, m);
		break;
	case CLIENT_PONG:
		process_pinged(w, p);
		break;
	case CLIENT_WATCH:
		process_watch(w, p, (enum elector_op)m->u.open.op);
		break;
	default:
		abort();
	}
}

static void connected_timer(struct world *w, struct elector_process *p)
{
	struct library *l = &p->library;
	int64_t ping_ns = l->sent_ns + l->timeout_ns / 3, silent_ns = l->received_ns + patience(l);

	if (w->now_ns >= silent_ns) {
		fail(w, p);
		return;
	}
	if (w->now_ns >= ping_ns && l->count == 0) {
		l->sent_ns = w->now_ns;
		l->pinged_local_ns = host_local(p->host, w->now_ns);
		link_send_plain(w, l->link, 0, CLIENT_PING);
		ping_ns = l->sent_ns + l->timeout_ns / 3;
	}
	/* With something outstanding no ping is due; its answer moves both. */
	if (ping_ns <= w->now_ns)
		ping_ns = w->now_ns + l->timeout_ns / 30;
	arm(w, p, ping_ns < silent_ns ? ping_ns : silent_ns);
}

void library_timer(struct world *w, struct elector_process *p)
{
	struct library *l = &p->library;

	l->armed_ns = NEVER;
	switch (l->state) {
	case LIBRARY_CLOSED:
		break;
	case LIBRARY_RESTING:
		if (w->now_ns >= l->began_ns)
			attempt(w, p);
		else
			arm(w, p, l->began_ns);
		break;
	case LIBRARY_CONNECTING:
		if (w->now_ns >= l->began_ns + patience(l))
			fail(w, p);
		else
			arm(w, p, l->began_ns + patience(l));
		break;
	case LIBRARY_CONNECTED:
		connected_timer(w, p);
		break;
	}
}
