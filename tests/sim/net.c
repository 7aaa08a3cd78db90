/*
 * Connections. Each direction is an ordered stream, as TCP's: bytes that meet a cut wait and arrive after
 * it has healed, unless one of the ends was closed meanwhile. What the one connection carries says nothing
 * about when another's arrives. Closing an end sends a FIN behind what was sent before.
 */
#include "sim.h"

#include <stdlib.h>

struct message *message_new(struct world *w, enum message_type type)
{
	struct message *m = w->spare;

	if (m)
		w->spare = m->next;
	else
		m = arena_take(sizeof *m);
	m->next = NULL;
	m->type = (uint8_t)type;
	return m;
}

static void message_free(struct world *w, struct message *m)
{
	m->next = w->spare;
	w->spare = m;
}

static void stream_clear(struct world *w, struct stream *s)
{
	while (s->head) {
		struct message *m = s->head;

		s->head = m->next;
		message_free(w, m);
	}
	s->tail = NULL;
	s->waiting = false;
}

static bool is_done(const struct link *link)
{
	return !link->open[0] && !link->open[1];
}

struct link *link_open(struct world *w, enum link_kind kind, unsigned node0, void *owner0, unsigned node1,
		       void *owner1)
{
	struct link *link = arena_take(sizeof *link);
	unsigned kept = 0;

	memset(link, 0, sizeof *link);
	link->kind = kind;
	link->open[0] = link->open[1] = true;
	link->node[0] = (uint8_t)node0;
	link->node[1] = (uint8_t)node1;
	link->owner[0] = owner0;
	link->owner[1] = owner1;
	link->number = ++w->link_number;
	for (unsigned i = 0; i < w->link_count; i++)
		if (!is_done(w->links[i]))
			w->links[kept++] = w->links[i];
	w->link_count = kept;
	if (w->link_count == LINKS_MAX)
		abort();
	w->links[w->link_count++] = link;
	return link;
}

static bool is_paused(const struct world *w, const struct link *link, unsigned side)
{
	const void *owner = link->owner[side];

	switch (link->kind) {
	case LINK_PEER:
		return ((const struct server *)owner)->paused_until > w->now_ns;
	case LINK_CLIENT:
		return side == 0 ? ((const struct elector_process *)owner)->paused_until > w->now_ns
				 : ((const struct server *)owner)->paused_until > w->now_ns;
	case LINK_LOCAL:
		break;
	}
	return side == 0 ? ((const struct supervisor *)owner)->paused_until > w->now_ns
			 : ((const struct elector_process *)owner)->paused_until > w->now_ns;
}

static bool is_cut(const struct world *w, const struct link *link, unsigned from)
{
	return link->kind != LINK_LOCAL && w->cut[link->node[from]][link->node[!from]] > 0;
}

static void schedule(struct world *w, struct link *link, unsigned from)
{
	struct stream *s = &link->way[from];

	if (s->scheduled || s->waiting || !s->head)
		return;
	s->scheduled = true;
	heap_push(w, s->head->arrive_ns, EVENT_DELIVER, from, 0, link, 0);
}

static int64_t delay(struct world *w, const struct link *link)
{
	int64_t most_ns = link->kind == LINK_LOCAL ? MS / 5 : w->params.latency_ns;
	int64_t delay_ns = most_ns / 8 + random_below(w, most_ns);

	if (!w->healed && random_in(w, 1, w->params.slow_of)) {
		if (link->kind == LINK_LOCAL)
			delay_ns += random_below(w, 50 * MS);
		else
			delay_ns +=
				random_below(w, random_in(w, 1, 8) ? w->params.timeout_ns * 5 / 4 : 300 * MS);
	}
	return delay_ns;
}

/* SIDE is the sender's. */
void link_send(struct world *w, struct link *link, unsigned side, struct message *m)
{
	struct stream *s = &link->way[side];

	if (!link->open[side] || !link->open[!side]) {
		message_free(w, m);
		return;
	}
	m->arrive_ns = w->now_ns + delay(w, link);
	if (m->arrive_ns < s->last_ns)
		m->arrive_ns = s->last_ns;
	s->last_ns = m->arrive_ns;
	if (s->tail)
		s->tail->next = m;
	else
		s->head = m;
	s->tail = m;
	schedule(w, link, side);
}

void link_send_plain(struct world *w, struct link *link, unsigned side, enum message_type type)
{
	link_send(w, link, side, message_new(w, type));
}

void link_close(struct world *w, struct link *link, unsigned side)
{
	if (!link || !link->open[side])
		return;
	link_send_plain(w, link, side, FIN);
	link->open[side] = false;
	stream_clear(w, &link->way[!side]);
}

static void hand_over(struct world *w, struct link *link, unsigned to, const struct message *m)
{
	switch (link->kind) {
	case LINK_PEER:
		peer_receive(w, link, to, m);
		break;
	case LINK_CLIENT:
		if (to == 0)
			library_receive(w, link->owner[0], link, m);
		else
			serve_receive(w, link, m);
		break;
	case LINK_LOCAL:
		if (to == 0)
			supervisor_receive(w, link->owner[0], m);
		else
			elector_process_receive(w, link->owner[1], m);
		break;
	}
}

/* The first message of the stream that begins at side FROM arrives, if nothing is in its way. */
void net_deliver(struct world *w, struct link *link, unsigned from)
{
	struct stream *s = &link->way[from];
	struct message *m = s->head;

	s->scheduled = false;
	if (!m || !link->open[!from])
		return;
	if (is_cut(w, link, from) || is_paused(w, link, !from)) {
		s->waiting = true;
		return;
	}
	s->head = m->next;
	if (!s->head)
		s->tail = NULL;
	mix(w, (uint64_t)m->type << 32 | link->number);
	schedule(w, link, from);
	hand_over(w, link, !from, m);
	message_free(w, m);
}

/* What waits for RECEIVER (NULL: for anybody) and may go on now does. */
void net_wake(struct world *w, const void *receiver)
{
	for (unsigned i = 0; i < w->link_count; i++) {
		struct link *link = w->links[i];

		for (unsigned from = 0; from < 2; from++) {
			struct stream *s = &link->way[from];

			if (!s->waiting || (receiver && link->owner[!from] != receiver))
				continue;
			if (is_cut(w, link, from) || is_paused(w, link, !from))
				continue;
			s->waiting = false;
			/* After a cut the sender's retransmission has to come first. */
			if (!receiver && s->head)
				s->head->arrive_ns =
					w->now_ns + random_below(w, random_in(w, 1, 4) ? SECOND : 20 * MS);
			schedule(w, link, from);
		}
	}
}

void net_cut(struct world *w, unsigned from, unsigned to, bool cut)
{
	if (cut)
		w->cut[from][to]++;
	else
		w->cut[from][to]--;
}

/* Messages that have arrived for the end at SIDE and that it has not taken. */
unsigned stream_unread(const struct world *w, const struct link *link, unsigned side)
{
	unsigned count = 0;

	for (const struct message *m = link->way[!side].head; m && m->arrive_ns <= w->now_ns; m = m->next)
		count++;
	return count;
}
