/*
 * What the elector is kept from. No seccomp: the calls of the C library, its name service modules and the ZooKeeper
 * library differ from one version to the next, and one that was forgotten costs the leadership. No RLIMIT_NPROC: it
 * counts all processes of the user, others' too, and the elector has to start threads.
 */
#include "elector/confine.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum {
	DESCRIPTORS = 1024, /* a client each, and some for each server whose name is looked up or that is being left */
};

static int limit(int resource, rlim_t most)
{
	struct rlimit now, lower;

	if (getrlimit((__rlimit_resource_t)resource, &now) < 0)
		return -errno;
	lower.rlim_max = now.rlim_max < most ? now.rlim_max : most;
	lower.rlim_cur = lower.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &lower) < 0 ? -errno : 0;
}

int confine(void)
{
	int rc = limit(RLIMIT_CORE, 0);

	if (rc == 0)
		rc = limit(RLIMIT_NOFILE, DESCRIPTORS);
	if (rc == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		rc = -errno;
	return rc;
}
