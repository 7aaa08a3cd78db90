/* The parse: libconfuse over the scanned text, then every value by the table of options. */
#include "common/config_internal.h"

#include <confuse.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A value as libconfuse read it, with its line. It is judged later, so that one error does not hide another.
 */
struct value {
	unsigned line;
	char text[];
};

/* libconfuse's error function has no argument of ours; its lexer is one per process anyway. */
static struct config_report *confuse_report;

static void on_confuse_error(cfg_t *cfg, const char *format, va_list args)
{
	char text[256];

	vsnprintf(text, sizeof(text), format, args);
	if (confuse_report != NULL)
		config_report_add(confuse_report, cfg != NULL ? (unsigned)cfg->line : 0, "%s", text);
}

/* Value callback of every option. */
static int keep_value(cfg_t *cfg, cfg_opt_t *opt, const char *text, void *result)
{
	size_t size = strlen(text) + 1;
	struct value *value = malloc(sizeof(*value) + size);

	(void)opt;
	if (value == NULL)
		return -1;
	value->line = (unsigned)cfg->line;
	memcpy(value->text, text, size);
	*(void **)result = value;
	return 0;
}

static void free_options(cfg_opt_t *options)
{
	for (cfg_opt_t *o = options; o != NULL && o->name != NULL; o++) {
		if (o->type == CFGT_SEC)
			free_options(o->subopts);
	}
	free(options);
}

/* libconfuse's description of SECTION from our table, or NULL without memory. */
static cfg_opt_t *make_options(unsigned section)
{
	cfg_opt_t *options = calloc(config_rule_count + CONFIG_SECTION_COUNT + 1, sizeof(*options));
	size_t n = 0;

	if (options == NULL)
		return NULL;
	for (size_t i = 0; i < config_rule_count; i++) {
		const struct config_rule *rule = &config_rules[i];
		if (rule->section != section)
			continue;
		cfg_opt_t one = CFG_PTR_CB(rule->name, NULL, CFGF_NONE, keep_value, free);
		cfg_opt_t list = CFG_PTR_LIST_CB(rule->name, NULL, CFGF_NONE, keep_value, free);
		options[n++] = config_rule_is_list(rule) ? list : one;
	}
	for (unsigned i = CONFIG_TOP + 1; i < CONFIG_SECTION_COUNT; i++) {
		if (config_sections[i].parent != section)
			continue;
		cfg_opt_t *inner = make_options(i);
		cfg_opt_t option = CFG_SEC(config_sections[i].name, inner,
					   config_sections[i].titled ? CFGF_MULTI | CFGF_TITLE : CFGF_NONE);
		options[n++] = option;
		if (inner == NULL) {
			options[n - 1].type = CFGT_NONE;
			free_options(options);
			return NULL;
		}
	}
	return options;
}

static void report_at(struct config_parse *p, const struct config_rule *rule, const char *text)
{
	unsigned line = p->lines[rule - config_rules];
	const char *section = config_sections[rule->section].name;

	if (p->overridden[rule - config_rules])
		config_report_override(p->report, rule->section == CONFIG_TOP ? "" : "zookeeper.", rule->name,
				       text);
	else if (rule->section == CONFIG_ELECTION)
		config_report_add(p->report, line != 0 ? line : p->title_line, "election \"%s\": %s: %s",
				  p->title, rule->name, text);
	else if (config_sections[rule->section].parent == CONFIG_ELECTION)
		config_report_add(p->report, line != 0 ? line : p->title_line, "election \"%s\": %s: %s: %s",
				  p->title, section, rule->name, text);
	else if (rule->section == CONFIG_TLS)
		config_report_add(p->report, line, "zookeeper: tls: %s: %s", rule->name, text);
	else if (rule->section == CONFIG_TOP)
		config_report_add(p->report, line, "%s: %s", rule->name, text);
	else
		config_report_add(p->report, line, "%s: %s: %s", section, rule->name, text);
}

void config_complain(struct config_parse *p, unsigned section, const char *name, const char *format, ...)
{
	char text[900];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	report_at(p, config_rule_find(section, name), text);
}

bool config_is_set(const struct config_parse *p, unsigned section, const char *name)
{
	size_t i = (size_t)(config_rule_find(section, name) - config_rules);

	return p->lines[i] != 0 || p->overridden[i];
}

