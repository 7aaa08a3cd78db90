/* The session core: handles, heartbeats and what they prove. */
#include "core_support.h"

#include "core/session.h"

#define T (20 * SECOND)
#define PERIOD (T / 20)
#define START (1000 * SECOND)
#define AT(ms) (START + (ms) * MS)
#define SESSION_ID INT64_C(0x1234)

struct fixture {
	struct session s;
	struct session_update u;
};

static void step(struct fixture *f, struct session_event event)
{
	size_t before = allocations_made();

	session_step(&f->s, &event, &f->u);
	assert_int_equal(allocations_made(), before);
}

static void simple(struct fixture *f, enum session_event_type type, int64_t now_ns)
{
	step(f, (struct session_event){.type = type, .now_ns = now_ns});
}

static struct session_credentials credentials(int64_t id, int64_t timeout_ns)
{
	return (struct session_credentials){
		.id = id, .password = "fifteen letters", .timeout_ns = timeout_ns};
}

static void connect_as(struct fixture *f, int64_t now_ns, int64_t id, int64_t timeout_ns)
{
	struct session_event event = {.type = SESSION_EV_CONNECTED, .now_ns = now_ns};

	event.u.connected = credentials(id, timeout_ns);
	step(f, event);
}

static void pace(struct fixture *f, int64_t now_ns, bool on)
{
	step(f, (struct session_event){.type = SESSION_EV_PACE, .now_ns = now_ns, .u.pace = on});
}

static void reply(struct fixture *f, int64_t now_ns, int64_t sent_ns, bool committed)
{
	struct session_event event = {.type = SESSION_EV_REPLY, .now_ns = now_ns};

	event.u.reply.sent_ns = sent_ns;
	event.u.reply.answered = true;
	event.u.reply.committed = committed;
	event.u.reply.heartbeat = true;
	step(f, event);
}

static void assert_only(const struct fixture *f, enum session_action action)
{
	assert_int_equal(f->u.count, 1);
	assert_int_equal(f->u.actions[0], action);
}

static void begin(struct fixture *f)
{
	const struct session_config config = {.timeout_ns = T, .budget = default_budget()};

	memset(f, 0xa5, sizeof *f);
	session_init(&f->s, &config);
}

/* Opened at 0, connected at 100 ms. */
static void begin_connected(struct fixture *f)
{
	begin(f);
	simple(f, SESSION_EV_ADDRESSES, AT(0));
	connect_as(f, AT(100), SESSION_ID, T);
}

/* As before, with a heartbeat committed at 200 ms: the lease runs from 0. */
static void begin_leased(struct fixture *f)
{
	begin_connected(f);
	pace(f, AT(150), true);
	assert_only(f, SESSION_DO_HEARTBEAT);
	reply(f, AT(200), AT(150), true);
	assert_true(f->u.lease_changed);
	assert_int_equal(tenure_lease_deadline(&f->s.lease), AT(0) + T);
}

/* Goal: nothing happens before servers are known, then a fresh handle is opened. Method: timer, addresses. */
static void test_first_handle(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	assert_int_equal(session_deadline(&f.s), INT64_MAX);
	simple(&f, SESSION_EV_TIMER, AT(0));
	assert_int_equal(f.u.count, 0);
	simple(&f, SESSION_EV_ADDRESSES, AT(10));
	assert_only(&f, SESSION_DO_OPEN);
	assert_int_equal(f.s.credentials.id, 0);
	assert_int_equal(f.s.credentials.timeout_ns, T);
	assert_int_equal(f.s.state, SESSION_CONNECTING);
	/* The library itself goes on trying: a session that never was is not reopened. */
	assert_int_equal(session_deadline(&f.s), INT64_MAX);
	connect_as(&f, AT(50), SESSION_ID, T);
	assert_int_equal(f.u.count, 0);
	assert_true(f.u.up && f.u.saved && !f.u.down && !f.u.gone && !f.u.lease_changed);
	assert_int_equal(f.s.credentials.id, SESSION_ID);
}

