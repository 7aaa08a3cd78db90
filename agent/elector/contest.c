/* One election: its core, and what follows from every step of it. */
#include "elector/contest.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/log.h"
#include "core/role.h"
#include "elector/instant.h"
#include "elector/operations.h"
#include "elector/peek.h"
#include "elector/shell.h"

static const struct {
	const char *text;
	enum log_level level;
} notes[ELECTOR_NOTE_COUNT] = {
#define X(code, note_text) [ELECTOR_NOTE_##code] = {.text = note_text, .level = LOG_LEVEL_WARNING},
	ELECTOR_NOTES(X)
#undef X
};

static const char *const op_names[ELECTOR_OP_COUNT] = {
	[ELECTOR_OP_PARENTS] = "parents", [ELECTOR_OP_CREATE] = "create", [ELECTOR_OP_LIST] = "list",
	[ELECTOR_OP_WATCH] = "watch",     [ELECTOR_OP_CHECK] = "check",   [ELECTOR_OP_OWNER] = "owner",
	[ELECTOR_OP_DELETE] = "delete",   [ELECTOR_OP_PURGE] = "purge",   [ELECTOR_OP_READ] = "read",
	[ELECTOR_OP_WRITE] = "write",     [ELECTOR_OP_SURVEY] = "survey",
};

char *contest_path(const char *directory, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", strcmp(directory, "/") == 0 ? "" : directory, name) < 0)
		return NULL;
	return path;
}

int contest_init(struct contest *c, struct shell *shell, uint32_t index)
{
	const char *chroot = shell->config->zookeeper.chroot ? shell->config->zookeeper.chroot : "";

	memset(c, 0, sizeof *c);
	c->shell = shell;
	c->index = index;
	c->config = &shell->config->elections[index];
	if (asprintf(&c->path, "%s%s", chroot, c->config->path) < 0)
		c->path = NULL;
	if (c->path) {
		c->queue_path = contest_path(c->path, "queue");
		c->member.folder = contest_path(c->path, "members");
	}
	if (!c->queue_path || !c->member.folder)
		return -ENOMEM;
	return parents_init(&c->parents, chroot, c->config->path);
}

void contest_begin(struct contest *c, uint64_t agent)
{
	struct elector_config config = {
		.agent = agent,
		/* Who never leads has nothing else to do than to look on. */
		.follows = c->config->follow.command.words || !c->config->candidate,
		.fence_peer = c->config->fence_peer.command.words,
		.floor = c->shell->config->data_dir[0],
		.takeover_delay_ns = c->config->takeover_delay_ns,
		.score_slack = c->config->score.slack,
		.score_settle_ns = config_score_settle(c->config),
		.budget = c->config->budget,
		.take_office_limit_ns = c->config->take_office_limit_ns,
		.backoff_ns = c->config->backoff_ns,
		.backoff_max_ns = c->config->backoff_max_ns,
	};

	snprintf(config.member, sizeof config.member, "%s", c->shell->config->member);
	elector_init(&c->core, &config);
}

enum elector_result contest_result(enum port_result result)
{
	switch (result) {
	case PORT_OK:
		return ELECTOR_OK;
	case PORT_NONODE:
		return ELECTOR_NONODE;
	case PORT_BADVERSION:
		return ELECTOR_BADVERSION;
	case PORT_NOAUTH:
		return ELECTOR_NOAUTH;
	case PORT_UNKNOWN:
		return ELECTOR_UNKNOWN;
	case PORT_NODEEXISTS:
	case PORT_NOTEMPTY:
	case PORT_REFUSED:
		break;
	}
	return ELECTOR_REFUSED;
}

uint64_t contest_watch_cookie(const struct contest *c, enum elector_op op)
{
	return ((uint64_t)c->index + 1) << 8 | (uint64_t)op;
}

/* A survey sets no watch: its place among the cookies is free. */
uint64_t contest_bell_cookie(const struct contest *c)
{
	return contest_watch_cookie(c, ELECTOR_OP_SURVEY);
}

bool contest_watch_is_bell(uint64_t cookie, uint32_t *index)
{
	enum elector_op op;

	return contest_watch_decode(cookie, index, &op) && op == ELECTOR_OP_SURVEY;
}

bool contest_watch_decode(uint64_t cookie, uint32_t *index, enum elector_op *op)
{
	uint64_t code = cookie & 0xff;

	if (cookie >> 8 == 0 || cookie >> 8 > UINT32_MAX || code >= ELECTOR_OP_COUNT)
		return false;
	*index = (uint32_t)(cookie >> 8) - 1;
	*op = (enum elector_op)code;
	return true;
}

