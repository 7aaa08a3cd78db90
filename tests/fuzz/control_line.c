/* A request on the control socket. */
#include "fuzz.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

#include "elector/control_line.h"

static const char *const names[] = {
	[CONTROL_STATUS] = "status",   [CONTROL_IS_LEADER] = "is-leader", [CONTROL_RESIGN] = "resign",
	[CONTROL_RECOVER] = "recover", [CONTROL_FORGET] = "forget",	  [CONTROL_RESTART] = "restart",
	[CONTROL_PAUSE] = "pause",     [CONTROL_RESUME] = "resume",	  [CONTROL_ELIGIBLE] = "eligible",
	[CONTROL_SWITCHOVER] = "switchover",
};

/* LINE as a request. */
static char *print(const struct control_line *line)
{
	json_t *object = json_pack("{s:s,s:s,s:b,s:b,s:b}", "command", names[line->command], "election",
				   line->election, "force", line->force, "token", line->token, "look", line->look);
	char token[24], *text;

	assert(object != NULL);
	snprintf(token, sizeof(token), "%" PRId64, line->incumbent);
	if (line->command == CONTROL_SWITCHOVER)
		json_object_set_new(object, "to", json_string(line->to));
	if (line->has_members) {
		json_t *list = json_array();

		for (size_t i = 0; i < line->members.count; i++)
			json_array_append_new(list, json_string(line->members.names[i]));
		json_object_set_new(object, "members", list);
	}
	if (line->incumbent >= 0)
		json_object_set_new(object, "incumbent", json_string(token));
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	return text;
}

/* LINE says what the JSON does: nothing is cut, nothing capped. */
static void check_source(const struct control_line *line, const char *bytes, size_t size)
{
	json_t *object = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
	const char *election = json_string_value(json_object_get(object, "election"));
	const char *incumbent = json_string_value(json_object_get(object, "incumbent"));
	char token[24];

	assert(object != NULL && strcmp(line->election, election ? election : "") == 0);
	assert((line->incumbent == -1) == (incumbent == NULL));
	if (incumbent) {
		incumbent += strspn(incumbent, "0");
		snprintf(token, sizeof(token), "%" PRId64, line->incumbent);
		assert(strcmp(token, *incumbent == '\0' ? "0" : incumbent) == 0);
	}
	json_decref(object);
}

static void check_line(const struct control_line *line)
{
	struct control_line again;
	const char *error;
	char *text;

	assert((size_t)line->command < sizeof(names) / sizeof(names[0]));
	assert(memchr(line->election, '\0', sizeof(line->election)) != NULL);
	assert(line->incumbent >= -1);
	text = print(line);
	assert(control_line_parse(text, strlen(text), &again, &error) == 0);
	assert(again.command == line->command && strcmp(again.election, line->election) == 0);
	assert(again.force == line->force && again.token == line->token && again.look == line->look);
	assert(again.incumbent == line->incumbent);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct control_line untouched = {.election = "untouched", .incumbent = 7};
	struct control_line line = untouched;
	const char *error = NULL;
	int rc = control_line_parse((const char *)data, size, &line, &error);

	if (rc == 0) {
		check_source(&line, (const char *)data, size);
		check_line(&line);
		return 0;
	}
	assert(rc == -EBADMSG || rc == -ENOSYS || rc == -EINVAL);
	assert(error != NULL && *error != '\0');
	assert(strcmp(line.election, untouched.election) == 0 && line.incumbent == untouched.incumbent);
	return 0;
}
