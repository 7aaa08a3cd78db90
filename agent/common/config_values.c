/* From the text of a value to the value, by the table of options. */
#include "common/config_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int config_time(const char *text, int64_t *out_ns)
{
	static const struct {
		const char *suffix;
		int64_t ns;
	} units[] = {{"", TENURE_NS_PER_MS},
		     {"ms", TENURE_NS_PER_MS},
		     {"s", 1000 * TENURE_NS_PER_MS},
		     {"m", 60000 * TENURE_NS_PER_MS}};
	size_t digits = strspn(text, "0123456789");
	int64_t number = 0;
	bool overflow = false;

	if (digits == 0)
		return -EINVAL;
	for (size_t i = 0; i < digits; i++)
		overflow = overflow || __builtin_mul_overflow(number, 10, &number) ||
			   __builtin_add_overflow(number, text[i] - '0', &number);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(text + digits, units[i].suffix) != 0)
			continue;
		if (overflow || __builtin_mul_overflow(number, units[i].ns, &number))
			return -ERANGE;
		*out_ns = number;
		return 0;
	}
	return -EINVAL;
}

/* A decimal number; leading zeros mean nothing. */
static int read_integer(const char *text, int64_t *out)
{
	bool negative = text[0] == '-';
	const char *digits = text + negative;
	int64_t number = 0;

	if (*digits == '\0' || strspn(digits, "0123456789") != strlen(digits))
		return -EINVAL;
	for (; *digits != '\0'; digits++) {
		int digit = negative ? '0' - *digits : *digits - '0';
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, digit, &number))
			return -ERANGE;
	}
	*out = number;
	return 0;
}

/* Index of TEXT among "a|b|c", or -1. */
static int read_choice(const char *text, const char *choices)
{
	size_t length = strlen(text);

	for (int i = 0; *choices != '\0'; i++) {
		size_t n = strcspn(choices, "|");
		if (n == length && strncmp(choices, text, n) == 0)
			return i;
		choices += n + (choices[n] == '|');
	}
	return -1;
}

static int read_bool(const char *text)
{
	int i = read_choice(text, "false|true|no|yes|off|on");

	return i < 0 ? -1 : i % 2;
}

static const char *time_text(int64_t ms, char *buf, size_t size)
{
	if (ms >= 60000 && ms % 60000 == 0)
		snprintf(buf, size, "%" PRId64 "m", ms / 60000);
	else if (ms >= 1000 && ms % 1000 == 0)
		snprintf(buf, size, "%" PRId64 "s", ms / 1000);
	else
		snprintf(buf, size, "%" PRId64 "ms", ms);
	return buf;
}

static int read_time_value(const struct config_rule *rule, const char *text, int64_t *out, char *why,
			   size_t size)
{
	char low[32], high[32];
	int64_t ns = 0;
	int rc = config_time(text, &ns);

	if (rc == -EINVAL) {
		snprintf(why, size, "\"%.80s\" is not a time; write 4000, 4000ms, 4s or 2m", text);
		return -EINVAL;
	}
	bool zero = rc == 0 && ns == 0 && (rule->flags & CONFIG_ZERO_OK) != 0;
	if (rc < 0 || (!zero && (ns < rule->min * TENURE_NS_PER_MS || ns > rule->max * TENURE_NS_PER_MS))) {
		snprintf(why, size, "\"%.80s\" is out of range: %s%s to %s", text,
			 (rule->flags & CONFIG_ZERO_OK) != 0 ? "0, or " : "",
			 time_text(rule->min, low, sizeof(low)), time_text(rule->max, high, sizeof(high)));
		return -EINVAL;
	}
	*out = ns;
	return 0;
}

static int read_text_value(const struct config_rule *rule, const char *text, char *why, size_t size)
{
	const char *problem = NULL;

	if (*text == '\0' && (rule->flags & CONFIG_EMPTY_OK) != 0)
		return 0;
	for (const char *c = text; *c != '\0'; c++) {
		if (*c < 0x20 || *c > 0x7e)
			problem = "has a character that is not printable ASCII";
		else if (*c == ' ' && problem == NULL && rule->kind == CONFIG_TEXT &&
			 rule->section != CONFIG_ZOOKEEPER)
			problem = "has a space in it";
	}
	if (*text == '\0')
		problem = "is empty";
	else if (problem == NULL && strlen(text) > (size_t)rule->max)
		problem = "is too long";
	else if (problem == NULL && rule->kind == CONFIG_PATH)
		problem = config_path_problem(text);
	if (problem == NULL)
		return 0;
	snprintf(why, size, "\"%.80s\" %s", text, problem);
	return -EINVAL;
}

int config_read_value(const struct config_rule *rule, const char *text, union config_reading *out, char *why,
		      size_t size)
{
	int rc = 0;

	switch (rule->kind) {
	case CONFIG_TIME:
		return read_time_value(rule, text, &out->number, why, size);
	case CONFIG_INTEGER:
		rc = read_integer(text, &out->number);
		if (rc == -EINVAL)
			snprintf(why, size, "\"%.80s\" is not a whole number", text);
		else if (rc < 0 || out->number < rule->min || out->number > rule->max) {
			snprintf(why, size, "\"%.80s\" is out of range: %" PRId64 " to %" PRId64, text,
				 rule->min, rule->max);
			rc = -EINVAL;
		}
		return rc;
	case CONFIG_BOOL:
		out->number = read_bool(text);
		if (out->number < 0)
			snprintf(why, size, "\"%.80s\" is neither true nor false", text);
		return out->number < 0 ? -EINVAL : 0;
	case CONFIG_CHOICE:
		out->number = read_choice(text, rule->choices);
		if (out->number < 0)
			snprintf(why, size, "\"%.80s\" is none of %s", text, rule->choices);
		return out->number < 0 ? -EINVAL : 0;
	default:
		out->text = text;
		return read_text_value(rule, text, why, size);
	}
}
