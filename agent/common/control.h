/*
 * The control socket: SOCK_STREAM, one JSON object a line each way.
 *
 * Request   {"command":"status"}                            also with "election":"pg"
 *           {"command":"is-leader","election":"pg"}
 *           {"command":"resign","election":"pg","force":false}
 * "election" may be left out where the agent has one.
 *
 * Replies   {"progress":"running the lose hook"}            any number, only while a command waits
 *           {"ok":true,"status":{...}}                      status: the object of the design
 *           {"ok":true,"leader":true,"token":"4294967338","lease_ms":13210}
 *           {"ok":true,"token":"4294967338","took_ms":812}  resign: the term is over and the znode gone
 *           {"ok":false,"exit":77,"error":"nobody eligible waits behind; --force resigns all the same"}
 * The last reply of a request has "ok". "exit" is the exit status for tenurectl.
 *
 * Status is for whoever may connect (the socket's group); what changes something is for root, the agent's
 * user and the admin group, by SO_PEERCRED.
 */
#ifndef TENURE_AGENT_CONTROL_H
#define TENURE_AGENT_CONTROL_H

enum {
	CONTROL_LINE_MAX = 8192,    /* bytes of a request */
	CONTROL_CLIENTS_MAX = 64,   /* at once; more wait in the backlog */
	CONTROL_REPLY_MAX = 1 << 22 /* bytes waiting for a client that does not read; then it is dropped */
};

/* Exit statuses of the commands. */
enum {
	EXIT_YES = 0,
	EXIT_NO = 1,
	EXIT_UNKNOWN = 2,
	EXIT_USAGE = 64,
	EXIT_UNREACHABLE = 69,
	EXIT_INTERNAL = 70,
	EXIT_TRY_AGAIN = 75,
	EXIT_REFUSED = 77,
	EXIT_CONFIGURATION = 78,
};

#endif
