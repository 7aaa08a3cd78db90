/*
 * The elector: a child of which there is at most one, started again when it ends, spoken to in messages.
 *
 *   down ──start──► starting ──HELLO──► up ──exit──► down
 *
 * One that has served for a second is followed by the next at once, others with back-off. One that does not begin, or
 * that says nothing for a third of T, is killed.
 */
#ifndef TENURE_SUPERVISOR_CHILD_H
#define TENURE_SUPERVISOR_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/config.h"
#include "common/message.h"
#include "supervisor/loop.h"
#include "supervisor/state_dir.h"

struct child {
	struct loop *loop;
	struct locked_dir *state_dir;
	struct watch watch; /* our end of the socketpair; fd -1: none */
	void (*take)(struct child *child, const struct message *m);
	pid_t pid; /* 0: down */
	uint32_t generation;
	bool up;       /* HELLO has come */
	bool quitting; /* QUIT was sent, or it is being killed */
	bool want_write;
	int64_t start_at_ns; /* when to start the next; CLOCK_NEVER while one runs, or none is wanted */
	int64_t kill_at_ns;  /* when its patience is over; CLOCK_NEVER: not limited */
	int64_t silent_at_ns; /* when it has said nothing for too long; CLOCK_NEVER: not limited */
	int64_t up_ns;	      /* when HELLO came */
	int64_t configured_ns, session_ns; /* T of the configuration; of the session, 0: none */
	unsigned slow_starts; /* in a row that did not begin in time */
	int64_t backoff_ns;
	uint64_t starts;
	struct message_queue *queue;
};

/* TAKE gets every message of the present elector, HELLO included. */
void child_init(struct child *child, struct loop *loop, struct locked_dir *state_dir,
		void (*take)(struct child *child, const struct message *m));

/* What it is to listen on; -1: none. They stay ours. */
struct child_sockets {
	int control, http;
};

/* Starts one with CONFIG and SOCKETS. On failure the next try is set, and logged. */
void child_start(struct child *child, const struct config *config, const struct child_sockets *sockets, int64_t now_ns);

/* To the elector, if it is up; it is lost otherwise, and the caller says it again after HELLO. */
void child_send(struct child *child, struct message *m);

/* Asks it to leave. It is killed if it has not by LIMIT_NS from now. */
void child_quit(struct child *child, bool keep_session, int64_t now_ns, int64_t limit_ns);

/* PID, to be reaped, is the elector: takes what it has said last, reaps it and plans the next. */
void child_exited(struct child *child, int64_t now_ns);

/* When child_timer is due. Whether to start the next one is the caller's to see, in start_at_ns. */
int64_t child_deadline(const struct child *child);
void child_timer(struct child *child, int64_t now_ns);

void child_close(struct child *child);

#endif
