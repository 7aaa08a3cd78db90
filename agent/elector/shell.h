/*
 * The elector process: the event loop around the pure cores, and what its parts share. Everything here
 * runs on one thread. No part calls back into a core while that core is at work: what fails on the spot
 * is put off to a turn of its own.
 */
#ifndef TENURE_ELECTOR_SHELL_H
#define TENURE_ELECTOR_SHELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/config.h"
#include "elector/ensemble.h"
#include "elector/requests.h"
#include "elector/upward.h"

struct client;
struct contest;
struct control;
struct event;
struct event_base;
struct http;

struct shell {
	const struct config *config;
	uid_t owner; /* who started the agent, before privileges were dropped */
	struct event_base *base;
	struct event *soon;
	struct event *alarm;
	int alarm_fd;
	int64_t alarm_ns; /* what the timerfd is set to; INT64_MAX: off */
	int64_t alive_ns; /* when the supervisor is next told that the loop turns */
	struct ensemble ensemble;
	struct requests requests;
	struct upward upward;
	struct control *control; /* NULL: off */
	struct http *http;       /* NULL: off */
	struct contest *contests;
	size_t contest_count;
	bool restart_asked; /* of the supervisor, which has not answered */
	struct client *restart_client; /* waits for that; NULL: has hung up, or nobody asked */
	bool orphan;       /* the supervisor is gone: nothing is decided any more */
	int64_t orphan_ns; /* then: when to leave */
};

/* How many requests to ZooKeeper may be under way for COUNT elections. */
uint32_t shell_requests_max(size_t count);

/* How many watches may be set for COUNT elections. */
uint32_t shell_watches_max(size_t count);

/* Descriptors that the supervisor has handed down. */
struct shell_sockets {
	int supervisor;
	int control, http; /* these listen; -1: none */
};

/*
 * Runs until the process leaves. PORT has its credentials and room for what the above say. Returns only when it
 * cannot begin, with negative errno.
 */
int shell_run(const struct config *config, uid_t owner, struct port *port, const struct shell_sockets *sockets);

/* Has what was put off done in a turn of its own. */
void shell_soon(struct shell *shell);

/* To be called last in every callback of the loop: pace, messages, timer. */
void shell_settle(struct shell *shell);

/* The supervisor is gone: keeps the session for orphan_limit, so that nobody takes over from a service unwatched. */
void shell_orphan(struct shell *shell);

/* The supervisor's QUIT. */
void shell_quit(struct shell *shell, bool keep_session) __attribute__((noreturn));

/* Leaves at once, with the session kept for a next elector. */
void shell_leave(int status) __attribute__((noreturn));

#endif
