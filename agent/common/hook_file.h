/* Whether a hook's file may be run with the agent's rights. */
#ifndef TENURE_COMMON_HOOK_FILE_H
#define TENURE_COMMON_HOOK_FILE_H

#include <stddef.h>

#include "common/config.h"

/*
 * Looks at PATH, absolute, at the file behind it and at every directory above either. Asked when the configuration
 * is checked, and again by the hook's own process before each run: it only looks at files and is bounded, but a
 * file server may hold it up. Returns 0; -EPERM when the agent runs as root and somebody other than root and USER
 * (NULL or without a name: the agent itself) could put another file there; or negative errno when there is no such
 * file. WHY then says what is wrong.
 */
int hook_file_check(const char *path, const struct config_user *user, char *why, size_t size);

#endif
