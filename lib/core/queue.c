/* Names and order of the candidates in the queue. */
#include "tenure/queue.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define GUID_LENGTH  (TENURE_GUID_SIZE - 1)
#define AGENT_LENGTH 18 /* "xxxxxxxx-xxxx-xxxx": the half of a guid that names the agent */
#define PROTECTED    "_c_"
#define LATCH	     "-latch-"
#define LOCK	     "__lock__"

enum { PAST_THE_WRAP = 65536 }; /* numbers beyond it that may have come out of turn */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_guid(const char *s)
{
	for (size_t i = 0; i < GUID_LENGTH; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		bool hex = is_digit(s[i]) || (s[i] >= 'a' && s[i] <= 'f');

		if (dash ? s[i] != '-' : !hex)
			return false;
	}
	return true;
}

/* Reads exactly what "%010d" prints for a 32-bit number: the width of ten includes the sign. */
static bool parse_sequence(const char *s, size_t length, int32_t *out)
{
	bool negative = length > 0 && s[0] == '-';
	size_t digits = length - negative;
	int64_t value = 0;

	if (length != 10 && !(length == 11 && negative))
		return false;
	if (length == 11 && s[1] == '0')
		return false;
	for (size_t i = 0; i < digits; i++) {
		if (!is_digit(s[negative + i]))
			return false;
		value = value * 10 + (s[negative + i] - '0');
	}
	if (negative && value == 0)
		return false;
	if (negative)
		value = -value;
	if (value < INT32_MIN || value > INT32_MAX)
		return false;
	*out = (int32_t)value;
	return true;
}

/* Whether NAME is <anything>MARK<sequence>. *HEAD is the length of <anything>. */
static bool split(const char *name, size_t length, const char *mark, size_t *head, int32_t *sequence)
{
	size_t mark_length = strlen(mark);

	for (size_t tail = 10; tail <= 11; tail++) {
		if (length < mark_length + tail)
			return false;
		*head = length - mark_length - tail;
		if (memcmp(name + *head, mark, mark_length) == 0 &&
		    parse_sequence(name + length - tail, tail, sequence))
			return true;
	}
	return false;
}

int tenure_queue_parse(const char *name, struct tenure_candidate_name *out)
{
	const size_t protected_length = sizeof(PROTECTED) - 1;
	size_t length = strlen(name);
	size_t head;
	int32_t sequence;
	bool guid = false;

	if (split(name, length, LATCH, &head, &sequence))
		guid = head == protected_length + GUID_LENGTH &&
		       memcmp(name, PROTECTED, protected_length) == 0 && is_guid(name + protected_length);
	else if (!split(name, length, LOCK, &head, &sequence))
		return -EINVAL;

	out->sequence = sequence;
	out->guid[0] = '\0';
	if (guid) {
		memcpy(out->guid, name + protected_length, GUID_LENGTH);
		out->guid[GUID_LENGTH] = '\0';
	}
	return 0;
}

int tenure_queue_prefix(const char *guid, char *buf, size_t size)
{
	if (strlen(PROTECTED LATCH) + strlen(guid) >= size)
		return -ENAMETOOLONG;
	snprintf(buf, size, PROTECTED "%s" LATCH, guid);
	return 0;
}

bool tenure_queue_before(int32_t a, int32_t b)
{
	uint32_t difference = (uint32_t)a - (uint32_t)b;

	/* Half the circle apart either could be the older; an answer that both sides give is what matters. */
	if (difference == UINT32_C(1) << 31)
		return a < b;
	return difference >> 31;
}

void tenure_queue_guid(uint64_t agent, uint64_t attempt, char out[TENURE_GUID_SIZE])
{
	static const char hex[] = "0123456789abcdef";

	for (unsigned i = 0; i < 32; i++) {
		uint64_t half = i < 16 ? agent : attempt;

		if (i == 8 || i == 12 || i == 16 || i == 20)
			*out++ = '-';
		*out++ = hex[half >> (60 - i % 16 * 4) & 15];
	}
	*out = '\0';
}

/* A candidate of the listing under scan. */
struct candidate {
	struct tenure_candidate_name parsed;
	const char *name;
};

static int read_candidate(const char *name, struct candidate *out)
{
	if (strlen(name) >= TENURE_CANDIDATE_SIZE)
		return -ENAMETOOLONG;
	out->name = name;
	return tenure_queue_parse(name, &out->parsed);
}

/* Where numbers are the same, the names decide until tenure_queue_settle knows better. */
static bool precedes(const struct candidate *a, const struct candidate *b)
{
	if (a->parsed.sequence != b->parsed.sequence)
		return tenure_queue_before(a->parsed.sequence, b->parsed.sequence);
	return strcmp(a->name, b->name) < 0;
}

