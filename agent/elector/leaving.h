/* An operator who waits until a service is out of office: resign and recover. */
#ifndef TENURE_ELECTOR_LEAVING_H
#define TENURE_ELECTOR_LEAVING_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct client;
struct contest;
struct event;

struct leaving {
	struct contest *contest;
	struct client *client; /* who waits; NULL: it has hung up */
	struct event *limit;
	void (*late)(struct contest *contest); /* the time is over: answers, and ends it */
	int64_t token;         /* of the term to be left */
	int64_t begun_ns;
	uint32_t told_state;   /* last state told as progress */
};

/*
 * Begins to wait for the end of TOKEN in CONTEST, for as long as a planned demotion with all that may follow can take.
 * Returns 0 or -ENOMEM. CLIENT gets no other answers until it has got this one.
 */
int leaving_begin(struct leaving *leaving, struct contest *contest, struct client *client, int64_t token,
		  void (*late)(struct contest *contest));

/* Says that this member does not lead, and who does. */
void leaving_refuse_not_leader(struct contest *contest, struct client *client);

/* Whether the term is in office, by what the supervisor last said. */
bool leaving_in_office(const struct leaving *leaving);

/* Tells the client of a hook that has begun since the last call. */
void leaving_progress(struct leaving *leaving);

/* {"token", "took_ms"}, for the answer; NULL when there is no memory. */
json_t *leaving_result(const struct leaving *leaving);

/* The client has its answer. */
void leaving_end(struct leaving *leaving);

#endif
