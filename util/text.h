/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A text that is put together from pieces, only for messages. Text that does not fit is cut off, so
 * no caller checks for errors. Zero-initialise: struct text t = {}.
 */
#ifndef UTIL_TEXT_H
#define UTIL_TEXT_H

#include "util/util.h"

struct text {
	size_t length;
	char chars[640];
};

void text_add(struct text *text, const char *fmt, ...) _printf_(2, 3);

/* Append text after @separator. An empty text gets no separator. */
void text_join(struct text *text, const char *separator, const char *fmt, ...) _printf_(3, 4);

/* Replace everything but printable ASCII by '?', because a name must not control a terminal. */
void text_make_printable(char *text);

#endif
