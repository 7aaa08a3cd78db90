/* Text of others on its way to a terminal, and the distance between two words: the input's first two lines. */
#include "fuzz.h"

#include "ctl/text.h"

/* Undoes text_clean: "\\" and "\xNN". Returns the bytes written to OUT. */
static size_t unescape(const char *text, char *out)
{
	size_t used = 0;

	while (*text != '\0') {
		if (*text != '\\') {
			out[used++] = *text++;
		} else if (text[1] == '\\') {
			out[used++] = '\\';
			text += 2;
		} else {
			char digits[3] = {text[2], text[3], '\0'};

			assert(text[1] == 'x' && strspn(digits, "0123456789abcdef") == 2);
			out[used++] = (char)strtoul(digits, NULL, 16);
			text += 4;
		}
	}
	return used;
}

/* Nothing is lost, and what is cut is the beginning of the whole. */
static void check_clean(const char *bytes, size_t size)
{
	size_t room = 4 * size + 1;
	char *whole = malloc(room), *back = malloc(room);
	size_t used = text_clean(bytes, size, whole, room);

	assert(used == strlen(whole) && fuzz_is_clean(whole, room));
	assert(text_width(whole) <= used);
	assert(unescape(whole, back) == size && (size == 0 || memcmp(back, bytes, size) == 0));
	for (size_t out_size = 1; out_size <= 9; out_size += 4) {
		char *cut = malloc(out_size);
		size_t n = text_clean(bytes, size, cut, out_size);

		assert(n < out_size && fuzz_is_clean(cut, out_size) && strncmp(cut, whole, n) == 0);
		assert(n == used || n + 4 >= out_size); /* no more is cut than one piece needs */
		unescape(cut, back);
		free(cut);
	}
	free(whole);
	free(back);
}

static void check_distance(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b), longer = na > nb ? na : nb;
	size_t distance = text_distance(a, b);

	assert(distance == text_distance(b, a) && distance <= TEXT_DISTANCE_MAX);
	if (longer <= TEXT_DISTANCE_MAX) {
		assert(distance <= longer && distance >= longer - (na < nb ? na : nb));
		assert((distance == 0) == (strcmp(a, b) == 0));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *a = fuzz_text(data, size), *b;

	check_clean((const char *)data, size);
	b = a + strcspn(a, "\n");
	if (*b == '\n') {
		*b++ = '\0';
		b[strcspn(b, "\n")] = '\0';
	}
	check_distance(a, b);
	free(a);
	return 0;
}
