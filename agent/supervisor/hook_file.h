/* Whether a hook's file may be run with the agent's rights. */
#ifndef TENURE_SUPERVISOR_HOOK_FILE_H
#define TENURE_SUPERVISOR_HOOK_FILE_H

#include <stddef.h>

#include "common/config.h"

/*
 * Looks at PATH, at the file behind it and at every directory above either, for each run anew: the check of
 * the configuration may be long ago. Returns 0; -EPERM when the agent runs as root and somebody other than
 * root and USER could put another file there; or negative errno when there is no such file. WHY then says
 * what is wrong.
 */
int hook_file_check(const char *path, const struct config_user *user, char *why, size_t size);

#endif
