/* Running hooks: what they find, how they end, what they leave behind. This program is also the hook that
 * looks around. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/log.h"
#include "supervisor/process.h"

enum { PATIENCE_S = 20, RUNS = 500, DESCRIPTORS = 1024, TEXT_SIZE = 1 << 20 };

/* ---- the hook that looks around ---- */

static void show_link(const char *name, const char *path)
{
	char target[256];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	target[n > 0 ? n : 0] = '\0';
	printf("%s=%s\n", name, target);
}

static void show_signals(void)
{
	struct sigaction action;
	sigset_t mask;
	int blocked = 0, ignored = 0;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (int i = 1; i < NSIG; i++) {
		blocked += sigismember(&mask, i) == 1;
		ignored += sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
	}
	printf("blocked=%d ignored=%d\n", blocked, ignored);
}

static void show_user(void)
{
	gid_t groups[64];
	int n = getgroups(64, groups);

	printf("uid=%u gid=%u groups=%d first=%u\n", (unsigned)geteuid(), (unsigned)getegid(), n,
	       n > 0 ? (unsigned)groups[0] : 0);
}

static int look_around(int argc, char **argv, char **environment)
{
	mode_t mask = umask(0);

	printf("fds=");
	for (int fd = 0; fd < DESCRIPTORS; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			printf("%d,", fd);
	}
	printf("\n");
	show_link("stdin", "/proc/self/fd/0");
	show_link("cwd", "/proc/self/cwd");
	printf("umask=%03o\n", (unsigned)mask);
	printf("leader=%d\n", getsid(0) == getpid() && getpgid(0) == getpid());
	show_signals();
	show_user();
	for (int i = 0; i < argc; i++)
		printf("argument[%d]=%s\n", i, argv[i]);
	for (char **e = environment; *e; e++)
		printf("env:%s\n", *e);
	return 0;
}

/* ---- what the tests run hooks with ---- */

struct fixture {
	struct loop loop;
	struct process_table table;
	struct process process;
	struct watch signals;
	char directory[64];
	char script[128];
	char self[PATH_MAX];
	int saved, output;
	char text[TEXT_SIZE];
	unsigned done;
	struct process_result result;
};

static struct fixture *fixture;

static void on_done(struct process *process, const struct process_result *result)
{
	(void)process;
	fixture->result = *result;
	fixture->done++;
}

/* As the supervisor does: everything that has exited, orphans of hooks too. */
static void on_signals(struct watch *watch)
{
	struct signalfd_siginfo taken;

	while (read(watch->fd, &taken, sizeof(taken)) > 0)
		;
	for (;;) {
		siginfo_t info = {.si_pid = 0};

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
			return;
		if (!process_table_exited(&fixture->table, info.si_pid))
			waitpid(info.si_pid, NULL, 0);
	}
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	sigset_t child;
	ssize_t n;

	if (!f || loop_open(&f->loop) < 0)
		return -1;
	*state = fixture = f;
	f->table.loop = &f->loop;
	process_init(&f->process, &f->table, "pg", "gain", on_done);

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	f->signals =
		(struct watch){.fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK), .ready = on_signals};
	if (f->signals.fd < 0 || loop_add(&f->loop, &f->signals) < 0)
		return -1;

	snprintf(f->directory, sizeof(f->directory), "/tmp/tenure-process-XXXXXX");
	if (!mkdtemp(f->directory))
		return -1;
	snprintf(f->script, sizeof(f->script), "%s/hook script", f->directory);
	n = readlink("/proc/self/exe", f->self, sizeof(f->self) - 1);
	if (n < 0)
		return -1;

	/* The log goes to memory, where the test reads it. */
	f->saved = dup(2);
	f->output = memfd_create("log", MFD_CLOEXEC);
	dup2(f->output, 2);
	log_open("supervisor", LOG_LEVEL_DEBUG, LOG_FORMAT_TEXT, LOG_TARGET_STDERR);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	process_close(&f->process);
	on_signals(&f->signals);
	dup2(f->saved, 2);
	close(f->saved);
	close(f->output);
	loop_remove(&f->loop, &f->signals);
	close(f->signals.fd);
	loop_close(&f->loop);
	unlink(f->script);
	rmdir(f->directory);
	free(f);
	return 0;
}

static const char *log_text(struct fixture *f)
{
	ssize_t n = pread(f->output, f->text, sizeof(f->text) - 1, 0);

	f->text[n > 0 ? n : 0] = '\0';
	return f->text;
}

