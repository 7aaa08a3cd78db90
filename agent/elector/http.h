/* The HTTP interface: its clients, and the bounds that they are kept in. It only reads. */
#ifndef TENURE_ELECTOR_HTTP_H
#define TENURE_ELECTOR_HTTP_H

struct http;
struct shell;

/* Takes over FD, which listens; -1: listens by itself as soon as it can. Returns 0 or negative errno. */
int http_open(struct shell *shell, int fd);

/* Listens no more. NULL is fine. */
void http_close(struct http *http);

/* Takes nobody in any more: who comes now waits for the next elector. NULL is fine. */
void http_hold(struct http *http);

/* Looks for the status have ended: answers those who waited for them, in a turn of its own. NULL is fine. */
void http_peeked(struct http *http);

#endif
