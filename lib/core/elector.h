/*
 * The elector core: one member in one election. It joins the queue, waits, takes office with the
 * election record and leaves it again, by the rules of the protocol. Pure: events in, commands out;
 * no clock, descriptor, log or allocation.
 *
 *   OUT ──stand──► JOINING ──created──► QUEUED ──first──► TAKING ──record committed, lease proven──► OFFICE
 *    ▲                ▲  │                │  ▲               │                                         │
 *    │                │  └─reply lost: look for the guid     │ blocked too long, told to leave         │ give up,
 *    │                └──── znode gone ───┘  └─step back─────┤                                         │ or lost
 *    └───────────────────────────────────────────────────────┴──── LEAVING ◄──────────────────────────┘
 */
#ifndef TENURE_CORE_ELECTOR_H
#define TENURE_CORE_ELECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/reason.h"
#include "tenure/lease.h"
#include "tenure/limits.h"
#include "tenure/queue.h"
#include "tenure/record.h"

enum elector_state { ELECTOR_OUT, ELECTOR_JOINING, ELECTOR_QUEUED, ELECTOR_TAKING, ELECTOR_OFFICE, ELECTOR_LEAVING };

struct elector_config {
	char member[TENURE_MEMBER_SIZE];
	uint64_t agent;  /* first half of every guid of this agent */
	bool follows;    /* wants the record watched while it waits (it has a follow hook) */
	bool fence_peer; /* an unclean incumbent has to be fenced first */
	bool floor;      /* only tokens that ELECTOR_EV_FLOOR lets pass may lead */
	int64_t takeover_delay_ns; /* what an unclean incumbent is given to come back or to die by itself */
	int64_t score_slack;       /* after an unclean end, a score higher by more than this goes first; -1: none does */
	int64_t score_settle_ns;   /* what the others get for a score taken since */
	struct tenure_budget budget;
	int64_t take_office_limit_ns; /* 0: T */
	int64_t backoff_ns, backoff_max_ns;
};

/* Requests to ZooKeeper. At most one of each kind is outstanding. */
enum elector_op {
	ELECTOR_OP_PARENTS, /* make the path, its queue and its members folder, and our member record */
	ELECTOR_OP_CREATE,  /* ephemeral sequential candidate of `guid` */
	ELECTOR_OP_LIST,    /* names in the queue */
	ELECTOR_OP_WATCH,   /* children of `name`, one of the two before us, with a watch: its Stat */
	ELECTOR_OP_CHECK,   /* children of our own `name`, with a watch: its Stat */
	ELECTOR_OP_OWNER,   /* Stat of the leftover `name` */
	ELECTOR_OP_DELETE,  /* our candidate `name` */
	ELECTOR_OP_PURGE,   /* the leftover `name`, known to be our session's */
	ELECTOR_OP_READ,    /* the election record, with a data watch if `watch` */
	ELECTOR_OP_WRITE,   /* the election record on condition of `version`, changed by `edit` */
	ELECTOR_OP_SURVEY,  /* the member records */
	ELECTOR_OP_COUNT
};

enum elector_result {
	ELECTOR_OK,
	ELECTOR_NONODE,
	ELECTOR_BADVERSION,
	ELECTOR_NOAUTH,
	ELECTOR_STALE,   /* WRITE: the edit does not apply to the record as read (another's token) */
	ELECTOR_UNKNOWN, /* connection lost, timed out: perhaps done, perhaps not */
	ELECTOR_REFUSED, /* any other error; `rc` says which */
};

/*
 * A member as a survey finds it. A score is fresh when its run surely began after the last survey with `mark`: when
 * the member's record is the one found then, and counts at least two scores more (the run of the first may have been
 * under way).
 */
struct elector_peer {
	char member[TENURE_MEMBER_SIZE];
	bool waiting;  /* it queues: a candidate of its agent is there, and its record says standby */
	bool eligible; /* by the election record as last read */
	bool self;     /* it is us */
	bool score_fresh;
	int64_t score; /* where fresh */
	int64_t ready_for; /* the switchover request that it has answered */
};

