/* An operator's change to the election record: pause, resume, eligible. */
#ifndef TENURE_ELECTOR_AMEND_H
#define TENURE_ELECTOR_AMEND_H

#include <stdbool.h>

#include "elector/control_line.h"
#include "elector/rewrite.h"
#include "tenure/limits.h"
#include "tenure/record.h"

struct client;
struct contest;
struct event;

/* As many at once: a hook's change must not fail because an operator's waits. Each is conditional by itself. */
enum { AMENDS_MAX = 4 };

struct amend {
	bool active;
	struct contest *contest;
	struct client *client; /* who waits; NULL: it has hung up */
	struct event *timer;   /* of the next look */
	unsigned looks;        /* RESUME: for the incumbent that rode out the pause */
	struct rewrite rewrite;
	enum control_command command;
	bool force;
	struct control_members members;
	bool changes; /* ELIGIBLE: there is a list to be set */
	/* ELIGIBLE, when the list is set: the look at who is a member. */
	uint32_t survey;
	bool paused;
};

/* LINE is a pause, a resume or an eligible. CLIENT is answered at once or waits. */
void amend_start(struct contest *contest, struct client *client, const struct control_line *line);

/* CLIENT hung up. What it asked for goes on. */
void amend_forget(struct contest *contest, const struct client *client);

#endif
