/* A control group below the agent's, where cgroup v2 is there and lets us: what is in it can be killed whole. */
#ifndef TENURE_SUPERVISOR_CGROUP_H
#define TENURE_SUPERVISOR_CGROUP_H

#include <stdbool.h>

#include "tenure/limits.h"

enum { CGROUP_NAME_SIZE = TENURE_ELECTION_SIZE + 32 };

struct cgroup {
	int parent_fd, fd; /* directories; -1: not open */
	char name[CGROUP_NAME_SIZE];
};

/*
 * The group that ELECTION's service has under the agent of STATE_DIR, and of no other: agents may share the group that
 * they are in. Opens nothing.
 */
void cgroup_init(struct cgroup *cgroup, const char *state_dir, const char *election);

/* Opens it, unless it is open; makes it if MAKE. Returns 0 or negative errno, -ENOTSUP where there is no cgroup v2. */
int cgroup_open(struct cgroup *cgroup, bool make);

/* For a process that is to join it by writing "0". Returns a descriptor or negative errno. */
int cgroup_join_fd(const struct cgroup *cgroup);

/* Whether anybody lives in it or below. One that is not open is empty. */
bool cgroup_populated(const struct cgroup *cgroup);

/* Sends SIGKILL to all of it; who they are can be seen going by cgroup_populated(). */
void cgroup_kill(const struct cgroup *cgroup);

/* Closes it. */
void cgroup_close(struct cgroup *cgroup);

/* Removes it as well, if it is empty. */
void cgroup_remove(struct cgroup *cgroup);

#endif
