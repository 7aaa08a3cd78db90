/* tenured: reads the command line, then hands over to the supervisor, the elector or the floor writer. */
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/config.h"
#include "common/control.h"
#include "elector/elector_main.h"
#include "supervisor/floor.h"
#include "supervisor/mirror.h"
#include "supervisor/supervisor.h"

#define DEFAULT_FILE "/etc/tenure/tenured.conf"

struct command_line {
	const char *file;
	const char *overrides[CONFIG_OVERRIDES_MAX];
	size_t override_count;
	bool test;
	bool demote_stale;
	bool takes_over; /* called by an agent that is to be executed anew: would it go on? */
	const char *adopt;
};

enum { OPTION_ADOPT = 256, OPTION_DEMOTE_STALE };

static const struct option long_options[] = {
	{"config", required_argument, NULL, 'c'},
	{"option", required_argument, NULL, 'o'},
	{"test", no_argument, NULL, 't'},
	{"version", no_argument, NULL, 'V'},
	{"help", no_argument, NULL, 'h'},
	{"adopt", required_argument, NULL, OPTION_ADOPT},
	{"demote-stale", no_argument, NULL, OPTION_DEMOTE_STALE},
	{NULL, 0, NULL, 0},
};

static void print_usage(FILE *stream)
{
	fputs("usage: tenured [-c FILE] [-o KEY=VALUE]... [-t] [--adopt ELECTION] [--demote-stale] [-V] [-h]\n"
	      "\n"
	      "  -c, --config FILE       configuration (default " DEFAULT_FILE ")\n"
	      "  -o, --option KEY=VALUE  override a setting, such as zookeeper.servers=a:2181\n"
	      "  -t, --test              check the configuration, print the schedule in words, and exit\n"
	      "      --adopt ELECTION    its service already runs here as the leader's: no lose hook at the start\n"
	      "      --demote-stale      put out of office what a dead agent has left there, and exit\n"
	      "  -V, --version           print the version and exit\n"
	      "  -h, --help              print this and exit\n"
	      "\n"
	      "Stays in the foreground. SIGTERM leaves office and stops, SIGHUP reads the configuration "
	      "again,\nSIGUSR2 executes the agent anew in place.\n",
	      stream);
}

static int refuse_usage(const char *what)
{
	if (what)
		fprintf(stderr, "tenured: %s\n", what);
	print_usage(stderr);
	return EXIT_USAGE;
}

/* Returns -1 to go on, or an exit status. */
static int read_arguments(int argc, char **argv, struct command_line *line)
{
	int option;

	while ((option = getopt_long(argc, argv, "c:o:tVh", long_options, NULL)) != -1) {
		switch (option) {
		case 'c':
			line->file = optarg;
			break;
		case 'o':
			if (line->override_count == CONFIG_OVERRIDES_MAX)
				return refuse_usage("too many -o");
			line->overrides[line->override_count++] = optarg;
			break;
		case 't':
			line->test = true;
			break;
		case 'V':
			printf("tenured %s\n", TENURE_VERSION);
			return EXIT_YES;
		case 'h':
			print_usage(stdout);
			return EXIT_YES;
		case OPTION_ADOPT:
			if (line->adopt)
				return refuse_usage("--adopt is for one election");
			line->adopt = optarg;
			break;
		case OPTION_DEMOTE_STALE:
			line->demote_stale = true;
			break;
		default:
			return refuse_usage(NULL);
		}
	}
	if (optind < argc)
		return refuse_usage("unexpected argument");
	return line->adopt && line->demote_stale ? refuse_usage("--adopt and --demote-stale exclude each other") : -1;
}

/* Whether the election to be adopted is one of ours. */
static bool is_adoptable(const struct config *config, const char *name)
{
	for (size_t i = 0; name && i < config->election_count; i++) {
		if (strcmp(config->elections[i].name, name) == 0)
			return true;
	}
	if (name)
		fprintf(stderr, "tenured: --adopt: no election \"%s\" is configured\n", name);
	return name == NULL;
}

static struct config *load(const struct command_line *line, const char *file)
{
	struct config_errors errors = {.stream = stderr};
	struct config_options options = {
		.file = file,
		.overrides = line->overrides,
		.override_count = line->override_count,
		.check_files = true,
	};
	struct config *config = NULL;
	unsigned char *text = NULL;
	size_t size = 0;

	if (config_read(file, &text, &size, &errors) == 0 &&
	    config_parse(text, size, &options, &errors, &config) < 0 && errors.count == 0)
		fprintf(stderr, "%s: cannot be read: no memory\n", file);
	free(text);
	return config;
}

/* That of the agent which has left something: its file may be what it could not be started again with. */
static struct config *load_left(const struct command_line *line)
{
	static const char option[] = "state_dir=";
	const char *directory = CONFIG_DEFAULT_STATE_DIR;
	char file[PATH_MAX];

	for (size_t i = 0; i < line->override_count; i++) {
		if (strncmp(line->overrides[i], option, sizeof(option) - 1) == 0)
			directory = line->overrides[i] + sizeof(option) - 1;
	}
	if (snprintf(file, sizeof(file), "%s/" MIRROR_CONFIGURATION_FILE, directory) >= (int)sizeof(file))
		return NULL;
	if (access(file, F_OK) < 0)
		return NULL;
	fprintf(stderr, "tenured: going by the configuration that the agent ran with, %s\n", file);
	return load(line, file);
}

static int act(struct config *config, const struct command_line *line, char **argv)
{
	const struct supervisor_options options = {
		.adopt = line->adopt,
		.demote_stale = line->demote_stale,
		.arguments = argv,
		.environment = environ,
	};
	int status = EXIT_YES;

	if (!line->test && !line->takes_over)
		return supervisor_run(config, &options);
	if (line->takes_over)
		status = takeover_check(config);
	else
		config_explain(config, stdout);
	config_free(config);
	return status;
}

int main(int argc, char **argv)
{
	struct command_line line = {.file = DEFAULT_FILE};
	struct config *config;
	sigset_t early;
	int status;

	if (argc > 1 && strcmp(argv[1], "--elector") == 0)
		return elector_main(argc, argv);
	if (argc > 1 && strcmp(argv[1], "--floor") == 0)
		return floor_main(argc, argv);
	line.takes_over = argc > 1 && strcmp(argv[1], "--takes-over") == 0;
	status = read_arguments(argc - line.takes_over, argv + line.takes_over, &line);
	if (status >= 0)
		return status;
	/* One that comes early waits for the loop: it is no reason to end. */
	sigemptyset(&early);
	sigaddset(&early, SIGHUP);
	sigaddset(&early, SIGUSR2);
	sigprocmask(SIG_BLOCK, &early, NULL);
	config = load(&line, line.file);
	if (!config && line.demote_stale)
		config = load_left(&line);
	if (!config)
		return EXIT_CONFIGURATION;
	if (is_adoptable(config, line.adopt))
		return act(config, &line, argv);
	config_free(config);
	return EXIT_USAGE;
}
