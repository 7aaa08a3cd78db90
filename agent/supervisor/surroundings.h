/* What the agent was started with, and what its children find: descriptors, their limit, signals. */
#ifndef TENURE_SUPERVISOR_SURROUNDINGS_H
#define TENURE_SUPERVISOR_SURROUNDINGS_H

/*
 * Once, at the start: 0, 1 and 2 are open and nothing inherited is beyond them; the soft limit of descriptors
 * is raised to the hard one (every election holds a few pipes); every signal has its default action but
 * SIGPIPE, which is ignored. Returns 0 or negative errno.
 */
int surroundings_init(void);

/* In a child before exec: the limit that the agent was started with, default signals, none blocked. Returns 0
 * or negative errno. */
int surroundings_restore(void);

/* Closes FIRST and all above. */
void surroundings_close_from(int first);

#endif
