/* A request on the control socket, read from its line. */
#ifndef TENURE_ELECTOR_CONTROL_LINE_H
#define TENURE_ELECTOR_CONTROL_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenure/limits.h"

enum control_command {
	CONTROL_STATUS,
	CONTROL_IS_LEADER,
	CONTROL_RESIGN,
	CONTROL_RECOVER,
	CONTROL_FORGET,
	CONTROL_RESTART,
	CONTROL_PAUSE,
	CONTROL_RESUME,
	CONTROL_ELIGIBLE,
	CONTROL_SWITCHOVER,
};

struct control_members {
	size_t count;
	char names[TENURE_ELIGIBLE_MAX][TENURE_MEMBER_SIZE];
};

struct control_line {
	enum control_command command;
	char election[TENURE_ELECTION_SIZE]; /* "": not named */
	bool force;        /* resign, eligible */
	bool token;        /* forget: the token floor, not the last leader */
	bool look;         /* forget: only say what would be forgotten */
	bool has_members;  /* eligible: there is a list, which may be empty */
	struct control_members members;
	char to[TENURE_MEMBER_SIZE]; /* switchover */
	int64_t incumbent; /* forget: the leader of this token and no other; -1: any */
};

/*
 * Reads SIZE bytes, a line without its end. Returns 0; or -EBADMSG (not such an object), -ENOSYS (a
 * command this version does not know), -EINVAL (a field of the wrong kind), with *ERROR pointing to a
 * text for people, and leaves *OUT alone.
 */
int control_line_parse(const char *line, size_t size, struct control_line *out, const char **error);

#endif
