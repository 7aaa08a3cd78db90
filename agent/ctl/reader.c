/* Reads ZooKeeper, one batch at a time, within one bounded time. */
#include "ctl/reader.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "common/resolver.h"
#include "ctl/client.h"
#include "ctl/config_file.h"
#include "ctl/output.h"

enum {
	REQUESTS_MAX = 64,
	EVENTS_MAX = 256,
	SESSION_MS = 10000,
	NAMES_GRACE_MS = 500, /* one name that hangs holds the others up no longer */
	HANDLES_MAX = 5,
	CLOSE_MS = 500,
	SERVERS_TEXT_SIZE = 512,
};

enum { ITEM_TO_ASK, ITEM_ASKED, ITEM_ANSWERED };

struct reader {
	struct port *port;
	struct resolver *resolver;
	struct resolver_set set; /* what the handle was opened with */
	struct resolver_set found;
	struct reader_config config;
	int64_t start_ms;
	bool connected;
	unsigned handles; /* opened so far because the last one was of no use */
	bool renew;	  /* the handle is of no use */
	int failed;	  /* negative errno: no hope */
	struct reader_item *items;
	size_t count, answered;
};

static void servers_text(const struct reader *r, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < r->config.server_count && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s:%u", i > 0 ? "," : "",
					 r->config.servers[i].host, r->config.servers[i].port);
}

/* Says why nothing came of it in time. */
static int unreachable(const struct reader *r)
{
	char servers[SERVERS_TEXT_SIZE];

	servers_text(r, servers, sizeof(servers));
	if (r->set.count == 0 && r->found.failed > 0)
		complain("no ensemble reached at %s: cannot resolve %s: %s", servers, r->found.example,
			 r->found.why);
	else if (r->set.count == 0)
		complain("no ensemble reached at %s: its names did not resolve within %.1f s", servers,
			 (double)r->config.wait_ms / 1000);
	else
		complain("no ensemble reached at %s within %.1f s", servers,
			 (double)r->config.wait_ms / 1000);
	return -ETIMEDOUT;
}

/* Says what is wrong, where nobody has done so. Returns RC. */
static int say(int rc)
{
	if (rc == -EACCES)
		complain("the ensemble refused the credentials of auth_file");
	else if (rc < 0 && rc != -ETIMEDOUT)
		complain("cannot read from ZooKeeper: %s", strerror(-rc));
	return rc;
}

/* A copy of N bytes, terminated. */
static char *copy_bytes(const char *bytes, size_t n)
{
	char *copy = malloc(n + 1);

	if (copy != NULL) {
		memcpy(copy, bytes, n);
		copy[n] = '\0';
	}
	return copy;
}

static bool copy_names(struct reader_item *item, const char *const *names, size_t count)
{
	item->names = calloc(count > 0 ? count : 1, sizeof(*item->names));
	if (item->names == NULL)
		return false;
	for (; item->name_count < count; item->name_count++) {
		item->names[item->name_count] = strdup(names[item->name_count]);
		if (item->names[item->name_count] == NULL)
			return false;
	}
	return true;
}

static void take_reply(struct reader *r, const struct port_event *event)
{
	struct reader_item *item;
	bool copied = true;

	if (event->u.reply.cookie == 0 || event->u.reply.cookie > r->count)
		return;
	item = &r->items[event->u.reply.cookie - 1];
	if (item->phase != ITEM_ASKED)
		return;
	if (event->u.reply.result == PORT_UNKNOWN) {
		item->phase = ITEM_TO_ASK; /* a read may be asked again */
		return;
	}
	item->result = event->u.reply.result;
	item->rc = event->u.reply.rc;
	if (event->u.reply.stat != NULL)
		item->stat = *event->u.reply.stat;
	if (item->result == PORT_OK && item->children) {
		copied = copy_names(item, event->u.reply.names, event->u.reply.name_count);
	} else if (item->result == PORT_OK && event->u.reply.data != NULL) {
		item->data = copy_bytes(event->u.reply.data, event->u.reply.size);
		item->size = event->u.reply.size;
		copied = item->data != NULL;
	}
	item->phase = ITEM_ANSWERED;
	r->answered++;
	if (!copied)
		r->failed = -ENOMEM;
}

static void take_event(void *context, const struct port_event *event)
{
	struct reader *r = context;

	switch (event->type) {
	case PORT_EV_CONNECTED:
		r->connected = true;
		break;
	case PORT_EV_DISCONNECTED:
		r->connected = false;
		break;
	case PORT_EV_EXPIRED:
	case PORT_EV_BROKEN:
		r->connected = false;
		r->renew = true;
		break;
	case PORT_EV_AUTH_FAILED:
		r->failed = -EACCES;
		break;
	case PORT_EV_REPLY:
		take_reply(r, event);
		break;
	case PORT_EV_WATCH:
		break;
	}
}

static void take_log(void *context, enum port_log_level level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
}

