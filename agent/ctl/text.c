/* Text for a terminal: made harmless, measured and compared. */
#include "ctl/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Length of the well-formed UTF-8 sequence at S, of at most N bytes, and its code point; 0: malformed. */
static size_t utf8_decode(const unsigned char *s, size_t n, uint32_t *point)
{
	static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length;

	if (s[0] < 0x80) {
		*point = s[0];
		return 1;
	}
	if ((s[0] & 0xe0) == 0xc0)
		length = 2;
	else if ((s[0] & 0xf0) == 0xe0)
		length = 3;
	else if ((s[0] & 0xf8) == 0xf0)
		length = 4;
	else
		return 0;
	if (length > n)
		return 0;
	*point = s[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*point = *point << 6 | (s[i] & 0x3fu);
	}
	if (*point < smallest[length] || *point > 0x10ffff || (*point >= 0xd800 && *point <= 0xdfff))
		return 0;
	return length;
}

/* Whether a terminal shows the character as itself, where it stands. */
static bool is_plain(uint32_t point)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{0x00, 0x1f},	  {0x7f, 0x9f},	    {0xad, 0xad},     {0x61c, 0x61c},
		{0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfe00, 0xfe0f},
		{0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe0fff},
	};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (point >= hidden[i].first && point <= hidden[i].last)
			return false;
	return true;
}

size_t text_clean(const char *text, size_t size, char *out, size_t out_size)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *s = (const unsigned char *)text;
	size_t used = 0;

	for (size_t i = 0; i < size;) {
		uint32_t point = 0;
		char piece[4];
		size_t taken = utf8_decode(s + i, size - i, &point), length;

		if (taken == 1 && point == '\\') {
			memcpy(piece, "\\\\", length = 2);
		} else if (taken != 0 && is_plain(point)) {
			memcpy(piece, s + i, length = taken);
		} else {
			piece[0] = '\\';
			piece[1] = 'x';
			piece[2] = digits[s[i] >> 4];
			piece[3] = digits[s[i] & 15];
			length = 4;
			taken = 1; /* the rest of a hidden character follows byte by byte: no lead, so
				      malformed */
		}
		if (length >= out_size - used)
			break;
		memcpy(out + used, piece, length);
		used += length;
		i += taken;
	}
	out[used] = '\0';
	return used;
}

size_t text_width(const char *text)
{
	size_t width = 0;

	for (; *text != '\0'; text++)
		if (((unsigned char)*text & 0xc0) != 0x80)
			width++;
	return width;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t text_distance(const char *a, const char *b)
{
	size_t rows[3][TEXT_DISTANCE_MAX + 1]; /* two rows back, the last one, this one */
	size_t na = strlen(a), nb = strlen(b);

	if (na > TEXT_DISTANCE_MAX || nb > TEXT_DISTANCE_MAX)
		return TEXT_DISTANCE_MAX;
	memset(rows, 0, sizeof(rows));
	for (size_t j = 0; j <= nb; j++)
		rows[2][j] = j;
	for (size_t i = 1; i <= na; i++) {
		memcpy(rows[0], rows[1], sizeof(rows[0]));
		memcpy(rows[1], rows[2], sizeof(rows[1]));
		rows[2][0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t best = smaller(rows[1][j], rows[2][j - 1]) + 1;

			best = smaller(best, rows[1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = smaller(best, rows[0][j - 2] + 1);
			rows[2][j] = best;
		}
	}
	return rows[2][nb];
}
