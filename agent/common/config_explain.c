/* The configuration in words, and what two of them have in common. */
#include "common/config_internal.h"

#include <inttypes.h>
#include <string.h>

const char *config_seconds(int64_t ns, char *buf, size_t size)
{
	char text[48];
	uint64_t ms = (uint64_t)(ns < 0 ? -ns : ns) / (uint64_t)TENURE_NS_PER_MS;

	snprintf(text, sizeof(text), "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "", ms / 1000,
		 (unsigned)(ms % 1000));
	/* 8.100 is 8.1, and 20.000 is 20. */
	size_t length = strlen(text);
	while (text[length - 1] == '0')
		length--;
	text[length - (text[length - 1] == '.')] = '\0';
	snprintf(buf, size, "%s", text);
	return buf;
}

static void explain_point(FILE *stream, int64_t ns, const char *what, int64_t limit_ns)
{
	char limit[32];

	fprintf(stream, "  %9.3f s  %s", (double)ns / 1e9, what);
	if (limit_ns > 0)
		fprintf(stream, ", at most %s s", config_seconds(limit_ns, limit, sizeof(limit)));
	fputc('\n', stream);
}

static void explain_schedule(const struct config *c, const struct config_election *e, FILE *stream)
{
	const struct tenure_budget *b = &e->budget;
	int64_t timeout = c->zookeeper.session_timeout_ns;
	struct tenure_schedule s = tenure_schedule_for(b, timeout, timeout);
	char hold[32], whole[32];

	fprintf(stream,
		"  rides out %s s without ZooKeeper; after a crash a standby takes over within %s s and two "
		"ticks\n",
		config_seconds(tenure_budget_hold(b, timeout), hold, sizeof(hold)),
		config_seconds(timeout, whole, sizeof(whole)));
	fprintf(stream, "  a lease that is not renewed, from its start:\n");
	if (e->service.command.words != NULL)
		explain_point(stream, s.demote_ns, "the service is asked to stop", b->stop_ns);
	if (e->lose.command.words != NULL)
		explain_point(stream, s.lose_ns, "the lose hook runs", b->lose_ns);
	if (e->fence.command.words != NULL)
		explain_point(stream, s.kill_ns,
			      "SIGKILL for what is left; if lose has failed, the fence hook runs",
			      b->fence_ns);
	else if (e->lose.command.words != NULL || e->service.command.words != NULL)
		explain_point(stream, s.kill_ns, "SIGKILL for what is left", 0);
	explain_point(stream, s.out_ns, "out of office", 0);
	explain_point(stream, s.deadline_ns, "the session may expire: somebody else may lead", 0);
}

/* What comes between first place and the gain hook when the last leader has not left cleanly. */
static void explain_takeover(const struct config_election *e, FILE *stream)
{
	char delay[32], limit[32];

	if (e->takeover_delay_ns == 0 && e->fence_peer.command.words == NULL)
		return;
	fprintf(stream, "  after an unclean end:");
	if (e->takeover_delay_ns > 0)
		fprintf(stream, " waits %s s", config_seconds(e->takeover_delay_ns, delay, sizeof(delay)));
	if (e->fence_peer.command.words != NULL)
		fprintf(stream, "%s the fence_peer hook, at most %s s, before gain",
			e->takeover_delay_ns > 0 ? ", then" : "",
			config_seconds(e->fence_peer.timeout_ns, limit, sizeof(limit)));
	fputc('\n', stream);
}

static void explain_panic(const struct config_election *e, FILE *stream)
{
	if (e->on_panic != CONFIG_PANIC_LOG)
		fprintf(stream, "  if the service cannot be put out of office, %s when the lease is over\n",
			e->on_panic == CONFIG_PANIC_EXIT ? "the agent exits" : "the host is rebooted");
}

static void explain_service(const struct config_election *e, FILE *stream)
{
	if (e->service.command.words == NULL)
		return;
	fprintf(stream, "  %s runs while in office; ", e->service.command.words[0]);
	if (e->service.on_exit == CONFIG_EXIT_LEAVE || e->service.restart_limit == 0)
		fprintf(stream, "if it ends by itself, office is left\n");
	else
		fprintf(stream, "if it ends by itself, it is started again up to %" PRId64 " times in a row\n",
			e->service.restart_limit);
}

static void explain_probes(const struct config_election *e, FILE *stream)
{
	char interval[32], timeout[32];

	if (e->check.hook.command.words != NULL)
		fprintf(stream,
			"  a check every %s s, at most %s s long: %" PRId64 " passes in a row to join, %" PRId64
			" failures to leave\n",
			config_seconds(e->check.interval_ns, interval, sizeof(interval)),
			config_seconds(e->check.hook.timeout_ns, timeout, sizeof(timeout)), e->check.rise,
			e->check.fall);
	if (e->score.slack >= 0)
		fprintf(stream,
			"  after an unclean end waits %s s for scores; one higher by more than %" PRId64 " goes first\n",
			config_seconds(config_score_settle(e), interval, sizeof(interval)), e->score.slack);
}

