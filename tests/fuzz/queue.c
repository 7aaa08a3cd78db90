/* The candidates' names and what a listing says: one name a line, and the first that has a guid is ours. */
#include "fuzz.h"

#include <errno.h>
#include <stdio.h>

#include "tenure/queue.h"

enum { NAMES_MAX = 64, AGENT_LENGTH = 18 };

struct listing {
	char *text;
	const char *names[NAMES_MAX];
	size_t count;
	char own_guid[TENURE_GUID_SIZE];
	uint64_t agent;
	int32_t sequences[NAMES_MAX];
	size_t parsed;
};

static bool is_listed(const struct listing *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++) {
		if (strcmp(l->names[i], name) == 0)
			return true;
	}
	return false;
}

/* The first half of a guid as a number. */
static uint64_t agent_of(const char *guid)
{
	uint64_t agent = 0;

	for (size_t i = 0; i < AGENT_LENGTH; i++) {
		if (guid[i] != '-')
			agent = agent << 4 | (uint64_t)(guid[i] <= '9' ? guid[i] - '0' : guid[i] - 'a' + 10);
	}
	return agent;
}

/* A name that is taken apart can be put together again. */
static bool check_name(const char *name, struct tenure_candidate_name *parsed)
{
	const struct tenure_candidate_name untouched = {.guid = "untouched", .sequence = 7};
	char sequence[16], prefix[TENURE_CANDIDATE_SIZE];
	size_t length = strlen(name), n;

	*parsed = untouched;
	if (tenure_queue_parse(name, parsed) < 0) {
		assert(strcmp(parsed->guid, untouched.guid) == 0 && parsed->sequence == untouched.sequence);
		return false;
	}
	n = (size_t)snprintf(sequence, sizeof(sequence), "%010d", parsed->sequence);
	assert(length > n && strcmp(name + length - n, sequence) == 0);
	if (parsed->guid[0] != '\0') {
		assert(tenure_queue_prefix(parsed->guid, prefix, sizeof(prefix)) == 0);
		assert(strlen(prefix) + n == length && strncmp(name, prefix, strlen(prefix)) == 0);
	}
	return true;
}

static void add_name(struct listing *l, const char *name)
{
	struct tenure_candidate_name parsed;

	/* A znode has one child of a name. */
	if (l->count == NAMES_MAX || is_listed(l, name))
		return;
	l->names[l->count++] = name;
	if (!check_name(name, &parsed) || strlen(name) >= TENURE_CANDIDATE_SIZE)
		return;
	l->sequences[l->parsed++] = parsed.sequence;
	if (l->own_guid[0] == '\0' && parsed.guid[0] != '\0') {
		strcpy(l->own_guid, parsed.guid);
		l->agent = agent_of(parsed.guid);
	}
}

static void read_listing(struct listing *l, const uint8_t *data, size_t size)
{
	memset(l, 0, sizeof(*l));
	l->text = fuzz_text(data, size);
	for (char *name = l->text, *end; name < l->text + size; name = end + 1) {
		end = name + strcspn(name, "\n");
		*end = '\0';
		add_name(l, name);
	}
}

/* Whether all numbers lie within half the circle, so that their order is one. */
static bool is_ordered(const struct listing *l)
{
	for (size_t i = 0; i < l->parsed; i++) {
		size_t k = 0;

		while (k < l->parsed && (uint32_t)l->sequences[k] - (uint32_t)l->sequences[i] < UINT32_C(1) << 31)
			k++;
		if (k == l->parsed)
			return true;
	}
	return l->parsed == 0;
}

static void check_listed(const struct listing *l, const char *name)
{
	assert(name[0] == '\0' || is_listed(l, name));
}

static void check_place(const struct listing *l, const struct tenure_queue_view *v)
{
	check_listed(l, v->predecessor);
	check_listed(l, v->before);
	assert(v->position <= v->candidates);
	assert((v->position == 0) == (v->own[0] == '\0'));
	assert((v->predecessor[0] != '\0') == (v->position >= 2));
	assert(v->position >= 3 || v->before[0] == '\0');
	assert(v->own[0] == '\0' || strcmp(v->predecessor, v->own) != 0);
	assert(v->before[0] == '\0' || strcmp(v->before, v->predecessor) != 0);
}

