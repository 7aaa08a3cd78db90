/* The elector as the supervisor's child, as agent/supervisor/child.c has it: started, watched, killed,
 * reaped. */
#include "sim.h"

enum { DEAF_LOOKS = 3 };

static const int64_t last_backoff_ns = 10 * SECOND;
static const int64_t settled_ns = 60 * SECOND;
static const int64_t hello_limit_ns = 30 * SECOND;
static const int64_t quit_limit_ns = 5 * SECOND;

static int64_t local_now(const struct world *w, const struct supervisor *s)
{
	return host_local(s->host, w->now_ns);
}

void child_quit(struct world *w, struct supervisor *s)
{
	struct local local = {.flag = s->role.state == ROLE_PANIC};

	if (!s->child)
		return;
	supervisor_send(w, s, LOCAL_QUIT, &local);
	s->quitting = true;
	s->kill_at_local = local_now(w, s) + quit_limit_ns;
}

static void child_start(struct world *w, struct supervisor *s)
{
	s->start_at_local = NEVER;
	s->generation++;
	s->quitting = false;
	s->started_local = local_now(w, s);
	s->kill_at_local = s->started_local + hello_limit_ns;
	elector_process_start(w, s->host);
}

void child_exited(struct world *w, struct supervisor *s)
{
	int64_t now_ns = local_now(w, s);
	bool wanted = s->child->leaving_wanted || s->quitting;

	if (now_ns - s->started_local >= settled_ns)
		s->backoff_ns = CHILD_BACKOFF_NS;
	link_close(w, s->down, 0);
	s->child = NULL;
	s->down = NULL;
	s->up = false;
	s->kill_at_local = s->look_at_local = NEVER;
	s->deaf = 0;
	if (wanted && (s->quitting || now_ns - s->started_local >= SECOND)) {
		s->start_at_local = now_ns;
	} else {
		s->start_at_local = now_ns + s->backoff_ns;
		s->backoff_ns = s->backoff_ns * 2 < last_backoff_ns ? s->backoff_ns * 2 : last_backoff_ns;
	}
}

/* An elector that hangs leaves its messages unread. */
static void look_at_child(struct world *w, struct supervisor *s, int64_t now_ns)
{
	if (stream_unread(w, s->down, 1) == 0) {
		s->deaf = 0;
		s->look_at_local = NEVER;
		return;
	}
	s->look_at_local = now_ns + CHILD_LOOK_NS;
	if (++s->deaf >= DEAF_LOOKS)
		elector_process_kill(w, s->child);
}

void child_timer(struct world *w, struct supervisor *s)
{
	int64_t now_ns = local_now(w, s);

	if (s->child && now_ns >= s->kill_at_local) {
		s->kill_at_local = NEVER;
		elector_process_kill(w, s->child);
	}
	if (s->child && now_ns >= s->look_at_local)
		look_at_child(w, s, now_ns);
	if (!s->child && now_ns >= s->start_at_local && !s->finishing)
		child_start(w, s);
}
