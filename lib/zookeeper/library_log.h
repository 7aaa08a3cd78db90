/*
 * Lines that the ZooKeeper library logs, kept until a port's owner takes them. The library's callback
 * has no context, so that the lines of every handle of a process go to one port, the newest one.
 */
#ifndef TENURE_ZOOKEEPER_LIBRARY_LOG_H
#define TENURE_ZOOKEEPER_LIBRARY_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "zookeeper/port.h"

enum {
	PORT_LOG_LINE_SIZE = 512,
	PORT_LOG_LINES_MAX = 64, /* that may wait; more are counted and dropped */
};

/* From now on lines are kept, and WAKE_FD, an eventfd, becomes readable when there are some. */
void port_log_attach(int wake_fd);

/* WAKE_FD is about to be closed: if it is still the attached one, lines are dropped from now on. */
void port_log_detach(int wake_fd);

/* For zookeeper_init2: any thread, never blocks. */
void port_log_line(const char *message);

/* Takes the oldest line. Returns false when WAKE_FD is not the attached one or no line waits. */
bool port_log_take(int wake_fd, enum port_log_level *level, char line[PORT_LOG_LINE_SIZE]);

#endif