/* Goal: the negotiated value is kept, and the smallest of all is asked for again. Method: three connects. */
static void test_negotiated_timeout(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	simple(&f, SESSION_EV_ADDRESSES, AT(0));
	connect_as(&f, AT(10), SESSION_ID, 10 * SECOND);
	assert_int_equal(f.s.credentials.timeout_ns, 10 * SECOND);
	simple(&f, SESSION_EV_DISCONNECTED, AT(20));
	connect_as(&f, AT(30), SESSION_ID, 6 * SECOND);
	assert_true(f.u.saved);
	assert_int_equal(f.s.credentials.timeout_ns, 6 * SECOND);
	simple(&f, SESSION_EV_DISCONNECTED, AT(40));
	connect_as(&f, AT(50), SESSION_ID, 40 * SECOND);
	assert_false(f.u.saved);
	assert_int_equal(f.s.credentials.timeout_ns, 6 * SECOND);
	assert_int_equal(f.s.lease.timeout_ns, 6 * SECOND);
}

/*
 * Goal: heartbeats keep a grid. Method: answers within the period; the next goes out at the grid's instant.
 */
static void test_heartbeat_grid(void **state)
{
	struct fixture f;

	(void)state;
	begin_connected(&f);
	assert_int_equal(session_deadline(&f.s), INT64_MAX);
	pace(&f, AT(1000), true);
	assert_only(&f, SESSION_DO_HEARTBEAT);
	for (int64_t i = 0; i < 10; i++) {
		int64_t sent_ns = AT(1000) + i * PERIOD;

		/* With a lease to lose, a silent server is not waited for that long. */
		assert_int_equal(session_deadline(&f.s), sent_ns + (i == 0 ? T : T / 5));
		reply(&f, sent_ns + 5 * MS, sent_ns, true);
		assert_int_equal(f.u.count, 0);
		assert_int_equal(session_deadline(&f.s), sent_ns + PERIOD);
		simple(&f, SESSION_EV_TIMER, sent_ns + PERIOD - 1);
		assert_int_equal(f.u.count, 0);
		simple(&f, SESSION_EV_TIMER, sent_ns + PERIOD);
		assert_only(&f, SESSION_DO_HEARTBEAT);
	}
}

/* Goal: a late answer is followed at once and restarts the grid. Method: an answer after 2.5 periods. */
static void test_late_answer(void **state)
{
	const int64_t late_ns = AT(1000) + 5 * PERIOD / 2;
	struct fixture f;

	(void)state;
	begin_connected(&f);
	pace(&f, AT(1000), true);
	reply(&f, late_ns, AT(1000), true);
	assert_only(&f, SESSION_DO_HEARTBEAT);
	reply(&f, late_ns + MS, late_ns, true);
	assert_int_equal(f.u.count, 0);
	assert_int_equal(session_deadline(&f.s), late_ns + PERIOD);
}

/*
 * Goal: failed answers do not spin. Method: answers at once, none a commit; each is a period apart from the
 * next.
 */
static void test_failed_answers(void **state)
{
	struct fixture f;
	int64_t sent_ns = AT(1000);

	(void)state;
	begin_connected(&f);
	pace(&f, sent_ns, true);
	for (int i = 0; i < 10; i++) {
		int64_t done_ns = sent_ns + (i % 3) * PERIOD;

		reply(&f, done_ns, sent_ns, false);
		assert_int_equal(f.u.count, 0);
		assert_false(f.u.lease_changed);
		sent_ns = session_deadline(&f.s);
		assert_int_equal(sent_ns, done_ns + PERIOD);
		simple(&f, SESSION_EV_TIMER, sent_ns);
		assert_only(&f, SESSION_DO_HEARTBEAT);
	}
	assert_int_equal(tenure_lease_deadline(&f.s.lease), 0);
}

/*
 * Goal: heartbeats stop and start by wish, one at a time. Method: the pace off and on, also with one
 * outstanding.
 */
static void test_pace(void **state)
{
	struct fixture f;

	(void)state;
	begin_connected(&f);
	pace(&f, AT(1000), true);
	assert_only(&f, SESSION_DO_HEARTBEAT);
	pace(&f, AT(1100), false);
	pace(&f, AT(1200), true);
	assert_int_equal(f.u.count, 0);
	pace(&f, AT(1300), false);
	reply(&f, AT(1400), AT(1000), true);
	assert_int_equal(f.u.count, 0);
	assert_true(f.u.lease_changed);
	assert_int_equal(session_deadline(&f.s), INT64_MAX);
	pace(&f, AT(9000), true);
	assert_only(&f, SESSION_DO_HEARTBEAT);
	reply(&f, AT(9001), AT(9000), true);
	pace(&f, AT(9002), true);
	assert_int_equal(f.u.count, 0);
}

