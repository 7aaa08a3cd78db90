/* The end of an orphan's session. See release.h. */
#include "elector/release.h"

#include <event2/event.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <time.h>

#include "common/log.h"
#include "elector/shell.h"

static void on_release(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	log_info(NULL, "released by the next supervisor: ending the session", " ");
	shell_quit(context, false);
}

/* Signals are blocked in this process: one that was sent before, by whomever, does not count. */
static void forget_pending(const sigset_t *signals)
{
	const struct timespec at_once = {0};

	while (sigtimedwait(signals, NULL, &at_once) > 0)
		;
}

void release_await(struct shell *shell)
{
	struct event *event;
	sigset_t signals;
	int fd;

	sigemptyset(&signals);
	sigaddset(&signals, ELECTOR_RELEASE_SIGNAL);
	forget_pending(&signals);
	fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	event = fd < 0 ? NULL : event_new(shell->base, fd, EV_READ, on_release, shell);
	/* They live as long as the process. */
	if (!event || event_add(event, NULL) < 0)
		log_warning(NULL, "cannot be released: the session will run out by itself", " ");
}
