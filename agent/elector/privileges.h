/* The elector talks to the network: it does so as a user who may do nothing else. */
#ifndef TENURE_ELECTOR_PRIVILEGES_H
#define TENURE_ELECTOR_PRIVILEGES_H

#include <sys/types.h>

/*
 * Becomes the user UID of the group GID alone for good; whoever is not root stays who he is. Gives up every
 * capability, and nothing run from here on can gain privileges. Asks no name service. Returns 0 or negative errno.
 */
int privileges_drop(uid_t uid, gid_t gid);

#endif