/* Goal: a reconnect sends the next heartbeat at once. Method: a disconnection with one outstanding. */
static void test_reconnect(void **state)
{
	struct fixture f;

	(void)state;
	begin_leased(&f);
	simple(&f, SESSION_EV_TIMER, AT(150) + PERIOD);
	assert_only(&f, SESSION_DO_HEARTBEAT);
	simple(&f, SESSION_EV_DISCONNECTED, AT(2000));
	assert_true(f.u.down && !f.u.gone && !f.u.lease_changed);
	assert_int_equal(f.u.count, 0);
	/* Its failure comes behind the disconnection and changes nothing. */
	step(&f,
	     (struct session_event){.type = SESSION_EV_REPLY, .now_ns = AT(2000), .u.reply.heartbeat = true});
	assert_int_equal(f.u.count, 0);
	assert_int_equal(tenure_lease_deadline(&f.s.lease), AT(0) + T);
	connect_as(&f, AT(2500), SESSION_ID, T);
	assert_only(&f, SESSION_DO_HEARTBEAT);
	assert_true(f.u.up && !f.u.saved);
	reply(&f, AT(2501), AT(2500), true);
	assert_int_equal(tenure_lease_deadline(&f.s.lease), AT(150) + T);
}

/*
 * Goal: a blip leaves the lease and the handle alone; past T the handle is replaced, its session kept.
 * Method: a long cut.
 */
static void test_long_cut(void **state)
{
	struct fixture f;

	(void)state;
	begin_leased(&f);
	session_orphan(&f.s);
	simple(&f, SESSION_EV_DISCONNECTED, AT(3000));
	assert_int_equal(session_deadline(&f.s), AT(3000) + T);
	simple(&f, SESSION_EV_TIMER, AT(3000) + T - 1);
	assert_int_equal(f.u.count, 0);
	simple(&f, SESSION_EV_TIMER, AT(3000) + T);
	assert_only(&f, SESSION_DO_OPEN);
	assert_true(!f.u.gone && !f.u.saved);
	assert_int_equal(f.s.credentials.id, SESSION_ID);
	assert_int_equal(session_deadline(&f.s), AT(3000) + 2 * T);
	/* The server then says that it is gone. */
	simple(&f, SESSION_EV_EXPIRED, AT(30000));
	assert_true(f.u.gone && f.u.saved && f.u.lease_changed);
	assert_only(&f, SESSION_DO_OPEN);
	assert_int_equal(f.s.credentials.id, 0);
}

/*
 * Goal: expiry brings a fresh handle. Method: EXPIRED while connected and while not; nothing of the old is
 * left.
 */
static void test_expired(void **state)
{
	static const bool while_connected[] = {true, false};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(while_connected); i++) {
		struct fixture f;

		begin_leased(&f);
		if (!while_connected[i])
			simple(&f, SESSION_EV_DISCONNECTED, AT(1000));
		simple(&f, SESSION_EV_EXPIRED, AT(2000));
		assert_only(&f, SESSION_DO_OPEN);
		assert_true(f.u.gone && f.u.saved && f.u.lease_changed);
		assert_int_equal(f.u.down, while_connected[i]);
		assert_int_equal(f.s.credentials.id, 0);
		assert_int_equal(f.s.credentials.timeout_ns, T);
		assert_int_equal(tenure_lease_deadline(&f.s.lease), 0);
		/* The new session's lease runs from the new handle's start. */
		connect_as(&f, AT(2100), SESSION_ID + 1, T);
		assert_only(&f, SESSION_DO_HEARTBEAT);
		assert_true(f.u.saved && !f.u.gone);
		reply(&f, AT(2200), AT(2100), true);
		assert_int_equal(tenure_lease_deadline(&f.s.lease), AT(2000) + T);
	}
}

/* Goal: another session on the same handle is a loss of the former. Method: a connect with another id. */
static void test_other_session(void **state)
{
	struct fixture f;

	(void)state;
	begin_leased(&f);
	simple(&f, SESSION_EV_DISCONNECTED, AT(1000));
	connect_as(&f, AT(1100), SESSION_ID + 1, T);
	assert_true(f.u.gone && f.u.up && f.u.saved && f.u.lease_changed);
	assert_int_equal(f.s.credentials.id, SESSION_ID + 1);
	assert_int_equal(tenure_lease_deadline(&f.s.lease), 0);
	/* q is the start of the handle; what the former session had answered does not count. */
	reply(&f, AT(1200), AT(1100), true);
	assert_int_equal(tenure_lease_deadline(&f.s.lease), AT(0) + T);
}

