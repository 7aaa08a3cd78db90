/* The control socket: its clients, their lines and their answers. */
#ifndef TENURE_ELECTOR_CONTROL_H
#define TENURE_ELECTOR_CONTROL_H

#include <jansson.h>
#include <stdbool.h>

struct contest;
struct control;
struct shell;

struct client;

/* Takes over FD, a listening socket. Returns 0 or negative errno. */
int control_open(struct shell *shell, int fd);

/* Stops listening and hangs up on everybody in a turn of its own. NULL is fine. */
void control_close(struct control *control);

/* Takes nobody in any more: who comes now waits for the next elector. NULL is fine. */
void control_hold(struct control *control);

/* The process is about to leave: answers whoever still waits with ERROR, as far as the sockets take it. */
void control_abandon(struct shell *shell, int status, const char *error);

/* Looks for the status have ended: answers those who waited for them, in a turn of its own. */
void control_peeked(struct shell *shell);

/* CLIENT may not ask anything else until its answer; NULL, for the functions below, is a client that has hung up. */
void client_wait(struct client *client);

/* A line that says how it goes. */
void client_progress(struct client *client, const char *text);

/* The answer: takes OBJECT, to which "ok" is added. */
void client_reply(struct client *client, json_t *object);
void client_refuse(struct client *client, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
