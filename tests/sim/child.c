/* The elector as the supervisor's child, as agent/supervisor/child.c has it: started, listened to, killed,
 * reaped. */
#include "sim.h"

static const int64_t first_backoff_ns = SECOND / 10;
static const int64_t last_backoff_ns = 10 * SECOND;
static const int64_t last_hello_ns = 30 * SECOND;

static int64_t local_now(const struct world *w, const struct supervisor *s)
{
	return host_local(s->host, w->now_ns);
}

/* What one that hangs is given (agent/common/alive.h). */
static int64_t alive_limit(const struct world *w, const struct supervisor *s)
{
	return child_alive_limit(s->session != 0 ? s->timeout_ns : w->params.timeout_ns);
}

void child_init(struct supervisor *s)
{
	s->kill_at_local = s->silent_at_local = NEVER;
	s->backoff_ns = first_backoff_ns;
}

void child_quit(struct world *w, struct supervisor *s, bool keep_session)
{
	struct local local = {.flag = keep_session};
	int64_t kill_ns = local_now(w, s) + CHILD_QUIT_NS;

	if (!s->child)
		return;
	supervisor_send(w, s, LOCAL_QUIT, &local);
	s->host->hung_quit = s->host->hung_ns != 0;
	s->quitting = true;
	s->keep_session = keep_session;
	s->silent_at_local = NEVER;
	s->kill_at_local = s->kill_at_local < kill_ns ? s->kill_at_local : kill_ns;
}

static void child_start(struct world *w, struct supervisor *s)
{
	int64_t limit_ns = alive_limit(w, s) / 2;

	limit_ns = limit_ns < SECOND ? SECOND : limit_ns;
	for (unsigned i = 0; i < s->slow_starts && limit_ns < last_hello_ns; i++)
		limit_ns *= 2;
	s->start_at_local = NEVER;
	s->generation++;
	s->quitting = false;
	s->kill_at_local = local_now(w, s) + (limit_ns < last_hello_ns ? limit_ns : last_hello_ns);
	elector_process_start(w, s->host);
	s->host->mirror.elector = s->child;
	s->host->mirror.elector_life = s->child->life;
}

void child_heard(struct world *w, struct supervisor *s, const struct message *m)
{
	if (m->type == LOCAL_HELLO) {
		s->up_local = local_now(w, s);
		s->slow_starts = 0;
	}
	if (!s->quitting)
		s->silent_at_local = local_now(w, s) + alive_limit(w, s);
}

static void kill_child(struct world *w, struct supervisor *s)
{
	s->kill_at_local = s->silent_at_local = NEVER;
	s->killed = true;
	elector_process_kill(w, s->child);
}

void child_exited(struct world *w, struct supervisor *s)
{
	int64_t now_ns = local_now(w, s), life_ns = s->up ? now_ns - s->up_local : 0;

	if (life_ns >= SECOND)
		s->backoff_ns = first_backoff_ns;
	link_close(w, s->down, 0);
	s->start_at_local = now_ns;
	if (life_ns < SECOND && (!s->quitting || s->killed)) {
		s->start_at_local += s->backoff_ns;
		s->backoff_ns = s->backoff_ns * 2 < last_backoff_ns ? s->backoff_ns * 2 : last_backoff_ns;
	}
	s->child = NULL;
	s->down = NULL;
	s->host->mirror.elector = NULL;
	s->up = s->killed = false;
	s->kill_at_local = s->silent_at_local = NEVER;
}

/* What it has said while nobody listened counts; and whatever kept us may have kept it as well. */
static void judge(struct world *w, struct supervisor *s, int64_t now_ns)
{
	int64_t every_ns = alive_limit(w, s) / 4;

	if (stream_unread(w, s->down, 0) > 0)
		s->silent_at_local = now_ns + alive_limit(w, s);
	else if (now_ns - s->silent_at_local > every_ns)
		s->silent_at_local = now_ns + 2 * every_ns;
	else if (sim_plant == PLANT_HANG)
		s->silent_at_local = NEVER;
	else
		kill_child(w, s);
}

int64_t child_deadline(const struct supervisor *s)
{
	int64_t due_ns = s->child || s->finishing ? NEVER : s->start_at_local;

	due_ns = s->kill_at_local < due_ns ? s->kill_at_local : due_ns;
	return s->silent_at_local < due_ns ? s->silent_at_local : due_ns;
}

void child_timer(struct world *w, struct supervisor *s)
{
	int64_t now_ns = local_now(w, s);

	if (s->child && now_ns >= s->kill_at_local) {
		s->slow_starts += !s->up;
		kill_child(w, s);
	}
	if (s->child && now_ns >= s->silent_at_local)
		judge(w, s, now_ns);
	if (!s->child && now_ns >= s->start_at_local && !s->finishing)
		child_start(w, s);
}
