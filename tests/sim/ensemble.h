/* The ensemble: what the servers agree on, and the servers. Only sim.h includes it. */
#ifndef TENURE_SIM_ENSEMBLE_H
#define TENURE_SIM_ENSEMBLE_H

#include "net.h"

/* ---- tree.c: what the servers agree on ---- */

struct znode {
	int64_t czxid;
	uint16_t session;
	char name[TENURE_CANDIDATE_SIZE];
};

struct session_info {
	int64_t id;
	int64_t timeout_ns; /* of its creation */
};

struct txn {
	int64_t zxid;
	struct client *client; /* to be answered, on server `origin` */
	struct request request;
	uint8_t answer;   /* as it was ordered */
	uint8_t origin;
	uint8_t broken;   /* S4, enum s4; told when it commits */
	bool expiry;      /* CLOSE because of the clock */
	bool committed;   /* somewhere */
	int8_t unsound;   /* host whose promise this expiry breaks, + 1; told when it commits */
	bool unsound_office;
	int64_t by_ns;    /* by how much */
};

struct tree {
	uint64_t sessions;
	struct record record;
	int32_t version;
	uint32_t creations;
	uint8_t queue_count, member_count;
	bool path;
	uint16_t queue[QUEUE_MAX];
	struct peer members[MEMBERS_MAX];
};

/* What applying a transaction has changed, for watches. */
struct change {
	bool record;
	uint8_t deleted_count;
	uint16_t deleted[QUEUE_MAX];
};

void tree_init(struct tree *t);
uint8_t tree_judge(const struct world *w, const struct tree *t, const struct request *r);
void tree_apply(struct world *w, struct tree *t, const struct txn *txn, struct change *change);
bool tree_has(const struct tree *t, unsigned znode);
bool tree_read(const struct world *w, const struct tree *t, const struct request *r, struct reply *reply);
unsigned znode_find(const struct world *w, const char *name);

/* ---- quorum.c, order.c: servers among themselves ---- */

enum server_role { SERVER_LOOKING, SERVER_LEADING, SERVER_LEARNING };
enum server_timer { TIMER_LOOK, TIMER_PING, TIMER_EXPIRE, TIMER_SILENCE };

struct server {
	unsigned id;
	bool voter, alive, serving;
	enum server_role role;
	uint32_t life;      /* of the process */
	uint32_t term;      /* of its role: timers of an earlier one are dropped */
	int64_t paused_until;
	int64_t drift_ppm;
	int logged, committed;
	struct tree tree;
	struct client *clients[REQUESTS_MAX];
	unsigned client_count;

	/* Learner. */
	struct link *up;
	int64_t accepted; /* the newest epoch it has taken part in */
	int64_t current; /* epoch of the leader whose history it has, or that it was elected for */
	int64_t heard_ns;
	uint64_t touched;
	int64_t touch_timeout[SESSIONS_MAX];

	/* Leader. */
	int64_t epoch, counter;
	struct tree prepared; /* with everything ordered so far */
	struct link *learners[SERVERS_MAX];
	bool synced[SERVERS_MAX];
	int acked[SERVERS_MAX];
	int64_t learner_heard_ns[SERVERS_MAX];
	bool established;
	bool odd; /* half ticks */
	int64_t began_ns, last_ping_ns;
	uint64_t tracked, closing;
	int64_t expiry_ns[SESSIONS_MAX];
	uint8_t owner[SESSIONS_MAX];
	int64_t expire_at_ns; /* of the event under way; NEVER: none */

	uint16_t log[TXNS_MAX]; /* the last: it is not cleared */
};

void server_start(struct world *w, struct server *s);
void server_crash(struct world *w, struct server *s);
void server_timer(struct world *w, struct server *s, enum server_timer timer);
void server_pong(struct world *w, struct server *s, struct link *link);
void peer_receive(struct world *w, struct link *link, unsigned side, const struct message *m);
int64_t server_span(const struct server *s, int64_t span_ns); /* of its clock, in true time */
struct server *world_leader(struct world *w); /* the newest established one, or NULL */

bool leader_touch(struct world *w, struct server *l, unsigned session, int64_t timeout_ns);
void leader_order(struct world *w, struct server *l, const struct request *r, unsigned origin, struct client *client,
		  bool expiry);
void leader_commit(struct world *w, struct server *l);
void leader_expire(struct world *w, struct server *l);
void leader_track_all(struct world *w, struct server *l);
void server_apply(struct world *w, struct server *s, int upto);
void server_forward(struct world *w, struct server *s, const struct request *r, struct client *client);

/* ---- serve.c: a server and its clients ---- */

struct server_watch {
	uint8_t op;
	uint16_t znode;
};

struct client {
	struct link *link;
	struct server *server;
	bool open, ready;
	bool data_watch;
	uint16_t session;
	int64_t timeout_ns;
	unsigned head, count; /* of what is not answered yet, in order */
	struct request pending[REQUESTS_MAX];
	unsigned watch_count;
	struct server_watch watches[WATCHES_MAX];
};

void serve_receive(struct world *w, struct link *link, const struct message *m);
void serve_committed(struct world *w, struct server *s, struct client *c, const struct txn *txn);
void serve_validated(struct world *w, struct server *s, struct client *c, bool valid);
void serve_changed(struct world *w, struct server *s, const struct change *change);
void serve_close(struct world *w, struct client *c);
void serve_drop_all(struct world *w, struct server *s);
void serve_drop_session(struct world *w, struct server *s, unsigned session);

#endif
