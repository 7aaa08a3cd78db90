/* Memory runs out at every place in turn in the port to ZooKeeper and in the resolver, without a server. */
#include "no_memory.h"

#include "common/resolver.h"
#include "zookeeper/events.h"
#include "zookeeper/port.h"

static int events(void)
{
	struct port_events *events = NULL;
	int rc;

	NO_MEMORY_IN(rc = port_events_new(16, &events));
	assert_true((rc == 0) == (events != NULL));
	if (rc == 0)
		port_events_unref(events);
	return rc;
}

static void ignore(void *context, const struct port_event *event)
{
	(void)context;
	(void)event;
}

/* Nobody listens at the discard port, so that it only ever tries. */
static int open_port(void)
{
	static const char *const addresses[] = {"127.0.0.1:9"};
	const struct session_credentials credentials = {.timeout_ns = INT64_C(4000000000)};
	const struct port_config config = {.requests_max = 4};
	struct port *port = NULL;
	int rc;

	NO_MEMORY_IN(rc = port_new(&config, &port));
	if (rc < 0)
		return rc;
	NO_MEMORY_IN(rc = port_add_auth(port, "digest", "a:b", 3));
	if (rc == 0)
		NO_MEMORY_IN(rc = port_open(port, addresses, 1, &credentials));
	NO_MEMORY_IN(port_take(port, 8, ignore, NULL));
	port_free(port, 2000);
	return rc;
}

static int resolve(void)
{
	static char host[] = "127.0.0.1", other[] = "::1";
	const struct config_server list[] = {{.host = host, .port = 2181}, {.host = other, .port = 2182}};
	struct resolver *resolver = NULL;
	static struct resolver_set set;
	int rc;

	NO_MEMORY_IN(rc = resolver_new(list, 2, &resolver));
	if (rc < 0)
		return rc;
	NO_MEMORY_IN(resolver_start(resolver));
	NO_MEMORY_IN(resolver_take(resolver, &set));
	assert_true(set.count <= 2);
	assert_true(resolver_numeric(resolver));
	resolver_free(resolver);
	return 0;
}

/* Goal: what cannot be had is refused whole. Method: the library's own allocations succeed: it does not survive them. */
static void test_port(void **state)
{
	(void)state;
	no_memory_sweep(events, NO_MEMORY_EVERYWHERE);
	no_memory_sweep(open_port, NO_MEMORY_OURS);
}

static void test_resolver(void **state)
{
	(void)state;
	no_memory_sweep(resolve, NO_MEMORY_OURS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_port),
		cmocka_unit_test(test_resolver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
