/*
 * A tiny ensemble in memory, and up to four elector cores on it, each with a connection and a
 * supervisor of few words. Nothing moves by itself: a test says which request is carried out, which
 * message is delivered and when time passes; settle() does all of it in order.
 */
#ifndef TENURE_TESTS_ELECTOR_WORLD_H
#define TENURE_TESTS_ELECTOR_WORLD_H

#include "core_support.h"

#include <inttypes.h>

#include "core/elector.h"

#define T (20 * SECOND)
#define START (1000 * SECOND)

enum {
	CLIENTS = 4,
	ZNODES = 32,
	BOX = 64,
	WATCHES = 16,
	ORDERS = 32,
	GHOSTS = 16,
	TERMS = 4096,
	SETTLE_STEPS = 20000
};

/* What the tests use of the election record. */
struct small_record {
	bool paused;
	int64_t held, transitions;
	char successor[TENURE_MEMBER_SIZE], eligible[CLIENTS][TENURE_MEMBER_SIZE];
	size_t eligible_count;
	struct tenure_incumbent incumbent;
};

struct znode {
	char name[TENURE_CANDIDATE_SIZE]; /* "": a free place */
	int64_t czxid, owner;
};

struct message {
	bool fired; /* a watch; else a reply */
	enum elector_op op;
	uint32_t generation;
	enum elector_result result;
	char name[TENURE_CANDIDATE_SIZE];
	int64_t czxid, owner;
	int32_t version;
	bool mark; /* SURVEY */
	struct small_record record;
	char names[ZNODES][TENURE_CANDIDATE_SIZE];
	size_t name_count;
};

struct watch {
	enum elector_op op;
	char name[TENURE_CANDIDATE_SIZE];
};

enum order_kind { ORDER_STAND, ORDER_RETIRE, ORDER_ACTIVE, ORDER_GIVE_UP, ORDER_PEER_FENCED, ORDER_FLOOR };

/* From the supervisor to the core. */
struct order {
	enum order_kind kind;
	int64_t token;
	bool ok;	       /* PEER_FENCED */
	int64_t seen, durable; /* FLOOR */
};

/* The fence_peer hook, as the core was told of it and as the supervisor has it. */
struct fencing {
	bool asked, wanted; /* FENCE_PEER is open; it was not taken back */
	int64_t asked_for;
	bool running;
	int64_t token;
	int64_t victim; /* whom it reaches: the incumbent of a record that cannot be read has a token, too */
	bool done;	/* a hook has succeeded, the last time for these: */
	int64_t done_token, done_victim;
	unsigned asks, taken_back;
};

/* The token floor on the member's disk. */
struct disk {
	int64_t seen, durable, wanted;
	int64_t told_seen, told_durable; /* as the core has it */
};

/* The score hook of a member, and what its member record says of it. */
struct score {
	bool known, running;
	int64_t value, taken;
	int64_t began_ns; /* the run that took the last one */
	int64_t running_since_ns;
};

/*
 * What a client has seen of the scores: noted from first place for a vacancy, and looked at. Kept apart from the core,
 * as the shell keeps it, and to judge the core by.
 */
struct scores {
	struct {
		int64_t session; /* of the member record; 0: not seen */
		int64_t taken;
	} marks[CLIENTS];
	int64_t asked_after, asked_before; /* a mark, for whose end, and by which candidate */
	int64_t marked_ns, marked_after, marked_before;
	bool looked, better; /* since that mark */
	bool stepped;
	int64_t stepped_after;
};

struct client {
	struct elector core;
	unsigned index;
	char member[TENURE_MEMBER_SIZE];
	int64_t session, session_ends_ns; /* 0: it lives */
	bool connected;                   /* as the core was told */
	int64_t lease_ns;
	struct elector_command outbox[BOX];
	unsigned out_count;
	struct message *inbox[BOX];
	unsigned in_count;
	struct watch watches[WATCHES];
	unsigned watch_count;
	bool data_watch;
	enum elector_result answers[ELECTOR_OP_COUNT]; /* not OK: what such a request gets, and nothing else happens */

	int64_t clean_tried; /* token of the last CLEAN that was carried out, whatever came of it */
	bool refused;        /* a request was, at some time */

	/* The supervisor. */
	struct order orders[ORDERS];
	unsigned order_count;
	bool standing;
	int64_t term;         /* in office by this token; 0: not */
	int64_t spent;
	bool confirmed;
	bool excused; /* its znode was taken away in office */
	bool quiet;   /* LEFT came and it was not told to stand since */
	bool unsure;  /* its elector crashed: the queue may hold what it never told of */
	struct fencing fencing;
	struct disk disk;
	struct score score;
	struct scores scores;
	unsigned leads, lost, lefts, purged;
	int64_t lost_token;
	enum tenure_reason reason; /* of the last LEAD or LOST */
	char known_name[TENURE_CANDIDATE_SIZE];
	int64_t known_czxid;
	unsigned notes[ELECTOR_NOTE_COUNT];
};

