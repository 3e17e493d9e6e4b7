/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sockets over RDMA: the calls of sockets, each with an r in front, for connections whose bytes
 * travel by RDMA write, and for datagrams between queue pairs.
 *
 * Every function takes, returns and fails as the sockets call of the same name does: -1 and errno.
 * A descriptor of rsocket() is a real one: it can be closed only by rclose(), and used only with
 * these functions. All of them may be called by several threads at once.
 *
 * A peer may be of any build of this library: what goes over the wire is the same.
 */
#ifndef RSOCKET_H
#define RSOCKET_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rsocket() - a socket over RDMA
 * @domain: AF_INET or AF_INET6
 * @type: SOCK_STREAM or SOCK_DGRAM, with SOCK_NONBLOCK or SOCK_CLOEXEC if wanted
 * @protocol: 0, or IPPROTO_TCP or IPPROTO_UDP as @type is
 *
 * A datagram has at most 2040 bytes over IPv4 and 2024 over IPv6; rsocket(7) says what else is
 * different from UDP.
 *
 * Return: the descriptor; -1 with errno EPROTONOSUPPORT, EMFILE, ENODEV (no RDMA device), ...
 */
int rsocket(int domain, int type, int protocol);
int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen);
int rlisten(int socket, int backlog);
int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen);
/* With SOCK_NONBLOCK and SOCK_CLOEXEC in @flags. This tree's own. */
int raccept4(int socket, struct sockaddr *addr, socklen_t *addrlen, int flags);
int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen);
int rshutdown(int socket, int how);

/**
 * rclose() - close a socket
 *
 * Deliver data that the peer has not received yet, unless the peer is gone. Datagrams that were
 * sent have left the host; whether they arrived is unknown.
 */
int rclose(int socket);
/* As rclose(), but the descriptor stays open as a placeholder that dup2() can replace. Only this
 * library has the function. */
int rdetach(int socket);

ssize_t rrecv(int socket, void *buf, size_t len, int flags);
ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags, struct sockaddr *src_addr,
		  socklen_t *addrlen);
ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags);
ssize_t rsend(int socket, const void *buf, size_t len, int flags);
ssize_t rsendto(int socket, const void *buf, size_t len, int flags,
		const struct sockaddr *dest_addr, socklen_t addrlen);
ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags);
ssize_t rread(int socket, void *buf, size_t count);
ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt);
ssize_t rwrite(int socket, const void *buf, size_t count);
ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt);

/**
 * rpoll(), rselect() - wait for sockets over RDMA and for other descriptors
 */
int rpoll(struct pollfd *fds, nfds_t nfds, int timeout);
int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
	    struct timeval *timeout);

/* The signals of @sigmask are blocked while it waits, as by ppoll() and pselect(). This tree's own.
 */
int rppoll(struct pollfd *fds, nfds_t nfds, const struct timespec *timeout,
	   const sigset_t *sigmask);
int rpselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds,
	     const struct timespec *timeout, const sigset_t *sigmask);

/**
 * repoll_create(), repoll_ctl(), repoll_wait() - an epoll of sockets over RDMA and others
 *
 * All of epoll works: EPOLLET, EPOLLONESHOT and several waiting threads. Closing a socket removes
 * its entry. repoll_ctl() accepts a descriptor of epoll_create1() as well; from then on wait for it
 * by repoll_wait(). Close the descriptor by rclose().
 */
int repoll_create(int flags);
int repoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int repoll_wait(int epfd, struct epoll_event *events, int maxevents, int timeout);
/* As epoll_pwait(). This tree's own. */
int repoll_pwait(int epfd, struct epoll_event *events, int maxevents, int timeout,
		 const sigset_t *sigmask);

int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen);
int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen);

#define SOL_RDMA 0x10000
/* Options of level SOL_RDMA: int, before a connection is made. */
enum {
	RDMA_SQSIZE,	/* requests that can be outstanding */
	RDMA_RQSIZE,	/* messages that can come in */
	RDMA_INLINE,	/* bytes that are sent without a copy in registered memory */
	RDMA_IOMAPSIZE, /* mappings the peer can make */
	RDMA_ROUTE	/* struct ibv_path_data */
};

int rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen);
int rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen);
int rfcntl(int socket, int cmd, ... /* arg */);
/* FIONREAD: the bytes that can be read at once. FIONBIO: O_NONBLOCK. This tree's own. */
int rioctl(int socket, unsigned long request, int *value);

/**
 * riomap() - let the peer write into memory
 * @prot: PROT_WRITE; with PROT_NONE the memory is registered, and the peer does not see it
 * @flags: 0
 * @offset: by which the peer names it; -1: its address
 *
 * The peer can use it when it received something that was sent afterwards, if it has set
 * RDMA_IOMAPSIZE before the connection was made.
 *
 * Return: the offset; -1 with errno ENOMEM: the peer has room for no more
 */
off_t riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset);
int riounmap(int socket, void *buf, size_t len);

/**
 * riowrite() - write into memory that the peer mapped
 *
 * The peer gets no message about the write. Data sent after the write arrives after it.
 *
 * Return: bytes, which are fewer when the mapping ends before; -1 with errno EINVAL: there is none
 * at @offset
 */
size_t riowrite(int socket, const void *buf, size_t count, off_t offset, int flags);

#ifdef __cplusplus
}
#endif

#endif
