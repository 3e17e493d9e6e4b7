/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Replacing an RDMA socket by a TCP or UDP socket, or by a fresh RDMA socket. All descriptors of
 * the socket are replaced, with their flags, the options that the program set, and their entries in
 * epolls.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "librdmacm/preload/preload.h"
#include "librdmacm/rsocket/private.h"

/* Return the size of the name that the program bound the socket to, or 0. */
static socklen_t bound_name(int rs, struct sockaddr_storage *ret_name)
{
	socklen_t size = sizeof(*ret_name);

	if (!fd_is_bound(rs) || RS(rgetsockname(rs, (struct sockaddr *)ret_name, &size)) < 0)
		return 0;
	return size;
}

/* ---- descriptors ---- */

/* Make @fd a duplicate of @by. @rs: its RDMA socket from now on, or -1. */
static void number_replace(int fd, int by, int rs)
{
	int flags = real()->fcntl(fd, F_GETFD, 0);

	real()->dup3(by, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
	if (rs >= 0)
		fd_set_socket(fd, rs);
}

/*
 * Make each descriptor of the socket @old a duplicate of @by. @rs: the RDMA socket of @by, or -1.
 * The number is never free during the call, so another thread cannot get it. @fell: see
 * fd_set_group().
 */
static void socket_replace(int old, int by, int rs, bool fell)
{
	int group = fell ? fd_group_new() : 0;
	struct entries e = socket_entries_take(old);
	bool keeps_number = false;
	int *fds = NULL, count = 0;

	for (int fd = -1; (fd = fd_next(fd + 1, old)) >= 0;) {
		int *more = realloc(fds, (count + 1) * sizeof(*fds));

		if (!more)
			break;
		fds = more;
		fds[count++] = fd;
		keeps_number |= fd == old;
	}
	/* A call that the end of the old socket wakes waits for the lock, and finds the new one. */
	relay_lock();
	for (int i = 0; i < count; i++)
		fd_release(fds[i]);
	RS(keeps_number ? rdetach(old) : rclose(old));
	for (int i = 0; i < count; i++) {
		number_replace(fds[i], by, rs);
		fd_set_group(fds[i], group, fell);
	}
	relay_unlock();
	free(fds);
	socket_entries_give(&e);
}

/* ---- to TCP ---- */

static int tcp_open(int rs)
{
	int type = socket_option(rs, SO_TYPE), error = errno;
	int tcp = real()->socket(socket_option(rs, SO_DOMAIN), type | SOCK_CLOEXEC, 0);

	if (tcp >= 0)
		socket_options_give(rs, tcp);
	errno = tcp < 0 ? errno : error;
	return tcp;
}

static void fallback_log(int rs, const char *what)
{
	log_warn("rspreload: %s: %s: %s is used", what, strerror(errno),
		 socket_option(rs, SO_TYPE) == SOCK_STREAM ? "TCP" : "UDP");
}

/* Return the size of the name of a datagram socket's peer, or 0. */
static socklen_t peer_name(int rs, struct sockaddr_storage *ret_name)
{
	socklen_t size = sizeof(*ret_name);

	if (socket_option(rs, SO_TYPE) != SOCK_DGRAM ||
	    RS(rgetpeername(rs, (struct sockaddr *)ret_name, &size)) < 0)
		return 0;
	return size;
}

int socket_to_tcp(int fd, const char *what)
{
	int rs = fd_socket(fd), error = errno, tcp, r;
	struct sockaddr_storage name, peer;
	socklen_t size = bound_name(rs, &name), peer_size = peer_name(rs, &peer);

	errno = error;
	fallback_log(rs, what);
	tcp = tcp_open(rs);
	if (tcp < 0)
		return -1;
	/* This frees a port of UDP. */
	socket_replace(rs, tcp, -1, false);
	real()->close(tcp);
	r = size ? real()->bind(fd, (struct sockaddr *)&name, size) : 0;
	return r == 0 && peer_size ? real()->connect(fd, (struct sockaddr *)&peer, peer_size) : r;
}

/*
 * Keep the RDMA socket if TCP fails at once, too: the next connect() of the program may find a
 * server of either kind.
 */
static int stream_connect_tcp(int fd, const struct sockaddr *addr, socklen_t addrlen)
{
	int rs = fd_socket(fd), error = errno, tcp, r;
	struct sockaddr_storage name;
	socklen_t size = bound_name(rs, &name);

	errno = error;
	fallback_log(rs, "connect");
	tcp = tcp_open(rs);
	if (tcp < 0)
		return -1;
	r = size ? real()->bind(tcp, (struct sockaddr *)&name, size) : 0;
	if (r == 0)
		r = real()->connect(tcp, addr, addrlen);
	error = errno;
	if (r == 0 || error == EINPROGRESS || error == EINTR)
		socket_replace(rs, tcp, -1, r < 0 && !size);
	else
		fd_set_spent(rs);
	real()->close(tcp);
	errno = error;
	return r;
}

/* Return whether the last attempt of a TCP socket to connect has failed. */
static bool is_refused(int tcp)
{
	struct tcp_info info;
	socklen_t size = sizeof(info);

	return real()->getsockopt(tcp, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
	       info.tcpi_state == TCP_CLOSE;
}

bool socket_result_take(int fd)
{
	const struct sockaddr_storage addr = { .ss_family = AF_INET };

	if (!is_refused(fd))
		return false;
	/* The kernel returns the result first. After that, it refuses the short address. */
	return real()->connect(fd, (const struct sockaddr *)&addr, sizeof(addr.ss_family)) < 0 &&
	       errno != EINVAL;
}

int socket_to_rdma(int fd)
{
	int domain = AF_INET, fresh, flags = real()->fcntl(fd, F_GETFL, NULL);
	socklen_t size = sizeof(domain);
	struct entries e = {};
	int other = -1;

	if (!is_refused(fd) || real()->getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) < 0)
		return -1;
	fresh = RS(rsocket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (fresh < 0)
		return -1;
	socket_options_copy(fd, fresh);
	RS(rfcntl(fresh, F_SETFL, flags));
	while ((other = fd_next_of_group(fd, other + 1)) >= 0) {
		kernel_entries_take(other, &e);
		number_replace(other, fresh, fresh);
		fd_set_group(other, 0, false);
	}
	kernel_entries_take(fd, &e);
	number_replace(fd, fresh, fresh);
	fd_set_group(fd, 0, false);
	socket_entries_give(&e);
	return fresh;
}

int socket_connect_tcp(int fd, const struct sockaddr *addr, socklen_t addrlen)
{
	if (socket_option(fd_socket(fd), SO_TYPE) == SOCK_STREAM)
		return stream_connect_tcp(fd, addr, addrlen);
	/* The port of a datagram socket is free only after the replacement. */
	return socket_to_tcp(fd, "connect") < 0 ? -1 : real()->connect(fd, addr, addrlen);
}

/*
 * Put a fresh RDMA socket with the options of the old one in its place. @drop: reset the connection
 * of the old one. Return: the socket, which is the old one after a failure.
 */
static int socket_refresh(int rs, bool drop)
{
	const struct linger at_once = { .l_onoff = 1 };
	struct sockaddr_storage name;
	int fresh = socket_fresh(rs);
	socklen_t size;

	if (fresh < 0)
		return rs;
	size = bound_name(rs, &name);
	if (drop)
		RS(rsetsockopt(rs, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)));
	socket_replace(rs, fresh, fresh, false);
	if (size && RS(rbind(fresh, (struct sockaddr *)&name, size)) == 0)
		fd_set_bound(fresh);
	return fresh;
}

int socket_renew(int fd)
{
	int rs = fd_socket(fd);

	return fd_is_spent(rs) ? socket_refresh(rs, false) : rs;
}

int socket_disconnect(int fd)
{
	int rs = fd_socket(fd);

	return socket_refresh(rs, true) == rs ? -1 : 0;
}

int socket_disconnect_relayed(int fd)
{
	int fresh = relay_reset(inherited_relay(fd)), other = -1;
	int flags = real()->fcntl(fd, F_GETFL, NULL);
	struct entries e = {};

	if (fresh < 0)
		fresh = RS(rsocket(inherited_family(fd, NULL), SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (fresh < 0)
		return -1;
	RS(rfcntl(fresh, F_SETFL, flags));
	real()->shutdown(fd, SHUT_RDWR);
	while ((other = fd_next(other + 1, FD_RELAYED)) >= 0) {
		if (other == fd || !inherited_is_same(fd, other))
			continue;
		kernel_entries_take(other, &e);
		inherited_forget(other);
		number_replace(other, fresh, fresh);
	}
	kernel_entries_take(fd, &e);
	inherited_forget(fd);
	number_replace(fd, fresh, fresh);
	socket_entries_give(&e);
	return 0;
}

bool socket_is_udp_now(int fd)
{
	int rs = fd_socket(fd), error = errno;
	bool done = false;

	/* No device, no memory that a device could use, or the device of a parent. */
	if ((error == ENODEV || error == ENOMEM || error == EPERM || error == EIO) && rs >= 0 &&
	    socket_option(rs, SO_TYPE) == SOCK_DGRAM) {
		errno = error;
		done = socket_to_tcp(fd, "send") == 0;
	}
	errno = error;
	return done;
}
