/*
 * The token floor: what is on disk when, what may lead, and what goes wrong. The writer is a process that
 * this program runs as the agent does: this program itself.
 */
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
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/log.h"
#include "supervisor/clock.h"
#include "supervisor/floor.h"
#include "tenure/gate.h"

enum { PATIENCE_S = 20, TEXT_SIZE = 1 << 16 };

static const int64_t second_ns = INT64_C(1000000000);

struct fixture {
	struct loop loop;
	struct process_table table;
	struct watch signals;
	struct floor floor;
	char directory[64], file[128];
	unsigned changes;
	int saved, output;
	char text[TEXT_SIZE];
};

static struct fixture *fixture;

static void on_changed(struct floor *floor)
{
	assert_ptr_equal(floor, &fixture->floor);
	fixture->changes++;
}

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

static void open_floor(struct fixture *f)
{
	assert_int_equal(floor_init(&f->floor, &f->table, f->directory, "pg", on_changed), 0);
	floor_read(&f->floor);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	sigset_t child;

	if (!f || loop_open(&f->loop) < 0)
		return -1;
	*state = fixture = f;
	f->table.loop = &f->loop;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	f->signals = (struct watch){.fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK), .ready = on_signals};
	if (f->signals.fd < 0 || loop_add(&f->loop, &f->signals) < 0)
		return -1;
	snprintf(f->directory, sizeof(f->directory), "/tmp/tenure-floor-XXXXXX");
	if (!mkdtemp(f->directory))
		return -1;
	snprintf(f->file, sizeof(f->file), "%s/pg.token", f->directory);

	/* The log goes to memory, where the test reads it. */
	f->saved = dup(2);
	f->output = memfd_create("log", MFD_CLOEXEC);
	dup2(f->output, 2);
	log_open("supervisor", LOG_LEVEL_DEBUG, LOG_FORMAT_TEXT, LOG_TARGET_STDERR);
	open_floor(f);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char aside[160];

	floor_close(&f->floor);
	on_signals(&f->signals);
	dup2(f->saved, 2);
	close(f->saved);
	close(f->output);
	loop_remove(&f->loop, &f->signals);
	close(f->signals.fd);
	loop_close(&f->loop);
	snprintf(aside, sizeof(aside), "%s.damaged", f->file);
	unlink(aside);
	unlink(f->file);
	rmdir(f->file); /* where a test has put a directory */
	rmdir(f->directory);
	free(f);
	return 0;
}

static unsigned times_logged(struct fixture *f, const char *text)
{
	ssize_t n = pread(f->output, f->text, sizeof(f->text) - 1, 0);
	unsigned times = 0;

	f->text[n > 0 ? n : 0] = '\0';
	for (const char *found = f->text; (found = strstr(found, text)); found++)
		times++;
	return times;
}

/* Turns the loop until no writer runs any more. An alarm ends a test that hangs. */
static void turn_until_quiet(struct fixture *f)
{
	alarm(PATIENCE_S);
	while (process_running(&f->floor.process)) {
		loop_wait(&f->loop, true);
		loop_dispatch(&f->loop);
	}
	alarm(0);
}

static int64_t on_disk(const struct fixture *f)
{
	int64_t highest = -1;

	assert_int_equal(tenure_gate_read(f->file, &highest), 0);
	return highest;
}

static void spoil(const struct fixture *f)
{
	int fd = open(f->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "no gate", 7), 7);
	close(fd);
}

/*
 * Goal: our candidate's token is on disk before it may lead, and is not what it has to be above itself.
 * Method: want one; nothing may lead by it until the writer has ended; then it may.
 */
static void durable_before_it_leads(void **state)
{
	struct fixture *f = *state;

	floor_want(&f->floor, 100, clock_now_ns());
	assert_true(f->floor.durable < 100);
	turn_until_quiet(f);
	assert_int_equal(f->floor.durable, 100);
	assert_int_equal(f->floor.seen, 0);
	assert_int_equal(on_disk(f), 100);
	assert_true(f->changes > 0);
	assert_int_equal(floor_deadline(&f->floor), CLOCK_NEVER);
}

/*
 * Goal: an agent that starts again asks for more than what was there, its own candidate of before included.
 * Method: want one, close, read again.
 */
static void survives_a_restart(void **state)
{
	struct fixture *f = *state;

	floor_want(&f->floor, 100, clock_now_ns());
	turn_until_quiet(f);
	floor_close(&f->floor);
	open_floor(f);
	assert_int_equal(f->floor.seen, 100);
	assert_int_equal(f->floor.durable, 100);
	floor_want(&f->floor, 50, clock_now_ns());
	turn_until_quiet(f);
	assert_int_equal(f->floor.seen, 100);
	assert_int_equal(on_disk(f), 100);
}

/*
 * Goal: what others lead by counts and is kept; what was wanted while a writer ran is written after it.
 * Method: want and see several at once; the highest of all ends on disk, and only what was seen counts.
 */