struct world {
	struct random_run run;
	int64_t now_ns, zxid, next_session;
	int32_t sequence;
	bool worn; /* the counter of sequence numbers is at its end */
	struct elector_config config;
	bool path;
	struct small_record record;
	int64_t garbled; /* token of the incumbent of whom the record, unreadable by now, had told; 0: nobody */
	int32_t version;
	struct znode znodes[ZNODES];
	struct client clients[CLIENTS];
	struct {
		int64_t session, ends_ns;
	} ghosts[GHOSTS];
	struct {
		int64_t token;
		bool proper; /* its znode was there and first when the record was committed */
		bool led;
		bool gone;   /* its znode is not there any more */
		int64_t gone_ns;
	} terms[TERMS];
	unsigned term_count;
	int64_t last_led;
	bool auto_renew; /* settle() renews leases */
	bool auto_score; /* pass() has every member take its score again and again */
	bool obliging;	 /* settle() lets fence_peer succeed and the disk be fast */
	/* What happened, to know that it did. */
	unsigned fenced_writes, blind_takes, late_floors, looks, backward_steps;
};

static struct message boxes[CLIENTS][BOX];

static void deliver_event(struct world *w, struct client *c, struct elector_event event);

/* ---- the ensemble ---- */

static struct znode *find_znode(struct world *w, const char *name)
{
	for (unsigned i = 0; i < ZNODES; i++)
		if (name[0] != '\0' && strcmp(w->znodes[i].name, name) == 0)
			return &w->znodes[i];
	return NULL;
}

static struct znode *first_znode(struct world *w)
{
	struct znode *first = NULL;

	for (unsigned i = 0; i < ZNODES; i++)
		if (w->znodes[i].name[0] != '\0' && (first == NULL || w->znodes[i].czxid < first->czxid))
			first = &w->znodes[i];
	return first;
}

static struct znode *znode_of_token(struct world *w, int64_t token)
{
	for (unsigned i = 0; i < ZNODES; i++)
		if (w->znodes[i].name[0] != '\0' && w->znodes[i].czxid == token)
			return &w->znodes[i];
	return NULL;
}

static unsigned znodes_of(const struct world *w, int64_t session)
{
	unsigned count = 0;

	for (unsigned i = 0; i < ZNODES; i++)
		count += w->znodes[i].name[0] != '\0' && w->znodes[i].owner == session;
	return count;
}

static struct message *push(struct world *w, struct client *c)
{
	struct message *m;

	CHECK_RUN(&w->run, c->in_count < BOX);
	m = c->inbox[c->in_count++];
	memset(m, 0, offsetof(struct message, names));
	m->name_count = 0;
	return m;
}

static void fire(struct world *w, struct client *c, enum elector_op op)
{
	struct message *m = push(w, c);

	m->fired = true;
	m->op = op;
}

static void touch_record(struct world *w)
{
	w->version++;
	w->zxid++;
	for (unsigned i = 0; i < CLIENTS; i++)
		if (w->clients[i].data_watch) {
			w->clients[i].data_watch = false;
			fire(w, &w->clients[i], ELECTOR_OP_READ);
		}
}

static void remove_znode(struct world *w, struct znode *z)
{
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct client *c = &w->clients[i];
		unsigned kept = 0;

		for (unsigned k = 0; k < c->watch_count; k++) {
			if (strcmp(c->watches[k].name, z->name) == 0)
				fire(w, c, c->watches[k].op);
			else
				c->watches[kept++] = c->watches[k];
		}
		c->watch_count = kept;
	}
	for (unsigned i = 0; i < w->term_count; i++)
		if (w->terms[i].token == z->czxid && !w->terms[i].gone) {
			w->terms[i].gone = true;
			w->terms[i].gone_ns = w->now_ns;
		}
	w->zxid++;
	z->name[0] = '\0';
}

static void end_session(struct world *w, int64_t session)
{
	for (unsigned i = 0; i < ZNODES; i++)
		if (w->znodes[i].name[0] != '\0' && w->znodes[i].owner == session)
			remove_znode(w, &w->znodes[i]);
}

static void add_watch(struct world *w, struct client *c, enum elector_op op, const char *name)
{
	for (unsigned i = 0; i < c->watch_count; i++)
		if (c->watches[i].op == op && strcmp(c->watches[i].name, name) == 0)
			return;
	CHECK_RUN(&w->run, c->watch_count < WATCHES);
	c->watches[c->watch_count].op = op;
	strcpy(c->watches[c->watch_count++].name, name);
}

/* From the counter's end on the server repeats its last number, now and then one past the wrap. */
static int32_t next_sequence(struct world *w)
{
	if (!w->worn)
		return w->sequence++;
	return random_once_in(&w->run, 4) ? INT32_MIN + (int32_t)random_below(&w->run, 3) : INT32_MAX;
}

static struct znode *add_znode(struct world *w, const char *guid, int64_t owner)
{
	for (unsigned i = 0; i < ZNODES; i++) {
		struct znode *z = &w->znodes[i];

		if (z->name[0] != '\0')
			continue;
		snprintf(z->name, sizeof z->name, "_c_%s-latch-%010" PRId32, guid, next_sequence(w));
		z->czxid = ++w->zxid;
		z->owner = owner;
		return z;
	}
	fail_msg("seed %llu: more candidates than places", (unsigned long long)w->run.seed);
	return NULL;
}

static void list_names(struct world *w, struct message *m)
{
	unsigned shift = (unsigned)random_below(&w->run, ZNODES);

	for (unsigned i = 0; i < ZNODES; i++) {
		const struct znode *z = &w->znodes[(i + shift) % ZNODES];

		if (z->name[0] != '\0')
			strcpy(m->names[m->name_count++], z->name);
	}
}

