/* What an earlier supervisor has left behind. See takeover.h. */
#include "supervisor/takeover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/control.h"
#include "common/log.h"
#include "supervisor/left.h"
#include "supervisor/state_dir.h"
#include "supervisor/unit.h"

enum { ELECTOR_WAIT_MS = 5000, QUOTED_SIZE = 512 };

static const int64_t end_limit_ns = INT64_C(2000000000);

/* ---- reading ---- */

static void ignore(const char *name, const char *why)
{
	char quoted[QUOTED_SIZE];

	log_warning(NULL, "a file of state_dir is ignored", "name=%s why=\"%s\"",
		    log_quote(name, quoted, sizeof(quoted)), why);
}

/* All of an earlier boot's files are, so that one word is enough. */
static void ignore_boot(struct takeover *takeover, const char *name)
{
	if (!takeover->other_boot)
		ignore(name, "it is of an earlier boot");
	takeover->other_boot = true;
}

/* Reads a file into TEXT. Returns its size, or 0 when there is nothing to be used, which has been said. */
static size_t read_file(const struct locked_dir *dir, const char *name, char text[SAVED_SIZE])
{
	ssize_t n = state_dir_read(dir, name, text, SAVED_SIZE);

	if (n == -EPERM)
		ignore(name, "it is not a file of ours that nobody else can read or change");
	else if (n < 0 && n != -ENOENT)
		ignore(name, strerror((int)-n));
	else if (n == 0)
		ignore(name, "it is empty");
	return n > 0 ? (size_t)n : 0;
}

/* Returns whether there is a session, of this boot and of this member. */
static bool read_session(struct takeover *takeover, const struct locked_dir *dir, const struct mirror *mirror,
			 const struct config *config)
{
	char text[SAVED_SIZE];
	size_t size = read_file(dir, MIRROR_SESSION_FILE, text);

	if (size == 0)
		return false;
	if (saved_session_read(text, size, &takeover->saved) < 0)
		ignore(MIRROR_SESSION_FILE, "it is damaged, or of another version");
	else if (strcmp(takeover->saved.boot, mirror->boot) != 0)
		ignore_boot(takeover, MIRROR_SESSION_FILE);
	else if (strcmp(takeover->saved.member, config->member) != 0)
		ignore(MIRROR_SESSION_FILE, "it is another member's");
	else
		return true;
	memset(&takeover->saved, 0, sizeof(takeover->saved));
	return false;
}

static bool read_term(struct takeover *takeover, const struct locked_dir *dir, const struct mirror *mirror,
		      const char *election, struct saved_term *out)
{
	char text[SAVED_SIZE], name[MIRROR_NAME_SIZE];
	size_t size;

	mirror_name(election, name);
	size = read_file(dir, name, text);
	if (size == 0)
		return false;
	if (saved_term_read(text, size, out) < 0)
		ignore(name, "it is damaged, or of another version");
	else if (strcmp(out->boot, mirror->boot) != 0)
		ignore_boot(takeover, name);
	else if (strcmp(out->election, election) != 0)
		ignore(name, "it is another election's");
	else
		return true;
	memset(out, 0, sizeof(*out));
	return false;
}

static bool may_be_in_office(const struct saved_term *term)
{
	return term->left != 0 ||
	       (term->role.token != 0 && term->role.state >= ROLE_PROMOTING && term->role.state <= ROLE_PANIC);
}

static bool is_configured(const struct config *config, const char *election)
{
	for (size_t i = 0; i < config->election_count; i++) {
		if (strcmp(config->elections[i].name, election) == 0)
			return true;
	}
	return false;
}

/* An election that is no longer configured: nobody here can put its service out of office, or its candidate away. */
static void read_stranger(struct takeover *takeover, const struct locked_dir *dir, const struct mirror *mirror,
			  const char *election)
{
	struct saved_term term;
	char name[MIRROR_NAME_SIZE];

	memset(&term, 0, sizeof(term));
	if (!read_term(takeover, dir, mirror, election, &term))
		return;
	takeover->strangers++;
	if (may_be_in_office(&term))
		log_error(election, "an election that is no longer configured may be in office: nothing puts it out",
			  "token=%lld", (long long)(term.left != 0 ? term.left : term.role.token));
	if (!takeover->look) {
		mirror_name(election, name);
		state_dir_remove(dir, name);
	}
}

static void read_strangers(struct takeover *takeover, const struct locked_dir *dir, const struct mirror *mirror,
			   const struct config *config)
{
	int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *files = fd < 0 ? NULL : fdopendir(fd);
	size_t prefix = strlen(MIRROR_TERM_PREFIX);
	struct dirent *entry;

	if (!files && fd >= 0)
		close(fd);
	while (files && (entry = readdir(files)) != NULL) {
		const char *election = entry->d_name + prefix;

		if (strncmp(entry->d_name, MIRROR_TERM_PREFIX, prefix) == 0 && strlen(election) < TENURE_ELECTION_SIZE &&
		    !is_configured(config, election))
			read_stranger(takeover, dir, mirror, election);
	}
	if (files)
		closedir(files);
}

