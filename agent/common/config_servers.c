/* The list of ZooKeeper servers: "host:port,[::1]:port/chroot". */
#include "common/config_internal.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_PORT = 2181, HOST_MAX = 253 };

static const char *read_port(const char *text, size_t length, uint16_t *port)
{
	unsigned long number = 0;

	if (length == 0 || length > 5)
		return "has no port from 1 to 65535 after \":\"";
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return "has no port from 1 to 65535 after \":\"";
		number = number * 10 + (unsigned long)(text[i] - '0');
	}
	if (number == 0 || number > 65535)
		return "has no port from 1 to 65535 after \":\"";
	*port = (uint16_t)number;
	return NULL;
}

static const char *host_problem(const char *host, bool brackets)
{
	struct in6_addr address;
	char plain[HOST_MAX + 1];

	if (brackets) {
		/* A scope ("%eth0") is the resolver's to judge. */
		snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(host, "%"), host);
		return inet_pton(AF_INET6, plain, &address) == 1 ? NULL
								 : "is not an IPv6 address in brackets";
	}
	if (host[0] == '\0')
		return "has no host";
	if (strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != strlen(host))
		return "is not host:port";
	return NULL;
}

/* One server, TEXT of LENGTH bytes. Returns what is wrong, or NULL. */
static const char *read_server(const char *text, size_t length, char host[HOST_MAX + 1], uint16_t *port)
{
	bool brackets = length > 0 && text[0] == '[';
	const char *end = brackets ? memchr(text, ']', length) : memchr(text, ':', length);

	*port = DEFAULT_PORT;
	if (brackets && end == NULL)
		return "has a \"[\" without \"]\"";
	const char *begin = text + brackets;
	const char *rest = end == NULL ? text + length : end + brackets;
	size_t host_length = (size_t)((end == NULL ? text + length : end) - begin);
	if (host_length > HOST_MAX)
		return "has too long a host name";
	if (!brackets && end != NULL && memchr(end + 1, ':', (size_t)(text + length - end - 1)) != NULL)
		return "has several \":\"; write an IPv6 address in brackets, as [::1]:2181";
	memcpy(host, begin, host_length);
	host[host_length] = '\0';
	const char *problem = host_problem(host, brackets);
	if (problem != NULL || rest == text + length)
		return problem;
	if (*rest != ':')
		return "has something other than \":\" and a port after \"]\"";
	return read_port(rest + 1, (size_t)(text + length - rest - 1), port);
}

static void add_server(struct config_parse *p, const char *host, uint16_t port)
{
	struct config *c = p->config;
	struct config_server *grown = realloc(c->zookeeper.list, (c->zookeeper.count + 1) * sizeof(*grown));

	if (grown == NULL) {
		p->no_memory = true;
		return;
	}
	c->zookeeper.list = grown;
	grown[c->zookeeper.count].host = strdup(host);
	grown[c->zookeeper.count].port = port;
	p->no_memory = p->no_memory || grown[c->zookeeper.count].host == NULL;
	c->zookeeper.count++;
}

void config_check_servers(struct config_parse *p)
{
	const char *servers = p->config->zookeeper.servers;
	size_t length = strcspn(servers, "/");
	const char *chroot = servers + length, *problem;

	p->config->zookeeper.chroot = strdup(chroot);
	p->no_memory = p->no_memory || p->config->zookeeper.chroot == NULL;
	problem = *chroot != '\0' ? config_path_problem(chroot) : NULL;
	if (strchr(chroot, ',') != NULL)
		problem = "has a \",\"; the chroot comes once, after the last server";
	if (problem != NULL)
		config_complain(p, CONFIG_ZOOKEEPER, "servers", "chroot \"%.200s\" %s", chroot, problem);
	for (size_t at = 0; at <= length && !p->no_memory;) {
		char host[HOST_MAX + 1];
		uint16_t port;
		size_t n = strcspn(servers + at, ",/");
		size_t skip = strspn(servers + at, " "), end = n;
		skip = skip < n ? skip : n;
		while (end > skip && servers[at + end - 1] == ' ')
			end--;
		problem =
			end == skip ? "is empty" : read_server(servers + at + skip, end - skip, host, &port);
		if (problem == NULL && p->config->zookeeper.count == CONFIG_SERVERS_MAX)
			problem = "is one too many";
		if (problem != NULL) {
			config_complain(p, CONFIG_ZOOKEEPER, "servers", "server \"%.*s\" %s",
					end - skip < 100 ? (int)(end - skip) : 100, servers + at + skip,
					problem);
			return;
		}
		add_server(p, host, port);
		at += n + 1;
	}
}
