/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rpoll() and rselect(). The kernel polls the descriptors that are not sockets over RDMA. */
#include <alloca.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "librdmacm/rsocket/private.h"
#include "librdmacm/rsocket/rs.h"

/*
 * Poll one socket. Return: 1 if it has events, 0, or -1 if @fd is not a socket over RDMA.
 * *ret_offer is set if the processor is to be offered to other threads.
 */
static int socket_look(struct pollfd *p, bool woken, bool *ret_offer)
{
	struct rs_socket *s = rs_table_find(p->fd);

	if (!s)
		return -1;
	pthread_mutex_lock(&s->lock);
	if (woken)
		rs_drain(s);
	rs_glance(s);
	p->revents = rs_revents(s, p->events);
	*ret_offer |= rs_spin_looked(&s->spin, p->revents);
	pthread_mutex_unlock(&s->lock);
	rs_socket_put(s);
	return p->revents != 0;
}

/* Arm the CQ of a socket before the sleep. False: an event came meanwhile, or the socket has gone.
 */
static bool socket_arm(const struct pollfd *p)
{
	struct rs_socket *s = rs_table_find(p->fd);
	bool quiet;

	if (!s)
		return false;
	pthread_mutex_lock(&s->lock);
	quiet = !s->moving && rs_arm(s) && !rs_revents(s, p->events);
	if (quiet)
		rs_listener_hush(s);
	s->pollers += quiet;
	pthread_mutex_unlock(&s->lock);
	rs_socket_put(s);
	return quiet;
}

/*
 * Poll all sockets. @ours[i]: fds[i] is a socket over RDMA. @real: the kernel's result for their
 * descriptors, or NULL. Return: the number of sockets with events.
 */
static int sockets_look(struct pollfd *fds, const struct pollfd *real, nfds_t nfds, bool *ours)
{
	bool offer = false;
	int ready = 0;

	for (nfds_t i = 0; i < nfds; i++) {
		int r;

		fds[i].revents = 0;
		r = fds[i].fd < 0 ? -1 : socket_look(&fds[i], real && real[i].revents, &offer);
		if (r < 0 && fds[i].events & RS_POLL_SOCKET) {
			fds[i].revents = POLLNVAL;
			r = 1;
		}
		ours[i] = r >= 0;
		if (r < 0)
			rs_poller_is_polled(fds[i].fd);
		ready += r > 0;
	}
	if (offer && !ready)
		sched_yield();
	return ready;
}

/* Undo socket_arm() after the sleep. */
static void socket_leave(int fd)
{
	struct rs_socket *s = rs_table_find(fd);

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	if (s->pollers)
		s->pollers--;
	pthread_mutex_unlock(&s->lock);
	rs_socket_put(s);
}

static void sockets_leave(const struct pollfd *fds, nfds_t nfds, const bool *ours)
{
	for (nfds_t i = 0; i < nfds; i++)
		if (ours[i])
			socket_leave(fds[i].fd);
}

static bool sockets_arm(const struct pollfd *fds, nfds_t nfds, const bool *ours)
{
	for (nfds_t i = 0; i < nfds; i++) {
		if (!ours[i] || socket_arm(&fds[i]))
			continue;
		sockets_leave(fds, i, ours);
		return false;
	}
	return true;
}

/*
 * Poll in the kernel: its own descriptors, and with @sleep those of sockets as well. Return: the
 * number of its own with events, or -errno.
 */
static int kernel_poll(struct pollfd *fds, struct pollfd *real, nfds_t nfds, const bool *ours,
		       bool sleep, int timeout, const sigset_t *mask)
{
	struct timespec time = { timeout / 1000, timeout % 1000 * 1000000L };

	int ready = 0, asked = 0;

	for (nfds_t i = 0; i < nfds; i++) {
		real[i] = fds[i];
		real[i].revents = 0;
		if (ours[i])
			real[i].events = POLLIN;
		if (ours[i] && !sleep)
			real[i].fd = -1;
		asked += real[i].fd >= 0;
	}
	if (!sleep && !asked)
		return 0;
	if (ppoll(real, nfds, timeout < 0 ? NULL : &time, mask) < 0)
		return -errno;
	for (nfds_t i = 0; i < nfds; i++) {
		if (ours[i])
			continue;
		fds[i].revents = real[i].revents;
		ready += fds[i].revents != 0;
	}
	return ready;
}

