/*
 * The token gate: a file that remembers the highest fencing token it has admitted and admits no lower one. What
 * protects data from a leader of the past: whoever writes to a shared resource passes the gate first.
 *
 * The file has two slots, each in a block of its own with a number, a token and a checksum; a new token goes into the slot
 * that is not the newest, and is on disk before it is admitted. A torn write spoils the slot being written alone,
 * so the last token admitted survives a power failure at any point. The space is allocated when the file is
 * made: a full disk does not matter later. Calls of several processes are ordered by a lock on the file (flock).
 */
#ifndef TENURE_GATE_H
#define TENURE_GATE_H

#include <stdint.h>

#include "tenure/export.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An open gate, locked against every other process until it is closed. */
struct tenure_gate {
	int fd;          /* the file; holds the lock as long as any copy of it is open, in a child too */
	int64_t highest; /* token admitted last; 0: none yet */
	uint64_t number; /* of the newest slot; for the functions below */
	unsigned slot;   /* the newest, likewise */
};

/*
 * Opens the gate in the file PATH, made if there is none (mode 0600 less the umask), and waits at most WAIT_MS for its lock (negative:
 * for ever; 0: not at all). Returns 0; -EAGAIN when the lock was not to be had in time; -EBADMSG when the file is
 * not a gate or both its slots are damaged, in which case nothing is admitted; or another negative errno.
 * *GATE is set only on success. The descriptor is close-on-exec.
 */
TENURE_API int tenure_gate_open(const char *path, int wait_ms, struct tenure_gate *gate);

/*
 * Admits TOKEN (above 0) if it is no lower than the highest so far; on return with 0 it is on disk. Returns -EPERM when it is
 * lower, or negative errno when it could not be made durable: then it is not admitted, and the former token stands
 * or, at worst, this one.
 */
TENURE_API int tenure_gate_admit(struct tenure_gate *gate, int64_t token);

/* An operator's: any token is admitted again. Returns 0 when that is on disk, or negative errno. */
TENURE_API int tenure_gate_forget(struct tenure_gate *gate);

/* Lets go of the lock and the file. */
TENURE_API void tenure_gate_close(struct tenure_gate *gate);

/*
 * The highest token of the gate in PATH, without waiting for its lock or changing anything; 0 when there is no such
 * file. Returns 0, -EBADMSG as above, or another negative errno.
 */
TENURE_API int tenure_gate_read(const char *path, int64_t *highest);

#ifdef __cplusplus
}
#endif

#endif
