/* What the tests of the role core share: one function for each event, and what came of it as text. */
#ifndef TENURE_TESTS_ROLE_SUPPORT_H
#define TENURE_TESTS_ROLE_SUPPORT_H

#include "core_support.h"

#include <inttypes.h>

#include "core/role.h"

#define T (20 * SECOND)
#define START (1000 * SECOND)
#define AT(ms) (START + (ms) * MS)

enum { TEXT_SIZE = 2048 };

struct fixture {
	struct role r;
	struct role_update u;
};

/* With gain 60 s, handoff 60 s, lose 4 s, fence 2 s; neither follow nor fence_peer, and no token floor. */
static inline struct role_config full_config(void)
{
	return (struct role_config){
		.candidate = true,
		.has = {[ROLE_HOOK_GAIN] = true, [ROLE_HOOK_LOSE] = true, [ROLE_HOOK_FENCE] = true},
		.gain_ns = 60 * SECOND,
		.handoff_ns = 60 * SECOND,
		.backoff_ns = SECOND,
		.backoff_max_ns = 60 * SECOND,
		.budget = default_budget(),
	};
}

/* ---- events, one function each; the instant is in ms after START ---- */

static inline void step(struct fixture *f, struct role_event event)
{
	size_t before = allocations_made();

	role_step(&f->r, &event, &f->u);
	assert_int_equal(allocations_made(), before);
}

static inline void tick(struct fixture *f, int64_t ms)
{
	step(f, (struct role_event){.type = ROLE_EV_TIMER, .now_ns = AT(ms)});
}

static inline void begin(struct fixture *f, struct role_config config, bool skip_lose)
{
	memset(f, 0xa5, sizeof *f);
	role_init(&f->r, &config);
	step(f, (struct role_event){.type = ROLE_EV_BEGIN,
				    .now_ns = AT(0),
				    .u.begin.how = skip_lose ? ROLE_BEGIN_OUT : ROLE_BEGIN_LOSE});
}

/* As what follows a supervisor that has left the term of TOKEN. */
static inline void begin_left(struct fixture *f, struct role_config config, int64_t token)
{
	memset(f, 0xa5, sizeof *f);
	role_init(&f->r, &config);
	step(f, (struct role_event){.type = ROLE_EV_BEGIN,
				    .now_ns = AT(0),
				    .u.begin = {.how = ROLE_BEGIN_LOSE, .token = token}});
}

static inline void begin_adopt(struct fixture *f, struct role_config config, int64_t by_ms)
{
	memset(f, 0xa5, sizeof *f);
	role_init(&f->r, &config);
	step(f, (struct role_event){.type = ROLE_EV_BEGIN,
				    .now_ns = AT(0),
				    .u.begin = {.how = ROLE_BEGIN_ADOPT, .adopt_by_ns = AT(by_ms)}});
}

static inline void lead(struct fixture *f, int64_t ms, int64_t token, int64_t lease_ms)
{
	struct role_event event = {.type = ROLE_EV_LEAD, .now_ns = AT(ms)};

	event.u.lead.token = token;
	event.u.lead.reason = TENURE_REASON_ELECTION;
	event.u.lead.lease_start_ns = AT(lease_ms);
	event.u.lead.lease_timeout_ns = T;
	step(f, event);
}

static inline void lease(struct fixture *f, int64_t ms, int64_t start_ms, int64_t timeout_ns)
{
	struct role_event event = {.type = ROLE_EV_LEASE, .now_ns = AT(ms)};

	event.u.lease.start_ns = AT(start_ms);
	event.u.lease.timeout_ns = timeout_ns;
	step(f, event);
}

static inline void end_of(struct fixture *f, int64_t ms, enum role_event_type type, int64_t token,
		   enum tenure_reason reason)
{
	struct role_event event = {.type = type, .now_ns = AT(ms)};

	event.u.end.token = token;
	event.u.end.reason = reason;
	step(f, event);
}

static inline void leave(struct fixture *f, int64_t ms)
{
	end_of(f, ms, ROLE_EV_LEAVE, 0, TENURE_REASON_RESIGN);
}

static inline void left(struct fixture *f, int64_t ms)
{
	step(f, (struct role_event){.type = ROLE_EV_LEFT, .now_ns = AT(ms)});
}

/* The hook that runs ends with an exit status: 0, 75 or another. */
static inline void hook_done(struct fixture *f, int64_t ms, int status)
{
	struct role_event event = {.type = ROLE_EV_HOOK_DONE, .now_ns = AT(ms)};

	event.u.hook.run = f->r.run;
	event.u.hook.ok = status == 0;
	event.u.hook.not_now = status == 75;
	step(f, event);
}

static inline void service_gone(struct fixture *f, int64_t ms)
{
	step(f, (struct role_event){.type = ROLE_EV_SERVICE_GONE, .now_ns = AT(ms)});
}

static inline void health(struct fixture *f, int64_t ms, bool healthy)
{
	step(f, (struct role_event){.type = ROLE_EV_HEALTH, .now_ns = AT(ms), .u.healthy = healthy});
}

static inline void stop(struct fixture *f, int64_t ms, bool force)
{
	step(f, (struct role_event){.type = ROLE_EV_STOP, .now_ns = AT(ms), .u.force = force});
}

