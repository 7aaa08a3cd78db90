/* What the HTTP interface answers to each path. */
#ifndef TENURE_ELECTOR_HTTP_ANSWER_H
#define TENURE_ELECTOR_HTTP_ANSWER_H

#include <event2/http.h>
#include <stdbool.h>

struct evbuffer;
struct evkeyvalq;
struct shell;

struct http_answer {
	int status;
	struct evbuffer *body;
	struct evkeyvalq *headers;
};

/* The answer to a METHOD on PATH, as it is at this instant. PATH may be NULL. */
void http_answer(struct shell *shell, enum evhttp_cmd_type method, const char *path, struct http_answer *answer);

/* Begins the looks at ZooKeeper that the answer to PATH needs; returns whether there are any to be waited for. */
bool http_answer_looks(struct shell *shell, const char *path);

/* Whether some are still under way. */
bool http_answer_pending(const struct shell *shell);

#endif
