/* The commands that change the election record through the agent on this host: pause, resume, eligible. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/control.h"
#include "ctl/ask.h"
#include "ctl/commands.h"
#include "ctl/output.h"
#include "tenure/limits.h"

static void print_list(const json_t *list)
{
	char cell[OUTPUT_CELL_SIZE];

	if (json_array_size(list) == 0)
		puts("everybody is eligible");
	for (size_t i = 0; i < json_array_size(list); i++)
		puts(output_cell(json_array_get(list, i), cell, sizeof(cell)));
}

/* Perhaps they are down; perhaps the name is a slip. */
static void warn_of_unknown(const json_t *list)
{
	char cell[OUTPUT_CELL_SIZE];

	for (size_t i = 0; i < json_array_size(list); i++)
		complain("warning: no member %s is to be seen in the election",
			 output_cell(json_array_get(list, i), cell, sizeof(cell)));
}

/* DONE and ALREADY: for people; NULL: the list is shown. */
static int change(const struct ctl_options *o, json_t *request, const char *done, const char *already)
{
	struct client_call call = {.wait_ms = ASK_CHANGE_WAIT_MS};
	json_t *reply = NULL;
	int status = ask_and_wait(o, request, &call, &reply);

	if (status != EXIT_YES)
		return status;
	if (!json_is_true(json_object_get(reply, "ok"))) {
		status = client_refused(reply);
	} else if (o->json) {
		json_object_del(reply, "ok");
		warn_of_unknown(json_object_get(reply, "unknown"));
		status = output_json(reply);
	} else if (done == NULL) {
		print_list(json_object_get(reply, "eligible"));
		warn_of_unknown(json_object_get(reply, "unknown"));
	} else {
		puts(json_is_true(json_object_get(reply, "changed")) ? done : already);
	}
	json_decref(reply);
	return status;
}

int command_pause(const struct ctl_options *o)
{
	return change(o, ask_request(o), "paused: nobody takes office until resume", "already paused");
}

int command_resume(const struct ctl_options *o)
{
	return change(o, ask_request(o), "resumed", "not paused");
}

/* "a,b" as a JSON array; NULL after having said what is wrong. */
static json_t *read_list(const char *text)
{
	json_t *list = json_array();

	while (list != NULL) {
		size_t length = strcspn(text, ",");

		if (length == 0 || length >= TENURE_MEMBER_SIZE) {
			complain("--set: a member's name is empty or longer than %d characters", TENURE_MEMBER_SIZE - 1);
			json_decref(list);
			return NULL;
		}
		json_array_append_new(list, json_stringn(text, length));
		if (text[length] == '\0')
			return list;
		text += length + 1;
	}
	complain("out of memory");
	return NULL;
}

int command_eligible(const struct ctl_options *o)
{
	json_t *request = ask_request(o), *list = NULL;

	if (o->set != NULL && o->clear) {
		complain("eligible takes --set or --clear, not both");
		json_decref(request);
		return EXIT_USAGE;
	}
	if (o->set != NULL || o->clear) {
		list = o->clear ? json_array() : read_list(o->set);
		if (list == NULL) {
			json_decref(request);
			return EXIT_USAGE;
		}
		json_object_set_new(request, "members", list);
		json_object_set_new(request, "force", json_boolean(o->force));
	}
	return change(o, request, NULL, NULL);
}