static void note_take(struct world *w, const struct client *c, int64_t token)
{
	const struct znode *z = znode_of_token(w, token);

	CHECK_RUN(&w->run, w->term_count < TERMS);
	w->terms[w->term_count].token = token;
	w->terms[w->term_count].led = false;
	w->terms[w->term_count].gone = z == NULL;
	w->terms[w->term_count].gone_ns = w->now_ns;
	w->terms[w->term_count++].proper = z != NULL && z->owner == c->session && z == first_znode(w);
}

/* Who led last by the record, be it readable or not. */
static int64_t incumbent_token(const struct world *w)
{
	return w->record.incumbent.clean == TENURE_CLEAN_UNKNOWN && w->record.incumbent.token == 0
		       ? w->garbled
		       : w->record.incumbent.token;
}

/* The record is overwritten with something else. */
static void garble_record(struct world *w)
{
	const int64_t token = incumbent_token(w);

	memset(&w->record, 0, sizeof w->record); /* an incumbent of whom nothing is known */
	w->garbled = token;
	touch_record(w);
}

/* The operator answers for the last incumbent. */
static void forget_incumbent(struct world *w)
{
	w->record.incumbent.clean = TENURE_CLEAN_YES;
	w->record.held = 0;
	touch_record(w);
}

static bool unclean_for(const struct world *w, const struct client *c)
{
	const struct tenure_incumbent *i = &w->record.incumbent;

	return (i->clean == TENURE_CLEAN_UNKNOWN || (i->clean == TENURE_CLEAN_NO && i->token != 0)) &&
	       strcmp(i->member, c->member) != 0;
}

/* The last leader has been gone for takeover_delay. */
static void check_delay(struct world *w, const struct client *c)
{
	for (unsigned i = 0; i < w->term_count; i++)
		if (w->terms[i].token == incumbent_token(w))
			CHECK_RUN(&w->run, w->terms[i].gone && w->now_ns - w->terms[i].gone_ns >=
								       c->core.config.takeover_delay_ns);
}

static bool ended_uncleanly(const struct tenure_incumbent *i)
{
	return i->clean == TENURE_CLEAN_UNKNOWN || (i->token != 0 && i->clean != TENURE_CLEAN_YES);
}

/* Behind an unclean end office is for who has looked at new scores and found none better, or has stepped back. */
static void check_scores(struct world *w, const struct client *c)
{
	const struct tenure_incumbent *last = &c->core.outlook.incumbent;
	const struct scores *s = &c->scores;

	if (c->core.config.score_slack < 0 || !ended_uncleanly(last) || strcmp(c->core.successor, c->member) == 0)
		return;
	if (s->stepped && s->stepped_after == last->token)
		return;
	CHECK_RUN(&w->run, s->marked_after == last->token && s->marked_before == c->core.own.czxid);
	CHECK_RUN(&w->run, s->looked && !s->better);
}

/* Promise S4: none takes office before an unclean predecessor has been fenced, where fence_peer is set. */
static void check_take(struct world *w, const struct client *c)
{
	const struct fencing *f = &c->fencing;

	CHECK_RUN(&w->run, !w->record.paused && w->record.held == 0);
	/*
	 * It may have taken office itself, and the record that told of it was overwritten before it was
	 * read.
	 */
	if (!unclean_for(w, c) || incumbent_token(w) == c->core.own.czxid)
		return;
	check_delay(w, c);
	if (!c->core.config.fence_peer)
		return;
	CHECK_RUN(&w->run, w->record.incumbent.token == 0);
	CHECK_RUN(&w->run, f->done && f->done_token == 0);
	CHECK_RUN(&w->run, f->done_victim == w->garbled || w->garbled == 0);
	w->blind_takes++;
}

static void check_fenced(struct world *w, const struct client *c, int64_t token)
{
	CHECK_RUN(&w->run, unclean_for(w, c));
	CHECK_RUN(&w->run, c->fencing.done && c->fencing.done_token == token);
	for (unsigned i = 0; i < CLIENTS; i++)
		CHECK_RUN(&w->run, w->clients[i].term != token || w->clients[i].excused);
	w->fenced_writes++;
}

static enum elector_result write_record(struct world *w, struct client *c,
					const struct elector_command *command)
{
	struct tenure_incumbent *incumbent = &w->record.incumbent;

	if (command->edit == TENURE_EDIT_CLEAN)
		c->clean_tried = command->token;
	if (command->version != w->version)
		return ELECTOR_BADVERSION;
	if (command->edit != TENURE_EDIT_TAKE && incumbent->token != command->token)
		return ELECTOR_STALE;
	switch (command->edit) {
	case TENURE_EDIT_TAKE:
		note_take(w, c, command->token);
		check_take(w, c);
		memset(incumbent, 0, sizeof *incumbent);
		strcpy(incumbent->member, c->member);
		incumbent->token = command->token;
		incumbent->phase = TENURE_PHASE_PROMOTING;
		incumbent->clean = TENURE_CLEAN_NO;
		w->record.successor[0] = '\0';
		w->record.transitions++;
		break;
	case TENURE_EDIT_ACTIVE:
		incumbent->phase = TENURE_PHASE_ACTIVE;
		break;
	case TENURE_EDIT_CLEAN:
		/* Nobody may call a term clean whose service is still in office. */
		for (unsigned i = 0; i < CLIENTS; i++)
			CHECK_RUN(&w->run, w->clients[i].term != command->token);
		incumbent->clean = TENURE_CLEAN_YES;
		break;
	case TENURE_EDIT_FENCED:
		check_fenced(w, c, command->token);
		incumbent->clean = TENURE_CLEAN_FENCED;
		break;
	case TENURE_EDIT_FORGET:
	case TENURE_EDIT_PAUSE:
	case TENURE_EDIT_RESUME:
	case TENURE_EDIT_ELIGIBLE:
	case TENURE_EDIT_NAME:
	case TENURE_EDIT_UNNAME:
		CHECK_RUN(&w->run, false); /* an operator's */
		break;
	}
	touch_record(w);
	return ELECTOR_OK;
}

