/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A terminal breaks a long line in the middle of a word, and rows of a table become unreadable.
 * Therefore a stream with a filter takes the place of stdout if stdout is a terminal. A line that
 * fits is not changed. A longer one is broken at words, below its last column if there is room for
 * that. Otherwise its indentation and the gaps between its columns shrink.
 *
 * Files and pipes get what the program printed. Lines of JSON are not changed on a terminal either,
 * because scripts read from terminals, too, for example through "ssh -t".
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "util/program/columns.h"

#ifdef __GLIBC__ /* elsewhere stdout is no variable, and long lines stay as they are */
enum {
	COLUMNS_MIN = 20, /* lines of a narrower terminal are not changed */
	LAST_MIN = 32,	  /* least width of a last column that is broken where it is */
	LINE_MAX_ = 4096, /* bytes of a line that is broken, and of the buffer of stdout */
	NARROW = 72,	  /* indentations shrink on a terminal that is narrower */
	INDENT_MANY = 8,  /* the longest indentation that does not shrink */
	INDENT_SHRUNK = 4,
	TAB = 8,
	TAB_SHRUNK = 2, /* columns of a tab of an indentation that shrinks */
};

static struct {
	size_t column; /* bytes of the current line that were written */
	bool failed;
} state;

static void put(const char *text, size_t length)
{
	while (length && !state.failed) {
		ssize_t n = write(STDOUT_FILENO, text, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			state.failed = true;
			return;
		}
		text += n;
		length -= n;
	}
}

static void put_blanks(size_t count)
{
	while (count--)
		put(" ", 1);
}

/* Replace tabs by blanks. @first: columns of the tabs at the beginning. Return: false if the line
 * is too long, or has control characters. */
static bool tabs_expand(const char *line, size_t length, size_t first, char expanded[LINE_MAX_])
{
	size_t n = 0, tab = first;

	for (size_t i = 0; i < length; i++) {
		size_t until;

		tab = line[i] == '\t' ? tab : TAB;
		until = line[i] == '\t' ? (n / tab + 1) * tab : n + 1;

		if (until >= LINE_MAX_ || (line[i] != '\t' && (unsigned char)line[i] < ' '))
			return false;
		memset(expanded + n, line[i] == '\t' ? ' ' : line[i], until - n);
		n = until;
	}
	expanded[n] = '\0';
	return true;
}

/* Return the place where the last column begins. Columns have two blanks or more between them. */
static size_t last_column(const char *line)
{
	const char *p = line + strspn(line, " "), *last = p, *gap;

	while ((gap = strstr(p, "  "))) {
		p = gap + strspn(gap, " ");
		if (*p)
			last = p;
	}
	return last - line;
}

/* Write the words of @text, of which the first one is at column @at. Further lines begin at column
 * @indent, unless a word only fits without the indentation. */
static void words_put(const char *text, size_t at, size_t indent, size_t width)
{
	bool first = true;

	for (text += strspn(text, " "); *text; first = false) {
		size_t word = strcspn(text, " ");
		size_t blanks = strspn(text + word, " ");
		/* Keep two blanks, because they separate columns. */
		size_t gap = first ? 0 : text[-1] == ' ' && text[-2] == ' ' ? 2 : 1;

		if (at + gap + word > width && (!first || at > indent)) {
			put("\n", 1);
			at = indent + word > width ? (word < width ? width - word : 0) : indent;
			gap = 0;
			put_blanks(at);
		}
		put_blanks(gap);
		put(text, word);
		at += gap + word;
		text += word + blanks;
	}
	put("\n", 1);
}

static bool line_is_json(const char *line)
{
	line += strspn(line, " ");
	return *line && strchr("\"{}[]", *line);
}

/* Write a line with smaller gaps. Further lines are indented by two more columns, unless the line
 * is the continuation of another one. */
static void line_shrink(const char *line, size_t indent, size_t width)
{
	size_t first = indent > INDENT_MANY ? INDENT_SHRUNK : indent;

	put_blanks(first);
	words_put(line, first, indent > INDENT_MANY ? first : first + 2, width);
}

/* Write a line, of which @length does not count the line feed. */
static void line_put(const char *line, size_t length, size_t width)
{
	const bool narrow = width < NARROW;
	char expanded[LINE_MAX_];
	size_t last, indent;

	if (!tabs_expand(line, length, narrow ? TAB_SHRUNK : TAB, expanded) ||
	    line_is_json(expanded)) {
		put(line, length + 1);
		return;
	}
	last = last_column(expanded);
	indent = strspn(expanded, " ");
	if (strlen(expanded) <= width && !(narrow && (line[0] == '\t' || indent > INDENT_MANY))) {
		put(line, length + 1);
	} else if (last + LAST_MIN <= width && last > indent) {
		put(expanded, last);
		words_put(expanded + last, last, last, width);
	} else {
		line_shrink(expanded, indent, width);
	}
}

static size_t terminal_width(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_col < COLUMNS_MIN ? 0
										    : size.ws_col;
}

/* The first part of a line was already written. Begin a new line if the rest does not fit behind
 * it. */
static void rest_wrap(size_t length, size_t width)
{
	if (!length || !state.column || state.column > width || state.column + length <= width)
		return;
	put("\n", 1);
	state.column = 0;
}

/* Write lines. Write the rest without a line feed as it is, because a user may wait for it. */
static ssize_t columns_write(void *cookie, const char *text, size_t length)
{
	const size_t width = terminal_width();
	const char *end = text + length;

	for (const char *line = text, *feed; line < end && !state.failed; line = feed + 1) {
		feed = memchr(line, '\n', end - line);
		rest_wrap((feed ?: end) - line, width);
		if (!feed) {
			put(line, end - line);
			state.column += end - line;
			break;
		}
		if (width && !state.column)
			line_put(line, feed - line, width);
		else
			put(line, feed - line + 1);
		state.column = 0;
	}
	return state.failed ? 0 : (ssize_t)length;
}

void columns_begin(void)
{
	static char buffer[LINE_MAX_];
	FILE *stream;

	if (!isatty(STDOUT_FILENO))
		return;
	stream = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = columns_write });
	if (!stream)
		return;
	setvbuf(stream, buffer, _IOLBF, sizeof(buffer));
	stdout = stream;
}
#else
void columns_begin(void)
{
}
#endif