/*
 * Goal: addresses that change while connected wait for the connection's end. Method: with a lease, and
 * without one.
 */
static void test_addresses_while_connected(void **state)
{
	struct fixture f;

	(void)state;
	begin_leased(&f);
	simple(&f, SESSION_EV_ADDRESSES, AT(1000));
	assert_int_equal(f.u.count, 0);
	simple(&f, SESSION_EV_DISCONNECTED, AT(2000));
	assert_only(&f, SESSION_DO_RESTART);
	assert_true(f.u.down);

	begin_leased(&f);
	simple(&f, SESSION_EV_ADDRESSES, AT(1000));
	simple(&f, SESSION_EV_DISCONNECTED, AT(0) + T);
	assert_only(&f, SESSION_DO_OPEN);
	assert_true(f.u.down);
	assert_int_equal(f.s.credentials.id, SESSION_ID);
}

/*
 * Goal: while disconnected a live lease forbids dropping the handle. Method: a change before and after the
 * lease's end.
 */
static void test_addresses_while_disconnected(void **state)
{
	struct fixture f;

	(void)state;
	begin_leased(&f);
	simple(&f, SESSION_EV_DISCONNECTED, AT(2000));
	simple(&f, SESSION_EV_ADDRESSES, AT(0) + T - 1);
	assert_only(&f, SESSION_DO_RESTART);
	simple(&f, SESSION_EV_ADDRESSES, AT(0) + T);
	assert_only(&f, SESSION_DO_OPEN);
	assert_int_equal(f.s.credentials.id, SESSION_ID);

	/* Nothing of ours can be lost by a handle that has no session yet. */
	begin(&f);
	simple(&f, SESSION_EV_ADDRESSES, AT(0));
	simple(&f, SESSION_EV_ADDRESSES, AT(1));
	assert_only(&f, SESSION_DO_OPEN);
}

/*
 * Goal: an attempt to connect that hangs, and a server that falls silent, do not cost a lease. Method: both with
 * a lease of 20 s: a new process after 2 s and 4 s; none without a lease or a supervisor.
 */
static void test_impatient(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	simple(&f, SESSION_EV_ADDRESSES, AT(0));
	connect_as(&f, AT(100), SESSION_ID, T);
	pace(&f, AT(200), true);
	assert_int_equal(session_deadline(&f.s), AT(200) + T);
	reply(&f, AT(210), AT(200), true);
	simple(&f, SESSION_EV_TIMER, AT(1200));
	assert_only(&f, SESSION_DO_HEARTBEAT);
	assert_int_equal(session_deadline(&f.s), AT(5200));
	simple(&f, SESSION_EV_TIMER, AT(5199));
	assert_int_equal(f.u.count, 0);
	simple(&f, SESSION_EV_TIMER, AT(5200));
	assert_only(&f, SESSION_DO_RESTART);

	simple(&f, SESSION_EV_DISCONNECTED, AT(6000));
	assert_int_equal(session_deadline(&f.s), AT(8000));
	simple(&f, SESSION_EV_TIMER, AT(8000));
	assert_only(&f, SESSION_DO_RESTART);
	session_orphan(&f.s);
	simple(&f, SESSION_EV_TIMER, AT(8001));
	assert_int_equal(f.u.count, 0);
	assert_int_equal(session_deadline(&f.s), AT(6000) + T);
}

/*
 * Goal: a resumed session bears the lease that its former process had proven. Method: other addresses within
 * and after it; a first commit where nothing had been proven.
 */
static void test_resumed(void **state)
{
	const struct session_credentials kept = credentials(SESSION_ID, 10 * SECOND);
	struct fixture f;

	(void)state;
	begin(&f);
	session_resume(&f.s, &kept, AT(0));
	simple(&f, SESSION_EV_ADDRESSES, AT(0));
	assert_only(&f, SESSION_DO_OPEN);
	assert_int_equal(f.s.credentials.id, SESSION_ID);
	assert_int_equal(f.s.credentials.timeout_ns, 10 * SECOND);
	simple(&f, SESSION_EV_ADDRESSES, AT(9999));
	assert_only(&f, SESSION_DO_RESTART);
	simple(&f, SESSION_EV_ADDRESSES, AT(10000));
	assert_only(&f, SESSION_DO_OPEN);

	begin(&f);
	session_resume(&f.s, &kept, 0);
	simple(&f, SESSION_EV_ADDRESSES, AT(0));
	connect_as(&f, AT(100), SESSION_ID, T);
	assert_int_equal(f.s.lease.timeout_ns, 10 * SECOND);
	assert_false(f.u.gone);
	pace(&f, AT(200), true);
	reply(&f, AT(210), AT(200), true);
	assert_int_equal(tenure_lease_deadline(&f.s.lease), AT(10000));
}

