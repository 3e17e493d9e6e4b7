/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "librdmacm/preload/table.h"
#include "librdmacm/rsocket/private.h"

/* Release a descriptor of a child. After the last one, tell the parent. */
static void inherited_release(int fd, int kind)
{
	if (kind <= FD_INHERITED) {
		struct place *base = place_find(FD_INHERITED - kind);

		fd_forget(fd, FD_NONE);
		if (atomic_fetch_sub(&base->inherited, 1) == 1)
			inherited_closed(FD_INHERITED - kind);
	} else {
		inherited_forget(fd);
		fd_forget(fd, FD_NONE);
	}
}

/*
 * Detach the descriptor from the RDMA socket. Return: the number of other descriptors and holders;
 * -1: a child has claimed the socket meanwhile. Otherwise the number is marked by
 * rs_closing_begin().
 */
static int socket_release(int fd, int rs)
{
	struct place *place = place_find(rs);
	int left = -1;

	if (fd != rs) {
		preload_inside++;
		rs_entry_closed(rs, fd);
		preload_exit();
	}
	relay_lock();
	if (fd_socket(fd) == rs) {
		rs_closing_begin(fd);
		left = fd_forget(fd, rs) + (place ? atomic_load(&place->holders) : 0);
	}
	relay_unlock();
	return left;
}

/* Let the socket @to take over what belongs to the number @from, with the lock of the relays held.
 */
static void number_inherit(int from, int to)
{
	struct place *old = place_find(from), *new = place_make(to);

	if (!new)
		return;
	for (int fd = -1; (fd = fd_next(fd + 1, from)) >= 0;)
		fd_set_kind(fd, to);
	atomic_store(&new->count, atomic_exchange(&old->count, 0));
	atomic_store(&new->holders, atomic_exchange(&old->holders, 0));
	atomic_store(&new->bound, atomic_load(&old->bound));
	atomic_store(&new->spent, atomic_load(&old->spent));
	relay_renumber(from, to);
}

/*
 * Free the number of the socket for the program, which has closed it, and has duplicates. Return:
 * false: the number stays taken.
 */
static bool number_free(int rs)
{
	int to = -1, error = errno;

	relay_lock();
	if (fd_socket(rs) == FD_NONE && is_needed(rs) && !relay_has_listener(rs))
		to = RS(rs_move(rs, false));
	if (to >= 0)
		number_inherit(rs, to);
	relay_unlock();
	errno = error;
	return to >= 0;
}

static int marked_close(int fd)
{
	rs_closing_end(fd);
	return real()->close(fd);
}

EXPORT int close(int fd)
{
	int rs = fd_socket(fd), left;

	/* The program closed that number before; only duplicates or children need it. */
	if (rs == FD_NONE && !preload_inside && (is_needed(fd) || rs_is_closing(fd))) {
		errno = EBADF;
		return -1;
	}
	if (rs == FD_NONE) {
		plain_forget(fd);
		return real()->close(fd);
	}
	if (rs < 0) {
		if (rs <= FD_RELAYED)
			inherited_release(fd, rs);
		else
			fd_forget(fd, rs);
		return rs == FD_POLLER ? RS(rclose(fd)) : real()->close(fd);
	}
	left = socket_release(fd, rs);
	if (left < 0)
		return close(fd);
	if (left && (fd != rs || number_free(rs)))
		return marked_close(fd);
	if (left) {
		rs_closing_end(fd);
		return 0;
	}
	if (fd != rs)
		marked_close(fd);
	return RS(rclose(rs));
}

/* Return the first number from @fd to @last that is an RDMA socket or needed by one, or -1. */
static int next_ours(unsigned int fd, unsigned int last)
{
	last = min_of(last, BLOCKS * BLOCK_SIZE - 1u);
	while (fd <= last) {
		if (!place_find((int)fd))
			fd |= BLOCK_SIZE - 1; /* the next block */
		else if (fd_socket((int)fd) != FD_NONE || is_needed((int)fd))
			return (int)fd;
		fd++;
	}
	return -1;
}

