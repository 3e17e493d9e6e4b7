/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <ctype.h>
#include <fcntl.h>
#include <string.h>

#include "rdma-ndd/node_desc.h"
#include "rdma-ndd/report.h"
#include "rdma-ndd/settings.h"
#include "util/env.h"
#include "util/file.h"

#define NAME	  "RDMA_NDD_ND_FORMAT"
#define FILE_SIZE 16384

/* Return whether node_desc_format() replaces each "%" sequence of @format. */
static bool format_is_known(const char *format)
{
	for (const char *p = format; (p = strchr(p, '%')); p += 2)
		if (!p[1] || !strchr("hd%", p[1]))
			return false;
	return true;
}

static void format_set(const char *source, const char *value, size_t length,
		       struct settings *settings)
{
	if (!length || length >= sizeof(settings->format)) {
		report(LOG_WARNING,
		       "%s: " NAME " is ignored: it has %zu bytes, allowed are 1 to %zu", source,
		       length, sizeof(settings->format) - 1);
		return;
	}
	memcpy(settings->format, value, length);
	settings->format[length] = '\0';
	if (!format_is_known(settings->format))
		report(LOG_WARNING,
		       "%s: " NAME " '%s': %%h, %%d and %%%% stand for something, any other %% for "
		       "itself",
		       source, settings->format);
}

/* Remove blanks from both ends of [line, line + length). */
static void line_trim(const char **line, size_t *length)
{
	size_t blanks = min_of(strspn(*line, " \t"), *length);

	*line += blanks;
	*length -= blanks;
	while (*length && strchr(" \t\r", (*line)[*length - 1]))
		--*length;
}

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/*
 * Log a line that is meant as the setting but is not accepted: "export NAME=", "NAME =", "name=".
 */
static void line_complain(const char *file, const char *line, size_t length)
{
	const size_t name = strlen(NAME);

	if (length && *line == '#')
		return;
	for (size_t i = 0; i + name <= length; i++) {
		if (strncasecmp(line + i, NAME, name) || (i && is_of_name(line[i - 1])) ||
		    (i + name < length && is_of_name(line[i + name])))
			continue;
		report(LOG_WARNING, "%s: '%.*s' is ignored: write " NAME "=\"FORMAT\"", file,
		       (int)length, line);
		return;
	}
}

/*
 * Remove the quotes of a value, and the text behind them. Return: false if that text is no comment.
 */
static bool value_unquote(const char **value, size_t *length)
{
	const char *end;

	if (!*length || !strchr("'\"", **value))
		return true;
	end = memchr(*value + 1, **value, *length - 1);
	if (!end)
		return false;
	for (const char *rest = end + 1; rest < *value + *length && *rest != '#'; rest++)
		if (!strchr(" \t", *rest))
			return false;
	++*value;
	*length = end - *value;
	return true;
}

static void line_parse(const char *file, const char *line, size_t length, struct settings *settings)
{
	size_t name = strlen(NAME "=");

	line_trim(&line, &length);
	if (length < name || memcmp(line, NAME "=", name)) {
		line_complain(file, line, length);
		return;
	}
	line += name;
	length -= name;
	line_trim(&line, &length);
	if (!value_unquote(&line, &length))
		report(LOG_WARNING, "%s: %.*s: its quotes become a part of the description", file,
		       (int)length, line);
	format_set(file, line, length, settings);
}

void settings_parse(const char *file, const char *text, struct settings *settings)
{
	while (*text) {
		size_t length = strcspn(text, "\n");

		line_parse(file, text, length, settings);
		text += length + (text[length] == '\n');
	}
}

static void file_load(const char *path, struct settings *settings)
{
	_cleanup_free_ char *text = malloc(FILE_SIZE);
	int length = text ? file_read_text(AT_FDCWD, path, text, FILE_SIZE) : -ENOMEM;

	if (length == -ENOENT)
		return;
	if (length < 0) {
		report(LOG_WARNING, "%s cannot be read: %s", path, strerror(-length));
		return;
	}
	if (length == FILE_SIZE - 1)
		report(LOG_WARNING, "%s: only the first %d bytes are read", path, length);
	settings_parse(path, text, settings);
}

void settings_load(const char *path, struct settings *ret_settings)
{
	struct settings settings = { .format = NODE_DESC_FORMAT };
	const char *value = env_get(ENV_RDMA_NDD_ND_FORMAT);

	if (value)
		format_set("environment", value, strlen(value), &settings);
	else
		file_load(path ? path : RDMA_CONF, &settings);
	*ret_settings = settings;
}
