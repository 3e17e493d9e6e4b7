/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/doctor.h"

static void words_add(struct text *text, const char *fmt, va_list args)
{
	char words[sizeof(text->chars)];

	vsnprintf(words, sizeof(words), fmt, args);
	text_make_printable(words);
	text_add(text, "%s", words);
}

void finding_set(struct finding *f, enum finding_state state, const char *fmt, ...)
{
	va_list args;

	f->state = state;
	va_start(args, fmt);
	words_add(&f->what, fmt, args);
	va_end(args);
}

void finding_fix(struct finding *f, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	words_add(&f->fix, fmt, args);
	va_end(args);
}

const char *finding_word(const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-._:@+=,/";
	static struct text words[3];
	static unsigned int next;
	struct text *word = &words[next++ % ARRAY_SIZE(words)];

	if (name[strspn(name, plain)] == '\0')
		return name;
	*word = (struct text){};
	text_add(word, "'");
	for (; *name; name++) {
		if (*name == '\'')
			text_add(word, "'\\''");
		else
			text_add(word, "%c", *name);
	}
	text_add(word, "'");
	return word->chars;
}
