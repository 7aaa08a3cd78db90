/* The log: builds each line in a bounded buffer and hands it over without ever waiting. */
#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/utf8.h"

enum {
	LINE_MAX_BYTES = 4096, /* PIPE_BUF: up to here a write to a pipe is all or nothing */
	SYSLOG_DAEMON = 3 << 3,
};

enum sink_kind {
	SINK_FILE,   /* a regular file, or a description of our own that does not block */
	SINK_SHARED, /* shared with others, so its flags are not ours to change: asked first */
	SINK_SOCKET, /* the journal's stream */
	SINK_SYSLOG,
};

struct line {
	char text[LINE_MAX_BYTES];
	size_t length;
};

static struct {
	char process[16];
	enum log_level level;
	enum log_format format;
	enum sink_kind kind;
	int fd;
	int own_fd; /* to be closed by the next log_open; -1: none */
	bool journal;
	bool broken_line; /* only a part of the last line was taken */
} sink = {.process = "tenured", .level = LOG_LEVEL_INFO, .kind = SINK_SHARED, .fd = 2, .own_fd = -1};

static atomic_uint_fast64_t dropped, dropped_said;

static const struct {
	const char *name;
	int priority;
} levels[] = {
	[LOG_LEVEL_ERROR] = {"error", 3},
	[LOG_LEVEL_WARNING] = {"warning", 4},
	[LOG_LEVEL_INFO] = {"info", 6},
	[LOG_LEVEL_DEBUG] = {"debug", 7},
};

static int open_syslog(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * stderr's file description may be shared with the shell or with hooks, and O_NONBLOCK is a property of
 * the description: a pipe or terminal is therefore opened a second time, for us alone.
 */
static void open_stderr(void)
{
	struct stat status;

	sink.fd = 2;
	sink.kind = SINK_SHARED;
	if (fstat(2, &status) < 0)
		return;
	if (S_ISREG(status.st_mode)) {
		sink.kind = SINK_FILE;
	} else if (S_ISSOCK(status.st_mode)) {
		sink.kind = SINK_SOCKET;
	} else if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) {
		sink.own_fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
		if (sink.own_fd >= 0) {
			sink.fd = sink.own_fd;
			sink.kind = SINK_FILE;
		}
	}
}

static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat status;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(2, &status) == 0 &&
	       status.st_dev == device && status.st_ino == inode;
}

void log_open(const char *process, enum log_level level, enum log_format format, enum log_target target)
{
	if (sink.own_fd >= 0)
		close(sink.own_fd);
	sink.own_fd = -1;
	snprintf(sink.process, sizeof(sink.process), "%s", process);
	sink.level = level;
	sink.format = format;
	sink.journal = false;
	sink.broken_line = false;
	if (target == LOG_TARGET_SYSLOG) {
		sink.kind = SINK_SYSLOG;
		sink.own_fd = sink.fd = open_syslog();
	} else {
		open_stderr();
		sink.journal = stderr_is_journal();
	}
}

uint64_t log_dropped(void)
{
	return atomic_load(&dropped);
}

