/*
 * The configuration: its scan and its parse, files and users not looked at.
 * Lines "#-o KEY=VALUE" at the beginning are overrides; to the parser they are comments.
 */
#include "fuzz.h"

#include <errno.h>
#include <stdio.h>

#include "common/config_internal.h"

enum { OVERRIDES_MAX = CONFIG_OVERRIDES_MAX + 1 };

struct overrides {
	char *texts[OVERRIDES_MAX];
	size_t count;
};

/* Takes the overrides from the beginning of TEXT. */
static void find_overrides(const uint8_t *data, size_t size, struct overrides *o)
{
	static const char mark[] = "#-o ";
	const size_t n = sizeof(mark) - 1;

	o->count = 0;
	while (size > n && memcmp(data, mark, n) == 0 && o->count < OVERRIDES_MAX) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t length = end ? (size_t)(end - data) : size;

		o->texts[o->count++] = fuzz_text(data + n, length - n);
		data += length;
		size -= length;
		if (size > 0) {
			data++;
			size--;
		}
	}
}

static size_t count_byte(const char *text, size_t size, char byte)
{
	size_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += text[i] == byte;
	return count;
}

/* Scans TEXT. Returns what config_scan does, with *REPORTED set. */
static int scan(const char *text, size_t size, struct config_scan *out, bool *reported)
{
	struct config_errors errors = {0};
	struct config_report report = {.file = "fuzz.conf", .errors = &errors};
	int rc = config_scan((const unsigned char *)text, size, &report, out);

	*reported = report.count + report.dropped > 0;
	assert(rc == 0 || (rc == -EINVAL && *reported));
	config_report_clear(&report);
	return rc;
}

/* What the scan writes has the same lines, and is what the scan of it would write. */
static size_t check_scan(const char *text, size_t size)
{
	struct config_scan first = {0}, second = {0};
	bool reported, again;
	size_t elections;

	if (scan(text, size, &first, &reported) < 0)
		return SIZE_MAX;
	elections = first.elections;
	assert(count_byte(first.text, strlen(first.text), '\n') == count_byte(text, size, '\n'));
	assert(scan(first.text, strlen(first.text), &second, &again) == 0);
	assert(strcmp(first.text, second.text) == 0);
	assert(second.elections == elections);
	assert(reported || !again);
	config_scan_free(&first);
	config_scan_free(&second);
	return elections;
}

/*
 * A line for each error, or one for all beyond CONFIG_REPORT_MAX; each of the file or an override, printable, in
 * the order of the file's lines.
 */
static void check_errors(const char *said, size_t size, unsigned count)
{
	unsigned last = 0, lines = count <= CONFIG_REPORT_MAX ? count : CONFIG_REPORT_MAX + 1;

	assert(count_byte(said, size, '\n') == lines);
	for (const char *line = said, *end; *line != '\0'; line = end + 1) {
		end = strchr(line, '\n');
		assert(end != NULL);
		assert(strncmp(line, "fuzz.conf:", 10) == 0 || strncmp(line, "-o ", 3) == 0);
		for (const char *c = line; c < end; c++)
			assert((unsigned char)*c >= 0x20 && *c != 0x7f);
		/* What concerns the file as a whole has no number. */
		if (line[0] == 'f' && line[10] != ' ') {
			unsigned number = (unsigned)strtoul(line + 10, NULL, 10);

			assert(number >= last);
			last = number;
		}
	}
}

static struct config *parse(const char *text, size_t size, const struct overrides *o)
{
	struct config *config = NULL;
	char *said;
	size_t said_size;
	struct config_errors errors = {.stream = open_memstream(&said, &said_size)};
	struct config_options options = {.file = "fuzz.conf",
					 .overrides = (const char *const *)o->texts,
					 .override_count = o->count};
	int rc = config_parse((const unsigned char *)text, size, &options, &errors, &config);

	fclose(errors.stream);
	assert(rc == 0 || rc == -EINVAL);
	assert((rc == 0) == (config != NULL));
	assert((rc == 0) == (errors.count == 0));
	check_errors(said, said_size, errors.count);
	free(said);
	return config;
}

static void check_text(const struct config_rule *rule, const char *text)
{
	if (text == NULL || *text == '\0')
		return; /* a user not set, or an empty text where that is allowed */
	assert(strlen(text) <= (size_t)rule->max);
	for (const char *c = text; *c != '\0'; c++)
		assert(*c >= 0x20 && *c <= 0x7e);
	assert(rule->kind != CONFIG_PATH || config_path_problem(text) == NULL);
}

