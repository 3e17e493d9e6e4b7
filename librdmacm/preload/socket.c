/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "librdmacm/preload/preload.h"
#include "util/env.h"

/* Limit of the wait for an RDMA path, in a connect that does not block. */
#define PATH_TIMEOUT_MS 2000

/*
 * Return whether an RDMA library is the caller. Programs may use RDMA themselves, and sockets of
 * its libraries are left alone.
 */
static bool is_rdma_library(const void *address)
{
	static const char *const names[] = { "libibverbs.so", "librdmacm.so", "-rdmav", "libnl-" };
	Dl_info info;

	if (!dladdr(address, &info) || !info.dli_fname)
		return false;
	for (unsigned int i = 0; i < ARRAY_SIZE(names); i++)
		if (strstr(info.dli_fname, names[i]))
			return true;
	return false;
}

static int type_of(int type)
{
	return type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static bool is_taken(int domain, int type, int protocol)
{
	type = type_of(type);
	if ((domain != AF_INET && domain != AF_INET6) ||
	    (type != SOCK_STREAM && type != SOCK_DGRAM))
		return false;
	return (!protocol || protocol == (type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP)) &&
	       config_takes(domain, type, protocol);
}

/*
 * Low numbers are left to the program, because some programs take no others. The first calls of the
 * RDMA libraries open files. During these calls the low numbers are reserved, so that the files get
 * higher numbers. A process with a low limit reserves half of it.
 */
#define LOW_END 64

struct low {
	int fds[LOW_END];
	int count;
};

static atomic_flag low_of_bind = ATOMIC_FLAG_INIT, low_of_listen = ATOMIC_FLAG_INIT,
		   low_of_connect = ATOMIC_FLAG_INIT;

static void low_reserve(struct low *low, atomic_flag *done)
{
	struct rlimit limit;
	int fd, end = LOW_END;

	low->count = 0;
	if (atomic_flag_test_and_set(done))
		return;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		end = min_of(limit.rlim_cur / 2, (rlim_t)LOW_END);
	while (low->count < end && (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
		low->fds[low->count++] = fd;
		if (fd >= end)
			break;
	}
}

static void low_release(void *arg)
{
	struct low *low = arg;
	int error = errno;

	while (low->count)
		real()->close(low->fds[--low->count]);
	errno = error;
}

static int socket_later(int domain, int type, int protocol)
{
	int tcp = real()->socket(domain, type, protocol);

	if (tcp >= 0)
		fd_set_kind(tcp, FD_LATER);
	return tcp;
}

EXPORT int socket(int domain, int type, int protocol)
{
	int rs;

	if (preload_inside || !is_taken(domain, type, protocol) ||
	    is_rdma_library(__builtin_return_address(0)))
		return real()->socket(domain, type, protocol);
	if (fork_is_wanted() && type_of(type) == SOCK_STREAM)
		return socket_later(domain, type, protocol);
	signals_watch();
	rs = RS(rsocket(domain, type, protocol));
	if (rs < 0) {
		log_warn("rspreload: socket: %s: %s is used", strerror(errno),
			 type_of(type) == SOCK_STREAM ? "TCP" : "UDP");
		return real()->socket(domain, type, protocol);
	}
	relay_start();
	fd_set_socket(rs, rs);
	socket_sizes_set(rs);
	return rs;
}

/*
 * Return whether the error means that RDMA does not reach the address, and not a mistake of the
 * program.
 */
static bool is_no_path(int error)
{
	switch (error) {
	case ENODEV:
	case EADDRNOTAVAIL:
	case EAFNOSUPPORT:
	case ENETUNREACH:
	case EHOSTUNREACH:
	case ENOMEM: /* no memory can be registered */
	case EPERM:  /* no memory may be locked */
	case EIO:    /* the device belongs to the process that this one was forked from */
		return true;
	default:
		return false;
	}
}

static int option_read(int rs, int name)
{
	socklen_t size = sizeof(int);
	int value = 0;

	return RS(rgetsockopt(rs, SOL_SOCKET, name, &value, &size)) < 0 ? 0 : value;
}

static bool has_port(int rs, in_port_t port)
{
	struct sockaddr_storage name = {};
	socklen_t size = sizeof(name);

	return RS(rgetsockname(rs, (struct sockaddr *)&name, &size)) == 0 &&
	       ((struct sockaddr_in *)&name)->sin_port == port; /* in IPv6 at the same place */
}

/*
 * Return whether another listener has the port, and the program allows both to share the port. The
 * port of RDMA has one listener, therefore the second one listens by TCP. The choice of a listener
 * in another process is not known, and counts as permission.
 */
static bool is_shared_port(int rs, int error, const struct sockaddr *addr)
{
	struct sockaddr_storage own = {};
	socklen_t size = sizeof(own);

	if (error != EADDRINUSE || !option_read(rs, SO_REUSEPORT))
		return false;
	if (!addr) {
		RS(rgetsockname(rs, (struct sockaddr *)&own, &size));
		addr = (struct sockaddr *)&own;
	}
	for (int other = -1; (other = fd_next_socket(other + 1)) >= 0;)
		if (other != rs && option_read(other, SO_TYPE) == SOCK_STREAM &&
		    has_port(other, ((const struct sockaddr_in *)addr)->sin_port) &&
		    !option_read(other, SO_REUSEPORT))
			return false;
	return true;
}

/*
 * Replace the socket after rbind() or rlisten() failed, if TCP can serve it. @addr: the address of
 * rbind(), or NULL. Return: 0 or -1.
 */
static int address_to_tcp(int fd, int rs, const struct sockaddr *addr, const char *what)
{
	int error = errno;
	bool replace = is_no_path(error) || is_shared_port(rs, error, addr);

	errno = error;
	return replace ? socket_to_tcp(fd, what) : -1;
}

EXPORT int bind(int fd, const struct sockaddr *addr, socklen_t addrlen)
{
	int rs = fd_socket(fd), r;
	struct low low;

	if (rs < 0)
		return real()->bind(fd, addr, addrlen);
	rs = socket_renew(fd);
	low_reserve(&low, &low_of_bind);
	r = RS(rbind(rs, addr, addrlen));
	low_release(&low);
	if (r == 0) {
		fd_set_bound(rs);
		relay_start_late(START_BIND);
		return 0;
	}
	if (address_to_tcp(fd, rs, addr, "bind") < 0)
		return -1;
	return real()->bind(fd, addr, addrlen);
}

#define RESERVED_FIRST 600
#define RESERVED_END   1024

/* Bind to a port below 1024, as the C library does. */
EXPORT int bindresvport(int fd, struct sockaddr_in *addr)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	unsigned int count = RESERVED_END - RESERVED_FIRST, start = getpid() % count;

	if (!addr)
		addr = &any;
	if (addr->sin_family != AF_INET) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	for (unsigned int i = 0; i < count; i++) {
		addr->sin_port = htons(RESERVED_FIRST + (start + i) % count);
		if (bind(fd, (struct sockaddr *)addr, sizeof(*addr)) == 0)
			return 0;
		if (errno != EADDRINUSE)
			return -1;
	}
	return -1;
}

EXPORT int listen(int fd, int backlog)
{
	int rs = fd_socket(fd), r;
	struct low low;

	if (rs < 0)
		return real()->listen(fd, backlog);
	rs = socket_renew(fd);
	low_reserve(&low, &low_of_listen);
	r = RS(rlisten(rs, backlog));
	low_release(&low);
	if (r == 0) {
		relay_start_late(START_LISTEN);
		return 0;
	}
	if (address_to_tcp(fd, rs, NULL, "listen") < 0)
		return -1;
	return real()->listen(fd, backlog);
}

EXPORT int accept4(int fd, struct sockaddr *addr, socklen_t *addrlen, int flags)
{
	int rs = fd_know(fd), child;

	if (rs == FD_RELAYED_LISTENER)
		return inherited_accept(fd, addr, addrlen, flags);
	if (rs < 0) {
		child = real()->accept4(fd, addr, addrlen, flags);
		if (child >= 0 && rs == FD_LATER)
			fd_set_kind(child, FD_PASSIVE);
		return child;
	}
	child = RS_SLEEPY(raccept4(rs, addr, addrlen, flags));
	if (child >= 0)
		fd_set_socket(child, child);
	return child;
}

EXPORT int accept(int fd, struct sockaddr *addr, socklen_t *addrlen)
{
	return accept4(fd, addr, addrlen, 0);
}

/*
 * Wait for the connection also if the socket does not block, because the program does not call
 * connect() again.
 */
static int path_wait(int rs, const struct sockaddr *addr, socklen_t addrlen)
{
	struct pollfd p = { .fd = rs, .events = POLLOUT };
	socklen_t size = sizeof(int);
	int error = 0;

	if (RS_SLEEPY(rpoll(&p, 1, PATH_TIMEOUT_MS)) <= 0) {
		errno = EINPROGRESS;
		return -1;
	}
	RS(rgetsockopt(rs, SOL_SOCKET, SO_ERROR, &error, &size));
	if (error)
		RS(rconnect(rs, addr, addrlen)); /* from now on the socket is known as refused */
	/* As with TCP, a later call returns the result, even if the connection exists by now. */
	errno = error ? error : EINPROGRESS;
	return -1;
}

/*
 * Return whether the error is about the path, and neither about the call itself nor from another
 * thread that ended it.
 */
static bool is_news_of_path(int error)
{
	static const int of_call[] = { EINPROGRESS, EISCONN, EALREADY,	EINTR,
				       EINVAL,	    EBADF,   ECONNRESET };

	for (unsigned int i = 0; i < ARRAY_SIZE(of_call); i++)
		if (error == of_call[i])
			return false;
	return true;
}

static int by_rdma(int rs, const struct sockaddr *addr, socklen_t addrlen)
{
	struct low low;
	int r;

	low_reserve(&low, &low_of_connect);
	pthread_cleanup_push(low_release, &low);
	r = RS_SLEEPY(rconnect(rs, addr, addrlen));
	pthread_cleanup_pop(1);
	if (r == 0 || errno == EINPROGRESS || errno == ECONNREFUSED)
		relay_start_late(START_CONNECT);
	if (r < 0 && errno == EINPROGRESS)
		r = path_wait(rs, addr, addrlen);
	return r;
}

static bool is_to_none(const struct sockaddr *addr, socklen_t addrlen)
{
	return addr && addrlen >= sizeof(addr->sa_family) && addr->sa_family == AF_UNSPEC;
}

/* Connect a socket that processes share. A shared stream is already connected. */
static int relayed_connect(int fd, int rs, const struct sockaddr *addr, socklen_t addrlen)
{
	if (rs == FD_RELAYED_DATAGRAM)
		return datagram_connect(fd, addr, addrlen);
	if (rs != FD_RELAYED)
		return real()->connect(fd, addr, addrlen);
	if (is_to_none(addr, addrlen))
		return socket_disconnect_relayed(fd);
	errno = EISCONN;
	return -1;
}

EXPORT int connect(int fd, const struct sockaddr *addr, socklen_t addrlen)
{
	int rs = fd_know(fd), r;

	if (rs == FD_LATER)
		return fork_connect(fd, addr, addrlen);
	if (rs >= 0 && is_to_none(addr, addrlen) && option_read(rs, SO_TYPE) == SOCK_STREAM)
		return socket_disconnect(fd);
	if (rs >= 0)
		rs = socket_renew(fd);
	else if (rs == FD_NONE && unlikely(fd_has_fallen(fd)) && !is_to_none(addr, addrlen)) {
		if (socket_result_take(fd))
			return -1;
		rs = socket_to_rdma(fd);
	}
	if (fd_is_relayed(rs))
		return relayed_connect(fd, rs, addr, addrlen);
	if (rs < 0)
		return real()->connect(fd, addr, addrlen);
	r = by_rdma(rs, addr, addrlen);
	if (r == 0 || !is_news_of_path(errno))
		return r;
	return socket_connect_tcp(fd, addr, addrlen);
}

/* Shut down. A listener can listen or connect afterwards, as on TCP. */
static int socket_shutdown(int rs, int how)
{
	bool listens = option_read(rs, SO_ACCEPTCONN);
	int r = RS(rshutdown(rs, how));

	if (r == 0 && listens && how != SHUT_WR && !fd_is_held(rs))
		fd_set_spent(rs);
	return r;
}

static int relayed_shutdown(int fd, int rs, int how)
{
	bool over = rs == FD_RELAYED && relay_is_over(inherited_relay(fd));
	int r;

	if (rs == FD_RELAYED_DATAGRAM)
		return datagram_shutdown(fd, how);
	r = real()->shutdown(fd, how);
	if (r == 0 && over)
		errno = ENOTCONN;
	return over ? -1 : r;
}

EXPORT int shutdown(int fd, int how)
{
	return FD_CALL(fd, rs, socket_shutdown(rs, how), relayed_shutdown(fd, rs, how));
}

static int name_get(int fd, int rs, bool peer, struct sockaddr *addr, socklen_t *addrlen)
{
	if (rs >= 0)
		return peer ? RS(rgetpeername(rs, addr, addrlen))
			    : RS(rgetsockname(rs, addr, addrlen));
	if (fd_is_relayed(rs) && peer && rs == FD_RELAYED && relay_is_over(inherited_relay(fd))) {
		errno = ENOTCONN;
		return -1;
	}
	if (fd_is_relayed(rs))
		return inherited_name(fd, peer, addr, addrlen);
	return peer ? real()->getpeername(fd, addr, addrlen)
		    : real()->getsockname(fd, addr, addrlen);
}

EXPORT int getpeername(int fd, struct sockaddr *addr, socklen_t *addrlen)
{
	return FD_ASK(fd, rs, name_get(fd, rs, true, addr, addrlen));
}

EXPORT int getsockname(int fd, struct sockaddr *addr, socklen_t *addrlen)
{
	return FD_ASK(fd, rs, name_get(fd, rs, false, addr, addrlen));
}
