/* What tenurectl prints: errors, JSON for machines, cells and columns for people. */
#ifndef TENURE_CTL_OUTPUT_H
#define TENURE_CTL_OUTPUT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { OUTPUT_CELL_SIZE = 512 };

/* One line on stderr, "tenurectl: ...", with whatever a terminal could obey escaped. Cut at 4 KiB. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * The line on a terminal's stderr that tells how far a command is: STEP begins a line, NULL brings the last
 * one's time up to date. Whatever is said next by complain or ended by output_progress_end starts a fresh
 * line.
 */
void output_progress(const char *step, int64_t elapsed_ms);
void output_progress_end(void);

/* VALUE on stdout, indented by two, in ASCII. Returns an exit status. */
int output_json(const json_t *value);

/*
 * VALUE as people read it, in BUF: yes and no, numbers, escaped text, lists joined by commas; "-" for what is
 * not known, empty or an object. VALUE may be NULL. Returns BUF.
 */
const char *output_cell(const json_t *value, char *buf, size_t size);

/* A span in milliseconds as "812 ms" or "13.2 s"; "-" when it is no number. Returns BUF. */
const char *output_span(const json_t *value, char *buf, size_t size);

/* "  label       text" on stdout. FORMAT is given cells, which are clean. */
void output_line(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct output_column {
	const char *header;
	const char *key;
};

/* ROWS, an array of objects, as aligned columns on stdout under their headers. */
void output_table(const json_t *rows, const struct output_column *columns, size_t count);

/* Flushes stdout and says if that failed. Returns STATUS, or EXIT_INTERNAL when the output is not whole. */
int output_end(int status);

#endif