/* The value that -o gives for RULE, or NULL; the last one counts. */
static const char *find_override(const struct config_parse *p, const struct config_rule *rule)
{
	const char *prefix = rule->section == CONFIG_TOP ? "" : "zookeeper.";
	size_t n = strlen(prefix), m = strlen(rule->name);

	if (rule->section != CONFIG_TOP && rule->section != CONFIG_ZOOKEEPER)
		return NULL;
	for (size_t i = p->options->override_count; i > 0; i--) {
		const char *text = p->options->overrides[i - 1];
		if (strncmp(text, prefix, n) == 0 && strncmp(text + n, rule->name, m) == 0 &&
		    text[n + m] == '=')
			return text + n + m + 1;
	}
	return NULL;
}

/* Reports overrides that name nothing that can be overridden. */
static void check_overrides(struct config_parse *p)
{
	for (size_t i = 0; i < p->options->override_count; i++) {
		const char *text = p->options->overrides[i];
		char key[80];
		size_t n = strcspn(text, "=");
		bool inner = strncmp(text, "zookeeper.", 10) == 0;

		snprintf(key, sizeof(key), "%.*s", n < sizeof(key) ? (int)n : (int)sizeof(key) - 1, text);
		if (text[n] != '=')
			config_report_override(p->report, "", key, "write KEY=VALUE");
		else if (config_rule_find(inner ? CONFIG_ZOOKEEPER : CONFIG_TOP, inner ? key + 10 : key) ==
			 NULL)
			config_report_override(
				p->report, "", key,
				"unknown; -o sets options of the top and \"zookeeper.\" ones only");
	}
	if (p->options->override_count > CONFIG_OVERRIDES_MAX)
		config_report_add(p->report, 0, "more than %d times -o", CONFIG_OVERRIDES_MAX);
}

static char *copy_text(struct config_parse *p, const char *text)
{
	char *copy = strdup(text);

	p->no_memory = p->no_memory || copy == NULL;
	return copy;
}

_Static_assert(sizeof(enum config_acl) == sizeof(int) && sizeof(enum log_level) == sizeof(int) &&
		       sizeof(enum config_on_exit) == sizeof(int),
	       "enums as int");

static void store_value(struct config_parse *p, const struct config_rule *rule,
			const union config_reading *value, void *base)
{
	char *at;
	int choice;

	if (rule->offset == SIZE_MAX)
		return;
	at = (char *)base + rule->offset;
	switch (rule->kind) {
	case CONFIG_TIME:
	case CONFIG_INTEGER:
		*(int64_t *)(void *)at = value->number;
		break;
	case CONFIG_BOOL:
		*(bool *)at = value->number != 0;
		break;
	case CONFIG_CHOICE:
		choice = (int)value->number;
		memcpy(at, &choice, sizeof(choice));
		break;
	default:
		*(char **)(void *)at = copy_text(p, value->text);
	}
}

static bool same_reading(const struct config_rule *rule, const union config_reading *a,
			 const union config_reading *b)
{
	if (rule->kind == CONFIG_TEXT || rule->kind == CONFIG_PATH)
		return strcmp(a->text, b->text) == 0;
	return a->number == b->number;
}

static void read_scalar(struct config_parse *p, cfg_opt_t *opt, const struct config_rule *rule, void *base)
{
	size_t index = (size_t)(rule - config_rules);
	const char *text = find_override(p, rule);
	union config_reading fallback, value;
	char why[256];

	p->overridden[index] = text != NULL;
	p->lines[index] = 0;
	if (text == NULL && cfg_opt_size(opt) > 0) {
		const struct value *v = cfg_opt_getnptr(opt, 0);
		p->lines[index] = v->line;
		text = v->text;
	}
	config_read_value(rule, rule->fallback, &fallback, why, sizeof(why));
	value = fallback;
	if (text != NULL && config_read_value(rule, text, &value, why, sizeof(why)) < 0) {
		report_at(p, rule, why);
		if (rule->kind == CONFIG_TIME)
			p->bad_times[rule->section] = true;
		value = fallback;
	} else if ((rule->flags & CONFIG_LATER) != 0 && !same_reading(rule, &value, &fallback)) {
		report_at(p, rule, "not yet supported");
	}
	store_value(p, rule, &value, base);
}

static void free_words(char **words)
{
	for (char **w = words; w != NULL && *w != NULL; w++)
		free(*w);
	free(words);
}