/* ---- judging ---- */

/* Whether a forced demotion is not due yet, by the lease that the dead supervisor knew of. */
static bool in_hold_window(const struct takeover *takeover, const struct saved_term *term,
			   const struct config_election *election, int64_t now_ns)
{
	int64_t start_ns = takeover->saved.lease_start_ns, timeout_ns = takeover->saved.session.timeout_ns;
	struct tenure_schedule at = tenure_schedule_for(&election->budget, timeout_ns, start_ns + timeout_ns);

	return term->session_id == takeover->saved.session.id && !term->role.lease_over && start_ns > 0 &&
	       start_ns <= now_ns && now_ns < at.demote_ns;
}

/* What becomes of a term, with the session taken up. */
static enum takeover_how judge(const struct takeover *takeover, const struct takeover_term *term,
			       const struct config_election *election, int64_t now_ns)
{
	const struct saved_term *saved = &term->saved;
	bool goes_on = term->same && saved->role.at_rest && saved->left == 0 &&
		       saved->session_id == takeover->saved.session.id;

	if (goes_on && takeover->in_place)
		return TAKEOVER_RESUME;
	if (!may_be_in_office(saved))
		return TAKEOVER_OUT;
	if (goes_on && saved->role.state == ROLE_ACTIVE && !saved->role.service && takeover->session &&
	    in_hold_window(takeover, saved, election, now_ns))
		return TAKEOVER_RESUME;
	return TAKEOVER_LOSE;
}

/*
 * A session is taken up only where every term that rests on it is known: whoever goes on with it removes the
 * candidates that he does not know, and one of them could be of a service in office.
 */
static bool may_take_session(const struct takeover *takeover, const struct config *config, size_t terms)
{
	return takeover->known && takeover->saved.session.id != 0 &&
	       takeover->saved.identity == mirror_session_identity(config) && takeover->strangers == 0 &&
	       terms == takeover->saved.elections;
}

int takeover_read(struct takeover *takeover, const struct locked_dir *dir, const struct mirror *mirror,
		  const struct config *config, const struct saved_process *predecessor, int64_t now_ns)
{
	bool session_changed;
	size_t terms = 0;

	takeover->terms = calloc(config->election_count + 1, sizeof(*takeover->terms));
	if (!takeover->terms)
		return -ENOMEM;
	takeover->count = config->election_count;
	takeover->known = read_session(takeover, dir, mirror, config);
	takeover->in_place = takeover->known && takeover->saved.supervisor.pid == predecessor->pid &&
			     takeover->saved.supervisor.start == predecessor->start;
	for (size_t i = 0; i < takeover->count; i++) {
		struct takeover_term *term = &takeover->terms[i];

		if (!read_term(takeover, dir, mirror, config->elections[i].name, &term->saved))
			continue;
		term->how = TAKEOVER_OUT; /* for now */
		term->same = term->saved.identity == mirror_election_identity(&config->elections[i]);
		terms++;
	}
	read_strangers(takeover, dir, mirror, config);
	takeover->session = may_take_session(takeover, config, terms);
	session_changed = takeover->saved.session.id != 0 && !takeover->session;
	takeover->in_place = takeover->in_place && (takeover->look || !session_changed);
	for (size_t i = 0; i < takeover->count; i++) {
		if (takeover->terms[i].how != TAKEOVER_UNKNOWN)
			takeover->terms[i].how = judge(takeover, &takeover->terms[i], &config->elections[i], now_ns);
	}
	return 0;
}

void takeover_free(struct takeover *takeover)
{
	free(takeover->terms);
	memset(takeover, 0, sizeof(*takeover));
}

bool takeover_any_in_office(const struct takeover *takeover)
{
	for (size_t i = 0; i < takeover->count; i++) {
		if (may_be_in_office(&takeover->terms[i].saved))
			return true;
	}
	return false;
}

/* ---- acting ---- */

/* The session cannot be taken up after all. */
static void lose_session(struct takeover *takeover)
{
	takeover->session = false;
	for (size_t i = 0; i < takeover->count; i++) {
		if (takeover->terms[i].how == TAKEOVER_RESUME)
			takeover->terms[i].how = TAKEOVER_LOSE;
	}
}