/*
 * Goal: refused credentials back off, growing and capped. Method: AUTH_FAILED time after time; a connect
 * resets.
 */
static void test_auth_failed(void **state)
{
	struct fixture f;
	int64_t now_ns = AT(0), wait_ns = 100 * MS;

	(void)state;
	begin(&f);
	simple(&f, SESSION_EV_ADDRESSES, now_ns);
	for (int i = 0; i < 12; i++) {
		simple(&f, SESSION_EV_AUTH_FAILED, now_ns);
		assert_int_equal(f.u.count, 0);
		assert_int_equal(f.s.state, SESSION_CLOSED);
		assert_int_equal(session_deadline(&f.s), now_ns + wait_ns);
		now_ns += wait_ns;
		simple(&f, SESSION_EV_TIMER, now_ns);
		assert_only(&f, SESSION_DO_OPEN);
		wait_ns = wait_ns < 12800 * MS ? 2 * wait_ns : wait_ns;
	}
	connect_as(&f, now_ns, SESSION_ID, T);
	simple(&f, SESSION_EV_AUTH_FAILED, now_ns);
	assert_true(f.u.down && !f.u.gone);
	assert_int_equal(session_deadline(&f.s), now_ns + 100 * MS);
}

/*
 * Goal: a broken handle that may be connected is left by a restart while a lease rests on it. Method: every
 * state.
 */
static void test_handle_failed(void **state)
{
	struct fixture f;

	(void)state;
	begin_leased(&f);
	simple(&f, SESSION_EV_HANDLE_FAILED, AT(1000));
	assert_only(&f, SESSION_DO_RESTART);

	begin_leased(&f);
	simple(&f, SESSION_EV_DISCONNECTED, AT(900));
	simple(&f, SESSION_EV_HANDLE_FAILED, AT(1000));
	assert_only(&f, SESSION_DO_RESTART);

	begin_leased(&f);
	simple(&f, SESSION_EV_HANDLE_FAILED, AT(0) + T);
	assert_int_equal(f.u.count, 0);
	assert_true(f.u.down);
	simple(&f, SESSION_EV_TIMER, AT(0) + T + 100 * MS);
	assert_only(&f, SESSION_DO_OPEN);

	begin(&f);
	simple(&f, SESSION_EV_ADDRESSES, AT(0));
	simple(&f, SESSION_EV_HANDLE_FAILED, AT(0));
	assert_int_equal(f.u.count, 0);
	assert_int_equal(session_deadline(&f.s), AT(100));
}

/*
 * Goal: a connection that swallows heartbeats is given up once nothing rests on it. Method: one unanswered
 * for T.
 */
static void test_silent_connection(void **state)
{
	struct fixture f;

	(void)state;
	begin_leased(&f);
	session_orphan(&f.s);
	simple(&f, SESSION_EV_TIMER, AT(150) + PERIOD);
	assert_int_equal(session_deadline(&f.s), AT(150) + PERIOD + T);
	simple(&f, SESSION_EV_TIMER, AT(150) + PERIOD + T);
	assert_only(&f, SESSION_DO_OPEN);
	assert_true(f.u.down && !f.u.gone);
	assert_int_equal(f.s.credentials.id, SESSION_ID);
}

/* Goal: other writes prove as well, reads do not. Method: replies that are no heartbeats. */
static void test_other_replies(void **state)
{
	struct session_event event = {.type = SESSION_EV_REPLY, .now_ns = AT(300)};
	struct fixture f;

	(void)state;
	begin_connected(&f);
	event.u.reply.sent_ns = AT(200);
	event.u.reply.answered = true;
	step(&f, event);
	assert_false(f.u.lease_changed);
	event.u.reply.committed = true;
	step(&f, event);
	assert_true(f.u.lease_changed);
	assert_int_equal(f.u.count, 0);
	assert_int_equal(tenure_lease_deadline(&f.s.lease), AT(0) + T);
}