enum elector_event_type {
	ELECTOR_EV_UP,      /* connected, after the session's first connect or a reconnect */
	ELECTOR_EV_DOWN,    /* connection lost */
	ELECTOR_EV_GONE,    /* the session ended */
	ELECTOR_EV_LEASE,   /* its deadline moved */
	ELECTOR_EV_STAND,   /* the supervisor wants us in the queue, or out of it */
	ELECTOR_EV_ACTIVE,  /* the gain hook of `token` has succeeded */
	ELECTOR_EV_GIVE_UP, /* the service of `token` is out of office: leave */
	ELECTOR_EV_PEER_FENCED, /* the answer to FENCE_PEER: the hook has ended */
	ELECTOR_EV_FLOOR,   /* which tokens may lead, as the member's disk has it */
	ELECTOR_EV_DONE,    /* a request came back */
	ELECTOR_EV_CHANGED, /* a watch fired: op WATCH, CHECK or READ says which */
	ELECTOR_EV_TIMER,
};

struct elector_done {
	enum elector_op op;
	uint32_t generation; /* as in the command */
	enum elector_result result;
	int rc; /* the library's code, for notes only */
	/* CREATE, CHECK, OWNER, WATCH */
	const char *name; /* CREATE: the whole name, without its path */
	int64_t czxid;
	int64_t owner; /* ephemeralOwner; 0: not ephemeral */
	/* LIST */
	const char *const *names;
	size_t name_count;
	/* READ, WRITE (the record as it stands after the write) */
	const struct tenure_election_record *record;
	int32_t version;
	/* SURVEY */
	const struct elector_peer *peers;
	size_t peer_count;
};

struct elector_event {
	enum elector_event_type type;
	int64_t now_ns;
	uint64_t entropy; /* 64 fresh random bits, for a guid */
	union {
		struct {
			int64_t session_id;
			int64_t timeout_ns; /* T */
		} up;
		int64_t deadline_ns; /* LEASE */
		bool stand;
		int64_t token;             /* ACTIVE, GIVE_UP */
		struct {
			int64_t token; /* of the incumbent */
			bool ok;
		} fenced;
		struct {
			int64_t seen;    /* a token has to be above */
			int64_t durable; /* and not above this one: on disk */
		} floor;
		struct elector_done done;
		enum elector_op changed;
	} u;
};

enum elector_command_type {
	ELECTOR_DO_REQUEST,   /* ZooKeeper: fields below */
	ELECTOR_DO_LEAD,      /* to the supervisor: in office by `token`, `reason`; previous incumbent in e->previous */
	ELECTOR_DO_LOST,      /* to the supervisor: the term of `token` is over, `reason` */
	ELECTOR_DO_LEFT,      /* to the supervisor: we hold no candidate any more (after STAND off or GIVE_UP) */
	ELECTOR_DO_CANDIDATE, /* to the supervisor: our candidate changed: e->own */
	ELECTOR_DO_OUTLOOK,   /* to the supervisor and status: e->outlook changed */
	ELECTOR_DO_FENCE_PEER, /* to the supervisor: fence the incumbent of `token` (`wanted`), or leave it (not `wanted`) */
	ELECTOR_DO_NOTE,      /* log `note` */
};

#define ELECTOR_NOTES(X)                                                                                  \
	X(BLOCKED, "first in the queue but not taking office")                                            \
	X(LIMIT, "first for take_office_limit without taking office: leaving the queue for a while")      \
	X(NOT_EPHEMERAL, "a candidate ahead is not ephemeral: it will never go away by itself")           \
	X(STRANGER, "a znode in the queue is not a candidate and is ignored")                             \
	X(FOREIGN, "a candidate in the queue is not a tenure agent's: no lease of ours bounds it")        \
	X(LEFTOVER, "a leftover of our own session is removed from the queue")                            \
	X(RECORD_UNREADABLE, "the election record cannot be read: the last incumbent counts as unclean")  \
	X(NOAUTH, "no permission: not a candidate")                                                       \
	X(REFUSED, "ZooKeeper refuses a request")                                                         \
	X(UNFIT, "the negotiated session timeout is too short for the hooks: not a candidate")            \
	X(USURPED, "the election record names a newer leader while we are in office")                     \
	X(NOBODY_ELIGIBLE, "first in the queue but not eligible, and nobody eligible queues behind")      \
	X(STEP_BACK, "first in the queue but stepping back for a better candidate")                       \
	X(STEP_BACK_SCORE, "first in the queue but stepping back for a better replica")                   \
	X(TOKEN_REGRESSED, "our token is not above the highest seen: not taking office")                 \
	X(FENCE_FAILED, "the last incumbent could not be fenced: not taking office")