struct sleepers {
	const struct pollfd *fds;
	nfds_t nfds;
	const bool *ours;
};

static void sleepers_leave(void *arg)
{
	const struct sleepers *all = arg;

	sockets_leave(all->fds, all->nfds, all->ours);
}

/* Sleep in the kernel, with all sockets armed. Return: as kernel_poll(). */
static int kernel_sleep(struct pollfd *fds, struct pollfd *real, nfds_t nfds, const bool *ours,
			int timeout, const sigset_t *mask)
{
	struct sleepers all = { fds, nfds, ours };
	bool left;
	int r;

	pthread_cleanup_push(sleepers_leave, &all);
	mask = rs_sleep_begin(sleepers_leave, &all, mask);
	r = kernel_poll(fds, real, nfds, ours, true, timeout, mask);
	left = rs_sleep_end();
	pthread_cleanup_pop(0);
	if (!left)
		sleepers_leave(&all);
	return r;
}

static bool any_is_ours(const bool *ours, nfds_t nfds)
{
	for (nfds_t i = 0; i < nfds; i++)
		if (ours[i])
			return true;
	return false;
}

/*
 * Poll the sockets once more, after the kernel found @others of its own. Return: the number of all
 * descriptors with events.
 */
static int mixed_result(struct pollfd *fds, const struct pollfd *real, nfds_t nfds, bool *ours,
			int others)
{
	int ready = sockets_look(fds, real, nfds, ours);

	for (nfds_t i = 0; i < nfds; i++)
		if (!ours[i])
			fds[i].revents = real[i].revents;
	return ready + others;
}

static int poll_mixed(struct pollfd *fds, struct pollfd *real, bool *ours, nfds_t nfds, int timeout,
		      const sigset_t *mask)
{
	uint64_t start = rs_now_ns();
	bool woken = false;

	for (;;) {
		int ready = sockets_look(fds, woken ? real : NULL, nfds, ours);
		int left = rs_timeout_left(timeout, start);
		int others;

		woken = false;
		if (!any_is_ours(ours, nfds))
			return kernel_sleep(fds, real, nfds, ours, left, mask);
		if (ready || left == 0 || rs_now_ns() - start < rs_spin_ns()) {
			others = kernel_poll(fds, real, nfds, ours, false, 0, NULL);
			if (others < 0 || ready || others || left == 0)
				return others < 0 ? others : ready + others;
			continue;
		}
		if (!sockets_arm(fds, nfds, ours))
			continue;
		others = kernel_sleep(fds, real, nfds, ours, left, mask);
		if (others)
			return others < 0 ? others : mixed_result(fds, real, nfds, ours, others);
		woken = true;
	}
}

static bool is_time(const struct timespec *time)
{
	return !time || (time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < 1000000000);
}

static int timeout_ms(const struct timespec *timeout)
{
	if (!timeout)
		return -1;
	if (timeout->tv_sec >= INT_MAX / 1000)
		return INT_MAX;
	return timeout->tv_sec * 1000 + (timeout->tv_nsec + 999999) / 1000000;
}

static int fds_poll_many(struct pollfd *fds, nfds_t nfds, int timeout, const sigset_t *mask)
{
	struct pollfd *real = calloc(nfds, sizeof(*real) + sizeof(bool));
	int r;

	if (!real)
		return -ENOMEM;
	pthread_cleanup_push(free, real);
	r = poll_mixed(fds, real, (bool *)(real + nfds), nfds, timeout, mask);
	pthread_cleanup_pop(1);
	return r;
}

