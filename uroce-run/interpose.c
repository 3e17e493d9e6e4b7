/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Replacements of calls of the C library that take a path. LD_PRELOAD puts this library in front of
 * the libraries of a program. Paths in three folders are redirected to the folder of this library,
 * and others are passed on unchanged. The functions allocate nothing and take no lock.
 */
#undef _FILE_OFFSET_BITS /* it would give two calls the same name */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static char root[128];

/* Derive the root from the dynamic linker's name of this library, which is that in LD_PRELOAD. */
__attribute__((constructor)) static void root_find(void)
{
	const char *end;
	Dl_info info;

	if (!dladdr(root, &info) || !info.dli_fname || info.dli_fname[0] != '/')
		return;
	end = strrchr(info.dli_fname, '/');
	if (end - info.dli_fname < (long)sizeof(root))
		memcpy(root, info.dli_fname, end - info.dli_fname);
}

static int is_within(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return !strncmp(path, folder, n) && (!path[n] || path[n] == '/');
}

static const char *path_map(const char *path, char *buf)
{
	if (!path || path[0] != '/' || !root[0])
		return path;
	if (!is_within(path, "/sys/class/infiniband") &&
	    !is_within(path, "/sys/class/infiniband_verbs") && !is_within(path, "/dev/infiniband"))
		return path;
	return snprintf(buf, PATH_MAX, "%s%s", root, path) < PATH_MAX ? buf : path;
}

/* A call that takes a path: type, declared arguments and passed arguments. */
#define CALL(type, name, declared, passed)                                \
	EXPORT type name declared;                                        \
	EXPORT type name declared                                         \
	{                                                                 \
		static type(*next) declared;                              \
		char mapped[PATH_MAX];                                    \
                                                                          \
		if (!next)                                                \
			next = (type(*) declared)dlsym(RTLD_NEXT, #name); \
		path = path_map(path, mapped);                            \
		return next passed;                                       \
	}

/* The same for calls with a mode behind the flags, if they create a file. */
#define OPEN_CALL(name, declared, passed)                                  \
	EXPORT int name declared;                                          \
	EXPORT int name declared                                           \
	{                                                                  \
		static int(*next) declared;                                \
		char mapped[PATH_MAX];                                     \
		mode_t mode = 0;                                           \
		va_list args;                                              \
                                                                           \
		va_start(args, flags);                                     \
		if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) \
			mode = va_arg(args, mode_t);                       \
		va_end(args);                                              \
		if (!next)                                                 \
			next = (int(*) declared)dlsym(RTLD_NEXT, #name);   \
		path = path_map(path, mapped);                             \
		return next passed;                                        \
	}

OPEN_CALL(open, (const char *path, int flags, ...), (path, flags, mode))
OPEN_CALL(openat, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))
CALL(FILE *, fopen, (const char *path, const char *mode), (path, mode))
CALL(DIR *, opendir, (const char *path), (path))
CALL(int, access, (const char *path, int mode), (path, mode))
CALL(int, eaccess, (const char *path, int mode), (path, mode))
CALL(int, faccessat, (int dir, const char *path, int mode, int flags), (dir, path, mode, flags))
CALL(int, stat, (const char *path, struct stat *st), (path, st))
CALL(int, lstat, (const char *path, struct stat *st), (path, st))
CALL(int, fstatat, (int dir, const char *path, struct stat *st, int flags), (dir, path, st, flags))
CALL(int, statx, (int dir, const char *path, int flags, unsigned int mask, struct statx *st),
     (dir, path, flags, mask, st))
CALL(ssize_t, readlink, (const char *path, char *buf, size_t size), (path, buf, size))
CALL(ssize_t, readlinkat, (int dir, const char *path, char *buf, size_t size),
     (dir, path, buf, size))
CALL(char *, realpath, (const char *path, char *resolved), (path, resolved))
CALL(ssize_t, getxattr, (const char *path, const char *name, void *buf, size_t size),
     (path, name, buf, size))
CALL(ssize_t, lgetxattr, (const char *path, const char *name, void *buf, size_t size),
     (path, name, buf, size))
CALL(ssize_t, listxattr, (const char *path, char *buf, size_t size), (path, buf, size))
CALL(ssize_t, llistxattr, (const char *path, char *buf, size_t size), (path, buf, size))
CALL(int, scandir,
     (const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
      int (*compare)(const struct dirent **, const struct dirent **)),
     (path, list, filter, compare))

#ifdef __GLIBC__
OPEN_CALL(open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN_CALL(openat64, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))
CALL(FILE *, fopen64, (const char *path, const char *mode), (path, mode))
CALL(int, stat64, (const char *path, struct stat64 *st), (path, st))
CALL(int, lstat64, (const char *path, struct stat64 *st), (path, st))
CALL(int, fstatat64, (int dir, const char *path, struct stat64 *st, int flags),
     (dir, path, st, flags))
CALL(int, scandir64,
     (const char *path, struct dirent64 ***list, int (*filter)(const struct dirent64 *),
      int (*compare)(const struct dirent64 **, const struct dirent64 **)),
     (path, list, filter, compare))

/* Calls of programs that are built with _FORTIFY_SOURCE. */
CALL(int, __open_2, (const char *path, int flags), (path, flags))
CALL(int, __open64_2, (const char *path, int flags), (path, flags))
CALL(int, __openat_2, (int dir, const char *path, int flags), (dir, path, flags))
CALL(int, __openat64_2, (int dir, const char *path, int flags), (dir, path, flags))
CALL(char *, __realpath_chk, (const char *path, char *resolved, size_t size),
     (path, resolved, size))
CALL(ssize_t, __readlink_chk, (const char *path, char *buf, size_t size, size_t room),
     (path, buf, size, room))

#ifdef __LP64__
/* Calls of programs built with a C library before 2.33. On these processors the struct is the same.
 */
EXPORT int __xstat(int version, const char *path, struct stat *st);
EXPORT int __xstat(int version, const char *path, struct stat *st)
{
	return stat(path, st);
}

EXPORT int __lxstat(int version, const char *path, struct stat *st);
EXPORT int __lxstat(int version, const char *path, struct stat *st)
{
	return lstat(path, st);
}

EXPORT int __xstat64(int version, const char *path, struct stat64 *st);
EXPORT int __xstat64(int version, const char *path, struct stat64 *st)
{
	return stat64(path, st);
}

EXPORT int __lxstat64(int version, const char *path, struct stat64 *st);
EXPORT int __lxstat64(int version, const char *path, struct stat64 *st)
{
	return lstat64(path, st);
}
#endif
#endif
