/* The address of the HTTP interface, and a socket that listens there. See http_socket.h. */
#include "common/http_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST_SIZE = INET6_ADDRSTRLEN, BACKLOG = 128 };

static bool read_port(const char *text, uint16_t *port)
{
	unsigned long number;

	if (text[0] == '\0' || strlen(text) > 5 || strspn(text, "0123456789") != strlen(text))
		return false;
	number = strtoul(text, NULL, 10);
	*port = htons((uint16_t)number);
	return number >= 1 && number <= UINT16_MAX;
}

const char *http_socket_parse(const char *text, struct sockaddr_storage *address, socklen_t *size)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	bool brackets = text[0] == '[';
	const char *end = strrchr(text, brackets ? ']' : ':');
	size_t length = end ? (size_t)(end - text) - brackets : 0;
	char host[HOST_SIZE];
	uint16_t port;

	if (!end || (brackets && end[1] != ':'))
		return "is not address:port, such as 127.0.0.1:8650 or [::1]:8650";
	if (!read_port(end + (brackets ? 2 : 1), &port))
		return "has no port from 1 to 65535 after \":\"";
	if (length >= sizeof(host))
		return "has too long an address";
	memcpy(host, text + brackets, length);
	host[length] = '\0';
	memset(address, 0, sizeof(*address));
	if (brackets && inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
		v6.sin6_port = port;
		*size = sizeof(v6);
		memcpy(address, &v6, sizeof(v6));
		return NULL;
	}
	if (!brackets && inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
		v4.sin_port = port;
		*size = sizeof(v4);
		memcpy(address, &v4, sizeof(v4));
		return NULL;
	}
	return brackets ? "has no IPv6 address in its brackets"
			: "has no IPv4 address before \":\" (0.0.0.0 is all; an IPv6 address stands in brackets)";
}

int http_socket_open(const char *text)
{
	struct sockaddr_storage address;
	socklen_t size;
	const int on = 1;
	int fd, rc;

	if (http_socket_parse(text, &address, &size))
		return -EINVAL;
	fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* Connections of an earlier process that linger do not keep the port from us; one that listens does. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    bind(fd, (const struct sockaddr *)&address, size) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

bool http_socket_is_at(int fd, const char *text)
{
	struct sockaddr_storage wanted, found;
	socklen_t wanted_size, size = sizeof(found);

	memset(&found, 0, sizeof(found));
	return !http_socket_parse(text, &wanted, &wanted_size) &&
	       getsockname(fd, (struct sockaddr *)&found, &size) == 0 && size == wanted_size &&
	       memcmp(&wanted, &found, size) == 0;
}
