/*
 * Reads ZooKeeper, one batch at a time, within one bounded time. Gets and children only: it sets no watch and
 * writes nothing, its own session aside.
 */
#ifndef TENURE_CTL_READER_H
#define TENURE_CTL_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config.h"
#include "zookeeper/port.h"

enum { READER_PATH_SIZE = 1024 };

struct reader;

/* One thing to read. */
struct reader_item {
	char path[READER_PATH_SIZE];
	bool children; /* the names below the znode rather than its data */
	/* The answer: */
	enum port_result result;
	int rc; /* the library's code */
	struct port_stat stat;
	char *data; /* terminated; NULL when there is none */
	size_t size;
	char **names;
	size_t name_count;
	unsigned phase; /* the reader's */
};

struct reader_config {
	const struct config_server *servers; /* must outlive the reader */
	size_t server_count;
	const char *auth_file; /* "" or NULL: none */
	int64_t wait_ms;       /* for everything, from reader_open on */
};

/* Returns 0, or negative errno after having said what is wrong: -EINVAL for an auth_file of no use. */
int reader_open(const struct reader_config *config, struct reader **out);

/*
 * Reads COUNT items. Returns 0 when each has an answer of the server; or negative errno after having said
 * what is wrong: -ETIMEDOUT when the ensemble was not reached in time, -EACCES when it refused the
 * credentials.
 */
int reader_read(struct reader *reader, struct reader_item *items, size_t count);

/* Frees what an item's answer holds. */
void reader_item_clear(struct reader_item *item);

/* Ends the session. NULL is fine. */
void reader_close(struct reader *reader);

#endif
