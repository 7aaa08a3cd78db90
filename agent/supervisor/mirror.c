/* The mirror in state_dir. See mirror.h. */
#include "supervisor/mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "supervisor/state_dir.h"
#include "supervisor/supervisor.h"

int mirror_init(struct mirror *mirror)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, mirror->boot, sizeof(mirror->boot) - 1);
	int rc = n == (ssize_t)sizeof(mirror->boot) - 1 ? 0 : -EIO;

	if (fd >= 0)
		close(fd);
	mirror->boot[sizeof(mirror->boot) - 1] = '\0';
	mirror->self = (struct saved_process){.pid = getpid(), .start = state_dir_start_of(getpid())};
	return rc == 0 && mirror->self.start != 0 ? 0 : -EIO;
}

void mirror_name(const char *election, char name[MIRROR_NAME_SIZE])
{
	snprintf(name, MIRROR_NAME_SIZE, MIRROR_TERM_PREFIX "%s", election);
}

/* ---- identity ---- */

/* With its NUL, so that two texts never look like two others. */
static uint64_t add_text(uint64_t digest, const char *text)
{
	return text ? saved_digest(digest, text, strlen(text) + 1) : saved_digest(digest, "\1", 1);
}

static uint64_t add_number(uint64_t digest, int64_t number)
{
	return saved_digest(digest, &number, sizeof(number));
}

uint64_t mirror_session_identity(const struct config *config)
{
	uint64_t digest = add_text(0, config->zookeeper.chroot);

	digest = add_text(digest, config->member);
	digest = add_number(digest, config->zookeeper.session_timeout_ns);
	digest = add_number(digest, config->zookeeper.acl);
	digest = add_text(digest, config->zookeeper.auth_file);
	return add_number(digest, (int64_t)config->zookeeper.auth_digest);
}

uint64_t mirror_election_identity(const struct config_election *election)
{
	uint64_t digest = add_text(0, election->name);

	digest = add_text(digest, election->path);
	digest = add_text(digest, election->address);
	digest = add_number(digest, election->candidate);
	digest = add_text(digest, election->user.name);
	digest = add_number(digest, election->user.uid);
	digest = add_number(digest, election->user.gid);
	digest = add_number(digest, election->lose.command.words != NULL);
	digest = add_number(digest, election->fence.command.words != NULL);
	for (char **word = election->service.command.words; word && *word; word++)
		digest = add_text(digest, *word);
	return digest;
}

/* ---- writing ---- */

/* A picture that is out of date is worse than none: it would be believed. */
static void write_file(struct supervisor *supervisor, const char *name, const char *text, size_t size)
{
	struct mirror *mirror = &supervisor->mirror;
	int rc = state_dir_write(&supervisor->state_dir, name, text, size);

	if (rc < 0)
		unlinkat(supervisor->state_dir.fd, name, 0);
	if (rc < 0 && !mirror->failing)
		log_warning(NULL, "cannot keep the state in state_dir: a crash would cost the terms",
			    "name=%s error=\"%s\"", name, strerror(-rc));
	mirror->failing = rc < 0;
}

void mirror_session(struct supervisor *supervisor)
{
	const struct mirror *mirror = &supervisor->mirror;
	struct saved_session session;
	char text[SAVED_SIZE];

	if (mirror->over)
		return;
	memset(&session, 0, sizeof(session));
	memcpy(session.boot, mirror->boot, sizeof(session.boot));
	snprintf(session.member, sizeof(session.member), "%s", supervisor->config->member);
	session.supervisor = mirror->self;
	session.agent = supervisor->agent;
	session.identity = mirror_session_identity(supervisor->config);
	session.session = supervisor->session;
	session.lease_start_ns = supervisor->lease_start_ns;
	session.elections = (uint32_t)supervisor->unit_count;
	snprintf(session.watchdog, sizeof(session.watchdog), "%s", supervisor->config->watchdog_device);
	write_file(supervisor, MIRROR_SESSION_FILE, text, saved_session_write(&session, text));
}

static struct saved_process running(pid_t pid)
{
	return (struct saved_process){.pid = pid, .start = pid != 0 ? state_dir_start_of(pid) : 0};
}

static struct saved_process running_hook(const struct unit *unit)
{
	for (enum role_hook hook = ROLE_HOOK_GAIN; hook < ROLE_HOOK_COUNT; hook++) {
		if (unit->hooks[hook].process.pid != 0)
			return running(unit->hooks[hook].process.pid);
	}
	return running(0);
}

void mirror_term(struct supervisor *supervisor, const struct unit *unit)
{
	char text[SAVED_SIZE], name[MIRROR_NAME_SIZE];
	struct saved_term term;

	if (supervisor->mirror.over)
		return;
	memset(&term, 0, sizeof(term));
	memcpy(term.boot, supervisor->mirror.boot, sizeof(term.boot));
	snprintf(term.election, sizeof(term.election), "%s", unit->config->name);
	term.identity = mirror_election_identity(unit->config);
	term.session_id = supervisor->session.id;
	role_save(&unit->role, &term.role);
	memcpy(term.candidate, unit->candidate, sizeof(term.candidate));
	term.czxid = unit->czxid;
	term.left = unit->left;
	term.leaving = unit->leaving;
	term.giving_up = unit->giving_up;
	term.demoted_token = unit->demoted_token;
	term.since_ms = unit->since_ms;
	term.has_previous = unit->has_previous;
	term.previous = unit->previous;
	term.hook = running_hook(unit);
	term.service = running(service_pid(&unit->service));
	mirror_name(unit->config->name, name);
	write_file(supervisor, name, text, saved_term_write(&term, text));
}

void mirror_all(struct supervisor *supervisor)
{
	mirror_session(supervisor);
	for (size_t i = 0; i < supervisor->unit_count; i++)
		mirror_term(supervisor, supervisor->units[i]);
}

void mirror_configuration(struct supervisor *supervisor)
{
	const struct config *config = supervisor->config;

	write_file(supervisor, MIRROR_CONFIGURATION_FILE, (const char *)config->text, config->text_size);
}

void mirror_drop(struct supervisor *supervisor, const char *election)
{
	char name[MIRROR_NAME_SIZE];

	mirror_name(election, name);
	state_dir_remove(&supervisor->state_dir, name);
}

void mirror_end(struct supervisor *supervisor)
{
	if (supervisor->state_dir.fd < 0)
		return;
	supervisor->mirror.over = true;
	state_dir_remove(&supervisor->state_dir, MIRROR_SESSION_FILE);
	state_dir_remove(&supervisor->state_dir, MIRROR_CONFIGURATION_FILE);
	for (size_t i = 0; i < supervisor->unit_count; i++)
		mirror_drop(supervisor, supervisor->units[i]->config->name);
}