/*
 * Goal: every event is taken in every state. Method: all pairs, with and without a lease, then a timer step.
 */
static void test_every_event_in_every_state(void **state)
{
	(void)state;
	for (unsigned from = 0; from < 5; from++) {
		for (int type = SESSION_EV_ADDRESSES; type <= SESSION_EV_TIMER; type++) {
			struct session_event event = {.type = (enum session_event_type)type,
						      .now_ns = AT(1000)};
			struct fixture f;

			if (from == 0)
				begin(&f);
			else if (from == 1)
				begin_connected(&f);
			else
				begin_leased(&f);
			if (from == 3)
				simple(&f, SESSION_EV_DISCONNECTED, AT(900));
			if (from == 4)
				simple(&f, SESSION_EV_AUTH_FAILED, AT(900));
			if (type == SESSION_EV_CONNECTED)
				event.u.connected = credentials(SESSION_ID, T);
			step(&f, event);
			simple(&f, SESSION_EV_TIMER, AT(1000));
			assert_true(session_deadline(&f.s) > AT(1000));
		}
	}
}

/* ---- the random run ---- */

enum { OUTSTANDING_MAX = 16, COMMITS_MAX = 64, EVENTS = 100000 };

struct outstanding {
	int64_t sent_ns;
	bool heartbeat;
};

/* A library and an ensemble, and the lease by the letter of the rule. */
struct model {
	struct random_run run;
	struct fixture f;
	int64_t trouble; /* the smaller, the more of it */
	int64_t now_ns, next_id;
	bool handle, connected; /* a handle that is not known to be dead; its connection */
	struct outstanding outstanding[OUTSTANDING_MAX];
	unsigned outstanding_count;
	/* The rule. */
	struct tenure_commit commits[COMMITS_MAX];
	unsigned commit_count;
	int64_t t_ns, q_ns, answered_ns, start_ns;
	int64_t heartbeat_ns; /* the last one sent */
	bool failed;          /* and it came back without a commit */
	unsigned extensions;  /* of the lease */
};

static int64_t model_deadline(const struct model *m)
{
	return m->start_ns == 0 ? 0 : m->start_ns + m->t_ns;
}

static void model_forget(struct model *m)
{
	m->t_ns = m->start_ns = m->answered_ns = 0;
	m->commit_count = 0;
}

static void model_commit(struct model *m, int64_t sent_ns)
{
	if (m->commit_count == COMMITS_MAX)
		memmove(m->commits, m->commits + 1, sizeof m->commits[0] * --m->commit_count);
	m->commits[m->commit_count++] = (struct tenure_commit){sent_ns, m->now_ns};
	m->start_ns = m->start_ns > m->q_ns ? m->start_ns : m->q_ns;
	for (unsigned i = 0; i < m->commit_count; i++)
		for (unsigned j = 0; j < m->commit_count; j++)
			if (m->commits[j].sent_ns >= m->commits[i].done_ns + m->f.s.lease.touch_lag_ns &&
			    sent_ns >= m->commits[j].done_ns + m->f.s.lease.ping_slack_ns &&
			    m->commits[i].sent_ns > m->start_ns)
				m->start_ns = m->commits[i].sent_ns;
}

static void model_new_process(struct model *m)
{
	const struct session_config config = m->f.s.config;
	const struct session_credentials kept = m->f.s.credentials;
	int64_t start_ns = kept.id != 0 ? m->start_ns : 0;

	session_init(&m->f.s, &config);
	if (kept.id != 0)
		session_resume(&m->f.s, &kept, start_ns);
	m->handle = m->connected = false;
	m->outstanding_count = 0;
	model_forget(m);
	m->start_ns = start_ns;
	m->t_ns = kept.id != 0 ? kept.timeout_ns : 0;
}

