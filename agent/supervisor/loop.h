/* Descriptors that are waited for, on epoll. A watch may be removed at any time, also while others are
 * handled. */
#ifndef TENURE_SUPERVISOR_LOOP_H
#define TENURE_SUPERVISOR_LOOP_H

#include <stdbool.h>
#include <sys/epoll.h>

enum { LOOP_BATCH = 32 }; /* descriptors handled in one turn; the others are reported again */

struct watch {
	int fd;
	void (*ready)(struct watch *watch);
};

struct loop {
	int epoll_fd;
	int count;
	struct epoll_event batch[LOOP_BATCH];
};

/* The struct of TYPE whose MEMBER is the watch. */
#define watch_owner(watch, type, member) ((type *)(void *)((char *)(watch)-offsetof(type, member)))

/* Returns 0 or negative errno. */
int loop_open(struct loop *loop);
void loop_close(struct loop *loop);

/* Reports WATCH whenever its fd can be read (or written too, if WRITABLE). Returns 0 or negative errno. */
int loop_add(struct loop *loop, struct watch *watch);
int loop_want_write(struct loop *loop, struct watch *watch, bool writable);
void loop_remove(struct loop *loop, struct watch *watch);

/* Waits for ever (or not at all, unless BLOCK) and keeps what is ready for loop_dispatch. */
void loop_wait(struct loop *loop, bool block);
void loop_dispatch(struct loop *loop);

#endif
