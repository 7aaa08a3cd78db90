/* Memory that stays and a processor when it is needed: what the section `realtime` asks for. */
#ifndef TENURE_SUPERVISOR_REALTIME_H
#define TENURE_SUPERVISOR_REALTIME_H

#include "common/config.h"

/*
 * For the supervisor alone: children are scheduled as usual, and a program that is executed locks nothing. Returns 0,
 * or negative errno when what was asked for cannot be had, which has been logged.
 */
int realtime_begin(const struct config *config);

#endif
