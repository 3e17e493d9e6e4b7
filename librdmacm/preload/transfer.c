/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <time.h>
#include <unistd.h>

#include "librdmacm/preload/preload.h"
#include "librdmacm/rsocket/private.h"

ssize_t send_signal(int rs, ssize_t n, int flags)
{
	bool unconnected = n < 0 && errno == ENOTCONN;

	if (likely(n >= 0) || (errno != EPIPE && !unconnected))
		return n;
	if (!(flags & MSG_NOSIGNAL) && (unconnected || RS(rs_send_is_signalled(rs))))
		pthread_kill(pthread_self(), SIGPIPE);
	errno = EPIPE;
	return n;
}

/* ---- datagram sockets that processes share ---- */

static ssize_t datagram_take(int fd, const struct iovec *iov, int count, int flags,
			     struct sockaddr *addr, socklen_t *addrlen)
{
	struct msghdr msg = { .msg_name = addrlen ? addr : NULL,
			      .msg_namelen = addrlen ? *addrlen : 0,
			      .msg_iov = (struct iovec *)iov,
			      .msg_iovlen = count };
	ssize_t n = datagram_receive(fd, &msg, flags);

	if (n >= 0 && addr && addrlen)
		*addrlen = msg.msg_namelen;
	return n;
}

static ssize_t datagram_give(int fd, const struct iovec *iov, int count, int flags,
			     const struct sockaddr *addr, socklen_t addrlen)
{
	const struct msghdr msg = { .msg_name = (void *)addr,
				    .msg_namelen = addrlen,
				    .msg_iov = (struct iovec *)iov,
				    .msg_iovlen = count };

	return datagram_send(fd, &msg, flags);
}

/* A buffer as a list of one entry, and the length of the list */
#define ONE(buf, size) (&(const struct iovec){ (void *)(buf), size }), 1

/* Fail with ENOTCONN, because a shared listener has no data. */
static ssize_t listener_refuse(void)
{
	errno = ENOTCONN;
	return -1;
}

/* Choose the call for a descriptor that is no RDMA socket. @datagrams: for shared datagram sockets;
 * @kernels: for others */
#define OTHERS(rs, datagrams, kernels)                     \
	((rs) == FD_RELAYED_DATAGRAM   ? (datagrams)       \
	 : (rs) == FD_RELAYED_LISTENER ? listener_refuse() \
				       : (kernels))

/* ---- receiving ---- */

EXPORT ssize_t read(int fd, void *buf, size_t size)
{
	return FD_CALL(fd, rs, RS_SLEEPY(rread(rs, buf, size)),
		       OTHERS(rs, datagram_take(fd, ONE(buf, size), 0, NULL, NULL),
			      real()->read(fd, buf, size)));
}

EXPORT ssize_t readv(int fd, const struct iovec *iov, int count)
{
	return FD_CALL(fd, rs, RS_SLEEPY(rreadv(rs, iov, count)),
		       OTHERS(rs, datagram_take(fd, iov, count, 0, NULL, NULL),
			      real()->readv(fd, iov, count)));
}

EXPORT ssize_t recv(int fd, void *buf, size_t size, int flags)
{
	return FD_CALL(fd, rs, RS_SLEEPY(rrecv(rs, buf, size, flags)),
		       OTHERS(rs, datagram_take(fd, ONE(buf, size), flags, NULL, NULL),
			      real()->recv(fd, buf, size, flags)));
}

/* As with TCP, a stream has no address. rrecvfrom() names the peer. */
static ssize_t receive_from(int rs, void *buf, size_t size, int flags, struct sockaddr *addr,
			    socklen_t *addrlen)
{
	struct iovec iov = { buf, size };
	struct msghdr msg = { .msg_name = addr, .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (!addr || !addrlen)
		return RS_SLEEPY(rrecv(rs, buf, size, flags));
	msg.msg_namelen = *addrlen;
	n = RS_SLEEPY(rrecvmsg(rs, &msg, flags));
	if (n >= 0)
		*addrlen = msg.msg_namelen;
	return n;
}

EXPORT ssize_t recvfrom(int fd, void *buf, size_t size, int flags, struct sockaddr *addr,
			socklen_t *addrlen)
{
	return FD_CALL(fd, rs, receive_from(rs, buf, size, flags, addr, addrlen),
		       OTHERS(rs, datagram_take(fd, ONE(buf, size), flags, addr, addrlen),
			      real()->recvfrom(fd, buf, size, flags, addr, addrlen)));
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	return FD_CALL(
		fd, rs, RS_SLEEPY(rrecvmsg(rs, msg, flags)),
		OTHERS(rs, datagram_receive(fd, msg, flags), real()->recvmsg(fd, msg, flags)));
}

/* ---- sending ---- */

/* Send without an address on a shared stream. Streams ignore addresses, but a Unix domain socket
 * refuses them. */
static ssize_t kernel_sendto(int fd, const void *buf, size_t size, int flags,
			     const struct sockaddr *addr, socklen_t addrlen)
{
	bool shared = fd_socket(fd) == FD_RELAYED;

	return real()->sendto(fd, buf, size, flags, shared ? NULL : addr, shared ? 0 : addrlen);
}

static ssize_t kernel_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct msghdr unnamed = *msg;

	if (fd_socket(fd) != FD_RELAYED)
		return real()->sendmsg(fd, msg, flags);
	unnamed.msg_name = NULL;
	unnamed.msg_namelen = 0;
	return real()->sendmsg(fd, &unnamed, flags);
}