/* Syslog's daemon may have been restarted: one more try with a new socket. */
static ssize_t send_syslog(const char *text, size_t length)
{
	ssize_t n = sink.fd < 0 ? -1 : send(sink.fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n >= 0 || (sink.fd >= 0 && (errno == EAGAIN || errno == ENOBUFS)))
		return n;
	if (sink.fd >= 0)
		close(sink.fd);
	sink.own_fd = sink.fd = open_syslog();
	return sink.fd < 0 ? -1 : send(sink.fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static ssize_t hand_over(const char *text, size_t length)
{
	struct pollfd room = {.fd = sink.fd, .events = POLLOUT};

	switch (sink.kind) {
	case SINK_SYSLOG:
		return send_syslog(text, length - 1); /* A datagram needs no newline. */
	case SINK_SOCKET:
		return send(sink.fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);
	case SINK_SHARED:
		if (poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT))
			return -1;
		return write(sink.fd, text, length);
	case SINK_FILE:
		return write(sink.fd, text, length);
	}
	return -1;
}

static bool write_line(const struct line *line)
{
	ssize_t n;

	/* Only a terminal, or a file on a full disk, takes parts. The part that stands there must not run into this line. */
	if (sink.broken_line && hand_over("\n", 1) == 1)
		sink.broken_line = false;
	n = hand_over(line->text, line->length);
	if (n < 0)
		return false;
	if (sink.kind != SINK_SYSLOG && (size_t)n < line->length) {
		sink.broken_line = true;
		return false;
	}
	return true;
}

static void add_bytes(struct line *line, const char *bytes, size_t n)
{
	size_t room = LINE_MAX_BYTES - 1 - line->length; /* One byte is kept for the newline. */

	if (n > room)
		n = room;
	memcpy(line->text + line->length, bytes, n);
	line->length += n;
}

static void add_text(struct line *line, const char *text)
{
	add_bytes(line, text, strlen(text));
}

/* The same for text that ends with a NUL: no sequence is longer than four bytes. */
static size_t utf8_sequence(const unsigned char *s)
{
	return utf8_length(s, strnlen((const char *)s, 4));
}

static bool is_plain(const char *value)
{
	if (*value == '\0')
		return false;
	for (const unsigned char *s = (const unsigned char *)value; *s != '\0';) {
		size_t n = utf8_sequence(s);

		if (n == 0 || *s <= ' ' || *s == 0x7f || strchr("\"\\=", *s))
			return false;
		s += n;
	}
	return true;
}

const char *log_quote(const char *value, char *buf, unsigned size)
{
	const unsigned char *s = (const unsigned char *)value;
	unsigned used = 0;

	if (size == 0)
		return buf;
	if (size < 3) {
		buf[0] = '\0';
		return buf;
	}
	if (is_plain(value) && strlen(value) < size) {
		memcpy(buf, value, strlen(value) + 1);
		return buf;
	}
	buf[used++] = '"';
	while (*s != '\0') {
		size_t n = utf8_sequence(s), length = n;
		char piece[8];

		if (n == 0 || *s < ' ' || *s == 0x7f) {
			n = 1;
			length = (size_t)snprintf(piece, sizeof(piece), "\\x%02x", *s);
		} else if (*s == '"' || *s == '\\') {
			length = (size_t)snprintf(piece, sizeof(piece), "\\%c", *s);
		} else {
			memcpy(piece, s, n);
		}
		if (used + length + 2 > size)
			break;
		memcpy(buf + used, piece, length);
		used += (unsigned)length;
		s += n;
	}
	buf[used++] = '"';
	buf[used] = '\0';
	return buf;
}

static void add_time(struct line *line)
{
	struct timespec now;
	struct tm tm;
	char text[64];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &tm);
	snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", (tm.tm_year + 1900) % 10000,
		 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(now.tv_nsec / 1000000));
	add_text(line, text);
}

/* What stands before the line for the receiver: priority, and for syslog the traditional header. */
static void add_envelope(struct line *line, enum log_level level)
{
	char text[64];

	if (sink.kind == SINK_SYSLOG) {
		time_t now = time(NULL);
		struct tm tm;
		char stamp[32];

		localtime_r(&now, &tm);
		strftime(stamp, sizeof(stamp), "%b %e %T", &tm);
		snprintf(text, sizeof(text), "<%d>%s tenured[%d]: ", SYSLOG_DAEMON | levels[level].priority,
			 stamp, (int)getpid());
		add_text(line, text);
	} else if (sink.journal) {
		snprintf(text, sizeof(text), "<%d>", levels[level].priority);
		add_text(line, text);
	}
}

static void build_text(struct line *line, enum log_level level, const char *election, const char *event,
		       const char *pairs)
{
	char quoted[256];

	add_envelope(line, level);
	if (sink.kind != SINK_SYSLOG && !sink.journal) {
		add_time(line);
		add_text(line, " ");
	}
	add_text(line, levels[level].name);
	add_text(line, " ");
	add_text(line, sink.process);
	add_text(line, ": ");
	add_text(line, event);
	if (election) {
		add_text(line, " election=");
		add_text(line, log_quote(election, quoted, sizeof(quoted)));
	}
	if (*pairs != '\0') {
		add_text(line, " ");
		add_text(line, pairs);
	}
	/* A sequence that the cut has split is taken away whole. */
	if (line->length == LINE_MAX_BYTES - 1) {
		size_t end = line->length;

		while (end > 0 && ((unsigned char)line->text[end - 1] & 0xc0) == 0x80)
			end--;
		if (end > 0 && (unsigned char)line->text[end - 1] >= 0xc0)
			line->length = end - 1;
	}
}

/* Adds N bytes as the inside of a JSON string. ESCAPED: backslashes are those of log_quote. */
static void add_json_inside(struct line *line, const char *bytes, size_t n, bool escaped)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)bytes[i];
		char code[8];

		if (escaped && c == '\\' && i + 3 < n && bytes[i + 1] == 'x') {
			char hex[3] = {bytes[i + 2], bytes[i + 3], '\0'};
			unsigned long byte = strtoul(hex, NULL, 16);

			/* A byte that is no character stays visible as \xNN. */
			snprintf(code, sizeof(code), byte < 0x80 ? "\\u%04lx" : "\\\\x%02lx", byte);
			add_text(line, code);
			i += 3;
			continue;
		}
		if (escaped && c == '\\' && i + 1 < n)
			c = (unsigned char)bytes[++i];
		if (c == '"' || c == '\\') {
			snprintf(code, sizeof(code), "\\%c", c);
			add_text(line, code);
		} else if (c < ' ') {
			snprintf(code, sizeof(code), "\\u%04x", c);
			add_text(line, code);
		} else {
			add_bytes(line, bytes + i, 1);
		}
	}
}

