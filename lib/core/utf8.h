/* Well-formed UTF-8, told apart from bytes that only look like it. Pure. */
#ifndef TENURE_CORE_UTF8_H
#define TENURE_CORE_UTF8_H

#include <stddef.h>

/*
 * Length of the well-formed UTF-8 sequence at S, LEFT bytes before the end; 0 when there is none. Over-long forms,
 * surrogates and what lies beyond U+10FFFF are none (The Unicode Standard, table 3-7).
 */
size_t utf8_length(const unsigned char *s, size_t left);

#endif