static bool logged(struct fixture *f, const char *text)
{
	return strstr(log_text(f), text) != NULL;
}

static void write_script(struct fixture *f, const char *text)
{
	int fd = open(f->script, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	chmod(f->script, 0755);
}

static void start(struct fixture *f, char *const *words)
{
	static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", value[] = "VALUE=two words";
	char *const environment[] = {path, value, NULL};
	char why[PROCESS_WHY_SIZE] = "";

	assert_int_equal(process_start(&f->process, words, environment, NULL, why), 0);
}

static void start_script(struct fixture *f, const char *text)
{
	char *const words[] = {f->script, NULL};

	write_script(f, text);
	start(f, words);
}

/* Turns the loop until *COUNT has reached WANTED. An alarm ends a test that hangs. */
static void turn_until_done(struct fixture *f, unsigned wanted)
{
	alarm(PATIENCE_S);
	while (f->done < wanted) {
		loop_wait(&f->loop, true);
		loop_dispatch(&f->loop);
	}
	alarm(0);
}

static void turn_until_logged(struct fixture *f, const char *text)
{
	alarm(PATIENCE_S);
	while (!logged(f, text)) {
		loop_wait(&f->loop, true);
		loop_dispatch(&f->loop);
	}
	alarm(0);
}

static void run_script(struct fixture *f, const char *text)
{
	unsigned wanted = f->done + 1;

	start_script(f, text);
	turn_until_done(f, wanted);
}

/* The number that the hook printed behind NAME. */
static pid_t printed_pid(struct fixture *f, const char *name)
{
	const char *found = strstr(log_text(f), name);

	assert_non_null(found);
	return (pid_t)strtol(found + strlen(name), NULL, 10);
}

static bool is_alive(pid_t pid)
{
	return kill(pid, 0) == 0;
}

/* Whoever is killed comes to us, the subreaper. */
static void wait_until_gone(struct fixture *f, pid_t pid)
{
	alarm(PATIENCE_S);
	while (is_alive(pid)) {
		loop_wait(&f->loop, true);
		loop_dispatch(&f->loop);
	}
	alarm(0);
}

static size_t open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(directory);
	while (readdir(directory))
		n++;
	closedir(directory);
	return n;
}

/* ---- the tests ---- */

/*
 * Goal: a hook finds descriptors 0, 1 and 2 alone, /dev/null as stdin, the root as its directory, its own
 * session and group, umask 022, default signals and none blocked, and exactly its environment.
 * Method: run this program as the hook, with inheritable descriptors, a blocked and an ignored signal here.
 */
static void surroundings(void **state)
{
	struct fixture *f = *state;
	static char look[] = "--look", spaces[] = " two  words ", star[] = "*;$HOME", empty[] = "";
	char *const words[] = {f->self, look, spaces, star, empty, NULL};
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	int inheritable[2];

	assert_int_equal(pipe(inheritable), 0);
	sigaction(SIGPIPE, &ignore, &before);
	umask(077);
	start(f, words);
	turn_until_done(f, 1);
	umask(022);
	sigaction(SIGPIPE, &before, NULL);
	close(inheritable[0]);
	close(inheritable[1]);

	assert_int_equal(f->result.exit_status, 0);
	assert_true(logged(f, "text=\"fds=0,1,2,\"\n"));
	assert_true(logged(f, "text=\"stdin=/dev/null\"\n"));
	assert_true(logged(f, "text=\"cwd=/\"\n"));
	assert_true(logged(f, "text=\"umask=022\"\n"));
	assert_true(logged(f, "text=\"leader=1\"\n"));
	assert_true(logged(f, "text=\"blocked=0 ignored=0\"\n"));
	assert_true(logged(f, "text=\"argument[2]= two  words \"\n"));
	assert_true(logged(f, "text=\"argument[3]=*;$HOME\"\n"));
	assert_true(logged(f, "text=\"argument[4]=\"\n"));
	assert_false(logged(f, "argument[5]"));
	assert_true(logged(f, "text=\"env:PATH=/usr/sbin:/usr/bin:/sbin:/bin\"\n"));
	assert_true(logged(f, "text=\"env:VALUE=two words\"\n"));
	assert_ptr_equal(strstr(strstr(f->text, "env:") + 1, "env:V"), strstr(f->text, "env:V"));
}

