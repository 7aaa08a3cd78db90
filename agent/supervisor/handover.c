/* Descriptors that a supervisor hands to itself. See handover.h. */
#include "supervisor/handover.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void handover_keep(const struct handover *handover, int keep)
{
	for (int i = 0; i < HANDOVER_COUNT; i++) {
		if (handover->fds[i] >= 0)
			fcntl(handover->fds[i], F_SETFD, keep ? 0 : FD_CLOEXEC);
	}
}

void handover_write(const struct handover *handover, char text[HANDOVER_TEXT_SIZE])
{
	const int *fds = handover->fds;

	snprintf(text, HANDOVER_TEXT_SIZE, HANDOVER_NAME "=%d,%d,%d,%d", fds[HANDOVER_STATE_LOCK],
		 fds[HANDOVER_DATA_LOCK], fds[HANDOVER_CONTROL], fds[HANDOVER_HTTP]);
}

/* By way of numbers above all of these, so that none is overwritten before it is used. */
static void place(struct handover *handover)
{
	for (int i = 0; i < HANDOVER_COUNT; i++) {
		if (handover->fds[i] >= HANDOVER_FIRST_FD)
			handover->fds[i] = fcntl(handover->fds[i], F_DUPFD_CLOEXEC, HANDOVER_FIRST_FD + HANDOVER_COUNT);
		else
			handover->fds[i] = -1;
	}
	for (int i = 0; i < HANDOVER_COUNT; i++) {
		int to = HANDOVER_FIRST_FD + i;

		if (handover->fds[i] < 0)
			close(to);
		else
			handover->fds[i] = dup3(handover->fds[i], to, O_CLOEXEC);
	}
}

int handover_take(struct handover *handover)
{
	const char *text = getenv(HANDOVER_NAME);
	int *fds = handover->fds;
	int found;

	*handover = HANDOVER_NONE;
	if (!text)
		return HANDOVER_FIRST_FD;
	found = sscanf(text, "%d,%d,%d,%d", &fds[HANDOVER_STATE_LOCK], &fds[HANDOVER_DATA_LOCK],
		       &fds[HANDOVER_CONTROL], &fds[HANDOVER_HTTP]);
	unsetenv(HANDOVER_NAME);
	if (found != HANDOVER_COUNT)
		return HANDOVER_FIRST_FD;
	place(handover);
	return HANDOVER_FIRST_FD + HANDOVER_COUNT;
}

void handover_close(struct handover *handover)
{
	for (int i = 0; i < HANDOVER_COUNT; i++) {
		if (handover->fds[i] >= 0)
			close(handover->fds[i]);
		handover->fds[i] = -1;
	}
}
