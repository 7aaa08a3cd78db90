/* Instants: CLOCK_BOOTTIME for decisions, the wall clock for people. */
#include "elector/instant.h"

#include <stdio.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
	struct timespec t = {0};

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int64_t instant_now(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

int64_t instant_wall_ms(void)
{
	return read_clock(CLOCK_REALTIME) / INT64_C(1000000);
}

const char *instant_text(int64_t wall_ms, char buf[TENURE_TIME_SIZE])
{
	time_t seconds = (time_t)(wall_ms / 1000);
	struct tm tm;
	char text[sizeof "YYYY-MM-DDTHH:MM:SS"];

	buf[0] = '\0';
	if (wall_ms < 0 || !gmtime_r(&seconds, &tm) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm))
		return buf;
	snprintf(buf, TENURE_TIME_SIZE, "%s.%03dZ", text, (int)(wall_ms % 1000));
	return buf;
}
