/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "libibverbs/discovery/discovery.h"
#include "libibverbs/static/static.h"

bool disc_linked_only(void)
{
	return true;
}

const char *disc_linked_file(unsigned int i)
{
	const struct verbs_device_ops *provider = static_providers()[i];

	return provider ? provider->file : NULL;
}

const char *disc_linked_text(const char *file)
{
	const struct verbs_device_ops *const *provider = static_providers();

	for (; *provider; provider++)
		if (!strcmp((*provider)->file, file))
			return (*provider)->text;
	return NULL;
}
