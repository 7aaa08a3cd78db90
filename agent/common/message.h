/*
 * Messages between the supervisor and the elector: fixed size, versioned, over a SOCK_SEQPACKET
 * socketpair. Both ends are one image, but an elector may outlive an upgrade of the supervisor, so
 * every message names its version and is validated on arrival. Strings are always terminated.
 */
#ifndef TENURE_AGENT_MESSAGE_H
#define TENURE_AGENT_MESSAGE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/reason.h"
#include "core/session.h"
#include "tenure/limits.h"
#include "tenure/record.h"

#define MESSAGE_VERSION 4u

enum message_type {
	MESSAGE_NONE,
	/* supervisor to elector */
	MESSAGE_START,   /* first of all: u.start */
	MESSAGE_RESTORE, /* an election's candidate of an earlier elector: u.restore */
	MESSAGE_GO,      /* all RESTOREs are said: begin */
	MESSAGE_STAND,   /* be a candidate */
	MESSAGE_RETIRE,  /* leave the queue */
	MESSAGE_CONFIRM, /* `token` is active */
	MESSAGE_GIVE_UP, /* the service of `token` is out of office */
	MESSAGE_STATE,   /* u.state: for the status, the member record and waiting clients */
	MESSAGE_FLOOR,   /* u.floor: which tokens may lead */
	MESSAGE_PEER_FENCED, /* the incumbent of `token` is fenced, or could not be: u.fenced */
	MESSAGE_RESTARTS, /* the RESTART that was asked for is about to be done, or refused: u.restarts */
	MESSAGE_QUIT,    /* end the session and exit; u.quit */
	/* elector to supervisor */
	MESSAGE_HELLO,     /* running; the only one before START, which tells the generation: it carries 0 */
	MESSAGE_SESSION,   /* u.session: keep this */
	MESSAGE_LEASE,     /* u.lease: of the session, for every election */
	MESSAGE_CANDIDATE, /* u.restore: what to hand to a next elector */
	MESSAGE_LEAD,      /* in office by `token`: u.lead */
	MESSAGE_LOST,      /* the term of `token` is over: `reason` */
	MESSAGE_LEFT,      /* no candidate of ours is in the queue */
	MESSAGE_LEADER,    /* u.leader */
	MESSAGE_LEAVE,     /* asked by an operator: leave the office of `token`, `reason` */
	MESSAGE_FENCE_PEER,   /* fence this incumbent, or leave it: u.peer; answered by PEER_FENCED */
	MESSAGE_RECOVER,      /* asked by an operator: out of PANIC, lose again; answered by STATE at least */
	MESSAGE_FORGET_FLOOR, /* asked by an operator: any token may lead again; answered by FLOOR */
	MESSAGE_ALIVE,        /* nothing new, but the loop turns */
	MESSAGE_RESTART,      /* asked by an operator: execute the agent anew in place */
	MESSAGE_TYPE_COUNT
};

/* The last hook that ended, for the status. */
struct message_hook {
	char name[16]; /* "": none yet */
	int32_t exit_status; /* -1: ended by a signal, or never ran */
	int32_t signal;      /* 0: none */
	bool timed_out;
	int64_t duration_ms;
	int64_t at_ms; /* wall clock, for people */
};

