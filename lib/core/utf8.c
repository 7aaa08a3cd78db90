/* Well-formed UTF-8. See utf8.h. */
#include "core/utf8.h"

size_t utf8_length(const unsigned char *s, size_t left)
{
	/* The second byte's range is narrower where a wider one would allow overlong forms or surrogates. */
	unsigned char low = 0x80, high = 0xbf;
	size_t length;

	if (left == 0)
		return 0;
	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	length = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (left < length || s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++) {
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	}
	return length;
}
