/* The requests on the control socket. */
#ifndef TENURE_ELECTOR_COMMANDS_H
#define TENURE_ELECTOR_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

struct client;
struct contest;
struct shell;

/* A status that is asked for: of one election, or of all. */
struct commands_status {
	const struct contest *only; /* NULL: all */
};

/*
 * Acts on a line of CLIENT, who MAY_CHANGE things or not. Returns true when it asks for a status that waits for
 * a look at ZooKeeper: *STATUS is then to be handed to commands_status_end when the looks have ended.
 */
bool commands_run(struct shell *shell, struct client *client, bool may_change, const char *line, size_t size,
		  struct commands_status *status);

/* Whether a look for STATUS is still under way. */
bool commands_status_pending(const struct shell *shell, const struct commands_status *status);

/* Answers with what is known now. */
void commands_status_end(struct shell *shell, struct client *client, const struct commands_status *status);

#endif
