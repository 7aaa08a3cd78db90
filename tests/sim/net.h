/* Messages, and the connections that carry them. Only sim.h includes it. */
#ifndef TENURE_SIM_NET_H
#define TENURE_SIM_NET_H

#include "base.h"

/* ---- what travels ---- */

/* The election record, as far as the cores look at it. Members are numbers; -1 is none. */
struct record {
	int64_t token;
	int32_t transitions;
	int8_t member, successor;
	uint8_t eligible; /* a bit for each member; 0: all */
	uint8_t phase, clean;
	bool paused;
};

enum request_type {
	REQUEST_SESSION, /* a server's own, for a client that has none */
	REQUEST_CLOSE,
	REQUEST_MEMBER,  /* parents and member record */
	REQUEST_SET,     /* the member record: heartbeats too */
	REQUEST_CREATE,
	REQUEST_DELETE,
	REQUEST_WRITE,
	REQUEST_LOOK,    /* a candidate's children, perhaps with a watch */
	REQUEST_LIST,
	REQUEST_READ,
	REQUEST_SURVEY,
	REQUEST_PROBE,   /* a heartbeat of a planted rule that is answered like a ping */
};

/* What of a member record the cores look at. */
struct standing {
	bool waiting; /* its state is standby */
	bool scored;
	int64_t score, score_seq;
};

struct request {
	uint32_t id;
	uint8_t type;
	uint8_t op;       /* enum elector_op, for watches */
	uint8_t edit;     /* WRITE */
	bool watch;
	struct standing standing; /* MEMBER, SET */
	uint16_t session; /* index; 0: none */
	uint16_t znode;
	int32_t version;
	union {
		struct record record; /* WRITE: as it shall be */
		char guid[TENURE_GUID_SIZE];
	} u;
};

enum answer { ANSWER_OK, ANSWER_NONODE, ANSWER_EXISTS, ANSWER_BADVERSION, ANSWER_REFUSED, ANSWER_MOVED };

struct peer {
	uint16_t session;
	uint8_t member;
	bool queues;  /* a candidate of its session is there: as a survey finds it */
	struct standing standing;
};

struct reply {
	uint32_t id;
	uint8_t answer;
	uint8_t count;
	uint16_t znode;
	uint16_t owner; /* session */
	int32_t version;
	int64_t czxid;
	union {
		struct record record;
		uint16_t names[QUEUE_MAX];
		struct peer peers[MEMBERS_MAX];
	} u;
};

enum message_type {
	/* any end: it is closed */
	FIN,
	/* leader to learner */
	PEER_SYNC, PEER_UPTODATE, PEER_PROPOSE, PEER_COMMIT, PEER_PING, PEER_VALID,
	/* learner to leader */
	PEER_SYNCED, PEER_ACK, PEER_PONG, PEER_REQUEST, PEER_REVALIDATE,
	/* client to server */
	CLIENT_CONNECT, CLIENT_REQUEST, CLIENT_PING,
	/* server to client */
	CLIENT_CONNECTED, CLIENT_EXPIRED, CLIENT_REPLY, CLIENT_PONG, CLIENT_WATCH,
	/* supervisor to elector */
	LOCAL_START, LOCAL_RESTORE, LOCAL_GO, LOCAL_STAND, LOCAL_RETIRE, LOCAL_CONFIRM, LOCAL_GIVE_UP,
	LOCAL_STATE, LOCAL_FLOOR, LOCAL_PEER_FENCED, LOCAL_QUIT,
	/* elector to supervisor */
	LOCAL_HELLO, LOCAL_SESSION, LOCAL_LEASE, LOCAL_CANDIDATE, LOCAL_LEAD, LOCAL_LOST, LOCAL_LEFT,
	LOCAL_LEADER, LOCAL_LEAVE, LOCAL_FENCE_PEER, LOCAL_ALIVE,
	MESSAGE_TYPES
};

/* Supervisor and elector. Not every field has a meaning in every message. */
struct local {
	int64_t token;
	int64_t start_ns, timeout_ns; /* of a lease or session */
	uint64_t agent;
	uint16_t session, znode;
	uint8_t reason, state, phase, clean;
	int8_t member;
	bool flag; /* told, known, wanted, ok, keep_session */
	bool gone, self, paused, scored;
	int64_t score, score_seq;
};

struct client;

struct message {
	struct message *next;
	int64_t arrive_ns;
	uint8_t type;
	union {
		struct {
			int64_t zxid;
			int64_t timeout_ns;
			struct client *client;
			uint64_t touched; /* sessions, as bits */
			int count, committed; /* of the log */
			uint16_t session, txn;
			bool ok;
			int32_t touch_ms[SESSIONS_MAX / 8]; /* of the touched, in order; the bound is checked */
		} peer;
		struct {
			struct client *client;
			struct request request;
		} forward;
		struct {
			int64_t zxid, timeout_ns;
			uint16_t session, znode;
			uint8_t op;
		} open; /* CONNECT, CONNECTED, WATCH */
		struct request request;
		struct {
			int64_t zxid;
			struct reply reply;
		} answer;
		struct local local;
	} u;
};

/* ---- net.c: streams ---- */

enum link_kind { LINK_PEER, LINK_CLIENT, LINK_LOCAL };

/* One direction: an ordered stream. Only its first message has an event. */
struct stream {
	struct message *head, *tail;
	int64_t last_ns;
	bool scheduled;
	bool waiting; /* for a link to heal or the receiver to go on */
};

/* A connection. Side 0: leader, library, supervisor; side 1: learner, server, elector. */
struct link {
	enum link_kind kind;
	bool open[2];
	uint8_t node[2];
	void *owner[2];
	struct client *client; /* CLIENT: the server's end */
	struct stream way[2]; /* way[i] begins at side i */
	uint32_t number;
};

struct link *link_open(struct world *w, enum link_kind kind, unsigned node0, void *owner0, unsigned node1, void *owner1);
struct message *message_new(struct world *w, enum message_type type);
void link_send(struct world *w, struct link *link, unsigned side, struct message *m);
void link_send_plain(struct world *w, struct link *link, unsigned side, enum message_type type);
void link_close(struct world *w, struct link *link, unsigned side); /* NULL and closed are fine */
void net_deliver(struct world *w, struct link *link, unsigned from);
void net_cut(struct world *w, unsigned from, unsigned to, bool cut);
void net_wake(struct world *w, const void *receiver); /* NULL: all */
unsigned stream_unread(const struct world *w, const struct link *link, unsigned side);

#endif
