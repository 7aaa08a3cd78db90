/*
 * What only the system can tell of a configuration: users, groups, the digest of the auth file, the host's name.
 * Written by a process that may wait for it, read by one that must not, or that is to find the same.
 */
#ifndef TENURE_AGENT_CONFIG_FOUND_H
#define TENURE_AGENT_CONFIG_FOUND_H

#include <stdio.h>

#include "common/config.h"

/* CONFIG was parsed with check_files. Returns 0, or -EIO when STREAM does not take it. */
int config_found_write(const struct config *config, FILE *stream);

/*
 * CONFIG is of the same text, parsed with found_elsewhere: it becomes the same as the one that was written. Returns
 * 0, -ENOMEM, or -EBADMSG when STREAM holds something else; CONFIG can then only be freed.
 */
int config_found_read(struct config *config, FILE *stream);

#endif
