/* The requests that an elector core asks for, as agent/elector/operations.c makes them, and our member
 * record. */
#include "sim.h"

static void ask(struct world *w, struct elector_process *p, const struct request *r,
		const struct outstanding *out)
{
	library_request(w, p, r, *out);
}

static bool is_connected(const struct elector_process *p)
{
	return p->library.state == LIBRARY_CONNECTED;
}

/* ---- the record ---- */

static const struct tenure_election_record *as_core_reads(const struct world *w, const struct record *r)
{
	static struct tenure_election_record out;

	out.paused = r->paused;
	out.transitions = r->transitions;
	out.eligible_count = 0;
	for (unsigned i = 0; i < w->host_count; i++)
		if (r->eligible & 1u << i)
			memcpy(out.eligible[out.eligible_count++], w->members[i], TENURE_MEMBER_SIZE);
	if (r->member >= 0)
		memcpy(out.incumbent.member, w->members[r->member], TENURE_MEMBER_SIZE);
	else
		memset(out.incumbent.member, 0, TENURE_MEMBER_SIZE);
	out.incumbent.token = r->token;
	out.incumbent.phase = (enum tenure_phase)r->phase;
	out.incumbent.clean = (enum tenure_clean)r->clean;
	return &out;
}

/* What tenure_document_edit does. Returns false when the edit does not apply. */
static bool edit(struct record *r, const struct elector_command *c, unsigned member)
{
	if (c->edit != TENURE_EDIT_TAKE && r->token != c->token)
		return false;
	switch (c->edit) {
	case TENURE_EDIT_TAKE:
		r->member = (int8_t)member;
		r->token = c->token;
		r->phase = TENURE_PHASE_PROMOTING;
		r->clean = TENURE_CLEAN_NO;
		r->successor = -1;
		r->transitions++;
		break;
	case TENURE_EDIT_ACTIVE:
		r->phase = TENURE_PHASE_ACTIVE;
		break;
	case TENURE_EDIT_CLEAN:
	case TENURE_EDIT_FORGET:
		r->clean = TENURE_CLEAN_YES;
		break;
	case TENURE_EDIT_FENCED:
		r->clean = TENURE_CLEAN_FENCED;
		break;
	case TENURE_EDIT_PAUSE:
	case TENURE_EDIT_RESUME:
	case TENURE_EDIT_ELIGIBLE:
	case TENURE_EDIT_NAME:
	case TENURE_EDIT_UNNAME:
		break; /* operators', not the core's */
	}
	return true;
}

static void start_write(struct world *w, struct elector_process *p, const struct elector_command *c,
			struct outstanding *out)
{
	struct request r = {.type = REQUEST_WRITE, .op = ELECTOR_OP_WRITE, .version = c->version};

	if (!p->kept_valid || p->kept_version != c->version) {
		process_defer(p, c->op, c->generation, ELECTOR_BADVERSION);
		return;
	}
	r.edit = (uint8_t)c->edit;
	r.u.record = p->kept;
	if (!edit(&r.u.record, c, p->host->id)) {
		process_defer(p, c->op, c->generation, ELECTOR_STALE);
		return;
	}
	if (!is_connected(p)) {
		process_defer(p, c->op, c->generation, ELECTOR_UNKNOWN);
		return;
	}
	out->record = r.u.record;
	ask(w, p, &r, out);
}

/* ---- the member record ---- */

static struct standing standing(const struct elector_process *p)
{
	return (struct standing){.waiting = p->role_state == ROLE_STANDBY,
				 .scored = p->scored,
				 .score = p->score,
				 .score_seq = p->score_seq};
}

static void make_member(struct world *w, struct elector_process *p, bool reports, uint32_t generation)
{
	struct request r = {.type = REQUEST_MEMBER, .op = ELECTOR_OP_PARENTS, .znode = (uint16_t)p->host->id};
	struct outstanding out = {.reports = reports, .generation = generation};

	p->member_known = false;
	if (!is_connected(p)) {
		if (reports)
			process_defer(p, ELECTOR_OP_PARENTS, generation, ELECTOR_UNKNOWN);
		return;
	}
	r.standing = standing(p);
	p->member_dirty = false;
	ask(w, p, &r, &out);
}

