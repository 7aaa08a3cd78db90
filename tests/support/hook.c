/* The hook of the live tests: appends its start and its end to a timeline and behaves as it is told. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LINE_SIZE = 4000, BEHAVIOUR_SIZE = 4096, GRANDCHILD_LIFE_MS = 60000 };

/* Of each variable that a hook is promised, the name under which the timeline shows it. */
static const struct {
	const char *variable, *key;
} shown[] = {
	{ "TENURE_EVENT", "event" },
	{ "TENURE_ADDRESS", "address" },
	{ "TENURE_STATE", "state" },
	{ "TENURE_OLD_STATE", "old_state" },
	{ "TENURE_TOKEN", "token" },
	{ "TENURE_REASON", "reason" },
	{ "TENURE_PLANNED", "planned" },
	{ "TENURE_LEADER", "leader" },
	{ "TENURE_LEADER_ADDRESS", "leader_address" },
	{ "TENURE_PREVIOUS", "previous" },
	{ "TENURE_PREVIOUS_ADDRESS", "previous_address" },
	{ "TENURE_PREVIOUS_TOKEN", "previous_token" },
	{ "TENURE_PREVIOUS_CLEAN", "previous_clean" },
	{ "TENURE_DEADLINE_MS", "deadline_ms" },
	{ "TENURE_LEASE_MS", "lease_ms" },
	{ "TENURE_TIMEOUT_MS", "timeout_ms" },
	{ "TENURE_TRANSITION", "transition" },
	{ "PATH", NULL },
	{ "HOME", NULL },
	{ "USER", NULL },
	{ "LOGNAME", NULL },
	{ "SHELL", NULL },
};

struct behaviour {
	long sleep_ms;
	int exit_status;
	bool hang, ignore_term, fork_grandchild, fork_daemon;
};

struct line {
	char text[LINE_SIZE];
	size_t length;
};

static volatile sig_atomic_t terminated;

static void on_term(int signal_number)
{
	terminated = signal_number;
}

static const char *value_of(const char *variable)
{
	const char *value = getenv(variable);

	return value != NULL ? value : "";
}

/* Adds " key=value"; whatever would break the line apart is shown as '?'. */
static void add(struct line *line, const char *key, const char *value)
{
	int n = snprintf(line->text + line->length, sizeof(line->text) - line->length, " %s=%s", key, value);
	size_t end = line->length + (n > 0 ? (size_t)n : 0);

	if (end > sizeof(line->text) - 2)
		end = sizeof(line->text) - 2;
	for (size_t i = line->length + 1; i < end; i++) {
		if (line->text[i] <= ' ' || line->text[i] == 0x7f)
			line->text[i] = '?';
	}
	line->length = end;
}

static void add_number(struct line *line, const char *key, long long number)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", number);
	add(line, key, text);
}

static void begin(struct line *line, const char *phase, const char *hook)
{
	struct timespec now;
	int n;

	clock_gettime(CLOCK_BOOTTIME, &now);
	n = snprintf(line->text, sizeof(line->text), "%lld %s", (long long)now.tv_sec * 1000000000 + now.tv_nsec, phase);
	line->length = (size_t)n;
	add(line, "hook", hook);
	add(line, "election", value_of("TENURE_ELECTION"));
	add(line, "member", value_of("TENURE_MEMBER"));
	add_number(line, "pid", (long long)getpid());
}

static void finish(struct line *line, int timeline)
{
	line->text[line->length++] = '\n';
	if (write(timeline, line->text, line->length) != (ssize_t)line->length)
		_exit(99);
}

/* A variable that is set and empty is shown as such; one that is not set is named under "missing". */
static void add_environment(struct line *line)
{
	char missing[1024] = "";

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		const char *value = getenv(shown[i].variable);

		if (value != NULL && shown[i].key != NULL) {
			add(line, shown[i].key, value);
		} else if (value == NULL) {
			size_t used = strlen(missing);

			snprintf(missing + used, sizeof(missing) - used, "%s%s", used > 0 ? "," : "",
				 shown[i].variable);
		}
	}
	add(line, "missing", missing);
}

/*
 * The lock that shows whether another hook of the election still runs: a record lock, which ends with its
 * process however that ends, and which no grandchild inherits. Returns the holder's pid, or 0.
 */
static pid_t other_hook(const char *behaviour_file)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char name[1024];
	int fd;

	snprintf(name, sizeof(name), "%s.%s.lock", behaviour_file, value_of("TENURE_ELECTION"));
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return 0;
	if (fcntl(fd, F_SETLK, &lock) == 0)
		return 0;
	if (fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
		return 0;
	return lock.l_pid;
}

