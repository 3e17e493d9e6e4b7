/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <alloca.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "librdmacm/preload/preload.h"
#include "librdmacm/rsocket/private.h"

/* ---- poll ---- */

#define CLOSED_FD INT_MAX /* no socket has this number, therefore a poll reports POLLNVAL */

/* Return whether @fd is an RDMA socket, one that is being closed, or an epoll with RDMA sockets. */
static bool is_ours(int fd)
{
	int rs = fd_use(fd);

	return rs >= 0 || rs == FD_POLLER || fd_is_closing(fd, rs);
}

/* Return whether the kernel refuses the list, before it reads the list. */
static bool is_too_long(nfds_t count)
{
	struct rlimit limit;

	return count > RS_POLL_ON_STACK && getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	       count > limit.rlim_cur;
}

static bool any_is_ours(struct pollfd *fds, nfds_t count)
{
	if (is_too_long(count))
		return false;
	for (nfds_t i = 0; i < count; i++)
		if (is_ours(fds[i].fd))
			return true;
	return false;
}

static int64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ll + time.tv_nsec;
}

/* Return whether the number is no longer that socket: a child claimed it, or a thread closed it. */
static bool has_moved(int fd, const struct pollfd *own)
{
	if (!own->revents || !(own->events & RS_POLL_SOCKET) || own->fd == CLOSED_FD)
		return false;
	return own->revents & POLLNVAL ? relay_has_moved(fd, own->fd) : fd_socket(fd) != own->fd;
}

static bool any_has_moved(const struct pollfd *fds, const struct pollfd *own, nfds_t count)
{
	for (nfds_t i = 0; i < count; i++)
		if (has_moved(fds[i].fd, &own[i]))
			return true;
	return false;
}

/* Poll with the numbers of the RDMA sockets, because duplicates have other numbers. */
static int own_poll(struct pollfd *fds, struct pollfd *own, nfds_t count,
		    const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec left = timeout ? *timeout : (struct timespec){};
	/* 2^30 seconds are 34 years: no program sees the end, and the sum cannot overflow. */
	int64_t seconds = min_of((int64_t)left.tv_sec, INT64_C(1) << 30), ns;
	int64_t end = timeout ? now_ns() + seconds * 1000000000 + left.tv_nsec : 0;
	int r;

	do {
		for (nfds_t i = 0; i < count; i++) {
			int rs = fd_use(fds[i].fd);

			own[i] = fds[i];
			own[i].events &= ~RS_POLL_SOCKET;
			if (rs >= 0)
				own[i] = (struct pollfd){ rs, fds[i].events | RS_POLL_SOCKET, 0 };
			else if (fd_is_closing(fds[i].fd, rs))
				own[i] = (struct pollfd){ CLOSED_FD, RS_POLL_SOCKET, 0 };
		}
		r = RS_SLEEPY(rppoll(own, count, timeout ? &left : NULL, mask));
		ns = timeout ? max_of(end - now_ns(), INT64_C(0)) : 0;
		left = (struct timespec){ ns / 1000000000, ns % 1000000000 };
	} while (r > 0 && any_has_moved(fds, own, count));
	for (nfds_t i = 0; i < count && r >= 0; i++)
		fds[i].revents = own[i].revents;
	return r;
}

static int long_list_poll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
			  const sigset_t *mask)
{
	struct pollfd *own = malloc(count * sizeof(*own));
	int r;

	if (!own) {
		errno = ENOMEM;
		return -1;
	}
	pthread_cleanup_push(free, own);
	r = own_poll(fds, own, count, timeout, mask);
	pthread_cleanup_pop(1);
	return r;
}

static int sockets_poll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
			const sigset_t *mask)
{
	if (count > RS_POLL_ON_STACK)
		return long_list_poll(fds, count, timeout, mask);
	return own_poll(fds, alloca((count + 1) * sizeof(*fds)), count, timeout, mask);
}

EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	const struct timespec time = { timeout / 1000, timeout % 1000 * 1000000L };

	if (preload_inside || !any_is_ours(fds, count))
		return real()->poll(fds, count, timeout);
	return sockets_poll(fds, count, timeout < 0 ? NULL : &time, NULL);
}

EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		 const sigset_t *mask)
{
	if (preload_inside || !any_is_ours(fds, count))
		return real()->ppoll(fds, count, timeout, mask);
	return sockets_poll(fds, count, timeout, mask);
}

int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		const sigset_t *mask, size_t room);
void __chk_fail(void) __attribute__((noreturn));

EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room)
{
	if (room / sizeof(*fds) < count)
		__chk_fail();
	return poll(fds, count, timeout);
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *timeout,
		       const sigset_t *mask, size_t room)
{
	if (room / sizeof(*fds) < count)
		__chk_fail();
	return ppoll(fds, count, timeout, mask);
}

/* ---- select: as poll, with one entry for each descriptor of the sets ---- */

static int64_t now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000ll + time.tv_nsec / 1000;
}

struct sets {
	int count;
	fd_set *in, *out, *except;
};

static bool set_has(const fd_set *set, int fd)
{
	return set && FD_ISSET(fd, set);
}

static short set_events(const struct sets *sets, int fd)
{
	return (set_has(sets->in, fd) ? POLLIN : 0) | (set_has(sets->out, fd) ? POLLOUT : 0) |
	       (set_has(sets->except, fd) ? POLLPRI : 0);
}

/* Return the number of descriptors in the sets. *ret_ours: some of them need the RDMA library. */
static nfds_t sets_count(const struct sets *sets, bool *ret_ours)
{
	nfds_t used = 0;

	*ret_ours = false;
	for (int fd = 0; fd < sets->count; fd++) {
		if (!set_events(sets, fd))
			continue;
		used++;
		*ret_ours |= is_ours(fd);
	}
	return used;
}

static void sets_read(const struct sets *sets, struct pollfd *fds)
{
	for (int fd = 0; fd < sets->count; fd++)
		if (set_events(sets, fd))
			*fds++ = (struct pollfd){ .fd = fd, .events = set_events(sets, fd) };
}

static int set_write(fd_set *set, const struct pollfd *fds, nfds_t used, short event, short means)
{
	int bits = 0;

	for (nfds_t i = 0; set && i < used; i++) {
		if (!(fds[i].events & event))
			continue;
		if (fds[i].revents & means)
			bits++;
		else
			FD_CLR(fds[i].fd, set);
	}
	return bits;
}

#define MEANS_IN     (POLLIN | POLLHUP | POLLERR)
#define MEANS_OUT    (POLLOUT | POLLERR)
#define MEANS_EXCEPT POLLPRI

/*
 * Exclude descriptors that are ready only for conditions of other sets. An example is an ended
 * socket that is only in the third set. Return: true if no ready descriptor
 * is left.
 */
static bool unasked_drop(struct pollfd *fds, nfds_t used)
{
	bool none = true;

	for (nfds_t i = 0; i < used; i++) {
		short means = (fds[i].events & POLLIN ? MEANS_IN : 0) |
			      (fds[i].events & POLLOUT ? MEANS_OUT : 0) |
			      (fds[i].events & POLLPRI ? MEANS_EXCEPT : 0);

		if (fds[i].revents & (means | POLLNVAL))
			none = false;
		else if (fds[i].revents)
			fds[i].fd = -1 - fds[i].fd; /* poll() ignores it */
	}
	return none;
}

static void unasked_restore(struct pollfd *fds, nfds_t used)
{
	for (nfds_t i = 0; i < used; i++)
		if (fds[i].fd < 0)
			fds[i] = (struct pollfd){ -1 - fds[i].fd, fds[i].events, 0 };
}

