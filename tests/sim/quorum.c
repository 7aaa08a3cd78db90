/*
 * The servers among themselves: who leads, who follows, what is agreed on.
 *
 * The election of a leader is abstract: among servers that hear each other both ways and are a majority, the
 * one with the newest history (epoch, then zxid) leads, in a new epoch. Its whole log becomes committed, so a
 * proposal of the former leader survives or not by who holds it, and one that was committed always survives.
 * Everything else goes over the links: the history, proposals, acknowledgements, commits, pings, forwarded
 * writes.
 *
 * A leader pings each tick/2, or later by at most params.late_ping_ns (assumption iii of S1). A paused server
 * looks at its timers before it reads. A learner that hears nothing for the sync limit, and a leader that
 * does not hear a majority, drop their clients and look for a leader; until then they go on serving reads and
 * pings.
 */
#include "sim.h"

#include <stdlib.h>

/* Of the server's own clock, in true time. */
int64_t server_span(const struct server *s, int64_t span_ns)
{
	return span_ns + span_ns / 1000000 * s->drift_ppm;
}

static int64_t sync_limit(const struct world *w, const struct server *s)
{
	return server_span(s, w->params.sync_limit * w->params.tick_ns);
}

static void arm(struct world *w, struct server *s, enum server_timer timer, int64_t at_ns)
{
	heap_push(w, at_ns, EVENT_SERVER, timer, 0, s, s->term);
}

static bool hear_each_other(const struct world *w, const struct server *a, const struct server *b)
{
	return w->cut[a->id][b->id] == 0 && w->cut[b->id][a->id] == 0;
}

static bool is_running(const struct world *w, const struct server *s)
{
	return s->alive && s->paused_until <= w->now_ns;
}

static unsigned majority(const struct world *w)
{
	return w->voter_count / 2 + 1;
}

struct server *world_leader(struct world *w)
{
	struct server *found = NULL;

	for (unsigned i = 0; i < w->server_count; i++) {
		struct server *s = &w->servers[i];

		if (s->role == SERVER_LEADING && s->established && s->alive &&
		    (!found || s->epoch > found->epoch))
			found = s;
	}
	return found;
}

/* ---- roles ---- */

static void leave_role(struct world *w, struct server *s)
{
	s->term++;
	s->serving = false;
	serve_drop_all(w, s);
	if (s->role == SERVER_LEADING) {
		for (unsigned i = 0; i < w->server_count; i++) {
			link_close(w, s->learners[i], 0);
			s->learners[i] = NULL;
		}
		s->established = false;
	} else if (s->role == SERVER_LEARNING) {
		link_close(w, s->up, 1);
		s->up = NULL;
	}
	s->role = SERVER_LOOKING;
}

static void start_looking(struct world *w, struct server *s)
{
	TRACE(w, "server %u looks for a leader", s->id);
	leave_role(w, s);
	arm(w, s, TIMER_LOOK, w->now_ns + random_between(w, 50 * MS, 400 * MS));
}

void server_start(struct world *w, struct server *s)
{
	s->alive = true;
	s->role = SERVER_LOOKING;
	start_looking(w, s);
}

void server_crash(struct world *w, struct server *s)
{
	TRACE(w, "server %u dies", s->id);
	leave_role(w, s);
	s->life++;
	s->alive = false;
	s->paused_until = 0;
}

static void join(struct world *w, struct server *s, struct server *l)
{
	struct message *m;

	if (s->role == SERVER_LOOKING)
		s->term++;
	s->role = SERVER_LEARNING;
	s->accepted = l->epoch;
	s->up = link_open(w, LINK_PEER, l->id, l, s->id, s);
	s->heard_ns = w->now_ns;
	s->touched = 0;
	link_close(w, l->learners[s->id], 0);
	l->learners[s->id] = s->up;
	l->synced[s->id] = false;
	l->acked[s->id] = 0;
	l->learner_heard_ns[s->id] = w->now_ns;
	TRACE(w, "server %u joins server %u", s->id, l->id);
	m = message_new(w, PEER_SYNC);
	m->u.peer.count = l->logged;
	link_send(w, s->up, 0, m);
	arm(w, s, TIMER_SILENCE, w->now_ns + sync_limit(w, s));
}