/*
 * Close a range. RDMA sockets are closed by close(), or stay if duplicates outside the range need
 * them.
 */
EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
	int fd, r;

	if (preload_inside || first > last || flags)
		return real()->close_range(first, last, flags);
	plain_forget_range(first, last);
	for (;;) {
		fd = next_ours(first, last);
		if (fd < 0)
			return real()->close_range(first, last, flags);
		r = (unsigned int)fd == first
			    ? 0
			    : real()->close_range(first, (unsigned int)fd - 1, flags);
		if (r < 0)
			return r;
		close(fd);
		if ((unsigned int)fd == last)
			return 0;
		first = (unsigned int)fd + 1;
	}
}

EXPORT void closefrom(int first)
{
	close_range((unsigned int)max_of(first, 0), ~0u, 0);
}

/*
 * Begin to copy a descriptor. No child claims its socket until copy_end(). Return: as fd_socket().
 */
static int copy_begin(int fd)
{
	fd_use(fd);
	relay_lock();
	return fd_socket(fd);
}

/* Record that @copy is a duplicate of @fd. Return: @copy. */
static int copy_end(int fd, int copy, int rs)
{
	if (copy >= 0 && rs >= 0)
		fd_set_socket(copy, rs);
	relay_unlock();
	if (copy < 0)
		return copy;
	if (rs == FD_NONE)
		plain_copy(fd, copy);
	if (rs >= 0)
		stream_standard(copy);
	else if (rs == FD_POLLER && RS(rs_poller_copy(fd, copy)) == 0)
		fd_set_kind(copy, rs);
	else if (rs == FD_LATER)
		fd_set_kind(copy, rs);
	else if (fd_is_relayed(rs))
		inherited_copy(fd, copy);
	return copy;
}

EXPORT int dup(int fd)
{
	int rs;

	if (fd_socket(fd) == FD_NONE)
		return plain_copy(fd, real()->dup(fd));
	rs = copy_begin(fd);
	return copy_end(fd, real()->dup(fd), rs);
}

/*
 * Close the file of a number. Except for an epoll, the number stays taken until dup3() replaces it.
 */
static void number_vacate(int fd, int rs)
{
	int left = rs >= 0 ? socket_release(fd, rs) : -1;

	rs_closing_end(fd); /* dup3() replaces the number at once */
	if (left == 0)
		RS(fd == rs ? rdetach(rs) : rclose(rs));
	else if (left > 0 && fd == rs)
		number_free(rs);
	else if (rs >= 0 && left < 0)
		number_vacate(fd, fd_socket(fd));
	else if (rs == FD_POLLER)
		close(fd);
	else if (rs <= FD_RELAYED)
		inherited_release(fd, rs);
	else if (rs < 0)
		fd_forget(fd, rs);
}

/*
 * Take the number for another file. Return: false: a relay needs it. Then nothing has changed.
 */
static bool number_take(int fd)
{
	int rs = fd_socket(fd);

	if (rs != FD_NONE)
		number_vacate(fd, rs);
	if (!is_needed(fd))
		return true;
	log_err("dup2: descriptor %d is a listener over RDMA that children use", fd);
	if (rs == fd)
		fd_set_socket(fd, rs);
	errno = EBUSY;
	return false;
}

static int dup_onto(int fd, int copy, int flags)
{
	int rs;

	if (flags & ~O_CLOEXEC) {
		errno = EINVAL;
		return -1;
	}
	if (real()->fcntl(fd, F_GETFD, NULL) < 0 || !number_take(copy))
		return -1;
	rs = copy_begin(fd);
	return copy_end(fd, real()->dup3(fd, copy, flags), rs);
}

static bool is_plain(int fd, int copy)
{
	return fd_socket(fd) == FD_NONE && fd_socket(copy) == FD_NONE &&
	       (preload_inside || !is_needed(copy));
}

