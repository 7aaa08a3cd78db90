/* The supervisor: one thread that owns the clock, the hooks and the roles, and looks after the elector. */
#ifndef TENURE_SUPERVISOR_SUPERVISOR_H
#define TENURE_SUPERVISOR_SUPERVISOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config.h"
#include "core/session.h"
#include "supervisor/child.h"
#include "supervisor/handover.h"
#include "supervisor/loop.h"
#include "supervisor/mirror.h"
#include "supervisor/reload.h"
#include "supervisor/restart.h"
#include "supervisor/service_manager.h"
#include "supervisor/state_dir.h"
#include "supervisor/takeover.h"
#include "supervisor/unit.h"
#include "supervisor/watchdog.h"

/* How the program was called. */
struct supervisor_options {
	const char *adopt; /* the election whose service already runs as in office; NULL: none */
	bool demote_stale; /* only put out of office what a dead agent has left there */
	char **arguments, **environment; /* to execute it anew */
};

struct supervisor {
	const struct supervisor_options *options;
	struct loop loop;
	struct watch signals, timer;
	int64_t armed_ns; /* what the timer is set to; CLOCK_NEVER: nothing */
	struct unit_host host;
	struct locked_dir state_dir, data_dir;
	int control_fd; /* -1: no control socket */
	int http_fd;    /* -1: none, or not to be had yet */
	int orphan_fd;  /* pidfd of an earlier agent's elector, let live until every service is known to be out; -1 */
	int64_t orphan_end_ns; /* when it is killed, if it has not ended by itself; CLOCK_NEVER: not told to yet */
	struct config *config;
	struct unit **units; /* as in the configuration */
	size_t unit_count;
	struct child child;
	struct session_credentials session; /* id 0: none */
	int64_t lease_start_ns; /* of that session, as proven so far; 0: nothing */
	int64_t left_lease_ns;	/* the same as an earlier supervisor had left it */
	uint32_t doubted; /* generation of an elector whose lease was not believed: said once */
	uint64_t agent;	  /* first half of every guid */
	int64_t started_ms;
	struct service_manager manager;
	struct watchdog watchdog; /* the device */
	struct reload reload;
	struct restart restart;
	struct mirror mirror;
	struct takeover takeover; /* at the start alone */
	struct handover handover;
	int64_t watchdog_at_ns, extend_at_ns; /* when the service manager hears of us again */
	bool ready;	       /* READY=1 was said */
	unsigned stop_signals; /* one: at leisure; more: by the schedule */
	bool exiting;	       /* on_panic = exit: the others leave office, and nothing is waited for in panic */
	bool unreaped;	       /* children may wait to be reaped */
	bool finishing;	       /* every role has stopped; the elector is leaving */
	int64_t finish_by_ns;
	bool finished;
	bool failed; /* --demote-stale has */
};

/* Runs until a signal ends it. Takes CONFIG over. Returns the exit status. */
int supervisor_run(struct config *config, const struct supervisor_options *options);

/* The session has been ended: nothing is left to take up or to lean on. */
void supervisor_forget_session(struct supervisor *supervisor);

/* Starts an elector, with the sockets that it is to listen on. */
void supervisor_start_elector(struct supervisor *supervisor, int64_t now_ns);

/* The unit of that name, or NULL. */
struct unit *supervisor_find(const struct supervisor *supervisor, const char *name);

#endif
