/* What the parts of the configuration share: the table of options, the scan, the list of what is wrong. */
#ifndef TENURE_AGENT_CONFIG_INTERNAL_H
#define TENURE_AGENT_CONFIG_INTERNAL_H

#include "common/config.h"

enum {
	CONFIG_RULES_MAX = 96,
	CONFIG_REPORT_MAX = 200, /* errors said in one run */
	CONFIG_DEPTH_MAX = 16,	 /* braces within braces */
	CONFIG_TOKEN_MAX = 4096, /* bytes of a word or of a quoted text */
	CONFIG_WHERE_SIZE = 256,
	CONFIG_PATH_MAX = 512, /* bytes of a path, here and in ZooKeeper */
	CONFIG_SERVERS_MAX = 64,
};

/* The table of options (config_table.c). */

enum config_kind {
	CONFIG_TEXT,	/* printable ASCII without spaces: char * */
	CONFIG_PATH,	/* absolute and clean: char * */
	CONFIG_TIME,	/* int64_t, ns */
	CONFIG_INTEGER, /* int64_t */
	CONFIG_BOOL,	/* bool */
	CONFIG_CHOICE,	/* an enum */
	CONFIG_COMMAND, /* list: struct config_command */
	CONFIG_ENV,	/* list: env and env_count of struct config_election */
};

enum {
	CONFIG_EMPTY_OK = 1 << 0, /* "" is a value */
	CONFIG_ZERO_OK = 1 << 1,  /* 0 is a value although below the range */
	CONFIG_LATER = 1 << 2,	  /* checked, but not yet supported unless it is the default */
};

/* One option. */
struct config_rule {
	unsigned section; /* index in config_sections */
	const char *name;
	enum config_kind kind;
	const char *fallback; /* the default as it would be written; NULL for a list */
	int64_t min, max;     /* of a time: ms; of a text: bytes */
	const char *choices;  /* "open|creator|private", in the order of the enum */
	unsigned flags;
	size_t offset; /* in struct config_election within elections, else in struct config; SIZE_MAX: kept
			  nowhere */
};

struct config_section {
	const char *name;
	unsigned parent;
	bool titled;
};

enum config_section_index {
	CONFIG_TOP,
	CONFIG_ZOOKEEPER,
	CONFIG_TLS,
	CONFIG_CONTROL,
	CONFIG_HTTP,
	CONFIG_LOG,
	CONFIG_WATCHDOG,
	CONFIG_REALTIME,
	CONFIG_ELECTION,
	CONFIG_HOOKS,
	CONFIG_CHECK,
	CONFIG_SCORE,
	CONFIG_SERVICE,
	CONFIG_SECTION_COUNT,
	CONFIG_NO_SECTION = CONFIG_SECTION_COUNT,
};

extern const struct config_section config_sections[CONFIG_SECTION_COUNT];
extern const struct config_rule config_rules[];
extern const size_t config_rule_count;

/* The option or section NAME of SECTION; NULL and CONFIG_NO_SECTION when there is none. */
const struct config_rule *config_rule_find(unsigned section, const char *name);
unsigned config_section_find(unsigned parent, const char *name);

bool config_rule_is_list(const struct config_rule *rule);

/* What a value is. */
union config_reading {
	int64_t number;	  /* time in ns, integer, bool, index of a choice */
	const char *text; /* borrowed */
};

/* Reads TEXT as RULE says (config_values.c). Returns 0, or -EINVAL and WHY. */
int config_read_value(const struct config_rule *rule, const char *text, union config_reading *out, char *why,
		      size_t size);

/* What is wrong, kept until it can be said in the order of the lines (config_report.c). */
struct config_report {
	const char *file;
	struct config_errors *errors;
	size_t count;
	size_t dropped; /* beyond CONFIG_REPORT_MAX */
	struct {
		unsigned line; /* 0: of the file as a whole, or an override */
		char *text;
	} entries[CONFIG_REPORT_MAX];
};

