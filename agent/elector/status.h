/* The status as JSON, from plain facts. What is not known is null. */
#ifndef TENURE_ELECTOR_STATUS_H
#define TENURE_ELECTOR_STATUS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/message.h"
#include "core/session.h"
#include "tenure/record.h"

enum { STATUS_SCHEMA = 1 };

/* How one election stands. */
struct status_election {
	const char *member, *address; /* ours */
	bool candidate;
	const struct message *state;  /* the supervisor's last STATE; NULL: none yet */
	bool record_known;            /* what follows is fresh: */
	const struct tenure_incumbent *incumbent;
	bool gone;                    /* it leads no more */
	bool self;                    /* it is our present candidate */
	bool paused, eligible;
	int64_t record_ns;  /* when it was last read; 0: never */
	size_t position;    /* 0: not in the queue, or not known */
	size_t members;     /* 0: none, or not known */
	bool in_queue;      /* our candidate is there, seen on this connection */
	int64_t lease_ns;   /* deadline; 0: nothing is proven, or nothing is to be, or it is not that of our term */
	const char *blocked; /* what keeps our candidate in first place from office; NULL: nothing, or it is not there */
	int64_t token_floor; /* highest token seen, as this member's disk has it; 0: none, or none is kept */
	int64_t demote_ns;  /* when a forced demotion begins; 0: not known */
};

struct status_agent {
	const char *member;
	const char *version;
	int32_t pid, elector_pid;
	enum session_state session_state;
	const char *server; /* "": none */
	int64_t session_id; /* 0: none */
	int64_t timeout_ns; /* negotiated; 0: not known */
	int64_t commit_ns;  /* when the last write was committed; 0: none yet */
	uint32_t reconnects;
};

/* New objects, or NULL when there is no memory. NOW_NS is CLOCK_BOOTTIME. */
json_t *status_agent_json(const struct status_agent *agent, int64_t now_ns); /* with empty "elections" */
json_t *status_election_json(const struct status_election *election, int64_t now_ns);

/* A token as in JSON: a decimal string, or null for 0. */
json_t *status_token(int64_t token);

/* Whether this member is a standby that is ready and, as far as a check hook tells, healthy. */
bool status_stands_by(const struct status_election *election);

/* Whether this member may say that it leads at NOW_NS. */
bool status_leads(const struct status_election *election, int64_t now_ns);

#endif