static void establish(struct world *w, struct server *l)
{
	TRACE(w, "server %u leads, epoch %lld, %d transactions", l->id, (long long)l->epoch, l->logged);
	l->established = true;
	l->serving = true;
	server_apply(w, l, l->logged);
	leader_track_all(w, l);
	for (unsigned i = 0; i < w->server_count; i++)
		if (l->learners[i] && l->synced[i]) {
			struct message *m = message_new(w, PEER_UPTODATE);

			m->u.peer.committed = l->committed;
			link_send(w, l->learners[i], 0, m);
		}
	l->last_ping_ns = w->now_ns;
	l->odd = false;
	arm(w, l, TIMER_PING, w->now_ns);
}

static void lead(struct world *w, struct server *l)
{
	l->term++;
	l->role = SERVER_LEADING;
	l->epoch = l->accepted = l->current = ++w->epoch;
	l->counter = 0;
	l->established = false;
	l->began_ns = w->now_ns;
	l->prepared = l->tree;
	for (int i = l->committed; i < l->logged; i++)
		tree_apply(w, &l->prepared, &w->txns[l->log[i]], NULL);
	memset(l->learners, 0, sizeof l->learners);
	l->acked[l->id] = l->logged;
	l->synced[l->id] = true;
	if (majority(w) == 1)
		establish(w, l);
	else
		arm(w, l, TIMER_PING, w->now_ns + sync_limit(w, l) + 2 * SECOND);
}

static int64_t last_zxid(const struct world *w, const struct server *s)
{
	return s->logged == 0 ? 0 : w->txns[s->log[s->logged - 1]].zxid;
}

/* An epoch that has brought nothing yet counts all the same: its leader had a majority behind its history. */
static bool is_newer(const struct world *w, const struct server *a, const struct server *b)
{
	return a->current != b->current ? a->current > b->current : last_zxid(w, a) > last_zxid(w, b);
}

/* The voters that look for a leader and hear S and one another. */
static unsigned electorate(struct world *w, struct server *s, struct server **out)
{
	unsigned count = 0;

	out[count++] = s;
	for (unsigned i = 0; i < w->server_count; i++) {
		struct server *o = &w->servers[i];
		bool fits = o != s && o->voter && is_running(w, o) && o->role == SERVER_LOOKING;

		for (unsigned k = 0; k < count && fits; k++)
			fits = hear_each_other(w, o, out[k]);
		if (fits)
			out[count++] = o;
	}
	return count;
}

static void look(struct world *w, struct server *s)
{
	struct server *all[SERVERS_MAX], *best = s;
	struct server *l = world_leader(w);
	unsigned count;

	arm(w, s, TIMER_LOOK, w->now_ns + random_between(w, 50 * MS, 400 * MS));
	/* A leader of an epoch that is over does not know it yet. */
	if (l && l->epoch >= s->accepted && is_running(w, l) && hear_each_other(w, s, l)) {
		join(w, s, l);
		return;
	}
	if (!s->voter)
		return;
	count = electorate(w, s, all);
	if (count < majority(w))
		return;
	for (unsigned i = 1; i < count; i++)
		if (is_newer(w, all[i], best))
			best = all[i];
	lead(w, best);
	for (unsigned i = 0; i < count; i++)
		if (all[i] != best)
			join(w, all[i], best);
}

/* ---- the leader's tick ---- */

static void ping(struct world *w, struct server *l)
{
	int64_t late_ns = 0, wait_ns = w->params.tick_ns / 2;

	/* Mostly on time, now and then as late as the assumption allows. */
	if (random_in(w, 1, w->params.late_of))
		late_ns =
			random_in(w, 1, 2) ? w->params.late_ping_ns : random_below(w, w->params.late_ping_ns);
	for (unsigned i = 0; i < w->server_count; i++)
		if (l->learners[i])
			link_send_plain(w, l->learners[i], 0, PEER_PING);
	arm(w, l, TIMER_PING, w->now_ns + (wait_ns + late_ns) / 1000000 * (1000000 - 200));
}