/* Numbers become numbers; tokens never do, since they do not fit a double. */
static bool is_json_number(const char *key, size_t key_length, const char *value, size_t n)
{
	size_t digits = n > 0 && value[0] == '-' ? n - 1 : n;

	if (digits == 0 || digits > 15 || (value[n - digits] == '0' && digits > 1))
		return false;
	if (key_length >= 5 && memcmp(key + key_length - 5, "token", 5) == 0)
		return false;
	return strspn(value + (n - digits), "0123456789") >= digits;
}

/* Adds one member, or nothing when it would not fit whole: a cut line must stay JSON. */
static bool add_member(struct line *line, const char *key, size_t key_length, const char *value, size_t n,
		       bool quoted)
{
	size_t before = line->length;

	add_text(line, before > 0 && line->text[before - 1] == '{' ? "\"" : ",\"");
	add_json_inside(line, key, key_length, false);
	if (!quoted && is_json_number(key, key_length, value, n)) {
		add_text(line, "\":");
		add_bytes(line, value, n);
	} else {
		add_text(line, "\":\"");
		add_json_inside(line, value, n, quoted);
		add_text(line, "\"");
	}
	if (line->length < LINE_MAX_BYTES - 2)
		return true;
	line->length = before;
	return false;
}

static void add_string(struct line *line, const char *key, const char *value)
{
	add_member(line, key, strlen(key), value, strlen(value), false);
}

static void build_json(struct line *line, enum log_level level, const char *election, const char *event,
		       const char *pairs)
{
	struct line stamp = {.length = 0};
	const char *s = pairs;

	add_envelope(line, level);
	add_text(line, "{");
	add_time(&stamp);
	add_member(line, "time", 4, stamp.text, stamp.length, false);
	add_string(line, "level", levels[level].name);
	add_string(line, "process", sink.process);
	add_string(line, "event", event);
	if (election)
		add_string(line, "election", election);
	while (*s != '\0') {
		size_t key = strcspn(s, "= ");
		const char *value = s + key;
		bool quoted;
		size_t n = 0;

		value += *value == '=';
		quoted = *value == '"';
		value += quoted;
		if (quoted) {
			while (value[n] != '\0' && value[n] != '"')
				n += value[n] == '\\' && value[n + 1] != '\0' ? 2 : 1;
		} else {
			n = strcspn(value, " ");
		}
		if (!add_member(line, s, key, value, n, quoted))
			break;
		s = value + n;
		s += quoted && *s == '"';
		s += strspn(s, " ");
	}
	add_text(line, "}");
}

static void build(struct line *line, enum log_level level, const char *election, const char *event,
		  const char *pairs)
{
	line->length = 0;
	if (sink.format == LOG_FORMAT_JSON)
		build_json(line, level, election, event, pairs);
	else
		build_text(line, level, election, event, pairs);
	line->text[line->length++] = '\n';
}

static void say_dropped(void)
{
	uint_fast64_t count = atomic_load(&dropped);
	struct line line;
	char pairs[48];

	if (count == atomic_load(&dropped_said))
		return;
	snprintf(pairs, sizeof(pairs), "total=%llu", (unsigned long long)count);
	build(&line, LOG_LEVEL_WARNING, NULL, "log lines dropped", pairs);
	if (write_line(&line))
		atomic_store(&dropped_said, count);
}

static void submit(enum log_level level, const char *election, const char *event, const char *pairs)
{
	int saved = errno;
	struct line line;

	say_dropped();
	build(&line, level, election, event, pairs);
	if (!write_line(&line))
		atomic_fetch_add(&dropped, 1);
	errno = saved;
}

void log_line(enum log_level level, const char *election, const char *event, const char *format, ...)
{
	char pairs[LINE_MAX_BYTES];
	va_list arguments;

	if (level > sink.level)
		return;
	va_start(arguments, format);
	if (vsnprintf(pairs, sizeof(pairs), format, arguments) < 0)
		pairs[0] = '\0';
	va_end(arguments);
	/* Those who have no pairs to add pass a blank. */
	submit(level, election, event, pairs + strspn(pairs, " "));
}

void log_hook_output(const char *election, const char *hook, const char *stream, const char *line)
{
	char text[LINE_MAX_BYTES - 512];

	log_line(LOG_LEVEL_INFO, election, "hook output", "hook=%s stream=%s text=%s", hook, stream,
		 log_quote(line, text, sizeof(text)));
}