static void say_lead(struct contest *c, const struct elector_command *command)
{
	const struct tenure_lease *lease = &c->shell->ensemble.session.lease;
	struct message m = {.type = MESSAGE_LEAD, .election = c->index, .token = command->token,
			    .reason = command->reason};

	m.u.lead.lease_start_ns = lease->start_ns;
	m.u.lead.lease_timeout_ns = lease->timeout_ns;
	m.u.lead.previous = c->core.previous;
	upward_put(c->shell, &m);
}

static void say_end(struct contest *c, enum message_type type, const struct elector_command *command)
{
	struct message m = {.type = type, .election = c->index, .token = command->token, .reason = command->reason};

	upward_put(c->shell, &m);
}

static void say_candidate(struct contest *c)
{
	const struct elector_candidate *own = &c->core.own;
	struct message m = {.type = MESSAGE_CANDIDATE, .election = c->index};

	snprintf(m.u.restore.name, sizeof m.u.restore.name, "%s", own->name);
	m.u.restore.czxid = own->czxid;
	m.u.restore.told = c->core.term != 0 && c->core.term == own->czxid;
	upward_put(c->shell, &m);
}

static void say_outlook(struct contest *c)
{
	const struct elector_outlook *outlook = &c->core.outlook;
	const struct tenure_incumbent *incumbent = &outlook->incumbent;
	struct message m = {.type = MESSAGE_LEADER, .election = c->index};

	m.u.leader.known = outlook->known;
	m.u.leader.gone = outlook->gone;
	m.u.leader.paused = outlook->paused;
	m.u.leader.self = incumbent->token != 0 && incumbent->token == c->core.own.czxid &&
			  strcmp(incumbent->member, c->core.config.member) == 0;
	m.u.leader.incumbent = *incumbent;
	m.u.leader.position = (uint32_t)outlook->position;
	m.u.leader.members = (uint32_t)outlook->members;
	upward_put(c->shell, &m);
}

static void say_fence_peer(struct contest *c, const struct elector_command *command)
{
	struct message m = {.type = MESSAGE_FENCE_PEER, .election = c->index, .token = command->token};

	m.u.peer.wanted = command->wanted;
	m.u.peer.incumbent = c->core.outlook.incumbent;
	upward_put(c->shell, &m);
}

/* Our token may not lead: the ensemble has forgotten what this member has seen. */
static void say_regressed(const struct contest *c, const char *text)
{
	const struct elector *core = &c->core;
	int64_t led = core->outlook.incumbent.token;

	log_error(c->config->name, text, "token=%" PRId64 " highest=%" PRId64 " path=%s", core->own.czxid,
		  core->floor_seen > led ? core->floor_seen : led, c->path);
}

static void say_unfenced(const struct contest *c, const char *text)
{
	const struct tenure_incumbent *incumbent = &c->core.outlook.incumbent;
	char quoted[256];

	log_warning(c->config->name, text, "leader=%s leader_token=%" PRId64,
		    log_quote(incumbent->member, quoted, sizeof quoted), incumbent->token);
}

/* Blocked by what passes as a rule: no reason to be worried. */
static bool blocked_for_a_moment(const struct contest *c)
{
	return (c->core.blocker == ELECTOR_BLOCKED_FLOOR && !c->floor.broken) ||
	       c->core.blocker == ELECTOR_BLOCKED_DELAY || c->core.blocker == ELECTOR_BLOCKED_SCORE;
}

static void say_note(const struct contest *c, const struct elector_command *command)
{
	enum log_level level = notes[command->note].level;
	char quoted[256];

	/* Of these znodes the one that cannot be made has been named already. */
	if (command->note == ELECTOR_NOTE_NOAUTH && command->op == ELECTOR_OP_PARENTS)
		return;
	if (command->note == ELECTOR_NOTE_BLOCKED && blocked_for_a_moment(c))
		level = LOG_LEVEL_INFO;
	if (command->note == ELECTOR_NOTE_STEP_BACK || command->note == ELECTOR_NOTE_STEP_BACK_SCORE ||
	    command->note == ELECTOR_NOTE_LEFTOVER)
		level = LOG_LEVEL_INFO;
	if (command->note == ELECTOR_NOTE_TOKEN_REGRESSED)
		say_regressed(c, notes[command->note].text);
	else if (command->note == ELECTOR_NOTE_FENCE_FAILED)
		say_unfenced(c, notes[command->note].text);
	else if (command->note == ELECTOR_NOTE_NOAUTH || command->note == ELECTOR_NOTE_REFUSED)
		log_line(LOG_LEVEL_ERROR, c->config->name, notes[command->note].text,
			 "path=%s request=%s rc=%d error=%s", c->path, op_names[command->op], command->rc,
			 log_quote(port_error_text(command->rc), quoted, sizeof quoted));
	else if (command->subject)
		log_line(level, c->config->name, notes[command->note].text, "subject=%s",
			 log_quote(command->subject, quoted, sizeof quoted));
	else
		log_line(level, c->config->name, notes[command->note].text, "path=%s", c->path);
}

