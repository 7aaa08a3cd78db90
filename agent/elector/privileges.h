/* The elector talks to the network: it does so as a user who may do nothing else. */
#ifndef TENURE_ELECTOR_PRIVILEGES_H
#define TENURE_ELECTOR_PRIVILEGES_H

/*
 * Becomes USER for good, "" being "tenure", or "nobody" where there is no such user. Whoever is not root
 * stays who he is. Nothing run from here on can gain privileges. Returns 0 or negative errno.
 */
int privileges_drop(const char *user);

#endif
