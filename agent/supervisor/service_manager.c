/* What the service manager is told (sd_notify). */
#include "supervisor/service_manager.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_SIZE = 1024 };

static void read_watchdog(struct service_manager *manager)
{
	const char *period = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	unsigned long long us = period ? strtoull(period, NULL, 10) : 0;

	if (us == 0 || us > INT64_MAX / 1000 || (pid && strtoll(pid, NULL, 10) != getpid()))
		return;
	/* Twice as often as asked for, as sd_watchdog_enabled(3) advises. */
	manager->watchdog_ns = (int64_t)us * 1000 / 2;
}

static int set_address(struct service_manager *manager, const char *name)
{
	size_t length = strlen(name);

	/* A name that begins with '@' is an abstract one: its first byte is a NUL and its length counts. */
	if ((name[0] != '/' && name[0] != '@') || length < 2 || length >= sizeof(manager->address.sun_path))
		return -1;
	manager->address.sun_family = AF_UNIX;
	memcpy(manager->address.sun_path, name, length);
	manager->address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	if (name[0] == '@')
		manager->address.sun_path[0] = '\0';
	else
		manager->address_size++;
	return 0;
}

void service_manager_init(struct service_manager *manager)
{
	const char *name = getenv("NOTIFY_SOCKET");

	memset(manager, 0, sizeof(*manager));
	manager->fd = -1;
	if (name && set_address(manager, name) == 0)
		manager->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (manager->fd >= 0)
		read_watchdog(manager);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void service_manager_tell(struct service_manager *manager, const char *format, ...)
{
	char text[TEXT_SIZE];
	va_list arguments;
	int n;

	if (manager->fd < 0)
		return;
	va_start(arguments, format);
	n = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (n <= 0)
		return;
	if (n >= (int)sizeof(text))
		n = (int)sizeof(text) - 1;
	sendto(manager->fd, text, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL,
	       (struct sockaddr *)&manager->address, manager->address_size);
}

void service_manager_close(struct service_manager *manager)
{
	if (manager->fd >= 0)
		close(manager->fd);
	manager->fd = -1;
}
