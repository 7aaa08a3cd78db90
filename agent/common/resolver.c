/* The servers' names as numeric addresses. See resolver.h. */
#include "common/resolver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define RESOLVER_STACK ((size_t)512 << 10)

/* What a look-up found. */
struct resolver_answer {
	int error; /* of getaddrinfo; 0: it resolved */
	size_t count;
	char addresses[RESOLVER_ADDRESSES_MAX][RESOLVER_ADDRESS_SIZE];
};

struct resolver_host {
	const struct config_server *server;
	bool numeric;
	int fd;
	struct resolver_answer known; /* the error of the last look-up, the addresses of the last good one */
	bool running;
	pthread_t thread;
	atomic_bool ended;             /* set by the thread when `answer` is complete */
	struct resolver_answer answer; /* the thread's until then */
};

struct resolver {
	size_t host_count;
	struct resolver_host *hosts;
	int fd;
};

bool resolver_set_equal(const struct resolver_set *a, const struct resolver_set *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->addresses[i], b->addresses[i]) != 0)
			return false;
	return true;
}

static bool is_numeric(const char *host)
{
	unsigned char bytes[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

static void look_up(const struct config_server *server, struct resolver_answer *out)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	char text[INET6_ADDRSTRLEN];

	out->count = 0;
	out->error = getaddrinfo(server->host, NULL, &hints, &list);
	if (out->error)
		return;
	for (const struct addrinfo *a = list; a && out->count < RESOLVER_ADDRESSES_MAX; a = a->ai_next) {
		const void *address = NULL;

		if (a->ai_family == AF_INET)
			address = &((const struct sockaddr_in *)(const void *)a->ai_addr)->sin_addr;
		else if (a->ai_family == AF_INET6)
			address = &((const struct sockaddr_in6 *)(const void *)a->ai_addr)->sin6_addr;
		if (address && inet_ntop(a->ai_family, address, text, sizeof text))
			snprintf(out->addresses[out->count++], sizeof out->addresses[0], "%s:%u", text,
				 (unsigned)server->port);
	}
	freeaddrinfo(list);
	if (out->count == 0)
		out->error = EAI_NONAME;
}

static void *run_look_up(void *context)
{
	struct resolver_host *host = context;
	const uint64_t one = 1;

	look_up(host->server, &host->answer);
	atomic_store(&host->ended, true);
	while (write(host->fd, &one, sizeof one) < 0 && errno == EINTR)
		continue;
	return NULL;
}

int resolver_new(const struct config_server *list, size_t count, struct resolver **out)
{
	struct resolver *r = calloc(1, sizeof *r);
	int rc = -ENOMEM;

	if (!r)
		return rc;
	r->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->fd < 0) {
		rc = -errno;
		goto fail;
	}
	r->hosts = calloc(count ? count : 1, sizeof *r->hosts);
	if (!r->hosts)
		goto fail;
	r->host_count = count;
	for (size_t i = 0; i < count; i++) {
		r->hosts[i].server = &list[i];
		r->hosts[i].fd = r->fd;
		r->hosts[i].numeric = is_numeric(list[i].host);
		if (r->hosts[i].numeric)
			look_up(&list[i], &r->hosts[i].known);
	}
	*out = r;
	return 0;
fail:
	resolver_free(r);
	return rc;
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->host_count; i++)
		if (r->hosts[i].running)
			pthread_join(r->hosts[i].thread, NULL);
	if (r->fd >= 0)
		close(r->fd);
	free(r->hosts);
	free(r);
}

int resolver_fd(const struct resolver *r)
{
	return r->fd;
}

bool resolver_numeric(const struct resolver *r)
{
	for (size_t i = 0; i < r->host_count; i++)
		if (!r->hosts[i].numeric)
			return false;
	return true;
}

void resolver_start(struct resolver *r)
{
	pthread_attr_t attributes;

	if (resolver_numeric(r) || pthread_attr_init(&attributes) != 0)
		return;
	pthread_attr_setstacksize(&attributes, RESOLVER_STACK);
	for (size_t i = 0; i < r->host_count; i++) {
		struct resolver_host *host = &r->hosts[i];

		if (host->numeric || host->running)
			continue;
		atomic_store(&host->ended, false);
		host->running = pthread_create(&host->thread, &attributes, run_look_up, host) == 0;
		if (!host->running)
			host->known.error = EAI_MEMORY;
	}
	pthread_attr_destroy(&attributes);
}

/* The addresses stay what they were when a look-up fails. */
static void harvest(struct resolver_host *host)
{
	if (!host->running || !atomic_load(&host->ended))
		return;
	pthread_join(host->thread, NULL);
	host->running = false;
	if (host->answer.error)
		host->known.error = host->answer.error;
	else
		host->known = host->answer;
}

static bool contains(const struct resolver_set *set, const char *address)
{
	for (size_t i = 0; i < set->count; i++)
		if (strcmp(set->addresses[i], address) == 0)
			return true;
	return false;
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void collect(const struct resolver *r, struct resolver_set *out)
{
	for (size_t turn = 0; turn < RESOLVER_ADDRESSES_MAX; turn++)
		for (size_t i = 0; i < r->host_count && out->count < RESOLVER_ADDRESSES_MAX; i++) {
			const struct resolver_answer *known = &r->hosts[i].known;

			if (turn < known->count && !contains(out, known->addresses[turn]))
				memcpy(out->addresses[out->count++], known->addresses[turn], RESOLVER_ADDRESS_SIZE);
		}
	qsort(out->addresses, out->count, sizeof out->addresses[0], compare);
}

void resolver_take(struct resolver *r, struct resolver_set *out)
{
	uint64_t ended;

	memset(out, 0, sizeof *out);
	/* Emptied before the flags are looked at, so that a look-up that ends meanwhile makes it readable again. */
	if (read(r->fd, &ended, sizeof ended) < 0)
		ended = 0;
	for (size_t i = 0; i < r->host_count; i++) {
		struct resolver_host *host = &r->hosts[i];

		harvest(host);
		out->busy += host->running;
		if (host->known.error && out->failed++ == 0) {
			snprintf(out->example, sizeof out->example, "%s", host->server->host);
			snprintf(out->why, sizeof out->why, "%s", gai_strerror(host->known.error));
		}
	}
	collect(r, out);
}
