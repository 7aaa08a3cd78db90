/* A directory of the agent's own, which no other agent uses at the same time. */
#ifndef TENURE_SUPERVISOR_LOCKED_DIR_H
#define TENURE_SUPERVISOR_LOCKED_DIR_H

#include <sys/types.h>

struct locked_dir {
	int fd; /* the directory; -1: not open */
	int lock_fd;
};

#define LOCKED_DIR_CLOSED ((struct locked_dir){.fd = -1, .lock_fd = -1})

/*
 * Makes the last part of PATH with MODE if it is missing, whatever our umask is, and locks it by the file
 * LOCK in it. OPTION is its name in the configuration. *HANDED may be a descriptor by which the image before us holds
 * that lock: it is taken over then, and *HANDED becomes -1. Returns 0; -EBUSY when another agent holds it; or
 * negative errno. Every error has been logged.
 */
int locked_dir_open(struct locked_dir *dir, const char *option, const char *path, mode_t mode, const char *lock,
		    int *handed);

/* A closed one is fine. */
void locked_dir_close(struct locked_dir *dir);

#endif
