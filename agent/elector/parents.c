/* The persistent znodes of an election, from the chroot down, and after them our member record. */
#include "elector/parents.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "elector/contest.h"
#include "elector/shell.h"

static int add_path(struct parents *p, const char *start, size_t length, const char *tail)
{
	char *path;

	if (p->count == PARENTS_MAX) {
		p->too_deep = true;
		return 0;
	}
	if (asprintf(&path, "%.*s%s", (int)length, start, tail) < 0)
		return -ENOMEM;
	p->paths[p->count++] = path;
	return 0;
}

int parents_init(struct parents *p, const char *chroot, const char *path)
{
	char *whole;
	size_t length;
	int rc = 0;

	*p = (struct parents){0};
	if (asprintf(&whole, "%s%s", chroot, path) < 0)
		return -ENOMEM;
	length = strlen(whole);
	if (length > 0 && whole[length - 1] == '/')
		whole[--length] = '\0';
	for (size_t i = 1; i <= length && rc == 0; i++)
		if (whole[i] == '/' || whole[i] == '\0')
			rc = add_path(p, whole, i, "");
	if (rc == 0)
		rc = add_path(p, whole, length, "/queue");
	if (rc == 0)
		rc = add_path(p, whole, length, "/members");
	free(whole);
	return rc;
}

void parents_finish(struct contest *c, enum elector_result result, int rc)
{
	struct parents *p = &c->parents;

	p->running = false;
	if (result == ELECTOR_OK)
		p->said = false;
	if (!p->reports)
		return;
	p->reports = false;
	contest_defer(c, ELECTOR_OP_PARENTS, p->generation, result, rc);
}

void parents_complain(struct contest *c, const char *path, enum elector_result result, int rc)
{
	char quoted[1024];

	if (c->parents.said)
		return;
	c->parents.said = true;
	log_error(c->config->name,
		  result == ELECTOR_NOAUTH ? "no permission to create a znode" : "cannot create a znode",
		  "path=%s rc=%d error=\"%s\"", log_quote(path, quoted, sizeof quoted), rc, port_error_text(rc));
}

static void look(struct contest *c);

/* The znodes are answered for one by one; the first that is not there decides. */
static void conclude(struct contest *c)
{
	struct parents *p = &c->parents;

	for (unsigned i = 0; i < p->count; i++) {
		if (p->results[i] == ELECTOR_OK)
			continue;
		if (p->results[i] == ELECTOR_NOAUTH || p->results[i] == ELECTOR_REFUSED)
			parents_complain(c, p->paths[i], p->results[i], p->rcs[i]);
		/* Gone again between two of our creates: it is made anew in a while. */
		parents_finish(c, p->results[i] == ELECTOR_NONODE ? ELECTOR_UNKNOWN : p->results[i], p->rcs[i]);
		return;
	}
	member_make(c);
}

static void step(struct contest *c)
{
	struct parents *p = &c->parents;

	if (p->outstanding > 0)
		return;
	if (!p->looked)
		look(c);
	if (p->outstanding == 0)
		conclude(c);
}

static void done_look(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct parents *p = &request->contest->parents;

	(void)shell;
	p->outstanding--;
	switch (reply->u.reply.result) {
	case PORT_OK:
	case PORT_NOAUTH: /* it may not be read, so it is there */
		p->results[request->index] = ELECTOR_OK;
		break;
	case PORT_NONODE:
		break;
	default:
		p->results[request->index] = contest_result(reply->u.reply.result);
		p->rcs[request->index] = reply->u.reply.rc;
		break;
	}
	step(request->contest);
}

/* Permission is asked for before existence: a refused create says nothing about what is there. */
static void look(struct contest *c)
{
	struct parents *p = &c->parents;
	struct request request = {.done = done_look, .contest = c};

	p->looked = true;
	for (unsigned i = 0; i < p->count; i++) {
		if (p->results[i] != ELECTOR_NOAUTH)
			continue;
		request.index = i;
		if (ensemble_get(c->shell, &request, p->paths[i], 0) == 0)
			p->outstanding++;
		else
			p->results[i] = ELECTOR_UNKNOWN;
	}
}

static void done_create(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct parents *p = &request->contest->parents;

	(void)shell;
	p->outstanding--;
	p->rcs[request->index] = reply->u.reply.rc;
	p->results[request->index] = contest_result(reply->u.reply.result);
	if (reply->u.reply.result == PORT_NODEEXISTS)
		p->results[request->index] = ELECTOR_OK;
	step(request->contest);
}

/* All at once: one connection keeps their order. */
static void create(struct contest *c)
{
	struct parents *p = &c->parents;
	struct request request = {.done = done_create, .contest = c};

	p->running = true;
	p->looked = false;
	p->outstanding = 0;
	for (unsigned i = 0; i < p->count; i++) {
		request.index = i;
		p->results[i] = ELECTOR_OK;
		p->rcs[i] = ensemble_create(c->shell, &request, p->paths[i], "", 0, false, false);
		if (p->rcs[i] < 0)
			p->results[i] = p->rcs[i] == -ENAMETOOLONG || p->rcs[i] == -EINVAL ? ELECTOR_REFUSED :
											     ELECTOR_UNKNOWN;
		else
			p->outstanding++;
	}
	if (p->outstanding == 0)
		conclude(c);
}

void parents_start(struct contest *c, uint32_t generation)
{
	struct parents *p = &c->parents;

	if (p->too_deep) {
		log_error(c->config->name, "the election's path has too many parts", "path=%s most=%d", c->path,
			  PARENTS_MAX - 2);
		contest_defer(c, ELECTOR_OP_PARENTS, generation, ELECTOR_REFUSED, -ENAMETOOLONG);
		return;
	}
	p->reports = true;
	p->generation = generation;
	if (!p->running)
		create(c);
}

void parents_repair(struct contest *c)
{
	if (!c->parents.running && !c->parents.too_deep)
		create(c);
}