enum elector_note {
#define X(code, text) ELECTOR_NOTE_##code,
	ELECTOR_NOTES(X)
#undef X
	ELECTOR_NOTE_COUNT
};

struct elector_command {
	enum elector_command_type type;
	/* REQUEST */
	enum elector_op op;
	uint32_t generation;
	char name[TENURE_CANDIDATE_SIZE]; /* WATCH, CHECK, OWNER, DELETE, PURGE */
	char guid[TENURE_GUID_SIZE];      /* CREATE */
	bool watch;                       /* READ */
	bool mark;                        /* SURVEY: from what it finds score_fresh is counted from now on */
	int32_t version;                  /* WRITE */
	enum tenure_edit_kind edit;       /* WRITE; the shell adds member, address and wall clock */
	/* WRITE, LEAD, LOST, FENCE_PEER (0: of a record that cannot be read) */
	int64_t token;
	bool wanted; /* FENCE_PEER */
	enum tenure_reason reason;
	/* NOTE */
	enum elector_note note;
	int rc;              /* NOTE REFUSED, NOAUTH: of the request `op` */
	const char *subject; /* NOTE: a znode's name or a blocker's, borrowed from the elector; may be NULL */
};

enum { ELECTOR_COMMANDS_MAX = 24 };

/* What to do, in this order. */
struct elector_update {
	unsigned count;
	struct elector_command commands[ELECTOR_COMMANDS_MAX];
};

/* What stands between a candidate in first place and office. */
enum elector_blocker {
	ELECTOR_CLEAR,
	ELECTOR_BLOCKED_PAUSED,
	ELECTOR_BLOCKED_HELD,
	ELECTOR_BLOCKED_NOT_ELIGIBLE,
	ELECTOR_BLOCKED_NAMED_OTHER,
	ELECTOR_BLOCKED_TOKEN,
	ELECTOR_BLOCKED_FLOOR, /* our token is not on disk yet */
	ELECTOR_BLOCKED_SCORE, /* score_settle, or a better replica waits */
	ELECTOR_BLOCKED_DELAY, /* takeover_delay */
	ELECTOR_BLOCKED_FENCE, /* the last incumbent is not fenced yet */
	ELECTOR_BLOCKED_LEASE,
};

const char *elector_blocker_name(enum elector_blocker blocker);

/* Our candidate in the queue. */
struct elector_candidate {
	char name[TENURE_CANDIDATE_SIZE]; /* "": none */
	char guid[TENURE_GUID_SIZE];
	int64_t czxid; /* the token it gives */
};

/* How things stand, for followers, hooks and the status. */
struct elector_outlook {
	bool known; /* the record has been read since the last connect */
	struct tenure_incumbent incumbent;
	bool paused;
	bool eligible;
	int64_t transitions;
	bool gone;       /* the incumbent has left, or its candidate is known to be gone */
	size_t position; /* 1 is first; 0: not in the queue */
	size_t members;  /* candidates in the queue when last listed; 0: not known */
};

/* Waiting for the scores after an unclean end. */
enum elector_settling {
	ELECTOR_SETTLE_MARK, /* the scores of now are to be noted */
	ELECTOR_SETTLE_WAIT, /* new ones are to come; when the time is over, they are looked at once */
	ELECTOR_SETTLE_BETTER, /* a better replica waits behind us */
	ELECTOR_SETTLE_DONE,
};

/* What a survey was asked for. */
enum elector_survey { ELECTOR_SURVEY_OTHERS, ELECTOR_SURVEY_MARK, ELECTOR_SURVEY_SCORES };

struct elector {
	struct elector_config config;
	enum elector_state state;
	bool up;
	bool stand;
	bool fits; /* T is long enough for the hooks */
	int64_t session_id;
	int64_t timeout_ns;
	int64_t lease_ns; /* its deadline; 0: nothing proven */

	uint32_t generation;
	uint32_t pending[ELECTOR_OP_COUNT]; /* generation of the request in flight; 0: none */

	/* What we hold. */
	bool parents_made;
	struct elector_candidate own;
	bool own_checked;             /* ours by guid, czxid and session, and watched, since the last connect */
	bool check_stale;             /* the CHECK in flight asks for a candidate that is not `own` any more */
	char trial[TENURE_GUID_SIZE]; /* guid of a create whose outcome is open; "": none */
	char former[TENURE_CANDIDATE_SIZE]; /* another candidate of our session, to be removed; "": none */
	char asked[TENURE_CANDIDATE_SIZE];  /* the leftover whose owner is being asked for */
	bool swept; /* the queue was looked through for leftovers since the last connect */

