/* The listening control socket. The supervisor makes it, so that it survives its electors. */
#ifndef TENURE_SUPERVISOR_CONTROL_SOCKET_H
#define TENURE_SUPERVISOR_CONTROL_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

/* Waits at most WAIT_MS until nobody listens at PATH, and returns whether that is so. Only for the start. */
bool control_socket_await(const char *path, int wait_ms);

/*
 * Listens at PATH for GROUP (if HAS_GROUP) and the agent's user, in place of a socket on which nobody listens
 * any more. Returns the descriptor; -EADDRINUSE when another process listens there; or negative errno. Every
 * error has been logged.
 */
int control_socket_open(const char *path, bool has_group, gid_t group);

/* Gives the socket at PATH to GROUP, or to the agent's user alone. Returns 0 or negative errno. */
int control_socket_share(const char *path, bool has_group, gid_t group);

/* Closes and removes it. FD -1 is fine. */
void control_socket_close(int fd, const char *path);

#endif
