/* Puts out of office what a dead agent has left there. See stale.h. */
#include "supervisor/stale.h"

#include "common/log.h"
#include "supervisor/stopping.h"
#include "supervisor/supervisor.h"

bool stale_prepare(struct supervisor *supervisor)
{
	struct takeover *takeover = &supervisor->takeover;

	if (!takeover->known && !takeover_any_in_office(takeover))
		return false;
	for (size_t i = 0; i < supervisor->unit_count; i++) {
		supervisor->units[i]->role.config.candidate = false;
		if (takeover->terms[i].how == TAKEOVER_RESUME)
			takeover->terms[i].how = TAKEOVER_LOSE;
	}
	return true;
}

/* At the start a hook that fails is tried again and again: once is enough here. */
static bool has_failed(const struct role *role)
{
	return role->state == ROLE_PANIC || (!role->established && role->failures > 0);
}

/*
 * Whether the elector that is left behind as an orphan keeps the session, so that nobody takes over from what may be
 * in office: one that has not taken it up yet would not. It is not waited for beyond the session's end.
 */
static bool session_is_kept(const struct supervisor *supervisor, int64_t now_ns)
{
	return supervisor->session.id == 0 || supervisor->lease_start_ns > supervisor->left_lease_ns ||
	       now_ns >= supervisor->left_lease_ns + supervisor->session.timeout_ns;
}

void stale_advance(struct supervisor *supervisor, int64_t now_ns)
{
	bool all = true;

	if (!supervisor->options->demote_stale || supervisor->stop_signals > 0)
		return;
	for (size_t i = 0; i < supervisor->unit_count; i++) {
		const struct role *role = &supervisor->units[i]->role;

		if (has_failed(role)) {
			if (!session_is_kept(supervisor, now_ns))
				return;
			log_error(supervisor->units[i]->config->name, "a stale service may still be in office", " ");
			supervisor->failed = supervisor->finished = true;
			return;
		}
		all = all && role->established;
	}
	if (all)
		stopping_request(supervisor, now_ns);
}