static void explain_election(const struct config *c, const struct config_election *e, FILE *stream)
{
	char text[32];

	fprintf(stream, "election \"%s\" at %s%s, member \"%s\"", e->name, c->zookeeper.chroot, e->path,
		c->member);
	if (e->user.name != NULL)
		fprintf(stream, ", hooks as %s", e->user.name);
	fputc('\n', stream);
	if (!e->candidate) {
		fprintf(stream, "  follows, never leads\n");
		return;
	}
	explain_schedule(c, e, stream);
	if (e->lose.command.words != NULL)
		fprintf(stream, "  a planned handoff gives the lose hook %s s while the lease is renewed\n",
			config_seconds(e->handoff_timeout_ns, text, sizeof(text)));
	explain_service(e, stream);
	explain_probes(e, stream);
	explain_takeover(e, stream);
	explain_panic(e, stream);
	if (e->lose.command.words == NULL && e->service.command.words == NULL)
		fprintf(stream, "  no gain and lose hooks: leadership is only announced\n");
}

/* For the agent as a whole. */
static void explain_guards(const struct config *c, FILE *stream)
{
	if (c->watchdog_device[0] != '\0')
		fprintf(stream,
			"watchdog %s: resets the host when it is not fed for %" PRId64
			" s; not fed while a lease in office has less left\n",
			c->watchdog_device, config_lease_left(c) / (1000 * TENURE_NS_PER_MS));
	if (c->data_dir[0] != '\0')
		fprintf(stream, "the highest tokens seen are kept in %s: only higher ones may lead\n", c->data_dir);
	else
		fprintf(stream, "no tokens are kept: an ensemble that was wiped or restored would be obeyed\n");
}

void config_explain(const struct config *c, FILE *stream)
{
	struct tenure_budget b = {.heartbeat_ns = c->zookeeper.heartbeat_ns};
	char timeout[32], heartbeat[32], tick[32];

	fprintf(stream, "ZooKeeper at %s: lease %s s, a heartbeat every %s s, no server's tick above %s s\n",
		c->zookeeper.servers,
		config_seconds(c->zookeeper.session_timeout_ns, timeout, sizeof(timeout)),
		config_seconds(tenure_budget_heartbeat(&b, c->zookeeper.session_timeout_ns), heartbeat,
			       sizeof(heartbeat)),
		config_seconds(c->zookeeper.tick_time_ns, tick, sizeof(tick)));
	explain_guards(c, stream);
	for (size_t i = 0; i < c->election_count; i++) {
		fputc('\n', stream);
		explain_election(c, &c->elections[i], stream);
	}
	if (c->election_count == 0)
		fprintf(stream, "\nno election is configured\n");
}

bool config_same_session(const struct config *a, const struct config *b)
{
	return strcmp(a->zookeeper.chroot, b->zookeeper.chroot) == 0 && strcmp(a->member, b->member) == 0 &&
	       a->zookeeper.session_timeout_ns == b->zookeeper.session_timeout_ns &&
	       a->zookeeper.acl == b->zookeeper.acl &&
	       strcmp(a->zookeeper.auth_file, b->zookeeper.auth_file) == 0 &&
	       a->zookeeper.auth_digest == b->zookeeper.auth_digest;
}

static bool same_name(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool keeps_hook(const struct config_hook *a, const struct config_hook *b)
{
	return a->command.words == NULL || b->command.words != NULL;
}

/* Whether what runs under A may go on running under B. */
static bool same_service(const struct config_command *a, const struct config_command *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (strcmp(a->words[i], b->words[i]) != 0)
			return false;
	}
	return true;
}

int64_t config_score_settle(const struct config_election *e)
{
	return e->score.settle_ns != 0 ? e->score.settle_ns : 2 * e->score.interval_ns + e->score.hook.timeout_ns;
}

bool config_same_election(const struct config_election *a, const struct config_election *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->path, b->path) == 0 &&
	       keeps_hook(&a->lose, &b->lose) && keeps_hook(&a->fence, &b->fence) &&
	       same_service(&a->service.command, &b->service.command) &&
	       a->candidate == b->candidate && strcmp(a->address, b->address) == 0 &&
	       same_name(a->user.name, b->user.name) && a->user.uid == b->user.uid &&
	       a->user.gid == b->user.gid;
}
