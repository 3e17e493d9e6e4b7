/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "libibverbs/tools/json.h"

static int depth;
static bool first = true; /* the next member is the first one of the innermost object or array */

/* Decode a character of UTF-8. Return: the number of its bytes, or 0 if they are no character. */
static unsigned int utf8_decode(const char *text, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *s = (const unsigned char *)text;
	unsigned int length = s[0] < 0x80	  ? 1
			      : s[0] >> 5 == 0x06 ? 2
			      : s[0] >> 4 == 0x0e ? 3
			      : s[0] >> 3 == 0x1e ? 4
						  : 0;
	uint32_t c = length > 1 ? s[0] & (0x7f >> length) : s[0];

	for (unsigned int i = 1; i < length; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	*ret = c;
	return c < least[length] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : length;
}

static void put_character(uint32_t c)
{
	if (c == '"' || c == '\\')
		printf("\\%c", (int)c);
	else if (c >= ' ' && c <= '~')
		putchar((int)c);
	else if (c < 0x10000)
		printf("\\u%04x", (unsigned int)c);
	else
		printf("\\u%04x\\u%04x", 0xd800 + (unsigned int)((c - 0x10000) >> 10),
		       0xdc00 + (unsigned int)(c & 0x3ff));
}

/* Write ASCII only: the document is valid UTF-8 whatever the string contains, and safe to print on
 * a terminal. A byte that belongs to no character becomes U+FFFD. */
static void put_string(const char *s)
{
	putchar('"');
	while (*s) {
		uint32_t c;
		unsigned int length = utf8_decode(s, &c);

		put_character(length ? c : 0xfffd);
		s += length ? length : 1;
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