static void read_word(struct behaviour *b, const char *word)
{
	if (strncmp(word, "sleep=", 6) == 0)
		b->sleep_ms = strtol(word + 6, NULL, 10);
	else if (strncmp(word, "exit=", 5) == 0)
		b->exit_status = (int)strtol(word + 5, NULL, 10);
	else if (strcmp(word, "hang") == 0)
		b->hang = true;
	else if (strcmp(word, "ignore-term") == 0)
		b->ignore_term = true;
	else if (strcmp(word, "fork-grandchild") == 0)
		b->fork_grandchild = true;
	else if (strcmp(word, "fork-daemon") == 0)
		b->fork_daemon = true;
	else if (strncmp(word, "say=", 4) == 0)
		puts(word + 4);
}

/* Lines of the file are "<hook> <word>...". No file: nothing special. */
static void read_behaviour(struct behaviour *b, const char *file, const char *hook)
{
	char text[BEHAVIOUR_SIZE];
	char *rest = text, *line;
	ssize_t n;
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	while ((line = strsep(&rest, "\n")) != NULL) {
		char *word = strsep(&line, " ");

		if (strcmp(word, hook) != 0)
			continue;
		while ((word = strsep(&line, " ")) != NULL)
			read_word(b, word);
	}
}

/* Waits for MS, or for ever when negative. False when a SIGTERM came. */
static bool pass_time(long ms)
{
	struct timespec until, now;

	clock_gettime(CLOCK_BOOTTIME, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	while (!terminated) {
		struct timespec left = { .tv_sec = 3600 };

		if (ms >= 0) {
			long long ns;

			clock_gettime(CLOCK_BOOTTIME, &now);
			ns = (long long)(until.tv_sec - now.tv_sec) * 1000000000 + (until.tv_nsec - now.tv_nsec);
			if (ns <= 0)
				return true;
			left.tv_sec = ns / 1000000000;
			left.tv_nsec = ns % 1000000000;
		}
		nanosleep(&left, NULL);
	}
	return false;
}

/* A process that outlives the hook and holds its pipes open. */
static void fork_grandchild(const char *hook, int timeline)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct line line;

		signal(SIGTERM, SIG_DFL);
		begin(&line, "grandchild", hook);
		finish(&line, timeline);
		pass_time(GRANDCHILD_LIFE_MS);
		_exit(0);
	}
}

/* One that has left its parent, its session and its environment behind, and heeds no SIGTERM. */
static void fork_daemon(const char *hook, int timeline)
{
	pid_t pid = fork();

	if (pid == 0 && setsid() > 0 && fork() == 0) {
		char *const words[] = { "test_hook", "--stay", NULL }, *const environment[] = { NULL };
		struct line line;

		signal(SIGTERM, SIG_IGN);
		begin(&line, "grandchild", hook);
		finish(&line, timeline);
		execve("/proc/self/exe", words, environment);
	}
	if (pid == 0)
		_exit(0);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0)
		;
}

/* Those that may run beside the others. */
static bool stands_apart(const char *hook)
{
	return strcmp(hook, "notify") == 0 || strcmp(hook, "check") == 0 || strcmp(hook, "score") == 0;
}

int main(int argc, char **argv)
{
	struct behaviour behaviour = { 0 };
	struct line line;
	int timeline;

	if (argc == 2 && strcmp(argv[1], "--stay") == 0) {
		prctl(PR_SET_NAME, "test_hook");
		pass_time(GRANDCHILD_LIFE_MS);
		return 0;
	}
	if (argc < 4) {
		fprintf(stderr, "usage: %s HOOK TIMELINE BEHAVIOUR-FILE [WORD]...\n", argv[0]);
		return 64;
	}
	timeline = open(argv[2], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	if (timeline < 0)
		return 98;
	begin(&line, "start", argv[1]);
	add_environment(&line);
	add_number(&line, "overlaps", stands_apart(argv[1]) ? 0 : (long long)other_hook(argv[3]));
	finish(&line, timeline);

	for (int i = 4; i < argc; i++)
		read_word(&behaviour, argv[i]);
	read_behaviour(&behaviour, argv[3], argv[1]);
	sigaction(SIGTERM, &(struct sigaction){ .sa_handler = behaviour.ignore_term ? SIG_IGN : on_term }, NULL);
	if (behaviour.fork_grandchild)
		fork_grandchild(argv[1], timeline);
	if (behaviour.fork_daemon)
		fork_daemon(argv[1], timeline);
	pass_time(behaviour.hang ? -1 : behaviour.sleep_ms);

	begin(&line, "end", argv[1]);
	if (getenv("TENURE_TOKEN") != NULL)
		add(&line, "token", value_of("TENURE_TOKEN"));
	add_number(&line, terminated ? "signal" : "exit", terminated ? terminated : behaviour.exit_status);
	finish(&line, timeline);
	fflush(stdout);
	if (terminated) {
		signal(SIGTERM, SIG_DFL);
		raise(SIGTERM);
	}
	return behaviour.exit_status;
}
