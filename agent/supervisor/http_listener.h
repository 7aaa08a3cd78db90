/* The socket of the HTTP interface. The supervisor holds it, so that clients wait while an elector is replaced. */
#ifndef TENURE_SUPERVISOR_HTTP_LISTENER_H
#define TENURE_SUPERVISOR_HTTP_LISTENER_H

/*
 * Before an elector starts: FD (-1: none) if it listens at LISTEN, else a new socket in its place; -1 when LISTEN
 * is "", or when it cannot be, which is logged: the elector then goes on trying, since leadership does not depend on it.
 */
int http_listener_renew(int fd, const char *listen);

#endif
