/* The directory of the agent's running state: one agent at a time, and who its elector is. */
#ifndef TENURE_SUPERVISOR_STATE_DIR_H
#define TENURE_SUPERVISOR_STATE_DIR_H

#include <sys/types.h>

#include "supervisor/locked_dir.h"

/* As locked_dir_open. */
int state_dir_open(struct locked_dir *dir, const char *path);

/*
 * The elector that an earlier supervisor has left behind: a pidfd, or -1 when there is none. It keeps its session
 * for orphan_limit, so that nobody takes over from a service that may still be active: it is let live until ours is
 * known to be out of office.
 */
int state_dir_orphan(struct locked_dir *dir);

/* Kills that elector and closes ORPHAN_FD. */
void state_dir_end_orphan(int orphan_fd);

/* Notes PID as our elector, or 0: none. A failure is logged. */
void state_dir_record_elector(struct locked_dir *dir, pid_t pid);

#endif
