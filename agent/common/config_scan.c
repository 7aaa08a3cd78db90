/* The scan before libconfuse: its grammar walked once, for everything that libconfuse would let pass. */
#include "common/config_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct title {
	char text[TENURE_ELECTION_SIZE + 1]; /* one byte more than allowed, to tell */
	unsigned line;
};

struct scan {
	struct config_lexer lexer;
	struct config_report *report; /* what is wrong without keeping us from reading on */
	struct config_report *syntax; /* what ends the scan; then the rest is guesswork and not said */
	struct title *titles;
	size_t title_count;
	bool no_memory;
};

/* The inside of one pair of braces, or the file. */
struct block {
	unsigned section;  /* CONFIG_NO_SECTION: unknown, only walked */
	const char *where; /* "election "pg": hooks: ", for messages */
	unsigned line;	   /* of its opening brace */
	unsigned depth;
	unsigned option_lines[CONFIG_RULES_MAX];
	unsigned section_lines[CONFIG_SECTION_COUNT];
};

static int scan_block(struct scan *s, struct block *b);

/* Takes a part out of the text, so that libconfuse does not stop at it. Lines stay. */
static void blank(struct scan *s, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++) {
		if (s->lexer.out[i] != '\n')
			s->lexer.out[i] = ' ';
	}
}

static void take_name(const struct scan *s, const struct config_token *token, char *buf, size_t size)
{
	size_t begin = token->begin, end = token->end;

	if (token->kind == CONFIG_TOKEN_STRING) {
		begin++;
		end--;
	}
	snprintf(buf, size, "%.*s", (int)(end - begin < size ? end - begin : size - 1), s->lexer.out + begin);
}

static int unexpected(struct scan *s, const struct config_token *token, const char *expected)
{
	char text[80];

	if (token->kind != CONFIG_TOKEN_ERROR)
		config_report_add(s->syntax, token->line, "expected %s, found %s", expected,
				  config_token_text(&s->lexer, token, text, sizeof(text)));
	return -EINVAL;
}

/* The rest of a list whose brace is read. */
static int scan_list(struct scan *s, const char *where, const char *name, unsigned line)
{
	char expected[CONFIG_WHERE_SIZE + 96];
	bool after_value = false;

	for (;;) {
		struct config_token t = config_lex_next(&s->lexer);
		if (t.kind == CONFIG_TOKEN_CLOSE)
			return 0;
		if (t.kind == CONFIG_TOKEN_END) {
			config_report_add(s->syntax, line,
					  "%s%s: the list that begins here with \"{\" is never closed", where,
					  name);
			return -EINVAL;
		}
		bool value = t.kind == CONFIG_TOKEN_WORD || t.kind == CONFIG_TOKEN_STRING;
		if (after_value ? t.kind != CONFIG_TOKEN_COMMA : !value) {
			snprintf(expected, sizeof(expected),
				 "%s or \"}\" in the list of \"%s\" that begins on line %u",
				 after_value ? "\",\"" : "a text", name, line);
			return unexpected(s, &t, expected);
		}
		after_value = !after_value;
	}
}

/* The value of option NAME on LINE, whose "=" is read. Sets *IS_LIST. */
static int scan_value(struct scan *s, const char *where, const char *name, unsigned line, bool *is_list)
{
	struct config_token t = config_lex_next(&s->lexer);

	*is_list = t.kind == CONFIG_TOKEN_OPEN;
	if (*is_list)
		return scan_list(s, where, name, t.line);
	if (t.kind != CONFIG_TOKEN_WORD && t.kind != CONFIG_TOKEN_STRING) {
		char expected[96];
		snprintf(expected, sizeof(expected), "the value of \"%s\"", name);
		if (t.kind == CONFIG_TOKEN_END)
			t.line = line;
		return unexpected(s, &t, expected);
	}
	return 0;
}

/* Whether the option may stay for libconfuse; if not, reports why. */
static bool judge_option(struct scan *s, struct block *b, const char *name, unsigned line, bool append,
			 bool is_list)
{
	const struct config_rule *rule = config_rule_find(b->section, name);

	if (rule == NULL && config_section_find(b->section, name) != CONFIG_NO_SECTION) {
		config_report_add(s->report, line, "%s%s: is a section; write %s { ... }", b->where, name,
				  name);
		return false;
	}
	if (rule == NULL) {
		config_report_add(s->report, line, "%s%s: unknown option", b->where, name);
		return false;
	}
	unsigned *first = &b->option_lines[rule - config_rules];
	if (*first != 0) {
		config_report_add(s->report, line, "%s%s: set a second time; the first is on line %u",
				  b->where, name, *first);
		return false;
	}
	*first = line;
	if (append) {
		config_report_add(s->report, line, "%s%s: \"+=\" is not supported; write one list with \"=\"",
				  b->where, name);
		return false;
	}
	if (is_list && !config_rule_is_list(rule)) {
		config_report_add(s->report, line, "%s%s: takes one value, not a list", b->where, name);
		return false;
	}
	return true;
}

