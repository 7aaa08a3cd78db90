/* The token floor of one election. See floor.h. */
#include "supervisor/floor.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/control.h"
#include "common/log.h"
#include "supervisor/clock.h"
#include "tenure/gate.h"

enum { LOCK_WAIT_MS = 5000, QUOTED_SIZE = 512 };

/* Exit statuses of the writer. */
enum { WRITTEN = EXIT_YES, HIGHER = EXIT_NO, DAMAGED = EXIT_UNKNOWN, FAILED = EXIT_INTERNAL };

static const int64_t first_retry_ns = INT64_C(1000000000);
static const int64_t last_retry_ns = INT64_C(60000000000);
static const int64_t writer_limit_ns = INT64_C(10000000000);

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* ---- the writer, a process of its own ---- */

static int say(const char *path, int rc)
{
	if (rc == 0)
		return WRITTEN;
	if (rc == -EAGAIN)
		fprintf(stderr, "%s: another process holds it\n", path);
	else if (rc == -EBADMSG)
		fprintf(stderr, "%s: damaged, or not a token floor\n", path);
	else
		fprintf(stderr, "%s: %s\n", path, strerror(-rc));
	return rc == -EBADMSG ? DAMAGED : FAILED;
}

static int admit(const char *path, int64_t token)
{
	struct tenure_gate gate;
	int rc = tenure_gate_open(path, LOCK_WAIT_MS, &gate);

	if (rc < 0)
		return say(path, rc);
	if (gate.highest > token) {
		fprintf(stderr, "%s: holds %lld, above %lld\n", path, (long long)gate.highest, (long long)token);
		tenure_gate_close(&gate);
		return HIGHER;
	}
	rc = tenure_gate_admit(&gate, token);
	tenure_gate_close(&gate);
	return say(path, rc);
}

/* A damaged file is put aside, as evidence. */
static int forget(const char *path)
{
	struct tenure_gate gate;
	char aside[PATH_MAX];
	int rc = tenure_gate_open(path, LOCK_WAIT_MS, &gate);

	/* Whatever stands there in place of a floor. */
	if (rc == -EBADMSG || rc == -EISDIR || rc == -ELOOP) {
		snprintf(aside, sizeof(aside), "%s.damaged", path);
		if (rename(path, aside) < 0)
			return say(path, -errno);
		rc = tenure_gate_open(path, LOCK_WAIT_MS, &gate);
	}
	if (rc < 0)
		return say(path, rc);
	rc = tenure_gate_forget(&gate);
	tenure_gate_close(&gate);
	return say(path, rc);
}

int floor_main(int argc, char **argv)
{
	char *end = NULL;
	long long token;

	if (argc != 4)
		return EXIT_USAGE;
	errno = 0;
	token = strtoll(argv[3], &end, 10);
	if (errno != 0 || end == argv[3] || *end != '\0' || token < 0)
		return EXIT_USAGE;
	return token == 0 ? forget(argv[2]) : admit(argv[2], token);
}

/* ---- the supervisor's side ---- */

static void advance(struct floor *floor, int64_t now_ns);

static void log_file(enum log_level level, const struct floor *floor, const char *event)
{
	char quoted[QUOTED_SIZE];

	log_line(level, floor->process.election, event, "file=%s",
		 log_quote(floor->path, quoted, sizeof(quoted)));
}

static void complain(struct floor *floor, const char *why)
{
	char quoted[PROCESS_WHY_SIZE];

	if (!floor->failing || floor->writing == 0)
		log_error(floor->process.election,
			  floor->writing == 0 ? "the token floor is not forgotten"
					      : "cannot write the token floor: no new token may lead",
			  "error=%s", log_quote(why, quoted, sizeof(quoted)));
	floor->failing = floor->failing || floor->writing != 0;
}

static void failed(struct floor *floor, const char *why, int64_t now_ns)
{
	complain(floor, why);
	/* Much later it might forget what nobody had in mind any more. */
	if (floor->writing == 0)
		floor->forgetting = false;
	floor->retry_at_ns = now_ns + floor->retry_ns;
	floor->retry_ns = clock_earlier(floor->retry_ns * 2, last_retry_ns);
}

static void succeeded(struct floor *floor)
{
	if (floor->failing)
		log_file(LOG_LEVEL_INFO, floor, "the token floor can be written again");
	floor->failing = false;
	floor->retry_ns = first_retry_ns;
	if (floor->writing == 0) {
		log_file(LOG_LEVEL_WARNING, floor, "the token floor is forgotten");
		floor->seen = floor->durable = 0;
		floor->broken = floor->forgetting = false;
	}
	floor->durable = max64(floor->durable, floor->writing);
}

static void on_done(struct process *process, const struct process_result *result)
{
	struct floor *floor = watch_owner(process, struct floor, process);
	int64_t now_ns = clock_now_ns();

	floor->give_up_at_ns = CLOCK_NEVER;
	switch (result->exit_status) {
	case WRITTEN:
		succeeded(floor);
		break;
	case HIGHER:
		/* By how much does not matter: the one that was to be written may not lead. */
		log_file(LOG_LEVEL_ERROR, floor, "the token floor is higher than our token");
		succeeded(floor);
		floor->seen = max64(floor->seen, floor->writing);
		break;
	case DAMAGED:
		floor->broken = true;
		failed(floor, "damaged", now_ns);
		break;
	default:
		failed(floor, result->why, now_ns);
		break;
	}
	floor->changed(floor);
	advance(floor, now_ns);
}

