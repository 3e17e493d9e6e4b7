/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Replacements of calls of the C library that take a path. LD_PRELOAD puts this library in front of
 * the libraries of a program. Paths in three folders are redirected to the folder of this library,
 * and others are passed on unchanged. The functions do not allocate and do not take locks.
 */
#undef _FILE_OFFSET_BITS /* it would give two calls the same name */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
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

static int is_mapped(const char *path)
{
	return is_within(path, "/sys/class/infiniband") ||
	       is_within(path, "/sys/class/infiniband_verbs") || is_within(path, "/dev/infiniband");
}

/* Write the path with @root and the folder of @dir in front. Return: it, or NULL if the kernel
 * shall get the path itself. Paths that are relative to a folder inside lead there without help. */
static const char *relative_map(int dir, const char *path, char *buf)
{
	const size_t start = strlen(root);
	size_t end;
	char link[32];
	ssize_t n;

	if (strncmp(path, "infiniband", strlen("infiniband")) && !strstr(path, "/infiniband"))
		return NULL;
	if (dir == AT_FDCWD)
		strcpy(link, "/proc/self/cwd");
	else
		snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	memcpy(buf, root, start);
	n = readlink(link, buf + start, PATH_MAX - start - 1);
	if (n <= 0)
		return NULL;
	end = start + n;
	if (buf[end - 1] == '/')
		end--;
	for (; path[0] == '.'; path += strspn(path, "/")) {
		bool up = path[1] == '.';

		if (path[1 + up] != '/')
			return NULL;
		path += 1 + up;
		while (up && end > start && buf[--end] != '/')
			;
	}
	if (snprintf(buf + end, PATH_MAX - end, "/%s", path) >= (int)(PATH_MAX - end))
		return NULL;
	return is_mapped(buf + start) ? buf : NULL;
}

/* @dir: the folder to which a relative path belongs */
static const char *path_map_at(int dir, const char *path, char *buf)
{
	if (!path || !root[0])
		return path;
	if (path[0] != '/')
		return relative_map(dir, path, buf) ?: path;
	return is_mapped(path) && snprintf(buf, PATH_MAX, "%s%s", root, path) < PATH_MAX ? buf
											 : path;
}

/* A call that takes a path: type, folder of relative paths, declared and passed arguments. */
#define CALL_AT(type, folder, name, declared, passed)                     \
	EXPORT type name declared;                                        \
	EXPORT type name declared                                         \
	{                                                                 \
		static type(*next) declared;                              \
		char mapped[PATH_MAX];                                    \
                                                                          \
		if (!next)                                                \
			next = (type(*) declared)dlsym(RTLD_NEXT, #name); \
		path = path_map_at(folder, path, mapped);                 \
		return next passed;                                       \
	}

#define CALL(type, name, declared, passed) CALL_AT(type, AT_FDCWD, name, declared, passed)

/* The same for calls with a mode behind the flags, if they create a file. */
#define OPEN_CALL(folder, name, declared, passed)                          \
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
		path = path_map_at(folder, path, mapped);                  \
		return next passed;                                        \
	}

OPEN_CALL(AT_FDCWD, open, (const char *path, int flags, ...), (path, flags, mode))
OPEN_CALL(dir, openat, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))
CALL(FILE *, fopen, (const char *path, const char *mode), (path, mode))
CALL(DIR *, opendir, (const char *path), (path))
CALL(int, chdir, (const char *path), (path))
CALL(int, access, (const char *path, int mode), (path, mode))
CALL(int, eaccess, (const char *path, int mode), (path, mode))
CALL_AT(int, dir, faccessat, (int dir, const char *path, int mode, int flags),
	(dir, path, mode, flags))
CALL(int, stat, (const char *path, struct stat *st), (path, st))
CALL(int, lstat, (const char *path, struct stat *st), (path, st))
CALL_AT(int, dir, fstatat, (int dir, const char *path, struct stat *st, int flags),
	(dir, path, st, flags))
CALL_AT(int, dir, statx,
	(int dir, const char *path, int flags, unsigned int mask, struct statx *st),
	(dir, path, flags, mask, st))
CALL(ssize_t, readlink, (const char *path, char *buf, size_t size), (path, buf, size))
CALL_AT(ssize_t, dir, readlinkat, (int dir, const char *path, char *buf, size_t size),
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
OPEN_CALL(AT_FDCWD, open64, (const char *path, int flags, ...), (path, flags, mode))
OPEN_CALL(dir, openat64, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))
CALL(FILE *, fopen64, (const char *path, const char *mode), (path, mode))
CALL(int, stat64, (const char *path, struct stat64 *st), (path, st))
CALL(int, lstat64, (const char *path, struct stat64 *st), (path, st))
CALL_AT(int, dir, fstatat64, (int dir, const char *path, struct stat64 *st, int flags),
	(dir, path, st, flags))
CALL(int, scandir64,
     (const char *path, struct dirent64 ***list, int (*filter)(const struct dirent64 *),
      int (*compare)(const struct dirent64 **, const struct dirent64 **)),
     (path, list, filter, compare))

/* Calls of programs that are built with _FORTIFY_SOURCE. */
CALL(int, __open_2, (const char *path, int flags), (path, flags))
CALL(int, __open64_2, (const char *path, int flags), (path, flags))
CALL_AT(int, dir, __openat_2, (int dir, const char *path, int flags), (dir, path, flags))
CALL_AT(int, dir, __openat64_2, (int dir, const char *path, int flags), (dir, path, flags))
CALL(char *, __realpath_chk, (const char *path, char *resolved, size_t size),
     (path, resolved, size))
CALL(ssize_t, __readlink_chk, (const char *path, char *buf, size_t size, size_t room),
     (path, buf, size, room))

#ifdef __LP64__
/*
 * Calls of programs built with a C library before 2.33. On these processors the struct is the same.
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
