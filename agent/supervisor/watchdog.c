/* The watchdog device. See watchdog.h. */
#include "supervisor/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/watchdog.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "supervisor/clock.h"

enum { QUOTED_SIZE = 512 };

static const int64_t second_ns = INT64_C(1000000000);

/* What a lease of CONFIG's elections with T surely has left in its steady state. */
static int64_t surely_left_ns(const struct config *config, int64_t timeout_ns)
{
	int64_t least_ns = timeout_ns;

	for (size_t i = 0; i < config->election_count; i++) {
		const struct tenure_budget *budget = &config->elections[i].budget;

		/* What is needed and what may be missed, without what is in both. */
		if (config->elections[i].candidate)
			least_ns = clock_earlier(least_ns, tenure_budget_need(budget, timeout_ns) -
								   tenure_budget_ride_out(budget, timeout_ns) +
								   tenure_budget_hold(budget, timeout_ns));
	}
	return least_ns;
}

/* Sets the device's timeout to at most WANTED_NS. Returns 0, or negative errno, logged. */
static int set_timeout(struct watchdog *watchdog, const char *device, int64_t wanted_ns, int64_t margin_ns)
{
	char quoted[QUOTED_SIZE];
	int wanted_s = (int)(wanted_ns / second_ns), granted_s = wanted_s;

	log_quote(device, quoted, sizeof(quoted));
	if (wanted_s < 1) {
		log_error(NULL, "the lease is too short for a watchdog", "device=%s lease_surely_left_ms=%lld",
			  quoted, (long long)(wanted_ns / TENURE_NS_PER_MS));
		return -ERANGE;
	}
	if (!watchdog->stand_in &&
	    (ioctl(watchdog->fd, WDIOC_SETTIMEOUT, &granted_s) < 0 ||
	     ioctl(watchdog->fd, WDIOC_GETTIMEOUT, &granted_s) < 0)) {
		int rc = -errno;

		log_error(NULL, "the watchdog device takes no timeout", "device=%s error=\"%s\"", quoted,
			  strerror(-rc));
		return rc;
	}
	/* It runs by that from now on, whether it suits us or not. */
	watchdog->timeout_ns = granted_s * second_ns;
	if (granted_s < 1 || granted_s > wanted_s) {
		log_error(NULL, "the watchdog's timeout does not suit the lease",
			  "device=%s timeout_s=%d lease_surely_left_s=%d", quoted, granted_s, wanted_s);
		return -ERANGE;
	}
	/* The last feed before the lease gets too short comes at most this much too early. */
	watchdog->interval_ns = clock_earlier(watchdog->timeout_ns / 4, margin_ns / 2);
	return 0;
}

static int open_device(struct watchdog *watchdog, const char *device)
{
	char quoted[QUOTED_SIZE];
	struct stat status;
	int rc;

	/* Nothing that is written to may hold up the loop. */
	watchdog->fd = open(device, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	log_quote(device, quoted, sizeof(quoted));
	if (watchdog->fd < 0 || fstat(watchdog->fd, &status) < 0) {
		rc = -errno;
		log_error(NULL, "cannot open the watchdog device", "device=%s error=\"%s\"", quoted,
			  strerror(-rc));
		return rc;
	}
	watchdog->stand_in = !S_ISCHR(status.st_mode);
	if (watchdog->stand_in)
		log_warning(NULL, "no watchdog device: nothing resets the host", "device=%s", quoted);
	return 0;
}

int watchdog_open(struct watchdog *watchdog, const struct config *config, int64_t now_ns)
{
	int64_t timeout_ns = config->zookeeper.session_timeout_ns;
	int rc;

	*watchdog = WATCHDOG_NONE;
	if (config->watchdog_device[0] == '\0')
		return 0;
	rc = open_device(watchdog, config->watchdog_device);
	if (rc == 0)
		rc = set_timeout(watchdog, config->watchdog_device, surely_left_ns(config, timeout_ns),
				 tenure_budget_margin(timeout_ns));
	if (rc < 0) {
		watchdog_close(watchdog, true);
		return rc;
	}
	watchdog->feed_at_ns = now_ns;
	log_info(NULL, "watchdog started", "timeout_ms=%lld", (long long)(watchdog->timeout_ns / TENURE_NS_PER_MS));
	return 0;
}

void watchdog_adapt(struct watchdog *watchdog, const struct config *config, int64_t session_ns)
{
	int64_t timeout_ns = config->zookeeper.session_timeout_ns, left_ns;

	if (watchdog->fd < 0)
		return;
	if (session_ns > 0)
		timeout_ns = clock_earlier(timeout_ns, session_ns);
	left_ns = surely_left_ns(config, timeout_ns);
	if (left_ns / second_ns == watchdog->timeout_ns / second_ns)
		return;
	if (set_timeout(watchdog, config->watchdog_device, left_ns, tenure_budget_margin(timeout_ns)) == 0)
		log_info(NULL, "watchdog set to the lease", "timeout_ms=%lld",
			 (long long)(watchdog->timeout_ns / TENURE_NS_PER_MS));
}

static void feed(struct watchdog *watchdog)
{
	bool failed = write(watchdog->fd, ".", 1) != 1;

	if (failed && !watchdog->failing)
		log_error(NULL, "cannot feed the watchdog", "error=\"%s\"", strerror(errno));
	watchdog->failing = failed;
}

void watchdog_feed(struct watchdog *watchdog, int64_t deadline_ns, int64_t now_ns)
{
	bool may = now_ns <= deadline_ns - watchdog->timeout_ns;

	/* One that starves is fed as soon as it may be, for it is about to fire. */
	if (watchdog->fd < 0 || (now_ns < watchdog->feed_at_ns && !(may && watchdog->starving)))
		return;
	watchdog->feed_at_ns = now_ns + watchdog->interval_ns;
	if (may)
		feed(watchdog);
	if (may == !watchdog->starving)
		return;
	watchdog->starving = !may;
	if (may)
		log_info(NULL, "the watchdog is fed again", " ");
	else
		log_warning(NULL, "the watchdog is not fed: too little of the lease is left",
			    "lease_ms=%lld timeout_ms=%lld", (long long)((deadline_ns - now_ns) / TENURE_NS_PER_MS),
			    (long long)(watchdog->timeout_ns / TENURE_NS_PER_MS));
}

void watchdog_close(struct watchdog *watchdog, bool clean)
{
	if (watchdog->fd < 0)
		return;
	if (clean && write(watchdog->fd, "V", 1) != 1)
		log_error(NULL, "the watchdog cannot be switched off: it resets the host", "error=\"%s\"",
			  strerror(errno));
	close(watchdog->fd);
	*watchdog = WATCHDOG_NONE;
}
