/* Why a member changes its state: one table for the code and its text. */
#ifndef TENURE_CORE_REASON_H
#define TENURE_CORE_REASON_H

#define TENURE_REASONS(X)                 \
	X(NONE, "")                       \
	X(STARTUP, "startup")             \
	X(RESTART, "restart")             \
	X(ADOPT, "adopt")                 \
	X(ELECTION, "election")           \
	X(HANDOFF, "handoff")             \
	X(SWITCHOVER, "switchover")       \
	X(RESUME, "resume")               \
	X(RESIGN, "resign")               \
	X(HEALTH, "health")               \
	X(LEASE, "lease")                 \
	X(PAUSE, "pause")                 \
	X(SESSION, "session")             \
	X(ZNODE_DELETED, "znode-deleted") \
	X(GAIN_FAILED, "gain-failed")     \
	X(SERVICE_EXIT, "service-exit")   \
	X(TOKEN_REGRESSED, "token-regressed") \
	X(STOP, "stop")

enum tenure_reason {
#define X(code, text) TENURE_REASON_##code,
	TENURE_REASONS(X)
#undef X
	TENURE_REASON_COUNT
};

/* The reason's text as hooks, logs and records show it; "" for NONE. */
const char *tenure_reason_name(enum tenure_reason reason);

#endif
