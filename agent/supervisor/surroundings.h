/* What the agent was started with, and what its children find: descriptors, limits, signals. */
#ifndef TENURE_SUPERVISOR_SURROUNDINGS_H
#define TENURE_SUPERVISOR_SURROUNDINGS_H

/*
 * Once, at the start: 0, 1 and 2 are open and nothing inherited is from FIRST on; the soft limit of descriptors
 * is raised to the hard one (every election holds a few pipes); where we may, we are among the last whom the kernel
 * kills when there is no memory left; every signal has its default action but SIGPIPE and SIGXFSZ, which are ignored. Returns 0
 * or negative errno.
 */
int surroundings_init(int first);

/*
 * In a child before exec: the limits that the agent was started with, default
 * signals, none blocked. Returns 0 or negative errno. (What makes the kernel spare us every fork gives up by itself:
 * it has to be done before a change of user.)
 */
int surroundings_restore(void);

/*
 * Before this process executes its program anew: the limits that it was started with; and again ours, where that has
 * failed. Signals stay as they are: one that is blocked must find the next image.
 */
void surroundings_give_back(void);
void surroundings_take_again(void);

/* Closes FIRST and all above. */
void surroundings_close_from(int first);

#endif
