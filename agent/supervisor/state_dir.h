/* The directory of the agent's running state: one agent at a time, and who its elector is. */
#ifndef TENURE_SUPERVISOR_STATE_DIR_H
#define TENURE_SUPERVISOR_STATE_DIR_H

#include <sys/types.h>

#include "supervisor/locked_dir.h"

/* As locked_dir_open. */
int state_dir_open(struct locked_dir *dir, const char *path);

/* Kills the elector that an earlier supervisor has left behind, and waits for its end. Returns 0, or negative
 * errno, logged. */
int state_dir_kill_orphan(struct locked_dir *dir);

/* Notes PID as our elector, or 0: none. A failure is logged. */
void state_dir_record_elector(struct locked_dir *dir, pid_t pid);

#endif
