/* The notify hook of one election: one run at a time, told the newest state, never waited for. */
#ifndef TENURE_SUPERVISOR_NOTIFIER_H
#define TENURE_SUPERVISOR_NOTIFIER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "supervisor/process.h"

struct notifier {
	struct process process;
	const struct config_hook *hook;
	const struct config_user *user;
	char **environment;		/* of the newest state not told yet; NULL: all is told */
	int64_t term_at_ns, kill_at_ns; /* of the present run; CLOCK_NEVER: none */
};

void notifier_init(struct notifier *notifier, struct process_table *table, const char *election);
void notifier_configure(struct notifier *notifier, const struct config_hook *hook,
			const struct config_user *user);

/* Notes a change; takes ENVIRONMENT (from environment_build) over, which may be NULL. */
void notifier_tell(struct notifier *notifier, char **environment);

/* Tells the hook of the newest change, once it is free. To be called when all that is more urgent has been
 * done. */
void notifier_advance(struct notifier *notifier, int64_t now_ns);

bool notifier_busy(const struct notifier *notifier);
int64_t notifier_deadline(const struct notifier *notifier);
void notifier_timer(struct notifier *notifier, int64_t now_ns);
void notifier_close(struct notifier *notifier);

#endif