/* Poll until a descriptor is ready for one of its sets. */
static int asked_poll(struct pollfd *fds, nfds_t used, const struct timespec *timeout,
		      const sigset_t *mask)
{
	int64_t end =
		timeout ? now_us() + timeout->tv_sec * 1000000ll + timeout->tv_nsec / 1000 : 0;
	struct timespec left;
	int r = sockets_poll(fds, used, timeout, mask);

	while (r > 0 && unasked_drop(fds, used)) {
		int64_t us = timeout ? max_of(end - now_us(), INT64_C(0)) : 0;

		left = (struct timespec){ us / 1000000, us % 1000000 * 1000 };
		r = sockets_poll(fds, used, timeout ? &left : NULL, mask);
	}
	unasked_restore(fds, used);
	return r;
}

static int sets_poll(const struct sets *sets, struct pollfd *fds, nfds_t used,
		     const struct timespec *timeout, const sigset_t *mask)
{
	sets_read(sets, fds);
	if (asked_poll(fds, used, timeout, mask) < 0)
		return -1;
	for (nfds_t i = 0; i < used; i++) {
		if (fds[i].revents & POLLNVAL) {
			errno = EBADF;
			return -1;
		}
	}
	return set_write(sets->in, fds, used, POLLIN, MEANS_IN) +
	       set_write(sets->out, fds, used, POLLOUT, MEANS_OUT) +
	       set_write(sets->except, fds, used, POLLPRI, MEANS_EXCEPT);
}

static int large_sets_poll(const struct sets *sets, nfds_t used, const struct timespec *timeout,
			   const sigset_t *mask)
{
	struct pollfd *fds = malloc(used * sizeof(*fds));
	int r;

	if (!fds) {
		errno = ENOMEM;
		return -1;
	}
	pthread_cleanup_push(free, fds);
	r = sets_poll(sets, fds, used, timeout, mask);
	pthread_cleanup_pop(1);
	return r;
}

EXPORT int pselect(int count, fd_set *in, fd_set *out, fd_set *except,
		   const struct timespec *timeout, const sigset_t *mask)
{
	const struct sets sets = { count, in, out, except };
	nfds_t used;
	bool ours;

	if (preload_inside || count <= 0)
		return real()->pselect(count, in, out, except, timeout, mask);
	used = sets_count(&sets, &ours);
	if (!ours)
		return real()->pselect(count, in, out, except, timeout, mask);
	if (used > RS_POLL_ON_STACK)
		return large_sets_poll(&sets, used, timeout, mask);
	return sets_poll(&sets, alloca(used * sizeof(struct pollfd)), used, timeout, mask);
}

/* Store the time that is left, as Linux does. */
static void time_left(struct timeval *timeout, int64_t us)
{
	*timeout = (struct timeval){ max_of(us, INT64_C(0)) / 1000000,
				     max_of(us, INT64_C(0)) % 1000000 };
}

EXPORT int select(int count, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
	struct timespec time = {};
	int64_t start, us;
	int r, error;

	if (preload_inside || count <= 0 || !timeout)
		return preload_inside || count <= 0
			       ? real()->select(count, in, out, except, timeout)
			       : pselect(count, in, out, except, NULL, NULL);
	time = (struct timespec){ timeout->tv_sec + timeout->tv_usec / 1000000,
				  timeout->tv_usec % 1000000 * 1000 };
	us = timeout->tv_sec * 1000000ll + timeout->tv_usec;
	start = now_us();
	r = pselect(count, in, out, except, &time, NULL);
	error = errno;
	if (r >= 0 || error == EINTR)
		time_left(timeout, r == 0 ? 0 : us - (now_us() - start));
	errno = error;
	return r;
}

/* ---- epoll ---- */

/* Create an epoll of the kernel. Adding an RDMA socket later makes it a poller of RDMA sockets, and
 * its duplicates as well. */
static int epoll_note(int epfd)
{
	if (epfd >= 0 && !preload_inside)
		fd_set_group(epfd, fd_group_new(), false);
	return epfd;
}

EXPORT int epoll_create(int size)
{
	return epoll_note(real()->epoll_create(size));
}

EXPORT int epoll_create1(int flags)
{
	return epoll_note(real()->epoll_create1(flags));
}

