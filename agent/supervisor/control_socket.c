/* The listening control socket. */
#include "supervisor/control_socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/control.h"
#include "common/log.h"

enum { QUOTED_SIZE = 512, STEP_MS = 10 };

static int new_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

/* Removes what stands at the address if it is a socket nobody listens on. Returns 0, or negative errno. */
static int remove_stale(const struct sockaddr_un *address)
{
	struct stat status;
	int fd, rc = 0;

	if (lstat(address->sun_path, &status) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(status.st_mode))
		return -EEXIST;
	fd = new_socket();
	if (fd < 0)
		return fd;
	/* EAGAIN is a full backlog: somebody does listen. */
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 || errno == EAGAIN)
		rc = -EADDRINUSE;
	else if (errno != ECONNREFUSED && errno != ENOENT)
		rc = -errno;
	close(fd);
	if (rc == 0 && unlink(address->sun_path) < 0 && errno != ENOENT)
		rc = -errno;
	return rc;
}

bool control_socket_await(const char *path, int wait_ms)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(address.sun_path))
		return true;
	strcpy(address.sun_path, path);
	for (int waited_ms = 0; waited_ms <= wait_ms; waited_ms += STEP_MS) {
		int fd = new_socket();
		bool used;

		if (fd < 0)
			return true;
		used = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 || errno == EAGAIN;
		close(fd);
		if (!used)
			return true;
		poll(NULL, 0, STEP_MS);
	}
	return false;
}

static int bind_private(int fd, const struct sockaddr_un *address)
{
	mode_t before = umask(0177);
	int rc = bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? -errno : 0;

	umask(before);
	return rc;
}

int control_socket_share(const char *path, bool has_group, gid_t group)
{
	if (!has_group)
		return chmod(path, 0600) < 0 ? -errno : 0;
	/* First the group, then its rights: never another group's. */
	return chown(path, (uid_t)-1, group) < 0 || chmod(path, 0660) < 0 ? -errno : 0;
}

static int open_at(const struct sockaddr_un *address, bool has_group, gid_t group)
{
	int fd = new_socket();
	int rc;

	if (fd < 0)
		return fd;
	rc = bind_private(fd, address);
	if (rc < 0)
		goto fail;
	rc = control_socket_share(address->sun_path, has_group, group);
	/* Last, so that nobody connects before the rights are as they are meant to be. */
	if (rc == 0 && listen(fd, CONTROL_CLIENTS_MAX) < 0)
		rc = -errno;
	if (rc == 0)
		return fd;
	unlink(address->sun_path);
fail:
	close(fd);
	return rc;
}

int control_socket_open(const char *path, bool has_group, gid_t group)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char quoted[QUOTED_SIZE];
	int rc;

	log_quote(path, quoted, sizeof(quoted));
	if (strlen(path) >= sizeof(address.sun_path)) {
		log_error(NULL, "control socket: path too long", "path=%s limit=%zu", quoted,
			  sizeof(address.sun_path) - 1);
		return -ENAMETOOLONG;
	}
	strcpy(address.sun_path, path);
	rc = remove_stale(&address);
	if (rc == 0)
		rc = open_at(&address, has_group, group);
	if (rc == -EADDRINUSE)
		log_error(NULL, "control socket in use by another process", "path=%s", quoted);
	else if (rc == -EEXIST)
		log_error(NULL, "control socket: something else is in its place", "path=%s", quoted);
	else if (rc < 0)
		log_error(NULL, "cannot make the control socket", "path=%s error=\"%s\"", quoted,
			  strerror(-rc));
	return rc;
}

void control_socket_close(int fd, const char *path)
{
	if (fd < 0)
		return;
	unlink(path);
	close(fd);
}
