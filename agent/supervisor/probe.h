/* A hook that is run again and again to learn something, one run at a time, and never waited for. */
#ifndef TENURE_SUPERVISOR_PROBE_H
#define TENURE_SUPERVISOR_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config.h"
#include "supervisor/process.h"

enum { PROBE_TEXT_MAX = 64 }; /* bytes of what it prints that are looked at */

struct probe {
	struct process process;
	const struct config_hook *hook;
	const struct config_user *user;
	int64_t interval_ns; /* from start to start */
	int64_t next_ns;     /* when the next run, or what it has to say, is due */
	int64_t kill_ns;     /* of the present run; CLOCK_NEVER */
	bool answered;	     /* the present run has been counted, or is not to be */
	bool killed;	     /* it was, because its time was over */
	bool failing;	     /* its last answer was a failure */
	bool told;	     /* and that is in the log */
	int64_t told_ns;     /* when that was written last; 0: never */
	char text[PROBE_TEXT_MAX + 1]; /* what it has printed, lines ended by '\n' */
	size_t length;
	bool overflowed;
	/*
	 * Each answer: whether the run has succeeded. Given when it ends, or once its limit is over. Returns NULL, or
	 * why it is a failure all the same.
	 */
	const char *(*answer)(struct probe *probe, bool ok);
};

/* KEPT: what it prints is TEXT; else it goes into the log. */
void probe_init(struct probe *probe, struct process_table *table, const char *election, const char *name, bool kept,
		const char *(*answer)(struct probe *probe, bool ok));
void probe_configure(struct probe *probe, const struct config_hook *hook, int64_t interval_ns,
		     const struct config_user *user);

/* Another hook begins: what the present run finds may be true no more when it says so. */
void probe_spoil(struct probe *probe);

/* When something is due. ALLOWED: whether it may be started now. */
int64_t probe_deadline(const struct probe *probe, bool allowed);

/* Whether a run is due; then probe_start(). */
bool probe_due(const struct probe *probe, bool allowed, int64_t now_ns);

/* Takes ENVIRONMENT (from environment_build) over; NULL is no memory. */
void probe_start(struct probe *probe, char **environment, int64_t now_ns);

/* Ends a run whose time is over. */
void probe_timer(struct probe *probe, int64_t now_ns);

/* The only thing that TEXT says is one integer. Returns whether it is. */
bool probe_number(const struct probe *probe, int64_t *out);

void probe_close(struct probe *probe);

#endif