static bool title_good(const char *title)
{
	size_t length = strlen(title);

	return length > 0 && length < TENURE_ELECTION_SIZE && strcmp(title, ".") != 0 &&
	       strcmp(title, "..") != 0 &&
	       strspn(title, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == length;
}

/* Whether the election TITLE may stay; if so, notes it. */
static bool judge_title(struct scan *s, const char *title, unsigned line)
{
	if (!title_good(title)) /* it stays all the same, so that its values are looked at */
		config_report_add(
			s->report, line,
			"election \"%.64s\": a name is 1 to %d letters, digits, \"-\", \"_\" or \".\"", title,
			TENURE_ELECTION_SIZE - 1);
	for (size_t i = 0; i < s->title_count; i++) {
		if (strcmp(s->titles[i].text, title) == 0) {
			config_report_add(s->report, line,
					  "election \"%s\": there is one of that name on line %u", title,
					  s->titles[i].line);
			return false;
		}
	}
	if (s->title_count == CONFIG_ELECTIONS_MAX) {
		config_report_add(s->report, line, "election \"%s\": more than %d elections", title,
				  CONFIG_ELECTIONS_MAX);
		return false;
	}
	struct title *grown = realloc(s->titles, (s->title_count + 1) * sizeof(*grown));
	if (grown == NULL) {
		s->no_memory = true;
		return false;
	}
	s->titles = grown;
	snprintf(grown[s->title_count].text, sizeof(grown->text), "%s", title);
	grown[s->title_count++].line = line;
	return true;
}

/* Whether the section may stay; *SECTION is what it is. TITLE is NULL when there is none. */
static bool judge_section(struct scan *s, struct block *b, const char *name, const char *title, unsigned line,
			  unsigned *section)
{
	*section =
		b->section == CONFIG_NO_SECTION ? CONFIG_NO_SECTION : config_section_find(b->section, name);
	if (b->section == CONFIG_NO_SECTION)
		return false;
	if (*section == CONFIG_NO_SECTION) {
		bool option = config_rule_find(b->section, name) != NULL;
		config_report_add(s->report, line,
				  option ? "%s%s: is an option; write %s = ..." : "%s%s: unknown section",
				  b->where, name, name);
		return false;
	}
	if (config_sections[*section].titled) {
		if (title == NULL)
			config_report_add(s->report, line, "%s%s: needs a name; write %s \"name\" { ... }",
					  b->where, name, name);
		return title != NULL && judge_title(s, title, line);
	}
	if (title != NULL) {
		config_report_add(s->report, line, "%s%s: takes no name; write %s { ... }", b->where, name,
				  name);
		return false;
	}
	if (b->section_lines[*section] != 0) {
		config_report_add(s->report, line, "%s%s: a second such section; the first is on line %u",
				  b->where, name, b->section_lines[*section]);
		return false;
	}
	b->section_lines[*section] = line;
	return true;
}

/* The section NAME, whose brace BRACE is read. BEGIN is where it begins in the text. */
static int scan_section(struct scan *s, struct block *b, const char *name, const char *title, unsigned line,
			size_t begin, const struct config_token *brace)
{
	char where[CONFIG_WHERE_SIZE];
	unsigned section;

	if (b->depth == CONFIG_DEPTH_MAX) {
		config_report_add(s->syntax, brace->line, "more than %d braces within each other",
				  CONFIG_DEPTH_MAX);
		return -EINVAL;
	}
	bool keep = judge_section(s, b, name, title, line, &section);
	if (title != NULL)
		snprintf(where, sizeof(where), "%.100s%s \"%s\": ", b->where, name, title);
	else
		snprintf(where, sizeof(where), "%.150s%s: ", b->where, name);
	struct block *inner = calloc(1, sizeof(*inner));
	if (inner == NULL) {
		s->no_memory = true;
		return -ENOMEM;
	}
	inner->section = section;
	inner->where = where;
	inner->line = brace->line;
	inner->depth = b->depth + 1;
	int rc = scan_block(s, inner);
	free(inner);
	if (rc == 0 && !keep)
		blank(s, begin, s->lexer.length);
	return rc;
}

/* What follows the name at the beginning of an option or section. */
static int scan_item(struct scan *s, struct block *b, const struct config_token *first)
{
	char name[TENURE_ELECTION_SIZE + 1], title[TENURE_ELECTION_SIZE + 1], expected[160];
	struct config_token t = config_lex_next(&s->lexer);
	bool titled = false;

	take_name(s, first, name, sizeof(name));
	if (t.kind == CONFIG_TOKEN_EQUALS || t.kind == CONFIG_TOKEN_APPEND) {
		bool is_list;
		int rc = scan_value(s, b->where, name, first->line, &is_list);
		if (rc < 0)
			return rc;
		if (b->section != CONFIG_NO_SECTION &&
		    !judge_option(s, b, name, first->line, t.kind == CONFIG_TOKEN_APPEND, is_list))
			blank(s, first->begin, s->lexer.length);
		return 0;
	}
	if (b->section != CONFIG_NO_SECTION && config_rule_find(b->section, name) != NULL &&
	    t.kind != CONFIG_TOKEN_OPEN) {
		snprintf(expected, sizeof(expected), "\"=\" after \"%s\"", name);
		return unexpected(s, &t, expected);
	}
	if (t.kind == CONFIG_TOKEN_WORD || t.kind == CONFIG_TOKEN_STRING) {
		titled = true;
		take_name(s, &t, title, sizeof(title));
		t = config_lex_next(&s->lexer);
	}
	if (t.kind != CONFIG_TOKEN_OPEN) {
		snprintf(expected, sizeof(expected),
			 "\"=\" or \"{\" after \"%s\" (a value with spaces needs quotes)", name);
		return unexpected(s, &t, expected);
	}
	return scan_section(s, b, name, titled ? title : NULL, first->line, first->begin, &t);
}

static int scan_block(struct scan *s, struct block *b)
{
	for (;;) {
		struct config_token t = config_lex_next(&s->lexer);
		if (t.kind == CONFIG_TOKEN_WORD) {
			int rc = scan_item(s, b, &t);
			/* Every block still open at the end is named, the innermost being the one in which it
			 * was noticed. */
			if (rc == -ENODATA && b->depth > 0)
				config_report_add(s->syntax, b->line,
						  "%sthe \"{\" that opens it is never closed", b->where);
			if (rc < 0)
				return rc;
		} else if (t.kind == CONFIG_TOKEN_END && b->depth > 0) {
			config_report_add(s->syntax, b->line, "%sthe \"{\" that opens it is never closed",
					  b->where);
			return -ENODATA;
		} else if (t.kind == CONFIG_TOKEN_END) {
			return 0;
		} else if (t.kind == CONFIG_TOKEN_CLOSE && b->depth > 0) {
			return 0;
		} else if (t.kind == CONFIG_TOKEN_CLOSE) {
			config_report_add(s->syntax, t.line, "a \"}\" without its \"{\"");
			return -EINVAL;
		} else {
			return unexpected(s, &t, "the name of an option or section, without quotes");
		}
	}
}

/* Where text that libconfuse takes as the end of all begins. */
static bool find_nul(const unsigned char *text, size_t size, struct config_report *report)
{
	const unsigned char *nul = size > 0 ? memchr(text, 0, size) : NULL;
	unsigned line = 1;

	if (nul == NULL)
		return false;
	for (const unsigned char *c = text; c < nul; c++)
		line += *c == '\n';
	config_report_add(report, line, "a NUL byte: this is not a text file");
	return true;
}

static int finish(struct scan *s, struct config_scan *out)
{
	unsigned *lines = calloc(s->title_count + 1, sizeof(*lines));

	if (lines == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < s->title_count; i++)
		lines[i] = s->titles[i].line;
	s->lexer.out[s->lexer.length] = '\0';
	out->text = s->lexer.out;
	out->election_lines = lines;
	out->elections = s->title_count;
	s->lexer.out = NULL;
	return 0;
}

int config_scan(const unsigned char *text, size_t size, struct config_report *report, struct config_scan *out)
{
	struct config_report syntax = {.file = report->file, .errors = report->errors};
	struct scan s = {.report = report, .syntax = &syntax};
	struct block top = {.section = CONFIG_TOP, .where = ""};

	if (find_nul(text, size, report))
		return -EINVAL;
	s.lexer = (struct config_lexer){.in = text, .size = size, .line = 1, .report = &syntax};
	/* A byte order mark, as some editors write. */
	if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		s.lexer.at = 3;
	s.lexer.out = malloc(2 * size + 2);
	if (s.lexer.out == NULL)
		return -ENOMEM;
	int rc = scan_block(&s, &top);
	if (rc < 0 && !s.no_memory) {
		config_report_clear(report);
		*report = syntax;
		rc = -EINVAL;
	}
	if (s.no_memory)
		rc = -ENOMEM;
	if (rc == 0)
		rc = finish(&s, out);
	free(s.lexer.out);
	free(s.titles);
	return rc;
}

void config_scan_free(struct config_scan *scan)
{
	free(scan->text);
	free(scan->election_lines);
	*scan = (struct config_scan){0};
}