/* Hands the credentials in FILE to the port. Returns 0, or negative errno after having said what is wrong. */
static int add_credentials(struct port *port, const char *file)
{
	struct config_auth list[CONFIG_AUTH_MAX];
	char *trouble = NULL;
	size_t count = 0, said = 0;
	struct config_errors errors = {.stream = open_memstream(&trouble, &said)};
	int rc;

	if (errors.stream == NULL)
		return say(-errno);
	rc = config_auth_read(file, &errors, list, &count, NULL);
	fclose(errors.stream);
	if (rc < 0) {
		config_file_complain(trouble);
		rc = -EINVAL;
	}
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = say(port_add_auth(port, list[i].scheme, list[i].credential, strlen(list[i].credential)));
	config_auth_free(list, count);
	free(trouble);
	return rc;
}

static int open_handle(struct reader *r)
{
	static const struct session_credentials fresh = {.timeout_ns = SESSION_MS * TENURE_NS_PER_MS};
	const char *addresses[RESOLVER_ADDRESSES_MAX];

	for (size_t i = 0; i < r->set.count; i++)
		addresses[i] = r->set.addresses[i];
	r->connected = r->renew = false;
	return port_open(r->port, addresses, r->set.count, &fresh);
}

/* Opens a handle when there are addresses that the present one does not have, or it has become useless. */
static int keep_handle(struct reader *r)
{
	bool late = client_now_ms() - r->start_ms >= NAMES_GRACE_MS;

	if (r->connected)
		return 0;
	if (r->renew) {
		if (r->handles++ == HANDLES_MAX)
			return unreachable(r);
		return open_handle(r);
	}
	resolver_take(r->resolver, &r->found);
	if (r->found.count == 0 && r->found.busy == 0)
		return unreachable(r);
	if (r->found.count == 0 || (r->found.busy > 0 && !late) || resolver_set_equal(&r->found, &r->set))
		return 0;
	r->set = r->found;
	return open_handle(r);
}

/* Asks for what has not been asked for, as far as the port takes it. */
static int ask(struct reader *r)
{
	for (size_t i = 0; i < r->count && r->connected; i++) {
		struct reader_item *item = &r->items[i];
		int rc;

		if (item->phase != ITEM_TO_ASK)
			continue;
		rc = item->children ? port_children(r->port, i + 1, item->path, 0)
				    : port_get(r->port, i + 1, item->path, 0);
		if (rc == -EAGAIN || rc == -ENOTCONN)
			return 0;
		if (rc < 0)
			return rc;
		item->phase = ITEM_ASKED;
	}
	return 0;
}

/* Waits for something to happen, at most until the time is over. */
static int wait_more(struct reader *r)
{
	struct pollfd fds[] = {
		{.fd = port_fd(r->port), .events = POLLIN},
		{.fd = r->connected ? -1 : resolver_fd(r->resolver), .events = POLLIN},
	};
	int64_t left_ms = r->start_ms + r->config.wait_ms - client_now_ms();

	if (left_ms <= 0)
		return unreachable(r);
	/* Names that are still being looked up are passed over after their grace; no descriptor tells of
	 * that. */
	if (!r->connected && r->set.count == 0 && left_ms > NAMES_GRACE_MS)
		left_ms = NAMES_GRACE_MS;
	if (poll(fds, 2, (int)left_ms) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

int reader_read(struct reader *r, struct reader_item *items, size_t count)
{
	int rc = 0;

	r->items = items;
	r->count = count;
	r->answered = 0;
	for (size_t i = 0; i < count; i++)
		items[i].phase = ITEM_TO_ASK;
	while (rc == 0 && r->answered < count) {
		rc = keep_handle(r);
		if (rc == 0)
			rc = ask(r);
		if (rc == 0)
			rc = wait_more(r);
		if (rc == 0) {
			port_take(r->port, EVENTS_MAX, take_event, r);
			rc = r->failed;
		}
	}
	r->items = NULL;
	r->count = 0;
	return say(rc);
}

int reader_open(const struct reader_config *config, struct reader **out)
{
	const struct port_config port = {.requests_max = REQUESTS_MAX, .log = take_log};
	struct reader *r = calloc(1, sizeof(*r));
	int rc = -ENOMEM;

	if (r == NULL)
		return say(rc);
	r->config = *config;
	r->start_ms = client_now_ms();
	rc = port_new(&port, &r->port);
	if (rc < 0)
		goto failed;
	if (config->auth_file != NULL && config->auth_file[0] != '\0') {
		rc = add_credentials(r->port, config->auth_file);
		if (rc < 0) {
			reader_close(r);
			return rc;
		}
	}
	rc = resolver_new(config->servers, config->server_count, &r->resolver);
	if (rc < 0)
		goto failed;
	resolver_start(r->resolver);
	*out = r;
	return 0;
failed:
	reader_close(r);
	return say(rc);
}

void reader_item_clear(struct reader_item *item)
{
	for (size_t i = 0; i < item->name_count; i++)
		free(item->names[i]);
	free(item->names);
	free(item->data);
	item->names = NULL;
	item->name_count = 0;
	item->data = NULL;
	item->size = 0;
}

void reader_close(struct reader *r)
{
	if (r == NULL)
		return;
	if (r->port != NULL && r->connected)
		port_close_session(r->port, CLOSE_MS);
	port_free(r->port, CLOSE_MS);
	/* Freeing waits for its threads: a look-up that hangs would keep us. The process is about to end. */
	if (r->resolver != NULL) {
		resolver_take(r->resolver, &r->found);
		if (r->found.busy > 0)
			return;
	}
	resolver_free(r->resolver);
	free(r);
}
