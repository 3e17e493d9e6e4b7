/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A library that was not installed finds driver files and providers beside itself. Code is loaded
 * from this folder. Therefore only users who can replace the library may be able to write to it.
 * A library that is part of a program has no such folder, because other users may be able to write
 * to the folder of a program.
 */
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "libibverbs/discovery/discovery.h"

/* A file that the build writes and that is never installed: it marks a folder of a build. */
#define BUILD_MARKER "libibverbs.d/.build-tree"

/* The library that contains an address. dladdr() would search all its symbols. */
struct library {
	uintptr_t address;
	const char *name; /* of its file; NULL: the program contains the address */
};

static bool object_contains(const struct dl_phdr_info *info, uintptr_t address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type == PT_LOAD &&
		    address - info->dlpi_addr - part->p_vaddr < part->p_memsz)
			return true;
	}
	return false;
}

static int object_check(struct dl_phdr_info *info, size_t size, void *arg)
{
	bool is_program = (uintptr_t)info->dlpi_phdr == getauxval(AT_PHDR);
	struct library *library = arg;

	if (!object_contains(info, library->address))
		return 0;
	library->name = is_program ? NULL : info->dlpi_name;
	return 1;
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

/* Get the absolute path of the folder of the library with @symbol. */
static int library_folder(const void *symbol, char folder[PATH_MAX])
{
	struct library library = { .address = (uintptr_t)symbol };

	if (!dl_iterate_phdr(object_check, &library) || !library.name)
		return -ENOENT;
	if (library.name[0] != '/')
		return relative_folder(library.name, folder);
	if (strlen(library.name) >= PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(folder, library.name);
	*strrchr(folder, '/') = '\0';
	return 0;
}

/*
 * Return whether only trusted users may write to the folders. Users who may write to the folder of
 * the library can replace the library, unless the folder is sticky. Therefore its owner is trusted,
 * and without the sticky bit also its group. Other users are never trusted.
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
