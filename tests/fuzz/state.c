/* The state files: a session and a term. As they are, and with the checksum that no fuzzer would find. */
#include "fuzz.h"

#include <inttypes.h>
#include <stdio.h>

#include "supervisor/saved.h"

static void check_session(const char *text, size_t size)
{
	struct saved_session first, second;
	char again[SAVED_SIZE];

	memset(&first, 0xa5, sizeof(first));
	second = first;
	if (saved_session_read(text, size, &first) < 0) {
		assert(memcmp(&first, &second, sizeof(first)) == 0);
		return;
	}
	assert(strlen(first.boot) < sizeof(first.boot) && strlen(first.member) < sizeof(first.member));
	assert(first.supervisor.pid > 0 && first.lease_start_ns >= 0);
	assert(saved_session_read(again, saved_session_write(&first, again), &second) == 0);
	assert(memcmp(&first, &second, sizeof(first)) == 0);
}

static void check_term(const char *text, size_t size)
{
	struct saved_term first, second;
	char again[SAVED_SIZE];

	memset(&first, 0xa5, sizeof(first));
	second = first;
	if (saved_term_read(text, size, &first) < 0) {
		assert(memcmp(&first, &second, sizeof(first)) == 0);
		return;
	}
	assert(first.role.state < ROLE_STATE_COUNT && first.role.reason < TENURE_REASON_COUNT);
	assert(first.hook.pid >= 0 && first.hook.pid != 1 && first.role.token >= 0);
	assert(strlen(first.candidate) < sizeof(first.candidate));
	assert(saved_term_read(again, saved_term_write(&first, again), &second) == 0);
	assert(memcmp(&first, &second, sizeof(first)) == 0);
}

/* TEXT, which has room for it, with its checksum. Returns its new size. */
static size_t seal(char *text, size_t size)
{
	return size + (size_t)sprintf(text + size, "checksum %016" PRIx64 "\n", saved_digest(0, text, size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 64);

	assert(text);
	memcpy(text, data, size);
	check_session(text, size);
	check_term(text, size);
	size = seal(text, size);
	check_session(text, size);
	check_term(text, size);
	free(text);
	return 0;
}