static enum elector_result on_znode(struct world *w, struct client *c, const struct elector_command *command,
				    struct message *m)
{
	struct znode *z = find_znode(w, command->name);

	if (z == NULL)
		return ELECTOR_NONODE;
	m->czxid = z->czxid;
	m->owner = z->owner;
	if (command->op == ELECTOR_OP_WATCH || command->op == ELECTOR_OP_CHECK) {
		add_watch(w, c, command->op, command->name);
	} else if (command->op != ELECTOR_OP_OWNER) {
		/*
		 * Nothing of another session is ever deleted, and no office is left behind its service's
		 * back.
		 */
		CHECK_RUN(&w->run, z->owner == c->session);
		CHECK_RUN(&w->run, c->term != z->czxid);
		/* First the record is clean, then the znode goes. */
		CHECK_RUN(&w->run, w->record.incumbent.token != z->czxid ||
					   w->record.incumbent.clean != TENURE_CLEAN_NO ||
					   c->clean_tried == z->czxid || c->refused);
		c->purged += command->op == ELECTOR_OP_PURGE;
		remove_znode(w, z);
	}
	return ELECTOR_OK;
}

static enum elector_result carry_out(struct world *w, struct client *c, const struct elector_command *command,
				     struct message *m)
{
	const struct znode *z;

	c->refused = c->refused || c->answers[command->op] != ELECTOR_OK;
	if (c->answers[command->op] != ELECTOR_OK)
		return c->answers[command->op];
	switch (command->op) {
	case ELECTOR_OP_PARENTS:
		if (!w->path) {
			memset(&w->record, 0, sizeof w->record);
			w->record.incumbent.clean = TENURE_CLEAN_YES;
			w->version = 0;
		}
		w->path = true;
		return ELECTOR_OK;
	case ELECTOR_OP_SURVEY:
		return w->path ? ELECTOR_OK : ELECTOR_NONODE;
	case ELECTOR_OP_CREATE:
		if (!w->path)
			return ELECTOR_NONODE;
		z = add_znode(w, command->guid, c->session);
		CHECK_RUN(&w->run, znodes_of(w, c->session) <= 2);
		strcpy(m->name, z->name);
		m->czxid = z->czxid;
		return ELECTOR_OK;
	case ELECTOR_OP_LIST:
		list_names(w, m);
		return w->path ? ELECTOR_OK : ELECTOR_NONODE;
	case ELECTOR_OP_READ:
		if (!w->path)
			return ELECTOR_NONODE;
		c->data_watch = c->data_watch || command->watch;
		return ELECTOR_OK;
	case ELECTOR_OP_WRITE:
		return w->path ? write_record(w, c, command) : ELECTOR_NONODE;
	default:
		return on_znode(w, c, command, m);
	}
}

/* Carries out the oldest request of C. Its reply is lost when C is not connected. */
static void execute(struct world *w, struct client *c)
{
	static struct message scratch;
	struct elector_command command = c->outbox[0];
	struct message *m;

	memmove(c->outbox, c->outbox + 1, sizeof c->outbox[0] * --c->out_count);
	/* A survey is many requests, so that others overtake it. */
	if (command.op == ELECTOR_OP_SURVEY && c->out_count > 0 && random_once_in(&w->run, 2)) {
		c->outbox[c->out_count++] = command;
		return;
	}
	if (c->session_ends_ns != 0)
		return;
	memset(&scratch, 0, offsetof(struct message, names));
	scratch.name_count = 0;
	scratch.op = command.op;
	scratch.generation = command.generation;
	scratch.mark = command.mark;
	scratch.result = carry_out(w, c, &command, &scratch);
	scratch.record = w->record;
	scratch.version = w->version;
	if (!c->connected)
		return;
	m = push(w, c);
	memcpy(m, &scratch, offsetof(struct message, names));
	m->name_count = scratch.name_count;
	memcpy(m->names, scratch.names, scratch.name_count * sizeof scratch.names[0]);
}

/* ---- the supervisor ---- */

static void order(struct world *w, struct client *c, enum order_kind kind, int64_t token)
{
	CHECK_RUN(&w->run, c->order_count < ORDERS);
	c->orders[c->order_count++] = (struct order){.kind = kind, .token = token};
}

static void tell_stand(struct world *w, struct client *c)
{
	c->standing = true;
	order(w, c, ORDER_STAND, 0);
}

static void tell_retire(struct world *w, struct client *c)
{
	c->standing = false;
	order(w, c, ORDER_RETIRE, 0);
}

static void tell_active(struct world *w, struct client *c)
{
	c->confirmed = true;
	order(w, c, ORDER_ACTIVE, c->term);
}

/* The service is out of office. */
static void tell_give_up(struct world *w, struct client *c)
{
	int64_t token = c->term;

	c->spent = token;
	c->term = 0;
	c->confirmed = c->excused = c->standing = false;
	order(w, c, ORDER_GIVE_UP, token);
}

