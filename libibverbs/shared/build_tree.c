/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A library that was not installed finds driver files and providers beside itself. Code is loaded
 * from there, so the folder must be one in which nobody can plant a file who could not replace the
 * library as well. A program has no such folder: it may lie in a place that others fill.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "libibverbs/discovery/discovery.h"

/* Written by the build, never installed: the folder beside the library is the build's. */
#define BUILD_MARKER "libibverbs.d/.build-tree"

/* The program header table is always part of the program itself. */
static bool is_of_program(const Dl_info *info)
{
	Dl_info program;

	return !dladdr((const void *)getauxval(AT_PHDR), &program) ||
	       program.dli_fbase == info->dli_fbase;
}

/*
 * A name without a leading slash is relative to the folder in which the program started, and the
 * program may have changed its folder since: accept only files of this user or of root.
 */
static int relative_folder(const char *name, char folder[PATH_MAX])
{
	struct stat st;

	if (!realpath(name, folder))
		return -errno;
	*strrchr(folder, '/') = '\0';
	if (stat(folder, &st))
		return -errno;
	return !st.st_uid || st.st_uid == geteuid() ? 0 : -EPERM;
}

/* The folder of the library that @symbol was loaded from, as an absolute path. */
static int library_folder(const void *symbol, char folder[PATH_MAX])
{
	Dl_info info;

	if (!dladdr(symbol, &info) || !info.dli_fname || is_of_program(&info))
		return -ENOENT;
	if (info.dli_fname[0] != '/')
		return relative_folder(info.dli_fname, folder);
	if (strlen(info.dli_fname) >= PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(folder, info.dli_fname);
	*strrchr(folder, '/') = '\0';
	return 0;
}

/*
 * Who may write into the library's folder may replace the library, unless the folder is sticky. So
 * its owner and, without the sticky bit, its group are trusted as far as the library is; the rest
 * of the world never is.
 */
static bool folders_are_safe(const char *library, const char *config)
{
	struct stat lib, conf;

	if (stat(library, &lib) || stat(config, &conf))
		return false;
	if ((lib.st_mode | conf.st_mode) & S_IWOTH)
		return false;
	if (lib.st_mode & S_ISVTX && lib.st_mode & S_IWGRP)
		return false;
	if (conf.st_uid && conf.st_uid != lib.st_uid)
		return false;
	return !(conf.st_mode & S_IWGRP) || (lib.st_mode & S_IWGRP && lib.st_gid == conf.st_gid);
}

int disc_build_tree(const void *symbol, struct disc_paths *ret_paths)
{
	_cleanup_free_ char *marker = NULL, *providers = NULL, *config = NULL;
	char folder[PATH_MAX];
	int r = library_folder(symbol, folder);

	if (r < 0)
		return r;
	if (asprintf(&marker, "%s/" BUILD_MARKER, folder) < 0)
		return marker = NULL, -ENOMEM;
	if (access(marker, F_OK))
		return -errno;
	providers = strdup(folder);
	if (!providers || asprintf(&config, "%s/libibverbs.d", folder) < 0)
		return config = NULL, -ENOMEM;
	if (!folders_are_safe(folder, config)) {
		log_notice("libibverbs: Warning: ignoring the build tree in '%s': others may write "
			   "into it or into its libibverbs.d: chmod go-w both\n",
			   folder);
		return -EPERM;
	}
	*ret_paths = (struct disc_paths){ .config = take_ptr(&config),
					  .providers = take_ptr(&providers) };
	ret_paths->programs = ret_paths->providers;
	return 0;
}
