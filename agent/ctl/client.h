/* One request to the agent through its control socket, with a bounded wait. */
#ifndef TENURE_CTL_CLIENT_H
#define TENURE_CTL_CLIENT_H

#include <jansson.h>
#include <stdint.h>

struct client_call {
	const char *socket;
	const json_t *request; /* borrowed */
	int64_t wait_ms;
	/* Told each step the agent reports, and with NULL five times a second meanwhile. May be NULL. */
	void (*progress)(void *context, const char *step, int64_t elapsed_ms);
	void *context;
};

/*
 * Sends the request and waits for the reply that has "ok", which the caller decrefs, in *REPLY.
 * Returns 0, or negative errno after having said what is wrong: -ETIMEDOUT when the agent did not answer in
 * time, -EINVAL for a request or socket name that cannot be sent, -EPROTO for an answer that is none, others.
 */
int client_ask(const struct client_call *call, json_t **reply);

/* Says the error of a reply that is not "ok" and returns the exit status it names. */
int client_refused(const json_t *reply);

/* Milliseconds of CLOCK_BOOTTIME, which counts suspended time. */
int64_t client_now_ms(void);

#endif
