/* What outlives a supervisor, as text. See saved.h. */
#include "supervisor/saved.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSION_HEAD "tenure-state 1 session\n"
#define TERM_HEAD    "tenure-state 1 term\n"
#define END_NAME     "checksum "

enum { VALUE_SIZE = 3 * SAVED_PATH_SIZE + 1 };

enum kind { NUMBER, HEX, COUNT, FLAG, TEXT, BYTES };

struct field {
	const char *name;
	enum kind kind;
	size_t offset, size;
};

#define FIELD(type, kind, name, member)                                              \
	{                                                                            \
		name, kind, offsetof(struct type, member), sizeof(((struct type *)0)->member) \
	}
#define SESSION(kind, name, member) FIELD(saved_session, kind, name, member)
#define TERM(kind, name, member)    FIELD(saved_term, kind, name, member)
#define ROLE(kind, name)	    TERM(kind, "role." #name, role.name)

static const struct field session_fields[] = {
	SESSION(TEXT, "boot", boot),
	SESSION(TEXT, "member", member),
	SESSION(COUNT, "supervisor.pid", supervisor.pid),
	SESSION(HEX, "supervisor.start", supervisor.start),
	SESSION(HEX, "agent", agent),
	SESSION(HEX, "identity", identity),
	SESSION(HEX, "session.id", session.id),
	SESSION(BYTES, "session.password", session.password),
	SESSION(NUMBER, "session.timeout_ns", session.timeout_ns),
	SESSION(NUMBER, "lease_start_ns", lease_start_ns),
	SESSION(COUNT, "elections", elections),
	SESSION(TEXT, "watchdog", watchdog),
};

static const struct field term_fields[] = {
	TERM(TEXT, "boot", boot),
	TERM(TEXT, "election", election),
	TERM(HEX, "identity", identity),
	TERM(HEX, "session.id", session_id),
	ROLE(COUNT, state),
	ROLE(COUNT, reason),
	ROLE(COUNT, leave_reason),
	ROLE(COUNT, transitions),
	ROLE(NUMBER, token),
	ROLE(NUMBER, spent),
	ROLE(NUMBER, timeout_ns),
	ROLE(NUMBER, lease_start_ns),
	ROLE(FLAG, lease_over),
	ROLE(FLAG, established),
	ROLE(FLAG, service),
	ROLE(FLAG, healthy),
	ROLE(NUMBER, active_since_ns),
	ROLE(NUMBER, followed),
	ROLE(NUMBER, retry_at_ns),
	ROLE(NUMBER, follow_at_ns),
	ROLE(COUNT, failures),
	ROLE(COUNT, follow_failures),
	ROLE(FLAG, panic_told),
	ROLE(FLAG, fence_tried),
	ROLE(FLAG, at_rest),
	TERM(TEXT, "candidate", candidate),
	TERM(NUMBER, "czxid", czxid),
	TERM(NUMBER, "left", left),
	TERM(FLAG, "leaving", leaving),
	TERM(NUMBER, "giving_up", giving_up),
	TERM(NUMBER, "demoted_token", demoted_token),
	TERM(NUMBER, "since_ms", since_ms),
	TERM(FLAG, "has_previous", has_previous),
	TERM(TEXT, "previous.member", previous.member),
	TERM(TEXT, "previous.address", previous.address),
	TERM(NUMBER, "previous.token", previous.token),
	TERM(COUNT, "previous.phase", previous.phase),
	TERM(COUNT, "previous.clean", previous.clean),
	TERM(TEXT, "previous.since", previous.since),
	TERM(COUNT, "hook.pid", hook.pid),
	TERM(HEX, "hook.start", hook.start),
	TERM(COUNT, "service.pid", service.pid),
	TERM(HEX, "service.start", service.start),
};

enum {
	SESSION_FIELDS = sizeof(session_fields) / sizeof(session_fields[0]),
	TERM_FIELDS = sizeof(term_fields) / sizeof(term_fields[0]),
};

