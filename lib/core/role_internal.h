/* What the files of the role core share; nobody else includes this. */
#ifndef TENURE_CORE_ROLE_INTERNAL_H
#define TENURE_CORE_ROLE_INTERNAL_H

#include <assert.h>

#include "core/role.h"

#define NS_PER_S INT64_C(1000000000)

/* One event being taken in. */
struct step {
	struct role *r;
	struct role_update *update;
	int64_t now_ns;
};

static inline int64_t min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* ---- role_clock.c: what is due when (INT64_MAX: never), and how long what may take ---- */

/* The points of the term in office. */
struct tenure_schedule role_schedule(const struct role *r);

/* When the lease forces a demotion. */
int64_t role_demote_at(const struct role *r);

/* When the running hook is first asked to end because of its own limit. */
int64_t role_term_at(const struct role *r);

/* When the running hook is to be killed. */
int64_t role_kill_at(const struct role *r);

/* When a killed hook that is still there is given up. */
int64_t role_outlives_at(const struct role *r);

/* The same for the service: when it is to be killed, and when it is given up. */
int64_t role_service_kill_at(const struct role *r);
int64_t role_service_outlives_at(const struct role *r);

/* When an adoption lapses. */
int64_t role_adopt_by(const struct role *r);

/* When on_panic is due. */
int64_t role_panic_at(const struct role *r);

/* The limits of a lose and of a fence hook that start now. */
int64_t role_lose_limit(const struct role *r, int64_t now_ns);
int64_t role_fence_limit(const struct role *r, int64_t now_ns);

/* ---- role_actions.c: each says one thing and notes that it was said ---- */

struct role_action *role_act(struct step *s, enum role_action_type type);
void role_move(struct step *s, enum role_state to, enum tenure_reason reason);

/* Starts a hook. IN is the state that it is told. */
void role_run(struct step *s, enum role_hook hook, int64_t limit_ns, enum tenure_reason reason, enum role_state in);

/* TERM for the hook that runs, if any, once. */
void role_send_term(struct step *s);

/* KILL for the hook that runs. */
void role_send_kill(struct step *s);

/* KILL for all of the election, once after a hook was started: what it leaves behind is part of it. */
void role_kill_all(struct step *s);

void role_stand(struct step *s);
void role_retire(struct step *s);
void role_give_up(struct step *s, int64_t token);

/* The same for the term that LEAD came for too early. */
void role_give_up_passed_over(struct step *s);
void role_answer_peer(struct step *s, int64_t token, bool ok);

void role_start_service(struct step *s);

/* Asks it to end, once; it is killed at role_service_kill_at(). */
void role_end_service(struct step *s);
void role_kill_service(struct step *s);

/* ---- role_start.c: until the service is known to be out of office ---- */

void role_begin(struct step *s, const struct role_event *event);

/*
 * Nothing comes of the adoption: the service has to leave the office that it has without a term. The member stays in
 * the queue until then, so that nobody behind it takes office beside that service.
 */
void role_end_adoption(struct step *s);

/* The service is known to be out of office: what was kept for it in the queue is given up. */
void role_establish(struct step *s);

void role_settle_starting(struct step *s);

/* ---- role_idle.c: out of office ---- */

/* The first instant for a next try, after so many failures. */
int64_t role_backed_off(const struct step *s, unsigned failures);
void role_wait_before_next(struct step *s);

/* Not in office: what next? */
void role_go_idle(struct step *s, enum tenure_reason reason);

void role_settle_following(struct step *s);
void role_settle_standby(struct step *s);
void role_settle_out(struct step *s);
void role_on_leader(struct step *s, const struct role_event *event);
void role_on_fence_peer(struct step *s, int64_t token, bool wanted);
void role_follow_done(struct step *s, bool ok);

/* Whether its health lets it stand, and stay. */
bool role_fit(const struct role *r);

/* ---- role_office.c: into office ---- */

void role_on_lead(struct step *s, const struct role_event *event);
void role_on_lease(struct step *s, int64_t start_ns, int64_t timeout_ns);
void role_gain_done(struct step *s, const struct role_event *event);
void role_settle_active(struct step *s);

/* ---- role_demotion.c: out of it ---- */

void role_demote(struct step *s, enum tenure_reason reason, bool planned);

/* From PROMOTING or ACTIVE, or anew from PANIC. */
void role_begin_demotion(struct step *s, enum tenure_reason reason, bool planned);

/* The demotion under way must not take longer than a forced one may. */
void role_force(struct step *s);

void role_panic(struct step *s);
void role_lose_done(struct step *s, bool ok);
void role_fence_done(struct step *s, bool ok);
void role_on_service_gone(struct step *s);

/* A hook that had outlived its KILL is gone at last. */
void role_fence_from_panic(struct step *s);

void role_settle_demoting(struct step *s);
void role_settle_panic(struct step *s);

#endif
