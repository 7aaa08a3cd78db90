/* The socketpair to the supervisor: its messages taken in order, ours queued and sent. */
#ifndef TENURE_ELECTOR_UPWARD_H
#define TENURE_ELECTOR_UPWARD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/message.h"
#include "elector/brake.h"

struct event;
struct shell;

struct upward {
	int fd; /* -1: the supervisor is gone */
	struct message_queue *queue;
	struct event *readable, *writable;
	bool started; /* START has come: the cores may be asked */
	bool begun;   /* GO has come */
	uint32_t generation;
	uint64_t agent; /* first half of every guid */
	int32_t supervisor_pid;
	struct session_credentials session; /* to be taken up; id 0: none */
	int64_t lease_start_ns;             /* what is proven of it; 0: nothing */
	struct brake nonsense;
};

/* Takes FD over and says HELLO. Returns 0 or negative errno. */
int upward_init(struct shell *shell, int fd);

/* Queues M, with our generation. A queue that overflows means that the supervisor is beyond hope. */
void upward_put(struct shell *shell, struct message *m);

/* Takes every message that waits. Does not return when the supervisor wants us to quit. */
void upward_drain(struct shell *shell);

/* Sends what the supervisor takes now; the rest as soon as it reads. */
void upward_flush(struct shell *shell);

/* Stops listening to a supervisor that is gone. */
void upward_close(struct shell *shell);

#endif
