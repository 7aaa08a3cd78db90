/* What on_panic asks for. */
#include "supervisor/panic.h"

#include <errno.h>
#include <string.h>
#include <sys/reboot.h>

#include "common/log.h"

/* Without sync: a disk that hangs would keep the service alive. */
static void reboot_now(const struct config_election *config)
{
	log_error(config->name, "rebooting: the service may be in office without a lease", "on_panic=reboot");
	if (reboot(RB_AUTOBOOT) < 0)
		log_error(config->name, "cannot reboot", "error=\"%s\"", strerror(errno));
}

bool panic_act(const struct config_election *config)
{
	if (config->on_panic == CONFIG_PANIC_REBOOT)
		reboot_now(config);
	log_error(config->name, "in panic without a lease: the service may be in office, and another member too",
		  "on_panic=%s", config->on_panic == CONFIG_PANIC_EXIT ? "exit" : "log");
	return config->on_panic == CONFIG_PANIC_EXIT;
}
