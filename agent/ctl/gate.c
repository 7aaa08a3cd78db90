/* The command gate: admits a token, and runs a command for as long as the gate is locked. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/control.h"
#include "ctl/commands.h"
#include "ctl/output.h"
#include "tenure/gate.h"

/* As a shell says it of a command. */
enum {
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

/* A decimal from 1 to INT64_MAX, without a sign. Returns 0, or -EINVAL. */
static int read_token(const char *text, int64_t *token)
{
	if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0')
		return -EINVAL;
	errno = 0;
	*token = strtoll(text, NULL, 10);
	return errno != 0 || *token == 0 ? -EINVAL : 0;
}

static int check_words(const struct ctl_options *o, int64_t *token)
{
	if (o->count < 2) {
		complain("gate needs a FILE and a TOKEN");
		return EXIT_USAGE;
	}
	if (read_token(o->arguments[1], token) < 0) {
		complain("%s: not a token, which is a number from 1 to %" PRId64, o->arguments[1], INT64_MAX);
		return EXIT_USAGE;
	}
	if (o->words != NULL && o->words[0] == NULL) {
		complain("no command after --");
		return EXIT_USAGE;
	}
	return EXIT_YES;
}

static int say_failed(const char *file, int rc)
{
	if (rc == -EBADMSG)
		complain("%s: no token gate, or a damaged one; nothing is admitted", file);
	else
		complain("%s: %s; not admitted", file, strerror(-rc));
	return EXIT_INTERNAL;
}

static int admit(const struct ctl_options *o, struct tenure_gate *gate, int64_t token)
{
	const char *file = o->arguments[0];
	int rc = tenure_gate_open(file, o->wait_ms > 0 ? (int)o->wait_ms : -1, gate);

	if (rc == -EAGAIN) {
		complain("%s: somebody else holds it, and the time is over", file);
		return EXIT_TRY_AGAIN;
	}
	if (rc < 0)
		return say_failed(file, rc);
	rc = tenure_gate_admit(gate, token);
	if (rc == 0)
		return EXIT_YES;
	if (token >= gate->highest)
		return say_failed(file, rc);
	complain("%s: token %" PRId64 " is refused: the highest admitted is %" PRId64, file, token,
		 gate->highest);
	return EXIT_REFUSED;
}

static int print_answer(int status, int64_t token, int64_t highest)
{
	char token_text[24], highest_text[24];
	json_t *answer;
	int written;

	snprintf(token_text, sizeof(token_text), "%" PRId64, token);
	snprintf(highest_text, sizeof(highest_text), "%" PRId64, highest);
	answer = json_pack("{s:b, s:s, s:s}", "admitted", status == EXIT_YES, "token", token_text, "highest",
			   highest_text);
	written = output_json(answer);
	json_decref(answer);
	return written == EXIT_YES ? status : written;
}

/* The command takes our place and inherits the gate, locked until it and all it leaves behind has ended. */
static int execute(const struct tenure_gate *gate, char *const *words)
{
	int error;

	if (fcntl(gate->fd, F_SETFD, 0) == 0)
		execvp(words[0], words);
	error = errno;
	complain("%s: %s", words[0], strerror(error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

int command_gate(const struct ctl_options *o)
{
	struct tenure_gate gate = {.fd = -1};
	int64_t token = 0;
	int status = check_words(o, &token);

	if (status != EXIT_YES)
		return status;
	status = admit(o, &gate, token);
	if (status == EXIT_YES && o->words != NULL)
		status = execute(&gate, o->words);
	else if (o->json && (status == EXIT_YES || status == EXIT_REFUSED))
		status = print_answer(status, token, gate.highest);
	if (gate.fd >= 0)
		tenure_gate_close(&gate);
	return status;
}
