/* Memory that stays and a processor when it is needed. */
#include "supervisor/realtime.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/log.h"

/* What the agent may still need: units, a reload's second configuration, messages that wait. */
#define HEADROOM_BYTES (UINT64_C(32) << 20)

static bool may_lock_without_limit(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	return syscall(SYS_capget, &header, sets) == 0 && (sets[0].effective & 1u << CAP_IPC_LOCK) != 0;
}

/* Of the whole address space; 0: not known. */
static uint64_t size_now(void)
{
	FILE *statm = fopen("/proc/self/statm", "re");
	uint64_t pages = 0;

	if (!statm)
		return 0;
	if (fscanf(statm, "%" SCNu64, &pages) != 1)
		pages = 0;
	fclose(statm);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Under a limit that is too low everything would begin well, and a later allocation fail. */
static bool limit_suffices(void)
{
	uint64_t need = size_now() + HEADROOM_BYTES;
	struct rlimit limit;

	if (may_lock_without_limit() || getrlimit(RLIMIT_MEMLOCK, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
	    limit.rlim_cur >= need)
		return true;
	log_error(NULL, "realtime.lock_memory: the limit of locked memory (LimitMEMLOCK=, ulimit -l) is too low",
		  "limit_kib=%" PRIu64 " needed_kib=%" PRIu64, (uint64_t)limit.rlim_cur >> 10, need >> 10);
	return false;
}

static int lock_memory(void)
{
	int rc;

	if (!limit_suffices())
		return -ENOMEM;
	if (mlockall(MCL_CURRENT | MCL_FUTURE) == 0)
		return 0;
	rc = -errno;
	log_error(NULL, "realtime.lock_memory: the memory cannot be locked", "error=\"%s\"", strerror(-rc));
	return rc;
}

static int set_priority(int priority)
{
	const struct sched_param parameter = {.sched_priority = priority};
	int rc;

	if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &parameter) == 0)
		return 0;
	rc = -errno;
	log_error(NULL, "realtime.priority: it cannot be had (LimitRTPRIO=, ulimit -r, CAP_SYS_NICE)",
		  "priority=%d error=\"%s\"", priority, strerror(-rc));
	return rc;
}

int realtime_begin(const struct config *config)
{
	int rc = config->lock_memory ? lock_memory() : 0;

	return rc == 0 && config->priority > 0 ? set_priority((int)config->priority) : rc;
}
