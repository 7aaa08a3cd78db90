/* The notify hook of one election. */
#include "supervisor/notifier.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

#include "common/log.h"
#include "supervisor/clock.h"

static const int64_t grace_ns = INT64_C(2000000000); /* between TERM and KILL */

static void start(struct notifier *notifier, int64_t now_ns)
{
	char why[PROCESS_WHY_SIZE], quoted[PROCESS_WHY_SIZE];
	char **environment = notifier->environment;

	notifier->environment = NULL;
	if (process_start(&notifier->process, notifier->hook->command.words, environment, notifier->user,
			  why) < 0)
		log_warning(notifier->process.election, "notify hook not started", "error=%s",
			    log_quote(why, quoted, sizeof(quoted)));
	else if (notifier->hook->timeout_ns != 0)
		notifier->term_at_ns = now_ns + notifier->hook->timeout_ns;
	free(environment);
}

static void on_done(struct process *process, const struct process_result *result)
{
	struct notifier *notifier = watch_owner(process, struct notifier, process);
	char quoted[PROCESS_WHY_SIZE];

	notifier->term_at_ns = notifier->kill_at_ns = CLOCK_NEVER;
	if (result->exit_status != 0)
		log_warning(process->election, "notify hook failed", "ms=%lld error=%s",
			    (long long)(result->duration_ns / TENURE_NS_PER_MS),
			    log_quote(result->why, quoted, sizeof(quoted)));
	notifier_advance(notifier, clock_now_ns());
}

void notifier_init(struct notifier *notifier, struct process_table *table, const char *election)
{
	*notifier = (struct notifier){.term_at_ns = CLOCK_NEVER, .kill_at_ns = CLOCK_NEVER};
	process_init(&notifier->process, table, election, "notify", on_done);
}

void notifier_configure(struct notifier *notifier, const struct config_hook *hook,
			const struct config_user *user)
{
	notifier->hook = hook;
	notifier->user = user;
	if (!hook->command.words) {
		free(notifier->environment);
		notifier->environment = NULL;
	}
}

void notifier_tell(struct notifier *notifier, char **environment)
{
	if (!environment || !notifier->hook->command.words) {
		free(environment);
		return;
	}
	free(notifier->environment);
	notifier->environment = environment;
}

void notifier_advance(struct notifier *notifier, int64_t now_ns)
{
	if (notifier->environment && !process_running(&notifier->process))
		start(notifier, now_ns);
}

bool notifier_busy(const struct notifier *notifier)
{
	return process_running(&notifier->process);
}

int64_t notifier_deadline(const struct notifier *notifier)
{
	return clock_earlier(notifier->term_at_ns, notifier->kill_at_ns);
}

void notifier_timer(struct notifier *notifier, int64_t now_ns)
{
	if (now_ns >= notifier->term_at_ns) {
		notifier->term_at_ns = CLOCK_NEVER;
		notifier->kill_at_ns = now_ns + grace_ns;
		process_signal(&notifier->process, SIGTERM);
	}
	if (now_ns >= notifier->kill_at_ns) {
		notifier->kill_at_ns = CLOCK_NEVER;
		process_signal(&notifier->process, SIGKILL);
	}
}

void notifier_close(struct notifier *notifier)
{
	process_close(&notifier->process);
	free(notifier->environment);
	notifier->environment = NULL;
}
