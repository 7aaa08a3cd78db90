/* The queue of an election with what its members say of themselves. */
#include "ctl/queue_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/output.h"
#include "tenure/queue.h"

enum {
	GUID_LENGTH = TENURE_GUID_SIZE - 1,
	AGENT_LENGTH = 18, /* characters of a guid that its agent's are all alike in */
	NO_RECORD = -1,
	NAME_MAX_SIZE = 256, /* longer names of znodes are passed over: TARGET_PATH_SIZE is made for it */
};

/* One name in the queue. */
struct queued {
	const char *name;
	struct tenure_candidate_name parsed;
	int64_t place; /* order in the queue */
};

/* Everything that is read for one listing. */
struct listing {
	struct reader_item folders[2]; /* the queue and the members */
	struct queued *queue;
	size_t queued, shown; /* candidates, and those that are looked at */
	size_t strangers;
	struct reader_item *candidates; /* `shown` of them */
	int *records;			/* index in `members` of each candidate's record, or NO_RECORD */
	struct reader_item *members;	/* those in the queue first, then `beside` others */
	size_t member_count, beside;
	size_t left_out;
};

static int by_place(const void *a, const void *b)
{
	const struct queued *x = a, *y = b;

	return x->place < y->place ? -1 : x->place > y->place;
}

/* The sequence wraps; as distances from any living candidate, the numbers have a total order. */
static int sort_queue(struct listing *l)
{
	const struct reader_item *folder = &l->folders[0];

	l->queue = calloc(folder->name_count + 1, sizeof(*l->queue));
	if (l->queue == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < folder->name_count; i++) {
		struct queued *q = &l->queue[l->queued];

		q->name = folder->names[i];
		if (strlen(q->name) >= NAME_MAX_SIZE || tenure_queue_parse(q->name, &q->parsed) < 0) {
			l->strangers++;
			continue;
		}
		q->place = (int32_t)((uint32_t)q->parsed.sequence - (uint32_t)l->queue[0].parsed.sequence);
		l->queued++;
	}
	qsort(l->queue, l->queued, sizeof(*l->queue), by_place);
	l->shown = l->queued < QUEUE_LIST_MAX ? l->queued : QUEUE_LIST_MAX;
	l->left_out = l->queued - l->shown;
	return 0;
}

static void set_path(struct reader_item *item, const char *path, const char *folder, const char *name)
{
	snprintf(item->path, sizeof(item->path), "%s/%s%s%s", path, folder, name[0] != '\0' ? "/" : "", name);
}

/* Whether ITEM has what was asked for; a folder or znode that is not there is as good as an empty one. */
static int judge(const struct reader_item *item)
{
	if (item->result == PORT_OK || item->result == PORT_NONODE)
		return 0;
	complain("%s: %s", item->path, port_error_text(item->rc));
	return item->result == PORT_NOAUTH ? -EACCES : -EIO;
}

static int read_all(struct reader *reader, struct reader_item *items, size_t count)
{
	int rc = reader_read(reader, items, count);

	for (size_t i = 0; i < count && rc == 0; i++)
		rc = judge(&items[i]);
	return rc;
}

/* Whether a znode among the members is MEMBER's: "<member>-<guid>". */
static bool is_of_member(const char *name, const char *member)
{
	size_t length = strlen(member);

	return strncmp(name, member, length) == 0 && name[length] == '-' &&
	       strlen(name + length + 1) == GUID_LENGTH;
}

/* Index of the candidate's record among the names of the members, its own agent's first; or NO_RECORD. */
static int find_record(const struct reader_item *folder, const char *member, const char *guid)
{
	int found = NO_RECORD;

	for (size_t i = 0; i < folder->name_count; i++) {
		const char *name = folder->names[i];

		if (!is_of_member(name, member))
			continue;
		found = (int)i;
		if (guid[0] != '\0' && strncmp(name + strlen(member) + 1, guid, AGENT_LENGTH) == 0)
			break;
	}
	return found;
}

static void add_member(struct listing *l, const char *path, const char *name)
{
	set_path(&l->members[l->member_count++], path, "members", name);
}

/* Chooses the records to read: those of the candidates, and others while nobody was left out. */
static int choose_members(struct listing *l, const char *path)
{
	const struct reader_item *folder = &l->folders[1];
	bool *used = calloc(folder->name_count + 1, sizeof(*used));

	l->records = calloc(l->shown + 1, sizeof(*l->records));
	l->members = calloc(l->shown + QUEUE_LIST_MAX, sizeof(*l->members));
	if (used == NULL || l->records == NULL || l->members == NULL) {
		free(used);
		return -ENOMEM;
	}
	for (size_t i = 0; i < l->shown; i++) {
		const struct reader_item *item = &l->candidates[i];
		char member[TENURE_MEMBER_SIZE], address[TENURE_ADDRESS_SIZE];
		int found = NO_RECORD;

		if (item->data != NULL &&
		    tenure_candidate_decode(item->data, item->size, member, address) == 0)
			found = find_record(folder, member, l->queue[i].parsed.guid);
		l->records[i] = NO_RECORD;
		if (found == NO_RECORD)
			continue;
		used[found] = true;
		l->records[i] = (int)l->member_count;
		add_member(l, path, folder->names[found]);
	}
	for (size_t i = 0; i < folder->name_count && l->shown == l->queued; i++) {
		if (used[i])
			continue;
		if (l->beside == QUEUE_LIST_MAX || strlen(folder->names[i]) >= NAME_MAX_SIZE) {
			l->left_out++;
			continue;
		}
		l->beside++;
		add_member(l, path, folder->names[i]);
	}
	free(used);
	return 0;
}

