/* The elector as the supervisor's child. */
#include "supervisor/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/alive.h"
#include "common/config_found.h"
#include "common/log.h"
#include "supervisor/clock.h"
#include "supervisor/surroundings.h"

enum {
	MESSAGES_IN_A_TURN = 64,
	LAST_WORDS = 1024, /* messages taken from an elector that has exited */
	QUEUE_PER_ELECTION = 8,
	QUEUE_BASE = 64,
	ARGUMENTS_FIXED = 5, /* name, --elector, -c, file, NULL */
	FIRST_FD = ELECTOR_FD_SUPERVISOR,
	FDS = ELECTOR_FD_HTTP - FIRST_FD + 1,
};

static const int64_t second_ns = INT64_C(1000000000);
static const int64_t first_backoff_ns = INT64_C(100000000);
static const int64_t last_backoff_ns = INT64_C(10000000000);
static const int64_t last_hello_ns = INT64_C(30000000000);
static const int64_t closed_ns = INT64_C(5000000000); /* to exit after its end was closed */

void child_init(struct child *child, struct loop *loop, struct locked_dir *state_dir,
		void (*take)(struct child *child, const struct message *m))
{
	memset(child, 0, sizeof(*child));
	child->loop = loop;
	child->state_dir = state_dir;
	child->take = take;
	child->watch.fd = -1;
	child->start_at_ns = child->kill_at_ns = child->silent_at_ns = CLOCK_NEVER;
	child->backoff_ns = first_backoff_ns;
}

static void close_socket(struct child *child)
{
	if (child->watch.fd >= 0) {
		loop_remove(child->loop, &child->watch);
		close(child->watch.fd);
	}
	child->watch.fd = -1;
	child->up = child->want_write = false;
	child->silent_at_ns = CLOCK_NEVER;
	message_queue_free(child->queue);
	child->queue = NULL;
}

static void give_up_on(struct child *child, const char *why)
{
	if (child->pid == 0 || child->kill_at_ns == 0)
		return;
	log_error(NULL, "killing the elector", "pid=%d why=\"%s\"", (int)child->pid, why);
	child->kill_at_ns = 0; /* done: no second time */
	child->silent_at_ns = CLOCK_NEVER;
	kill(child->pid, SIGKILL);
}

/* ---- start ---- */

/* A read-only copy of the text in memory, its offset at the start. Returns a descriptor or negative errno. */
static int seal(const char *name, const void *bytes, size_t size)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const char *text = bytes;
	size_t done = 0;
	int rc;

	if (fd < 0)
		return -errno;
	while (done < size) {
		ssize_t n = write(fd, text + done, size - done);

		if (n <= 0)
			goto fail;
		done += (size_t)n;
	}
	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		goto fail;
	return fd;
fail:
	rc = errno == 0 ? -EIO : -errno;
	close(fd);
	return rc;
}

/* What it is not to look up by itself. */
static int seal_found(const struct config *config)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&text, &size);
	int rc;

	if (!stream)
		return -ENOMEM;
	rc = config_found_write(config, stream);
	if (fclose(stream) != 0)
		rc = -ENOMEM;
	if (rc == 0)
		rc = seal("tenured.found", text, size);
	free(text);
	return rc;
}

static char **build_arguments(const struct config *config)
{
	static char name[] = "tenured", elector[] = "--elector", file[] = "-c", override[] = "-o";
	char **arguments = calloc(ARGUMENTS_FIXED + 2 * config->override_count, sizeof(*arguments));
	size_t n = 0;

	if (!arguments)
		return NULL;
	arguments[n++] = name;
	arguments[n++] = elector;
	arguments[n++] = file;
	arguments[n++] = config->file;
	for (size_t i = 0; i < config->override_count; i++) {
		arguments[n++] = override;
		arguments[n++] = config->overrides[i];
	}
	return arguments;
}

/* In the child: brings the descriptors to their places, by way of numbers that are above all of these. */
static int place_descriptors(const int from[FDS])
{
	int lifted[FDS];

	for (int i = 0; i < FDS; i++) {
		lifted[i] = -1;
		if (from[i] < 0)
			continue;
		lifted[i] = fcntl(from[i], F_DUPFD_CLOEXEC, FIRST_FD + FDS);
		if (lifted[i] < 0)
			return -errno;
	}
	for (int i = 0; i < FDS; i++) {
		if (lifted[i] < 0)
			close(FIRST_FD + i);
		else if (dup2(lifted[i], FIRST_FD + i) < 0)
			return -errno;
	}
	surroundings_close_from(FIRST_FD + FDS);
	return 0;
}

/* In a session of its own, so that a signal from the terminal reaches the supervisor alone. */
__attribute__((noreturn)) static void run_elector(const int fds[FDS], char **arguments)
{
	setsid();
	if (place_descriptors(fds) < 0 || surroundings_restore() < 0)
		_exit(ELECTOR_EXIT_FAILED);
	execv("/proc/self/exe", arguments);
	_exit(ELECTOR_EXIT_FAILED);
}

