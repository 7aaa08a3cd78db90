/* An operator's recover: a service that could not be put out of office is tried again. */
#include "elector/recover.h"

#include <inttypes.h>

#include "common/control.h"
#include "common/log.h"
#include "core/role.h"
#include "elector/contest.h"
#include "elector/control.h"
#include "elector/shell.h"

static bool in_panic(const struct contest *c)
{
	return c->state_known && c->state.u.state.state == ROLE_PANIC;
}

static void end(struct contest *c)
{
	c->recover.active = false;
	leaving_end(&c->recover.leaving);
}

static void refuse(struct contest *c, int status, const char *text)
{
	client_refuse(c->recover.leaving.client, status, "%s", text);
	end(c);
}

static void late(struct contest *c)
{
	refuse(c, EXIT_TRY_AGAIN, "leaving office takes longer than the hooks' limits allow; see status");
}

void recover_start(struct contest *c, struct client *client)
{
	struct message m = {.type = MESSAGE_RECOVER, .election = c->index};

	if (c->recover.active) {
		client_refuse(client, EXIT_TRY_AGAIN, "a recover is under way");
		return;
	}
	if (!in_panic(c)) {
		client_refuse(client, EXIT_NO, "not in panic");
		return;
	}
	if (leaving_begin(&c->recover.leaving, c, client, c->state.token, late) < 0) {
		client_refuse(client, EXIT_INTERNAL, "out of memory");
		return;
	}
	c->recover.active = true;
	c->recover.transitions = c->state.u.state.transitions;
	c->recover.recovers = c->state.u.state.recovers;
	m.token = c->state.token;
	log_info(c->config->name, "asked to recover", "token=%" PRId64, m.token);
	upward_put(c->shell, &m);
}

void recover_check(struct contest *c)
{
	struct leaving *leaving = &c->recover.leaving;

	if (!c->recover.active)
		return;
	leaving_progress(leaving);
	if (in_panic(c) && c->state.u.state.transitions != c->recover.transitions) {
		refuse(c, EXIT_INTERNAL, "lose has failed again: see the log");
	} else if (in_panic(c) && c->state.u.state.recovers != c->recover.recovers) {
		/* The answer of a supervisor that stays where it is. */
		refuse(c, EXIT_TRY_AGAIN, "a hook that cannot be killed still runs: see the log");
	} else if (!leaving_in_office(leaving)) {
		client_reply(leaving->client, leaving_result(leaving));
		end(c);
	}
}

void recover_forget(struct contest *c, const struct client *client)
{
	if (c->recover.leaving.client == client)
		c->recover.leaving.client = NULL;
}