static void highest_of_all_is_kept(void **state)
{
	struct fixture *f = *state;

	floor_saw(&f->floor, 10, clock_now_ns());
	assert_int_equal(f->floor.seen, 10);
	floor_want(&f->floor, 30, clock_now_ns());
	floor_saw(&f->floor, 20, clock_now_ns());
	floor_saw(&f->floor, 15, clock_now_ns());
	assert_int_equal(f->floor.durable, 0);
	turn_until_quiet(f);
	assert_int_equal(f->floor.seen, 20);
	assert_int_equal(f->floor.durable, 30);
	assert_int_equal(on_disk(f), 30);
	floor_want(&f->floor, 40, clock_now_ns());
	assert_int_equal(f->floor.seen, 30); /* our former candidate counts by now */
	turn_until_quiet(f);
	assert_int_equal(on_disk(f), 40);
}

/*
 * Goal: a disk that fails is said once and tried again, at longer and longer intervals, and then goes on.
 * Method: a directory in the file's place; timers by hand; then it is taken away.
 */
static void failing_disk(void **state)
{
	struct fixture *f = *state;
	int64_t now_ns = clock_now_ns();

	assert_int_equal(mkdir(f->file, 0700), 0);
	floor_want(&f->floor, 100, now_ns);
	for (int i = 0; i < 3; i++) {
		turn_until_quiet(f);
		assert_true(f->floor.failing);
		assert_int_equal(f->floor.durable, 0);
		now_ns = floor_deadline(&f->floor);
		assert_true(now_ns > clock_now_ns() + (second_ns << i) * 9 / 10);
		assert_true(now_ns <= clock_now_ns() + (second_ns << i));
		floor_timer(&f->floor, now_ns - 1);
		assert_false(process_running(&f->floor.process));
		floor_timer(&f->floor, now_ns);
		assert_true(process_running(&f->floor.process));
	}
	turn_until_quiet(f);
	assert_int_equal(times_logged(f, "cannot write the token floor"), 1);
	assert_true(times_logged(f, "hook=floor") > 0); /* why, in the writer's words */
	assert_int_equal(rmdir(f->file), 0);
	floor_timer(&f->floor, floor_deadline(&f->floor));
	turn_until_quiet(f);
	assert_false(f->floor.failing);
	assert_int_equal(on_disk(f), 100);
	assert_int_equal(f->floor.durable, 100);
	assert_int_equal(times_logged(f, "can be written again"), 1);
}

/*
 * Goal: a writer that hangs is killed after its time, and there is never a second one beside it.
 * Method: stop it, let its time pass, ask for more meanwhile.
 */
static void hanging_writer(void **state)
{
	struct fixture *f = *state;
	int64_t now_ns = clock_now_ns();
	unsigned changes;
	pid_t pid;

	floor_want(&f->floor, 100, now_ns);
	pid = f->floor.process.pid;
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(floor_deadline(&f->floor), now_ns + 10 * second_ns);
	floor_saw(&f->floor, 120, now_ns + second_ns);
	floor_timer(&f->floor, now_ns + 9 * second_ns);
	assert_int_equal(f->floor.process.pid, pid);
	assert_int_equal(kill(pid, 0), 0);
	assert_false(f->floor.failing);
	changes = f->changes;
	floor_timer(&f->floor, now_ns + 10 * second_ns);
	assert_true(f->floor.failing); /* and not only when it has been seen to die */
	assert_int_equal(f->changes, changes + 1);
	assert_int_equal(floor_deadline(&f->floor), CLOCK_NEVER);
	assert_int_equal(f->floor.process.pid, pid); /* until it has been reaped */
	turn_until_quiet(f);
	assert_true(f->floor.failing);
	assert_int_equal(times_logged(f, "cannot write the token floor"), 1);
	floor_timer(&f->floor, floor_deadline(&f->floor));
	turn_until_quiet(f);
	assert_int_equal(on_disk(f), 120);
}

/*
 * Goal: after an operator's word any token may lead again, but not before the disk knows, and our
 * candidate's own is written anew.
 * Method: a floor above our candidate; forget.
 */
static void forget(void **state)
{
	struct fixture *f = *state;
	unsigned changes;

	floor_saw(&f->floor, 1000, clock_now_ns());
	turn_until_quiet(f);
	floor_want(&f->floor, 5, clock_now_ns());
	assert_false(process_running(&f->floor.process));
	changes = f->changes;
	floor_forget(&f->floor, clock_now_ns());
	assert_int_equal(f->floor.seen, 1000);
	turn_until_quiet(f);
	assert_int_equal(f->floor.seen, 0);
	assert_int_equal(f->floor.durable, 5);
	assert_int_equal(on_disk(f), 5);
	assert_true(f->changes > changes);
	assert_int_equal(times_logged(f, "is forgotten"), 1);
}

/*
 * Goal: a forget that fails is not done much later, and is answered.
 * Method: what stands in the file's place cannot be put aside, since something is there, too.
 */
