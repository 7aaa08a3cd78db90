/* The command line of tenurectl, taken apart, and what the configuration adds to it. */
#include "ctl/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "common/config.h"
#include "common/control.h"
#include "ctl/config_file.h"
#include "ctl/output.h"

enum { OPTION_JSON = 256, OPTION_FORCE, OPTION_TOKEN, OPTION_WAIT, OPTION_SET, OPTION_CLEAR, OPTION_TO };

/* "90", "1.5" (seconds), "500ms", "2m" in ms, 1 to CTL_WAIT_MAX_MS. Returns 0, or -EINVAL. */
static int read_wait(const char *text, int64_t *out_ms)
{
	size_t digits = strspn(text, "0123456789.");
	int64_t ns = 0;
	double seconds;
	char *end;

	if (digits == 0)
		return -EINVAL;
	if (text[digits] == '\0') {
		seconds = strtod(text, &end);
		if (*end != '\0' || !(seconds * 1000 >= 1) || seconds * 1000 > CTL_WAIT_MAX_MS)
			return -EINVAL;
		*out_ms = (int64_t)(seconds * 1000);
		return 0;
	}
	if (config_time(text, &ns) < 0 || ns < TENURE_NS_PER_MS || ns / TENURE_NS_PER_MS > CTL_WAIT_MAX_MS)
		return -EINVAL;
	*out_ms = ns / TENURE_NS_PER_MS;
	return 0;
}

static int take_argument(struct ctl_options *o, const char *text)
{
	if (o->command == NULL) {
		o->command = text;
		return 0;
	}
	if (o->count == CTL_ARGUMENTS_MAX) {
		complain("too many arguments");
		return -EINVAL;
	}
	o->arguments[o->count++] = text;
	return 0;
}

static int take_option(struct ctl_options *o, int option, const char *value)
{
	switch (option) {
	case 's':
		o->socket = value;
		return 0;
	case 'c':
		o->config = value;
		o->config_given = true;
		return 0;
	case 'z':
		o->servers = value;
		return 0;
	case 'h':
		o->help = true;
		return 0;
	case 'V':
		o->version = true;
		return 0;
	case OPTION_JSON:
		o->json = true;
		return 0;
	case OPTION_FORCE:
		o->force = true;
		return 0;
	case OPTION_TOKEN:
		o->token = true;
		return 0;
	case OPTION_SET:
		o->set = value;
		return 0;
	case OPTION_TO:
		o->to = value;
		return 0;
	case OPTION_CLEAR:
		o->clear = true;
		return 0;
	case OPTION_WAIT:
		if (read_wait(value, &o->wait_ms) == 0)
			return 0;
		complain("--wait %s: not a time in seconds, from 1ms to 24 hours", value);
		return -EINVAL;
	default:
		return -EINVAL;
	}
}

/* Whether what stands after "--" is another command, to be run. */
static bool takes_words(const char *command)
{
	return command != NULL && strcmp(command, "gate") == 0;
}

int ctl_options_parse(int argc, char **argv, struct ctl_options *out)
{
	/* "-": arguments are handed over in their place, whatever POSIXLY_CORRECT says. */
	static const char letters[] = "-:s:c:z:hV";
	static const struct option words[] = {
		{"json", no_argument, NULL, OPTION_JSON},
		{"force", no_argument, NULL, OPTION_FORCE},
		{"token", no_argument, NULL, OPTION_TOKEN},
		{"wait", required_argument, NULL, OPTION_WAIT},
		{"set", required_argument, NULL, OPTION_SET},
		{"clear", no_argument, NULL, OPTION_CLEAR},
		{"to", required_argument, NULL, OPTION_TO},
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{NULL, 0, NULL, 0},
	};
	struct ctl_options o = {.config = CTL_DEFAULT_CONFIG};
	int option, rc = 0;

	opterr = 0;
	while (rc == 0 && (option = getopt_long(argc, argv, letters, words, NULL)) != -1) {
		if (option == 1) {
			rc = take_argument(&o, optarg);
		} else if (option == ':') {
			complain("%s: a value is missing", argv[optind - 1]);
			rc = -EINVAL;
		} else if (option == '?') {
			if (optopt > 0 && optopt < 256)
				complain("unknown option '-%c'", optopt);
			else
				complain("%s: no such option, or one without a value", argv[optind - 1]);
			rc = -EINVAL;
		} else {
			rc = take_option(&o, option, optarg);
		}
	}
	if (rc == 0 && takes_words(o.command) && strcmp(argv[optind - 1], "--") == 0)
		o.words = argv + optind;
	while (rc == 0 && o.words == NULL && optind < argc)
		rc = take_argument(&o, argv[optind++]);
	if (rc == 0)
		*out = o;
	return rc;
}

int ctl_options_socket(const struct ctl_options *options, char **out)
{
	const char *socket = options->socket != NULL ? options->socket : CTL_DEFAULT_SOCKET;
	struct config *config = NULL;
	char *trouble = NULL;
	int rc = 0, status = EXIT_YES;

	if (options->socket == NULL)
		rc = config_file_read(options->config, &config, &trouble);
	if (config != NULL)
		socket = config->control.socket;
	if (rc < 0 && options->config_given) {
		config_file_complain(trouble);
		status = EXIT_CONFIGURATION;
	} else if (rc == -EINVAL) {
		/* The agent may well run with what stood there before. */
		config_file_complain(trouble);
		complain("%s is of no use; asking at %s", options->config, socket);
	}
	if (status == EXIT_YES && socket[0] == '\0') {
		complain("%s turns the control socket off", options->config);
		status = EXIT_UNREACHABLE;
	}
	if (status == EXIT_YES) {
		*out = strdup(socket);
		if (*out == NULL) {
			complain("out of memory");
			status = EXIT_INTERNAL;
		}
	}
	config_free(config);
	free(trouble);
	return status;
}