static void perform(struct contest *c, const struct elector_command *command)
{
	switch (command->type) {
	case ELECTOR_DO_REQUEST:
		operations_start(c, command);
		break;
	case ELECTOR_DO_LEAD:
		say_lead(c, command);
		break;
	case ELECTOR_DO_LOST:
		say_end(c, MESSAGE_LOST, command);
		break;
	case ELECTOR_DO_LEFT:
		say_end(c, MESSAGE_LEFT, command);
		break;
	case ELECTOR_DO_CANDIDATE:
		peek_forget(c); /* what was seen of the queue was another candidate's place */
		say_candidate(c);
		break;
	case ELECTOR_DO_OUTLOOK:
		say_outlook(c);
		break;
	case ELECTOR_DO_FENCE_PEER:
		say_fence_peer(c, command);
		break;
	case ELECTOR_DO_NOTE:
		say_note(c, command);
		break;
	}
}

void contest_step(struct contest *c, struct elector_event *event)
{
	struct elector_update update;

	if (c->shell->orphan || !c->shell->upward.started)
		return;
	event->now_ns = instant_now();
	if (getrandom(&event->entropy, sizeof event->entropy, 0) != sizeof event->entropy) {
		log_error(NULL, "no random numbers to be had", "errno=%d", errno);
		shell_leave(ELECTOR_EXIT_FAILED);
	}
	elector_step(&c->core, event, &update);
	for (unsigned i = 0; i < update.count; i++)
		perform(c, &update.commands[i]);
}

void contest_done(struct contest *c, enum elector_op op, uint32_t generation, enum elector_result result, int rc)
{
	struct elector_event event = {.type = ELECTOR_EV_DONE};

	event.u.done = (struct elector_done){.op = op, .generation = generation, .result = result, .rc = rc};
	contest_step(c, &event);
}

void contest_defer(struct contest *c, enum elector_op op, uint32_t generation, enum elector_result result, int rc)
{
	assert(op < ELECTOR_OP_COUNT);
	c->deferred[op] = (struct contest_deferred){
		.waits = true, .generation = generation, .result = result, .rc = rc};
	shell_soon(c->shell);
}

void contest_later(struct contest *c)
{
	for (unsigned op = 0; op < ELECTOR_OP_COUNT; op++) {
		struct contest_deferred failure = c->deferred[op];

		if (!failure.waits)
			continue;
		c->deferred[op].waits = false;
		contest_done(c, (enum elector_op)op, failure.generation, failure.result, failure.rc);
	}
}

void contest_set_state(struct contest *c, const struct message *m)
{
	bool changed = !c->state_known || c->state.u.state.state != m->u.state.state ||
		       c->state.u.state.demoted_token != m->u.state.demoted_token;
	bool scored = m->u.state.score_seq != c->state.u.state.score_seq ||
		      m->u.state.has_score != c->state.u.state.has_score;

	c->state = *m;
	c->state_known = true;
	if (scored)
		member_scored(c);
	else if (changed)
		member_changed(c);
	/* While the lose hook works there is time to get ready what its end will call for. */
	if (changed && m->u.state.state == ROLE_DEMOTING && c->core.term != 0 && c->kept.valid)
		kept_prepare(&c->kept, &(struct tenure_edit){.kind = TENURE_EDIT_CLEAN, .token = c->core.term});
}

void contest_set_floor(struct contest *c, const struct message *m)
{
	struct elector_event event = {.type = ELECTOR_EV_FLOOR};

	c->floor = (struct contest_floor){.known = true, .seen = m->u.floor.seen, .durable = m->u.floor.durable,
					  .broken = m->u.floor.broken};
	forget_floor_changed(c);
	event.u.floor.seen = c->floor.seen;
	/* Of a floor that cannot be trusted nothing is on disk. */
	event.u.floor.durable = c->floor.broken ? 0 : c->floor.durable;
	contest_step(c, &event);
}

void contest_check(struct contest *c)
{
	resign_check(c);
	switchover_check(c);
	recover_check(c);
}

void contest_hung_up(struct contest *c, const struct client *client)
{
	resign_forget(c, client);
	amend_forget(c, client);
	switchover_forget(c, client);
	recover_forget(c, client);
	forget_forget(c, client);
}
