/* Which election on which ensemble a command that reads ZooKeeper is about. */
#ifndef TENURE_CTL_TARGET_H
#define TENURE_CTL_TARGET_H

#include "common/config.h"
#include "ctl/options.h"
#include "ctl/reader.h"

enum {
	TARGET_PATH_SIZE = 700
}; /* leaves room in a READER_PATH_SIZE for a folder and a name of 255 below it */

struct target {
	struct config *config; /* the servers are in it */
	const char *auth_file;
	char path[TARGET_PATH_SIZE]; /* with the chroot */
};

/*
 * From -z, or else from the configuration. An election is named by its title, by an absolute path, or, where
 * the configuration has one only, not at all. Returns EXIT_YES, or an exit status after having said what is
 * wrong.
 */
int target_find(const struct ctl_options *options, struct target *out);

void target_clear(struct target *target);

#endif
