/* An operator's resign of one election, from the request to the end of the term. */
#ifndef TENURE_ELECTOR_RESIGN_H
#define TENURE_ELECTOR_RESIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "elector/leaving.h"

enum resign_phase { RESIGN_IDLE, RESIGN_LISTING, RESIGN_SURVEYING, RESIGN_LEAVING };

struct resign {
	enum resign_phase phase;
	uint32_t generation; /* of the look at who waits behind */
	struct leaving leaving;
};

/* CLIENT is answered at once or waits. */
void resign_start(struct contest *contest, struct client *client, bool force);

/* Looks whether a resign under way has ended or has something to tell. Cheap; called after every event. */
void resign_check(struct contest *contest);

/* CLIENT hung up. What it asked for goes on. */
void resign_forget(struct contest *contest, const struct client *client);

#endif
