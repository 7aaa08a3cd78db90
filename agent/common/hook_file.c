/* Whether a hook's file may be run with the agent's rights. */
#include "common/hook_file.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 32 }; /* one after the other */

static bool others_write(const struct stat *status, const struct config_user *user)
{
	bool own_group = status->st_gid == 0 || (user && user->name && status->st_gid == user->gid);

	return (status->st_mode & S_IWOTH) || ((status->st_mode & S_IWGRP) && !own_group);
}

static bool is_stranger(const struct stat *status, const struct config_user *user)
{
	return status->st_uid != 0 && !(user && user->name && status->st_uid == user->uid);
}

/*
 * PART is a beginning of the path. *STICKY: others write to the directory that holds it, but its sticky bit
 * keeps them from what is not theirs. Becomes the same for PART itself.
 */
static int check_part(const char *part, const struct config_user *user, bool *sticky)
{
	struct stat target, link;

	if (stat(part, &target) < 0 || lstat(part, &link) < 0)
		return -errno;
	if (*sticky && is_stranger(&link, user))
		return -EPERM;
	*sticky = others_write(&target, user);
	if (*sticky && !(S_ISDIR(target.st_mode) && (target.st_mode & S_ISVTX)))
		return -EPERM;
	return 0;
}

/* Checks PATH part by part from the root. PART, PATH_MAX bytes, is left at the culprit. */
static int check_path(const char *path, const struct config_user *user, char *part)
{
	bool sticky = false;
	size_t end = 0;
	int rc;

	do {
		size_t begin = end + strspn(path + end, "/");

		end = end == 0 ? begin : begin + strcspn(path + begin, "/");
		memcpy(part, path, end);
		part[end] = '\0';
		rc = check_part(part, user, &sticky);
	} while (rc == 0 && path[end] != '\0');
	return rc;
}

/* Puts what the link at HERE names, seen from where it stands, into HERE. Returns 0, or -EINVAL for what is no link. */
static int follow_link(char here[PATH_MAX])
{
	char target[PATH_MAX];
	ssize_t n = readlink(here, target, sizeof(target) - 1);
	size_t folder = 0;

	if (n < 0)
		return -errno;
	target[n] = '\0';
	if (target[0] != '/')
		folder = (size_t)(strrchr(here, '/') - here) + 1;
	if (folder + (size_t)n >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(here + folder, target, (size_t)n + 1);
	return 0;
}

/* Checks PATH, the file it links to, and so on: each link of the chain could be made to lead elsewhere. */
static int check_chain(const char *path, const struct config_user *user, char *part)
{
	char here[PATH_MAX];
	int rc = 0;

	memcpy(here, path, strlen(path) + 1);
	for (int i = 0; i < LINKS_MAX && rc == 0; i++) {
		rc = check_path(here, user, part);
		if (rc == 0)
			rc = follow_link(here);
		if (rc == -EINVAL)
			return 0;
	}
	return rc == 0 ? -ELOOP : rc;
}

int hook_file_check(const char *path, const struct config_user *user, char *why, size_t size)
{
	char real[PATH_MAX], part[PATH_MAX] = "";
	int rc = 0;

	if (path[0] != '/' || strlen(path) >= sizeof(part))
		rc = -EINVAL;
	else if (!realpath(path, real))
		rc = -errno;
	if (rc < 0) {
		snprintf(why, size, "cannot run %s: %s", path, strerrordesc_np(-rc));
		return rc;
	}
	if (geteuid() != 0)
		return 0;
	rc = check_chain(path, user, part);
	if (rc == 0 && strcmp(real, path) != 0)
		rc = check_path(real, user, part);
	if (rc == -EPERM)
		snprintf(why, size, "%s: others can change %s; it is not run as root", path, part);
	else if (rc < 0)
		snprintf(why, size, "cannot look at %s: %s", part, strerrordesc_np(-rc));
	return rc;
}