static void start(struct floor *floor, int64_t now_ns)
{
	static char name[] = "tenured", option[] = "--floor";
	char token[24], why[PROCESS_WHY_SIZE];
	char *const words[] = {name, option, floor->path, token, NULL};
	/* Never empty, so that it is seen at once to be no hook's. */
	char *const environment[] = {"LC_ALL=C", NULL};

	floor->writing = floor->forgetting ? 0 : max64(floor->seen, floor->own);
	floor->retry_at_ns = CLOCK_NEVER;
	snprintf(token, sizeof(token), "%lld", (long long)floor->writing);
	if (process_start(&floor->process, words, environment, NULL, why) == 0) {
		floor->give_up_at_ns = now_ns + writer_limit_ns;
		return;
	}
	failed(floor, why, now_ns);
	floor->changed(floor);
}

/* One writer at a time, also after one that does not even die. */
static void advance(struct floor *floor, int64_t now_ns)
{
	bool wanted = !floor->broken && max64(floor->seen, floor->own) > floor->durable;

	if (process_running(&floor->process) || !(wanted || floor->forgetting))
		return;
	if (floor->retry_at_ns == CLOCK_NEVER || now_ns >= floor->retry_at_ns)
		start(floor, now_ns);
}

int floor_init(struct floor *floor, struct process_table *table, const char *data_dir, const char *election,
	       void (*changed)(struct floor *floor))
{
	*floor = (struct floor){
		.durable = data_dir[0] == '\0' ? INT64_MAX : 0,
		.retry_ns = first_retry_ns,
		.retry_at_ns = CLOCK_NEVER,
		.give_up_at_ns = CLOCK_NEVER,
		.changed = changed,
	};
	process_init(&floor->process, table, election, "floor", on_done);
	floor->process.own_image = true;
	if (data_dir[0] != '\0' && asprintf(&floor->path, "%s/%s.token", data_dir, election) < 0) {
		floor->path = NULL;
		return -ENOMEM;
	}
	return 0;
}

void floor_read(struct floor *floor)
{
	char quoted[QUOTED_SIZE];
	int64_t highest;
	int rc;

	if (!floor->path)
		return;
	rc = tenure_gate_read(floor->path, &highest);
	if (rc == 0) {
		floor->seen = floor->durable = highest;
		return;
	}
	floor->broken = rc == -EBADMSG;
	floor->failing = !floor->broken;
	if (floor->broken)
		log_file(LOG_LEVEL_ERROR, floor, "the token floor is damaged: no token may lead until it is forgotten");
	else
		log_error(floor->process.election, "cannot read the token floor: no token may lead",
			  "file=%s error=\"%s\"", log_quote(floor->path, quoted, sizeof(quoted)), strerror(-rc));
}

void floor_adopt(struct floor *floor, const struct floor *former)
{
	floor->seen = former->seen;
	floor->durable = former->durable;
	floor->broken = former->broken;
	floor->failing = former->failing;
	floor->own = former->own;
	floor->retry_at_ns = 0; /* what FORMER has not written any more is seen to by the next timer */
}

void floor_resume(struct floor *floor, int64_t own)
{
	floor->own = own;
	if (own != 0 && floor->seen == own)
		floor->seen = own - 1;
}

void floor_saw(struct floor *floor, int64_t token, int64_t now_ns)
{
	if (!floor->path || token <= floor->seen)
		return;
	floor->seen = token;
	floor->changed(floor);
	advance(floor, now_ns);
}

void floor_want(struct floor *floor, int64_t token, int64_t now_ns)
{
	int64_t former = floor->own;

	if (!floor->path || token == former)
		return;
	floor->own = token;
	floor_saw(floor, former, now_ns);
	advance(floor, now_ns);
}

void floor_forget(struct floor *floor, int64_t now_ns)
{
	if (!floor->path) {
		floor->changed(floor);
		return;
	}
	floor->forgetting = true;
	floor->retry_at_ns = CLOCK_NEVER;
	advance(floor, now_ns);
}

void floor_timer(struct floor *floor, int64_t now_ns)
{
	if (now_ns >= floor->give_up_at_ns) {
		floor->give_up_at_ns = CLOCK_NEVER;
		process_signal(&floor->process, SIGKILL);
		/* On a disk that hangs it does not even die: its end may be long in coming. */
		if (floor->writing != 0) {
			complain(floor, "the writer hangs");
			floor->changed(floor);
		}
	}
	if (now_ns >= floor->retry_at_ns) {
		floor->retry_at_ns = CLOCK_NEVER;
		advance(floor, now_ns);
	}
}

int64_t floor_deadline(const struct floor *floor)
{
	return clock_earlier(floor->give_up_at_ns, floor->retry_at_ns);
}

void floor_close(struct floor *floor)
{
	process_close(&floor->process);
	free(floor->path);
	floor->path = NULL;
}
