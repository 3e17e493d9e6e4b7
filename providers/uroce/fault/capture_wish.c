/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parsing of the text of UROCE_CAPTURE. */
#include <stdio.h>
#include <string.h>

#include "providers/uroce/fault/capture.h"

enum {
	MESSAGE = 256,
	SNAPLEN = 65535,
};
#define SIZE_LIMIT (256ull << 20)

static bool size_read(const char *text, uint64_t *ret)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (errno || !*ret || *ret > 1ull << 40)
		return false;
	if (unit)
		*ret <<= 10 * (unit - units + 1);
	return unit ? !end[1] : !*end;
}

static int refuse(char *message, const char *word)
{
	snprintf(message, MESSAGE,
		 "'%s': behind the file's name may come snaplen=BYTES (64 to 65535) and size=BYTES "
		 "(with K, M or G; at least 1K)",
		 word);
	return -EINVAL;
}

static int option_apply(const char *word, struct capture_wish *wish, char *message)
{
	uint64_t value;

	if (!strncmp(word, "size=", 5) && size_read(word + 5, &wish->size) && wish->size >= 1024)
		return 0;
	if (!strncmp(word, "snaplen=", 8) && size_read(word + 8, &value) && value >= 64 &&
	    value <= SNAPLEN) {
		wish->snaplen = value;
		return 0;
	}
	return refuse(message, word);
}

/* Expand %p to the process number and %% to a percent sign. */
static int path_expand(const char *text, char *path, size_t size, char *message)
{
	size_t length = 0;

	for (; *text; text++) {
		if (length + 12 > size)
			return refuse(message, "a name that is too long");
		if (*text != '%')
			path[length++] = *text;
		else if (*++text == 'p')
			length += snprintf(path + length, size - length, "%d", getpid());
		else if (*text == '%')
			path[length++] = '%';
		else
			return refuse(message, "% without p");
	}
	path[length] = '\0';
	return length ? 0 : refuse(message, "no file");
}

int uroce_capture_parse(const char *text, struct capture_wish *ret, char *message)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *name, *word;
	int r = 0;

	if (!copy)
		return -ENOMEM;
	*ret = (struct capture_wish){ .snaplen = SNAPLEN, .size = SIZE_LIMIT };
	name = strsep(&rest, ",");
	while (!r && (word = strsep(&rest, ",")))
		r = option_apply(word, ret, message);
	return r < 0 ? r : path_expand(name, ret->path, sizeof(ret->path), message);
}