static int spawn(const struct config *config, int peer, const struct child_sockets *sockets, pid_t *pid)
{
	char **arguments = build_arguments(config);
	int text = seal("tenured.conf", config->text, config->text_size);
	int found = seal_found(config);
	const int fds[FDS] = {
		[ELECTOR_FD_SUPERVISOR - FIRST_FD] = peer,
		[ELECTOR_FD_CONFIG - FIRST_FD] = text,
		[ELECTOR_FD_CONTROL - FIRST_FD] = sockets->control,
		[ELECTOR_FD_FOUND - FIRST_FD] = found,
		[ELECTOR_FD_HTTP - FIRST_FD] = sockets->http,
	};
	int rc = !arguments ? -ENOMEM : text < 0 ? text : found < 0 ? found : 0;
	pid_t started;

	if (rc < 0)
		goto out;
	started = fork();
	if (started == 0)
		run_elector(fds, arguments);
	if (started < 0)
		rc = -errno;
	else
		*pid = started;
out:
	free(arguments);
	if (text >= 0)
		close(text);
	if (found >= 0)
		close(found);
	return rc;
}

static void plan_next(struct child *child, int64_t now_ns)
{
	child->start_at_ns = now_ns + child->backoff_ns;
	child->backoff_ns = child->backoff_ns * 2 < last_backoff_ns ? child->backoff_ns * 2 : last_backoff_ns;
}

static void flush(struct child *child)
{
	int rc = message_queue_flush(child->queue, child->watch.fd);

	if (rc < 0 && rc != -EAGAIN)
		return; /* It is gone, or going: its exit will tell. */
	if ((rc == -EAGAIN) == child->want_write)
		return;
	child->want_write = rc == -EAGAIN;
	loop_want_write(child->loop, &child->watch, child->want_write);
}

/* ---- the time that it is given ---- */

static int64_t timeout_ns(const struct child *child)
{
	return child->session_ns > 0 ? child->session_ns : child->configured_ns;
}

/*
 * To say HELLO. Half of what a hung one is given, since the lease runs out meanwhile; but a machine that is so slow that
 * none begins in time gets the time that it needs.
 */
static int64_t hello_limit_ns(const struct child *child)
{
	int64_t limit_ns = alive_limit_ns(timeout_ns(child)) / 2;

	if (limit_ns < second_ns)
		limit_ns = second_ns;
	for (unsigned i = 0; i < child->slow_starts && limit_ns < last_hello_ns; i++)
		limit_ns *= 2;
	return clock_earlier(limit_ns, last_hello_ns);
}

static void on_hello(struct child *child)
{
	child->up = true;
	child->up_ns = clock_now_ns();
	child->slow_starts = 0;
	if (!child->quitting)
		child->kill_at_ns = CLOCK_NEVER;
}

static void note_life(struct child *child, const struct message *m)
{
	if (m->type == MESSAGE_SESSION)
		child->session_ns = m->u.session.id != 0 ? m->u.session.timeout_ns : 0;
	if (!child->quitting && child->kill_at_ns > 0)
		child->silent_at_ns = clock_now_ns() + alive_limit_ns(timeout_ns(child));
}

static bool take_one(struct child *child)
{
	struct message m;
	int rc = message_receive(child->watch.fd, &m);

	if (rc == -EAGAIN)
		return false;
	if (rc <= 0) {
		/* Its end has closed, so it is ending; or it talks nonsense, and then it must. */
		if (rc < 0)
			give_up_on(child, "it sends messages that make no sense");
		loop_remove(child->loop, &child->watch);
		if (child->kill_at_ns > 0 && !child->quitting)
			child->kill_at_ns = clock_earlier(child->kill_at_ns, clock_now_ns() + closed_ns);
		return false;
	}
	if (m.type < MESSAGE_HELLO) {
		give_up_on(child, "it sends messages that make no sense");
		return false;
	}
	if (m.type == MESSAGE_HELLO) {
		if (child->up)
			return true;
		on_hello(child);
	} else if (!child->up || m.generation != child->generation) {
		return true;
	}
	note_life(child, &m);
	if (m.type != MESSAGE_ALIVE)
		child->take(child, &m);
	return true;
}

static void take_waiting(struct child *child)
{
	for (int i = 0; i < MESSAGES_IN_A_TURN && child->watch.fd >= 0 && take_one(child); i++)
		;
}

static void on_ready(struct watch *watch)
{
	struct child *child = watch_owner(watch, struct child, watch);

	if (child->want_write)
		flush(child);
	take_waiting(child);
}

