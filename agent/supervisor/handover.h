/* Descriptors that a supervisor hands to itself when it executes its program anew. */
#ifndef TENURE_SUPERVISOR_HANDOVER_H
#define TENURE_SUPERVISOR_HANDOVER_H

enum handover_fd {
	HANDOVER_STATE_LOCK, /* nobody else may start in between */
	HANDOVER_DATA_LOCK,
	HANDOVER_CONTROL, /* clients wait in its backlog */
	HANDOVER_HTTP,    /* here too */
	HANDOVER_COUNT
};

struct handover {
	int fds[HANDOVER_COUNT]; /* -1: none */
};

#define HANDOVER_NONE ((struct handover){{-1, -1, -1, -1}})

enum { HANDOVER_FIRST_FD = 3, HANDOVER_TEXT_SIZE = 64 };

#define HANDOVER_NAME "TENURE_HANDOVER"

/* Before the execution: lets them survive it, or not any more; and TEXT, which is to be put into the environment. */
void handover_keep(const struct handover *handover, int keep);
void handover_write(const struct handover *handover, char text[HANDOVER_TEXT_SIZE]);

/*
 * Afterwards, before anything is opened: finds them by the environment, from which they vanish, and brings them to the
 * numbers from HANDOVER_FIRST_FD on. Returns the first number behind them.
 */
int handover_take(struct handover *handover);

/* Closes what nobody has taken. */
void handover_close(struct handover *handover);

#endif