static void check_words(char *const *words, size_t count)
{
	assert(count <= CONFIG_WORDS_MAX);
	assert((words == NULL) == (count == 0));
	for (size_t i = 0; i < count; i++)
		assert(words[i] != NULL);
	assert(words == NULL || words[count] == NULL);
}

/* Whether the value that RULE has in BASE is one that it allows. */
static void check_value(const struct config_rule *rule, const void *base)
{
	const char *at = (const char *)base + rule->offset;
	const struct config_command *command = (const void *)at;
	const struct config_election *election = base;
	int64_t number;
	char *text;
	int choice;

	switch (rule->kind) {
	case CONFIG_TIME:
		memcpy(&number, at, sizeof(number));
		assert((number == 0 && (rule->flags & CONFIG_ZERO_OK) != 0) ||
		       (number >= rule->min * TENURE_NS_PER_MS && number <= rule->max * TENURE_NS_PER_MS));
		break;
	case CONFIG_CHOICE:
		memcpy(&choice, at, sizeof(choice));
		assert(choice >= 0 &&
		       (size_t)choice <= count_byte(rule->choices, strlen(rule->choices), '|'));
		break;
	case CONFIG_COMMAND:
		check_words(command->words, command->count);
		break;
	case CONFIG_ENV:
		check_words(election->env, election->env_count);
		break;
	case CONFIG_TEXT:
	case CONFIG_PATH:
		memcpy(&text, at, sizeof(text));
		check_text(rule, text);
		break;
	default:
		break;
	}
}

static void check_election(const struct config *c, const struct config_election *e)
{
	assert(e->name[0] != '\0' && strlen(e->name) < TENURE_ELECTION_SIZE && !strchr(e->name, '/'));
	assert(config_path_problem(e->path) == NULL);
	assert(!e->candidate || tenure_budget_fits(&e->budget, c->zookeeper.session_timeout_ns));
	assert(!e->gain.command.words || e->lose.command.words);
	assert(e->backoff_ns <= e->backoff_max_ns);
	assert(config_same_election(e, e));
	for (const struct config_election *other = c->elections; other < e; other++)
		assert(strcmp(other->name, e->name) != 0 && strcmp(other->path, e->path) != 0);
}

static void check_config(const struct config *c)
{
	for (size_t i = 0; i < config_rule_count; i++) {
		const struct config_rule *rule = &config_rules[i];
		bool inner = rule->section == CONFIG_ELECTION ||
			     config_sections[rule->section].parent == CONFIG_ELECTION;

		if (rule->offset == SIZE_MAX)
			continue;
		if (!inner)
			check_value(rule, c);
		for (size_t k = 0; inner && k < c->election_count; k++)
			check_value(rule, &c->elections[k]);
	}
	assert(c->member[0] != '\0' && c->zookeeper.count > 0);
	assert(config_same_session(c, c));
	for (size_t i = 0; i < c->election_count; i++)
		check_election(c, &c->elections[i]);
}

static char *explain(const struct config *c)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert(stream != NULL);
	config_explain(c, stream);
	fclose(stream);
	return text;
}

/* The elector is handed the text and the overrides: it must read the same. */
static void check_handed_on(const struct config *c, const struct overrides *o)
{
	struct config *again = parse((const char *)c->text, c->text_size, o);
	char *first = explain(c), *second;

	assert(again != NULL && config_same_session(c, again) && c->election_count == again->election_count);
	for (size_t i = 0; i < c->election_count; i++)
		assert(config_same_election(&c->elections[i], &again->elections[i]));
	second = explain(again);
	assert(strcmp(first, second) == 0);
	free(first);
	free(second);
	config_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct overrides o;
	size_t elections = check_scan(text, size);
	struct config *config;

	find_overrides(data, size, &o);
	config = parse(text, size, &o);
	if (config) {
		assert(config->election_count == elections);
		assert(config->text_size == size && memcmp(config->text, text, size) == 0);
		check_config(config);
		check_handed_on(config, &o);
		config_free(config);
	}
	for (size_t i = 0; i < o.count; i++)
		free(o.texts[i]);
	free(text);
	return 0;
}
