/* The environment of a hook, built in one block. */
#include "supervisor/environment.h"

#include <assert.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEARCH_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

enum { NUMBER_SIZE = 24, VARIABLES_MAX = 32, IDENTITY_SIZE = 256 };

struct variable {
	const char *name, *value;
};

struct variables {
	struct variable list[VARIABLES_MAX];
	size_t count;
	char numbers[8][NUMBER_SIZE];
	size_t number_count;
};

/* Whom a hook without `user` runs as. */
static struct {
	char name[IDENTITY_SIZE], home[IDENTITY_SIZE], shell[IDENTITY_SIZE];
} self;

void environment_init(void)
{
	struct passwd *entry = getpwuid(geteuid());

	snprintf(self.name, sizeof(self.name), "%u", (unsigned)geteuid());
	snprintf(self.home, sizeof(self.home), "/");
	snprintf(self.shell, sizeof(self.shell), "/bin/sh");
	if (!entry)
		return;
	snprintf(self.name, sizeof(self.name), "%s", entry->pw_name);
	snprintf(self.home, sizeof(self.home), "%s", entry->pw_dir);
	if (entry->pw_shell[0] != '\0')
		snprintf(self.shell, sizeof(self.shell), "%s", entry->pw_shell);
}

static void add(struct variables *v, const char *name, const char *value)
{
	v->list[v->count++] = (struct variable){name, value};
}

static void add_number(struct variables *v, const char *name, int64_t number)
{
	char *text = v->numbers[v->number_count++];

	snprintf(text, NUMBER_SIZE, "%" PRId64, number);
	add(v, name, text);
}

/* What is not known, or does not exist, is empty and never 0. */
static void add_known(struct variables *v, const char *name, int64_t number, bool known)
{
	if (known)
		add_number(v, name, number);
	else
		add(v, name, "");
}

static const char *clean_name(const struct tenure_incumbent *previous)
{
	if (!previous || previous->clean == TENURE_CLEAN_UNKNOWN)
		return "unknown";
	return previous->clean == TENURE_CLEAN_YES ? "yes" : "no";
}

static void collect(struct variables *v, const struct environment_input *in)
{
	const struct config_user *user = in->user && in->user->name ? in->user : NULL;
	int64_t left_ns = in->deadline_ns > in->now_ns ? in->deadline_ns - in->now_ns : 0;

	add(v, "TENURE_EVENT", in->event);
	add(v, "TENURE_ELECTION", in->election);
	add(v, "TENURE_MEMBER", in->member);
	add(v, "TENURE_ADDRESS", in->address);
	add(v, "TENURE_STATE", in->state);
	add(v, "TENURE_OLD_STATE", in->old_state);
	add_known(v, "TENURE_TOKEN", in->token, in->token != 0);
	add(v, "TENURE_REASON", tenure_reason_name(in->reason));
	add(v, "TENURE_PLANNED", in->planned ? "yes" : "no");
	add(v, "TENURE_LEADER", in->leader);
	add(v, "TENURE_LEADER_ADDRESS", in->leader_address);
	add(v, "TENURE_PREVIOUS", in->previous ? in->previous->member : "");
	add(v, "TENURE_PREVIOUS_ADDRESS", in->previous ? in->previous->address : "");
	add_known(v, "TENURE_PREVIOUS_TOKEN", in->previous ? in->previous->token : 0,
		  in->previous && in->previous->token != 0);
	add(v, "TENURE_PREVIOUS_CLEAN", clean_name(in->previous));
	add_known(v, "TENURE_DEADLINE_MS", in->deadline_ns / TENURE_NS_PER_MS, in->deadline_ns != 0);
	add_known(v, "TENURE_LEASE_MS", left_ns / TENURE_NS_PER_MS, in->deadline_ns != 0);
	add_known(v, "TENURE_TIMEOUT_MS", in->timeout_ns / TENURE_NS_PER_MS, in->timeout_ns != 0);
	add_number(v, "TENURE_TRANSITION", in->transition);
	add(v, "PATH", SEARCH_PATH);
	add(v, "HOME", user ? user->home : self.home);
	add(v, "USER", user ? user->name : self.name);
	add(v, "LOGNAME", user ? user->name : self.name);
	add(v, "SHELL", user ? user->shell : self.shell);
}

static bool is_named(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

static bool is_replaced(const struct variable *variable, char *const *extra)
{
	if (strncmp(variable->name, "TENURE_", 7) == 0)
		return false;
	for (; extra && *extra; extra++) {
		if (is_named(*extra, variable->name))
			return true;
	}
	return false;
}

static bool is_refused(const struct variables *v, const char *entry)
{
	if (strncmp(entry, "TENURE_", 7) != 0)
		return false;
	for (size_t i = 0; i < v->count; i++) {
		if (is_named(entry, v->list[i].name))
			return true;
	}
	return false;
}

static char *write_variable(char *to, const struct variable *variable)
{
	to = stpcpy(to, variable->name);
	*to++ = '=';
	for (const char *s = variable->value ? variable->value : ""; *s != '\0'; s++)
		*to++ = (unsigned char)*s < ' ' || *s == 0x7f ? '?' : *s;
	*to++ = '\0';
	return to;
}

char **environment_build(const struct environment_input *in)
{
	struct variables v = {.count = 0};
	size_t bytes = 0, slots = 1, used = 0;
	char **block, *text;

	assert(self.name[0] != '\0');
	collect(&v, in);
	for (size_t i = 0; i < v.count; i++)
		bytes += strlen(v.list[i].name) + (v.list[i].value ? strlen(v.list[i].value) : 0) + 2;
	slots += v.count;
	for (char *const *extra = in->extra; extra && *extra; extra++) {
		bytes += strlen(*extra) + 1;
		slots++;
	}
	block = malloc(slots * sizeof(*block) + bytes);
	if (!block)
		return NULL;
	text = (char *)(block + slots);
	for (size_t i = 0; i < v.count; i++) {
		if (is_replaced(&v.list[i], in->extra))
			continue;
		block[used++] = text;
		text = write_variable(text, &v.list[i]);
	}
	for (char *const *extra = in->extra; extra && *extra; extra++) {
		if (is_refused(&v, *extra))
			continue;
		block[used++] = text;
		text = stpcpy(text, *extra) + 1;
	}
	block[used] = NULL;
	return block;
}