struct message {
	uint32_t version;
	uint32_t type;
	uint32_t generation; /* of the elector concerned; others are dropped */
	uint32_t election;   /* index in the configuration */
	int64_t token;
	uint32_t reason;     /* enum tenure_reason */
	uint32_t reserved;
	union {
		struct {
			uint64_t agent; /* first half of every guid */
			int32_t supervisor_pid;
			int64_t started_ms; /* wall clock */
			struct session_credentials session; /* id 0: none */
			int64_t lease_start_ns; /* proven of it so far; 0: nothing */
		} start;
		struct {
			char name[TENURE_CANDIDATE_SIZE]; /* "": none */
			int64_t czxid;
			bool told; /* RESTORE: its term has not ended */
		} restore;
		struct {
			uint32_t state;    /* enum role_state */
			int64_t since_ms;  /* wall clock, for people */
			int64_t demoted_token;
			uint32_t transitions;
			uint32_t recovers; /* RECOVERs that this answers, of all electors */
			bool healthy;
			bool health_known; /* false: there is a check hook, and it has not decided yet */
			bool has_score;    /* false: no score hook, or its last run failed */
			int64_t score;
			int64_t score_seq; /* scores taken so far */
			struct message_hook last_hook;
		} state;
		struct {
			int64_t seen;    /* a token has to be above; 0: none was seen */
			int64_t durable; /* and not above this one; INT64_MAX: no floor is kept */
			bool broken;     /* the file is damaged, or the disk fails: nothing may lead */
		} floor;
		struct {
			bool ok;
		} fenced;
		struct {
			bool refused;
			char why[128];
		} restarts;
		struct {
			bool keep_session; /* leave by _exit instead of ending it */
		} quit;
		struct session_credentials session;
		struct {
			int64_t start_ns, timeout_ns;
		} lease;
		struct {
			int64_t lease_start_ns, lease_timeout_ns;
			struct tenure_incumbent previous;
		} lead;
		struct {
			bool wanted;
			struct tenure_incumbent incumbent;
		} peer;
		struct {
			bool known, gone, self, paused;
			struct tenure_incumbent incumbent;
			uint32_t position, members;
		} leader;
	} u;
};

/* Sends M with its version filled in. Returns 0, -EAGAIN when the peer does not read, or negative errno. */
int message_send(int fd, struct message *m);

/*
 * Takes one message without blocking. Returns 1, 0 when the peer has closed, -EAGAIN when there is
 * none, -EPROTO for one of another size, version or type, or with a number out of range.
 */
int message_receive(int fd, struct message *m);

const char *message_type_name(uint32_t type);

/*
 * Messages that wait for the peer to read. A LEASE still waiting is taken out when a newer one is put at
 * the end, and so is a STATE, FLOOR or LEADER of the same election, so that a peer that sleeps does not make the
 * queue grow. The newer one never takes the older one's place: what lies between may be another session.
 */
struct message_queue;

/* Returns NULL when there is no memory. CAPACITY is the bound in messages. */
struct message_queue *message_queue_new(unsigned capacity);
void message_queue_free(struct message_queue *queue); /* NULL is fine */

/* Copies M to the end. Returns 0, or -ENOBUFS when full: the peer is beyond hope then. */
int message_queue_put(struct message_queue *queue, const struct message *m);

/* Sends what the peer takes, in order. Returns 0 when empty, -EAGAIN when some are left, or negative errno. */
int message_queue_flush(struct message_queue *queue, int fd);

/* Messages that wait. */
unsigned message_queue_waiting(const struct message_queue *queue);

/* How the supervisor starts an elector: `tenured --elector [-o KEY=VALUE]...` with these descriptors. */
enum {
	ELECTOR_FD_SUPERVISOR = 3, /* the socketpair */
	ELECTOR_FD_CONFIG = 4,     /* a sealed memfd with the configuration file's text */
	ELECTOR_FD_CONTROL = 5,    /* the listening control socket; absent when control is off */
	ELECTOR_FD_FOUND = 6,      /* another memfd, with what config_found_write says of the configuration */
	ELECTOR_FD_HTTP = 7,       /* the listening HTTP socket; absent when there is none (yet) */
};

/* To an elector that has lost its supervisor: its services are out of office, and it may end the session. */
#define ELECTOR_RELEASE_SIGNAL SIGUSR1

/* Exit statuses of the elector. */
enum {
	ELECTOR_EXIT_OK = 0,       /* asked to quit */
	ELECTOR_EXIT_RESTART = 10, /* wants to be started again at once, with its session */
	ELECTOR_EXIT_FAILED = 11,  /* something is wrong; it has said so in the log */
};

#endif