static void forget_fails(void **state)
{
	struct fixture *f = *state;
	char aside[PATH_MAX], inside[PATH_MAX];
	unsigned changes;

	assert_true(snprintf(aside, sizeof(aside), "%s.damaged", f->file) < (int)sizeof(aside));
	assert_true(snprintf(inside, sizeof(inside), "%s.damaged/x", f->file) < (int)sizeof(inside));
	assert_int_equal(mkdir(aside, 0700), 0);
	assert_int_equal(mkdir(inside, 0700), 0);

	floor_saw(&f->floor, 1000, clock_now_ns());
	turn_until_quiet(f);
	assert_int_equal(unlink(f->file), 0);
	assert_int_equal(mkdir(f->file, 0700), 0);
	changes = f->changes;
	floor_forget(&f->floor, clock_now_ns());
	turn_until_quiet(f);
	assert_true(f->changes > changes);
	assert_false(f->floor.forgetting);
	assert_int_equal(f->floor.seen, 1000);
	assert_int_equal(times_logged(f, "is not forgotten"), 1);
	assert_int_equal(rmdir(f->file), 0);
	floor_timer(&f->floor, clock_now_ns() + 100 * second_ns);
	assert_false(process_running(&f->floor.process));
	assert_int_equal(rmdir(inside), 0);
	assert_int_equal(rmdir(aside), 0);
}

/*
 * Goal: a damaged file is said, lets nothing lead and is not written to, until an operator says forget; it
 * is kept.
 * Method: spoil it, read, want, forget.
 */
static void damaged(void **state)
{
	struct fixture *f = *state;
	char aside[160];

	spoil(f);
	floor_close(&f->floor);
	open_floor(f);
	assert_true(f->floor.broken);
	assert_int_equal(times_logged(f, "the token floor is damaged"), 1);
	floor_want(&f->floor, 100, clock_now_ns());
	assert_false(process_running(&f->floor.process));
	assert_int_equal(f->floor.durable, 0);
	floor_forget(&f->floor, clock_now_ns());
	turn_until_quiet(f);
	assert_false(f->floor.broken);
	assert_int_equal(f->floor.durable, 100);
	assert_int_equal(on_disk(f), 100);
	snprintf(aside, sizeof(aside), "%s.damaged", f->file);
	assert_int_equal(access(aside, F_OK), 0);
}

/*
 * Goal: a file that is higher than what memory knows lets no lower token lead, also if it was never read.
 * Method: a floor as a reload makes it, and its file written by another one.
 */
static void file_is_higher(void **state)
{
	struct fixture *f = *state;

	floor_saw(&f->floor, 500, clock_now_ns());
	turn_until_quiet(f);
	floor_close(&f->floor);
	assert_int_equal(floor_init(&f->floor, &f->table, f->directory, "pg", on_changed), 0);
	floor_want(&f->floor, 400, clock_now_ns());
	turn_until_quiet(f);
	assert_int_equal(f->floor.seen, 400); /* not above it: 400 may not lead */
	assert_int_equal(on_disk(f), 500);
	floor_want(&f->floor, 600, clock_now_ns());
	turn_until_quiet(f);
	assert_int_equal(f->floor.durable, 600);
	assert_true(f->floor.seen < 600);
	assert_int_equal(on_disk(f), 600);
}

/*
 * Goal: what a unit that is replaced has not yet written is not lost.
 * Method: adopt from one whose writer has not run.
 */
static void adopted(void **state)
{
	struct fixture *f = *state;
	struct floor former;

	assert_int_equal(floor_init(&former, &f->table, f->directory, "pg", on_changed), 0);
	former.seen = 70;
	floor_adopt(&f->floor, &former);
	floor_close(&former);
	assert_true(floor_deadline(&f->floor) <= clock_now_ns());
	floor_timer(&f->floor, clock_now_ns());
	turn_until_quiet(f);
	assert_int_equal(f->floor.seen, 70);
	assert_int_equal(on_disk(f), 70);
}

/*
 * Goal: without data_dir every token may lead, and nothing is written or waited for; forget is answered all
 * the same.
 */
static void no_floor(void **state)
{
	struct fixture *f = *state;

	floor_close(&f->floor);
	assert_int_equal(floor_init(&f->floor, &f->table, "", "pg", on_changed), 0);
	floor_read(&f->floor);
	floor_want(&f->floor, 100, clock_now_ns());
	floor_saw(&f->floor, 200, clock_now_ns());
	floor_timer(&f->floor, clock_now_ns());
	assert_int_equal(f->floor.seen, 0);
	assert_int_equal(f->floor.durable, INT64_MAX);
	assert_int_equal(f->changes, 0);
	floor_forget(&f->floor, clock_now_ns());
	assert_int_equal(f->changes, 1);
	assert_false(process_running(&f->floor.process));
	assert_int_equal(floor_deadline(&f->floor), CLOCK_NEVER);
}

#define scenario(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		scenario(durable_before_it_leads),
		scenario(survives_a_restart),
		scenario(highest_of_all_is_kept),
		scenario(failing_disk),
		scenario(hanging_writer),
		scenario(forget),
		scenario(forget_fails),
		scenario(damaged),
		scenario(file_is_higher),
		scenario(adopted),
		scenario(no_floor),
	};

	if (argc > 1 && strcmp(argv[1], "--floor") == 0)
		return floor_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
