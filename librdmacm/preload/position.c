/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Calls that ask what kind of file a descriptor is, or that take an offset. For the kernel an RDMA
 * socket is an epoll, which is no socket and has no offset.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "librdmacm/preload/preload.h"

/* ---- the kind of file ---- */

static bool is_named_by_number(const char *path, int flags)
{
	return flags & AT_EMPTY_PATH && path && !*path;
}

#define STAT_AS_SOCKET(fd, call, mode)                                   \
	({                                                               \
		int r_ = (call);                                         \
		if (r_ == 0 && fd_socket(fd) >= 0)                       \
			(mode) = S_IFSOCK | S_IRWXU | S_IRWXG | S_IRWXO; \
		r_;                                                      \
	})

EXPORT int fstat(int fd, struct stat *stat)
{
	return STAT_AS_SOCKET(fd, real()->fstat(fd, stat), stat->st_mode);
}

EXPORT int fstat64(int fd, struct stat64 *stat)
{
	return STAT_AS_SOCKET(fd, real()->fstat64(fd, stat), stat->st_mode);
}

EXPORT int fstatat(int fd, const char *path, struct stat *stat, int flags)
{
	if (!is_named_by_number(path, flags))
		return real()->fstatat(fd, path, stat, flags);
	return STAT_AS_SOCKET(fd, real()->fstatat(fd, path, stat, flags), stat->st_mode);
}

EXPORT int fstatat64(int fd, const char *path, struct stat64 *stat, int flags)
{
	if (!is_named_by_number(path, flags))
		return real()->fstatat64(fd, path, stat, flags);
	return STAT_AS_SOCKET(fd, real()->fstatat64(fd, path, stat, flags), stat->st_mode);
}

EXPORT int statx(int fd, const char *path, int flags, unsigned int mask, struct statx *statx)
{
	if (!is_named_by_number(path, flags))
		return real()->statx(fd, path, flags, mask, statx);
	return STAT_AS_SOCKET(fd, real()->statx(fd, path, flags, mask, statx), statx->stx_mode);
}

EXPORT int isfdtype(int fd, int type)
{
	struct stat stat;

	return fstat(fd, &stat) < 0 ? -1 : (stat.st_mode & S_IFMT) == (mode_t)type;
}

/* For programs that were built for older versions of the C library. */
int __fxstat(int version, int fd, struct stat *stat);
int __fxstat64(int version, int fd, struct stat64 *stat);

EXPORT int __fxstat(int version, int fd, struct stat *stat)
{
	(void)version;
	return fstat(fd, stat);
}

EXPORT int __fxstat64(int version, int fd, struct stat64 *stat)
{
	(void)version;
	return fstat64(fd, stat);
}

/* ---- offsets ---- */

static int no_offset(void)
{
	errno = ESPIPE;
	return -1;
}

EXPORT off_t lseek(int fd, off_t offset, int whence)
{
	return fd_socket(fd) >= 0 ? no_offset() : real()->lseek(fd, offset, whence);
}

EXPORT off64_t lseek64(int fd, off64_t offset, int whence)
{
	return fd_socket(fd) >= 0 ? no_offset() : real()->lseek64(fd, offset, whence);
}

EXPORT ssize_t pread(int fd, void *bytes, size_t size, off_t offset)
{
	return fd_socket(fd) >= 0 ? no_offset() : real()->pread(fd, bytes, size, offset);
}

EXPORT ssize_t pread64(int fd, void *bytes, size_t size, off64_t offset)
{
	return fd_socket(fd) >= 0 ? no_offset() : real()->pread64(fd, bytes, size, offset);
}

EXPORT ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	return fd_socket(fd) >= 0 ? no_offset() : real()->pwrite(fd, bytes, size, offset);
}

EXPORT ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset)
{
	return fd_socket(fd) >= 0 ? no_offset() : real()->pwrite64(fd, bytes, size, offset);
}

EXPORT ssize_t preadv(int fd, const struct iovec *iov, int count, off_t offset)
{
	return fd_socket(fd) >= 0 ? no_offset() : real()->preadv(fd, iov, count, offset);
}

EXPORT ssize_t preadv64(int fd, const struct iovec *iov, int count, off64_t offset)
{
	return fd_socket(fd) >= 0 ? no_offset() : real()->preadv64(fd, iov, count, offset);
}

EXPORT ssize_t pwritev(int fd, const struct iovec *iov, int count, off_t offset)
{
	return fd_socket(fd) >= 0 ? no_offset() : real()->pwritev(fd, iov, count, offset);
}

EXPORT ssize_t pwritev64(int fd, const struct iovec *iov, int count, off64_t offset)
{
	return fd_socket(fd) >= 0 ? no_offset() : real()->pwritev64(fd, iov, count, offset);
}

/* For programs that were built with checks of sizes. */
ssize_t __pread_chk(int fd, void *bytes, size_t size, off_t offset, size_t room);
ssize_t __pread64_chk(int fd, void *bytes, size_t size, off64_t offset, size_t room);
void __chk_fail(void) __attribute__((noreturn));

EXPORT ssize_t __pread_chk(int fd, void *bytes, size_t size, off_t offset, size_t room)
{
	if (size > room)
		__chk_fail();
	return pread(fd, bytes, size, offset);
}

EXPORT ssize_t __pread64_chk(int fd, void *bytes, size_t size, off64_t offset, size_t room)
{
	if (size > room)
		__chk_fail();
	return pread64(fd, bytes, size, offset);
}

/* ---- offsets and flags; an offset of -1 stands for none ---- */

/* Convert RWF_* to MSG_*. Sockets have one flag. Return: MSG_*, or -1. */
static int flags_take(off64_t offset, int flags)
{
	if (offset != -1)
		return no_offset();
	if (flags & ~RWF_NOWAIT) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return flags & RWF_NOWAIT ? MSG_DONTWAIT : 0;
}

static ssize_t vector_move(int fd, const struct iovec *iov, int count, off64_t offset, int flags,
			   bool reads)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)iov, .msg_iovlen = count };

	flags = flags_take(offset, flags);
	if (flags < 0)
		return -1;
	if (!flags)
		return reads ? readv(fd, iov, count) : writev(fd, iov, count);
	if (count < 0) {
		errno = EINVAL;
		return -1;
	}
	return reads ? recvmsg(fd, &msg, flags) : sendmsg(fd, &msg, flags);
}

EXPORT ssize_t preadv2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
	return fd_use(fd) >= 0 ? vector_move(fd, iov, count, offset, flags, true)
			       : real()->preadv2(fd, iov, count, offset, flags);
}

EXPORT ssize_t preadv64v2(int fd, const struct iovec *iov, int count, off64_t offset, int flags)
{
	return fd_use(fd) >= 0 ? vector_move(fd, iov, count, offset, flags, true)
			       : real()->preadv64v2(fd, iov, count, offset, flags);
}

EXPORT ssize_t pwritev2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
	return fd_use(fd) >= 0 ? vector_move(fd, iov, count, offset, flags, false)
			       : real()->pwritev2(fd, iov, count, offset, flags);
}

EXPORT ssize_t pwritev64v2(int fd, const struct iovec *iov, int count, off64_t offset, int flags)
{
	return fd_use(fd) >= 0 ? vector_move(fd, iov, count, offset, flags, false)
			       : real()->pwritev64v2(fd, iov, count, offset, flags);
}
