/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A sentence put together piece by piece, for messages only: what does not fit is cut off, so no
 * caller checks for errors. Zero-initialise: struct text t = {}.
 */
#ifndef UTIL_TEXT_H
#define UTIL_TEXT_H

#include "util/util.h"

struct text {
	size_t length;
	char chars[640];
};

void text_add(struct text *text, const char *fmt, ...) _printf_(2, 3);

/* The same, after @separator unless the text is still empty. */
void text_join(struct text *text, const char *separator, const char *fmt, ...) _printf_(3, 4);

#endif
