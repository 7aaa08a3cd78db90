/* What was found out for a configuration, handed from one process to another. */
#include "common/config_found.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 1 << 16, GROUPS_MAX = 65536 };

static void put_text(FILE *stream, const char *text)
{
	fprintf(stream, "%zu:%s\n", strlen(text), text);
}

static void put_user(FILE *stream, const struct config_user *user)
{
	fprintf(stream, "%u %u\n", (unsigned)user->uid, (unsigned)user->gid);
	put_text(stream, user->home);
	put_text(stream, user->shell);
	fprintf(stream, "%zu", user->group_count);
	for (size_t i = 0; i < user->group_count; i++)
		fprintf(stream, " %u", (unsigned)user->groups[i]);
	fputc('\n', stream);
}

int config_found_write(const struct config *c, FILE *stream)
{
	put_text(stream, c->member);
	put_text(stream, c->elector_user);
	fprintf(stream, "%u %u\n", (unsigned)c->elector_uid, (unsigned)c->elector_gid);
	fprintf(stream, "%" PRIu64 " %d %u %u\n", c->zookeeper.auth_digest, c->control.has_group,
		(unsigned)c->control.group, (unsigned)c->control.admin_group);
	for (size_t i = 0; i < c->election_count; i++) {
		if (c->elections[i].user.name)
			put_user(stream, &c->elections[i].user);
	}
	return fflush(stream) == 0 && !ferror(stream) ? 0 : -EIO;
}

static int get_text(FILE *stream, char **text)
{
	size_t n;
	char *taken;

	if (fscanf(stream, "%zu", &n) != 1 || fgetc(stream) != ':' || n > TEXT_MAX)
		return -EBADMSG;
	taken = calloc(n + 1, 1);
	if (!taken)
		return -ENOMEM;
	if (fread(taken, 1, n, stream) != n || fgetc(stream) != '\n') {
		free(taken);
		return -EBADMSG;
	}
	free(*text);
	*text = taken;
	return 0;
}

static int get_groups(FILE *stream, struct config_user *user)
{
	size_t count;

	if (fscanf(stream, "%zu", &count) != 1 || count > GROUPS_MAX)
		return -EBADMSG;
	user->groups = calloc(count + 1, sizeof(*user->groups));
	if (!user->groups)
		return -ENOMEM;
	for (; user->group_count < count; user->group_count++) {
		unsigned gid;

		if (fscanf(stream, "%u", &gid) != 1)
			return -EBADMSG;
		user->groups[user->group_count] = (gid_t)gid;
	}
	return 0;
}

static int get_user(FILE *stream, struct config_user *user)
{
	unsigned uid, gid;
	int rc;

	if (fscanf(stream, "%u %u\n", &uid, &gid) != 2)
		return -EBADMSG;
	user->uid = (uid_t)uid;
	user->gid = (gid_t)gid;
	rc = get_text(stream, &user->home);
	if (rc == 0)
		rc = get_text(stream, &user->shell);
	return rc == 0 ? get_groups(stream, user) : rc;
}

int config_found_read(struct config *c, FILE *stream)
{
	unsigned uid, gid, group, admin_group;
	int has_group, rc = get_text(stream, &c->member);

	if (rc == 0)
		rc = get_text(stream, &c->elector_user);
	if (rc < 0)
		return rc;
	if (fscanf(stream, "%u %u %" SCNu64 " %d %u %u", &uid, &gid, &c->zookeeper.auth_digest, &has_group, &group,
		   &admin_group) != 6)
		return -EBADMSG;
	c->elector_uid = (uid_t)uid;
	c->elector_gid = (gid_t)gid;
	c->control.has_group = has_group != 0;
	c->control.group = (gid_t)group;
	c->control.admin_group = (gid_t)admin_group;
	for (size_t i = 0; i < c->election_count && rc == 0; i++) {
		if (c->elections[i].user.name)
			rc = get_user(stream, &c->elections[i].user);
	}
	return rc;
}
