/* A request on the control socket, read from its line. */
#include "elector/control_line.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	enum control_command command;
} commands[] = {
	{"status", CONTROL_STATUS},
	{"is-leader", CONTROL_IS_LEADER},
	{"resign", CONTROL_RESIGN},
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

static int read_object(json_t *object, struct control_line *out, const char **error)
{
	struct control_line line = {0};
	const char *command = json_string_value(json_object_get(object, "command"));
	json_t *election = json_object_get(object, "election");
	json_t *force = json_object_get(object, "force");

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
	if (force && !json_is_boolean(force)) {
		*error = "\"force\" is neither true nor false";
		return -EINVAL;
	}
	line.force = json_is_true(force);
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
