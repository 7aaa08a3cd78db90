/* The role core: what outlives its process. See role.h. */
#include "core/role_internal.h"

#include <string.h>

static bool at_rest(const struct role *r)
{
	bool service = r->state == ROLE_ACTIVE ? r->service && r->service_kill_ns == 0 : r->service;

	if (r->hook != ROLE_HOOK_NONE || r->stopping || r->adopting || r->lose_owed || r->passed_over != 0)
		return false;
	switch (r->state) {
	case ROLE_ACTIVE:
		return service == r->config.service;
	case ROLE_STARTING:
	case ROLE_FOLLOWING:
	case ROLE_STANDBY:
	case ROLE_OUT:
	case ROLE_PANIC:
		return !service;
	default:
		return false;
	}
}

void role_save(const struct role *r, struct role_saved *out)
{
	memset(out, 0, sizeof *out);
	out->state = r->state;
	out->reason = r->reason;
	out->leave_reason = r->leave_reason;
	out->transitions = r->transitions;
	/* A term that was left to us counts until lose has ended it. */
	out->token = r->token != 0 ? r->token : r->left_token;
	out->spent = r->spent;
	out->timeout_ns = r->timeout_ns;
	out->lease_start_ns = r->lease_start_ns;
	out->lease_over = r->lease_over;
	out->established = r->established;
	out->service = r->service;
	out->healthy = r->healthy;
	out->active_since_ns = r->active_since_ns;
	out->followed = r->followed;
	out->retry_at_ns = r->retry_at_ns;
	out->follow_at_ns = r->follow_at_ns;
	out->failures = r->failures;
	out->follow_failures = r->follow_failures;
	out->panic_told = r->panic_told;
	out->fence_tried = r->fence_tried;
	out->at_rest = at_rest(r);
}

static bool makes_sense(const struct role_config *config, const struct role_saved *saved)
{
	bool office = saved->state == ROLE_ACTIVE || saved->state == ROLE_PANIC;

	if ((unsigned)saved->reason >= TENURE_REASON_COUNT || (unsigned)saved->leave_reason >= TENURE_REASON_COUNT)
		return false;
	if (saved->spent < 0 || saved->followed < -1 || saved->retry_at_ns < 0 || saved->follow_at_ns < 0 ||
	    saved->active_since_ns < 0)
		return false;
	if (saved->service != (saved->state == ROLE_ACTIVE && config->service))
		return false;
	if (!office)
		return saved->token == 0 && saved->state != ROLE_PROMOTING && saved->state != ROLE_DEMOTING &&
		       saved->state != ROLE_FENCING && (unsigned)saved->state < ROLE_STATE_COUNT &&
		       (saved->established || saved->state == ROLE_STARTING);
	/* A token is spent from its demotion on. */
	if (saved->state == ROLE_ACTIVE ? saved->spent >= saved->token || saved->active_since_ns == 0 || saved->lease_over
					: saved->spent < saved->token)
		return false;
	return saved->token > 0 && saved->established && saved->timeout_ns > 0 && saved->lease_start_ns > 0 &&
	       saved->timeout_ns <= INT64_MAX / 2 && saved->lease_start_ns <= INT64_MAX / 2;
}

bool role_resume(struct role *r, const struct role_saved *saved)
{
	struct role_config config = r->config;

	if (!saved->at_rest || !makes_sense(&config, saved))
		return false;
	role_init(r, &config);
	r->state = saved->state;
	r->reason = saved->reason;
	r->leave_reason = saved->leave_reason;
	r->transitions = saved->transitions;
	r->token = saved->token;
	r->spent = saved->spent;
	r->timeout_ns = saved->timeout_ns;
	r->lease_start_ns = saved->lease_start_ns;
	r->lease_over = saved->lease_over;
	r->established = saved->established;
	r->service = saved->service;
	r->healthy = saved->healthy;
	r->active_since_ns = saved->active_since_ns;
	r->followed = saved->followed;
	r->retry_at_ns = saved->retry_at_ns;
	r->follow_at_ns = saved->follow_at_ns;
	r->failures = saved->failures;
	r->follow_failures = saved->follow_failures;
	r->panic_told = saved->panic_told;
	r->fence_tried = saved->fence_tried;
	r->standing = r->state == ROLE_STANDBY || r->state == ROLE_ACTIVE || r->state == ROLE_PANIC;
	return true;
}
