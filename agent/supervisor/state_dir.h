/* The directory of the agent's running state: one agent at a time, its small files, and who its elector is. */
#ifndef TENURE_SUPERVISOR_STATE_DIR_H
#define TENURE_SUPERVISOR_STATE_DIR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisor/locked_dir.h"

/* As locked_dir_open. */
int state_dir_open(struct locked_dir *dir, const char *path, int *handed);

/* Replaces the file NAME by SIZE bytes of TEXT, for us alone. Returns 0, or negative errno with the old one in place. */
int state_dir_write(const struct locked_dir *dir, const char *name, const char *text, size_t size);

/*
 * Reads the file NAME, of less than SIZE bytes. Returns their number; -ENOENT; -EPERM for what is not a file of ours
 * that nobody else can read or change; or negative errno.
 */
ssize_t state_dir_read(const struct locked_dir *dir, const char *name, char *text, size_t size);

/* A file that is not there is fine. */
void state_dir_remove(const struct locked_dir *dir, const char *name);

/* When PID was started, in clock ticks since boot; 0: there is no such process. */
uint64_t state_dir_start_of(pid_t pid);

/*
 * The elector that an earlier supervisor has left behind: a pidfd, or -1 when there is none. It keeps its session
 * for orphan_limit, so that nobody takes over from a service that may still be active: it is let live until ours is
 * known to be out of office.
 */
int state_dir_orphan(struct locked_dir *dir);

/* Tells it that its services are out of office, so that it ends the session and exits. */
void state_dir_release_orphan(int orphan_fd);

/*
 * Kills that elector, waits at most WAIT_MS until it is dead, and closes ORPHAN_FD. Returns 0, or -EBUSY when it still
 * lives.
 */
int state_dir_end_orphan(int orphan_fd, int wait_ms);

/* Notes PID as our elector, or 0: none. A failure is logged. */
void state_dir_record_elector(struct locked_dir *dir, pid_t pid);

#endif