/*
 * Goal: a hook with a user runs with that user's rights and groups, and no others.
 * Method: as root, run this program as a user without a name of its own.
 */
static void other_user(void **state)
{
	struct fixture *f = *state;
	static char look[] = "--look", name[] = "somebody";
	gid_t groups[] = {23456};
	const struct config_user user = {
		.name = name, .uid = 12345, .gid = 23456, .groups = groups, .group_count = 1};
	char *const words[] = {f->self, look, NULL};
	char *const environment[] = {NULL};
	char why[PROCESS_WHY_SIZE];

	if (geteuid() != 0)
		skip();
	assert_int_equal(process_start(&f->process, words, environment, &user, why), 0);
	turn_until_done(f, 1);
	if (strstr(f->result.why, "Permission denied"))
		skip(); /* this program lies where others cannot go */
	assert_int_equal(f->result.exit_status, 0);
	assert_true(logged(f, "text=\"uid=12345 gid=23456 groups=1 first=23456\"\n"));
}

/*
 * Goal: how a hook ended is told in full, and in words.
 * Method: one script for each way to end.
 */
static void ways_to_end(void **state)
{
	static const struct {
		const char *script;
		int exit_status, signal;
		const char *why;
	} cases[] = {
		{"#!/bin/sh\nexit 0\n", 0, 0, "exit status 0"},
		{"#!/bin/sh\nexit 1\n", 1, 0, "exit status 1"},
		{"#!/bin/sh\nexit 75\n", 75, 0, "exit status 75"},
		{"#!/bin/sh\n/etc/passwd\n", 126, 0,
		 "exit status 126 (a command it wanted to run is not executable)"},
		{"#!/bin/sh\nno-such-command\n", 127, 0,
		 "exit status 127 (a command it wanted to run was not found)"},
		{"#!/bin/sh\nkill -SEGV $$\n", -1, SIGSEGV, "killed by SIGSEGV"},
		{"#!/bin/sh\nkill -KILL $$\n", -1, SIGKILL, "killed by SIGKILL"},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		run_script(f, cases[i].script);
		assert_true(f->result.ran);
		assert_false(f->result.signalled);
		assert_int_equal(f->result.exit_status, cases[i].exit_status);
		assert_int_equal(f->result.signal, cases[i].signal);
		assert_string_equal(f->result.why, cases[i].why);
	}
}

/*
 * Goal: a file that cannot be run is a failure that names the file and the cause.
 * Method: no file, no right to execute, no first line, a first line that ends in CR LF.
 */
static void files_that_cannot_run(void **state)
{
	struct fixture *f = *state;
	char *const words[] = {f->script, NULL};

	start(f, words);
	turn_until_done(f, 1);
	assert_false(f->result.ran);
	assert_non_null(strstr(f->result.why, f->script));
	assert_non_null(strstr(f->result.why, "No such file or directory"));

	write_script(f, "#!/bin/sh\n");
	chmod(f->script, 0644);
	start(f, words);
	turn_until_done(f, 2);
	assert_false(f->result.ran);
	assert_non_null(strstr(f->result.why, "Permission denied"));

	run_script(f, "echo no first line\n");
	assert_false(f->result.ran);
	assert_non_null(strstr(f->result.why, "#!"));

	run_script(f, "#!/bin/sh\r\nexit 0\r\n");
	assert_false(f->result.ran);
	assert_non_null(strstr(f->result.why, "interpreter"));
	assert_int_equal(f->result.exit_status, -1);
}

/*
 * Goal: a hook ends when its process does; what it has left behind delays nothing, and still has its output
 * logged. Method: a child holds the pipes, waits for a file, speaks and goes on sleeping.
 */