static void write_member(struct world *w, struct elector_process *p, bool heartbeat)
{
	struct request r = {.type = REQUEST_SET, .op = ELECTOR_OP_COUNT};
	struct outstanding out = {.heartbeat = heartbeat};

	/* To rule (b) a heartbeat is a ping: the server that we are connected to answers it. */
	if (heartbeat && sim_rule == RULE_B)
		r.type = REQUEST_PROBE;
	r.standing = standing(p);
	p->member_dirty = p->member_urgent = false;
	p->member_out = true;
	ask(w, p, &r, &out);
}

void operations_member_changed(struct world *w, struct elector_process *p)
{
	p->member_dirty = true;
	if (p->member_known && !p->member_out && (!p->pace || p->member_urgent) && is_connected(p))
		write_member(w, p, false);
}

/* A new score waits for no heartbeat. */
void operations_member_scored(struct world *w, struct elector_process *p)
{
	p->member_urgent = true;
	operations_member_changed(w, p);
}

bool operations_heartbeat(struct world *w, struct elector_process *p)
{
	if (!p->member_known || !is_connected(p))
		return false;
	write_member(w, p, true);
	return true;
}

static void member_written(struct world *w, struct elector_process *p, const struct reply *reply)
{
	p->member_out = false;
	if (reply && reply->answer == ANSWER_OK) {
		if (p->member_dirty)
			operations_member_changed(w, p);
		return;
	}
	p->member_dirty = true;
	if (reply && reply->answer == ANSWER_NONODE && p->member_known)
		make_member(w, p, false, 0);
}

static void member_made(struct world *w, struct elector_process *p, const struct outstanding *out,
			const struct reply *reply)
{
	bool ok = reply && (reply->answer == ANSWER_OK || reply->answer == ANSWER_EXISTS);

	if (ok) {
		p->member_known = true;
		/* An earlier process of this session wrote it, and knew less. */
		p->member_dirty = p->member_dirty || reply->answer == ANSWER_EXISTS;
		if (p->member_dirty)
			operations_member_changed(w, p);
	}
	if (out->reports)
		process_defer(p, ELECTOR_OP_PARENTS, out->generation, ok ? ELECTOR_OK : ELECTOR_UNKNOWN);
}

/* ---- requests ---- */

void operations_start(struct world *w, struct elector_process *p, const struct elector_command *c)
{
	struct request r = {.op = (uint8_t)c->op};
	struct outstanding out = {.generation = c->generation};

	if (c->op == ELECTOR_OP_PARENTS) {
		make_member(w, p, true, c->generation);
		return;
	}
	if (c->op == ELECTOR_OP_WRITE) {
		start_write(w, p, c, &out);
		return;
	}
	if (!is_connected(p)) {
		process_defer(p, c->op, c->generation, ELECTOR_UNKNOWN);
		return;
	}
	switch (c->op) {
	case ELECTOR_OP_CREATE:
		r.type = REQUEST_CREATE;
		memcpy(r.u.guid, c->guid, sizeof r.u.guid);
		break;
	case ELECTOR_OP_LIST:
		r.type = REQUEST_LIST;
		break;
	case ELECTOR_OP_WATCH:
	case ELECTOR_OP_CHECK:
	case ELECTOR_OP_OWNER:
		r.type = REQUEST_LOOK;
		r.watch = c->op != ELECTOR_OP_OWNER;
		r.znode = (uint16_t)znode_find(w, c->name);
		break;
	case ELECTOR_OP_DELETE:
	case ELECTOR_OP_PURGE:
		r.type = REQUEST_DELETE;
		r.znode = (uint16_t)znode_find(w, c->name);
		break;
	case ELECTOR_OP_READ:
		r.type = REQUEST_READ;
		r.watch = c->watch;
		break;
	default:
		r.type = REQUEST_SURVEY;
		out.mark = c->mark;
		break;
	}
	ask(w, p, &r, &out);
}

