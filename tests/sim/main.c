/*
 * sim [--rule=a..f] [--plant=NAME] [--seeds FIRST COUNT] [--jobs N]
 *     [--expect-violation N] [--strict] [--trace SEED | --hash SEED]
 *
 * Runs seeds and says which promise is broken by which. --trace prints every step of one seed, --hash its end
 * alone. --strict holds a planted rule to its own claim too, not just to what the service sees of it.
 *
 * Exit status 0: no promise was broken (with --expect-violation: one was, among the first N seeds, and the
 * seed runs again to the same event); 1: the contrary; 64: usage.
 */
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { JOBS_MAX = 64, USAGE = 64 };

struct totals {
	uint64_t seeds, events, exhausted, gains, expiries, taken_over;
	uint64_t excused[EXCUSES];
	uint64_t broken[VERDICTS];
};

struct options {
	uint64_t first, count, expect, trace;
	bool one, traced;
	unsigned jobs;
};

static struct world world;

static void add(struct totals *t, const struct world *w)
{
	t->seeds++;
	t->exhausted += w->exhausted;
	t->gains += w->found.gains;
	t->expiries += w->found.expiries;
	t->taken_over += w->found.taken_over;
	for (unsigned i = 0; i < EXCUSES; i++)
		t->excused[i] += w->found.excused[i];
	t->broken[w->found.verdict]++;
}

static void report(const struct world *w)
{
	printf("seed %" PRIu64 ": %s at %.3f s: %s (hash %016" PRIx64 ")\n", w->seed,
	       verdict_name(w->found.verdict), (double)w->found.at_ns / 1e9, w->found.text, w->hash);
	fflush(stdout);
}

static void summarise(const struct totals *t, double seconds)
{
	printf("%" PRIu64 " seeds, %.3f ms each, %" PRIu64 " events each; %" PRIu64 " terms, %" PRIu64
	       " taken over by a next supervisor, %" PRIu64 " sessions expired, %" PRIu64 " runs cut short\n",
	       t->seeds, seconds * 1e3 / (double)t->seeds, t->events / t->seeds, t->gains, t->taken_over,
	       t->expiries, t->exhausted);
	printf("excused: supervisor absent %" PRIu64 ", left by a dead supervisor %" PRIu64 ", panic %" PRIu64
	       "\n",
	       t->excused[EXCUSE_ABSENT], t->excused[EXCUSE_INHERITED], t->excused[EXCUSE_PANIC]);
	for (unsigned i = FINE + 1; i < VERDICTS; i++)
		if (t->broken[i] > 0)
			printf("broken: %s %" PRIu64 "\n", verdict_name((enum verdict)i), t->broken[i]);
}