EXPORT int dup2(int fd, int copy)
{
	if (is_plain(fd, copy) || fd == copy)
		return plain_copy(fd, real()->dup2(fd, copy));
	return dup_onto(fd, copy, 0);
}

EXPORT int dup3(int fd, int copy, int flags)
{
	if (is_plain(fd, copy) || fd == copy)
		return plain_copy(fd, real()->dup3(fd, copy, flags));
	return dup_onto(fd, copy, flags);
}

static int socket_fcntl(int fd, int rs, int cmd, void *arg)
{
	if (cmd == F_GETFL)
		return RS(rfcntl(rs, F_GETFL));
	if (cmd == F_SETFL)
		return RS(rfcntl(rs, F_SETFL, (int)(intptr_t)arg));
	return real()->fcntl(fd, cmd, arg);
}

/*
 * Handle fcntl(). All arguments of fcntl() and ioctl() fit a pointer, and are passed like a
 * pointer.
 */
static int fcntl_any(int fd, int cmd, va_list args)
{
	void *arg = va_arg(args, void *);
	int rs;

	/* A child that only marks its numbers does not use the sockets. */
	if (cmd == F_GETFD || cmd == F_SETFD)
		return real()->fcntl(fd, cmd, arg);
	if (fd_socket(fd) == FD_NONE && (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC))
		return plain_copy(fd, real()->fcntl(fd, cmd, arg));
	if (fd_socket(fd) == FD_NONE)
		return real()->fcntl(fd, cmd, arg);
	if (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC) {
		rs = copy_begin(fd);
		return copy_end(fd, real()->fcntl(fd, cmd, arg), rs);
	}
	return FD_ASK(fd, now,
		      now >= 0 ? socket_fcntl(fd, now, cmd, arg) : real()->fcntl(fd, cmd, arg));
}

EXPORT int fcntl(int fd, int cmd, ...)
{
	va_list args;
	int r;

	va_start(args, cmd);
	r = fcntl_any(fd, cmd, args);
	va_end(args);
	return r;
}

EXPORT int fcntl64(int fd, int cmd, ...)
{
	va_list args;
	int r;

	va_start(args, cmd);
	r = fcntl_any(fd, cmd, args);
	va_end(args);
	return r;
}

/*
 * Return whether the request is for a socket of the kernel: about an interface, an address, a route
 * or a neighbour.
 */
static bool is_of_network(unsigned long request)
{
	return request >= SIOCADDRT && request < SIOCPROTOPRIVATE;
}

static int ioctl_of_network(unsigned long request, void *arg)
{
	int fd = real()->socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), r, error;

	if (fd < 0)
		return -1;
	r = real()->ioctl(fd, request, arg);
	error = errno;
	real()->close(fd);
	errno = error;
	return r;
}

static int ioctl_any(int fd, int rs, unsigned long request, void *arg)
{
	int r;

	if (rs == FD_RELAYED_DATAGRAM && request == FIONREAD)
		return datagram_bytes_waiting(fd, arg);
	if (rs >= 0 && (request == FIONREAD || request == FIONBIO || request == SIOCOUTQ ||
			request == SIOCATMARK))
		return RS(rioctl(rs, request, arg));
	if (rs >= 0 && is_of_network(request))
		return ioctl_of_network(request, arg);
	r = real()->ioctl(fd, request, arg);
	if (r < 0 && errno == EINVAL && rs >= 0)
		errno = ENOTTY; /* the kernel's epoll returns EINVAL */
	return r;
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (request == FIONREAD)
		fd_use(fd);
	return FD_ASK(fd, rs, ioctl_any(fd, rs, request, arg));
}

EXPORT int sockatmark(int fd)
{
	int mark = 0, rs = fd_know(fd);

	if (rs < 0)
		return real()->sockatmark(fd);
	return RS(rioctl(rs, SIOCATMARK, &mark)) < 0 ? -1 : mark;
}