	/* What the last listing showed. */
	int64_t gone_token;  /* the incumbent that was last known to be gone: it does not come back */
	bool listed;
	struct tenure_queue_view view;
	char behind[TENURE_CANDIDATE_SIZE]; /* see tenure_queue_settle */
	char watched[TENURE_CANDIDATE_SIZE]; /* the candidate under watch; "": none */
	char watched_before[TENURE_CANDIDATE_SIZE]; /* the one before it, likewise */
	bool asks_before;                    /* the watch asked for now is that one's */
	int64_t watched_czxid;
	bool watched_ephemeral;
	char ghost[TENURE_CANDIDATE_SIZE];   /* a leftover that is another session's: left to expire */

	/* What the record said when it was last read. */
	bool record_read;
	bool record_watched;
	int32_t record_version;
	bool held;
	char successor[TENURE_MEMBER_SIZE];
	struct elector_outlook outlook, said; /* now, and as last given out */

	/* The way into office and out of it. */
	struct tenure_incumbent previous; /* as the record stood before we wrote to it */
	enum tenure_reason taking_reason;
	enum tenure_edit_kind writing;    /* of the WRITE in flight */
	bool tried;         /* the record may name us by our present candidate */
	bool committed;     /* it does */
	int64_t term;       /* token the supervisor was told to lead by, until it gives it up; 0: none */
	bool term_lost;     /* LOST was said for it */
	bool activate;      /* phase = active is still to be written */
	bool withdraw;      /* our candidate is to be deleted */
	bool owes_left;     /* LEFT is to be said once we hold nothing */
	int64_t owed_clean; /* a term that ended well without the record saying so; 0: none */

	/* What the disk lets pass: floor_seen < token <= floor_durable. */
	int64_t floor_seen, floor_durable;

	/* First in the queue behind an incumbent that has not left cleanly. */
	int64_t unclean_token;   /* whose: -1: nobody's; 0: of a record that cannot be read */
	int64_t unclean_before;  /* our candidate that first met it */
	int64_t unclean_since_ns;
	bool fencing;            /* FENCE_PEER was said and not answered: unclean_token stays */
	bool fencing_wanted;     /* and not taken back */
	int64_t fence_said_ns;   /* since when */
	bool fenced;             /* unclean_token's is */
	int64_t fence_at_ns;     /* after a failure: not before */
	unsigned fence_failures; /* in a row */

	/* First in the queue after an unclean end, and minding scores. */
	enum elector_settling settling;
	int64_t settling_after;  /* whose end it was: its token, 0: of a record that cannot be read */
	int64_t settling_before; /* our candidate that met it */
	int64_t settled_ns;      /* when WAIT is over */

	/* First in the queue, but not in office. */
	enum elector_blocker blocker; /* CLEAR in any other place */
	enum elector_blocker blocker_noted;
	int64_t first_since_ns; /* 0: not first, or held back by a pause */
	bool stepped;           /* back, for the vacancy left by stepped_for */
	int64_t stepped_for;
	enum elector_survey survey; /* of the SURVEY in flight */
	bool surveyed, better;  /* somebody named, or eligible, waits behind us */
	int64_t survey_at_ns;

	int64_t retry_at_ns; /* nothing is asked before; 0: no back-off */
	int64_t join_at_ns;  /* not in the queue before */
	unsigned failures;   /* requests refused in a row */
	unsigned limits;     /* times in a row that take_office_limit passed */
	int64_t now_ns;      /* of the last step: what was due by then has been looked at */
	bool noted[ELECTOR_NOTE_COUNT]; /* said once until the matter changes */
};

void elector_init(struct elector *e, const struct elector_config *config);

/*
 * Before the first event: take up what an earlier process of the same session held. TOLD says
 * whether the supervisor counts NAME's token (its czxid) as a term that has not ended.
 */
void elector_restore(struct elector *e, const char *name, int64_t czxid, bool told);

void elector_step(struct elector *e, const struct elector_event *event, struct elector_update *update);

/* When ELECTOR_EV_TIMER is due; INT64_MAX: never. */
int64_t elector_deadline(const struct elector *e);

/* Whether this election wants heartbeats: in first or second place, or on its way there. */
bool elector_wants_heartbeats(const struct elector *e);

#endif
