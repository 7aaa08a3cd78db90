/* One election: its core, the requests that the core asks for, and what is kept for the status. */
#ifndef TENURE_ELECTOR_CONTEST_H
#define TENURE_ELECTOR_CONTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config.h"
#include "common/message.h"
#include "core/elector.h"
#include "elector/amend.h"
#include "elector/forget.h"
#include "elector/kept.h"
#include "elector/member.h"
#include "elector/parents.h"
#include "elector/peek.h"
#include "elector/recover.h"
#include "elector/requests.h"
#include "elector/resign.h"
#include "elector/survey.h"
#include "elector/switchover.h"

struct shell;

/* The end of a request that came while the core was at work: still to be told to it. */
struct contest_deferred {
	bool waits;
	uint32_t generation;
	enum elector_result result;
	int rc;
};

/* Which tokens may lead, by the supervisor's last FLOOR. */
struct contest_floor {
	bool known;
	int64_t seen, durable;
	bool broken;
};

struct contest {
	struct shell *shell;
	const struct config_election *config;
	uint32_t index;
	struct elector core;
	char *path, *queue_path; /* whole, with the chroot */
	struct contest_deferred deferred[ELECTOR_OP_COUNT];
	struct kept kept;       /* the election record as the core knows it */
	struct parents parents;
	struct member member;
	struct survey_marks marks;
	struct peek peek;
	struct resign resign;
	struct recover recover;
	struct forget forget;
	struct amend amends[AMENDS_MAX];
	uint32_t amend_surveys;
	struct switchover switchover;
	struct contest_floor floor;
	bool state_known;
	struct message state;   /* the supervisor's last STATE */
};

/* Returns 0 or -ENOMEM. A contest lasts as long as its process. */
int contest_init(struct contest *contest, struct shell *shell, uint32_t index);

/* AGENT is the first half of our guids. Before the first event. */
void contest_begin(struct contest *contest, uint64_t agent);

/* One step of the core, with everything that follows from it. Fills in instant and entropy. */
void contest_step(struct contest *contest, struct elector_event *event);

/* The request of OP, issued as GENERATION, came back without anything to show. */
void contest_done(struct contest *contest, enum elector_op op, uint32_t generation, enum elector_result result,
		  int rc);

/* The same, told to the core later in this turn. */
void contest_defer(struct contest *contest, enum elector_op op, uint32_t generation, enum elector_result result,
		  int rc);

/* Tells the core what contest_defer has put off. */
void contest_later(struct contest *contest);

/* The supervisor's STATE. */
void contest_set_state(struct contest *contest, const struct message *m);

/* The supervisor's FLOOR. */
void contest_set_floor(struct contest *contest, const struct message *m);

/* What operators wait for. Cheap; called after every event. */
void contest_check(struct contest *contest);

/* CLIENT hung up. What it asked for goes on. */
void contest_hung_up(struct contest *contest, const struct client *client);

/* The watch that belongs to OP, as a cookie, and back. Returns false for a cookie of another kind. */
uint64_t contest_watch_cookie(const struct contest *contest, enum elector_op op);
uint64_t contest_bell_cookie(const struct contest *contest);
bool contest_watch_is_bell(uint64_t cookie, uint32_t *index);
bool contest_watch_decode(uint64_t cookie, uint32_t *index, enum elector_op *op);

/* "DIRECTORY/NAME", to be freed; NULL when there is no memory. */
char *contest_path(const char *directory, const char *name);

/* What a reply means to the core. */
enum elector_result contest_result(enum port_result result);

#endif