/* The fence_peer hook has ended. Who asked is told; an elector that has crashed since has not asked. */
static void tell_peer_fenced(struct world *w, struct client *c, bool ok)
{
	struct fencing *f = &c->fencing;

	CHECK_RUN(&w->run, f->running);
	f->running = false;
	if (ok) {
		f->done = true;
		f->done_token = f->token;
		f->done_victim = f->victim;
	}
	if (!f->asked)
		return;
	order(w, c, ORDER_PEER_FENCED, f->token);
	c->orders[c->order_count - 1].ok = ok;
}

static void supervise_fencing(struct world *w, struct client *c, const struct elector_command *command)
{
	struct fencing *f = &c->fencing;

	if (!command->wanted) {
		CHECK_RUN(&w->run, f->asked && f->wanted && f->asked_for == command->token);
		f->wanted = false;
		f->taken_back++;
		return;
	}
	CHECK_RUN(&w->run, c->core.config.fence_peer && !f->asked);
	CHECK_RUN(&w->run,
		  c->connected && c->lease_ns - w->now_ns >= tenure_budget_need(&w->config.budget, T));
	check_scores(w, c);
	f->asked = f->wanted = true;
	f->asked_for = command->token;
	f->asks++;
	if (f->running && f->token == command->token)
		return;
	f->running = true;
	f->token = command->token;
	f->victim = incumbent_token(w);
	if (f->token != 0 && f->token == f->victim)
		check_delay(w, c);
}

static void tell_floor(struct world *w, struct client *c)
{
	struct order *o = &c->orders[c->order_count];

	order(w, c, ORDER_FLOOR, 0);
	o->seen = c->disk.seen;
	o->durable = c->disk.durable;
}

/* The disk has written what it was given. */
static void write_floor(struct world *w, struct client *c)
{
	c->disk.durable = c->disk.wanted;
	tell_floor(w, c);
}

static void supervise_lead(struct world *w, struct client *c, const struct elector_command *command)
{
	unsigned in_office = 0;

	c->leads++;
	c->reason = command->reason;
	if (command->token == c->term)
		return;
	CHECK_RUN(&w->run, command->reason != TENURE_REASON_NONE);
	CHECK_RUN(&w->run, !c->fencing.asked);
	if (c->core.config.floor)
		CHECK_RUN(&w->run, command->token > c->disk.told_seen && command->token <= c->disk.durable);
	if (!c->standing || c->term != 0 || command->token <= c->spent) {
		order(w, c, ORDER_GIVE_UP, command->token);
		if (c->standing)
			tell_stand(w, c);
		return;
	}
	/* Promise S2, and what LEAD rests on. */
	for (unsigned i = 0; i < w->term_count; i++)
		if (w->terms[i].token == command->token) {
			CHECK_RUN(&w->run, w->terms[i].proper && !w->terms[i].led);
			w->terms[i].led = true;
			/* Deleted by hand behind the commit: that is still on its way to the core. */
			c->excused = w->terms[i].gone;
			w->last_led = w->last_led < command->token ? w->last_led : INT64_MAX;
		}
	CHECK_RUN(&w->run, w->last_led != INT64_MAX);
	w->last_led = command->token;
	c->term = command->token;
	for (unsigned i = 0; i < CLIENTS; i++)
		in_office += w->clients[i].term != 0 && !w->clients[i].excused;
	CHECK_RUN(&w->run, in_office == !c->excused); /* S1 */
}

/* Once per vacancy; for a better replica only behind a look that found one, and not while a hook is at work. */
static void supervise_step_back(struct world *w, struct client *c, enum elector_note why)
{
	struct scores *s = &c->scores;
	const int64_t after = c->core.outlook.incumbent.token;

	if (why != ELECTOR_NOTE_STEP_BACK && why != ELECTOR_NOTE_STEP_BACK_SCORE)
		return;
	CHECK_RUN(&w->run, !s->stepped || s->stepped_after != after);
	s->stepped = true;
	s->stepped_after = after;
	if (why == ELECTOR_NOTE_STEP_BACK)
		return;
	w->backward_steps++;
	CHECK_RUN(&w->run, c->core.config.score_slack >= 0 && s->looked && s->better);
	CHECK_RUN(&w->run, s->marked_after == after && s->marked_before == c->core.own.czxid);
	CHECK_RUN(&w->run, !c->fencing.asked);
}

static void supervise(struct world *w, struct client *c, const struct elector_command *command)
{
	switch (command->type) {
	case ELECTOR_DO_LEAD:
		CHECK_RUN(&w->run, command->token == c->core.own.czxid);
		supervise_lead(w, c, command);
		break;
	case ELECTOR_DO_LOST:
		CHECK_RUN(&w->run, c->lost_token != command->token); /* once */
		c->lost++;
		c->lost_token = command->token;
		c->reason = command->reason;
		break;
	case ELECTOR_DO_LEFT:
		c->lefts++;
		c->quiet = !c->core.stand;
		break;
	case ELECTOR_DO_CANDIDATE:
		strcpy(c->known_name, c->core.own.name);
		c->known_czxid = c->core.own.czxid;
		if (c->known_czxid > c->disk.wanted)
			c->disk.wanted = c->known_czxid;
		break;
	case ELECTOR_DO_FENCE_PEER:
		supervise_fencing(w, c, command);
		break;
	case ELECTOR_DO_NOTE:
		c->notes[command->note]++;
		supervise_step_back(w, c, command->note);
		break;
	default:
		break;
	}
}

/* ---- the core's side ---- */

