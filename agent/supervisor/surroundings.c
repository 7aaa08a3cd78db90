/* What the agent was started with, and what its children find. */
#include "supervisor/surroundings.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { DESCRIPTORS_MAX = 65536 };

#define OOM_FILE "/proc/self/oom_score_adj"

static struct rlimit inherited; /* rlim_max 0: not known */
static char inherited_oom[16];	/* as read; "": we have not changed it */
static const char *our_oom;	/* what we have changed it to */

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
	/* A log that nobody reads, or that may not grow any more, loses lines. */
	return sigaction(SIGPIPE, &ignore, NULL) < 0 || sigaction(SIGXFSZ, &ignore, NULL) < 0 ? -errno : 0;
}

/* No allocation, no locks: it runs in children too. */
static bool write_oom(const char *text)
{
	int fd = open(OOM_FILE, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

static void restore_oom(void)
{
	if (inherited_oom[0] != '\0')
		write_oom(inherited_oom);
}

/*
 * The agent is small, and its death ends a service. What it starts is to be judged as ever, and from the fork on: by
 * the time a child executes its program it may be a user who may not open the file.
 */
static void init_oom(void)
{
	/* Not -1000: an agent that eats all memory must not be spared. Nobody needs a right for the second one. */
	static const char *const wanted[] = {"-900\n", "0\n"};
	char text[sizeof(inherited_oom)] = "";
	int fd = open(OOM_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0 || pthread_atfork(NULL, NULL, restore_oom) != 0)
		return;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && atoi(text) > atoi(wanted[i]); i++) {
		if (!write_oom(wanted[i]))
			continue;
		our_oom = wanted[i];
		memcpy(inherited_oom, text, sizeof(inherited_oom));
		return;
	}
}

static int raise_descriptors(void)
{
	struct rlimit raised = inherited;

	raised.rlim_cur = raised.rlim_max < DESCRIPTORS_MAX ? raised.rlim_max : DESCRIPTORS_MAX;
	return raised.rlim_cur > inherited.rlim_cur && setrlimit(RLIMIT_NOFILE, &raised) < 0 ? -errno : 0;
}

void surroundings_give_back(void)
{
	restore_oom();
	if (inherited.rlim_max != 0)
		setrlimit(RLIMIT_NOFILE, &inherited);
}

void surroundings_take_again(void)
{
	raise_descriptors();
	if (our_oom)
		write_oom(our_oom);
}

int surroundings_init(int first)
{
	int fd, rc;

	do {
		fd = open("/dev/null", O_RDWR);
		if (fd < 0)
			return -errno;
	} while (fd <= 2);
	surroundings_close_from(first);

	if (getrlimit(RLIMIT_NOFILE, &inherited) < 0)
		return -errno;
	rc = raise_descriptors();
	if (rc < 0)
		return rc;
	init_oom();
	return init_signals();
}

int surroundings_restore(void)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};
	sigset_t none;

	restore_oom();
	if (inherited.rlim_max != 0 && setrlimit(RLIMIT_NOFILE, &inherited) < 0)
		return -errno;
	sigemptyset(&none);
	if (sigaction(SIGPIPE, &standard, NULL) < 0 || sigaction(SIGXFSZ, &standard, NULL) < 0 ||
	    sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return -errno;
	return 0;
}