static void model_action(struct model *m, enum session_action action, enum session_event_type cause)
{
	switch (action) {
	case SESSION_DO_OPEN:
		/* Giving up a handle that may be connected ends the session. */
		CHECK_RUN(&m->run,
			  !m->handle || cause == SESSION_EV_EXPIRED || model_deadline(m) <= m->now_ns);
		m->handle = true;
		m->connected = false;
		m->outstanding_count = 0;
		m->commit_count = 0;
		m->q_ns = m->now_ns;
		m->answered_ns = 0;
		break;
	case SESSION_DO_HEARTBEAT:
		CHECK_RUN(&m->run, m->connected);
		for (unsigned i = 0; i < m->outstanding_count; i++)
			CHECK_RUN(&m->run, !m->outstanding[i].heartbeat);
		if (m->failed && cause == SESSION_EV_TIMER)
			CHECK_RUN(&m->run, m->now_ns >= m->heartbeat_ns + m->t_ns / 20);
		m->failed = false;
		m->heartbeat_ns = m->now_ns;
		m->outstanding[m->outstanding_count++] = (struct outstanding){m->now_ns, true};
		break;
	case SESSION_DO_RESTART:
		model_new_process(m);
		break;
	case SESSION_DO_NONE:
		fail();
	}
}

static void model_step(struct model *m, struct session_event event)
{
	const struct session_credentials before = m->f.s.credentials;
	int64_t deadline_ns = tenure_lease_deadline(&m->f.s.lease);

	event.now_ns = m->now_ns;
	step(&m->f, event);
	CHECK_RUN(&m->run, m->f.u.saved || memcmp(&before, &m->f.s.credentials, sizeof before) == 0);
	CHECK_RUN(&m->run, m->f.u.lease_changed == (tenure_lease_deadline(&m->f.s.lease) != deadline_ns));
	CHECK_RUN(&m->run,
		  tenure_lease_deadline(&m->f.s.lease) <= (m->start_ns == 0 ? 0 : m->start_ns + m->t_ns));
	m->extensions += tenure_lease_deadline(&m->f.s.lease) > deadline_ns;
	for (unsigned i = 0; i < m->f.u.count; i++)
		model_action(m, m->f.u.actions[i], event.type);
	if (event.type == SESSION_EV_TIMER)
		CHECK_RUN(&m->run, session_deadline(&m->f.s) > m->now_ns);
	CHECK_RUN(&m->run, m->f.s.lease.count <= TENURE_LEASE_COMMITS);
}

/* What was outstanding on a lost connection comes back as unknown. */
static void model_fail_outstanding(struct model *m, unsigned count, const struct outstanding *lost)
{
	for (unsigned i = 0; i < count; i++) {
		struct session_event event = {.type = SESSION_EV_REPLY};

		event.u.reply.sent_ns = lost[i].sent_ns;
		event.u.reply.heartbeat = lost[i].heartbeat;
		model_step(m, event);
	}
}

static void model_end_connection(struct model *m, enum session_event_type type)
{
	struct outstanding lost[OUTSTANDING_MAX];
	unsigned count = m->outstanding_count;

	memcpy(lost, m->outstanding, sizeof lost);
	m->outstanding_count = 0;
	m->connected = false;
	m->commit_count = 0;
	if (type == SESSION_EV_EXPIRED)
		model_forget(m);
	if (type == SESSION_EV_AUTH_FAILED)
		m->handle = false;
	model_step(m, (struct session_event){.type = type});
	if (type == SESSION_EV_DISCONNECTED && m->handle && !m->connected)
		model_fail_outstanding(m, count, lost);
}

static void model_connect(struct model *m)
{
	static const int64_t timeouts_ns[] = {20 * SECOND, 20 * SECOND, 20 * SECOND, 12 * SECOND,
					      40 * SECOND};
	struct session_event event = {.type = SESSION_EV_CONNECTED};
	int64_t timeout_ns = timeouts_ns[random_below(&m->run, COUNT_OF(timeouts_ns))];
	int64_t id = m->f.s.credentials.id;

	if (id == 0 || random_once_in(&m->run, 200)) {
		id = ++m->next_id;
		model_forget(m);
	}
	m->q_ns = m->answered_ns > m->q_ns ? m->answered_ns : m->q_ns;
	m->t_ns = m->t_ns == 0 || timeout_ns < m->t_ns ? timeout_ns : m->t_ns;
	m->connected = true;
	m->commit_count = 0;
	event.u.connected = credentials(id, timeout_ns);
	model_step(m, event);
	CHECK_RUN(&m->run, m->f.u.up);
}

