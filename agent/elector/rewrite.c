/* A change to the election record. See rewrite.h. */
#include "elector/rewrite.h"

#include <errno.h>
#include <stdlib.h>

#include "common/control.h"
#include "elector/contest.h"
#include "elector/shell.h"

enum { ATTEMPTS_MAX = 5 };

void rewrite_end(struct rewrite *rewrite)
{
	tenure_document_free(rewrite->document);
	*rewrite = (struct rewrite){.generation = rewrite->generation + 1};
}

static void fail(struct rewrite *rewrite, int status, const char *why)
{
	const struct rewrite_matter *matter = rewrite->matter;
	void *context = rewrite->context;

	rewrite_end(rewrite);
	matter->failed(context, status, why);
}

static void fail_result(struct rewrite *rewrite, enum port_result result)
{
	if (result == PORT_NOAUTH)
		fail(rewrite, EXIT_REFUSED, "no permission in ZooKeeper");
	else if (result == PORT_UNKNOWN)
		fail(rewrite, EXIT_UNREACHABLE, "the connection to ZooKeeper was lost; look again");
	else if (result == PORT_NONODE)
		fail(rewrite, EXIT_TRY_AGAIN, "the election has no znode yet");
	else
		fail(rewrite, EXIT_INTERNAL, "ZooKeeper refuses the request");
}

static void succeed(struct rewrite *rewrite, bool changed)
{
	const struct rewrite_matter *matter = rewrite->matter;
	void *context = rewrite->context;
	struct tenure_election_record record;

	tenure_document_read(rewrite->document, &record);
	rewrite_end(rewrite);
	matter->done(context, &record, changed);
}

static struct request make_request(struct rewrite *rewrite, struct contest *c, request_done *done)
{
	return (struct request){.done = done, .contest = c, .context = rewrite, .generation = rewrite->generation};
}

static bool is_stale(const struct request *request, bool writing)
{
	const struct rewrite *rewrite = request->context;

	return request->generation != rewrite->generation || !rewrite->matter || rewrite->writing != writing;
}

static void read_record(struct rewrite *rewrite, struct contest *c);

static void done_write(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct rewrite *rewrite = request->context;

	(void)shell;
	if (is_stale(request, true))
		return;
	if (reply->u.reply.result == PORT_OK)
		succeed(rewrite, true);
	else if (reply->u.reply.result != PORT_BADVERSION)
		fail_result(rewrite, reply->u.reply.result);
	else if (++rewrite->attempts == ATTEMPTS_MAX)
		fail(rewrite, EXIT_TRY_AGAIN, "the election record changes all the time");
	else
		read_record(rewrite, request->contest);
}

static void write_record(struct rewrite *rewrite, struct contest *c, const struct tenure_edit *edit)
{
	struct request request = make_request(rewrite, c, done_write);
	struct tenure_document *edited;
	char *text;
	size_t size;
	int rc = tenure_document_edit(rewrite->document, edit, &edited, NULL, &text, &size);

	if (rc < 0) {
		fail(rewrite, EXIT_INTERNAL,
		     rc == -EMSGSIZE ? "the election record would be too long" : "the election record cannot be edited");
		return;
	}
	tenure_document_free(rewrite->document);
	rewrite->document = edited;
	rewrite->writing = true;
	rc = ensemble_set(c->shell, &request, c->path, text, size, rewrite->version);
	free(text);
	if (rc < 0)
		fail_result(rewrite, PORT_UNKNOWN);
}

static void record_known(struct rewrite *rewrite, struct contest *c, const struct port_event *reply)
{
	struct tenure_election_record record;
	struct tenure_edit edit = {0};
	int rc;

	tenure_document_free(rewrite->document);
	rc = tenure_document_parse(reply->u.reply.data, reply->u.reply.size, &rewrite->document, &record);
	rewrite->version = reply->u.reply.stat->version;
	if (rc == -ENOMEM) {
		fail(rewrite, EXIT_INTERNAL, "out of memory");
		return;
	}
	if (rc == -EBADMSG || (rc == -ENODATA && rewrite->version > 0)) {
		fail(rewrite, EXIT_REFUSED, "the election record cannot be read; see forget");
		return;
	}
	switch (rewrite->matter->decide(rewrite->context, &record, &edit)) {
	case REWRITE_EDIT:
		write_record(rewrite, c, &edit);
		break;
	case REWRITE_NOTHING:
		succeed(rewrite, false);
		break;
	case REWRITE_REFUSED:
		break;
	}
}

static void done_read(struct shell *shell, const struct request *request, const struct port_event *reply)
{
	struct rewrite *rewrite = request->context;

	(void)shell;
	if (is_stale(request, false))
		return;
	if (reply->u.reply.result == PORT_OK && reply->u.reply.stat)
		record_known(rewrite, request->contest, reply);
	else
		fail_result(rewrite, reply->u.reply.result);
}

static void read_record(struct rewrite *rewrite, struct contest *c)
{
	struct request request = make_request(rewrite, c, done_read);

	rewrite->writing = false;
	if (ensemble_get(c->shell, &request, c->path, 0) < 0)
		fail_result(rewrite, PORT_UNKNOWN);
}

void rewrite_start(struct rewrite *rewrite, struct contest *c, const struct rewrite_matter *matter, void *context)
{
	rewrite_end(rewrite);
	rewrite->matter = matter;
	rewrite->context = context;
	if (ensemble_connected(c->shell))
		read_record(rewrite, c);
	else
		fail(rewrite, EXIT_UNREACHABLE, "not connected to ZooKeeper");
}
