/* Text for a terminal: made harmless, measured and compared. Pure; no allocation. */
#ifndef TENURE_CTL_TEXT_H
#define TENURE_CTL_TEXT_H

#include <stddef.h>

enum { TEXT_DISTANCE_MAX = 32 }; /* longest word that is compared */

/*
 * Copies SIZE bytes of TEXT to OUT so that no terminal can take them for anything but text: control
 * characters, invisible and direction-changing ones and bad UTF-8 as \xNN, a backslash doubled. What does not
 * fit is cut, between characters. OUT is terminated; OUT_SIZE is at least 1. Returns the bytes written.
 */
size_t text_clean(const char *text, size_t size, char *out, size_t out_size);

/* Characters of a text that text_clean has written. */
size_t text_width(const char *text);

/* Letters to insert, drop, change or swap to turn A into B; TEXT_DISTANCE_MAX for words longer than that. */
size_t text_distance(const char *a, const char *b);

#endif