/* The epoll is a poller of RDMA sockets from now on. */
static void poller_begin(int epfd)
{
	int copy = -1;

	if (fd_socket(epfd) == FD_POLLER)
		return;
	while ((copy = fd_next_of_group(epfd, copy + 1)) >= 0)
		if (RS(rs_poller_copy(epfd, copy)) == 0)
			fd_set_kind(copy, FD_POLLER);
	fd_set_kind(epfd, FD_POLLER);
}

/*
 * Return whether @fd is an epoll. @outer contains @fd, therefore @fd cannot contain @outer, and the
 * removal has no effect. The kernel's error shows whether @fd is an epoll.
 */
static bool is_epoll(int fd, int outer)
{
	int error = errno, r = real()->epoll_ctl(fd, EPOLL_CTL_DEL, outer, NULL);
	bool is = r == 0 || errno == ENOENT;

	errno = error;
	return is;
}

EXPORT int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	int rs = fd_use(fd), r;
	bool moved;

	if (preload_inside)
		return real()->epoll_ctl(epfd, op, fd, event);
	/* An RDMA socket is an epoll for the kernel, but not for the program. */
	if (fd_socket(epfd) >= 0) {
		if (real()->fcntl(fd, F_GETFD, NULL) >= 0)
			errno = EINVAL;
		return -1;
	}
	if (fd_is_closing(fd, rs)) {
		errno = EBADF;
		return -1;
	}
	if (rs < 0) {
		r = RS(repoll_ctl(epfd, op, fd, event));
		if (r == 0 && op == EPOLL_CTL_ADD && is_epoll(fd, epfd))
			fd_set_outer(fd);
		return r;
	}
	/* A child that claims the socket takes its entries. */
	relay_lock();
	moved = fd_socket(fd) != rs;
	r = moved ? 0 : RS(rs_entry_ctl(epfd, op, rs, fd, event));
	relay_unlock();
	if (moved)
		return epoll_ctl(epfd, op, fd, event);
	if (r < 0 || op != EPOLL_CTL_ADD)
		return r;
	poller_begin(epfd);
	if (fd_is_outer(epfd))
		RS(rpoll(&(struct pollfd){ .fd = epfd }, 1, 0));
	return 0;
}

/* Wait by the RDMA library. An RDMA socket is an epoll for the kernel, but not for the program. */
static int poller_wait(int epfd, struct epoll_event *events, int max, int timeout,
		       const sigset_t *mask)
{
	if (fd_socket(epfd) >= 0) {
		errno = EINVAL;
		return -1;
	}
	/* Another thread may add a socket to the epoll while this thread waits. */
	return RS_SLEEPY(repoll_pwait(epfd, events, max, timeout, mask));
}

EXPORT int epoll_pwait(int epfd, struct epoll_event *events, int max, int timeout,
		       const sigset_t *mask)
{
	return preload_inside ? real()->epoll_pwait(epfd, events, max, timeout, mask)
			      : poller_wait(epfd, events, max, timeout, mask);
}

/* Convert to milliseconds, rounded up. Return: -1: no limit; -2: an invalid time. */
static int timeout_ms(const struct timespec *timeout)
{
	if (!timeout)
		return -1;
	if (timeout->tv_sec < 0 || timeout->tv_nsec < 0 || timeout->tv_nsec >= 1000000000)
		return -2;
	if (timeout->tv_sec >= INT_MAX / 1000)
		return INT_MAX;
	return timeout->tv_sec * 1000 + (timeout->tv_nsec + 999999) / 1000000;
}

EXPORT int epoll_pwait2(int epfd, struct epoll_event *events, int max,
			const struct timespec *timeout, const sigset_t *mask)
{
	int ms = timeout_ms(timeout);

	if (preload_inside)
		return real()->epoll_pwait2(epfd, events, max, timeout, mask);
	if (ms < -1) {
		errno = EINVAL;
		return -1;
	}
	return poller_wait(epfd, events, max, ms, mask);
}

EXPORT int epoll_wait(int epfd, struct epoll_event *events, int max, int timeout)
{
	return preload_inside ? real()->epoll_wait(epfd, events, max, timeout)
			      : poller_wait(epfd, events, max, timeout, NULL);
}
