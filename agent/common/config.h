/*
 * The configuration: read whole, scanned once for what libconfuse would let pass, parsed, checked as
 * a whole, and only then handed out. Times inside are nanoseconds.
 */
#ifndef TENURE_AGENT_CONFIG_H
#define TENURE_AGENT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "common/log.h"
#include "tenure/lease.h"
#include "tenure/limits.h"

#define CONFIG_DEFAULT_STATE_DIR "/run/tenure"

enum {
	CONFIG_FILE_MAX = 1 << 20, /* bytes */
	CONFIG_ELECTIONS_MAX = 1024,
	CONFIG_OVERRIDES_MAX = 64,
	CONFIG_WORDS_MAX = 64, /* words of a command */
	CONFIG_AUTH_MAX = 8,   /* credentials in the auth file */
	CONFIG_AUTH_FILE_MAX = 16384,
};

/* A command line: words, NULL-terminated; words == NULL when not configured. */
struct config_command {
	char **words;
	size_t count;
};

struct config_hook {
	struct config_command command;
	int64_t timeout_ns; /* 0: no limit */
	unsigned line;	    /* where it stands in the file, for messages */
};

enum config_on_panic { CONFIG_PANIC_LOG, CONFIG_PANIC_EXIT, CONFIG_PANIC_REBOOT };

enum config_acl { CONFIG_ACL_OPEN, CONFIG_ACL_CREATOR, CONFIG_ACL_PRIVATE };

/* A user whom hooks run as, looked up when the configuration is read. */
struct config_user {
	char *name; /* NULL: as the agent */
	uid_t uid;
	gid_t gid;
	char *home;
	char *shell;
	gid_t *groups; /* all of them, for setgroups */
	size_t group_count;
};

/* Whether the service is fit: `rise` passes in a row make it healthy, `fall` failures in a row unhealthy. */
struct config_check {
	struct config_hook hook;
	int64_t interval_ns;
	int64_t rise, fall;
};

/* How far this replica has come: the hook prints one integer. */
struct config_score {
	struct config_hook hook;
	int64_t interval_ns;
	int64_t slack;	   /* a score higher by more than this goes first after an unclean end; -1: the queue's order */
	int64_t settle_ns; /* what the others get for a score taken since; 0: 2 * interval + timeout */
};

enum config_on_exit { CONFIG_EXIT_LEAVE, CONFIG_EXIT_RESTART };

/* A command that runs while in office. */
struct config_service {
	struct config_command command;
	int64_t stop_timeout_ns; /* from TERM to KILL */
	enum config_on_exit on_exit;
	int64_t restart_limit; /* restarts in a row before office is left all the same */
	unsigned line;
};

struct config_election {
	char *name;
	char *path; /* absolute, below the chroot */
	char *address;
	struct config_user user;
	bool candidate;
	char **env; /* "NAME=value", NULL-terminated */
	size_t env_count;
	struct config_hook gain, lose, fence, fence_peer, follow, notify;
	struct config_check check;
	struct config_score score;
	struct config_service service;
	int64_t handoff_timeout_ns;
	int64_t take_office_limit_ns; /* 0: T */
	int64_t takeover_delay_ns; /* what an unclean incumbent is given before fence_peer and gain */
	int64_t backoff_ns, backoff_max_ns;
	enum config_on_panic on_panic;
	struct tenure_budget budget; /* filled from this and the zookeeper section */
	unsigned line;
};

struct config {
	char *file;
	char *member;
	char *state_dir;
	char *data_dir;
	char *elector_user; /* "" : stay who we are */
	uid_t elector_uid;  /* of that user, looked up when the configuration is read; -1: stay who we are */
	gid_t elector_gid;
	int64_t orphan_limit_ns;
	struct {
		char *servers; /* as written */
		char *chroot;  /* "" or "/a/b", taken from servers */
		struct config_server {
			char *host; /* name or address, without brackets */
			uint16_t port;
		} *list;
		size_t count;
		int64_t session_timeout_ns;
		int64_t tick_time_ns;
		int64_t heartbeat_ns; /* 0: T/20 */
		int64_t ping_slack_ns;
		int64_t touch_lag_ns; /* tick_time/2 + ping_slack */
		char *auth_file;      /* "": none */
		uint64_t auth_digest; /* of its contents, to notice a change; 0 without check_files */
		enum config_acl acl;
	} zookeeper;
	struct {
		char *socket;
		char *group_name, *admin_group_name; /* as written */
		gid_t group, admin_group;
		bool has_group; /* false: the default group does not exist: only root and the agent's user */
	} control;
	char *http_listen; /* "": no HTTP */
	struct {
		enum log_level level;
		enum log_format format;
		enum log_target target;
	} log;
	char *watchdog_device; /* "": none */
	bool lock_memory;      /* mlockall, of the supervisor */
	int64_t priority;      /* SCHED_RR of the supervisor; 0: ordinary scheduling */
	size_t election_count;
	struct config_election *elections;
	unsigned char *text; /* the file's bytes, to be handed to the elector */
	size_t text_size;
	size_t override_count;
	char **overrides; /* "key=value", as given with -o */
};

/* What is wrong, one a line: "file:line: option: what". */
struct config_errors {
	unsigned count;
	FILE *stream; /* where they go; each is one line */
};

/* What config_parse is to look at beyond the text. */
struct config_options {
	const char *file; /* for messages */
	const char *const *overrides;
	size_t override_count;
	bool check_files; /* look at hook files, the auth file and users: not in the elector */
	bool found_elsewhere; /* nor at groups: config_found_read tells what they are */
};

/*
 * Reads a regular file of at most CONFIG_FILE_MAX bytes. Returns 0 and bytes the caller frees, or
 * negative errno after having said so in ERRORS.
 */
int config_read(const char *file, unsigned char **text, size_t *size, struct config_errors *errors);

/*
 * Parses and checks TEXT. Every wrong value is reported in one run; the first syntax error ends it.
 * Returns 0 and a configuration the caller frees, or -EINVAL when anything was reported, or -ENOMEM.
 */
int config_parse(const unsigned char *text, size_t size, const struct config_options *options,
		 struct config_errors *errors, struct config **out);

void config_free(struct config *config);

/* One line of the auth file, "scheme:credential". */
struct config_auth {
	char *scheme;
	char *credential;
};

/*
 * Reads the auth file: one credential a line; empty lines and lines that begin with '#' are skipped.
 * Refused if others can read or change it. Returns 0, the credentials in LIST, their number in *COUNT and
 * a digest of the file in *DIGEST (may be NULL); or negative errno after having said so in ERRORS.
 */
int config_auth_read(const char *file, struct config_errors *errors, struct config_auth list[CONFIG_AUTH_MAX],
		     size_t *count, uint64_t *digest);

/* Wipes and frees COUNT credentials; the list itself is the caller's. */
void config_auth_free(struct config_auth *list, size_t count);

/* The schedule in words, as `tenured -t` prints it: one paragraph per election. */
void config_explain(const struct config *config, FILE *stream);

/* Whether a running session may be kept across the change: same chroot, T, credentials, acl and member. */
bool config_same_session(const struct config *a, const struct config *b);

/*
 * Whether a term may be kept across the change from A to B: same name, path, candidate, user, service and identity, and
 * the hooks that end a term are still there.
 */
bool config_same_election(const struct config_election *a, const struct config_election *b);

/* score_settle, or its default. */
int64_t config_score_settle(const struct config_election *e);

/* A time as in the file ("1500", "4s", "250ms", "2m") in ns. Returns 0, -EINVAL, or -ERANGE. */
int config_time(const char *text, int64_t *out_ns);

#endif