static void check_request(struct world *w, struct client *c, const struct elector_command *command)
{
	CHECK_RUN(&w->run, c->connected && c->out_count < BOX);
	for (unsigned i = 0; i < c->out_count; i++)
		CHECK_RUN(&w->run, c->outbox[i].op != command->op);
	for (unsigned i = 0; i < c->in_count; i++)
		CHECK_RUN(&w->run, c->inbox[i]->fired || c->inbox[i]->op != command->op);
	if (command->op == ELECTOR_OP_DELETE || command->op == ELECTOR_OP_PURGE ||
	    command->op == ELECTOR_OP_CHECK)
		CHECK_RUN(&w->run, command->name[0] != '\0');
	if (command->op == ELECTOR_OP_WRITE && command->edit == TENURE_EDIT_TAKE) {
		CHECK_RUN(&w->run, !c->fencing.asked);
		check_scores(w, c);
	}
}

static void step_core(struct world *w, struct client *c, struct elector_event *event)
{
	struct elector_update update;
	size_t before = allocations_made();

	event->now_ns = w->now_ns;
	event->entropy = random_next(&w->run);
	elector_step(&c->core, event, &update);
	CHECK_RUN(&w->run, allocations_made() == before);
	if (!c->core.listed || c->core.view.position != 1 || c->core.term != 0)
		CHECK_RUN(&w->run, c->core.blocker == ELECTOR_CLEAR);
	w->late_floors += c->core.blocker == ELECTOR_BLOCKED_FLOOR;
	for (unsigned i = 0; i < update.count; i++) {
		if (update.commands[i].type == ELECTOR_DO_REQUEST) {
			check_request(w, c, &update.commands[i]);
			c->outbox[c->out_count++] = update.commands[i];
			if (update.commands[i].mark) {
				c->scores.asked_after = c->core.outlook.incumbent.token;
				c->scores.asked_before = c->core.own.czxid;
			}
		} else {
			supervise(w, c, &update.commands[i]);
		}
	}
	if (event->type == ELECTOR_EV_TIMER)
		CHECK_RUN(&w->run, elector_deadline(&c->core) > w->now_ns);
	if (c->quiet && !c->unsure) {
		CHECK_RUN(&w->run, c->session_ends_ns != 0 || znodes_of(w, c->session) == 0);
		for (unsigned i = 0; i < c->out_count; i++)
			CHECK_RUN(&w->run, c->outbox[i].op != ELECTOR_OP_CREATE);
	}
}

static void deliver_event(struct world *w, struct client *c, struct elector_event event)
{
	step_core(w, c, &event);
}

/* ---- scores ---- */

static void begin_score(struct world *w, struct client *c)
{
	c->score.running = true;
	c->score.running_since_ns = w->now_ns;
}

/* The run ends; what it printed is published. */
static void end_score(struct client *c, bool ok, int64_t value)
{
	struct score *score = &c->score;

	score->running = false;
	score->known = ok;
	if (!ok)
		return;
	score->value = value;
	score->taken++;
	score->began_ns = score->running_since_ns;
}

static void note_scores(struct world *w, struct client *c)
{
	struct scores *s = &c->scores;

	for (unsigned i = 0; i < CLIENTS; i++) {
		const struct client *peer = &w->clients[i];

		s->marks[i].session = peer->session_ends_ns == 0 ? peer->session : 0;
		s->marks[i].taken = peer->score.taken;
	}
	s->marked_ns = w->now_ns;
	s->marked_after = s->asked_after;
	s->marked_before = s->asked_before;
	s->looked = false;
}

/* Nobody may look: nobody is known to be better. */
static void scores_hidden(struct client *c)
{
	struct scores *s = &c->scores;

	if (c->core.survey == ELECTOR_SURVEY_OTHERS)
		return;
	s->marked_after = s->asked_after;
	s->marked_before = s->asked_before;
	s->looked = true;
	s->better = false;
}

/* The rule by which the shell knows that a score began after the mark; that it does is checked here. */
static bool fresh_score(struct world *w, const struct client *c, const struct client *peer)
{
	const struct scores *s = &c->scores;
	bool fresh = peer->score.known && s->marks[peer->index].session == peer->session &&
		     peer->score.taken >= s->marks[peer->index].taken + 2;

	if (fresh)
		CHECK_RUN(&w->run, peer->score.began_ns >= s->marked_ns);
	return fresh;
}

/* What a look that decides is to find. */
static void look_at_scores(struct world *w, struct client *c, const struct elector_peer *peers)
{
	const struct elector_peer *own = &peers[c->index];
	struct scores *s = &c->scores;

	s->better = false;
	for (unsigned i = 0; i < CLIENTS; i++) {
		long double ahead = (long double)peers[i].score - (long double)own->score;

		if (i != c->index && peers[i].waiting && peers[i].eligible && peers[i].score_fresh &&
		    (!own->score_fresh || ahead > (long double)c->core.config.score_slack))
			s->better = true;
	}
	/* What counts was begun when the predecessor had gone. */
	for (unsigned i = 0; i < w->term_count; i++)
		for (unsigned k = 0; w->terms[i].token == s->marked_after && k < CLIENTS; k++)
			CHECK_RUN(&w->run, w->terms[i].gone && (!peers[k].score_fresh ||
								w->clients[k].score.began_ns >= w->terms[i].gone_ns));
	s->looked = true;
	w->looks++;
	/* Once, when it is time. */
	CHECK_RUN(&w->run, w->now_ns - s->marked_ns >= c->core.config.score_settle_ns);
}

