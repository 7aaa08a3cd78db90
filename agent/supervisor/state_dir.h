/* The directory of the agent's running state: one agent at a time, and who its elector is. */
#ifndef TENURE_SUPERVISOR_STATE_DIR_H
#define TENURE_SUPERVISOR_STATE_DIR_H

#include <sys/types.h>

struct state_dir {
	int fd; /* the directory */
	int lock_fd;
};

/*
 * Makes PATH if it is missing and locks it. Returns 0; -EBUSY when another agent holds it; or negative
 * errno. Every error has been logged.
 */
int state_dir_open(struct state_dir *dir, const char *path);

/* Kills the elector that an earlier supervisor has left behind, and waits for its end. Returns 0, or negative
 * errno, logged. */
int state_dir_kill_orphan(struct state_dir *dir);

/* Notes PID as our elector, or 0: none. A failure is logged. */
void state_dir_record_elector(struct state_dir *dir, pid_t pid);

void state_dir_close(struct state_dir *dir);

#endif
