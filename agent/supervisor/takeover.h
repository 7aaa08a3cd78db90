/*
 * What an earlier supervisor has left behind, as state_dir tells it, and what becomes of it: whose place this one
 * takes may have died, or be itself before it was executed anew.
 */
#ifndef TENURE_SUPERVISOR_TAKEOVER_H
#define TENURE_SUPERVISOR_TAKEOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/config.h"
#include "supervisor/mirror.h"
#include "supervisor/saved.h"

struct supervisor;
struct unit;

enum takeover_how {
	TAKEOVER_UNKNOWN, /* nothing usable is known: lose first */
	TAKEOVER_OUT,	  /* it was out of office: lose first, as at every start */
	TAKEOVER_LOSE,	  /* its term may be in office: lose first, for that token */
	TAKEOVER_RESUME,  /* goes on, without a hook */
};

struct takeover_term {
	enum takeover_how how;
	bool same; /* the election's settings are those that SAVED was written with */
	struct saved_term saved;
};

struct takeover {
	bool look; /* nothing is to be changed */
	bool in_place; /* this very process, executed anew */
	bool known;    /* SAVED is there, of this boot and of this member */
	bool other_boot; /* it was said that there are files of an earlier boot */
	bool session;  /* it can be taken up */
	struct saved_session saved;
	struct takeover_term *terms; /* as the elections in the configuration */
	size_t count;
	unsigned strangers; /* terms of elections that are not configured */
};

/*
 * Reads and judges. What cannot be used is ignored, with a warning each. PREDECESSOR: who has to have written it for
 * IN_PLACE. Returns 0 or -ENOMEM.
 */
int takeover_read(struct takeover *takeover, const struct locked_dir *dir, const struct mirror *mirror,
		  const struct config *config, const struct saved_process *predecessor, int64_t now_ns);

void takeover_free(struct takeover *takeover);

/* Whether anything recorded may be in office. */
bool takeover_any_in_office(const struct takeover *takeover);

/*
 * Ends the processes that a dead supervisor has left: hooks, services and, where its session is taken up, the elector
 * ORPHAN_FD (-1: none). Returns the elector that is let live, or -1.
 */
int takeover_end_processes(struct takeover *takeover, int orphan_fd);

/* Begins UNIT, the election of INDEX: goes on with its term, or has it lose first. */
void takeover_begin(struct takeover *takeover, size_t index, struct unit *unit, int64_t now_ns);

/*
 * `tenured --takes-over ...`, a child of a supervisor that is to be executed anew with this program and file: whether
 * it would go on without a hook. Returns an exit status, and has said on stderr what is in the way.
 */
int takeover_check(const struct config *config);

#endif