/* A list: a command's words or the environment. An empty one counts as not set. */
static void read_list(struct config_parse *p, cfg_opt_t *opt, const struct config_rule *rule, void *base)
{
	size_t index = (size_t)(rule - config_rules);
	unsigned count = cfg_opt_size(opt);

	p->lines[index] = 0;
	if (count == 0)
		return;
	p->lines[index] = ((const struct value *)cfg_opt_getnptr(opt, 0))->line;
	if (count > CONFIG_WORDS_MAX) {
		config_complain(p, rule->section, rule->name, "more than %d words", CONFIG_WORDS_MAX);
		return;
	}
	if ((rule->flags & CONFIG_LATER) != 0) {
		report_at(p, rule, "not yet supported");
		return;
	}
	char **words = calloc(count + 1, sizeof(*words));
	for (unsigned i = 0; words != NULL && i < count && !p->no_memory; i++)
		words[i] = copy_text(p, ((const struct value *)cfg_opt_getnptr(opt, i))->text);
	if (words == NULL || p->no_memory) {
		p->no_memory = true;
		free_words(words);
		return;
	}
	if (rule->kind == CONFIG_ENV) {
		struct config_election *e = base;
		e->env = words;
		e->env_count = count;
	} else {
		struct config_command *command = (void *)((char *)base + rule->offset);
		command->words = words;
		command->count = count;
	}
}

/* All options of SECTION and of the sections in it, elections aside. */
static void read_section(struct config_parse *p, cfg_t *cfg, unsigned section, void *base)
{
	p->bad_times[section] = false;
	for (size_t i = 0; i < config_rule_count; i++) {
		const struct config_rule *rule = &config_rules[i];
		if (rule->section != section)
			continue;
		cfg_opt_t *opt = cfg_getopt(cfg, rule->name);
		if (config_rule_is_list(rule))
			read_list(p, opt, rule, base);
		else
			read_scalar(p, opt, rule, base);
	}
	for (unsigned i = CONFIG_TOP + 1; i < CONFIG_SECTION_COUNT; i++) {
		if (config_sections[i].parent == section && !config_sections[i].titled)
			read_section(p, cfg_getsec(cfg, config_sections[i].name), i, base);
	}
}

static unsigned line_of(const struct config_parse *p, unsigned section, const char *name)
{
	return p->lines[config_rule_find(section, name) - config_rules];
}

static void read_election(struct config_parse *p, cfg_t *cfg, struct config_election *e, unsigned line)
{
	p->title = cfg_title(cfg);
	p->title_line = line;
	e->name = copy_text(p, p->title);
	e->line = line;
	read_section(p, cfg, CONFIG_ELECTION, e);
	e->gain.line = line_of(p, CONFIG_HOOKS, "gain");
	e->lose.line = line_of(p, CONFIG_HOOKS, "lose");
	e->fence.line = line_of(p, CONFIG_HOOKS, "fence");
	e->follow.line = line_of(p, CONFIG_HOOKS, "follow");
	e->notify.line = line_of(p, CONFIG_HOOKS, "notify");
	e->check.hook.line = line_of(p, CONFIG_CHECK, "command");
	e->score.hook.line = line_of(p, CONFIG_SCORE, "command");
	e->service.line = line_of(p, CONFIG_SERVICE, "command");
	if (!p->no_memory)
		config_check_election(p, e);
}

static void read_elections(struct config_parse *p, cfg_t *cfg, const struct config_scan *scan)
{
	unsigned count = cfg_size(cfg, "election");

	if (count == 0)
		return;
	p->config->elections = calloc(count, sizeof(*p->config->elections));
	if (p->config->elections == NULL) {
		p->no_memory = true;
		return;
	}
	for (unsigned i = 0; i < count && !p->no_memory; i++) {
		p->config->election_count = i + 1;
		read_election(p, cfg_getnsec(cfg, "election", i), &p->config->elections[i],
			      i < scan->elections ? scan->election_lines[i] : 0);
	}
	if (!p->no_memory)
		config_check_elections(p);
}