void child_start(struct child *child, const struct config *config, const struct child_sockets *sockets, int64_t now_ns)
{
	int pair[2] = {-1, -1};
	int rc;

	assert(child->pid == 0);
	child->start_at_ns = CLOCK_NEVER;
	child->quitting = false;
	child->generation++;
	child->configured_ns = config->zookeeper.session_timeout_ns;
	child->queue = message_queue_new(QUEUE_BASE + QUEUE_PER_ELECTION * (unsigned)config->election_count);
	rc = child->queue ? 0 : -ENOMEM;
	if (rc == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		rc = -errno;
	if (rc < 0)
		goto fail;
	child->watch = (struct watch){.fd = pair[0], .ready = on_ready};
	rc = loop_add(child->loop, &child->watch);
	if (rc == 0)
		rc = spawn(config, pair[1], sockets, &child->pid);
	close(pair[1]);
	if (rc < 0)
		goto fail;
	child->kill_at_ns = now_ns + hello_limit_ns(child);
	child->starts++;
	state_dir_record_elector(child->state_dir, child->pid);
	log_info(NULL, "elector started", "pid=%d generation=%u", (int)child->pid, child->generation);
	return;
fail:
	log_error(NULL, "cannot start the elector", "error=\"%s\"", strerror(-rc));
	child->pid = 0;
	close_socket(child);
	plan_next(child, now_ns);
}

/* ---- messages ---- */

void child_send(struct child *child, struct message *m)
{
	if (!child->up)
		return;
	m->generation = child->generation;
	if (message_queue_put(child->queue, m) < 0) {
		give_up_on(child, "it does not read its messages");
		return;
	}
	flush(child);
}

/*
 * It seems to hang. What it has said while we did not listen counts; and if we come late, whatever kept us may have kept
 * it as well, so that it is heard first.
 */
static void judge(struct child *child, int64_t now_ns)
{
	int64_t every_ns = alive_every_ns(timeout_ns(child));
	bool late = now_ns - child->silent_at_ns > every_ns / 4;

	take_waiting(child);
	if (child->silent_at_ns > now_ns)
		return;
	if (late)
		child->silent_at_ns = now_ns + 2 * every_ns;
	else
		give_up_on(child, "it hangs");
}

/* ---- the end ---- */

void child_quit(struct child *child, bool keep_session, int64_t now_ns, int64_t limit_ns)
{
	struct message m = {.type = MESSAGE_QUIT};

	if (child->pid == 0)
		return;
	m.u.quit.keep_session = keep_session;
	child_send(child, &m);
	child->quitting = true;
	if (!keep_session)
		child->silent_at_ns = CLOCK_NEVER; /* the session's end may take its time */
	child->kill_at_ns = clock_earlier(child->kill_at_ns, now_ns + limit_ns);
}

static void log_end(const struct child *child, int status)
{
	if (WIFSIGNALED(status))
		log_warning(NULL, "elector ended", "pid=%d signal=%d", (int)child->pid, WTERMSIG(status));
	else if (WEXITSTATUS(status) == ELECTOR_EXIT_OK || WEXITSTATUS(status) == ELECTOR_EXIT_RESTART)
		log_info(NULL, "elector ended", "pid=%d exit=%d", (int)child->pid, WEXITSTATUS(status));
	else
		log_warning(NULL, "elector ended", "pid=%d exit=%d", (int)child->pid, WEXITSTATUS(status));
}

void child_exited(struct child *child, int64_t now_ns)
{
	int64_t life_ns;
	int status = 0;
	bool wanted;

	/* What it said last still holds, its session and candidate above all. */
	for (int i = 0; i < LAST_WORDS && child->up && take_one(child); i++)
		;
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	log_end(child, status);
	wanted = WIFEXITED(status) && child->quitting;
	life_ns = child->up ? now_ns - child->up_ns : 0;
	if (life_ns >= second_ns)
		child->backoff_ns = first_backoff_ns;
	child->pid = 0;
	child->kill_at_ns = CLOCK_NEVER;
	close_socket(child);
	state_dir_record_elector(child->state_dir, 0);
	if (wanted || life_ns >= second_ns)
		child->start_at_ns = now_ns;
	else
		plan_next(child, now_ns);
}

int64_t child_deadline(const struct child *child)
{
	int64_t first = clock_earlier(child->start_at_ns, child->silent_at_ns);

	return child->kill_at_ns > 0 ? clock_earlier(first, child->kill_at_ns) : first;
}

void child_timer(struct child *child, int64_t now_ns)
{
	if (child->pid == 0)
		return;
	if (child->kill_at_ns > 0 && now_ns >= child->kill_at_ns) {
		child->slow_starts += !child->up;
		give_up_on(child, child->up ? "it does not leave" : "it does not begin");
	}
	if (now_ns >= child->silent_at_ns)
		judge(child, now_ns);
}

void child_close(struct child *child)
{
	close_socket(child);
}