static void model_reply(struct model *m)
{
	struct session_event event = {.type = SESSION_EV_REPLY};

	event.u.reply.sent_ns = m->outstanding[0].sent_ns;
	event.u.reply.heartbeat = m->outstanding[0].heartbeat;
	event.u.reply.answered = !random_once_in(&m->run, 50);
	event.u.reply.committed = event.u.reply.answered && !random_once_in(&m->run, 10);
	memmove(m->outstanding, m->outstanding + 1, sizeof m->outstanding[0] * --m->outstanding_count);
	if (event.u.reply.heartbeat)
		m->failed = !event.u.reply.committed;
	if (event.u.reply.answered && event.u.reply.sent_ns > m->answered_ns)
		m->answered_ns = event.u.reply.sent_ns;
	if (event.u.reply.committed)
		model_commit(m, event.u.reply.sent_ns);
	model_step(m, event);
}

/* A handle of this process that has never been connected holds no session yet. */
static void model_handle_failed(struct model *m)
{
	if (m->start_ns == 0 && !m->connected)
		m->handle = false;
	model_step(m, (struct session_event){.type = SESSION_EV_HANDLE_FAILED});
}

static void model_random_event(struct model *m)
{
	int64_t dice = random_below(&m->run, m->trouble);

	if (dice < 5)
		model_step(m, (struct session_event){.type = SESSION_EV_ADDRESSES});
	else if (dice < 25)
		model_step(m, (struct session_event){.type = SESSION_EV_PACE,
						     .u.pace = random_below(&m->run, 4) != 0});
	else if (dice < 40 && m->connected)
		model_end_connection(m, SESSION_EV_DISCONNECTED);
	else if (dice < 42 && m->handle)
		model_end_connection(m, SESSION_EV_EXPIRED);
	else if (dice < 45 && m->handle)
		model_end_connection(m, SESSION_EV_AUTH_FAILED);
	else if (dice < 46)
		model_handle_failed(m);
	else if (dice < 47)
		model_new_process(m);
	else if (dice < 200 && m->handle && !m->connected)
		model_connect(m);
	else if (dice < 300 && m->connected && m->outstanding_count < OUTSTANDING_MAX - 1)
		m->outstanding[m->outstanding_count++] = (struct outstanding){m->now_ns, false};
	else if (m->outstanding_count > 0)
		model_reply(m);
}

static void run_random(uint64_t seed, int64_t trouble)
{
	struct model m;

	memset(&m, 0, sizeof m);
	random_begin(&m.run, seed);
	begin(&m.f);
	m.trouble = trouble;
	m.now_ns = START;
	for (m.run.step = 0; m.run.step < EVENTS; m.run.step++) {
		int64_t quiet_ns = random_once_in(&m.run, 100) ? 30 * SECOND : 300 * MS;
		int64_t next_ns = m.now_ns + random_below(&m.run, quiet_ns);
		int64_t due_ns = session_deadline(&m.f.s);

		if (due_ns <= next_ns) {
			/* Timers may be late. */
			m.now_ns = (due_ns > m.now_ns ? due_ns : m.now_ns) +
				   (random_once_in(&m.run, 20) ? random_below(&m.run, 5 * SECOND) : 0);
			model_step(&m, (struct session_event){.type = SESSION_EV_TIMER});
		} else {
			m.now_ns = next_ns;
			model_random_event(&m);
		}
	}
	CHECK_RUN(&m.run, m.extensions > EVENTS / 100);
}

/*
 * Goal: over any sequence of events the lease is never longer than the rule gives, no handle is given up
 * while a lease rests on it, and no timer spins. Method: a random library and ensemble, 100,000 events with
 * much and with little trouble, the rule by brute force.
 */
static void test_random(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++)
		run_random(seed, seed % 2 == 0 ? 1000 : 8000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_handle),
		cmocka_unit_test(test_negotiated_timeout),
		cmocka_unit_test(test_heartbeat_grid),
		cmocka_unit_test(test_late_answer),
		cmocka_unit_test(test_failed_answers),
		cmocka_unit_test(test_pace),
		cmocka_unit_test(test_reconnect),
		cmocka_unit_test(test_long_cut),
		cmocka_unit_test(test_expired),
		cmocka_unit_test(test_other_session),
		cmocka_unit_test(test_addresses_while_connected),
		cmocka_unit_test(test_addresses_while_disconnected),
		cmocka_unit_test(test_impatient),
		cmocka_unit_test(test_resumed),
		cmocka_unit_test(test_auth_failed),
		cmocka_unit_test(test_handle_failed),
		cmocka_unit_test(test_silent_connection),
		cmocka_unit_test(test_other_replies),
		cmocka_unit_test(test_every_event_in_every_state),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
