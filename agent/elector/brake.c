/* A brake for log lines that an unfriendly network could repeat without end. */
#include "elector/brake.h"

#define BRAKE_PERIOD_NS INT64_C(10000000000)

bool brake_pass(struct brake *brake, int64_t now_ns, unsigned *held)
{
	if (brake->said_ns != 0 && now_ns - brake->said_ns < BRAKE_PERIOD_NS) {
		brake->held++;
		return false;
	}
	*held = brake->held;
	brake->held = 0;
	brake->said_ns = now_ns;
	return true;
}
