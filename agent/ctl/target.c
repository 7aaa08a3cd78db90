/* Which election on which ensemble a command that reads ZooKeeper is about. */
#include "ctl/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/control.h"
#include "ctl/config_file.h"
#include "ctl/output.h"

/* Whether PATH is one that ZooKeeper takes: "/a/b", no empty, "." or ".." part, no control characters. */
static bool path_valid(const char *path)
{
	if (path[0] != '/' || path[1] == '\0')
		return false;
	while (*path == '/') {
		size_t length = strcspn(++path, "/");

		if (length == 0 || (length == 1 && path[0] == '.') ||
		    (length == 2 && strncmp(path, "..", 2) == 0))
			return false;
		for (size_t i = 0; i < length; i++)
			if ((unsigned char)path[i] < 0x20 || path[i] == 0x7f)
				return false;
		path += length;
	}
	return true;
}

/* The election's path below the chroot in BUF. Returns an exit status. */
static int find_path(const struct config *config, bool titles, const char *name, char *buf, size_t size)
{
	const struct config_election *found = NULL;
	int length = 0;

	for (size_t i = 0; titles && i < config->election_count; i++)
		if (name == NULL ? config->election_count == 1 : strcmp(config->elections[i].name, name) == 0)
			found = &config->elections[i];
	if (name == NULL && found == NULL) {
		complain("which election? Name one");
		return EXIT_USAGE;
	}
	if (found != NULL)
		length = snprintf(buf, size, "%s", found->path);
	else if (name[0] == '/')
		length = snprintf(buf, size, "%s", name);
	else if (strchr(name, '/') == NULL && strlen(name) < TENURE_ELECTION_SIZE)
		length = snprintf(buf, size, "/tenure/%s", name);
	if (length > 0 && (size_t)length < size && path_valid(buf))
		return EXIT_YES;
	complain("'%s': neither an election's name nor a path in ZooKeeper",
		 found != NULL ? found->path : name);
	return EXIT_USAGE;
}

int target_find(const struct ctl_options *options, struct target *out)
{
	const char *name = options->count > 0 ? options->arguments[0] : NULL;
	char path[TARGET_PATH_SIZE];
	struct target t = {0};
	char *trouble = NULL;
	int rc, status;

	if (options->servers != NULL)
		rc = config_file_servers(options->servers, &t.config, &trouble);
	else
		rc = config_file_read(options->config, &t.config, &trouble);
	if (rc < 0) {
		config_file_complain(trouble);
		if (options->servers == NULL)
			complain("no servers are known without the configuration; name them with -z");
		status = options->servers == NULL ? EXIT_CONFIGURATION : EXIT_USAGE;
		goto out;
	}
	t.auth_file = options->servers == NULL ? t.config->zookeeper.auth_file : NULL;
	status = find_path(t.config, options->servers == NULL, name, path, sizeof(path));
	if (status != EXIT_YES)
		goto out;
	rc = snprintf(t.path, sizeof(t.path), "%s%s", t.config->zookeeper.chroot, path);
	if ((size_t)rc >= sizeof(t.path)) {
		complain("%s: the path is too long", path);
		status = EXIT_USAGE;
	}
out:
	free(trouble);
	if (status == EXIT_YES)
		*out = t;
	else
		target_clear(&t);
	return status;
}

void target_clear(struct target *target)
{
	config_free(target->config);
	target->config = NULL;
}
