/* The auth file: "scheme:credential", one a line. */
#include "fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/config.h"

struct credentials {
	struct config_auth list[CONFIG_AUTH_MAX];
	size_t count;
	uint64_t digest;
};

/* A file in memory that nobody else may read. */
static int memory_file(const void *data, size_t size, char path[64])
{
	int fd = memfd_create("auth", MFD_CLOEXEC);

	assert(fd >= 0 && fchmod(fd, 0600) == 0);
	assert(write(fd, data, size) == (ssize_t)size);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

/* What is said has the place alone: the line itself is a secret. */
static void check_errors(const char *said, unsigned count, const char *path)
{
	unsigned lines = 0;

	for (const char *line = said; *line != '\0'; line = strchr(line, '\n') + 1, lines++) {
		assert(strncmp(line, path, strlen(path)) == 0);
		assert(strchr(line, '\n') != NULL && strcspn(line, "\n") < 160);
	}
	assert(lines == count);
}

static int read_auth(const void *data, size_t size, struct credentials *out)
{
	char path[64], *said;
	size_t said_size;
	struct config_errors errors = {.stream = open_memstream(&said, &said_size)};
	int fd = memory_file(data, size, path);
	int rc = config_auth_read(path, &errors, out->list, &out->count, &out->digest);

	close(fd);
	fclose(errors.stream);
	assert((rc == 0) == (errors.count == 0));
	assert((rc == 0) == (out->count > 0));
	assert(rc == 0 || rc == -EINVAL || (rc == -EFBIG && size > CONFIG_AUTH_FILE_MAX));
	check_errors(said, errors.count, path);
	free(said);
	return rc;
}

static void check_credential(const struct config_auth *auth)
{
	assert(auth->scheme[0] != '\0' && auth->scheme[0] != '#' && auth->credential[0] != '\0');
	for (const char *c = auth->scheme; *c != '\0'; c++)
		assert(*c > ' ' && *c <= '~' && *c != ':');
	assert(strchr(auth->credential, '\n') == NULL);
}

/* Written again, they read the same. (One "\r" before the end of a line is not the credential's.) */
static void check_round_trip(const struct credentials *first)
{
	struct credentials second;
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	for (size_t i = 0; i < first->count; i++)
		fprintf(stream, "%s:%s\r\n", first->list[i].scheme, first->list[i].credential);
	fclose(stream);
	if (size <= CONFIG_AUTH_FILE_MAX) {
		assert(read_auth(text, size, &second) == 0 && second.count == first->count);
		for (size_t i = 0; i < first->count; i++) {
			assert(strcmp(first->list[i].scheme, second.list[i].scheme) == 0);
			assert(strcmp(first->list[i].credential, second.list[i].credential) == 0);
		}
		config_auth_free(second.list, second.count);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct credentials c;

	if (read_auth(data, size, &c) < 0)
		return 0;
	assert(c.count <= CONFIG_AUTH_MAX);
	for (size_t i = 0; i < c.count; i++)
		check_credential(&c.list[i]);
	check_round_trip(&c);
	config_auth_free(c.list, c.count);
	return 0;
}