static json_t *text_or_null(const char *text)
{
	return text[0] != '\0' ? json_string(text) : json_null();
}

/* A candidate's row. POSITION counts those that are still there. */
static json_t *describe_candidate(const struct listing *l, size_t i, size_t position,
				  const struct tenure_election_record *record)
{
	const struct reader_item *item = &l->candidates[i];
	const struct tenure_incumbent *incumbent = &record->incumbent;
	char member[TENURE_MEMBER_SIZE] = "", address[TENURE_ADDRESS_SIZE] = "", token[24];
	struct tenure_member_record m = {.state = ""};
	bool leads = item->stat.czxid == incumbent->token && incumbent->clean == TENURE_CLEAN_NO;

	if (item->data != NULL)
		tenure_candidate_decode(item->data, item->size, member, address);
	if (l->records[i] != NO_RECORD && l->members[l->records[i]].data != NULL)
		tenure_member_decode(l->members[l->records[i]].data, l->members[l->records[i]].size, &m);
	snprintf(token, sizeof(token), "%" PRId64, item->stat.czxid);
	return json_pack("{s:I, s:b, s:o, s:o, s:s, s:o, s:s}", "position", (json_int_t)position, "leader",
			 leads, "member", text_or_null(member), "address", text_or_null(address), "token",
			 token, "state", text_or_null(m.state), "znode", l->queue[i].name);
}

static json_t *describe_member(const struct reader_item *item)
{
	struct tenure_member_record m = {.state = ""};

	if (item->data == NULL || tenure_member_decode(item->data, item->size, &m) < 0)
		return NULL;
	return json_pack("{s:n, s:b, s:o, s:o, s:n, s:o, s:n}", "position", "leader", 0, "member",
			 text_or_null(m.member), "address", text_or_null(m.address), "token", "state",
			 text_or_null(m.state), "znode");
}

static int describe(const struct listing *l, const struct tenure_election_record *record, json_t *answer)
{
	json_t *candidates = json_array(), *beside = json_array();
	size_t position = 0;

	for (size_t i = 0; i < l->shown; i++)
		if (l->candidates[i].result == PORT_OK)
			json_array_append_new(candidates, describe_candidate(l, i, ++position, record));
	for (size_t i = l->member_count - l->beside; i < l->member_count; i++) {
		json_t *row = describe_member(&l->members[i]);

		if (row != NULL)
			json_array_append_new(beside, row);
	}
	if (json_object_set_new(answer, "candidates", candidates) < 0 ||
	    json_object_set_new(answer, "members", beside) < 0 ||
	    json_object_set_new(answer, "left_out", json_integer((json_int_t)l->left_out)) < 0 ||
	    json_object_set_new(answer, "strangers", json_integer((json_int_t)l->strangers)) < 0)
		return -ENOMEM;
	return 0;
}

static void listing_clear(struct listing *l)
{
	for (size_t i = 0; i < 2; i++)
		reader_item_clear(&l->folders[i]);
	for (size_t i = 0; l->candidates != NULL && i < l->shown; i++)
		reader_item_clear(&l->candidates[i]);
	for (size_t i = 0; i < l->member_count; i++)
		reader_item_clear(&l->members[i]);
	free(l->queue);
	free(l->candidates);
	free(l->records);
	free(l->members);
}

int queue_list(struct reader *reader, const char *path, const struct tenure_election_record *record,
	       json_t *answer)
{
	struct listing l = {.queued = 0};
	int rc;

	set_path(&l.folders[0], path, "queue", "");
	set_path(&l.folders[1], path, "members", "");
	l.folders[0].children = l.folders[1].children = true;
	rc = read_all(reader, l.folders, 2);
	if (rc == 0)
		rc = sort_queue(&l);
	if (rc < 0)
		goto out;
	l.candidates = calloc(l.shown + 1, sizeof(*l.candidates));
	if (l.candidates == NULL) {
		rc = -ENOMEM;
		goto out;
	}
	for (size_t i = 0; i < l.shown; i++)
		set_path(&l.candidates[i], path, "queue", l.queue[i].name);
	rc = read_all(reader, l.candidates, l.shown);
	if (rc == 0)
		rc = choose_members(&l, path);
	if (rc == 0)
		rc = read_all(reader, l.members, l.member_count);
	if (rc == 0)
		rc = describe(&l, record, answer);
out:
	if (rc == -ENOMEM)
		complain("out of memory");
	listing_clear(&l);
	return rc;
}