static bool hears_majority(const struct world *w, const struct server *l)
{
	unsigned count = 1;

	for (unsigned i = 0; i < w->voter_count; i++)
		if (i != l->id && l->learners[i] && l->synced[i] &&
		    w->now_ns - l->learner_heard_ns[i] <= sync_limit(w, l))
			count++;
	return count >= majority(w);
}

static void leader_tick(struct world *w, struct server *l)
{
	if (!l->established) {
		start_looking(w, l);
		return;
	}
	l->odd = !l->odd;
	if (l->odd && !hears_majority(w, l)) {
		start_looking(w, l);
		return;
	}
	for (unsigned i = 0; i < w->server_count; i++)
		if (l->learners[i] &&
		    w->now_ns - l->learner_heard_ns[i] > sync_limit(w, l) + w->params.tick_ns) {
			link_close(w, l->learners[i], 0);
			l->learners[i] = NULL;
		}
	ping(w, l);
}

void server_timer(struct world *w, struct server *s, enum server_timer timer)
{
	switch (timer) {
	case TIMER_LOOK:
		if (s->role == SERVER_LOOKING)
			look(w, s);
		break;
	case TIMER_PING:
		if (s->role == SERVER_LEADING)
			leader_tick(w, s);
		break;
	case TIMER_EXPIRE:
		if (s->role == SERVER_LEADING)
			leader_expire(w, s);
		break;
	case TIMER_SILENCE:
		if (s->role != SERVER_LEARNING)
			break;
		if (w->now_ns - s->heard_ns >= sync_limit(w, s))
			start_looking(w, s);
		else
			arm(w, s, TIMER_SILENCE, s->heard_ns + sync_limit(w, s));
		break;
	}
}

/* ---- a learner ---- */

/* The leader's history is taken over; what was only proposed to us and is not in it goes. */
static void take_history(struct world *w, struct server *s, const struct server *l, int count)
{
	for (int i = 0; i < s->committed; i++)
		if (i >= count || s->log[i] != l->log[i]) {
			violate(w, BROKEN_MODEL, "the ensemble lost a committed transaction on server %u",
				s->id);
			return;
		}
	memcpy(s->log + s->committed, l->log + s->committed,
	       sizeof s->log[0] * (size_t)(count - s->committed));
	s->logged = count;
}

static void send_pong(struct world *w, struct server *s)
{
	struct message *m = message_new(w, PEER_PONG);
	uint64_t touched = s->touched;

	m->u.peer.touched = touched;
	for (unsigned i = 0; touched != 0; i++) {
		unsigned session = (unsigned)__builtin_ctzll(touched);

		assert(i < SESSIONS_MAX / 8);
		m->u.peer.touch_ms[i] = (int32_t)(s->touch_timeout[session] / MS);
		touched &= touched - 1;
	}
	s->touched = 0;
	link_send(w, s->up, 1, m);
}

void server_pong(struct world *w, struct server *s, struct link *link)
{
	if (s->role == SERVER_LEARNING && s->up == link)
		send_pong(w, s);
}

/* Mostly answered at once; the answer may be late, and be overtaken by a write, by up to ping_slack. */
static void pinged(struct world *w, struct server *s)
{
	int64_t slack_ns = w->params.session.budget.ping_slack_ns;
	int64_t late_ns = random_in(w, 1, 2) ? slack_ns : random_below(w, slack_ns);

	if (random_in(w, 1, w->params.late_answer_of))
		heap_push(w, w->now_ns + late_ns / 1000000 * (1000000 - 500), EVENT_PONG, 0, 0, s->up,
			  s->term);
	else
		send_pong(w, s);
}

static void reply_count(struct world *w, struct server *s, enum message_type type, int count)
{
	struct message *m = message_new(w, type);

	m->u.peer.count = count;
	link_send(w, s->up, 1, m);
}

