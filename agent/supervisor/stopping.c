/* How the agent comes to its end. */
#include "supervisor/stopping.h"

#include "common/log.h"
#include "supervisor/clock.h"
#include "supervisor/supervisor.h"

static void announce(struct supervisor *supervisor, int64_t now_ns)
{
	service_manager_tell(&supervisor->manager, "STOPPING=1");
	if (supervisor->manager.fd >= 0)
		supervisor->extend_at_ns = now_ns;
	reload_cancel(supervisor);
	restart_cancel(supervisor);
}

void stopping_request(struct supervisor *supervisor, int64_t now_ns)
{
	bool force = supervisor->stop_signals++ > 0;

	log_info(NULL, force ? "stopping by force" : "stopping", " ");
	if (!force)
		announce(supervisor, now_ns);
	for (size_t i = 0; i < supervisor->unit_count; i++)
		unit_stop(supervisor->units[i], force, now_ns);
}

void stopping_on_panic(struct supervisor *supervisor, int64_t now_ns)
{
	if (supervisor->exiting)
		return;
	supervisor->exiting = true;
	if (supervisor->stop_signals++ == 0)
		announce(supervisor, now_ns);
	/* By force nothing is tried in panic; and one that comes out of it stands no more. */
	for (size_t i = 0; i < supervisor->unit_count; i++)
		unit_stop(supervisor->units[i], true, now_ns);
}

bool stopping_in_panic(const struct supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->unit_count; i++) {
		if (supervisor->units[i]->role.state == ROLE_PANIC)
			return true;
	}
	return false;
}

bool stopping_clean(const struct supervisor *supervisor)
{
	if (supervisor->failed)
		return false;
	for (size_t i = 0; i < supervisor->unit_count; i++) {
		if (supervisor->units[i]->role.state != ROLE_OUT || supervisor->units[i]->role.lose_owed)
			return false;
	}
	return true;
}

static bool all_stopped(const struct supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->unit_count; i++) {
		const struct role *role = &supervisor->units[i]->role;

		if (!role_stopped(role) && !(supervisor->exiting && role->state == ROLE_PANIC))
			return false;
	}
	return supervisor->reload.phase == RELOAD_IDLE;
}

static bool notifying(const struct supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->unit_count; i++) {
		if (notifier_busy(&supervisor->units[i]->notifier))
			return true;
	}
	return false;
}

/* Every role has stopped: the elector ends the session, and the last notify hooks get a little time. */
void stopping_advance(struct supervisor *supervisor, int64_t now_ns)
{
	if (supervisor->stop_signals == 0)
		return;
	if (!supervisor->finishing) {
		if (!all_stopped(supervisor))
			return;
		supervisor->finishing = true;
		supervisor->finish_by_ns = now_ns + STOPPING_LIMIT_NS;
		/* Where a service may be in office a successor would be a second leader: the session must not end before its time. */
		supervisor->reload.keep_session = !stopping_clean(supervisor);
		child_quit(&supervisor->child, supervisor->reload.keep_session, now_ns, STOPPING_LIMIT_NS);
	}
	if (supervisor->child.pid == 0)
		supervisor->child.start_at_ns = CLOCK_NEVER;
	if ((supervisor->child.pid == 0 && !notifying(supervisor)) || now_ns >= supervisor->finish_by_ns)
		supervisor->finished = true;
}
