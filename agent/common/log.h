/*
 * The log. Never blocks and never fails: what the pipe does not take is counted and dropped, and
 * the count is said once the pipe takes lines again. One line per event, key=value or JSON.
 */
#ifndef TENURE_AGENT_LOG_H
#define TENURE_AGENT_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };
enum log_target { LOG_TARGET_STDERR, LOG_TARGET_SYSLOG };

/*
 * Sets up the log of this process; may be called again after a reload. PROCESS is "supervisor" or
 * "elector". Under a journal (JOURNAL_STREAM names our stderr) lines carry "<N>" priorities and no time.
 */
void log_open(const char *process, enum log_level level, enum log_format format, enum log_target target);

/* Lines dropped so far. */
uint64_t log_dropped(void);

/*
 * One line: EVENT is a short sentence for people ("took office"); FORMAT adds "key=value key2=value2", in
 * which values with spaces are to be quoted by log_quote; " " adds none. ELECTION may be NULL. In JSON every pair
 * becomes a member of the object. A line is cut at 4 KiB.
 */
void log_line(enum log_level level, const char *election, const char *event, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

/* Copies VALUE into BUF as a value of a pair: quoted when it has to be, control characters and bad UTF-8 as \xNN. Returns BUF. */
const char *log_quote(const char *value, char *buf, unsigned size);

/* A line of a hook's output, as it came. STREAM is "stdout" or "stderr". */
void log_hook_output(const char *election, const char *hook, const char *stream, const char *line);

#endif
