/* The command line of tenurectl, taken apart, and what the configuration adds to it. */
#ifndef TENURE_CTL_OPTIONS_H
#define TENURE_CTL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CTL_DEFAULT_CONFIG "/etc/tenure/tenured.conf"
#define CTL_DEFAULT_SOCKET "/run/tenure/control.sock"

enum {
	CTL_ARGUMENTS_MAX = 8,
	CTL_WAIT_MAX_MS = 24 * 3600 * 1000,
};

/* Strings are borrowed from argv. */
struct ctl_options {
	const char *socket; /* -s, or NULL */
	const char *config; /* -c, or the default file */
	bool config_given;
	const char *servers; /* -z, or NULL */
	bool json, force, token, clear, help, version;
	const char *set, *to; /* --set, --to, or NULL */
	int64_t wait_ms;     /* 0: the command's own */
	const char *command; /* NULL when none was named */
	const char *arguments[CTL_ARGUMENTS_MAX];
	size_t count;
	char **words; /* what stands after -- where that is a command to run, ends with NULL; NULL without -- */
};

/* Returns 0, or -EINVAL after having said what is wrong. */
int ctl_options_parse(int argc, char **argv, struct ctl_options *out);

/*
 * The control socket to ask, which the caller frees, in *OUT: -s, the configuration's, or the default where
 * the default file is missing or of no use. Returns EXIT_YES or an exit status after having said why.
 */
int ctl_options_socket(const struct ctl_options *options, char **out);

#endif
