/* The elector talks to the network: it does so as a user who may do nothing else. */
#include "elector/privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not even a program that is allowed to can bring one back. In a container the right to say so may be missing. */
static int empty_bounding_set(void)
{
	for (unsigned long i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++) {
		if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0)
			return errno == EPERM ? 0 : -errno;
	}
	return 0;
}

static int become(uid_t uid, gid_t gid)
{
	/* For these calls it would mean to stay. */
	if (uid == (uid_t)-1 || gid == (gid_t)-1)
		return -EINVAL;
	if (setgroups(1, &gid) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	/* Nothing may lead back. */
	return uid != 0 && setuid(0) == 0 ? -EPERM : 0;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return -errno;
	return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

int privileges_drop(uid_t uid, gid_t gid)
{
	int rc;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	rc = empty_bounding_set();
	if (rc == 0 && geteuid() == 0)
		rc = become(uid, gid);
	return rc < 0 ? rc : drop_capabilities();
}