static void copy_name(char out[TENURE_CANDIDATE_SIZE], const char *name)
{
	size_t length = strnlen(name, TENURE_CANDIDATE_SIZE - 1);

	memcpy(out, name, length);
	out[length] = '\0';
}

/* The newest candidate of GUID. */
static bool find_own(const char *const *names, size_t n, const char *guid, struct candidate *own)
{
	struct candidate c;
	bool found = false;

	if (guid[0] == '\0')
		return false;
	for (size_t i = 0; i < n; i++) {
		if (read_candidate(names[i], &c) < 0 || strcmp(c.parsed.guid, guid) != 0)
			continue;
		if (!found || precedes(own, &c))
			*own = c;
		found = true;
	}
	return found;
}

/* Those that come before us: how many, and the last two of them. */
struct ahead {
	size_t count;
	struct candidate last, before;
};

static void add_ahead(struct ahead *a, const struct candidate *c)
{
	a->count++;
	if (!a->last.name || precedes(&a->last, c)) {
		a->before = a->last;
		a->last = *c;
	} else if (!a->before.name || precedes(&a->before, c)) {
		a->before = *c;
	}
}

static void show_ahead(const struct ahead *a, struct tenure_queue_view *out)
{
	out->position = a->count + 1;
	copy_name(out->predecessor, a->last.name ? a->last.name : "");
	copy_name(out->before, a->before.name ? a->before.name : "");
}

bool tenure_queue_same_agent(const char *a, const char *b)
{
	return strncmp(a, b, AGENT_LENGTH) == 0;
}

void tenure_queue_scan(const char *const *names, size_t n, const char *own_guid, uint64_t agent,
		       struct tenure_queue_view *out)
{
	char agent_guid[TENURE_GUID_SIZE];
	struct candidate own, c, head = {.name = NULL}, leftover = {.name = NULL};
	bool present = find_own(names, n, own_guid, &own);
	struct ahead ahead = {.count = 0};

	assert(own_guid[0] == '\0' || strlen(own_guid) == GUID_LENGTH);
	tenure_queue_guid(agent, 0, agent_guid);
	memset(out, 0, sizeof(*out));

	for (size_t i = 0; i < n; i++) {
		if (read_candidate(names[i], &c) < 0) {
			if (out->strangers++ == 0)
				copy_name(out->stranger, names[i]);
			continue;
		}
		out->candidates++;
		if (!head.name || precedes(&c, &head))
			head = c;
		if (c.parsed.guid[0] == '\0') {
			if (out->foreign[0] == '\0')
				copy_name(out->foreign, c.name);
		} else if (tenure_queue_same_agent(c.parsed.guid, agent_guid) &&
			   strcmp(c.parsed.guid, own_guid) != 0 &&
			   (!leftover.name || precedes(&leftover, &c))) {
			leftover = c;
		}
		if (present && precedes(&c, &own))
			add_ahead(&ahead, &c);
	}

	if (present) {
		show_ahead(&ahead, out);
		copy_name(out->own, own.name);
	}
	if (head.name)
		copy_name(out->first, head.name);
	if (leftover.name)
		copy_name(out->leftover, leftover.name);
}

/* Whether a number says nothing about the order among its like. */
static bool spent(int32_t sequence)
{
	return sequence == INT32_MAX || sequence < INT32_MIN + PAST_THE_WRAP;
}

void tenure_queue_settle(const char *const *names, size_t n, const char *behind, struct tenure_queue_view *view)
{
	struct candidate own = {.name = NULL}, c, open = {.name = NULL};
	struct ahead ahead = {.count = 0};
	size_t of_no_order = 0, not_settled = 0;

	view->doubtful = view->first_doubtful = false;
	for (size_t i = 0; i < n; i++) {
		if (read_candidate(names[i], &c) < 0)
			continue;
		of_no_order += spent(c.parsed.sequence);
		if (strcmp(c.name, view->own) == 0)
			own = c;
	}
	if (of_no_order < 2)
		return;
	view->first_doubtful = read_candidate(view->first, &c) == 0 && spent(c.parsed.sequence);
	if (!own.name || !spent(own.parsed.sequence))
		return;

	for (size_t i = 0; i < n; i++) {
		if (read_candidate(names[i], &c) < 0 || strcmp(c.name, own.name) == 0)
			continue;
		if (spent(c.parsed.sequence) && strcmp(c.name, behind) > 0) {
			not_settled++;
			if (!open.name || strcmp(c.name, open.name) < 0)
				open = c;
		} else if (!spent(c.parsed.sequence) && precedes(&c, &own)) {
			add_ahead(&ahead, &c);
		}
	}
	show_ahead(&ahead, view);
	view->position += not_settled;
	view->doubtful = not_settled > 0;
	if (view->doubtful) {
		copy_name(view->before, view->predecessor);
		copy_name(view->predecessor, open.name);
	}
}