static void survey(struct world *w, struct client *c, bool mark, struct elector_done *done)
{
	static struct elector_peer peers[CLIENTS];

	for (unsigned i = 0; i < CLIENTS; i++) {
		const struct client *peer = &w->clients[i];

		strcpy(peers[i].member, peer->member);
		peers[i].waiting = peer->standing && peer->term == 0 && znodes_of(w, peer->session) > 0;
		peers[i].eligible = w->record.eligible_count == 0;
		for (size_t k = 0; k < w->record.eligible_count; k++)
			if (strcmp(w->record.eligible[k], peer->member) == 0)
				peers[i].eligible = true;
		peers[i].self = peer == c;
		peers[i].score_fresh = fresh_score(w, c, peer);
		peers[i].score = peers[i].score_fresh ? peer->score.value : 0;
	}
	if (mark)
		note_scores(w, c);
	else if (c->core.pending[ELECTOR_OP_SURVEY] == done->generation &&
		 c->core.survey == ELECTOR_SURVEY_SCORES)
		look_at_scores(w, c, peers);
	done->peers = peers;
	done->peer_count = CLIENTS;
}

static const struct tenure_election_record *whole_record(const struct small_record *small)
{
	static struct tenure_election_record record;

	record.paused = small->paused;
	record.held = small->held;
	record.transitions = small->transitions;
	strcpy(record.successor, small->successor);
	record.eligible_count = small->eligible_count;
	memcpy(record.eligible, small->eligible, sizeof small->eligible);
	record.incumbent = small->incumbent;
	return &record;
}

/* Hands the oldest message of C to its core. */
static void deliver(struct world *w, struct client *c)
{
	struct message *m = c->inbox[0];
	const char *names[ZNODES];
	struct elector_event event = {.type = m->fired ? ELECTOR_EV_CHANGED : ELECTOR_EV_DONE};

	memmove(c->inbox, c->inbox + 1, sizeof c->inbox[0] * --c->in_count);
	c->inbox[c->in_count] = m;
	if (m->fired) {
		event.u.changed = m->op;
	} else {
		struct elector_done *done = &event.u.done;

		done->op = m->op;
		done->generation = m->generation;
		done->result = m->result;
		done->name = m->name;
		done->czxid = m->czxid;
		done->owner = m->owner;
		done->version = m->version;
		done->record = whole_record(&m->record);
		for (size_t i = 0; i < m->name_count; i++)
			names[i] = m->names[i];
		done->names = names;
		done->name_count = m->name_count;
		if (m->op == ELECTOR_OP_SURVEY && (m->result == ELECTOR_REFUSED || m->result == ELECTOR_NOAUTH))
			scores_hidden(c);
		else if (m->op == ELECTOR_OP_SURVEY && m->result == ELECTOR_OK)
			survey(w, c, m->mark, done);
	}
	deliver_event(w, c, event);
}

static void deliver_order(struct world *w, struct client *c)
{
	static const enum elector_event_type types[] = {ELECTOR_EV_STAND,	ELECTOR_EV_STAND,
							ELECTOR_EV_ACTIVE,	ELECTOR_EV_GIVE_UP,
							ELECTOR_EV_PEER_FENCED, ELECTOR_EV_FLOOR};
	struct order o = c->orders[0];
	struct elector_event event = {.type = types[o.kind]};

	memmove(c->orders, c->orders + 1, sizeof c->orders[0] * --c->order_count);
	switch (o.kind) {
	case ORDER_STAND:
		c->quiet = false;
		event.u.stand = true;
		break;
	case ORDER_RETIRE:
		event.u.stand = false;
		break;
	case ORDER_ACTIVE:
	case ORDER_GIVE_UP:
		event.u.token = o.token;
		break;
	case ORDER_PEER_FENCED:
		event.u.fenced.token = o.token;
		event.u.fenced.ok = o.ok;
		c->fencing.asked = c->fencing.wanted = false;
		break;
	case ORDER_FLOOR:
		event.u.floor.seen = c->disk.told_seen = o.seen;
		event.u.floor.durable = c->disk.told_durable = o.durable;
		break;
	}
	deliver_event(w, c, event);
}

/* ---- connections and sessions ---- */

static void renew(struct world *w, struct client *c, int64_t age_ns)
{
	int64_t deadline_ns = w->now_ns - age_ns + T;

	if (!c->connected || c->session_ends_ns != 0 || deadline_ns <= c->lease_ns)
		return;
	c->lease_ns = deadline_ns;
	deliver_event(w, c, (struct elector_event){.type = ELECTOR_EV_LEASE, .u.deadline_ns = deadline_ns});
}

/* What is under way may still be carried out until C connects again; nothing comes back. */
static void disconnect(struct world *w, struct client *c)
{
	c->connected = false;
	c->in_count = 0;
	c->watch_count = 0;
	c->data_watch = false;
	deliver_event(w, c, (struct elector_event){.type = ELECTOR_EV_DOWN});
}

/* The session ends in the ensemble; the core hears of it when it connects again. */
static void expire(struct world *w, struct client *c)
{
	c->session_ends_ns = w->now_ns;
	c->out_count = 0;
	if (c->term != 0)
		c->excused = true;
	end_session(w, c->session);
}

static void reconnect(struct world *w, struct client *c)
{
	struct elector_event event = {.type = ELECTOR_EV_UP};

	c->out_count = 0;
	if (c->session_ends_ns != 0) {
		c->lease_ns = 0;
		deliver_event(w, c, (struct elector_event){.type = ELECTOR_EV_GONE});
		c->session = ++w->next_session;
		c->session_ends_ns = 0;
		c->unsure = false;
	}
	c->connected = true;
	event.u.up.session_id = c->session;
	event.u.up.timeout_ns = T;
	deliver_event(w, c, event);
}

