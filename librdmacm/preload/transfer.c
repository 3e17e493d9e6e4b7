/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <sys/sendfile.h>
#include <unistd.h>

#include "librdmacm/preload/preload.h"

#define FILE_PIECE 65536 /* bytes of a file that are copied at once */

EXPORT ssize_t read(int fd, void *buf, size_t size)
{
	int rs = fd_use(fd);

	return rs >= 0 ? RS(rread(rs, buf, size)) : real()->read(fd, buf, size);
}

EXPORT ssize_t readv(int fd, const struct iovec *iov, int count)
{
	int rs = fd_use(fd);

	return rs >= 0 ? RS(rreadv(rs, iov, count)) : real()->readv(fd, iov, count);
}

EXPORT ssize_t recv(int fd, void *buf, size_t size, int flags)
{
	int rs = fd_use(fd);

	return rs >= 0 ? RS(rrecv(rs, buf, size, flags)) : real()->recv(fd, buf, size, flags);
}

EXPORT ssize_t recvfrom(int fd, void *buf, size_t size, int flags, struct sockaddr *addr,
			socklen_t *addrlen)
{
	int rs = fd_use(fd);

	return rs >= 0 ? RS(rrecvfrom(rs, buf, size, flags, addr, addrlen))
		       : real()->recvfrom(fd, buf, size, flags, addr, addrlen);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	int rs = fd_use(fd);

	return rs >= 0 ? RS(rrecvmsg(rs, msg, flags)) : real()->recvmsg(fd, msg, flags);
}

EXPORT ssize_t write(int fd, const void *buf, size_t size)
{
	int rs = fd_use(fd);

	return rs >= 0 ? RS(rwrite(rs, buf, size)) : real()->write(fd, buf, size);
}

EXPORT ssize_t writev(int fd, const struct iovec *iov, int count)
{
	int rs = fd_use(fd);

	return rs >= 0 ? RS(rwritev(rs, iov, count)) : real()->writev(fd, iov, count);
}

EXPORT ssize_t send(int fd, const void *buf, size_t size, int flags)
{
	int rs = fd_use(fd);

	return rs >= 0 ? RS(rsend(rs, buf, size, flags)) : real()->send(fd, buf, size, flags);
}

EXPORT ssize_t sendto(int fd, const void *buf, size_t size, int flags, const struct sockaddr *addr,
		      socklen_t addrlen)
{
	int rs = fd_use(fd);

	return rs >= 0 ? RS(rsendto(rs, buf, size, flags, addr, addrlen))
		       : real()->sendto(fd, buf, size, flags, addr, addrlen);
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	int rs = fd_use(fd);

	return rs >= 0 ? RS(rsendmsg(rs, msg, flags)) : real()->sendmsg(fd, msg, flags);
}

/* ---- what programs call that were built with checks of sizes ---- */

ssize_t __read_chk(int fd, void *buf, size_t size, size_t room);
ssize_t __recv_chk(int fd, void *buf, size_t size, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t size, size_t room, int flags,
		       struct sockaddr *addr, socklen_t *addrlen);
void __chk_fail(void) __attribute__((noreturn));

EXPORT ssize_t __read_chk(int fd, void *buf, size_t size, size_t room)
{
	if (size > room)
		__chk_fail();
	return read(fd, buf, size);
}

EXPORT ssize_t __recv_chk(int fd, void *buf, size_t size, size_t room, int flags)
{
	if (size > room)
		__chk_fail();
	return recv(fd, buf, size, flags);
}

EXPORT ssize_t __recvfrom_chk(int fd, void *buf, size_t size, size_t room, int flags,
			      struct sockaddr *addr, socklen_t *addrlen)
{
	if (size > room)
		__chk_fail();
	return recvfrom(fd, buf, size, flags, addr, addrlen);
}

/* ---- files ---- */

static ssize_t file_read(int file, void *bytes, size_t size, const off64_t *offset)
{
	return offset ? pread64(file, bytes, size, *offset) : real()->read(file, bytes, size);
}

/* What was read and not sent is read again the next time. */
static int file_go_back(int file, off64_t count)
{
	return count && lseek64(file, -count, SEEK_CUR) < 0 ? -1 : 0;
}

static ssize_t file_send(int rs, int file, off64_t *offset, size_t size)
{
	static __thread uint8_t bytes[FILE_PIECE];
	size_t sent = 0;
	ssize_t n, done;

	while (sent < size) {
		n = file_read(file, bytes, min_of(size - sent, sizeof(bytes)), offset);
		if (n <= 0)
			return sent ? (ssize_t)sent : n;
		done = RS(rsend(rs, bytes, n, 0));
		if (offset)
			*offset += max_of(done, (ssize_t)0);
		else if (file_go_back(file, n - max_of(done, (ssize_t)0)) < 0)
			return -1;
		if (done < 0)
			return sent ? (ssize_t)sent : -1;
		sent += done;
		if (done < n)
			break;
	}
	return sent;
}

EXPORT ssize_t sendfile64(int fd, int file, off64_t *offset, size_t size)
{
	int rs = fd_use(fd);

	return rs >= 0 ? file_send(rs, file, offset, size)
		       : real()->sendfile64(fd, file, offset, size);
}

EXPORT ssize_t sendfile(int fd, int file, off_t *offset, size_t size)
{
	int rs = fd_use(fd);
	off64_t wide = offset ? *offset : 0;
	ssize_t n;

	if (rs < 0)
		return real()->sendfile(fd, file, offset, size);
	n = file_send(rs, file, offset ? &wide : NULL, size);
	if (offset)
		*offset = wide;
	return n;
}
