/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "libibverbs/tools/json.h"

static int depth;
static bool first = true; /* of the innermost object or array */

static void put_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		unsigned char c = *s;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void new_line(void)
{
	printf("\n%*s", depth * 2, "");
}

static void start(const char *key)
{
	if (!first)
		putchar(',');
	if (depth)
		new_line();
	first = false;
	if (!key)
		return;
	put_string(key);
	printf(": ");
}

void json_open(const char *key, char bracket)
{
	start(key);
	putchar(bracket);
	depth++;
	first = true;
}

void json_close(char bracket)
{
	bool empty = first;

	depth--;
	first = false;
	if (!empty)
		new_line();
	putchar(bracket);
	if (!depth)
		putchar('\n');
}

void json_string(const char *key, const char *value)
{
	start(key);
	put_string(value);
}

void json_number(const char *key, uint64_t value)
{
	start(key);
	printf("%" PRIu64, value);
}

void json_bool(const char *key, bool value)
{
	start(key);
	fputs(value ? "true" : "false", stdout);
}

void json_format(const char *key, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	json_string(key, text);
}