static void check_view(const struct listing *l, const struct tenure_queue_view *v)
{
	struct tenure_candidate_name parsed;

	assert(v->candidates == l->parsed && v->candidates + v->strangers == l->count);
	check_listed(l, v->first);
	check_listed(l, v->own);
	check_listed(l, v->leftover);
	check_listed(l, v->foreign);
	check_place(l, v);
	assert((v->first[0] != '\0') == (v->candidates > 0));
	assert((v->own[0] != '\0') == (l->own_guid[0] != '\0'));
	assert(v->leftover[0] == '\0' || strcmp(v->leftover, v->own) != 0);
	if (v->own[0] != '\0')
		assert(tenure_queue_parse(v->own, &parsed) == 0 && strcmp(parsed.guid, l->own_guid) == 0);
	if (v->leftover[0] != '\0')
		assert(tenure_queue_parse(v->leftover, &parsed) == 0 &&
		       strncmp(parsed.guid, l->own_guid, AGENT_LENGTH) == 0);
	if (v->position == 1 && is_ordered(l))
		assert(strcmp(v->first, v->own) == 0);
}

/* The order in which the server lists the names means nothing. */
static void check_backwards(const struct listing *l, const struct tenure_queue_view *v)
{
	const char *names[NAMES_MAX];
	struct tenure_queue_view w;

	for (size_t i = 0; i < l->count; i++)
		names[i] = l->names[l->count - 1 - i];
	tenure_queue_scan(names, l->count, l->own_guid, l->agent, &w);
	assert(v->candidates == w.candidates && v->position == w.position);
	assert(strcmp(v->first, w.first) == 0 && strcmp(v->own, w.own) == 0);
	assert(strcmp(v->predecessor, w.predecessor) == 0 && strcmp(v->before, w.before) == 0);
	assert(strcmp(v->leftover, w.leftover) == 0);
}

/* Each doubt is settled once, in the order of the names, and each moves us up by one. */
static void check_settling(const struct listing *l, const struct tenure_queue_view *scanned)
{
	struct tenure_queue_view v = *scanned;
	char behind[TENURE_CANDIDATE_SIZE] = "";
	size_t position = SIZE_MAX;

	for (size_t step = 0;; step++) {
		assert(step <= l->count);
		v = *scanned;
		tenure_queue_settle(l->names, l->count, behind, &v);
		check_place(l, &v);
		assert(v.position > 0 || !v.doubtful);
		if (!v.doubtful)
			break;
		assert(strcmp(v.predecessor, behind) > 0 && strcmp(v.predecessor, v.own) != 0);
		assert(position == SIZE_MAX || v.position == position - 1);
		position = v.position;
		strcpy(behind, v.predecessor);
	}
	assert(position == SIZE_MAX || v.position == position - 1);
}

/* A name of ours is read as it was made. */
static void check_own(const uint8_t *data, size_t size)
{
	struct tenure_candidate_name parsed;
	uint64_t halves[2] = {0};
	int32_t sequence = 0;
	char guid[TENURE_GUID_SIZE], name[TENURE_CANDIDATE_SIZE + 16];
	size_t length;

	if (size < sizeof(halves) + sizeof(sequence))
		return;
	memcpy(halves, data, sizeof(halves));
	memcpy(&sequence, data + sizeof(halves), sizeof(sequence));
	tenure_queue_guid(halves[0], halves[1], guid);
	assert(agent_of(guid) == halves[0]);
	assert(tenure_queue_prefix(guid, name, TENURE_CANDIDATE_SIZE) == 0);
	length = strlen(name);
	snprintf(name + length, sizeof(name) - length, "%010d", sequence);
	assert(strlen(name) < TENURE_CANDIDATE_SIZE);
	assert(check_name(name, &parsed) && strcmp(parsed.guid, guid) == 0 && parsed.sequence == sequence);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct listing l;
	struct tenure_queue_view view;

	check_own(data, size);
	read_listing(&l, data, size);
	tenure_queue_scan(l.names, l.count, l.own_guid, l.agent, &view);
	check_view(&l, &view);
	if (is_ordered(&l))
		check_backwards(&l, &view);
	check_settling(&l, &view);
	free(l.text);
	return 0;
}