/* FNV-1a, 64 bit. */
uint64_t saved_digest(uint64_t seed, const void *bytes, size_t size)
{
	const unsigned char *byte = bytes;
	uint64_t digest = seed != 0 ? seed : UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		digest = (digest ^ byte[i]) * UINT64_C(0x100000001b3);
	return digest;
}

/* ---- writing ---- */

/* A byte that could end a line or a value, or that a terminal would act upon, is written as %XX. */
static void escape(const char *value, char *out)
{
	for (; *value != '\0'; value++) {
		if (isgraph((unsigned char)*value) && *value != '%')
			*out++ = *value;
		else
			out += sprintf(out, "%%%02x", (unsigned char)*value);
	}
	*out = '\0';
}

static void write_bytes(const unsigned char *bytes, size_t size, char *out)
{
	for (size_t i = 0; i < size; i++)
		out += sprintf(out, "%02x", bytes[i]);
}

static void write_value(const struct field *field, const void *from, char value[VALUE_SIZE])
{
	int64_t number = 0;
	uint64_t hex = 0;
	uint32_t count = 0;

	switch (field->kind) {
	case NUMBER:
		memcpy(&number, from, sizeof(number));
		snprintf(value, VALUE_SIZE, "%" PRId64, number);
		break;
	case HEX:
		memcpy(&hex, from, sizeof(hex));
		snprintf(value, VALUE_SIZE, "%" PRIx64, hex);
		break;
	case COUNT:
		memcpy(&count, from, sizeof(count));
		snprintf(value, VALUE_SIZE, "%" PRIu32, count);
		break;
	case FLAG:
		snprintf(value, VALUE_SIZE, "%d", *(const bool *)from);
		break;
	case TEXT:
		escape(from, value);
		break;
	case BYTES:
		write_bytes(from, field->size, value);
		break;
	}
}

static size_t write_all(const char *head, const struct field *fields, size_t count, const void *from, char *text)
{
	char value[VALUE_SIZE];
	size_t used = (size_t)sprintf(text, "%s", head);

	for (size_t i = 0; i < count; i++) {
		write_value(&fields[i], (const char *)from + fields[i].offset, value);
		used += (size_t)snprintf(text + used, SAVED_SIZE - used, "%s %s\n", fields[i].name, value);
		assert(used < SAVED_SIZE);
	}
	used += (size_t)snprintf(text + used, SAVED_SIZE - used, END_NAME "%016" PRIx64 "\n", saved_digest(0, text, used));
	assert(used < SAVED_SIZE);
	return used;
}

size_t saved_session_write(const struct saved_session *session, char *text)
{
	return write_all(SESSION_HEAD, session_fields, SESSION_FIELDS, session, text);
}

size_t saved_term_write(const struct saved_term *term, char *text)
{
	return write_all(TERM_HEAD, term_fields, TERM_FIELDS, term, text);
}

/* ---- reading ---- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Two digits at TEXT, or -1. */
static int hex_byte(const char *text)
{
	int high = hex_digit(text[0]), low = high < 0 ? -1 : hex_digit(text[1]);

	return low < 0 ? -1 : high * 16 + low;
}

static bool read_text(const char *value, char *out, size_t size)
{
	size_t used = 0;

	while (*value != '\0') {
		int byte = *value == '%' ? hex_byte(value + 1) : (unsigned char)*value;

		if (byte <= 0 || used + 1 >= size)
			return false;
		value += *value == '%' ? 3 : 1;
		out[used++] = (char)byte;
	}
	memset(out + used, 0, size - used);
	return true;
}

static bool read_bytes(const char *value, unsigned char *out, size_t size)
{
	if (strlen(value) != 2 * size)
		return false;
	for (size_t i = 0; i < size; i++) {
		int byte = hex_byte(value + 2 * i);

		if (byte < 0)
			return false;
		out[i] = (unsigned char)byte;
	}
	return true;
}

