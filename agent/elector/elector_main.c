/* The elector's way in: takes what the supervisor hands down, gives up its privileges, and runs. */
#include "elector/elector_main.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/config.h"
#include "common/config_found.h"
#include "common/log.h"
#include "common/message.h"
#include "elector/brake.h"
#include "elector/confine.h"
#include "elector/instant.h"
#include "elector/privileges.h"
#include "elector/shell.h"
#include "zookeeper/port.h"

struct arguments {
	const char *file;
	const char *overrides[CONFIG_OVERRIDES_MAX];
	size_t override_count;
};

static int read_arguments(int argc, char **argv, struct arguments *out)
{
	*out = (struct arguments){.file = "tenured.conf"};
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--elector") == 0)
			continue;
		if (i + 1 < argc && strcmp(argv[i], "-c") == 0)
			out->file = argv[++i];
		else if (i + 1 < argc && strcmp(argv[i], "-o") == 0 && out->override_count < CONFIG_OVERRIDES_MAX)
			out->overrides[out->override_count++] = argv[++i];
		else
			return -EINVAL;
	}
	return 0;
}

/* The text stays in the memfd: whoever reads it by offset disturbs nobody else. */
static int read_text(int fd, unsigned char **out, size_t *out_size)
{
	struct stat st;
	unsigned char *text;
	size_t size = 0;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size < 0 || st.st_size > CONFIG_FILE_MAX)
		return -EFBIG;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	while (size < (size_t)st.st_size) {
		ssize_t n = pread(fd, text + size, (size_t)st.st_size - size, (off_t)size);

		if (n <= 0 && !(n < 0 && errno == EINTR)) {
			free(text);
			return n < 0 ? -errno : -EIO;
		}
		if (n > 0)
			size += (size_t)n;
	}
	*out = text;
	*out_size = size;
	return 0;
}

/* What the supervisor has found out: here no name service is asked, since it may hang while the lease runs out. */
static int read_found(struct config *config)
{
	FILE *found = fdopen(ELECTOR_FD_FOUND, "r");
	int rc;

	if (!found)
		return -errno;
	rc = config_found_read(config, found);
	fclose(found);
	return rc;
}

static int read_config(const struct arguments *arguments, struct config **out)
{
	struct config_errors errors = {.stream = stderr};
	const struct config_options options = {
		.file = arguments->file,
		.overrides = arguments->overrides,
		.override_count = arguments->override_count,
		.check_files = false,
		.found_elsewhere = true,
	};
	unsigned char *text = NULL;
	size_t size = 0;
	int rc = read_text(ELECTOR_FD_CONFIG, &text, &size);

	if (rc == 0)
		rc = config_parse(text, size, &options, &errors, out);
	free(text);
	close(ELECTOR_FD_CONFIG);
	return rc < 0 ? rc : read_found(*out);
}

static void on_library_log(void *context, enum port_log_level level, const char *line)
{
	static struct brake brake;
	char quoted[512];
	unsigned held;

	(void)context;
	if (level == PORT_LOG_INFO)
		log_debug(NULL, "ZooKeeper library", "line=%s", log_quote(line, quoted, sizeof quoted));
	else if (brake_pass(&brake, instant_now(), &held))
		log_warning(NULL, "ZooKeeper library", "line=%s repeated=%u", log_quote(line, quoted, sizeof quoted),
			    held);
}

static int add_credentials(struct port *port, const char *file)
{
	struct config_auth list[CONFIG_AUTH_MAX];
	char *trouble = NULL, quoted[1024];
	size_t count = 0, size = 0;
	struct config_errors errors = {.stream = open_memstream(&trouble, &size)};
	int rc;

	if (!errors.stream)
		return -ENOMEM;
	rc = config_auth_read(file, &errors, list, &count, NULL);
	fclose(errors.stream);
	if (rc < 0)
		log_error(NULL, "cannot use auth_file", "error=%s",
			  log_quote(trouble ? trouble : "no memory", quoted, sizeof quoted));
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = port_add_auth(port, list[i].scheme, list[i].credential, strlen(list[i].credential));
	config_auth_free(list, count);
	free(trouble);
	return rc;
}

static int make_port(const struct config *config, struct port **out)
{
	static const enum port_acl acls[] = {
		[CONFIG_ACL_OPEN] = PORT_ACL_OPEN,
		[CONFIG_ACL_CREATOR] = PORT_ACL_CREATOR,
		[CONFIG_ACL_PRIVATE] = PORT_ACL_PRIVATE,
	};
	const struct port_config options = {
		.requests_max = shell_requests_max(config->election_count),
		.watches_max = shell_watches_max(config->election_count),
		.log = on_library_log,
	};
	const char *file = config->zookeeper.auth_file;
	int rc = port_new(&options, out);

	if (rc < 0)
		return rc;
	port_set_acl(*out, acls[config->zookeeper.acl]);
	if (!file || !file[0])
		return 0;
	return add_credentials(*out, file);
}

/* What the terminal or a service manager sends to the whole group is the supervisor's to act upon. */
static void block_signals(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* FD, if the supervisor has handed a listening socket down there. */
static int find_listening(int fd)
{
	int listening = 0;
	socklen_t size = sizeof listening;

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) < 0 || !listening)
		return -1;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

int elector_main(int argc, char **argv)
{
	struct arguments arguments;
	struct config *config = NULL;
	struct port *port = NULL;
	struct shell_sockets sockets = {.supervisor = ELECTOR_FD_SUPERVISOR};
	uid_t owner = geteuid();
	const char *what = "arguments";
	int rc;

	block_signals();
	log_open("elector", LOG_LEVEL_INFO, LOG_FORMAT_TEXT, LOG_TARGET_STDERR);
	rc = read_arguments(argc, argv, &arguments);
	if (rc == 0) {
		what = "configuration";
		rc = read_config(&arguments, &config);
	}
	if (rc == 0) {
		assert(config);
		log_open("elector", config->log.level, config->log.format, config->log.target);
		what = "ZooKeeper port";
		rc = make_port(config, &port);
	}
	if (rc == 0) {
		what = "privileges";
		rc = privileges_drop(config->elector_uid, config->elector_gid);
	}
	if (rc == 0) {
		what = "confinement";
		rc = confine();
	}
	if (rc == 0) {
		what = "event loop";
		fcntl(ELECTOR_FD_SUPERVISOR, F_SETFD, FD_CLOEXEC);
		sockets.control = find_listening(ELECTOR_FD_CONTROL);
		sockets.http = find_listening(ELECTOR_FD_HTTP);
		rc = shell_run(config, owner, port, &sockets);
	}
	log_error(NULL, "the elector cannot run", "part=\"%s\" rc=%d error=\"%s\"", what, rc, strerror(-rc));
	return ELECTOR_EXIT_FAILED;
}