/* LINE 0: the file as a whole. */
void config_report_add(struct config_report *r, unsigned line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Of "-o PREFIX NAME=...". */
void config_report_override(struct config_report *r, const char *prefix, const char *name, const char *text);

/* Forgets what was reported so far: a syntax error makes it guesswork. */
void config_report_clear(struct config_report *r);

/* Writes everything to the caller's stream, ordered by line, and clears. */
void config_report_flush(struct config_report *r);

/* The lexer (config_lex.c). */

enum config_token_kind {
	CONFIG_TOKEN_END,
	CONFIG_TOKEN_ERROR, /* reported */
	CONFIG_TOKEN_WORD,
	CONFIG_TOKEN_STRING,
	CONFIG_TOKEN_OPEN,
	CONFIG_TOKEN_CLOSE,
	CONFIG_TOKEN_EQUALS,
	CONFIG_TOKEN_APPEND,
	CONFIG_TOKEN_COMMA,
};

struct config_token {
	enum config_token_kind kind;
	unsigned line;
	size_t begin, end; /* in the lexer's out; of a string: with its quotes */
};

/*
 * Reads tokens of the file's text and writes the same text, line by line, in a form that libconfuse
 * reads as it was meant: comments blanked, escapes in one spelling, "${" made literal.
 */
struct config_lexer {
	const unsigned char *in;
	size_t size, at;
	unsigned line;
	char *out; /* 2 * size + 2 bytes, the caller's */
	size_t length;
	struct config_report *report;
};

struct config_token config_lex_next(struct config_lexer *lexer);

/* "x" or a description of the token, for messages, in BUF. */
const char *config_token_text(const struct config_lexer *lexer, const struct config_token *token, char *buf,
			      size_t size);

/* The scan (config_scan.c). */

struct config_scan {
	char *text;		  /* for libconfuse; what was reported is blanked */
	unsigned *election_lines; /* of the elections that are left, in their order */
	size_t elections;
};

/*
 * Walks the whole text once: braces, quotes, unknown options, duplicates, values where a list or a section
 * should be. Returns 0 with *OUT the caller's to free; -EINVAL after a syntax error, which is then all that
 * is reported; -ENOMEM.
 */
int config_scan(const unsigned char *text, size_t size, struct config_report *report,
		struct config_scan *out);
void config_scan_free(struct config_scan *scan);

/* The parse (config_parse.c) and its checks (config_check.c). */

struct config_parse {
	const struct config_options *options;
	struct config_report *report;
	struct config *config;
	bool no_memory;
	bool bad_times[CONFIG_SECTION_COUNT]; /* a time in that section is wrong: no arithmetic with it */
	const char *title;		      /* of the election being read */
	unsigned title_line;
	unsigned lines[CONFIG_RULES_MAX]; /* of each option as set; 0: default or override */
	bool overridden[CONFIG_RULES_MAX];
};

/* Reports FORMAT as the fault of option NAME of SECTION, at its line. */
void config_complain(struct config_parse *p, unsigned section, const char *name, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Whether the option was set, in the file or by an override. */
bool config_is_set(const struct config_parse *p, unsigned section, const char *name);

/* What is wrong with PATH as an absolute path, or NULL. */
const char *config_path_problem(const char *path);

/* What belongs to no single value (config_check.c). */
void config_check_top(struct config_parse *p);
void config_check_election(struct config_parse *p, struct config_election *e);
void config_check_elections(struct config_parse *p);

/* The servers' list, taken apart into the configuration (config_servers.c). */
void config_check_servers(struct config_parse *p);

/* Files that the agent reads or runs (config_files.c). A command's trouble is that of option NAME of SECTION. */
void config_check_auth(struct config_parse *p);
void config_check_command(struct config_parse *p, const struct config_election *e, unsigned section, const char *name,
			  const struct config_command *command);

/* Users and groups (config_users.c). The lookups return 0, -ENOENT or negative errno. */
int config_user_lookup(const char *name, struct config_user *user);
int config_group_lookup(const char *name, gid_t *gid);
void config_check_elector_user(struct config_parse *p);
void config_check_hook_user(struct config_parse *p, struct config_election *e);
void config_check_groups(struct config_parse *p);

/* What a lease that is renewed as it should be surely has left at any moment. */
int64_t config_lease_left(const struct config *c);

/* NS in seconds for people, as "8.1". */
const char *config_seconds(int64_t ns, char *buf, size_t size);

#endif
