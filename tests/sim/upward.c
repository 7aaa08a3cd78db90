/* What the elector says to the supervisor, as agent/elector's upward.c, ensemble.c and contest.c do. */
#include "sim.h"

void process_send(struct world *w, struct elector_process *p, enum message_type type,
		  const struct local *local)
{
	struct message *m;

	if (!p->up)
		return;
	m = message_new(w, type);
	m->u.local = *local;
	link_send(w, p->up, 1, m);
}

void process_say_session(struct world *w, struct elector_process *p)
{
	const struct session_credentials *c = &p->session.credentials;
	struct local local = {.timeout_ns = c->timeout_ns};

	local.session = (uint16_t)(c->id == 0 ? 0 : c->id & 0xffff);
	process_send(w, p, LOCAL_SESSION, &local);
}

void process_say_lease(struct world *w, struct elector_process *p)
{
	struct local local = {.start_ns = p->session.lease.start_ns,
			      .timeout_ns = p->session.lease.timeout_ns};

	if (local.start_ns != 0)
		process_send(w, p, LOCAL_LEASE, &local);
}

void process_say_candidate(struct world *w, struct elector_process *p)
{
	const struct elector_candidate *own = &p->core.own;
	struct local local = {.token = own->czxid};

	if (own->name[0] != '\0')
		local.znode = (uint16_t)(znode_find(w, own->name) + 1);
	process_send(w, p, LOCAL_CANDIDATE, &local);
}

static int member_number(const char *name)
{
	return name[0] == '\0' ? -1 : name[strlen(name) - 1] - 'a';
}

void process_say_outlook(struct world *w, struct elector_process *p)
{
	const struct elector_outlook *o = &p->core.outlook;
	struct local local = {
		.token = o->incumbent.token,
		.phase = (uint8_t)o->incumbent.phase,
		.member = (int8_t)member_number(o->incumbent.member),
		.flag = o->known,
		.gone = o->gone,
		.paused = o->paused,
	};

	local.self =
		local.token != 0 && local.token == p->core.own.czxid && local.member == (int8_t)p->host->id;
	process_send(w, p, LOCAL_LEADER, &local);
}
