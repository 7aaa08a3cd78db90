/* One hook's or service's process: start it in a clean surrounding, signal its group, reap it, log what it writes. */
#ifndef TENURE_SUPERVISOR_PROCESS_H
#define TENURE_SUPERVISOR_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/config.h"
#include "supervisor/loop.h"
#include "supervisor/output.h"
#include "tenure/limits.h"

enum { PROCESS_HOOK_SIZE = 16, PROCESS_WHY_SIZE = 512 };

/* How a hook ended. */
struct process_result {
	bool ran;	 /* false: the file could not be executed, `why` says how */
	int exit_status; /* -1: ended by a signal, or never ran */
	int signal;	 /* 0: ended by itself */
	bool signalled;	 /* we had sent it a signal */
	int64_t duration_ns;
	char why[PROCESS_WHY_SIZE]; /* for people: "exit status 1", "killed by SIGKILL", "cannot run /x: ..."
				     */
};

struct process;

/* The processes that run, and where their output is waited for. */
struct process_table {
	struct loop *loop;
	struct process *first;
};

/* A slot for the runs of one hook, one at a time. */
struct process {
	struct process_table *table;
	struct process *next;
	pid_t pid;	/* 0: none runs */
	int failure_fd; /* tells why exec failed; ends without a word when it succeeds */
	bool signalled;
	bool own_image; /* it runs the agent's own program, wherever that is by now; words[0] is just its name */
	bool inherits_output; /* it writes where the agent does, not through us into the log */
	bool held;   /* it executes nothing before process_release(): who it is can be noted first */
	int go_fd;   /* tells it to go on; -1: it has been told */
	int join_fd; /* a cgroup.procs that it joins before it is anybody else, where it may; -1: none */
	int64_t started_ns;
	char *path;
	char election[TENURE_ELECTION_SIZE];
	char hook[PROCESS_HOOK_SIZE];
	struct output out, err; /* may outlive the run, held open by what it has left behind */
	void (*done)(struct process *process, const struct process_result *result);
	void (*heard)(struct process *process, const char *line); /* of its stdout; NULL: into the log */
};

/* DONE is called after each run has been reaped; a new run may be started from there. */
void process_init(struct process *process, struct process_table *table, const char *election,
		  const char *hook,
		  void (*done)(struct process *process, const struct process_result *result));

/*
 * Starts WORDS with ENVIRONMENT as USER (may be NULL or have no name: as the agent). Returns 0; or negative
 * errno when no process could be made, with WHY (PROCESS_WHY_SIZE bytes) for people. That the file is
 * missing, unsafe or cannot be executed is found out by the process and comes with the result.
 */
int process_start(struct process *process, char *const *words, char *const *environment,
		  const struct config_user *user, char *why);

/* A process that is held goes on. If it is never called, it ends with us. */
void process_release(struct process *process);

/*
 * PID, a child of ours that leads a session of its own, becomes the slot's run, which began at an instant that is
 * not known: an earlier image of this process has started it. Returns false when it is no child of ours.
 */
bool process_adopt(struct process *process, pid_t pid);

bool process_running(const struct process *process);

/* To the whole group, of which the process is the leader for as long as it has not been reaped. */
void process_signal(struct process *process, int signal_number);

/* Kills a run that is under way, without a result, and closes everything. */
void process_close(struct process *process);

/*
 * PID has exited and not been reaped yet: if it is one of the table's, reaps it, logs the rest of its output,
 * calls its `done` and returns true.
 */
bool process_table_exited(struct process_table *table, pid_t pid);

#endif
