/*
 * The simulator: the shipped cores of several agents on a modelled ensemble, under one seeded clock.
 * One seed is one run; nothing else decides what happens. See README.md beside this file.
 *
 * All instants are true time in nanoseconds unless their name says `local` (a host's CLOCK_BOOTTIME).
 */
#ifndef TENURE_SIM_H
#define TENURE_SIM_H

#include "agent.h"
#include "base.h"
#include "ensemble.h"
#include "net.h"

/* ---- events.c: the clock and the heap ---- */

enum event_type {
	EVENT_DELIVER,   /* a stream's first message arrives */
	EVENT_SERVER,    /* a server's timer: a = enum server_timer */
	EVENT_PONG,      /* a learner answers a ping: p = its link */
	EVENT_LIBRARY,   /* a client library's timer */
	EVENT_ELECTOR,   /* an elector process's timer */
	EVENT_RULE,      /* the same for a planted rule */
	EVENT_SPAWNED,   /* an elector process has started */
	EVENT_SUPERVISOR,/* a supervisor's timer */
	EVENT_BOOT,      /* a supervisor starts */
	EVENT_HOOK_END,
	EVENT_SERVICE_END,
	EVENT_HEALTH,    /* the check hook has a verdict */
	EVENT_SCORE,     /* the score hook has run */
	EVENT_EXEC,      /* a supervisor that restarts in place is there again */
	EVENT_FLOOR,     /* the floor's writer has ended */
	EVENT_FAULT,     /* a = index of the fault, b: 0 begins, 1 ends */
	EVENT_RESUME,    /* what was paused goes on */
	EVENT_HEAL,      /* the last fault is over */
	EVENT_VERDICT,   /* L1 is looked at */
};

struct event {
	int64_t at_ns;
	uint32_t order; /* of insertion: settles ties */
	uint32_t life;  /* of the owner; an event of an earlier life is dropped */
	uint16_t type;
	uint16_t a, b;
	void *p;
};

struct heap {
	struct event *events;
	unsigned count;
	uint32_t inserted;
};

void heap_push(struct world *w, int64_t at_ns, enum event_type type, unsigned a, unsigned b, void *p, uint32_t life);
bool heap_pop(struct world *w, struct event *out);

/* ---- random.c ---- */

uint64_t random_next(struct world *w);
int64_t random_below(struct world *w, int64_t bound);
int64_t random_between(struct world *w, int64_t low, int64_t high); /* both may come out */
bool random_in(struct world *w, int64_t chance, int64_t of);

/* ---- checker.c ---- */

enum verdict {
	FINE, BROKEN_S1, BROKEN_DEADLINE, BROKEN_LEASE, BROKEN_S2, BROKEN_S3, BROKEN_S4, BROKEN_L1, BROKEN_L3,
	BROKEN_COST, /* a crash, a hang or a restart has cost the leadership */
	BROKEN_MODEL, /* it is the simulator that is wrong */
	VERDICTS
};

enum excuse { EXCUSE_NONE, EXCUSE_ABSENT, EXCUSE_INHERITED, EXCUSE_PANIC, EXCUSES };

struct findings {
	enum verdict verdict;
	int64_t at_ns;
	char text[200];
	unsigned excused[EXCUSES]; /* overlaps and late demotions that have a stated cause */
	unsigned gains, expiries, takes, taken_over;
	int64_t last_gain_token;
};

void check_hook_start(struct world *w, struct host *h, const struct role_action *a);
void check_hook_end(struct world *w, struct host *h);
void check_expiry_ordered(struct world *w, struct txn *txn);
void check_take_ordered(struct world *w, const struct tree *before, struct txn *txn);
void check_committed(struct world *w, struct txn *txn);
enum excuse check_excuse(const struct world *w, const struct host *h);
void check_down(struct world *w, struct host *h, bool down);
void check_settled(struct world *w);
void check_service_start(struct world *w, struct host *h, int64_t token);
void check_service_end(struct world *w, struct host *h);
void check_given_up(struct world *w, const struct request *r);
/* keep.c */
void check_taken_over(struct world *w, struct host *h, bool in_place);
void check_not_resumed(struct world *w, struct host *h);
void check_kept(struct world *w, struct host *h, const struct role_action *a);
void check_adopted(struct world *w, struct host *h);
void check_vacancy(struct world *w, const struct host *gone);
void check_best(struct world *w, const struct host *leader);
void check_step_back(struct world *w, struct elector_process *p);
void check_demotion(struct world *w, struct host *h, enum tenure_reason reason);
void violate(struct world *w, enum verdict verdict, const char *format, ...) __attribute__((format(printf, 3, 4)));
const char *verdict_name(enum verdict verdict);

/* ---- scenario.c, faults.c ---- */

