/* What the elector, of which the network may make anything, is kept from. */
#ifndef TENURE_ELECTOR_CONFINE_H
#define TENURE_ELECTOR_CONFINE_H

/*
 * For good: no core file, which would hold the session's password; no more descriptors than it can have a use for;
 * and no process of the same user may look into it. Returns 0 or negative errno.
 */
int confine(void);

#endif