static int fds_poll(struct pollfd *fds, nfds_t nfds, int timeout, const sigset_t *mask)
{
	RS_CALL_SLEEPY;
	struct pollfd *real;

	if (nfds > RS_POLL_ON_STACK)
		return rs_ret(fds_poll_many(fds, nfds, timeout, mask));
	real = alloca((nfds + 1) * (sizeof(*real) + sizeof(bool)));
	return rs_ret(poll_mixed(fds, real, (bool *)(real + nfds), nfds, timeout, mask));
}

RS_EXPORT int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
	return fds_poll(fds, nfds, timeout, NULL);
}

RS_EXPORT int rppoll(struct pollfd *fds, nfds_t nfds, const struct timespec *timeout,
		     const sigset_t *sigmask)
{
	if (!is_time(timeout))
		return rs_ret(-EINVAL);
	return fds_poll(fds, nfds, timeout_ms(timeout), sigmask);
}

/* ---- select ---- */

static nfds_t select_fds(struct pollfd *fds, int nfds, fd_set *read, fd_set *write, fd_set *except)
{
	nfds_t count = 0;

	for (int fd = 0; fd < nfds; fd++) {
		short events = (read && FD_ISSET(fd, read) ? POLLIN : 0) |
			       (write && FD_ISSET(fd, write) ? POLLOUT : 0) |
			       (except && FD_ISSET(fd, except) ? POLLPRI : 0);

		if (events)
			fds[count++] = (struct pollfd){ .fd = fd, .events = events };
	}
	return count;
}

static int select_result(const struct pollfd *fds, nfds_t count, fd_set *read, fd_set *write,
			 fd_set *except)
{
	int bits = 0;

	if (read)
		FD_ZERO(read);
	if (write)
		FD_ZERO(write);
	if (except)
		FD_ZERO(except);
	for (nfds_t i = 0; i < count; i++) {
		if (read && fds[i].events & POLLIN &&
		    fds[i].revents & (POLLIN | POLLHUP | POLLERR)) {
			FD_SET(fds[i].fd, read);
			bits++;
		}
		if (write && fds[i].events & POLLOUT && fds[i].revents & (POLLOUT | POLLERR)) {
			FD_SET(fds[i].fd, write);
			bits++;
		}
		if (except && fds[i].events & POLLPRI && fds[i].revents & POLLPRI) {
			FD_SET(fds[i].fd, except);
			bits++;
		}
	}
	return bits;
}

static int fds_select(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
		      const struct timespec *timeout, const sigset_t *mask)
{
	struct pollfd *fds;
	nfds_t count;
	int r;

	if (nfds < 0 || !is_time(timeout))
		return rs_ret(-EINVAL);
	fds = calloc(max_of(nfds, 1), sizeof(*fds));
	if (!fds)
		return rs_ret(-ENOMEM);
	pthread_cleanup_push(free, fds);
	count = select_fds(fds, nfds, readfds, writefds, exceptfds);
	r = fds_poll(fds, count, timeout_ms(timeout), mask);
	if (r >= 0)
		r = select_result(fds, count, readfds, writefds, exceptfds);
	pthread_cleanup_pop(1);
	return r;
}

RS_EXPORT int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
		      struct timeval *timeout)
{
	struct timespec time = {};

	if (timeout) { /* as select(), accept more than a second of microseconds */
		time.tv_sec = timeout->tv_sec + timeout->tv_usec / 1000000;
		time.tv_nsec = timeout->tv_usec % 1000000 * 1000;
	}
	return fds_select(nfds, readfds, writefds, exceptfds, timeout ? &time : NULL, NULL);
}

RS_EXPORT int rpselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
		       const struct timespec *timeout, const sigset_t *sigmask)
{
	return fds_select(nfds, readfds, writefds, exceptfds, timeout, sigmask);
}