#define SEND_OTHERS(rs, flags, datagrams, kernels)                                    \
	((rs) == FD_RELAYED_LISTENER ? send_signal(FD_NONE, listener_refuse(), flags) \
				     : OTHERS(rs, datagrams, kernels))

/* As FD_CALL(). The kernel sends if the socket is a UDP socket now. */
#define FD_SEND(fd, rs, flags, ours, datagrams, kernels)                             \
	({                                                                           \
		ssize_t sent_ = FD_CALL(fd, rs, send_signal(rs, ours, flags),        \
					SEND_OTHERS(rs, flags, datagrams, kernels)); \
		sent_ < 0 && socket_is_udp_now(fd) ? (kernels) : sent_;              \
	})

EXPORT ssize_t write(int fd, const void *buf, size_t size)
{
	return FD_SEND(fd, rs, 0, RS_SLEEPY(rwrite(rs, buf, size)),
		       datagram_give(fd, ONE(buf, size), 0, NULL, 0), real()->write(fd, buf, size));
}

EXPORT ssize_t writev(int fd, const struct iovec *iov, int count)
{
	return FD_SEND(fd, rs, 0, RS_SLEEPY(rwritev(rs, iov, count)),
		       datagram_give(fd, iov, count, 0, NULL, 0), real()->writev(fd, iov, count));
}

EXPORT ssize_t send(int fd, const void *buf, size_t size, int flags)
{
	return FD_SEND(fd, rs, flags, RS_SLEEPY(rsend(rs, buf, size, flags)),
		       datagram_give(fd, ONE(buf, size), flags, NULL, 0),
		       real()->send(fd, buf, size, flags));
}

EXPORT ssize_t sendto(int fd, const void *buf, size_t size, int flags, const struct sockaddr *addr,
		      socklen_t addrlen)
{
	return FD_SEND(fd, rs, flags, RS_SLEEPY(rsendto(rs, buf, size, flags, addr, addrlen)),
		       datagram_give(fd, ONE(buf, size), flags, addr, addrlen),
		       kernel_sendto(fd, buf, size, flags, addr, addrlen));
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t n = FD_CALL(fd, rs, send_signal(rs, RS_SLEEPY(rsendmsg(rs, msg, flags)), flags),
			    SEND_OTHERS(rs, flags, datagram_send(fd, msg, flags),
					kernel_sendmsg(fd, msg, flags)));

	/* The kernel refuses control messages for reasons of its own. */
	return n < 0 && !msg->msg_controllen && socket_is_udp_now(fd)
		       ? real()->sendmsg(fd, msg, flags)
		       : n;
}

/* ---- many messages: the next call reports an error behind the first message ---- */

static bool is_kernels(int kind)
{
	return kind < 0 && kind != FD_RELAYED_DATAGRAM;
}

EXPORT int sendmmsg(int fd, struct mmsghdr *msgs, unsigned int count, int flags)
{
	unsigned int done = 0;

	if (is_kernels(fd_use(fd)))
		return real()->sendmmsg(fd, msgs, count, flags);
	while (done < count) {
		ssize_t n = sendmsg(fd, &msgs[done].msg_hdr, flags);

		if (n < 0)
			break;
		msgs[done++].msg_len = n;
	}
	return done || !count ? (int)done : -1;
}

static int64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ll + time.tv_nsec;
}

/* Receive messages. As in the kernel, @timeout is checked after each message. */
EXPORT int recvmmsg(int fd, struct mmsghdr *msgs, unsigned int count, int flags,
		    struct timespec *timeout)
{
	int64_t end = timeout ? now_ns() + timeout->tv_sec * 1000000000ll + timeout->tv_nsec : 0;
	unsigned int done = 0;

	if (is_kernels(fd_use(fd)))
		return real()->recvmmsg(fd, msgs, count, flags, timeout);
	if (timeout && (timeout->tv_sec < 0 || (unsigned long)timeout->tv_nsec >= 1000000000)) {
		errno = EINVAL;
		return -1;
	}
	while (done < count) {
		ssize_t n = recvmsg(fd, &msgs[done].msg_hdr, flags & ~MSG_WAITFORONE);

		if (n < 0)
			break;
		msgs[done++].msg_len = n;
		if (flags & MSG_WAITFORONE)
			flags |= MSG_DONTWAIT;
		if (timeout && now_ns() >= end)
			break;
	}
	return done || !count ? (int)done : -1;
}

/* ---- for programs that were built with checks of sizes ---- */

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
