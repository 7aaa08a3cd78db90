/* The member record, and the data of a candidate's znode: what is read is written so that it reads the same. */
#include "fuzz.h"

#include <errno.h>

#include "tenure/record.h"

#define CLEAN(array) assert(fuzz_is_clean(array, sizeof(array)))

static void check_member(const struct tenure_member_record *r)
{
	CLEAN(r->member);
	CLEAN(r->address);
	CLEAN(r->host);
	CLEAN(r->boot_id);
	CLEAN(r->state);
	assert(r->member[0] != '\0' && r->pid >= 0);
	assert(r->demoted_token >= 0 && r->ready_for >= 0 && r->score_seq >= 0);
}

static void check_same_member(const struct tenure_member_record *a, const struct tenure_member_record *b)
{
	assert(strcmp(a->member, b->member) == 0 && strcmp(a->address, b->address) == 0);
	assert(strcmp(a->host, b->host) == 0 && strcmp(a->boot_id, b->boot_id) == 0);
	assert(strcmp(a->state, b->state) == 0 && a->pid == b->pid);
	assert(a->demoted_token == b->demoted_token && a->ready_for == b->ready_for);
	assert(a->has_score == b->has_score && a->score == b->score && a->score_seq == b->score_seq);
}

static void fuzz_member(const char *bytes, size_t size)
{
	struct tenure_member_record first = {.pid = -7}, second;
	char *text;
	size_t length;
	int rc = tenure_member_decode(bytes, size, &first);

	if (rc < 0) {
		assert(rc == -EBADMSG && first.pid == -7);
		return;
	}
	check_member(&first);
	assert(tenure_member_encode(&first, &text, &length) == 0 && length == strlen(text));
	assert(tenure_member_decode(text, length, &second) == 0);
	check_same_member(&first, &second);
	free(text);
}

static void fuzz_candidate(const char *bytes, size_t size)
{
	char member[2][TENURE_MEMBER_SIZE] = {"untouched"}, address[2][TENURE_ADDRESS_SIZE] = {"untouched"}, *text;
	size_t length;
	int rc = tenure_candidate_decode(bytes, size, member[0], address[0]);

	if (rc < 0) {
		assert(rc == -EBADMSG && strcmp(member[0], "untouched") == 0 &&
		       strcmp(address[0], "untouched") == 0);
		return;
	}
	CLEAN(member[0]);
	CLEAN(address[0]);
	assert(member[0][0] != '\0');
	assert(tenure_candidate_encode(member[0], address[0], &text, &length) == 0 && length == strlen(text));
	assert(tenure_candidate_decode(text, length, member[1], address[1]) == 0);
	assert(strcmp(member[0], member[1]) == 0 && strcmp(address[0], address[1]) == 0);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_member((const char *)data, size);
	fuzz_candidate((const char *)data, size);
	return 0;
}
