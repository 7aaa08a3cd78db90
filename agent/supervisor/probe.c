/* A hook that is run again and again to learn something. See probe.h. */
#include "supervisor/probe.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "supervisor/clock.h"

/* The log hears of a change, but not of each when there are many. */
static const int64_t quiet_ns = INT64_C(10000000000);
static const int64_t reap_wait_ns = INT64_C(1000000000); /* how long a killed run may take to go away */

/* ---- what it has found ---- */

static void fail(struct probe *probe, const char *why)
{
	int64_t now_ns = clock_now_ns();
	char quoted[PROCESS_WHY_SIZE];

	if (!probe->failing && (probe->told_ns == 0 || now_ns - probe->told_ns >= quiet_ns)) {
		log_warning(probe->process.election, "hook fails", "hook=%s error=%s", probe->process.hook,
			    log_quote(why, quoted, sizeof(quoted)));
		probe->told_ns = now_ns;
		probe->told = true;
	}
	probe->failing = true;
}

static void succeed(struct probe *probe)
{
	if (probe->failing && probe->told)
		log_info(probe->process.election, "hook succeeds again", "hook=%s", probe->process.hook);
	probe->failing = probe->told = false;
}

/* WHY: what is wrong with the run, NULL: nothing. */
static void give_answer(struct probe *probe, const char *why)
{
	probe->answered = true;
	if (why) {
		fail(probe, why);
		probe->answer(probe, false);
		return;
	}
	why = probe->answer(probe, true);
	if (why)
		fail(probe, why);
	else
		succeed(probe);
}

static void on_done(struct process *process, const struct process_result *result)
{
	struct probe *probe = watch_owner(process, struct probe, process);

	probe->kill_ns = CLOCK_NEVER;
	if (!probe->answered)
		give_answer(probe, result->exit_status == 0 ? NULL : result->why);
}

static void on_line(struct process *process, const char *line)
{
	struct probe *probe = watch_owner(process, struct probe, process);
	size_t n = strlen(line);

	if (n + 1 > PROBE_TEXT_MAX - probe->length) {
		probe->overflowed = true;
		return;
	}
	memcpy(probe->text + probe->length, line, n);
	probe->length += n;
	probe->text[probe->length++] = '\n';
	probe->text[probe->length] = '\0';
}

bool probe_number(const struct probe *probe, int64_t *out)
{
	const char *text = probe->text;
	long long number;
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	/* strtoll would skip more white space behind a sign that is none. */
	if (probe->overflowed || (*text != '-' && *text != '+' && !isdigit((unsigned char)*text)))
		return false;
	errno = 0;
	number = strtoll(text, &end, 10);
	if (errno != 0 || end == text)
		return false;
	while (isspace((unsigned char)*end))
		end++;
	if (*end != '\0')
		return false;
	*out = number;
	return true;
}

/* ---- its runs ---- */

void probe_init(struct probe *probe, struct process_table *table, const char *election, const char *name, bool kept,
		const char *(*answer)(struct probe *probe, bool ok))
{
	memset(probe, 0, sizeof(*probe));
	process_init(&probe->process, table, election, name, on_done);
	probe->process.heard = kept ? on_line : NULL;
	probe->kill_ns = CLOCK_NEVER;
	probe->answer = answer;
}

void probe_configure(struct probe *probe, const struct config_hook *hook, int64_t interval_ns,
		     const struct config_user *user)
{
	probe->hook = hook;
	probe->interval_ns = interval_ns;
	probe->user = user;
}

void probe_spoil(struct probe *probe)
{
	probe->answered = true;
}

/* One that outlives its KILL goes on failing, so that its service is not taken to be well for ever. */
static bool is_stuck(const struct probe *probe)
{
	return process_running(&probe->process) && probe->killed;
}

int64_t probe_deadline(const struct probe *probe, bool allowed)
{
	if (process_running(&probe->process) && !is_stuck(probe))
		return probe->kill_ns;
	return allowed && probe->hook->command.words ? probe->next_ns : CLOCK_NEVER;
}

bool probe_due(const struct probe *probe, bool allowed, int64_t now_ns)
{
	return probe_deadline(probe, allowed) <= now_ns && (!process_running(&probe->process) || is_stuck(probe));
}

void probe_start(struct probe *probe, char **environment, int64_t now_ns)
{
	char why[PROCESS_WHY_SIZE] = "no memory";
	int rc = -ENOMEM;

	probe->next_ns = now_ns + probe->interval_ns;
	if (is_stuck(probe)) {
		free(environment);
		give_answer(probe, "the last run is still there");
		return;
	}
	if (environment)
		rc = process_start(&probe->process, probe->hook->command.words, environment, probe->user, why);
	free(environment);
	/* What an earlier run's children have said till now is no part of this one. */
	probe->length = 0;
	probe->text[0] = '\0';
	probe->overflowed = probe->answered = probe->killed = false;
	if (rc < 0)
		give_answer(probe, why);
	else if (probe->hook->timeout_ns != 0)
		probe->kill_ns = now_ns + probe->hook->timeout_ns;
}

void probe_timer(struct probe *probe, int64_t now_ns)
{
	if (now_ns < probe->kill_ns)
		return;
	probe->kill_ns = CLOCK_NEVER;
	probe->killed = true;
	if (probe->next_ns < now_ns + reap_wait_ns)
		probe->next_ns = now_ns + reap_wait_ns;
	process_signal(&probe->process, SIGKILL);
	if (!probe->answered)
		give_answer(probe, "it takes too long: killed");
}

void probe_close(struct probe *probe)
{
	process_close(&probe->process);
}
