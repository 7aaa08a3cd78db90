/* What the agent was started with, and what its children find. */
#include "supervisor/surroundings.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

enum { DESCRIPTORS_MAX = 65536 };

static struct rlimit inherited; /* rlim_max 0: not known */

void surroundings_close_from(int first)
{
	if (close_range((unsigned)first, ~0u, 0) == 0)
		return;
	/* An older kernel. */
	for (int fd = first; fd < DESCRIPTORS_MAX; fd++)
		close(fd);
}

static int init_signals(void)
{
	struct sigaction standard = {.sa_handler = SIG_DFL}, ignore = {.sa_handler = SIG_IGN};

	/* Those that a program may not change answer with an error, which is what we want of them. */
	for (int i = 1; i < NSIG; i++)
		sigaction(i, &standard, NULL);
	return sigaction(SIGPIPE, &ignore, NULL) < 0 ? -errno : 0;
}

int surroundings_init(void)
{
	struct rlimit raised;
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
		if (fd < 0)
			return -errno;
	} while (fd <= 2);
	surroundings_close_from(3);

	if (getrlimit(RLIMIT_NOFILE, &inherited) < 0)
		return -errno;
	raised = inherited;
	raised.rlim_cur = raised.rlim_max < DESCRIPTORS_MAX ? raised.rlim_max : DESCRIPTORS_MAX;
	if (raised.rlim_cur > inherited.rlim_cur && setrlimit(RLIMIT_NOFILE, &raised) < 0)
		return -errno;
	return init_signals();
}

int surroundings_restore(void)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t none;

	if (inherited.rlim_max != 0 && setrlimit(RLIMIT_NOFILE, &inherited) < 0)
		return -errno;
	sigemptyset(&none);
	if (sigaction(SIGPIPE, &standard, NULL) < 0 || sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return -errno;
	return 0;
}
