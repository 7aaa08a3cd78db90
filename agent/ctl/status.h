/* The status of an agent for people. */
#ifndef TENURE_CTL_STATUS_H
#define TENURE_CTL_STATUS_H

#include <jansson.h>

/* Prints the status object of the control socket: the agent, ZooKeeper, and one block per election. */
void status_print(const json_t *status);

#endif