static void children_left_behind(void **state)
{
	struct fixture *f = *state;
	char go[160];
	pid_t child;

	snprintf(go, sizeof(go), "%s/go", f->directory);
	run_script(f,
		   "#!/bin/sh\ncd \"${0%/*}\"\n"
		   "(while ! [ -e go ]; do sleep 0.02; done; echo late; exec sleep 300) &\necho child=$!\n");
	assert_int_equal(f->result.exit_status, 0);
	assert_true(f->result.duration_ns < INT64_C(10000000000));
	child = printed_pid(f, "child=");
	assert_true(is_alive(child));
	assert_false(logged(f, "text=late"));

	close(open(go, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	turn_until_logged(f, "text=late\n");
	unlink(go);
	assert_int_equal(kill(child, SIGKILL), 0);
	wait_until_gone(f, child);
}

/*
 * Goal: a hook that does not heed SIGTERM is killed with all of its group.
 * Method: parent and child ignore SIGTERM; then SIGKILL.
 */
static void whole_group_is_killed(void **state)
{
	struct fixture *f = *state;
	pid_t child;

	start_script(f, "#!/bin/sh\ntrap '' TERM\nsleep 300 &\necho child=$!\nwait\nsleep 300\n");
	turn_until_logged(f, "child=");
	child = printed_pid(f, "child=");
	process_signal(&f->process, SIGTERM);
	assert_true(is_alive(child));
	assert_true(process_running(&f->process));
	process_signal(&f->process, SIGKILL);
	turn_until_done(f, 1);
	assert_int_equal(f->result.exit_status, -1);
	assert_int_equal(f->result.signal, SIGKILL);
	assert_true(f->result.signalled);
	assert_string_equal(f->result.why, "killed by SIGKILL (by the agent)");
	wait_until_gone(f, child);
}

/*
 * Goal: a hook that ends at SIGTERM, but whose child does not, leaves nobody of its group behind.
 * Method: only the child ignores SIGTERM.
 */
static void stubborn_child_is_killed(void **state)
{
	struct fixture *f = *state;
	pid_t child;

	start_script(f,
		     "#!/bin/sh\n(trap '' TERM; echo ready; sleep 300; sleep 300) &\necho child=$!\nwait\n");
	turn_until_logged(f, "ready");
	turn_until_logged(f, "child=");
	child = printed_pid(f, "child=");
	process_signal(&f->process, SIGTERM);
	turn_until_done(f, 1);
	assert_int_equal(f->result.signal, SIGTERM);
	wait_until_gone(f, child);
}

/*
 * Goal: a signal right after the start reaches the hook, whether or not it leads its group yet.
 * Method: start and kill at once, again and again.
 */
static void killed_at_once(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 1; i <= 50; i++) {
		start_script(f, "#!/bin/sh\nsleep 300\n");
		process_signal(&f->process, SIGKILL);
		turn_until_done(f, i);
		assert_int_equal(f->result.signal, SIGKILL);
	}
	process_signal(&f->process, SIGKILL); /* nobody runs: nothing happens */
}

/* Makes MODE of PATH, runs the script and expects it to be refused because of CULPRIT. */
static void expect_refusal(struct fixture *f, const char *path, mode_t mode, const char *culprit)
{
	char *const words[] = {f->script, NULL};
	unsigned wanted = f->done + 1;

	assert_int_equal(chmod(path, mode), 0);
	start(f, words);
	turn_until_done(f, wanted);
	assert_false(f->result.ran);
	assert_non_null(strstr(f->result.why, "not run as root"));
	assert_non_null(strstr(f->result.why, culprit));
}

/*
 * Goal: as root, a file that others could have changed is not run, and the message names the culprit.
 * Method: the file, the directory above it, and what a symbolic link leads to; the sticky /tmp above is fine.
 */
static void unsafe_files_are_refused(void **state)
{
	struct fixture *f = *state;
	char target[160];

	if (geteuid() != 0)
		skip();
	write_script(f, "#!/bin/sh\nexit 0\n");
	expect_refusal(f, f->script, 0757, f->script);
	chmod(f->script, 0755);
	expect_refusal(f, f->directory, 0777, f->directory);
	assert_int_equal(chown(f->directory, (uid_t)-1, 12345), 0);
	expect_refusal(f, f->directory, 0770, f->directory);
	chmod(f->directory, 0700);
	run_script(f, "#!/bin/sh\nexit 0\n");
	assert_int_equal(f->result.exit_status, 0);

	snprintf(target, sizeof(target), "%s/target", f->directory);
	assert_int_equal(rename(f->script, target), 0);
	assert_int_equal(symlink("target", f->script), 0);
	expect_refusal(f, target, 0757, f->script);
	unlink(target);
}

/*
 * Goal: nobody can put a link of his own into /tmp and have it followed.
 * Method: as root, a link in a sticky directory that belongs to somebody else.
 */
static void strangers_link_is_refused(void **state)
{
	struct fixture *f = *state;
	char *const words[] = {f->script, NULL};

	if (geteuid() != 0)
		skip();
	assert_int_equal(chmod(f->directory, 01777), 0);
	assert_int_equal(symlink("/bin/true", f->script), 0);
	start(f, words);
	turn_until_done(f, 1);
	assert_int_equal(f->result.exit_status, 0);
	assert_int_equal(lchown(f->script, 12345, 12345), 0);
	start(f, words);
	turn_until_done(f, 2);
	assert_false(f->result.ran);
	assert_non_null(strstr(f->result.why, f->script));
}

/*
 * Goal: output comes line by line from both streams; long lines, NULs and a missing last newline lose
 * nothing. Method: a script that prints them.
 */
static void output_line_by_line(void **state)
{
	struct fixture *f = *state;
	const char *found;
	size_t parts = 0;

	run_script(f, "#!/bin/sh\necho one\necho two >&2\nprintf 'a\\000b\\n'\nprintf 'windows\\r\\n'\n"
		      "head -c 5000 /dev/zero | tr '\\000' x\necho\nprintf unfinished\n");
	assert_true(logged(f, "election=pg hook=gain stream=stdout text=one\n"));
	assert_true(logged(f, "election=pg hook=gain stream=stderr text=two\n"));
	assert_true(logged(f, "text=a?b\n"));
	assert_true(logged(f, "text=windows\n"));
	assert_true(logged(f, "text=unfinished\n"));
	for (found = f->text; (found = strstr(found, "text=xx")); found++)
		parts++;
	assert_int_equal(parts, 3);
}

/*
 * Goal: a hook that never stops talking fills neither the log nor the loop.
 * Method: 20000 lines at once; it ends at once, a part is logged, and the rest is counted.
 */
static void chatter_is_bounded(void **state)
{
	struct fixture *f = *state;
	size_t lines = 0;

	run_script(f, "#!/bin/sh\nyes chatter | head -n 20000\n");
	assert_int_equal(f->result.exit_status, 0);
	for (const char *found = log_text(f); (found = strstr(found, "text=chatter")); found++)
		lines++;
	assert_true(lines >= OUTPUT_BURST_LINES);
	assert_true(lines < 5000);
	assert_true(logged(f, "lines dropped"));
}

/*
 * Goal: the next run of a hook does not hear the children of the one before.
 * Method: a child holds the pipes across a second run, which closes them.
 */
static void next_run_closes_old_pipes(void **state)
{
	struct fixture *f = *state;
	size_t before = open_descriptors();
	pid_t child;

	run_script(f, "#!/bin/sh\nsleep 300 &\necho child=$!\n");
	child = printed_pid(f, "child=");
	assert_int_equal(open_descriptors(), before + 2);
	run_script(f, "#!/bin/sh\nexit 0\n");
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(kill(child, SIGKILL), 0);
	wait_until_gone(f, child);
}

/*
 * Goal: runs leave nothing behind, neither processes nor descriptors.
 * Method: 500 runs, some that fail to start and some that leave an orphan.
 */
static void many_runs(void **state)
{
	struct fixture *f = *state;
	static char missing[] = "/nonexistent/hook";
	char *const absent[] = {missing, NULL};
	char *const words[] = {f->script, NULL};
	size_t before = open_descriptors();

	write_script(f, "#!/bin/sh\n(true; true) &\nexit 3\n");
	for (unsigned i = 1; i <= RUNS; i++) {
		start(f, i % 10 == 0 ? absent : words);
		turn_until_done(f, i);
		assert_int_equal(f->result.exit_status, i % 10 == 0 ? -1 : 3);
		assert_int_equal(ftruncate(f->output, 0), 0);
	}
	/* The last orphans may still be on their way. */
	alarm(PATIENCE_S);
	while (waitpid(-1, NULL, 0) > 0)
		;
	alarm(0);
	assert_int_equal(errno, ECHILD);
	process_close(&f->process);
	assert_int_equal(open_descriptors(), before);
}

static void start_again(struct process *process, const struct process_result *result)
{
	char *const words[] = {fixture->script, NULL};

	on_done(process, result);
	if (fixture->done < 3)
		start(fixture, words);
}

/*
 * Goal: the next run may be started while the end of the last is told.
 * Method: a `done` that starts it twice.
 */
static void started_from_done(void **state)
{
	struct fixture *f = *state;

	f->process.done = start_again;
	start_script(f, "#!/bin/sh\nexit 0\n");
	turn_until_done(f, 3);
	assert_false(process_running(&f->process));
	assert_null(f->table.first);
}

/*
 * Goal: a process that is given up is killed, and nobody is told of its end any more.
 * Method: close while it runs; it goes, and `done` is not called.
 */
static void closed_while_running(void **state)
{
	struct fixture *f = *state;
	pid_t pid;

	start_script(f, "#!/bin/sh\nsleep 300\n");
	pid = f->process.pid;
	process_close(&f->process);
	wait_until_gone(f, pid);
	assert_int_equal(f->done, 0);
	assert_null(f->table.first);
}

static int start_without_process(struct fixture *f, char *why)
{
	char *const words[] = {f->script, NULL};
	char *const environment[] = {NULL};

	return process_start(&f->process, words, environment, NULL, why);
}

/*
 * Goal: that no process can be made is told, with the cause, and costs nothing.
 * Method: a child of this program becomes a user who may have no more of them.
 */
static void no_process_left(void **state)
{
	struct fixture *f = *state;
	int status;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	pid = fork();
	if (pid == 0) {
		struct rlimit none = {0, 0};
		char why[PROCESS_WHY_SIZE] = "";
		size_t before = open_descriptors();

		if (setrlimit(RLIMIT_NPROC, &none) < 0 || setuid(65534) < 0)
			_exit(1);
		if (start_without_process(f, why) != -EAGAIN || !strstr(why, "Resource temporarily unavailable"))
			_exit(2);
		if (process_running(&f->process) || f->table.first || open_descriptors() != before)
			_exit(3);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/*
 * Goal: that there is no descriptor left is told, and costs none; the next run is as good as any.
 * Method: the limit falls to what is open, and one more, two more...
 */
static void no_descriptor_left(void **state)
{
	struct fixture *f = *state;
	size_t before = open_descriptors();
	struct rlimit limit, low;
	char why[PROCESS_WHY_SIZE];
	int next = dup(0);

	assert_int_equal(close(next), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	for (rlim_t room = 0; room < 6; room++) {
		low.rlim_cur = (rlim_t)next + room;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
		assert_int_equal(start_without_process(f, why), -EMFILE);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		assert_false(process_running(&f->process));
		assert_int_equal(open_descriptors(), before);
	}
	run_script(f, "#!/bin/sh\nexit 0\n");
	assert_int_equal(f->result.exit_status, 0);
}

static char heard[64];

static void on_line(struct process *process, const char *line)
{
	(void)process;
	snprintf(heard + strlen(heard), sizeof(heard) - strlen(heard), "%s|", line);
}

/*
 * Goal: what is asked for on stdout is heard before the end is told, and is not logged; stderr is.
 */
static void stdout_is_heard(void **state)
{
	struct fixture *f = *state;

	f->process.heard = on_line;
	run_script(f, "#!/bin/sh\necho one\necho aside >&2\nprintf two\n");
	assert_string_equal(heard, "one|two|");
	assert_true(logged(f, "text=aside"));
	assert_false(logged(f, "text=one"));
}

/*
 * Goal: a child that an earlier image of this program has started is taken up: its end is told; what is no child is
 * refused.
 */
static void child_is_taken_up(void **state)
{
	struct fixture *f = *state;
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		raise(SIGSTOP);
		_exit(3);
	}
	assert_false(process_adopt(&f->process, getppid()));
	assert_true(process_adopt(&f->process, pid));
	assert_true(process_running(&f->process));
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	kill(pid, SIGCONT);
	turn_until_done(f, 1);
	assert_int_equal(f->result.exit_status, 3);
	assert_true(f->result.ran);
	assert_null(f->table.first);
}

#define scenario(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(int argc, char **argv, char **environment)
{
	const struct CMUnitTest tests[] = {
		scenario(surroundings),
		scenario(other_user),
		scenario(ways_to_end),
		scenario(files_that_cannot_run),
		scenario(children_left_behind),
		scenario(whole_group_is_killed),
		scenario(stubborn_child_is_killed),
		scenario(killed_at_once),
		scenario(unsafe_files_are_refused),
		scenario(strangers_link_is_refused),
		scenario(output_line_by_line),
		scenario(chatter_is_bounded),
		scenario(next_run_closes_old_pipes),
		scenario(many_runs),
		scenario(started_from_done),
		scenario(closed_while_running),
		scenario(no_process_left),
		scenario(no_descriptor_left),
		scenario(stdout_is_heard),
		scenario(child_is_taken_up),
	};

	if (argc > 1 && strcmp(argv[1], "--look") == 0)
		return look_around(argc, argv, environment);
	umask(022);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