static inline void fence_peer(struct fixture *f, int64_t ms, int64_t token, bool wanted)
{
	struct role_event event = {.type = ROLE_EV_FENCE_PEER, .now_ns = AT(ms)};

	event.u.fence_peer.token = token;
	event.u.fence_peer.wanted = wanted;
	step(f, event);
}

static inline void token_floor(struct fixture *f, int64_t ms, int64_t seen, int64_t durable)
{
	struct role_event event = {.type = ROLE_EV_FLOOR, .now_ns = AT(ms)};

	event.u.floor.seen = seen;
	event.u.floor.durable = durable;
	step(f, event);
}

static inline void recover(struct fixture *f, int64_t ms)
{
	step(f, (struct role_event){.type = ROLE_EV_RECOVER, .now_ns = AT(ms)});
}

enum leader_kind { NOBODY, PROMOTING, LEADING, GONE, SELF };

static inline void leader(struct fixture *f, int64_t ms, enum leader_kind kind, int64_t token)
{
	struct role_event event = {.type = ROLE_EV_LEADER, .now_ns = AT(ms)};

	event.u.leader.token = token;
	event.u.leader.active = kind == LEADING || kind == GONE || kind == SELF;
	event.u.leader.gone = kind == GONE || kind == NOBODY;
	event.u.leader.self = kind == SELF;
	step(f, event);
}

/* This member leads by TOKEN, in an election that is paused or not. */
static inline void leads_paused(struct fixture *f, int64_t ms, int64_t token, bool paused)
{
	struct role_event event = {.type = ROLE_EV_LEADER, .now_ns = AT(ms)};

	event.u.leader.token = token;
	event.u.leader.active = event.u.leader.self = true;
	event.u.leader.paused = paused;
	step(f, event);
}

/* ---- what came of it ---- */

static inline void action_text(const struct role_action *a, char *out, size_t size)
{
	switch (a->type) {
	case ROLE_DO_RUN:
		snprintf(out, size, "run %s %" PRId64 "ms %s%s token %" PRId64, role_hook_name(a->hook),
			 a->limit_ns / MS, tenure_reason_name(a->reason), a->planned ? " planned" : "",
			 a->token);
		break;
	case ROLE_DO_TERM:
		snprintf(out, size, "term");
		break;
	case ROLE_DO_KILL:
		snprintf(out, size, a->hook == ROLE_HOOK_NONE ? "kill all" : "kill");
		break;
	case ROLE_DO_STAND:
		snprintf(out, size, "stand");
		break;
	case ROLE_DO_RETIRE:
		snprintf(out, size, "retire");
		break;
	case ROLE_DO_CONFIRM:
		snprintf(out, size, "confirm %" PRId64, a->token);
		break;
	case ROLE_DO_GIVE_UP:
		snprintf(out, size, "give up %" PRId64, a->token);
		break;
	case ROLE_DO_CHANGED:
		snprintf(out, size, "%s>%s %s", role_state_name(a->old_state), role_state_name(a->state),
			 tenure_reason_name(a->reason));
		break;
	case ROLE_DO_PEER_FENCED:
		snprintf(out, size, "peer %" PRId64 " %s", a->token, a->ok ? "fenced" : "not fenced");
		break;
	case ROLE_DO_ON_PANIC:
		snprintf(out, size, "on panic %" PRId64, a->token);
		break;
	case ROLE_DO_SERVICE_START:
		snprintf(out, size, "start service");
		break;
	case ROLE_DO_SERVICE_TERM:
		snprintf(out, size, "end service");
		break;
	case ROLE_DO_SERVICE_KILL:
		snprintf(out, size, "kill service");
		break;
	}
}

/* All of the last step's actions as text, in their order. */
static inline void assert_did(const struct fixture *f, const char *expected)
{
	char text[TEXT_SIZE] = "", one[128];

	for (unsigned i = 0; i < f->u.count; i++) {
		action_text(&f->u.actions[i], one, sizeof one);
		if (i > 0)
			strncat(text, ", ", sizeof text - strlen(text) - 1);
		strncat(text, one, sizeof text - strlen(text) - 1);
	}
	assert_string_equal(text, expected);
}

static inline void assert_due(const struct fixture *f, int64_t ms)
{
	assert_int_equal(role_deadline(&f->r), AT(ms));
}

static inline void begin_standby(struct fixture *f, struct role_config config)
{
	begin(f, config, true);
	assert_int_equal(f->r.state, ROLE_STANDBY);
}

/* In office by token 5 from 1 s on; the lease runs from 0: demotion 13.6 s, kill 17.6 s, out 19.6 s. */
static inline void begin_active(struct fixture *f, struct role_config config)
{
	begin_standby(f, config);
	lead(f, 1000, 5, 0);
	if (config.has[ROLE_HOOK_GAIN])
		hook_done(f, 1500, 0);
	assert_int_equal(f->r.state, ROLE_ACTIVE);
}

/* PANIC at 2.6 s, with the lease to run for long: lose and fence (where there is one) have failed. */
static inline void begin_panic(struct fixture *f, struct role_config config)
{
	begin_active(f, config);
	leave(f, 2000);
	hook_done(f, 2500, 1);
	if (config.has[ROLE_HOOK_FENCE])
		hook_done(f, 2600, 1);
	assert_int_equal(f->r.state, ROLE_PANIC);
	assert_int_equal(f->r.hook, ROLE_HOOK_NONE);
}

#endif