/* libconfuse over the scanned text. Returns NULL after having reported why, or without memory. */
static cfg_t *run_confuse(struct config_parse *p, const char *text)
{
	cfg_opt_t *options = make_options(CONFIG_TOP);
	cfg_t *cfg = options != NULL ? cfg_init(options, CFGF_NONE) : NULL;
	size_t before = p->report->count;
	int rc = CFG_PARSE_ERROR;

	if (cfg != NULL) {
		confuse_report = p->report;
		cfg_set_error_function(cfg, on_confuse_error);
		rc = cfg_parse_buf(cfg, text);
		confuse_report = NULL;
	}
	free_options(options);
	if (rc == CFG_SUCCESS)
		return cfg;
	/* Silence means that a value could not be kept. */
	p->no_memory = p->no_memory || p->report->count == before;
	if (cfg != NULL)
		cfg_free(cfg);
	return NULL;
}

/* The parser's tree is several times as large as what is kept of it, and a process that lives for months holds it otherwise. */
static void return_memory(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

/* The text and the overrides as they came, for the elector. */
static void keep_source(struct config_parse *p, const unsigned char *text, size_t size)
{
	struct config *c = p->config;
	size_t count = p->options->override_count;

	c->file = copy_text(p, p->options->file);
	c->text = malloc(size + 1);
	c->overrides = calloc(count + 1, sizeof(*c->overrides));
	if (c->text == NULL || c->overrides == NULL) {
		p->no_memory = true;
		return;
	}
	if (size > 0)
		memcpy(c->text, text, size);
	c->text_size = size;
	for (size_t i = 0; i < count; i++)
		c->overrides[i] = copy_text(p, p->options->overrides[i]);
	c->override_count = count;
}

int config_parse(const unsigned char *text, size_t size, const struct config_options *options,
		 struct config_errors *errors, struct config **out)
{
	struct config_report report = {.file = options->file, .errors = errors};
	struct config_parse p = {.options = options, .report = &report};
	struct config_scan scan = {0};
	cfg_t *cfg = NULL;
	int rc;

	if (size > CONFIG_FILE_MAX) {
		config_report_add(&report, 0, "larger than %d bytes", CONFIG_FILE_MAX);
		rc = -EINVAL;
		goto out;
	}
	rc = config_scan(text, size, &report, &scan);
	if (rc < 0)
		goto out;
	p.config = calloc(1, sizeof(*p.config));
	cfg = p.config != NULL ? run_confuse(&p, scan.text) : NULL;
	if (cfg != NULL) {
		check_overrides(&p);
		keep_source(&p, text, size);
		read_section(&p, cfg, CONFIG_TOP, p.config);
		if (!p.no_memory)
			config_check_top(&p);
		if (!p.no_memory)
			read_elections(&p, cfg, &scan);
	}
	if (p.config == NULL || p.no_memory)
		rc = -ENOMEM;
	else if (report.count > 0)
		rc = -EINVAL;
	if (rc == 0) {
		*out = p.config;
		p.config = NULL;
	}
out:
	config_report_flush(&report);
	if (cfg != NULL)
		cfg_free(cfg);
	config_scan_free(&scan);
	config_free(p.config);
	return_memory();
	return rc;
}

static void free_election(struct config_election *e)
{
	free(e->name);
	free(e->path);
	free(e->address);
	free(e->user.name);
	free(e->user.home);
	free(e->user.shell);
	free(e->user.groups);
	free_words(e->env);
	free_words(e->gain.command.words);
	free_words(e->lose.command.words);
	free_words(e->fence.command.words);
	free_words(e->fence_peer.command.words);
	free_words(e->follow.command.words);
	free_words(e->notify.command.words);
	free_words(e->check.hook.command.words);
	free_words(e->score.hook.command.words);
	free_words(e->service.command.words);
}

void config_free(struct config *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < c->election_count; i++)
		free_election(&c->elections[i]);
	free(c->elections);
	for (size_t i = 0; i < c->zookeeper.count; i++)
		free(c->zookeeper.list[i].host);
	free(c->zookeeper.list);
	free(c->zookeeper.servers);
	free(c->zookeeper.chroot);
	free(c->zookeeper.auth_file);
	free(c->file);
	free(c->member);
	free(c->state_dir);
	free(c->data_dir);
	free(c->elector_user);
	free(c->control.socket);
	free(c->control.group_name);
	free(c->control.admin_group_name);
	free(c->http_listen);
	free(c->watchdog_device);
	for (size_t i = 0; i < c->override_count; i++)
		free(c->overrides[i]);
	free(c->overrides);
	free(c->text);
	free(c);
}
