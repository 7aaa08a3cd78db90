/* Users and groups of the configuration, looked up in the system's database. */
#include "common/config_internal.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTRY_MAX = 1 << 20, GROUPS_MAX = 65536 };

static int copy_user(const struct passwd *pw, struct config_user *user)
{
	int room = 32, count;
	gid_t *groups = NULL;
	char *home = strdup(pw->pw_dir), *shell = strdup(pw->pw_shell);

	do {
		gid_t *grown = realloc(groups, (size_t)room * sizeof(*groups));
		if (grown == NULL)
			goto no_memory;
		groups = grown;
		count = room;
		room *= 2;
	} while (getgrouplist(pw->pw_name, pw->pw_gid, groups, &count) < 0 && room <= GROUPS_MAX);
	if (home == NULL || shell == NULL)
		goto no_memory;
	user->uid = pw->pw_uid;
	user->gid = pw->pw_gid;
	user->home = home;
	user->shell = shell;
	user->groups = groups;
	user->group_count = (size_t)count < (size_t)room / 2 ? (size_t)count : (size_t)room / 2;
	return 0;
no_memory:
	free(home);
	free(shell);
	free(groups);
	return -ENOMEM;
}

/* Some name services say with an error what others say with silence (see getpwnam(3)). */
static int not_found(int rc)
{
	return rc == 0 || rc == ENOENT || rc == ESRCH || rc == EBADF || rc == EPERM ? -ENOENT : -rc;
}

int config_user_lookup(const char *name, struct config_user *user)
{
	struct passwd entry, *found = NULL;
	char *buf = NULL;
	int rc = ERANGE;

	for (size_t size = 1024; rc == ERANGE && size <= ENTRY_MAX; size *= 4) {
		char *grown = realloc(buf, size);
		if (grown == NULL) {
			free(buf);
			return -ENOMEM;
		}
		buf = grown;
		rc = getpwnam_r(name, &entry, buf, size, &found);
	}
	rc = found != NULL ? copy_user(found, user) : not_found(rc);
	free(buf);
	return rc;
}

int config_group_lookup(const char *name, gid_t *gid)
{
	struct group entry, *found = NULL;
	char *buf = NULL;
	int rc = ERANGE;

	for (size_t size = 1024; rc == ERANGE && size <= ENTRY_MAX; size *= 4) {
		char *grown = realloc(buf, size);
		if (grown == NULL) {
			free(buf);
			return -ENOMEM;
		}
		buf = grown;
		rc = getgrnam_r(name, &entry, buf, size, &found);
	}
	if (found != NULL)
		*gid = found->gr_gid;
	free(buf);
	return found != NULL ? 0 : not_found(rc);
}

/* Everything of USER but its name. */
static void forget(struct config_user *user)
{
	free(user->home);
	free(user->shell);
	free(user->groups);
	*user = (struct config_user){.name = user->name};
}

static const char *lookup_problem(int rc)
{
	return rc == -ENOENT ? "no such user" : strerror(-rc);
}

void config_check_elector_user(struct config_parse *p)
{
	static const char *const defaults[] = {"tenure", "nobody"};
	struct config *c = p->config;
	struct config_user user = {0};
	bool given = c->elector_user[0] != '\0';
	int rc = -ENOENT;

	c->elector_uid = (uid_t)-1;
	c->elector_gid = (gid_t)-1;
	if (!p->options->check_files)
		return;
	if (given)
		rc = config_user_lookup(c->elector_user, &user);
	for (size_t i = 0; !given && geteuid() == 0 && rc == -ENOENT && i < 2; i++) {
		rc = config_user_lookup(defaults[i], &user);
		if (rc == 0) {
			free(c->elector_user);
			c->elector_user = strdup(defaults[i]);
			p->no_memory = p->no_memory || c->elector_user == NULL;
		}
	}
	if (rc < 0 && given)
		config_complain(p, CONFIG_TOP, "elector_user", "\"%s\": %s", c->elector_user,
				lookup_problem(rc));
	else if (rc < 0 && geteuid() == 0)
		config_complain(p, CONFIG_TOP, "elector_user",
				"the users \"tenure\" and \"nobody\" do not do as a default (%s); set one",
				lookup_problem(rc));
	else if (given && geteuid() != 0 && user.uid != geteuid())
		config_complain(p, CONFIG_TOP, "elector_user",
				"\"%s\": only an agent started as root can change its user", c->elector_user);
	/* Who is not root stays who they are. */
	if (geteuid() != 0 && given)
		c->elector_user[0] = '\0';
	if (geteuid() == 0 && rc == 0) {
		c->elector_uid = user.uid;
		c->elector_gid = user.gid;
	}
	forget(&user);
}

void config_check_hook_user(struct config_parse *p, struct config_election *e)
{
	struct config_user *user = &e->user;

	if (user->name[0] == '\0') {
		free(user->name);
		user->name = NULL;
	}
	user->uid = (uid_t)-1;
	user->gid = (gid_t)-1;
	if (user->name == NULL || !p->options->check_files)
		return;
	int rc = config_user_lookup(user->name, user);
	if (rc < 0)
		config_complain(p, CONFIG_ELECTION, "user", "\"%s\": %s", user->name, lookup_problem(rc));
	else if (geteuid() != 0 && user->uid != geteuid())
		config_complain(p, CONFIG_ELECTION, "user",
				"\"%s\": only an agent started as root can change its user", user->name);
}

void config_check_groups(struct config_parse *p)
{
	struct config *c = p->config;

	c->control.group = (gid_t)-1;
	c->control.admin_group = (gid_t)-1;
	if (c->control.group_name[0] != '\0') {
		int rc = config_group_lookup(c->control.group_name, &c->control.group);
		c->control.has_group = rc == 0;
		/* The default group comes with a package; without it, the socket is for root and the agent's
		 * user. */
		if (rc < 0 && (rc != -ENOENT || config_is_set(p, CONFIG_CONTROL, "group")))
			config_complain(p, CONFIG_CONTROL, "group", "\"%s\": %s", c->control.group_name,
					rc == -ENOENT ? "no such group" : strerror(-rc));
	}
	int rc = config_group_lookup(c->control.admin_group_name, &c->control.admin_group);
	if (rc < 0)
		config_complain(p, CONFIG_CONTROL, "admin_group", "\"%s\": %s", c->control.admin_group_name,
				rc == -ENOENT ? "no such group" : strerror(-rc));
}
