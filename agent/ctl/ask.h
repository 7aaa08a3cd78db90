/* A command's question to the agent on this host. */
#ifndef TENURE_CTL_ASK_H
#define TENURE_CTL_ASK_H

#include <jansson.h>

#include "ctl/client.h"
#include "ctl/options.h"

enum {
	ASK_ANSWER_WAIT_MS = 5000,
	ASK_CHANGE_WAIT_MS = 90000, /* where hooks run meanwhile */
};

/* {"command", "election"}; NULL when there is no memory. */
json_t *ask_request(const struct ctl_options *options);

/*
 * Asks the agent. Takes REQUEST, which may be NULL. Returns an exit status, after having said what is wrong; only
 * with EXIT_YES there is a *REPLY, which the caller decrefs.
 */
int ask_agent(const struct ctl_options *options, json_t *request, struct client_call *call, json_t **reply);

/* The same for what takes a while: shows a terminal how far it is. */
int ask_and_wait(const struct ctl_options *options, json_t *request, struct client_call *call, json_t **reply);

#endif