/* The elector process dies and another takes its session up. The supervisor says again what still holds. */
static void restart_elector(struct world *w, struct client *c)
{
	const struct elector_config config = c->core.config;
	int64_t given_up = 0;

	c->connected = false;
	c->in_count = c->watch_count = 0;
	c->data_watch = false;
	for (unsigned i = 0; i < c->order_count; i++)
		if (c->orders[i].kind == ORDER_GIVE_UP)
			given_up = c->orders[i].token;
	c->order_count = 0;
	c->lost_token = 0;
	c->quiet = false;
	c->unsure = true;
	/*
	 * A hook at work may go on for the next elector, unless it is for a record of which only that one
	 * knew.
	 */
	c->fencing.asked = c->fencing.wanted = false;
	c->fencing.running = c->fencing.running && c->fencing.token != 0;
	c->disk.told_seen = c->disk.told_durable = 0;
	memset(&c->scores, 0, sizeof c->scores);
	elector_init(&c->core, &config);
	if (c->known_name[0] != '\0')
		elector_restore(&c->core, c->known_name, c->known_czxid,
				c->term != 0 && c->term == c->known_czxid);
	if (given_up != 0)
		order(w, c, ORDER_GIVE_UP, given_up);
	if (c->term != 0 && c->confirmed)
		tell_active(w, c);
	if (c->standing)
		order(w, c, ORDER_STAND, 0);
	else if (c->term == 0)
		order(w, c, ORDER_RETIRE, 0);
	if (config.floor && !random_once_in(&w->run, 4))
		tell_floor(w, c);
}

/* ---- time ---- */

static void timers(struct world *w)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		if (elector_deadline(&w->clients[i].core) <= w->now_ns)
			deliver_event(w, &w->clients[i], (struct elector_event){.type = ELECTOR_EV_TIMER});
}

/* Whether the supervisor had something to do of which a core in good health hears. */
static bool oblige(struct world *w, struct client *c)
{
	bool floor_due = c->disk.durable < c->disk.wanted || c->disk.durable > c->disk.told_durable;

	if (!w->obliging || c->order_count > 0)
		return false;
	if (c->fencing.running)
		tell_peer_fenced(w, c, c->fencing.wanted || !c->fencing.asked);
	else if (w->config.floor && floor_due)
		write_floor(w, c);
	else
		return false;
	return true;
}

/* Everything that can happen without time passing happens, in order. */
static void settle(struct world *w)
{
	for (unsigned steps = 0; steps < SETTLE_STEPS; steps++) {
		bool moved = false;

		for (unsigned i = 0; i < CLIENTS; i++) {
			struct client *c = &w->clients[i];

			moved = oblige(w, c) || moved;
			if (c->order_count > 0) {
				deliver_order(w, c);
				moved = true;
			}
			if (c->connected && c->out_count > 0) {
				execute(w, c);
				moved = true;
			}
			if (c->connected && c->in_count > 0) {
				deliver(w, c);
				moved = true;
			}
		}
		if (!moved)
			return;
	}
	fail_msg("seed %llu: no end of requests", (unsigned long long)w->run.seed);
}

/* Time passes in the heartbeats' rhythm. */
static void pass(struct world *w, int64_t span_ns)
{
	const int64_t end_ns = w->now_ns + span_ns;

	while (w->now_ns < end_ns) {
		int64_t next_ns = end_ns < w->now_ns + SECOND ? end_ns : w->now_ns + SECOND;

		for (unsigned i = 0; i < CLIENTS; i++) {
			int64_t due_ns = elector_deadline(&w->clients[i].core);

			if (due_ns > w->now_ns && due_ns < next_ns)
				next_ns = due_ns;
		}
		w->now_ns = next_ns;
		timers(w);
		for (unsigned i = 0; w->auto_score && i < CLIENTS; i++) {
			if (w->clients[i].score.running)
				end_score(&w->clients[i], true, w->clients[i].score.value);
			begin_score(w, &w->clients[i]);
		}
		for (unsigned i = 0; w->auto_renew && i < CLIENTS; i++)
			if (elector_wants_heartbeats(&w->clients[i].core))
				renew(w, &w->clients[i], 3 * SECOND);
		settle(w);
	}
}

/* ---- the beginning ---- */

static void begin_client(struct world *w, unsigned index)
{
	struct client *c = &w->clients[index];
	struct elector_config config = w->config;

	memset(c, 0, sizeof *c);
	c->index = index;
	for (unsigned i = 0; i < BOX; i++)
		c->inbox[i] = &boxes[index][i];
	snprintf(c->member, sizeof c->member, "m%u", index);
	strcpy(config.member, c->member);
	config.agent = UINT64_C(0xa0000000) + index;
	elector_init(&c->core, &config);
	c->session = ++w->next_session;
}

static void begin_world(struct world *w, uint64_t seed)
{
	memset(w, 0, sizeof *w);
	random_begin(&w->run, seed);
	w->now_ns = START;
	w->zxid = INT64_C(1) << 32;
	w->auto_renew = true;
	w->config.budget = default_budget();
	w->config.backoff_ns = SECOND;
	w->config.backoff_max_ns = 8 * SECOND;
	w->config.score_slack = -1;
	for (unsigned i = 0; i < CLIENTS; i++)
		begin_client(w, i);
}

#endif
