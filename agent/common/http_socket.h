/* The address of the HTTP interface, "127.0.0.1:8650" or "[::1]:8650", and a socket that listens there. */
#ifndef TENURE_AGENT_HTTP_SOCKET_H
#define TENURE_AGENT_HTTP_SOCKET_H

#include <stdbool.h>
#include <sys/socket.h>

/* No name is looked up. Returns NULL, or what is wrong with TEXT, to stand behind it in a message. */
const char *http_socket_parse(const char *text, struct sockaddr_storage *address, socklen_t *size);

/* Listens at TEXT. Returns the descriptor or negative errno. */
int http_socket_open(const char *text);

/* Whether FD listens at TEXT. */
bool http_socket_is_at(int fd, const char *text);

#endif
