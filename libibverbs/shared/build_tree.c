/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "libibverbs/discovery/discovery.h"

/* Written by the build, never installed: the folder beside the library is the build's. */
#define BUILD_MARKER "libibverbs.d/.build-tree"

/* The folder of the file that @symbol was loaded from, as an absolute path. */
static int symbol_folder(const void *symbol, char folder[PATH_MAX])
{
	Dl_info info;
	char *slash;

	if (!dladdr(symbol, &info) || !info.dli_fname)
		return -ENOENT;
	if (info.dli_fname[0] == '/')
		snprintf(folder, PATH_MAX, "%s", info.dli_fname);
	else if (!realpath(info.dli_fname, folder))
		return -errno;
	slash = strrchr(folder, '/');
	*slash = '\0';
	return 0;
}

int disc_build_tree(const void *symbol, struct disc_paths *ret_paths)
{
	char folder[PATH_MAX], *config, *providers;
	_cleanup_free_ char *marker = NULL;
	int r = symbol_folder(symbol, folder);

	if (r < 0)
		return r;
	if (asprintf(&marker, "%s/" BUILD_MARKER, folder) < 0) {
		marker = NULL;
		return -ENOMEM;
	}
	if (access(marker, F_OK))
		return -errno;
	providers = strdup(folder);
	if (!providers || asprintf(&config, "%s/libibverbs.d", folder) < 0) {
		free(providers);
		return -ENOMEM;
	}
	*ret_paths = (struct disc_paths){ .config = config, .providers = providers };
	return 0;
}
