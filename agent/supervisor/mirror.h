/* The mirror in state_dir: what the next supervisor needs to know if this one dies. Never waited for, never a reason to fail. */
#ifndef TENURE_SUPERVISOR_MIRROR_H
#define TENURE_SUPERVISOR_MIRROR_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "supervisor/locked_dir.h"
#include "supervisor/saved.h"
#include "supervisor/unit.h"

struct supervisor;

#define MIRROR_SESSION_FILE	  "session"
#define MIRROR_CONFIGURATION_FILE "configuration"
#define MIRROR_TERM_PREFIX	  "term."

enum { MIRROR_NAME_SIZE = sizeof(MIRROR_TERM_PREFIX) + TENURE_ELECTION_SIZE };

struct mirror {
	char boot[SAVED_BOOT_SIZE];
	struct saved_process self;
	bool failing; /* it was said that writing fails */
	bool over;    /* nothing of ours is worth keeping: what is written no more */
};

/* Returns 0, or negative errno when the kernel does not tell who we are. */
int mirror_init(struct mirror *mirror);

/* The name of the file of ELECTION's term. */
void mirror_name(const char *election, char name[MIRROR_NAME_SIZE]);

/*
 * What a saved session and a saved term must share with the settings to be taken up: as config_same_session and
 * config_same_election compare them.
 */
uint64_t mirror_session_identity(const struct config *config);
uint64_t mirror_election_identity(const struct config_election *election);

/* Writes the session, and a term. */
void mirror_session(struct supervisor *supervisor);
void mirror_term(struct supervisor *supervisor, const struct unit *unit);
void mirror_all(struct supervisor *supervisor);

/* Writes the configuration, for a --demote-stale that finds the file no longer valid. */
void mirror_configuration(struct supervisor *supervisor);

/* The election has left the configuration. */
void mirror_drop(struct supervisor *supervisor, const char *election);

/* The agent ends, and nothing is in office: nothing is left to a next one. */
void mirror_end(struct supervisor *supervisor);

#endif