static enum elector_result result_of(const struct reply *reply)
{
	if (!reply)
		return ELECTOR_UNKNOWN;
	switch ((enum answer)reply->answer) {
	case ANSWER_OK:
		return ELECTOR_OK;
	case ANSWER_NONODE:
		return ELECTOR_NONODE;
	case ANSWER_BADVERSION:
		return ELECTOR_BADVERSION;
	default:
		return ELECTOR_REFUSED;
	}
}

/* Of two scores taken since the mark the first was perhaps under way by then; the second was not. */
static bool is_fresh(const struct elector_process *p, const struct peer *peer, const struct standing *now)
{
	int64_t mark = p->marks[peer->session];

	return now->scored && mark > 0 && now->score_seq >= mark - 1 + 2;
}

static void fill_peers(const struct world *w, struct elector_process *p, const struct reply *reply, bool mark,
		       struct elector_peer *peers)
{
	int64_t found[SESSIONS_MAX] = {0};

	for (unsigned i = 0; i < reply->count; i++) {
		const struct peer *peer = &reply->u.peers[i];
		struct standing now = peer->standing;

		peers[i].self = peer->session == p->library.session;
		if (peers[i].self)
			now = standing(p); /* of ourselves we know more */
		memcpy(peers[i].member, w->members[peer->member], sizeof peers[i].member);
		peers[i].waiting = peer->standing.waiting && peer->queues;
		peers[i].eligible =
			!p->kept_valid || p->kept.eligible == 0 || (p->kept.eligible & 1u << peer->member);
		peers[i].score_fresh = is_fresh(p, peer, &now);
		peers[i].score = peers[i].score_fresh ? now.score : 0;
		found[peer->session] = now.score_seq + 1;
	}
	if (mark)
		memcpy(p->marks, found, sizeof p->marks);
}

static void fill(struct world *w, struct elector_process *p, const struct outstanding *out,
		 const struct reply *reply, struct elector_done *done)
{
	static const char *names[QUEUE_MAX];
	static struct elector_peer peers[MEMBERS_MAX];

	done->czxid = reply->czxid;
	done->owner = reply->owner == 0 ? 0 : w->sessions[reply->owner].id;
	done->version = reply->version;
	switch (done->op) {
	case ELECTOR_OP_CREATE:
		done->name = w->znodes[reply->znode].name;
		break;
	case ELECTOR_OP_LIST:
		for (unsigned i = 0; i < reply->count; i++)
			names[i] = w->znodes[reply->u.names[i]].name;
		done->names = names;
		done->name_count = reply->count;
		break;
	case ELECTOR_OP_READ:
	case ELECTOR_OP_WRITE:
		p->kept = done->op == ELECTOR_OP_READ ? reply->u.record : out->record;
		p->kept_version = reply->version;
		p->kept_valid = true;
		done->record = as_core_reads(w, &p->kept);
		break;
	case ELECTOR_OP_SURVEY:
		fill_peers(w, p, reply, out->mark, peers);
		done->peers = peers;
		done->peer_count = reply->count;
		break;
	default:
		break;
	}
}

/* REPLY is NULL when the outcome is unknown. */
void operations_done(struct world *w, struct elector_process *p, const struct outstanding *out,
		     const struct reply *reply)
{
	struct elector_event event = {.type = ELECTOR_EV_DONE};

	if (out->type == REQUEST_MEMBER) {
		member_made(w, p, out, reply);
		return;
	}
	if (out->type == REQUEST_SET || out->type == REQUEST_PROBE) {
		member_written(w, p, reply);
		return;
	}
	event.u.done.op = (enum elector_op)out->op;
	event.u.done.generation = out->generation;
	event.u.done.result = result_of(reply);
	event.u.done.record = as_core_reads(w, &p->kept);
	if (event.u.done.result == ELECTOR_OK)
		fill(w, p, out, reply, &event.u.done);
	process_step_core(w, p, &event);
}