/* Only as it is written: nothing before the digits and nothing behind them, and no number too many. */
static bool read_integer(const struct field *field, const char *value, void *out)
{
	char again[VALUE_SIZE];
	int64_t number = strtoll(value, NULL, 10);
	uint64_t hex = strtoull(value, NULL, 16);
	uint32_t count = (uint32_t)strtoull(value, NULL, 10);
	bool flag = value[0] == '1';
	const void *from = &number;

	if (field->kind == HEX)
		from = &hex;
	else if (field->kind == COUNT)
		from = &count;
	else if (field->kind == FLAG)
		from = &flag;
	write_value(field, from, again);
	if (strcmp(again, value) != 0)
		return false;
	memcpy(out, from, field->size);
	return true;
}

static bool read_value(const struct field *field, const char *value, void *out)
{
	if (field->kind == TEXT)
		return read_text(value, out, field->size);
	if (field->kind == BYTES)
		return read_bytes(value, out, field->size);
	return read_integer(field, value, out);
}

/* The next line as a string in LINE, without its newline. Returns what follows, or NULL when there is none that fits. */
static const char *next_line(const char *text, const char *end, char *line, size_t size)
{
	const char *newline = memchr(text, '\n', (size_t)(end - text));
	size_t length = newline ? (size_t)(newline - text) : size;

	if (length >= size || memchr(text, '\0', length))
		return NULL;
	memcpy(line, text, length);
	line[length] = '\0';
	return newline + 1;
}

/* The part before the checksum, whose length is returned; 0: there is none that is right. */
static size_t checked(const char *text, size_t size)
{
	char end[sizeof(END_NAME) + 17];
	size_t length = sizeof(END_NAME) - 1 + 16 + 1;

	if (size <= length || size >= SAVED_SIZE)
		return 0;
	snprintf(end, sizeof(end), END_NAME "%016" PRIx64 "\n", saved_digest(0, text, size - length));
	return memcmp(text + size - length, end, length) == 0 ? size - length : 0;
}

static int read_all(const char *head, const struct field *fields, size_t count, const char *text, size_t size, void *out)
{
	char line[VALUE_SIZE + 64];
	size_t length = checked(text, size), head_length = strlen(head);
	const char *end = text + length;

	if (length < head_length || memcmp(text, head, head_length) != 0)
		return -EBADMSG;
	text += head_length;
	for (size_t i = 0; i < count; i++) {
		size_t name = strlen(fields[i].name);

		text = next_line(text, end, line, sizeof(line));
		if (!text || strncmp(line, fields[i].name, name) != 0 || line[name] != ' ' ||
		    !read_value(&fields[i], line + name + 1, (char *)out + fields[i].offset))
			return -EBADMSG;
	}
	return text == end ? 0 : -EBADMSG;
}

int saved_session_read(const char *text, size_t size, struct saved_session *out)
{
	struct saved_session session;

	memset(&session, 0, sizeof(session));
	if (read_all(SESSION_HEAD, session_fields, SESSION_FIELDS, text, size, &session) < 0)
		return -EBADMSG;
	if (session.supervisor.pid < 1 || session.session.timeout_ns < 0 || session.lease_start_ns < 0)
		return -EBADMSG;
	*out = session;
	return 0;
}

static bool is_process(const struct saved_process *process)
{
	return process->pid >= 0 && process->pid != 1;
}

static bool is_term(const struct saved_term *term)
{
	const struct role_saved *role = &term->role;

	return role->state < ROLE_STATE_COUNT && role->reason < TENURE_REASON_COUNT &&
	       role->leave_reason < TENURE_REASON_COUNT && role->token >= 0 && term->left >= 0 && term->czxid >= 0 &&
	       role->timeout_ns >= 0 && role->lease_start_ns >= 0 && term->previous.phase <= TENURE_PHASE_ACTIVE &&
	       term->previous.clean <= TENURE_CLEAN_FENCED && is_process(&term->hook) && is_process(&term->service);
}

int saved_term_read(const char *text, size_t size, struct saved_term *out)
{
	struct saved_term term;

	memset(&term, 0, sizeof(term));
	if (read_all(TERM_HEAD, term_fields, TERM_FIELDS, text, size, &term) < 0 || !is_term(&term))
		return -EBADMSG;
	*out = term;
	return 0;
}
