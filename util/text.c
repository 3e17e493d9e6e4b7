/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>

#include "util/text.h"

static void text_vadd(struct text *text, const char *fmt, va_list args)
{
	size_t room = sizeof(text->chars) - text->length;
	int n = vsnprintf(text->chars + text->length, room, fmt, args);

	if (n > 0)
		text->length += min_of((size_t)n, room - 1);
}

void text_add(struct text *text, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	text_vadd(text, fmt, args);
	va_end(args);
}

void text_join(struct text *text, const char *separator, const char *fmt, ...)
{
	va_list args;

	if (text->length)
		text_add(text, "%s", separator);
	va_start(args, fmt);
	text_vadd(text, fmt, args);
	va_end(args);
}

void text_make_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}