int takeover_end_processes(struct takeover *takeover, int orphan_fd)
{
	for (size_t i = 0; i < takeover->count && !takeover->in_place; i++) {
		const struct saved_term *saved = &takeover->terms[i].saved;
		unsigned killed = left_end(&saved->hook, saved->election, end_limit_ns) +
				  left_end(&saved->service, saved->election, end_limit_ns);

		if (killed > 0)
			log_warning(saved->election, "ended what an earlier agent had left running", "processes=%u", killed);
	}
	if (orphan_fd < 0)
		return -1;
	if (!takeover->session) {
		log_warning(NULL, "an earlier agent's elector keeps its session until lose has run", " ");
		return orphan_fd;
	}
	/* Two processes on one session evict each other. */
	if (state_dir_end_orphan(orphan_fd, ELECTOR_WAIT_MS) < 0)
		lose_session(takeover);
	return -1;
}

/* What the unit knew of its candidate, its last term and the one before. */
static void restore(const struct takeover *takeover, const struct saved_term *saved, struct unit *unit)
{
	if (takeover->session && saved->session_id == takeover->saved.session.id) {
		memcpy(unit->candidate, saved->candidate, sizeof(unit->candidate));
		unit->czxid = saved->czxid;
		unit->leaving = saved->leaving;
		floor_resume(&unit->floor, saved->czxid);
	}
	unit->role.spent = saved->role.spent;
	unit->giving_up = saved->giving_up;
	unit->demoted_token = saved->demoted_token;
	unit->has_previous = saved->has_previous;
	unit->previous = saved->previous;
}

static bool resume(const struct takeover *takeover, const struct saved_term *saved, struct unit *unit, int64_t now_ns)
{
	struct role_saved role = saved->role;

	/* The session's file is the newer one. */
	if (role.token != 0 && !role.lease_over && takeover->saved.lease_start_ns > role.lease_start_ns)
		role.lease_start_ns = takeover->saved.lease_start_ns;
	if (role.token != 0 && takeover->saved.session.timeout_ns < role.timeout_ns)
		role.timeout_ns = takeover->saved.session.timeout_ns;
	unit->since_ms = saved->since_ms;
	if (!unit_resume(unit, &role, &saved->service, now_ns))
		return false;
	if (role_in_office(&unit->role))
		log_info(unit->config->name, "goes on with its term", "state=%s token=%lld lease_ms=%lld",
			 role_state_name(unit->role.state), (long long)unit->role.token,
			 (long long)((role_lease_deadline(&unit->role) - now_ns) / TENURE_NS_PER_MS));
	return true;
}

void takeover_begin(struct takeover *takeover, size_t index, struct unit *unit, int64_t now_ns)
{
	const struct takeover_term *term = &takeover->terms[index];
	const struct saved_term *saved = &term->saved;
	int64_t token = 0;

	if (term->how != TAKEOVER_UNKNOWN)
		restore(takeover, saved, unit);
	if (term->how == TAKEOVER_RESUME && resume(takeover, saved, unit, now_ns))
		return;
	if (may_be_in_office(saved)) {
		token = saved->left != 0 ? saved->left : saved->role.token;
		log_warning(unit->config->name, "a term was left behind: lose first", "state=%s token=%lld",
			    role_state_name(saved->role.state), (long long)token);
	}
	unit_begin(unit, ROLE_BEGIN_LOSE, token, now_ns);
}

/* ---- before an execution anew ---- */

static int refuse(const char *election, const char *why)
{
	if (election)
		fprintf(stderr, "election \"%s\": %s\n", election, why);
	else
		fprintf(stderr, "%s\n", why);
	return EXIT_CONFIGURATION;
}

static int check(const struct takeover *takeover, const struct config *config)
{
	if (!takeover->in_place)
		return refuse(NULL, "state_dir does not hold the state of the agent that runs");
	if (takeover->saved.identity != mirror_session_identity(config) ||
	    strcmp(takeover->saved.watchdog, config->watchdog_device) != 0)
		return refuse(NULL, "settings that the session or the watchdog rests on have changed: reload or stop first");
	if (takeover->strangers > 0)
		return refuse(NULL, "an election is no longer configured: reload first");
	for (size_t i = 0; i < takeover->count; i++) {
		const struct takeover_term *term = &takeover->terms[i];

		if (term->how != TAKEOVER_UNKNOWN && !term->same)
			return refuse(config->elections[i].name, "it has changed: reload first");
	}
	return EXIT_YES;
}

int takeover_check(const struct config *config)
{
	struct saved_process parent = {.pid = getppid(), .start = state_dir_start_of(getppid())};
	struct locked_dir dir = LOCKED_DIR_CLOSED;
	struct takeover takeover = {.look = true};
	struct mirror mirror = {.failing = false};
	int status = EXIT_INTERNAL;

	dir.fd = open(config->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir.fd >= 0 && mirror_init(&mirror) == 0 && takeover_read(&takeover, &dir, &mirror, config, &parent, 0) == 0)
		status = check(&takeover, config);
	else
		refuse(NULL, "state_dir cannot be read");
	takeover_free(&takeover);
	locked_dir_close(&dir);
	return status;
}
