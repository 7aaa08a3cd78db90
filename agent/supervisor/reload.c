/* SIGHUP: a new configuration takes the place of the old one. */
#include "supervisor/reload.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/config_found.h"
#include "common/control.h"
#include "common/log.h"
#include "supervisor/clock.h"
#include "supervisor/control_socket.h"
#include "supervisor/stopping.h"
#include "supervisor/supervisor.h"

enum { QUOTED_SIZE = 1024 };

static const int64_t check_limit_ns = INT64_C(5000000000);
static const int64_t notify_grace_ns = INT64_C(5000000000);
static const int64_t quit_limit_ns = INT64_C(5000000000);

void reload_init(struct reload *reload)
{
	memset(reload, 0, sizeof(*reload));
	output_init(&reload->errors);
	reload->text_fd = reload->found_fd = reload->control_fd = -1;
	reload->kill_at_ns = CLOCK_NEVER;
}

static void drop_next(struct reload *reload)
{
	if (reload->next)
		control_socket_close(reload->control_fd, reload->next->control.socket);
	reload->control_fd = -1;
	config_free(reload->next);
	reload->next = NULL;
}

/* NOLINTBEGIN(misc-no-recursion): one request follows, and reload_init has forgotten it before it begins. */

static void finish(struct supervisor *supervisor, int64_t now_ns)
{
	struct reload *reload = &supervisor->reload;
	bool again = reload->again && !reload->cancelled;

	drop_next(reload);
	if (reload->text_fd >= 0)
		close(reload->text_fd);
	if (reload->found_fd >= 0)
		close(reload->found_fd);
	reload_init(reload);
	if (supervisor->stop_signals > 0)
		return;
	if (supervisor->ready)
		service_manager_tell(&supervisor->manager, "READY=1");
	if (again)
		reload_request(supervisor, now_ns);
}

static void refuse(struct supervisor *supervisor, const char *why, int64_t now_ns)
{
	log_error(NULL, "configuration not reloaded: the old one stays", "why=\"%s\"", why);
	finish(supervisor, now_ns);
}

/* ---- checking, in a child ---- */

static void take_error(struct output *output, const char *line)
{
	char quoted[QUOTED_SIZE];

	(void)output;
	log_error(NULL, "configuration", "error=%s", log_quote(line, quoted, sizeof(quoted)));
}

static int parse(const struct config *old, const unsigned char *text, size_t size, bool look, FILE *stream,
		 struct config **next)
{
	struct config_options options = {
		.file = old->file,
		.overrides = (const char *const *)old->overrides,
		.override_count = old->override_count,
		.check_files = look,
		.found_elsewhere = !look,
	};
	struct config_errors errors = {.stream = stream};

	return config_parse(text, size, &options, &errors, next);
}

/* A parser can crash or hang, a name service too: hence not in the supervisor. */
__attribute__((noreturn)) static void check(const struct config *old, const struct reload *reload,
					    int errors_fd, pid_t parent)
{
	struct config_errors errors = {.stream = fdopen(errors_fd, "w")};
	FILE *found = fdopen(reload->found_fd, "w");
	struct config *next = NULL;
	unsigned char *text = NULL;
	size_t size = 0;
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || !errors.stream || !found)
		_exit(EXIT_INTERNAL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (config_read(old->file, &text, &size, &errors) < 0 ||
	    parse(old, text, size, true, errors.stream, &next) < 0) {
		fflush(errors.stream);
		_exit(EXIT_CONFIGURATION);
	}
	for (size_t done = 0; done < size;) {
		ssize_t n = write(reload->text_fd, text + done, size - done);

		if (n <= 0)
			_exit(EXIT_INTERNAL);
		done += (size_t)n;
	}
	_exit(config_found_write(next, found) == 0 ? EXIT_YES : EXIT_INTERNAL);
}

static int start_check(struct supervisor *supervisor)
{
	struct reload *reload = &supervisor->reload;
	pid_t parent = getpid();
	int pipe_fds[2];
	int rc;

	reload->text_fd = memfd_create("tenured.conf.new", MFD_CLOEXEC);
	reload->found_fd = memfd_create("tenured.found", MFD_CLOEXEC);
	if (reload->text_fd < 0 || reload->found_fd < 0 || pipe2(pipe_fds, O_CLOEXEC) < 0)
		return -errno;
	rc = output_open(&reload->errors, &supervisor->loop, pipe_fds[0], take_error);
	if (rc < 0)
		goto out;
	reload->pid = fork();
	if (reload->pid == 0)
		check(supervisor->config, reload, pipe_fds[1], parent);
	if (reload->pid < 0) {
		rc = -errno;
		reload->pid = 0;
		output_close(&reload->errors);
	}
out:
	close(pipe_fds[1]);
	return rc;
}