static void learner_receive(struct world *w, struct server *s, const struct message *m)
{
	struct server *l = s->up->owner[0];

	s->heard_ns = w->now_ns;
	switch (m->type) {
	case FIN:
		start_looking(w, s);
		break;
	case PEER_SYNC:
		if (!s->up->open[0]) {
			start_looking(w, s);
			break;
		}
		take_history(w, s, l, m->u.peer.count);
		s->current = s->accepted;
		reply_count(w, s, PEER_SYNCED, s->logged);
		break;
	case PEER_UPTODATE:
		s->serving = true;
		server_apply(w, s, m->u.peer.committed);
		break;
	case PEER_PROPOSE:
		assert(s->logged == m->u.peer.count);
		s->log[s->logged++] = m->u.peer.txn;
		if (s->voter)
			reply_count(w, s, PEER_ACK, s->logged);
		break;
	case PEER_COMMIT:
		if (s->serving)
			server_apply(w, s, m->u.peer.committed);
		break;
	case PEER_PING:
		pinged(w, s);
		break;
	case PEER_VALID:
		serve_validated(w, s, m->u.peer.client, m->u.peer.ok);
		break;
	default:
		abort();
	}
}

/* ---- the leader's end ---- */

static void learner_synced(struct world *w, struct server *l, unsigned i, int count)
{
	unsigned voters = 0;
	struct message *m;

	l->synced[i] = true;
	l->acked[i] = count;
	if (l->established) {
		m = message_new(w, PEER_UPTODATE);
		m->u.peer.committed = l->committed;
		link_send(w, l->learners[i], 0, m);
		leader_commit(w, l);
		return;
	}
	for (unsigned k = 0; k < w->voter_count; k++)
		voters += l->synced[k] && (k == l->id || l->learners[k]);
	if (voters >= majority(w))
		establish(w, l);
}

static void take_touches(struct world *w, struct server *l, const struct message *m)
{
	uint64_t touched = m->u.peer.touched;

	for (unsigned i = 0; touched != 0; i++) {
		leader_touch(w, l, (unsigned)__builtin_ctzll(touched), m->u.peer.touch_ms[i] * MS);
		touched &= touched - 1;
	}
}

static void revalidate(struct world *w, struct server *l, unsigned i, const struct message *m)
{
	struct message *answer = message_new(w, PEER_VALID);

	answer->u.peer.client = m->u.peer.client;
	answer->u.peer.ok = leader_touch(w, l, m->u.peer.session, m->u.peer.timeout_ns);
	if (answer->u.peer.ok)
		l->owner[m->u.peer.session] = (uint8_t)i;
	link_send(w, l->learners[i], 0, answer);
}

static void leader_receive(struct world *w, struct server *l, struct link *link, const struct message *m)
{
	unsigned i = ((struct server *)link->owner[1])->id;

	if (l->role != SERVER_LEADING || l->learners[i] != link)
		return;
	l->learner_heard_ns[i] = w->now_ns;
	switch (m->type) {
	case FIN:
		link_close(w, link, 0);
		l->learners[i] = NULL;
		break;
	case PEER_SYNCED:
		learner_synced(w, l, i, m->u.peer.count);
		break;
	case PEER_ACK:
		l->acked[i] = m->u.peer.count;
		leader_commit(w, l);
		break;
	case PEER_PONG:
		take_touches(w, l, m);
		break;
	case PEER_REQUEST:
		if (l->established)
			leader_order(w, l, &m->u.forward.request, i, m->u.forward.client, false);
		break;
	case PEER_REVALIDATE:
		revalidate(w, l, i, m);
		break;
	default:
		abort();
	}
}

void peer_receive(struct world *w, struct link *link, unsigned side, const struct message *m)
{
	struct server *s = link->owner[side];

	if (side == 0)
		leader_receive(w, s, link, m);
	else if (s->role == SERVER_LEARNING && s->up == link)
		learner_receive(w, s, m);
}
