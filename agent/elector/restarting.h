/* An operator's restart: the supervisor executes the agent anew, or says why not. */
#ifndef TENURE_ELECTOR_RESTARTING_H
#define TENURE_ELECTOR_RESTARTING_H

struct client;
struct message;
struct shell;

/* CLIENT is answered at once or waits. */
void restarting_start(struct shell *shell, struct client *client);

/* The supervisor's RESTARTS. */
void restarting_answer(struct shell *shell, const struct message *m);

/* CLIENT hung up. What it asked for goes on. */
void restarting_forget(struct shell *shell, const struct client *client);

#endif
