/* The elector talks to the network: it does so as a user who may do nothing else. */
#include "elector/privileges.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

/* There is one thread, so that the answer in static memory stays as it is. */
static const struct passwd *find_user(const char *name)
{
	const struct passwd *found;

	if (name && name[0])
		return getpwnam(name);
	found = getpwnam("tenure");
	return found ? found : getpwnam("nobody");
}

int privileges_drop(const char *user)
{
	const struct passwd *found;
	uid_t uid;
	gid_t gid;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	if (geteuid() != 0)
		return 0;
	found = find_user(user);
	if (!found)
		return -ENOENT;
	uid = found->pw_uid;
	gid = found->pw_gid;
	if (setgroups(1, &gid) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	/* Nothing may lead back. */
	return uid != 0 && setuid(0) == 0 ? -EPERM : 0;
}
