/* The environment of a hook: what the design lists, what the configuration adds, and nothing else. */
#ifndef TENURE_SUPERVISOR_ENVIRONMENT_H
#define TENURE_SUPERVISOR_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "core/reason.h"
#include "tenure/record.h"

/* All strings are borrowed; none is NULL unless it says so. */
struct environment_input {
	const char *event; /* the hook's name */
	const char *election, *member, *address;
	const char *state, *old_state;
	int64_t token; /* 0: none, shown as "" */
	enum tenure_reason reason;
	bool planned;
	const char *leader, *leader_address;	 /* "" when nobody leads */
	const struct tenure_incumbent *previous; /* before our term; NULL: never led */
	int64_t deadline_ns;			 /* of the lease; 0: none, shown as "" */
	int64_t now_ns;
	int64_t timeout_ns; /* the hook's limit; 0: none, shown as "" */
	uint32_t transition;
	const struct config_user *user; /* name NULL: as the agent */
	char *const *extra;		/* "NAME=value", NULL-terminated; may be NULL */
};

/*
 * Before the first of the others: looks up whom a hook without `user` runs as. Once, since a name service may
 * hang for as long as it likes: before anything is in office.
 */
void environment_init(void);

/*
 * Returns a NULL-terminated environment in one block that the caller frees, or NULL when there is no
 * memory. Control characters in values of ours become '?'. EXTRA may replace PATH, HOME and the like, but
 * no TENURE_ variable.
 */
char **environment_build(const struct environment_input *in);

#endif
