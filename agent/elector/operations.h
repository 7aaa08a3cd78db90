/* The requests that an elector core asks for, on ZooKeeper. */
#ifndef TENURE_ELECTOR_OPERATIONS_H
#define TENURE_ELECTOR_OPERATIONS_H

#include "core/elector.h"

struct contest;

/* Performs COMMAND, an ELECTOR_DO_REQUEST. Its end is one ELECTOR_EV_DONE, never before this returns. */
void operations_start(struct contest *contest, const struct elector_command *command);

#endif
