/*
 * The planted lease rules, put in the place of the shipped one by the linker (--wrap). What of a rule is not
 * arithmetic is where it happens: renew() and process_lost() (a, b), write_member() (b), on_go() and
 * on_session() (f).
 *
 *   a  connected = leased                          d  send times in place of reply times
 *   b  the last ping answered                      e  without heartbeat 3
 *   c  the last commit's sending time + T          f  T taken from the latest reply
 */
#include "sim.h"

enum rule sim_rule = RULE_SHIPPED;
enum plant sim_plant = PLANT_NONE;
bool sim_strict;

bool __real_tenure_lease_committed(struct tenure_lease *l, int64_t sent_ns, int64_t done_ns);
bool __wrap_tenure_lease_committed(struct tenure_lease *l, int64_t sent_ns, int64_t done_ns);
void __real_tenure_lease_connected(struct tenure_lease *l, int64_t timeout_ns);
void __wrap_tenure_lease_connected(struct tenure_lease *l, int64_t timeout_ns);

static bool extend(struct tenure_lease *l, int64_t start_ns)
{
	if (!l->connected || start_ns <= l->start_ns)
		return false;
	l->start_ns = start_ns;
	return true;
}

/* The newest commit whose reply had come touch_lag before this one was sent: heartbeat 1, with this one as 2.
 */
static int64_t without_third(const struct tenure_lease *l, int64_t sent_ns)
{
	for (unsigned i = l->count; i > 0; i--) {
		const struct tenure_commit *c = &l->ring[(l->head + i - 1) % TENURE_LEASE_COMMITS];

		if (c->done_ns <= sent_ns - l->touch_lag_ns)
			return c->sent_ns;
	}
	return 0;
}

bool __wrap_tenure_lease_committed(struct tenure_lease *l, int64_t sent_ns, int64_t done_ns)
{
	int64_t early_ns;
	bool extended;

	switch (sim_rule) {
	case RULE_A:
		return false;
	case RULE_B:
	case RULE_C:
		return extend(l, sent_ns);
	case RULE_D:
		return __real_tenure_lease_committed(l, sent_ns, sent_ns);
	case RULE_E:
		early_ns = without_third(l, sent_ns);
		extended = __real_tenure_lease_committed(l, sent_ns, done_ns);
		return extend(l, early_ns) || extended;
	case RULE_SHIPPED:
	case RULE_F:
		break;
	}
	return __real_tenure_lease_committed(l, sent_ns, done_ns);
}

void __wrap_tenure_lease_connected(struct tenure_lease *l, int64_t timeout_ns)
{
	__real_tenure_lease_connected(l, timeout_ns);
	if (sim_rule == RULE_F)
		l->timeout_ns = timeout_ns;
}
