/* An operator's recover: a service that could not be put out of office is tried again. */
#ifndef TENURE_ELECTOR_RECOVER_H
#define TENURE_ELECTOR_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

#include "elector/leaving.h"

struct recover {
	bool active;
	uint32_t transitions; /* of the panic that is to end */
	uint32_t recovers;    /* answered before */
	struct leaving leaving;
};

/* CLIENT is answered at once or waits. */
void recover_start(struct contest *contest, struct client *client);

/* Looks whether a recover under way has ended or has something to tell. Cheap; called after every event. */
void recover_check(struct contest *contest);

/* CLIENT hung up. What it asked for goes on. */
void recover_forget(struct contest *contest, const struct client *client);

#endif
