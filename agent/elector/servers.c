/* Which addresses the servers have: when their names are looked up, and what is made of the answers. */
#include "elector/servers.h"

#include <errno.h>
#include <event2/event.h>

#include "common/log.h"
#include "elector/instant.h"
#include "elector/shell.h"

#define NS_PER_S INT64_C(1000000000)

enum {
	PATIENCE_S = 1,    /* for names that hang while others have resolved */
	RETRY_MAX_S = 10,
	ADRIFT_S = 2,      /* not connected for that long: perhaps the servers have moved */
	ADRIFT_PERIOD_S = 5,
};

static void log_failed(struct servers *s, const struct resolver_set *set, int64_t now_ns)
{
	char name[300], why[80];
	unsigned held;

	if (brake_pass(&s->failed, now_ns, &held))
		log_warning(NULL, "a ZooKeeper server's name cannot be resolved",
			    "server=%s error=%s failed=%zu addresses=%zu repeated=%u",
			    log_quote(set->example, name, sizeof name), log_quote(set->why, why, sizeof why),
			    set->failed, set->count, held);
}

static void end_round(struct servers *s, const struct resolver_set *set, int64_t now_ns)
{
	int64_t wait_s = RETRY_MAX_S;

	s->looking = false;
	if (set->failed == 0) {
		s->failures = 0;
		s->retry_ns = INT64_MAX;
		return;
	}
	if (s->failures < 4 && 1 << s->failures < RETRY_MAX_S)
		wait_s = 1 << s->failures;
	s->failures++;
	s->retry_ns = now_ns + wait_s * NS_PER_S;
	log_failed(s, set, now_ns);
}

/* Uses what is known, unless names are still being looked up that deserve some patience. */
static void evaluate(struct shell *shell, int64_t now_ns)
{
	struct servers *s = &shell->ensemble.servers;
	struct session_event event = {.type = SESSION_EV_ADDRESSES};
	struct resolver_set set;

	resolver_take(s->resolver, &set);
	if (s->looking && set.busy == 0)
		end_round(s, &set, now_ns);
	if (set.count == 0 || (s->looking && now_ns < s->patience_ns) || resolver_set_equal(&set, &s->set))
		return;
	s->set = set;
	ensemble_step(shell, &event);
}

static void begin_round(struct shell *shell, int64_t now_ns)
{
	struct servers *s = &shell->ensemble.servers;

	s->looking = true;
	s->begun_ns = now_ns;
	s->patience_ns = now_ns + PATIENCE_S * NS_PER_S;
	s->retry_ns = INT64_MAX;
	resolver_start(s->resolver);
	evaluate(shell, now_ns);
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
	struct shell *shell = context;

	(void)fd;
	(void)what;
	evaluate(shell, instant_now());
	shell_settle(shell);
}

int servers_init(struct shell *shell)
{
	struct servers *s = &shell->ensemble.servers;
	int rc = resolver_new(shell->config->zookeeper.list, shell->config->zookeeper.count, &s->resolver);

	if (rc < 0)
		return rc;
	s->retry_ns = INT64_MAX;
	s->event = event_new(shell->base, resolver_fd(s->resolver), EV_READ | EV_PERSIST, on_readable, shell);
	return s->event && event_add(s->event, NULL) == 0 ? 0 : -ENOMEM;
}

void servers_begin(struct shell *shell)
{
	begin_round(shell, instant_now());
}

static int64_t round_due(const struct shell *shell)
{
	const struct servers *s = &shell->ensemble.servers;
	int64_t adrift_ns;

	if (s->looking || s->begun_ns == 0 || resolver_numeric(s->resolver))
		return INT64_MAX;
	if (shell->ensemble.down_ns == 0)
		return s->retry_ns;
	adrift_ns = shell->ensemble.down_ns + ADRIFT_S * NS_PER_S;
	if (adrift_ns < s->begun_ns + ADRIFT_PERIOD_S * NS_PER_S)
		adrift_ns = s->begun_ns + ADRIFT_PERIOD_S * NS_PER_S;
	return adrift_ns < s->retry_ns ? adrift_ns : s->retry_ns;
}

/* Patience is over once: what then still hangs is taken when it ends. */
static int64_t patience_due(const struct servers *s)
{
	return s->looking && s->patience_ns ? s->patience_ns : INT64_MAX;
}

void servers_timer(struct shell *shell, int64_t now_ns)
{
	struct servers *s = &shell->ensemble.servers;

	if (now_ns >= patience_due(s)) {
		s->patience_ns = 0;
		evaluate(shell, now_ns);
	}
	if (now_ns >= round_due(shell))
		begin_round(shell, now_ns);
}

int64_t servers_deadline(const struct shell *shell)
{
	int64_t round_ns = round_due(shell), patience_ns = patience_due(&shell->ensemble.servers);

	return round_ns < patience_ns ? round_ns : patience_ns;
}
