/* The credentials for ZooKeeper in auth_file: "scheme:credential", one a line. */
#ifndef TENURE_ELECTOR_AUTH_H
#define TENURE_ELECTOR_AUTH_H

#include <stddef.h>

enum { AUTH_FILE_MAX = 16384 };

/* Takes one credential; returns 0, or negative errno to stop. */
typedef int auth_add(void *context, const char *scheme, const char *credential, size_t size);

/*
 * Reads FILE, a regular file that others may not read, and hands each line to ADD; empty lines and those
 * that start with '#' are passed over. Returns 0, or negative errno with the cause in WHY of WHY_SIZE bytes.
 */
int auth_read(const char *file, auth_add *add, void *context, char *why, size_t why_size);

#endif
