/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The log of the discovery code that is linked into this program: its first message becomes the
 * cause of the current rung. This file replaces util/log.c.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rdma-doctor/doctor.h"

static char kept[1024], taken[sizeof(kept)];

void log_init(void)
{
}

bool log_enabled(enum log_level level)
{
	return level <= LOG_LEVEL_WARN;
}

const char *log_content(const char *line)
{
	static const char *const prefixes[] = { "libibverbs: ", "Warning: ", "Fatal: " };

	for (int i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (!strncmp(line, prefixes[i], strlen(prefixes[i])))
			line += strlen(prefixes[i]);
	return line;
}

static void log_keep(const char *fmt, va_list args)
{
	char line[sizeof(kept)];
	const char *start;
	size_t length;

	if (kept[0])
		return;
	vsnprintf(line, sizeof(line), fmt, args);
	start = log_content(line);
	length = strcspn(start, "\n");
	memcpy(kept, start, length);
	kept[length] = '\0';
}

void log_print(enum log_level level, const char *fmt, ...)
{
	int saved = errno;
	va_list args;

	va_start(args, fmt);
	if (log_enabled(level))
		log_keep(fmt, args);
	va_end(args);
	errno = saved;
}

void log_notice(const char *fmt, ...)
{
	int saved = errno;
	va_list args;

	va_start(args, fmt);
	log_keep(fmt, args);
	va_end(args);
	errno = saved;
}

const char *log_take(void)
{
	memcpy(taken, kept, sizeof(taken));
	kept[0] = '\0';
	return taken;
}
