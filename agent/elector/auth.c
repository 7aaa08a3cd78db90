/* The credentials for ZooKeeper in auth_file: "scheme:credential", one a line. */
#include "elector/auth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads all of FILE as a string into BUF. Returns its length or negative errno. */
static ssize_t read_private(const char *file, char *buf, size_t size, char *why, size_t why_size)
{
	struct stat st;
	size_t length = 0;
	ssize_t n = 0;
	int rc = 0;
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0) {
		rc = -errno;
		snprintf(why, why_size, "%s", strerror(-rc));
		return rc;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		rc = -EINVAL;
		snprintf(why, why_size, "not a regular file");
		goto out;
	}
	if (st.st_mode & (S_IROTH | S_IWOTH)) {
		rc = -EPERM;
		snprintf(why, why_size, "others may read or write it (mode %04o); make it 0600",
			 (unsigned)(st.st_mode & 07777));
		goto out;
	}
	while (length < size - 1 && (n = read(fd, buf + length, size - 1 - length)) > 0)
		length += (size_t)n;
	if (n < 0) {
		rc = -errno;
		snprintf(why, why_size, "%s", strerror(-rc));
	} else if (length == size - 1) {
		rc = -EFBIG;
		snprintf(why, why_size, "longer than %zu bytes", size - 2);
	}
	buf[length] = '\0';
out:
	close(fd);
	return rc ? rc : (ssize_t)length;
}

static int add_line(char *line, unsigned number, auth_add *add, void *context, char *why, size_t why_size)
{
	char *colon = strchr(line, ':');
	int rc;

	if (!colon || colon == line || !colon[1]) {
		snprintf(why, why_size, "line %u: not \"scheme:credential\"", number);
		return -EINVAL;
	}
	*colon = '\0';
	rc = add(context, line, colon + 1, strlen(colon + 1));
	if (rc == -ENOSPC)
		snprintf(why, why_size, "line %u: too many credentials", number);
	else if (rc < 0)
		snprintf(why, why_size, "line %u: %s", number, strerror(-rc));
	return rc;
}

int auth_read(const char *file, auth_add *add, void *context, char *why, size_t why_size)
{
	char text[AUTH_FILE_MAX + 2];
	unsigned number = 0;
	int rc = 0;
	ssize_t length = read_private(file, text, sizeof text, why, why_size);
	char *rest = text;

	if (length < 0) {
		rc = (int)length;
		goto out;
	}
	if (strlen(text) != (size_t)length) {
		snprintf(why, why_size, "has a NUL byte");
		rc = -EINVAL;
		goto out;
	}
	while (rc == 0 && *rest) {
		char *line = strsep(&rest, "\n");
		size_t size = strlen(line);

		number++;
		if (size && line[size - 1] == '\r')
			line[size - 1] = '\0';
		if (line[0] && line[0] != '#')
			rc = add_line(line, number, add, context, why, why_size);
		if (!rest)
			break;
	}
out:
	explicit_bzero(text, sizeof text);
	return rc;
}
