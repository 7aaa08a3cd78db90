/* Our member record of one election, which also carries the heartbeats. */
#include "elector/member.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/role.h"
#include "elector/bell.h"
#include "elector/contest.h"
#include "elector/shell.h"

enum { MEMBER_ATTEMPTS = 3 };

/* It stays the same for as long as we run, and heartbeats are frequent. */
static const char *boot_id(void)
{
	static char id[TENURE_GUID_SIZE];
	FILE *file;

	if (id[0])
		return id;
	file = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (!file || !fgets(id, sizeof id, file))
		id[0] = '\0';
	if (file)
		fclose(file);
	return id;
}

static int encode(const struct contest *c, char **out, size_t *size)
{
	struct tenure_member_record record = {.pid = c->shell->upward.supervisor_pid};
	uint32_t state = c->state_known ? c->state.u.state.state : ROLE_STARTING;

	snprintf(record.member, sizeof record.member, "%s", c->core.config.member);
	snprintf(record.address, sizeof record.address, "%s", c->config->address ? c->config->address : "");
	if (gethostname(record.host, sizeof record.host - 1) < 0)
		record.host[0] = '\0';
	snprintf(record.boot_id, sizeof record.boot_id, "%s", boot_id());
	snprintf(record.state, sizeof record.state, "%s",
		 state < ROLE_STATE_COUNT ? role_state_name((enum role_state)state) : "");
	record.ready_for = c->member.ready_for;
	if (c->state_known) {
		record.demoted_token = c->state.u.state.demoted_token;
		record.has_score = c->state.u.state.has_score;
		record.score = record.has_score ? c->state.u.state.score : 0;
		record.score_seq = c->state.u.state.score_seq;
	}
	return tenure_member_encode(&record, out, size);
}

static char *choose_path(const struct contest *c, uint64_t attempt)
{
	char guid[TENURE_GUID_SIZE];
	char *path;

	tenure_queue_guid(c->shell->upward.agent, attempt, guid);
	if (asprintf(&path, "%s/%s-%s", c->member.folder, c->core.config.member, guid) < 0)
		return NULL;
	return path;
}

static void made(struct contest *c)
{
	c->member.known = true;
	c->member.attempts = 0;
	if (c->member.dirty)
		member_changed(c);
	bell_listen(c);
	parents_finish(c, ELECTOR_OK, 0);
}

/* The name is another session's, perhaps of our own past, and not ours to delete: another name. */
static void choose_anew(struct contest *c)
{
	uint64_t entropy;

	free(c->member.path);
	c->member.path = NULL;
	if (++c->member.attempts >= MEMBER_ATTEMPTS) {
		c->member.attempts = 0;
		parents_finish(c, ELECTOR_UNKNOWN, 0);
		return;
	}
	if (getrandom(&entropy, sizeof entropy, 0) == sizeof entropy)
		c->member.path = choose_path(c, entropy | 1);
	member_make(c);
}

static void done_look(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct contest *c = request->contest;

	if (!c->member.path)
		parents_finish(c, ELECTOR_UNKNOWN, reply->u.reply.rc); /* the session ended meanwhile */
	else if (reply->u.reply.result == PORT_OK && reply->u.reply.stat &&
	    reply->u.reply.stat->ephemeral_owner == shell->ensemble.session.credentials.id) {
		/* An earlier process of this session wrote it, and knew less. */
		c->member.dirty = true;
		made(c);
	} else if (reply->u.reply.result == PORT_UNKNOWN) {
		parents_finish(c, ELECTOR_UNKNOWN, reply->u.reply.rc);
	} else {
		choose_anew(c);
	}
}

static void done_create(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct contest *c = request->contest;
	struct request look = {.done = done_look, .contest = c};
	enum elector_result result = contest_result(reply->u.reply.result);

	if (!c->member.path) {
		parents_finish(c, ELECTOR_UNKNOWN, reply->u.reply.rc); /* the session ended meanwhile */
		return;
	}
	if (reply->u.reply.result == PORT_OK) {
		made(c);
		return;
	}
	if (reply->u.reply.result == PORT_NODEEXISTS) {
		int rc = ensemble_get(shell, &look, c->member.path, 0);

		if (rc < 0)
			parents_finish(c, ELECTOR_UNKNOWN, rc);
		return;
	}
	if (result == ELECTOR_NOAUTH || result == ELECTOR_REFUSED)
		parents_complain(c, c->member.path, result, reply->u.reply.rc);
	parents_finish(c, result == ELECTOR_NONODE ? ELECTOR_UNKNOWN : result, reply->u.reply.rc);
}

void member_make(struct contest *c)
{
	struct request request = {.done = done_create, .contest = c};
	char *data = NULL;
	size_t size = 0;
	int rc;

	c->member.known = false;
	/* The same for every elector of this session, so that the next one finds it; another session's may still be there. */
	if (!c->member.path)
		c->member.path = choose_path(c, (uint64_t)c->shell->ensemble.session.credentials.id);
	rc = c->member.path ? encode(c, &data, &size) : -ENOMEM;
	if (rc == 0) {
		c->member.dirty = c->member.urgent = false;
		rc = ensemble_create(c->shell, &request, c->member.path, data, size, true, false);
	}
	free(data);
	if (rc < 0)
		parents_finish(c, rc == -ENAMETOOLONG || rc == -EINVAL ? ELECTOR_REFUSED : ELECTOR_UNKNOWN, rc);
}

static void done_set(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct contest *c = request->contest;

	(void)shell;
	c->member.out = false;
	if (reply->u.reply.result == PORT_OK) {
		if (c->member.dirty)
			member_changed(c);
		return;
	}
	c->member.dirty = true;
	if (reply->u.reply.result == PORT_NONODE && c->member.known) {
		c->member.known = false;
		parents_repair(c);
	}
}

static int write_record(struct contest *c, bool heartbeat)
{
	struct request request = {.done = done_set, .contest = c, .heartbeat = heartbeat};
	char *data = NULL;
	size_t size = 0;
	int rc = encode(c, &data, &size);

	if (rc == 0)
		rc = ensemble_set(c->shell, &request, c->member.path, data, size, -1);
	free(data);
	if (rc == 0) {
		c->member.dirty = false;
		c->member.urgent = false;
		c->member.out = true;
	}
	return rc;
}

void member_changed(struct contest *c)
{
	bool waits = c->shell->ensemble.pace && !c->member.urgent;

	c->member.dirty = true;
	if (c->member.known && !c->member.out && !waits && ensemble_connected(c->shell))
		write_record(c, false);
}

void member_scored(struct contest *c)
{
	c->member.urgent = true;
	member_changed(c);
}

void member_answers(struct contest *c, int64_t request)
{
	c->member.ready_for = request;
	c->member.urgent = true;
	member_changed(c);
}

void member_gone(struct contest *c)
{
	c->member.known = false;
	c->member.attempts = 0;
	free(c->member.path);
	c->member.path = NULL;
}

int member_heartbeat(struct shell *shell)
{
	struct contest *next = NULL;

	for (size_t i = 1; i <= shell->contest_count; i++) {
		struct contest *c = &shell->contests[(shell->ensemble.heartbeat_turn + i) % shell->contest_count];

		if (!c->member.known)
			continue;
		if (!next || (c->member.dirty && !next->member.dirty))
			next = c;
	}
	if (!next)
		return -ENOENT;
	shell->ensemble.heartbeat_turn = next->index;
	return write_record(next, true);
}
