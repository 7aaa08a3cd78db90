/* What on_panic asks for, once an election is in panic and its lease is over. */
#ifndef TENURE_SUPERVISOR_PANIC_H
#define TENURE_SUPERVISOR_PANIC_H

#include <stdbool.h>

#include "common/config.h"

/* Says so in the log, or reboots the host without any delay. Returns whether the agent is to end. */
bool panic_act(const struct config_election *config);

#endif
