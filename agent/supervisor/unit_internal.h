/* What the files of the unit share; nobody else includes this. */
#ifndef TENURE_SUPERVISOR_UNIT_INTERNAL_H
#define TENURE_SUPERVISOR_UNIT_INTERNAL_H

#include "supervisor/unit.h"

/* ---- unit.c ---- */

/* Takes E to the role core and does what that asks for. Not to be called from there. */
void unit_event(struct unit *unit, const struct role_event *e);

/* The mirror, now: before a fork; else it is enough to say that it is stale. */
void unit_mirror(struct unit *unit);

/* ---- unit_hooks.c: the role core's hooks ---- */

void unit_hooks_init(struct unit *unit);
void unit_hooks_close(struct unit *unit);
const struct config_hook *unit_hook_config(const struct config_election *config, enum role_hook hook);

void unit_run_hook(struct unit *unit, const struct role_action *action, int64_t now_ns);
void unit_signal_hook(struct unit *unit, enum role_hook hook, int signal_number);
void unit_kill_all(struct unit *unit, enum role_hook hook);

/* The environment of the hook NAME that ACTION asks for, or of one that runs by itself. NULL: no memory. */
char **unit_environment(const struct unit *unit, const char *name, const struct role_action *action, int64_t limit_ns,
			int64_t now_ns);
char **unit_environment_now(const struct unit *unit, const char *name, int64_t limit_ns, int64_t now_ns);

/* ---- unit_watch.c: what runs beside the hooks: service, check, score ---- */

void unit_watch_init(struct unit *unit);
void unit_watch_configure(struct unit *unit);
void unit_watch_close(struct unit *unit);

/* Another hook begins, or the state has changed: what check and score are about to say is of the past. */
void unit_watch_spoil(struct unit *unit);

void unit_watch_timer(struct unit *unit, int64_t now_ns);
int64_t unit_watch_deadline(const struct unit *unit);

/* ---- unit_messages.c: the talk with the elector ---- */

void unit_send(struct unit *unit, enum message_type type, int64_t token);
void unit_send_state(struct unit *unit);
void unit_send_floor(struct unit *unit);
void unit_send_peer_fenced(struct unit *unit, int64_t token, bool ok);

/* RETIRE or GIVE_UP. */
void unit_leave(struct unit *unit, enum message_type type, int64_t token);

#endif
