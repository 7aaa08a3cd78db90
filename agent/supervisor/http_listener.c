/* The socket of the HTTP interface. See http_listener.h. */
#include "supervisor/http_listener.h"

#include <string.h>
#include <unistd.h>

#include "common/http_socket.h"
#include "common/log.h"

int http_listener_renew(int fd, const char *listen)
{
	if (fd >= 0 && http_socket_is_at(fd, listen))
		return fd;
	if (fd >= 0)
		close(fd);
	if (listen[0] == '\0')
		return -1;
	fd = http_socket_open(listen);
	if (fd >= 0)
		return fd;
	log_error(NULL, "cannot listen for HTTP, and tries on", "listen=%s error=\"%s\"", listen, strerror(-fd));
	return -1;
}
