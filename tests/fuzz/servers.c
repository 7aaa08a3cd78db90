/* The list of ZooKeeper servers: "host:port,[::1]:port/chroot". */
#include "fuzz.h"

#include <stdio.h>

#include "common/config_internal.h"

enum { HOST_MAX = 253 };

/* What came of one list; of no use when something was reported. */
struct servers {
	struct config config;
	size_t reported;
};

/* Reads TEXT as the value of zookeeper.servers. Returns false when it would not get so far. */
static bool read_servers(const char *text, struct servers *out)
{
	const struct config_rule *rule = config_rule_find(CONFIG_ZOOKEEPER, "servers");
	struct config_errors errors = {0};
	struct config_report report = {.file = "fuzz.conf", .errors = &errors};
	struct config_options options = {.file = "fuzz.conf"};
	struct config_parse p = {.options = &options, .report = &report, .config = &out->config};
	union config_reading reading;
	char why[256];

	memset(out, 0, sizeof(*out));
	if (config_read_value(rule, text, &reading, why, sizeof(why)) < 0)
		return false;
	out->config.zookeeper.servers = strdup(text);
	config_check_servers(&p);
	assert(!p.no_memory);
	out->reported = report.count + report.dropped;
	config_report_clear(&report);
	return true;
}

static void clear(struct servers *s)
{
	for (size_t i = 0; i < s->config.zookeeper.count; i++)
		free(s->config.zookeeper.list[i].host);
	free(s->config.zookeeper.list);
	free(s->config.zookeeper.servers);
	free(s->config.zookeeper.chroot);
}

static void check_server(const struct config_server *server)
{
	assert(server->host[0] != '\0' && strlen(server->host) <= HOST_MAX);
	assert(strpbrk(server->host, ",/]") == NULL);
	assert(server->port > 0);
}

/* The list as read, in one spelling. */
static char *print(const struct config *c)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert(stream != NULL);
	for (size_t i = 0; i < c->zookeeper.count; i++) {
		const struct config_server *server = &c->zookeeper.list[i];
		bool brackets = strchr(server->host, ':') != NULL;

		fprintf(stream, "%s%s%s%s:%u", i > 0 ? "," : "", brackets ? "[" : "", server->host,
			brackets ? "]" : "", server->port);
	}
	fputs(c->zookeeper.chroot, stream);
	fclose(stream);
	return text;
}

static void check_same(const struct config *a, const struct config *b)
{
	assert(a->zookeeper.count == b->zookeeper.count);
	assert(strcmp(a->zookeeper.chroot, b->zookeeper.chroot) == 0);
	for (size_t i = 0; i < a->zookeeper.count; i++) {
		assert(strcmp(a->zookeeper.list[i].host, b->zookeeper.list[i].host) == 0);
		assert(a->zookeeper.list[i].port == b->zookeeper.list[i].port);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct servers first, second;

	if (!read_servers(text, &first))
		goto out;
	if (first.reported == 0) {
		const struct config *c = &first.config;
		char *printed = print(c);

		assert(c->zookeeper.count > 0 && c->zookeeper.count <= CONFIG_SERVERS_MAX);
		for (size_t i = 0; i < c->zookeeper.count; i++)
			check_server(&c->zookeeper.list[i]);
		assert(c->zookeeper.chroot[0] == '\0' || config_path_problem(c->zookeeper.chroot) == NULL);
		/* Default ports written out may make it longer than is allowed. */
		if (read_servers(printed, &second)) {
			assert(second.reported == 0);
			check_same(c, &second.config);
		}
		clear(&second);
		free(printed);
	}
	clear(&first);
out:
	free(text);
	return 0;
}
