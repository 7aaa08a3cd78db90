/* The bounded store of the ZooKeeper library's log lines. */
#include "zookeeper/library_log.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct line {
	enum port_log_level level;
	char text[PORT_LOG_LINE_SIZE];
};

static struct {
	pthread_mutex_t lock;
	int wake_fd; /* -1: nobody listens */
	unsigned head, count, dropped;
	struct line lines[PORT_LOG_LINES_MAX];
} store = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake_fd = -1};

void port_log_attach(int wake_fd)
{
	pthread_mutex_lock(&store.lock);
	store.wake_fd = wake_fd;
	pthread_mutex_unlock(&store.lock);
}

void port_log_detach(int wake_fd)
{
	pthread_mutex_lock(&store.lock);
	if (store.wake_fd == wake_fd) {
		store.wake_fd = -1;
		store.count = 0;
		store.dropped = 0;
	}
	pthread_mutex_unlock(&store.lock);
}

/* Takes the library's "time:pid(thread):ZOO_LEVEL@function@line: text" apart. */
static enum port_log_level parse(const char *message, const char **text)
{
	const char *mark = strstr(message, ":ZOO_");
	const char *end;

	*text = message;
	if (!mark)
		return PORT_LOG_INFO;
	mark += strlen(":ZOO_");
	end = strstr(mark, ": ");
	if (end)
		*text = end + 2;
	switch (*mark) {
	case 'E':
		return PORT_LOG_ERROR;
	case 'W':
		return PORT_LOG_WARNING;
	default:
		return PORT_LOG_INFO;
	}
}

static void keep(const char *message)
{
	const uint64_t one = 1;
	const char *text;
	struct line *line;

	if (store.count == PORT_LOG_LINES_MAX) {
		store.dropped++;
		return;
	}
	line = &store.lines[(store.head + store.count) % PORT_LOG_LINES_MAX];
	line->level = parse(message, &text);
	snprintf(line->text, sizeof(line->text), "%.*s", (int)strcspn(text, "\n"), text);
	store.count++;
	if (store.count == 1 && write(store.wake_fd, &one, sizeof(one)) < 0)
		return; /* full, hence readable */
}

void port_log_line(const char *message)
{
	pthread_mutex_lock(&store.lock);
	if (store.wake_fd >= 0)
		keep(message);
	pthread_mutex_unlock(&store.lock);
}

bool port_log_take(int wake_fd, enum port_log_level *level, char line[PORT_LOG_LINE_SIZE])
{
	bool found = false;

	pthread_mutex_lock(&store.lock);
	if (store.wake_fd != wake_fd)
		goto out;
	if (store.count > 0) {
		const struct line *oldest = &store.lines[store.head];

		*level = oldest->level;
		memcpy(line, oldest->text, PORT_LOG_LINE_SIZE);
		store.head = (store.head + 1) % PORT_LOG_LINES_MAX;
		store.count--;
		found = true;
	} else if (store.dropped > 0) {
		*level = PORT_LOG_WARNING;
		snprintf(line, PORT_LOG_LINE_SIZE, "%u lines of the ZooKeeper library were dropped",
			 store.dropped);
		store.dropped = 0;
		found = true;
	}
out:
	pthread_mutex_unlock(&store.lock);
	return found;
}
