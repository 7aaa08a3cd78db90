/* What the fuzz targets share. A broken property is a failed assertion. */
#ifndef TENURE_FUZZ_H
#define TENURE_FUZZ_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"

/* The target: looks at one input of a parser. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A terminated copy, of which the caller frees exactly its size, so that reading past it is noticed. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	assert(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* Whether the SIZE bytes at TEXT hold a terminated text of well-formed UTF-8 without ASCII control characters. */
static inline bool fuzz_is_clean(const char *text, size_t size)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t left = strnlen(text, size);

	if (left == size)
		return false;
	for (size_t length; left > 0; s += length, left -= length) {
		length = utf8_length(s, left);
		if (length == 0 || *s < 0x20 || *s == 0x7f)
			return false;
	}
	return true;
}

#endif
