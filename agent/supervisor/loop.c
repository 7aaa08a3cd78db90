/* Descriptors that are waited for, on epoll. */
#include "supervisor/loop.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

int loop_open(struct loop *loop)
{
	loop->count = 0;
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return loop->epoll_fd < 0 ? -errno : 0;
}

void loop_close(struct loop *loop)
{
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
	loop->epoll_fd = -1;
}

int loop_add(struct loop *loop, struct watch *watch)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};

	return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, watch->fd, &event) < 0 ? -errno : 0;
}

int loop_want_write(struct loop *loop, struct watch *watch, bool writable)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = watch};

	if (writable)
		event.events |= EPOLLOUT;
	return epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, watch->fd, &event) < 0 ? -errno : 0;
}

void loop_remove(struct loop *loop, struct watch *watch)
{
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	for (int i = 0; i < loop->count; i++) {
		if (loop->batch[i].data.ptr == watch)
			loop->batch[i].data.ptr = NULL;
	}
}

void loop_wait(struct loop *loop, bool block)
{
	int n = epoll_wait(loop->epoll_fd, loop->batch, LOOP_BATCH, block ? -1 : 0);

	loop->count = n < 0 ? 0 : n;
}

void loop_dispatch(struct loop *loop)
{
	for (int i = 0; i < loop->count; i++) {
		struct watch *watch = loop->batch[i].data.ptr;

		if (watch)
			watch->ready(watch);
	}
	loop->count = 0;
}
