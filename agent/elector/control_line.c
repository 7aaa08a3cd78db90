/* A request on the control socket, read from its line. */
#include "elector/control_line.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	enum control_command command;
} commands[] = {
	{"status", CONTROL_STATUS},
	{"is-leader", CONTROL_IS_LEADER},
	{"resign", CONTROL_RESIGN},
	{"recover", CONTROL_RECOVER},
	{"forget", CONTROL_FORGET},
	{"restart", CONTROL_RESTART},
};

static int find_command(const char *name, enum control_command *out)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strcmp(commands[i].name, name) == 0) {
			*out = commands[i].command;
			return 0;
		}
	return -ENOSYS;
}

/* A token is a decimal string. Returns whether it is one; absent is -1. */
static bool read_token(const json_t *value, int64_t *out)
{
	const char *text = json_string_value(value);
	char *end;

	*out = -1;
	if (!value || json_is_null(value))
		return true;
	if (!text || text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*out = strtoll(text, &end, 10);
	return errno == 0 && *end == '\0';
}

static bool read_flags(const json_t *object, struct control_line *line, const char **error)
{
	const struct {
		const char *name, *error;
		bool *out;
	} flags[] = {
		{"force", "\"force\" is neither true nor false", &line->force},
		{"token", "\"token\" is neither true nor false", &line->token},
		{"look", "\"look\" is neither true nor false", &line->look},
	};

	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		const json_t *value = json_object_get(object, flags[i].name);

		if (value && !json_is_boolean(value)) {
			*error = flags[i].error;
			return false;
		}
		*flags[i].out = json_is_true(value);
	}
	return true;
}

static int read_object(json_t *object, struct control_line *out, const char **error)
{
	struct control_line line = {0};
	const char *command = json_string_value(json_object_get(object, "command"));
	json_t *election = json_object_get(object, "election");

	if (!command) {
		*error = "\"command\" is missing";
		return -EBADMSG;
	}
	if (find_command(command, &line.command) < 0) {
		*error = "unknown command";
		return -ENOSYS;
	}
	if (election && !json_is_null(election)) {
		if (!json_is_string(election) || json_string_length(election) >= sizeof line.election) {
			*error = "\"election\" is not the name of an election";
			return -EINVAL;
		}
		snprintf(line.election, sizeof line.election, "%s", json_string_value(election));
	}
	if (!read_flags(object, &line, error))
		return -EINVAL;
	if (!read_token(json_object_get(object, "incumbent"), &line.incumbent)) {
		*error = "\"incumbent\" is not a token";
		return -EINVAL;
	}
	*out = line;
	return 0;
}

int control_line_parse(const char *line, size_t size, struct control_line *out, const char **error)
{
	json_t *object = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);
	int rc = -EBADMSG;

	*error = "not a JSON object";
	if (json_is_object(object))
		rc = read_object(object, out, error);
	json_decref(object);
	return rc;
}