static uint64_t broken(const struct totals *t)
{
	return t->seeds - t->broken[FINE];
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void run_seeds(uint64_t first, uint64_t count, struct totals *t)
{
	enum { REPORTS_MAX = 10 };

	for (uint64_t i = 0; i < count; i++) {
		world_run(&world, first + i);
		add(t, &world);
		if (world.found.verdict != FINE && broken(t) <= REPORTS_MAX)
			report(&world);
	}
	t->events = world.events;
}

static int run_jobs(const struct options *o)
{
	double began_s = now_s();
	struct totals sum = {0}, one = {0};
	int pipes[JOBS_MAX][2];
	uint64_t share = (o->count + o->jobs - 1) / o->jobs;

	for (unsigned i = 0; i < o->jobs; i++) {
		uint64_t first = o->first + i * share;
		uint64_t count = i * share >= o->count		? 0
				 : o->count - i * share < share ? o->count - i * share
								: share;

		if (pipe(pipes[i]) < 0)
			return 1;
		if (fork() == 0) {
			run_seeds(first, count, &one);
			_exit(write(pipes[i][1], &one, sizeof one) == sizeof one ? 0 : 1);
		}
		close(pipes[i][1]);
	}
	for (unsigned i = 0; i < o->jobs; i++) {
		if (read(pipes[i][0], &one, sizeof one) != sizeof one)
			return 1; /* it has crashed, and said why */
		for (size_t k = 0; k < sizeof sum / sizeof(uint64_t); k++)
			((uint64_t *)&sum)[k] += ((const uint64_t *)&one)[k];
		wait(NULL);
	}
	summarise(&sum, (now_s() - began_s) * o->jobs);
	return broken(&sum) == 0 ? 0 : 1;
}

static int expect_violation(const struct options *o)
{
	double began_s = now_s();
	uint64_t hash;

	for (uint64_t i = 0; i < o->expect; i++) {
		world_run(&world, o->first + i);
		/* A wrong lease rule is to be seen by what it does to the service. */
		if (world.found.verdict == FINE ||
		    (sim_rule != RULE_SHIPPED &&
		     world.found.verdict > (sim_strict ? BROKEN_LEASE : BROKEN_DEADLINE)))
			continue;
		report(&world);
		printf("found after %" PRIu64 " seeds, %.1f s\n", i + 1, now_s() - began_s);
		hash = world.hash;
		world_run(&world, o->first + i);
		if (world.hash == hash)
			return 0;
		printf("seed %" PRIu64 " does not replay\n", world.seed);
		return 1;
	}
	printf("no violation in %" PRIu64 " seeds, %.1f s\n", o->expect, now_s() - began_s);
	return 1;
}

static int run_one(const struct options *o)
{
	world.trace = o->traced;
	world_run(&world, o->trace);
	printf("seed %" PRIu64 ": %s, hash %016" PRIx64 "\n", world.seed, verdict_name(world.found.verdict),
	       world.hash);
	return world.found.verdict == FINE ? 0 : 1;
}

static int usage(void)
{
	fputs("usage: sim [--rule=a..f] [--plant=NAME] [--seeds FIRST COUNT] [--jobs N]\n"
	      "           [--expect-violation N] [--strict] [--trace SEED | --hash SEED]\n",
	      stderr);
	return USAGE;
}

static bool parse_plant(const char *name)
{
	static const char *const plants[] = {"",	"s2",	   "s3",     "s4",    "l1",
					     "l3",	"stale",   "orphan", "kill",  "retire",
					     "service", "restart", "hang",   "score", "check"};

	for (unsigned i = 1; i < sizeof plants / sizeof *plants; i++)
		if (strcmp(name, plants[i]) == 0) {
			sim_plant = (enum plant)i;
			return true;
		}
	return false;
}

static bool parse(int argc, char **argv, struct options *o)
{
	for (int i = 1; i < argc; i++) {
		if (strncmp(argv[i], "--rule=", 7) == 0 && argv[i][7] >= 'a' && argv[i][7] <= 'f' &&
		    argv[i][8] == '\0')
			sim_rule = (enum rule)(RULE_A + argv[i][7] - 'a');
		else if (strncmp(argv[i], "--plant=", 8) == 0 && parse_plant(argv[i] + 8))
			;
		else if (strcmp(argv[i], "--seeds") == 0 && i + 2 < argc) {
			o->first = strtoull(argv[++i], NULL, 10);
			o->count = strtoull(argv[++i], NULL, 10);
		} else if (strcmp(argv[i], "--strict") == 0) {
			sim_strict = true;
		} else if (strcmp(argv[i], "--jobs") == 0 && i + 1 < argc) {
			o->jobs = (unsigned)strtoul(argv[++i], NULL, 10);
		} else if (strcmp(argv[i], "--expect-violation") == 0 && i + 1 < argc) {
			o->expect = strtoull(argv[++i], NULL, 10);
		} else if ((strcmp(argv[i], "--trace") == 0 || strcmp(argv[i], "--hash") == 0) &&
			   i + 1 < argc) {
			o->traced = argv[i][2] == 't';
			o->trace = strtoull(argv[++i], NULL, 10);
			o->one = true;
		} else {
			return false;
		}
	}
	return o->count > 0 && o->jobs > 0 && o->jobs <= JOBS_MAX;
}

int main(int argc, char **argv)
{
	struct options o = {.first = 1, .count = 1000, .jobs = 1};

	if (!parse(argc, argv, &o))
		return usage();
	if (o.one)
		return run_one(&o);
	return o.expect > 0 ? expect_violation(&o) : run_jobs(&o);
}
