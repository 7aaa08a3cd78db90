/* Files that the configuration names: the file itself, hooks, the auth file. */
#include "common/config_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/hook_file.h"

static void say(struct config_errors *errors, const char *file, const char *what)
{
	fprintf(errors->stream, "%s: %s\n", file, what);
	errors->count++;
}

/* Reads a regular file of at most MAX bytes, one byte more being allocated. ST is its status. */
static int read_file(const char *file, size_t max, unsigned char **text, size_t *size, struct stat *st)
{
	unsigned char *buf = NULL;
	size_t length = 0;
	/* Without O_NONBLOCK, opening a FIFO would wait for its writer. */
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, st) < 0)
		rc = -errno;
	else if (S_ISDIR(st->st_mode))
		rc = -EISDIR;
	else if (!S_ISREG(st->st_mode))
		rc = -ENOTSUP;
	else if ((buf = malloc(max + 2)) == NULL)
		rc = -ENOMEM;
	while (rc == 0 && length <= max) {
		ssize_t n = read(fd, buf + length, max + 1 - length);
		if (n > 0)
			length += (size_t)n;
		else if (n == 0)
			break;
		else if (errno != EINTR)
			rc = -errno;
	}
	close(fd);
	if (rc == 0 && length > max)
		rc = -EFBIG;
	if (rc < 0) {
		free(buf);
		return rc;
	}
	assert(buf != NULL);
	unsigned char *fitted = realloc(buf, length + 1);
	*text = fitted != NULL ? fitted : buf;
	(*text)[length] = '\0';
	*size = length;
	return 0;
}

static const char *read_problem(int rc)
{
	return rc == -ENOTSUP ? "is not a regular file" : rc == -EFBIG ? "is too large" : strerror(-rc);
}

int config_read(const char *file, unsigned char **text, size_t *size, struct config_errors *errors)
{
	struct stat st;
	char what[128];
	int rc = read_file(file, CONFIG_FILE_MAX, text, size, &st);

	if (rc < 0) {
		snprintf(what, sizeof(what), "cannot be read: %s", read_problem(rc));
		say(errors, file, what);
	}
	return rc;
}

/* Takes one line of the auth file apart. Returns what is wrong, or NULL. */
static const char *read_credential(char *line, size_t length, struct config_auth *auth)
{
	char *colon = memchr(line, ':', length);

	if (memchr(line, 0, length) != NULL)
		return "has a NUL byte in it";
	if (colon == NULL || colon == line || colon == line + length - 1)
		return "is not scheme:credential, as digest:user:password";
	for (const char *c = line; c < colon; c++) {
		if (*c <= ' ' || *c > '~')
			return "is not scheme:credential, as digest:user:password";
	}
	auth->scheme = strndup(line, (size_t)(colon - line));
	auth->credential = strndup(colon + 1, length - (size_t)(colon + 1 - line));
	return auth->scheme != NULL && auth->credential != NULL ? NULL : "there is no memory for it";
}

/* FNV-1a: to notice a change, not to withstand anybody. */
static uint64_t digest_of(const unsigned char *text, size_t size)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ text[i]) * UINT64_C(1099511628211);
	return hash;
}

static int read_credentials(const char *file, char *text, size_t size, struct config_errors *errors,
			    struct config_auth list[CONFIG_AUTH_MAX], size_t *count)
{
	unsigned number = 0, wrong = 0;
	char what[160];

	for (char *line = text, *next; line < text + size; line = next) {
		char *end = memchr(line, '\n', (size_t)(text + size - line));
		end = end != NULL ? end : text + size;
		next = end + 1;
		number++;
		if (end > line && end[-1] == '\r')
			end--;
		if (end == line || *line == '#')
			continue;
		struct config_auth auth = {0};
		const char *problem = *count == CONFIG_AUTH_MAX
					      ? "is one credential too many"
					      : read_credential(line, (size_t)(end - line), &auth);
		if (problem == NULL) {
			list[(*count)++] = auth;
			continue;
		}
		config_auth_free(&auth, 1);
		/* The line itself is a secret. */
		snprintf(what, sizeof(what), "line %u %s", number, problem);
		say(errors, file, what);
		wrong++;
	}
	if (*count == 0 && wrong == 0)
		say(errors, file, "has no credential in it");
	return wrong > 0 || *count == 0 ? -EINVAL : 0;
}

int config_auth_read(const char *file, struct config_errors *errors, struct config_auth list[CONFIG_AUTH_MAX],
		     size_t *count, uint64_t *digest)
{
	unsigned char *text = NULL;
	size_t size = 0;
	struct stat st = {0};
	char what[128];
	int rc = read_file(file, CONFIG_AUTH_FILE_MAX, &text, &size, &st);

	*count = 0;
	if (rc < 0) {
		snprintf(what, sizeof(what), "cannot be read: %s", read_problem(rc));
		say(errors, file, what);
		return rc;
	}
	assert(text != NULL);
	if ((st.st_mode & (S_IRWXO | S_IWGRP)) != 0) {
		snprintf(what, sizeof(what), "has mode %04o; others must not read or change it (chmod 600)",
			 (unsigned)st.st_mode & 07777);
		say(errors, file, what);
		rc = -EPERM;
	} else {
		if (digest != NULL)
			*digest = digest_of(text, size);
		rc = read_credentials(file, (char *)text, size, errors, list, count);
	}
	if (rc < 0) {
		config_auth_free(list, *count);
		*count = 0;
	}
	explicit_bzero(text, size);
	free(text);
	return rc;
}

void config_auth_free(struct config_auth *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i].credential != NULL)
			explicit_bzero(list[i].credential, strlen(list[i].credential));
		free(list[i].scheme);
		free(list[i].credential);
		list[i] = (struct config_auth){0};
	}
}

/* Checks the auth file and turns what is wrong into complaints about the option. */
void config_check_auth(struct config_parse *p)
{
	struct config_auth list[CONFIG_AUTH_MAX];
	char *text = NULL;
	size_t size = 0, count = 0;
	struct config_errors errors = {.stream = open_memstream(&text, &size)};

	if (errors.stream == NULL) {
		p->no_memory = true;
		return;
	}
	int rc = config_auth_read(p->config->zookeeper.auth_file, &errors, list, &count,
				  &p->config->zookeeper.auth_digest);
	if (rc == 0)
		config_auth_free(list, count);
	fclose(errors.stream);
	for (char *line = text, *next; rc < 0 && line != NULL && *line != '\0'; line = next) {
		next = line + strcspn(line, "\n");
		if (*next != '\0')
			*next++ = '\0';
		config_complain(p, CONFIG_ZOOKEEPER, "auth_file", "%s", line);
	}
	free(text);
}

void config_check_command(struct config_parse *p, const struct config_election *e, unsigned section, const char *name,
			  const struct config_command *command)
{
	const char *file = command->words[0];
	const char *problem = config_path_problem(file);
	char why[2 * PATH_MAX];
	struct stat st;

	if (problem != NULL) {
		config_complain(p, section, name, "\"%.200s\" %s", file, problem);
		return;
	}
	if (!p->options->check_files)
		return;
	if (stat(file, &st) < 0)
		config_complain(p, section, name, "%s: %s", file, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		config_complain(p, section, name, "%s: is not a regular file", file);
	else if ((st.st_mode & 0111) == 0 || (geteuid() != 0 && access(file, X_OK) < 0))
		config_complain(p, section, name, "%s: is not executable", file);
	else if (hook_file_check(file, &e->user, why, sizeof(why)) < 0)
		config_complain(p, section, name, "%s", why);
}
