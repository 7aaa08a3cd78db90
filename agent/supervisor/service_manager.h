/* What the service manager is told (sd_notify): one datagram at a time, never waiting. */
#ifndef TENURE_SUPERVISOR_SERVICE_MANAGER_H
#define TENURE_SUPERVISOR_SERVICE_MANAGER_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct service_manager {
	int fd; /* -1: nobody wants to be told */
	struct sockaddr_un address;
	socklen_t address_size;
	int64_t watchdog_ns; /* how often it wants a sign of life; 0: never */
};

/* Reads NOTIFY_SOCKET and WATCHDOG_*, and removes them from the environment: they are not for children. */
void service_manager_init(struct service_manager *manager);

/* Sends "KEY=VALUE" lines. What cannot be sent is lost. */
void service_manager_tell(struct service_manager *manager, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void service_manager_close(struct service_manager *manager);

#endif