struct params {
	int64_t timeout_ns, bigger_timeout_ns;
	int64_t tick_ns;
	unsigned sync_limit;
	int64_t latency_ns; /* of one message, at most, as a rule */
	int64_t late_ping_ns; /* how much later than tick/2 a ping may be */
	unsigned late_answer_of; /* one answer to a ping in so many is late */
	unsigned late_of;     /* one ping in so many is late */
	unsigned slow_of; /* one message in so many is slow */
	struct session_config session;
	struct role_config role;
	struct elector_config elector;
	int64_t orphan_limit_ns;
	bool floor;
	unsigned bad_hooks; /* per mille */
	unsigned lost_states; /* per mille: the state file cannot be read */
	bool calm;    /* nothing but supervisors and electors fails */
	int sick;     /* a host that never gets well; -1: none */
	int64_t score_every_ns; /* 0: no score hook */
	bool best; /* who takes office after the one unclean end is to be the best */
	bool verdict; /* healed and looked at in the end */
};

enum fault_kind {
	FAULT_CUT_HOST,    /* a host from all servers */
	FAULT_CUT_SERVER,  /* a server from all servers and hosts */
	FAULT_CUT_PAIR,    /* a host from its server */
	FAULT_CUT_PEER,    /* a server from the leader */
	FAULT_ISLAND,      /* a host and its server from the rest */
	FAULT_SERVER_CRASH,
	FAULT_SERVER_PAUSE,
	FAULT_ELECTOR_KILL,
	FAULT_ELECTOR_PAUSE,
	FAULT_SUPERVISOR_CRASH,
	FAULT_SUPERVISOR_PAUSE,
	FAULT_HOST_FREEZE,
	FAULT_PAUSE,       /* operators, from here on */
	FAULT_ELIGIBLE,
	FAULT_RESIGN,
	FAULT_STOP,
	FAULT_RECOVER,
	FAULT_HOST_CRASH,  /* all of it, until all is well */
	FAULT_ELECTOR_HANG, /* until it is killed */
	FAULT_RESTART,     /* tenurectl restart */
	FAULT_UNFIT,       /* the check hook fails */
	FAULT_BIGGER,      /* an elector begins anew with a larger session_timeout configured */
	FAULT_KINDS
};

enum aim { AIM_FIXED, AIM_INCUMBENT, AIM_STANDBY, AIM_ITS_SERVER, AIM_LEADER };

struct fault {
	enum fault_kind kind;
	int64_t at_ns, until_ns;
	enum aim aim;
	uint8_t ways;     /* of a cut; bit 0: from the inside out, bit 1: from the outside in */
	uint8_t chosen;   /* host or server, when the aim is fixed, and once it has been taken */
	bool began;
	uint16_t inside, outside; /* nodes between which it cuts */
};

enum { FAULTS_MAX = 16 };

void scenario_build(struct world *w);
void scenario_heal(struct world *w);
void fault_begin(struct world *w, struct fault *f);
void fault_end(struct world *w, struct fault *f);
void fault_resume(struct world *w, unsigned what, unsigned which);

/* ---- the world ---- */

enum rule { RULE_SHIPPED, RULE_A, RULE_B, RULE_C, RULE_D, RULE_E, RULE_F };
enum plant {
	PLANT_NONE, PLANT_S2, PLANT_S3, PLANT_S4, PLANT_L1, PLANT_L3,
	PLANT_STALE,   /* a term is adopted although its hold window has closed */
	PLANT_ORPHAN,  /* a new supervisor leaves the orphan alive */
	PLANT_KILL,    /* one that knows nothing kills the orphan before lose has ended */
	PLANT_RETIRE,  /* the candidate of a term that was left behind goes before lose has ended */
	PLANT_SERVICE, /* the service of a resumed term counts as out of office */
	PLANT_RESTART, /* a restart in place forgets the term */
	PLANT_HANG,    /* an elector that hangs is left alone */
	PLANT_SCORE,   /* nobody's score is published */
	PLANT_CHECK,   /* what the check hook finds is not heard */
};

extern enum rule sim_rule;
extern enum plant sim_plant;
extern bool sim_strict; /* a planted rule is held to its own claim too (see checker.c) */

struct world {
	uint64_t seed, random;
	int64_t now_ns, heal_ns, end_ns;
	bool over, exhausted, healed;
	bool trace;
	uint64_t hash;
	struct params params;
	struct heap heap;
	struct server *servers; /* SERVERS_MAX */
	unsigned server_count, voter_count;
	struct host hosts[HOSTS_MAX];
	unsigned host_count;
	uint8_t cut[NODES_MAX][NODES_MAX];
	struct link *links[LINKS_MAX];
	unsigned link_count;
	uint32_t link_number;
	struct message *spare;
	struct session_info sessions[SESSIONS_MAX];
	unsigned session_count; /* the first is not used */
	struct znode *znodes;
	unsigned znode_count;
	struct txn *txns;
	unsigned txn_count;
	int64_t epoch;
	struct fault faults[FAULTS_MAX];
	unsigned fault_count;
	struct findings found;
	char members[HOSTS_MAX][TENURE_MEMBER_SIZE];
	uint64_t events;
};

void *arena_take(size_t size);
bool arena_low(void); /* the run has to end */
void arena_reset(struct world *w);
void world_run(struct world *w, uint64_t seed);
void world_trace(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define TRACE(w, ...)                                  \
	do {                                           \
		if ((w)->trace)                        \
			world_trace((w), __VA_ARGS__); \
	} while (0)

static inline void mix(struct world *w, uint64_t value)
{
	w->hash = (w->hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	w->hash ^= w->hash >> 29;
}

#endif
