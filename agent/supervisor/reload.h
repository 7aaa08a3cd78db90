/*
 * SIGHUP: the file is read and checked by a child; then the elections that have changed leave office, the
 * elector is replaced, and what is new begins.
 *
 *   IDLE ──SIGHUP──► CHECKING ──good──► LEAVING ──all out──► REPLACING ──elector gone──► IDLE
 *                       └──bad──► IDLE: the old configuration stays
 */
#ifndef TENURE_SUPERVISOR_RELOAD_H
#define TENURE_SUPERVISOR_RELOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/config.h"
#include "supervisor/output.h"

struct supervisor;

enum reload_phase { RELOAD_IDLE, RELOAD_CHECKING, RELOAD_LEAVING, RELOAD_REPLACING };

struct reload {
	enum reload_phase phase;
	bool again;	/* asked for once more while under way */
	bool cancelled; /* the agent stops: nothing new begins */
	pid_t pid;	/* of the child that checks */
	int text_fd;	/* memory in which it leaves the file's text */
	int found_fd;	/* and what it has looked up */
	int64_t kill_at_ns;
	int64_t grace_ns; /* until then notify hooks of elections that have left may end; 0: not yet running
			   */
	struct output errors;
	struct config *next;
	int control_fd; /* the new control socket, if it is at another place */
	bool keep_session;
	bool wait_said; /* that ZooKeeper keeps us waiting has been logged */
};

void reload_init(struct reload *reload);

/* Begins, or begins again after the one under way. */
void reload_request(struct supervisor *supervisor, int64_t now_ns);

/* The child that checks has exited, and is reaped here. */
void reload_exited(struct supervisor *supervisor, int64_t now_ns);

/* Goes on as far as it can. */
void reload_advance(struct supervisor *supervisor, int64_t now_ns);

int64_t reload_deadline(const struct reload *reload);

/* The agent stops: whatever is under way comes to an end without anything new. */
void reload_cancel(struct supervisor *supervisor);

#endif
