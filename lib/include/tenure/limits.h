/* Sizes of the names that travel between members, with their terminating NUL. */
#ifndef TENURE_LIMITS_H
#define TENURE_LIMITS_H

enum {
	TENURE_ELECTION_SIZE = 65,  /* title of an election */
	TENURE_MEMBER_SIZE = 65,    /* a member's name: HOST_NAME_MAX is 64 */
	TENURE_ADDRESS_SIZE = 256,  /* address that a member publishes */
	TENURE_GUID_SIZE = 37,      /* 8-4-4-4-12 lower-case hex digits */
	TENURE_CANDIDATE_SIZE = 64, /* "_c_<guid>-latch-<sequence>" */
	TENURE_TIME_SIZE = 32,      /* ISO 8601 in UTC, for people only */
	TENURE_REASON_SIZE = 24,    /* a reason in the election's history */
	TENURE_HISTORY_MAX = 32,    /* terms kept in the election record */
	TENURE_ELIGIBLE_MAX = 64,   /* members on the eligible list */
	TENURE_RECORD_MAX = 65536,  /* bytes of a record that are looked at */
};

#endif
