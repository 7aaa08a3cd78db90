/* What tenurectl prints: errors, JSON for machines, cells and columns for people. */
#include "ctl/output.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "common/control.h"
#include "ctl/text.h"

enum {
	LINE_SIZE = 4096,
	LABEL_WIDTH = 12,
	COLUMNS_MAX = 16,
	STEP_SIZE = 160,
};

/* What stands on the terminal's last line; "" when nothing does. */
static char open_step[STEP_SIZE];

void complain(const char *format, ...)
{
	char raw[LINE_SIZE], clean[LINE_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	text_clean(raw, strlen(raw), clean, sizeof(clean));
	output_progress_end();
	fprintf(stderr, "tenurectl: %s\n", clean);
}

void output_progress(const char *step, int64_t elapsed_ms)
{
	if (step != NULL) {
		output_progress_end();
		text_clean(step, strlen(step), open_step, sizeof(open_step));
	}
	if (open_step[0] == '\0')
		return;
	fprintf(stderr, "\r%6.1f s  %s", (double)elapsed_ms / 1000, open_step);
	fflush(stderr);
}

void output_progress_end(void)
{
	if (open_step[0] != '\0')
		fputc('\n', stderr);
	open_step[0] = '\0';
}

/* The one control character that jansson leaves as it is, DEL, can stand in a string only. */
static int write_ascii(const char *bytes, size_t size, void *context)
{
	(void)context;
	for (size_t i = 0; i < size; i++) {
		int rc = bytes[i] == 0x7f ? fputs("\\u007f", stdout) : putchar(bytes[i]);

		if (rc == EOF)
			return -1;
	}
	return 0;
}

int output_json(const json_t *value)
{
	if (json_dump_callback(value, write_ascii, NULL,
			       JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15)) < 0) {
		complain("cannot write the answer");
		return EXIT_INTERNAL;
	}
	putchar('\n');
	return EXIT_YES;
}

static const char *list_cell(const json_t *list, char *buf, size_t size)
{
	size_t used = 0;

	snprintf(buf, size, "%s", json_array_size(list) == 0 ? "-" : "");
	for (size_t i = 0; i < json_array_size(list) && used + 2 < size; i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (i > 0)
			buf[used++] = ',';
		text = text != NULL ? text : "-";
		used += text_clean(text, strlen(text), buf + used, size - used);
	}
	return buf;
}

const char *output_cell(const json_t *value, char *buf, size_t size)
{
	if (json_is_string(value) && json_string_length(value) > 0)
		text_clean(json_string_value(value), json_string_length(value), buf, size);
	else if (json_is_integer(value))
		snprintf(buf, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		snprintf(buf, size, "%.3f", json_real_value(value));
	else if (json_is_boolean(value))
		snprintf(buf, size, "%s", json_is_true(value) ? "yes" : "no");
	else if (json_is_array(value))
		return list_cell(value, buf, size);
	else
		snprintf(buf, size, "-");
	return buf;
}

const char *output_span(const json_t *value, char *buf, size_t size)
{
	json_int_t ms = json_integer_value(value);

	if (!json_is_integer(value))
		snprintf(buf, size, "-");
	else if (ms > -1000 && ms < 1000)
		snprintf(buf, size, "%" JSON_INTEGER_FORMAT " ms", ms);
	else
		snprintf(buf, size, "%.1f s", (double)ms / 1000);
	return buf;
}

void output_line(const char *label, const char *format, ...)
{
	va_list args;

	printf("  %-*s ", LABEL_WIDTH, label);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

/* One row; the last cell is not padded. ROW is NULL for the headers. */
static void table_row(const json_t *row, const struct output_column *columns, size_t count,
		      const size_t *widths)
{
	for (size_t i = 0; i < count; i++) {
		char buf[OUTPUT_CELL_SIZE];
		const char *text = columns[i].header;

		if (row != NULL)
			text = output_cell(json_object_get(row, columns[i].key), buf, sizeof(buf));
		fputs(text, stdout);
		if (i + 1 < count)
			printf("%*s", (int)(widths[i] - text_width(text) + 2), "");
	}
	putchar('\n');
}

void output_table(const json_t *rows, const struct output_column *columns, size_t count)
{
	size_t widths[COLUMNS_MAX] = {0};

	count = count < COLUMNS_MAX ? count : COLUMNS_MAX;
	for (size_t i = 0; i < count; i++) {
		widths[i] = text_width(columns[i].header);
		for (size_t j = 0; j < json_array_size(rows); j++) {
			char buf[OUTPUT_CELL_SIZE];
			const json_t *value = json_object_get(json_array_get(rows, j), columns[i].key);
			size_t width = text_width(output_cell(value, buf, sizeof(buf)));

			widths[i] = width > widths[i] ? width : widths[i];
		}
	}
	table_row(NULL, columns, count, widths);
	for (size_t j = 0; j < json_array_size(rows); j++)
		table_row(json_array_get(rows, j), columns, count, widths);
}

int output_end(int status)
{
	errno = 0;
	if (fflush(stdout) != 0 || ferror(stdout)) {
		complain("cannot write the output: %s", strerror(errno));
		return EXIT_INTERNAL;
	}
	return status;
}
