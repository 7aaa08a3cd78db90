/* tenurectl: asks the agent on this host, or ZooKeeper itself, and says what they answer. */
#include <stdio.h>
#include <string.h>

#include "common/control.h"
#include "ctl/commands.h"
#include "ctl/output.h"
#include "ctl/text.h"

enum {
	NEAR_DISTANCE = 2,
	NAMES_SIZE = 128,
};

static int command_help(const struct ctl_options *options);

static const struct command {
	const char *name;
	int (*run)(const struct ctl_options *options);
	size_t arguments_max;
	const char *synopsis;
	const char *help;
	bool forces; /* takes --force */
} commands[] = {
	{"status", command_status, 1, "status [ELECTION]", "what the agent on this host does", false},
	{"is-leader", command_is_leader, 1, "is-leader [ELECTION]", "0 yes, with token and ms left; 1 no",
	 false},
	{"resign", command_resign, 1, "resign [ELECTION]", "hand over, and wait until it is done", true},
	{"recover", command_recover, 1, "recover [ELECTION]", "out of panic: run the lose hook again", false},
	{"forget", command_forget, 1, "forget [ELECTION]", "clear a leader that has not left cleanly; asks first", true},
	{"switchover", command_switchover, 1, "switchover [ELECTION]", "hand over to one member: --to MEMBER", false},
	{"pause", command_pause, 1, "pause [ELECTION]", "nobody takes office until resume", false},
	{"resume", command_resume, 1, "resume [ELECTION]", "end a pause", false},
	{"eligible", command_eligible, 1, "eligible [ELECTION]", "who may lead; the leader changes it: --set, --clear", true},
	{"restart", command_restart, 0, "restart", "execute the agent anew in place: every term goes on", false},
	{"list", command_list, 1, "list [ELECTION]", "queue and record, from ZooKeeper itself", false},
	{"history", command_history, 1, "history [ELECTION]", "the last terms, oldest first", false},
	{"gate", command_gate, 2, "gate FILE TOKEN", "admit a token; -- COMMAND... then runs, the gate locked",
	 false},
	{"help", command_help, 1, "help", "this text", false},
};

enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

static int command_help(const struct ctl_options *options)
{
	(void)options;
	puts("usage: tenurectl [OPTION]... COMMAND [ELECTION]\n\nCommands:");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		printf("  %-22s%s\n", commands[i].synopsis, commands[i].help);
	puts("ELECTION may be left out where there is one only.\n\n"
	     "Options, before or after the command's name:\n"
	     "  -s SOCKET             the agent's control socket (configured, or " CTL_DEFAULT_SOCKET ")\n"
	     "  -c FILE               the agent's configuration (" CTL_DEFAULT_CONFIG ")\n"
	     "  -z SERVERS            the ensemble, as HOST:PORT,HOST:PORT/CHROOT (configured)\n"
	     "      --json            for machines\n"
	     "      --wait SECONDS    wait no longer (5; list and history 10; resign, recover, forget and restart 90)\n"
	     "      --force           resign even if nobody is there to take over; forget without asking\n"
	     "      --token           forget the highest token seen instead\n"
	     "      --to MEMBER       switchover: to whom\n"
	     "      --set MEMBER,...  eligible: these may lead, and nobody else\n"
	     "      --clear           eligible: everybody may; with --force whoever leads\n"
	     "  -h, --help            this text\n"
	     "  -V, --version         the version\n\n"
	     "Exit status: 0 ok, 1 no, 2 unknown, 64 usage, 69 no agent or ensemble reached, 70 internal,\n"
	     "75 try again, 77 refused, 78 configuration.");
	return EXIT_YES;
}

/* Names that WORD may have been meant for: the nearest, or those that it begins. "" when there are none. */
static void nearest_names(const char *word, char *buf, size_t size)
{
	size_t best = NEAR_DISTANCE + 1, used = 0, distance[COMMAND_COUNT];

	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		distance[i] = text_distance(word, commands[i].name);
		if (word[0] != '\0' && strncmp(word, commands[i].name, strlen(word)) == 0)
			distance[i] = 0;
		best = distance[i] < best ? distance[i] : best;
	}
	buf[0] = '\0';
	for (size_t i = 0; i < COMMAND_COUNT && best <= NEAR_DISTANCE && used < size; i++)
		if (distance[i] == best)
			used += (size_t)snprintf(buf + used, size - used, "%s%s", used > 0 ? ", " : "",
						 commands[i].name);
}

static const struct command *find_command(const char *name)
{
	char names[NAMES_SIZE];

	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	nearest_names(name, names, sizeof(names));
	if (names[0] != '\0')
		complain("unknown command '%s'; did you mean %s?", name, names);
	else
		complain("unknown command '%s'; see tenurectl help", name);
	return NULL;
}

static int run(const struct ctl_options *options)
{
	const struct command *command;

	if (options->version) {
		puts("tenurectl " TENURE_VERSION);
		return EXIT_YES;
	}
	if (options->help)
		return command_help(options);
	if (options->command == NULL) {
		complain("no command given; see tenurectl help");
		return EXIT_USAGE;
	}
	command = find_command(options->command);
	if (command == NULL)
		return EXIT_USAGE;
	if (options->count > command->arguments_max) {
		complain("%s takes at most %zu argument, not %zu", command->name, command->arguments_max,
			 options->count);
		return EXIT_USAGE;
	}
	if (options->force && !command->forces) {
		complain("%s takes no --force", command->name);
		return EXIT_USAGE;
	}
	if (options->token && command->run != command_forget) {
		complain("%s takes no --token", command->name);
		return EXIT_USAGE;
	}
	if (options->to != NULL && command->run != command_switchover) {
		complain("%s takes no --to", command->name);
		return EXIT_USAGE;
	}
	if ((options->set != NULL || options->clear) && command->run != command_eligible) {
		complain("%s takes no --set and no --clear", command->name);
		return EXIT_USAGE;
	}
	return command->run(options);
}

int main(int argc, char **argv)
{
	struct ctl_options options;

	if (ctl_options_parse(argc, argv, &options) < 0)
		return EXIT_USAGE;
	return output_end(run(&options));
}
