/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The host that the devices are played on: DEVICES_HOST lists the ways in which it is special. */
#include <stdlib.h>
#include <string.h>

#include "tests/adapters/lab/shim/shim.h"

bool host_is(const char *word)
{
	const char *text = getenv("DEVICES_HOST");
	size_t length = strlen(word);

	for (; text && *text; text += strcspn(text, ","), text += *text == ',')
		if (strcspn(text, ",") == length && !memcmp(text, word, length))
			return true;
	return false;
}

size_t host_page(void)
{
	return host_is("large-pages") ? 65536 : 4096;
}

size_t host_answer(size_t now, size_t then)
{
	return host_is("old-kernel") ? then : now;
}
