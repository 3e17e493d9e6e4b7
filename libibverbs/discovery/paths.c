/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "libibverbs/discovery/discovery.h"
#include "util/once.h"

/* Written by the build, never installed: the folder beside the library is the build's. */
#define BUILD_MARKER "libibverbs.d/.build-tree"

static struct disc_paths paths = { .config = RDMA_CONFIG_DIR, .providers = RDMA_PROVIDER_DIR };

/* The folder this library was loaded from, as an absolute path. */
static int own_folder(char folder[PATH_MAX])
{
	Dl_info info;
	char *slash;

	if (!dladdr(&paths, &info) || !info.dli_fname)
		return -ENOENT;
	if (info.dli_fname[0] == '/')
		snprintf(folder, PATH_MAX, "%s", info.dli_fname);
	else if (!realpath(info.dli_fname, folder))
		return -errno;
	slash = strrchr(folder, '/');
	*slash = '\0';
	return 0;
}

static void paths_init(void)
{
	char folder[PATH_MAX], *config, *providers;
	_cleanup_free_ char *marker = NULL;

	if (getauxval(AT_SECURE) || own_folder(folder))
		return;
	if (asprintf(&marker, "%s/" BUILD_MARKER, folder) < 0) {
		marker = NULL;
		return;
	}
	if (access(marker, F_OK))
		return;
	providers = strdup(folder);
	if (!providers || asprintf(&config, "%s/libibverbs.d", folder) < 0) {
		free(providers);
		return;
	}
	paths = (struct disc_paths){ .config = config, .providers = providers };
}

const struct disc_paths *disc_paths(void)
{
	static struct once once = ONCE_INIT;

	once_run(&once, paths_init);
	return &paths;
}