void reload_request(struct supervisor *supervisor, int64_t now_ns)
{
	struct reload *reload = &supervisor->reload;
	struct timespec monotonic = {0};
	int rc;

	if (reload->phase != RELOAD_IDLE) {
		reload->again = true;
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	service_manager_tell(&supervisor->manager, "RELOADING=1\nMONOTONIC_USEC=%lld",
			     (long long)monotonic.tv_sec * 1000000 + monotonic.tv_nsec / 1000);
	log_info(NULL, "reading the configuration again", " ");
	reload->phase = RELOAD_CHECKING;
	rc = start_check(supervisor);
	if (rc < 0)
		refuse(supervisor, strerror(-rc), now_ns);
	else
		reload->kill_at_ns = now_ns + check_limit_ns;
}

/* NOLINTEND(misc-no-recursion) */

/* ---- applying ---- */

/*
 * Takes the bytes that the child found good, and no others that the file may hold by now, and what it has looked
 * up: here nothing may be waited for.
 */
static int load(struct supervisor *supervisor)
{
	struct reload *reload = &supervisor->reload;
	struct stat status;
	unsigned char *text;
	FILE *nowhere, *found = fdopen(reload->found_fd, "r");
	int rc = -EIO;

	if (!found || fstat(reload->text_fd, &status) < 0)
		return -errno;
	text = malloc((size_t)status.st_size + 1);
	nowhere = fopen("/dev/null", "we");
	if (text && nowhere && pread(reload->text_fd, text, (size_t)status.st_size, 0) == status.st_size)
		rc = parse(supervisor->config, text, (size_t)status.st_size, false, nowhere, &reload->next);
	rewind(found);
	if (rc == 0)
		rc = config_found_read(reload->next, found);
	fclose(found);
	reload->found_fd = -1;
	if (nowhere)
		fclose(nowhere);
	free(text);
	return rc;
}

static const struct config_election *find_next(const struct config *next, const char *name)
{
	for (size_t i = 0; i < next->election_count; i++) {
		if (strcmp(next->elections[i].name, name) == 0)
			return &next->elections[i];
	}
	return NULL;
}

/* Whether UNIT's role goes on under the next configuration. */
static bool is_kept(const struct reload *reload, const struct unit *unit)
{
	const struct config_election *next;

	if (!reload->next)
		return !unit->role.stopping || unit->role.state == ROLE_PANIC;
	next = find_next(reload->next, unit->config->name);
	return reload->keep_session && next && config_same_election(unit->config, next);
}

static bool panic_in_the_way(const struct supervisor *supervisor)
{
	for (size_t i = 0; i < supervisor->unit_count; i++) {
		if (!is_kept(&supervisor->reload, supervisor->units[i]) &&
		    supervisor->units[i]->role.state == ROLE_PANIC)
			return true;
	}
	return false;
}

/* At another place it is made before the old one goes, so that a refusal changes nothing. */
static int prepare_control(struct supervisor *supervisor)
{
	struct reload *reload = &supervisor->reload;
	const char *path = reload->next->control.socket;

	if (path[0] == '\0' ||
	    (supervisor->control_fd >= 0 && strcmp(path, supervisor->config->control.socket) == 0))
		return 0;
	reload->control_fd =
		control_socket_open(path, reload->next->control.has_group, reload->next->control.group);
	return reload->control_fd < 0 ? reload->control_fd : 0;
}

static bool same_text(const struct config *a, const struct config *b)
{
	return a->text_size == b->text_size && memcmp(a->text, b->text, a->text_size) == 0;
}

/* The option that another value was given to although it needs a restart, or NULL. */
static const char *fixed_option(const struct config *a, const struct config *b)
{
	if (strcmp(a->state_dir, b->state_dir) != 0)
		return "state_dir";
	if (strcmp(a->data_dir, b->data_dir) != 0)
		return "data_dir";
	if (strcmp(a->watchdog_device, b->watchdog_device) != 0)
		return "watchdog.device";
	if (a->lock_memory != b->lock_memory)
		return "realtime.lock_memory";
	return a->priority != b->priority ? "realtime.priority" : NULL;
}

static void apply(struct supervisor *supervisor, int64_t now_ns)
{
	struct reload *reload = &supervisor->reload;
	char why[80];

	if (fixed_option(supervisor->config, reload->next)) {
		snprintf(why, sizeof(why), "%s cannot change while the agent runs",
			 fixed_option(supervisor->config, reload->next));
		refuse(supervisor, why, now_ns);
		return;
	}
	if (same_text(supervisor->config, reload->next)) {
		log_info(NULL, "configuration unchanged", " ");
		finish(supervisor, now_ns);
		return;
	}
	reload->keep_session = config_same_session(supervisor->config, reload->next);
	if (panic_in_the_way(supervisor)) {
		refuse(supervisor, "an election that has changed is in panic", now_ns);
		return;
	}
	if (prepare_control(supervisor) < 0) {
		refuse(supervisor, "the control socket cannot be made", now_ns);
		return;
	}
	log_open("supervisor", reload->next->log.level, reload->next->log.format, reload->next->log.target);
	reload->phase = RELOAD_LEAVING;
	for (size_t i = 0; i < supervisor->unit_count; i++) {
		if (!is_kept(reload, supervisor->units[i]))
			unit_stop(supervisor->units[i], false, now_ns);
	}
}

void reload_exited(struct supervisor *supervisor, int64_t now_ns)
{
	struct reload *reload = &supervisor->reload;
	int status = 0;

	while (waitpid(reload->pid, &status, 0) < 0 && errno == EINTR)
		;
	reload->pid = 0;
	reload->kill_at_ns = CLOCK_NEVER;
	output_drain(&reload->errors);
	output_close(&reload->errors);
	if (reload->cancelled)
		finish(supervisor, now_ns);
	else if (WIFSIGNALED(status))
		refuse(supervisor, "checking it took too long, or crashed", now_ns);
	else if (WEXITSTATUS(status) != EXIT_YES)
		refuse(supervisor, "it is not valid", now_ns);
	else if (load(supervisor) < 0)
		refuse(supervisor, "it could not be taken over", now_ns);
	else
		apply(supervisor, now_ns);
}

/* ---- leaving ---- */

/*
 * Whether UNIT's candidate is still in the queue. In a session that goes on it would stand there for ever,
 * with nobody behind it any more.
 */
static bool still_queued(struct reload *reload, const struct unit *unit)
{
	if (!reload->keep_session || !unit->leaving)
		return false;
	if (!reload->wait_said)
		log_warning(unit->config->name, "the reload waits until ZooKeeper has removed the candidate",
			    " ");
	reload->wait_said = true;
	return true;
}

/* Whether all that must go is out. Notify hooks get a short time to say so. */
static bool all_left(struct supervisor *supervisor, int64_t now_ns)
{
	struct reload *reload = &supervisor->reload;
	bool notifying = false;

	for (size_t i = 0; i < supervisor->unit_count; i++) {
		const struct unit *unit = supervisor->units[i];

		if (is_kept(reload, unit))
			continue;
		if (!role_stopped(&unit->role) || still_queued(reload, unit))
			return false;
		notifying = notifying || notifier_busy(&unit->notifier);
	}
	if (reload->grace_ns == 0)
		reload->grace_ns = now_ns + notify_grace_ns;
	return !notifying || now_ns >= reload->grace_ns;
}

static void leave(struct supervisor *supervisor, int64_t now_ns)
{
	struct reload *reload = &supervisor->reload;

	if (!all_left(supervisor, now_ns))
		return;
	if (panic_in_the_way(supervisor)) {
		/* The elections that have left begin again as they were. */
		log_error(NULL, "configuration not reloaded: the old one stays",
			  "why=\"an election that has changed could not leave office\"");
		drop_next(reload);
		reload->keep_session = true;
	}
	reload->phase = RELOAD_REPLACING;
	child_quit(&supervisor->child, reload->keep_session, now_ns, quit_limit_ns);
}

/* ---- replacing ---- */

static void replace_control(struct supervisor *supervisor)
{
	struct reload *reload = &supervisor->reload;
	const struct config *next = reload->next;
	const char *old_path = supervisor->config->control.socket;
	int rc;

	if (reload->control_fd >= 0 || next->control.socket[0] == '\0') {
		control_socket_close(supervisor->control_fd, old_path);
		supervisor->control_fd = reload->control_fd;
		reload->control_fd = -1;
		return;
	}
	rc = control_socket_share(next->control.socket, next->control.has_group, next->control.group);
	if (rc < 0)
		log_error(NULL, "cannot give the control socket to its group", "error=\"%s\"", strerror(-rc));
}

/* The unit for the next configuration's election: the one that stays, or a new one. NULL: no memory. */
static struct unit *unit_for(struct supervisor *supervisor, uint32_t index,
			     const struct config_election *election)
{
	struct unit *former = supervisor_find(supervisor, election->name), *unit;

	if (former && is_kept(&supervisor->reload, former))
		return former;
	unit = unit_new(&supervisor->host, index, election);
	if (unit && former)
		unit_adopt_floor(unit, former);
	return unit;
}

static bool contains(struct unit **units, size_t n, const struct unit *unit)
{
	for (size_t i = 0; i < n; i++) {
		if (units[i] == unit)
			return true;
	}
	return false;
}

/* Whether an election that has left is known to be out of office, so that lose need not run again. */
static bool left_clean(const struct supervisor *supervisor, const char *name)
{
	const struct unit *old = supervisor_find(supervisor, name);

	return old && old->role.state == ROLE_OUT && old->role.established;
}

static void begin_new(struct supervisor *supervisor, struct unit **units, const struct config *next,
		      const bool *clean, int64_t now_ns)
{
	for (size_t i = 0; i < next->election_count; i++) {
		if (contains(supervisor->units, supervisor->unit_count, units[i])) {
			unit_adopt_config(units[i], (uint32_t)i, &next->elections[i]);
			units[i] = NULL; /* it has begun long ago */
		}
	}
	for (size_t i = 0; i < next->election_count; i++) {
		if (units[i])
			unit_begin(units[i], clean[i] ? ROLE_BEGIN_OUT : ROLE_BEGIN_LOSE, 0, now_ns);
	}
}

/* Puts the units of NEXT in the place of the present ones. Returns 0 or -ENOMEM, with nothing changed. */
static int swap_units(struct supervisor *supervisor, const struct config *next, int64_t now_ns)
{
	size_t n = next->election_count;
	struct unit **units = calloc(n + 1, sizeof(struct unit *)),
		    **fresh = calloc(n + 1, sizeof(struct unit *));
	bool *clean = calloc(n + 1, sizeof(*clean));
	struct unit **old = supervisor->units;
	size_t old_count = supervisor->unit_count, i;

	for (i = 0; units && fresh && clean && i < n; i++) {
		units[i] = fresh[i] = unit_for(supervisor, (uint32_t)i, &next->elections[i]);
		if (!units[i])
			break;
		clean[i] = left_clean(supervisor, next->elections[i].name);
	}
	if (!units || !fresh || !clean || i < n) {
		for (size_t made = 0; units && made < i; made++) {
			if (!contains(old, old_count, units[made]))
				unit_free(units[made]);
		}
		free(units);
		free(fresh);
		free(clean);
		return -ENOMEM;
	}
	supervisor->host.member = next->member;
	supervisor->host.data_dir = next->data_dir;
	supervisor->host.state_dir = next->state_dir;
	supervisor->host.session_timeout_ns = next->zookeeper.session_timeout_ns;
	begin_new(supervisor, fresh, next, clean, now_ns);
	supervisor->units = units;
	supervisor->unit_count = n;
	for (i = 0; i < old_count; i++) {
		if (contains(units, n, old[i]))
			continue;
		if (!find_next(next, old[i]->config->name))
			mirror_drop(supervisor, old[i]->config->name);
		unit_free(old[i]);
	}
	free(old);
	free(fresh);
	free(clean);
	return 0;
}

static void replace(struct supervisor *supervisor, int64_t now_ns)
{
	struct reload *reload = &supervisor->reload;
	struct config *old = supervisor->config;

	if (supervisor->child.pid != 0)
		return;
	supervisor->child.start_at_ns = now_ns;
	if (!reload->keep_session)
		supervisor_forget_session(supervisor);
	if (reload->cancelled) {
		finish(supervisor, now_ns);
		return;
	}
	if (swap_units(supervisor, reload->next ? reload->next : old, now_ns) < 0) {
		log_error(NULL, "no memory for the new configuration: the agent stops", " ");
		stopping_request(supervisor, now_ns);
		return;
	}
	if (reload->next) {
		replace_control(supervisor);
		supervisor->config = reload->next;
		reload->next = NULL;
		config_free(old);
		mirror_configuration(supervisor);
		watchdog_adapt(&supervisor->watchdog, supervisor->config, supervisor->session.timeout_ns);
		log_info(NULL, "configuration reloaded", "elections=%zu", supervisor->config->election_count);
	}
	supervisor->host.changed = true;
	mirror_all(supervisor);
	finish(supervisor, now_ns);
}

void reload_advance(struct supervisor *supervisor, int64_t now_ns)
{
	struct reload *reload = &supervisor->reload;

	if (reload->phase == RELOAD_CHECKING && now_ns >= reload->kill_at_ns) {
		reload->kill_at_ns = CLOCK_NEVER;
		kill(reload->pid, SIGKILL);
	}
	if (reload->phase == RELOAD_LEAVING)
		leave(supervisor, now_ns);
	if (reload->phase == RELOAD_REPLACING)
		replace(supervisor, now_ns);
}

int64_t reload_deadline(const struct reload *reload)
{
	if (reload->phase == RELOAD_LEAVING && reload->grace_ns != 0)
		return reload->grace_ns;
	return reload->kill_at_ns;
}

void reload_cancel(struct supervisor *supervisor)
{
	struct reload *reload = &supervisor->reload;

	reload->cancelled = true;
	if (reload->phase == RELOAD_CHECKING)
		kill(reload->pid, SIGKILL);
	else if (reload->phase == RELOAD_LEAVING)
		finish(supervisor, clock_now_ns());
	else if (reload->phase == RELOAD_IDLE)
		reload->cancelled = false;
}
