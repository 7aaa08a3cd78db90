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
	{"pause", CONTROL_PAUSE},
	{"resume", CONTROL_RESUME},
	{"eligible", CONTROL_ELIGIBLE},
	{"switchover", CONTROL_SWITCHOVER},
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

static bool is_member(const char *name)
{
	size_t length = name ? strlen(name) : 0;

	for (size_t i = 0; i < length; i++)
		if (name[i] <= ' ' || name[i] > '~' || name[i] == '/')
			return false;
	return length > 0 && length < TENURE_MEMBER_SIZE;
}

static bool read_members(const json_t *list, struct control_line *line, const char **error)
{
	line->has_members = list && !json_is_null(list);
	if (!line->has_members)
		return true;
	*error = "\"members\" is not a list of members";
	if (!json_is_array(list))
		return false;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));

		if (line->members.count == TENURE_ELIGIBLE_MAX) {
			*error = "\"members\" has more than 64 members";
			return false;
		}
		if (!is_member(name))
			return false;
		for (size_t j = 0; j < line->members.count; j++)
			if (strcmp(line->members.names[j], name) == 0) {
				*error = "\"members\" has one of them twice";
				return false;
			}
		strcpy(line->members.names[line->members.count++], name);
	}
	return true;
}

static bool read_successor(const json_t *value, struct control_line *line, const char **error)
{
	if (line->command != CONTROL_SWITCHOVER)
		return true;
	*error = "\"to\" is not the name of a member";
	if (!is_member(json_string_value(value)))
		return false;
	strcpy(line->to, json_string_value(value));
	return true;
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
	if (!read_flags(object, &line, error) || !read_members(json_object_get(object, "members"), &line, error) ||
	    !read_successor(json_object_get(object, "to"), &line, error))
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
