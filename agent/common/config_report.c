/* What is wrong with a configuration: collected, then said in the order of the lines. */
#include "common/config_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Each error is one line, whatever bytes it quotes. */
static void make_printable(char *text)
{
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;
		if (c < 0x20 || c == 0x7f)
			*text = '?';
	}
}

static void add(struct config_report *r, unsigned line, const char *prefix, const char *what)
{
	char text[1400];

	snprintf(text, sizeof(text), "%.370s: %s", prefix, what);
	make_printable(text);
	char *copy = r->count < CONFIG_REPORT_MAX ? strdup(text) : NULL;
	if (copy == NULL) {
		r->dropped++;
		return;
	}
	r->entries[r->count].line = line;
	r->entries[r->count].text = copy;
	r->count++;
}

void config_report_add(struct config_report *r, unsigned line, const char *format, ...)
{
	char prefix[CONFIG_PATH_MAX], what[1024];
	va_list args;

	if (line == 0)
		snprintf(prefix, sizeof(prefix), "%.340s", r->file);
	else
		snprintf(prefix, sizeof(prefix), "%.340s:%u", r->file, line);
	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	add(r, line, prefix, what);
}

void config_report_override(struct config_report *r, const char *prefix, const char *name, const char *text)
{
	char key[CONFIG_WHERE_SIZE];

	snprintf(key, sizeof(key), "-o %s%s", prefix, name);
	add(r, 0, key, text);
}

void config_report_clear(struct config_report *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->entries[i].text);
	r->count = 0;
	r->dropped = 0;
}

void config_report_flush(struct config_report *r)
{
	/* Insertion keeps the order of errors on one line; there are few. */
	for (size_t i = 1; i < r->count; i++) {
		unsigned line = r->entries[i].line;
		char *text = r->entries[i].text;
		size_t j = i;
		for (; j > 0 && r->entries[j - 1].line > line; j--)
			r->entries[j] = r->entries[j - 1];
		r->entries[j].line = line;
		r->entries[j].text = text;
	}
	for (size_t i = 0; i < r->count; i++)
		fprintf(r->errors->stream, "%s\n", r->entries[i].text);
	if (r->dropped > 0)
		fprintf(r->errors->stream, "%s: %zu more errors\n", r->file, r->dropped);
	r->errors->count += (unsigned)(r->count + r->dropped);
	config_report_clear(r);
}
