/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * librspreload: sockets over RDMA for programs that know nothing of them. Loaded by LD_PRELOAD, it
 * stands in front of the C library's calls of the same names.
 *
 *   real.c        the C library's functions, and who is to get them
 *   signal.c      signal handlers of the program
 *   number.c      where the descriptors lie that are not the program's
 *   config.c      which sockets of which programs
 *   descriptor.c  which descriptor is which socket: close(), dup(), fcntl(), ioctl()
 *   socket.c      from socket() to shutdown()
 *   tcp.c         back to TCP, and to a second connect()
 *   transfer.c    reading and writing
 *   file.c        sendfile() and splice()
 *   stream.c      fdopen() and dprintf()
 *   position.c    calls with an offset, and fstat(): what a socket is to those
 *   wait.c        poll(), select() and epoll
 *   relay.c       what a process does for its children, which inherit sockets and cannot use them
 *   heir.c        what a child does with those
 *   fork.c        connections that are TCP's until they are used, for servers that fork
 *
 * What the library of RDMA sockets calls itself must not come back to it. Its calls are made by
 * RS(), which marks the thread; in a marked thread each function here is the C library's. A thread
 * that a marked one starts is marked for ever: so are those of devices and of the connection
 * manager.
 *
 * A descriptor of the program is the number of the RDMA socket itself, or a duplicate of it.
 */
#ifndef LIBRDMACM_PRELOAD_H
#define LIBRDMACM_PRELOAD_H

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <rdma/rsocket.h>

#include "util/log.h"
#include "util/util.h"

#define EXPORT __attribute__((visibility("default")))

/* Each function of the C library that is needed: result, name, arguments. */
#define REAL_FUNCTIONS(F)                                                                        \
	F(int, socket, (int, int, int))                                                          \
	F(int, bind, (int, const struct sockaddr *, socklen_t))                                  \
	F(int, listen, (int, int))                                                               \
	F(int, accept, (int, struct sockaddr *, socklen_t *))                                    \
	F(int, accept4, (int, struct sockaddr *, socklen_t *, int))                              \
	F(int, connect, (int, const struct sockaddr *, socklen_t))                               \
	F(int, shutdown, (int, int))                                                             \
	F(int, getpeername, (int, struct sockaddr *, socklen_t *))                               \
	F(int, getsockname, (int, struct sockaddr *, socklen_t *))                               \
	F(int, setsockopt, (int, int, int, const void *, socklen_t))                             \
	F(int, getsockopt, (int, int, int, void *, socklen_t *))                                 \
	F(ssize_t, read, (int, void *, size_t))                                                  \
	F(ssize_t, readv, (int, const struct iovec *, int))                                      \
	F(ssize_t, recv, (int, void *, size_t, int))                                             \
	F(ssize_t, recvfrom, (int, void *, size_t, int, struct sockaddr *, socklen_t *))         \
	F(ssize_t, recvmsg, (int, struct msghdr *, int))                                         \
	F(ssize_t, write, (int, const void *, size_t))                                           \
	F(ssize_t, writev, (int, const struct iovec *, int))                                     \
	F(ssize_t, send, (int, const void *, size_t, int))                                       \
	F(ssize_t, sendto, (int, const void *, size_t, int, const struct sockaddr *, socklen_t)) \
	F(ssize_t, sendmsg, (int, const struct msghdr *, int))                                   \
	F(ssize_t, sendfile, (int, int, off_t *, size_t))                                        \
	F(ssize_t, sendfile64, (int, int, off64_t *, size_t))                                    \
	F(int, sendmmsg, (int, struct mmsghdr *, unsigned int, int))                             \
	F(int, recvmmsg, (int, struct mmsghdr *, unsigned int, int, struct timespec *))          \
	F(ssize_t, splice, (int, off64_t *, int, off64_t *, size_t, unsigned int))               \
	F(FILE *, fdopen, (int, const char *))                                                   \
	F(int, close, (int))                                                                     \
	F(int, close_range, (unsigned int, unsigned int, int))                                   \
	F(int, eventfd, (unsigned int, int))                                                     \
	F(int, memfd_create, (const char *, unsigned int))                                       \
	F(int, pipe2, (int *, int))                                                              \
	F(int, dup, (int))                                                                       \
	F(int, dup2, (int, int))                                                                 \
	F(int, dup3, (int, int, int))                                                            \
	F(int, fcntl, (int, int, ...))                                                           \
	F(int, ioctl, (int, unsigned long, ...))                                                 \
	F(int, poll, (struct pollfd *, nfds_t, int))                                             \
	F(int, ppoll, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *))      \
	F(int, select, (int, fd_set *, fd_set *, fd_set *, struct timeval *))                    \
	F(int, pselect,                                                                          \
	  (int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *))        \
	F(int, epoll_ctl, (int, int, int, struct epoll_event *))                                 \
	F(int, epoll_wait, (int, struct epoll_event *, int, int))                                \
	F(int, epoll_pwait, (int, struct epoll_event *, int, int, const sigset_t *))             \
	F(int, epoll_pwait2,                                                                     \
	  (int, struct epoll_event *, int, const struct timespec *, const sigset_t *))           \
	F(ssize_t, preadv2, (int, const struct iovec *, int, off_t, int))                        \
	F(ssize_t, preadv64v2, (int, const struct iovec *, int, off64_t, int))                   \
	F(ssize_t, pwritev2, (int, const struct iovec *, int, off_t, int))                       \
	F(ssize_t, pwritev64v2, (int, const struct iovec *, int, off64_t, int))                  \
	F(ssize_t, pread, (int, void *, size_t, off_t))                                          \
	F(ssize_t, pread64, (int, void *, size_t, off64_t))                                      \
	F(ssize_t, pwrite, (int, const void *, size_t, off_t))                                   \
	F(ssize_t, pwrite64, (int, const void *, size_t, off64_t))                               \
	F(ssize_t, preadv, (int, const struct iovec *, int, off_t))                              \
	F(ssize_t, preadv64, (int, const struct iovec *, int, off64_t))                          \
	F(ssize_t, pwritev, (int, const struct iovec *, int, off_t))                             \
	F(ssize_t, pwritev64, (int, const struct iovec *, int, off64_t))                         \
	F(off_t, lseek, (int, off_t, int))                                                       \
	F(off64_t, lseek64, (int, off64_t, int))                                                 \
	F(int, fstat, (int, struct stat *))                                                      \
	F(int, fstat64, (int, struct stat64 *))                                                  \
	F(int, fstatat, (int, const char *, struct stat *, int))                                 \
	F(int, fstatat64, (int, const char *, struct stat64 *, int))                             \
	F(int, statx, (int, const char *, int, unsigned int, struct statx *))                    \
	F(int, sockatmark, (int))                                                                \
	F(int, vdprintf, (int, const char *, va_list))                                           \
	F(int, sigaction, (int, const struct sigaction *, struct sigaction *))                   \
	F(int, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))

struct real {
#define F(type, name, arguments) type(*name) arguments;
	REAL_FUNCTIONS(F)
#undef F
};

/* real.c */
const struct real *real(void);
extern __thread int preload_inside __attribute__((tls_model("initial-exec")));

/* signal.c: a handler that came while the thread was marked waits until it is not. */
extern __thread volatile bool preload_deferred __attribute__((tls_model("initial-exec")));
/* Locks of librspreload that the thread holds: handlers wait for these, too. */
extern __thread int preload_busy __attribute__((tls_model("initial-exec")));
void signals_block(void); /* those that can wait */
void signals_deliver(void);
/* Before the first RDMA socket. */
void signals_watch(void);

/* The mark of a thread, which RS() sets. */
static inline void preload_exit(void)
{
	if (!--preload_inside && !preload_busy && unlikely(preload_deferred))
		signals_deliver();
}

static inline void preload_lock(pthread_mutex_t *lock)
{
	preload_busy++;
	pthread_mutex_lock(lock);
}

static inline void preload_unlock(pthread_mutex_t *lock)
{
	pthread_mutex_unlock(lock);
	if (!--preload_busy && !preload_inside && unlikely(preload_deferred))
		signals_deliver();
}

/* Call the library of RDMA sockets. */
#define RS(call)                          \
	({                                \
		__typeof__(call) result_; \
		preload_inside++;         \
		result_ = (call);         \
		preload_exit();           \
		result_;                  \
	})

/* One where the thread may be cancelled: what the program does then is not marked. */
void preload_leave(void *unused);
#define RS_SLEEPY(call)                                    \
	({                                                 \
		__typeof__(call) result_;                  \
		preload_inside++;                          \
		pthread_cleanup_push(preload_leave, NULL); \
		result_ = (call);                          \
		pthread_cleanup_pop(1);                    \
		result_;                                   \
	})

/* config.c: @type without flags */
bool config_takes(int domain, int type, int protocol);

/* descriptor.c */
enum {
	FD_NONE = -1,	  /* not ours */
	FD_POLLER = -2,	  /* an epoll that has RDMA sockets */
	FD_LATER = -3,	  /* a socket of TCP, whose connections become ones of RDMA: see fork.c */
	FD_ACTIVE = -4,	  /* such a connection, made by connect() */
	FD_PASSIVE = -5,  /* or by accept() */
	FD_CHANGING = -6, /* just now */
	/* Of Unix domain, with a process that relays at the other end: see relay.c */
	FD_RELAYED = -7,
	FD_RELAYED_LISTENER = -8,
	FD_RELAYED_QUIET = -9, /* nothing is relayed to it before it reads: others may */
	/* Those below: a parent's RDMA socket, not used here so far. */
	FD_INHERITED = -16,
};
/* The RDMA socket of that descriptor, or FD_*. In a marked thread nothing is ours. */
int fd_socket(int fd);
void fd_set_socket(int fd, int rs);
void fd_set_kind(int fd, int kind); /* FD_* */
void fd_release(int fd);	    /* what it will be is not ours */
/* Those of a parent, in its child: they are FD_INHERITED - @rs. */
void fd_inherit_all(void);
/* The numbers from @fd on that are of that kind, or -1. */
int fd_next(int fd, int kind);
/* The RDMA sockets from @rs on that are the program's, or -1. */
int fd_next_socket(int rs);
/* Children and relays that have the RDMA socket. With relay.c's lock held. Return: nobody has. */
void fd_hold(int rs);
bool fd_unhold(int rs);
bool fd_is_held(int rs);    /* by any of these */
bool fd_is_nobodys(int rs); /* neither */
void fd_set_bound(int fd);
bool fd_is_bound(int fd); /* by the program */
void fd_set_spent(int rs);
bool fd_is_spent(int rs); /* its connect() failed */
/* An epoll that another one has; what it is to the kernel counts, then. */
void fd_set_outer(int fd);
bool fd_is_outer(int fd);

/* relay.c */
enum relay_op {
	RELAY_CLAIM, /* a relay for that RDMA socket */
	RELAY_CLOSE, /* it is not needed any more */
	RELAY_READ,  /* the child reads from that relay; no answer */
	RELAY_SHUT,  /* the child sends nothing more by that relay; no answer */
	RELAY_DOOR,  /* for a child of the child's */
};

struct relay_request {
	enum relay_op op;
	int rs; /* or the relay's number */
};

struct relay_names {
	struct sockaddr_storage own, peer;
	socklen_t own_size, peer_size;
};

/* With one descriptor. */
struct relay_answer {
	int kind;  /* FD_RELAYED*, or FD_NONE: there is none */
	int relay; /* its number */
	struct relay_names names;
};

void relay_start(void); /* for processes that may fork */
void relay_lock(void);
void relay_unlock(void);
/* Return: bytes, as send() and recv() */
ssize_t relay_send(int fd, const void *bytes, size_t size, int sent_fd);
ssize_t relay_receive(int fd, void *bytes, size_t size, int *ret_fd);

/* heir.c; a descriptor FD_RELAYED has names */
int heir_door_for_child(void); /* or -1: nothing that is not relayed yet */
void heir_begin(int door);
void heir_closed(int rs);
int heir_claim(int fd); /* Return: as fd_socket() */
int heir_read(int fd);	/* a FD_RELAYED_QUIET one. Return: as fd_socket() */
void heir_shut(int fd);
void heir_read_all(void); /* with the lock held */
int heir_accept(int fd, struct sockaddr *addr, socklen_t *addrlen, int flags);
int heir_name(int fd, bool peer, struct sockaddr *addr, socklen_t *addrlen);
void heir_copy(int fd, int copy);
void heir_forget(int fd);

/* fork.c */
bool fork_is_wanted(void);
int fork_connect(int fd, const struct sockaddr *addr, socklen_t addrlen);
/* Make of the connection one over RDMA, if that can be. Return: as fd_socket() */
int fork_change_over(int fd);
/* As fd_socket(), for calls that use a connection. */
static inline int fd_use(int fd)
{
	int rs = fd_socket(fd);

	if (likely(rs > FD_ACTIVE))
		return rs;
	return rs <= FD_INHERITED ? heir_claim(fd) : rs >= FD_CHANGING ? fork_change_over(fd) : rs;
}

/* As fd_use(), for calls that read or wait. */
static inline int fd_read(int fd)
{
	int rs = fd_use(fd);

	return unlikely(rs == FD_RELAYED_QUIET) ? heir_read(fd) : rs;
}

static inline bool fd_is_relayed(int kind)
{
	return kind <= FD_RELAYED && kind > FD_INHERITED;
}

/* As fd_socket(), for calls that ask about a socket, or set something. */
static inline int fd_know(int fd)
{
	int rs = fd_socket(fd);

	return unlikely(rs <= FD_INHERITED) ? heir_claim(fd) : rs;
}

/* stream.c: the number is, from now on, one of a socket's: so is stdin, stdout or stderr of it */
void stream_standard(int fd);

/* socket.c: set the sizes that the environment asks for */
void socket_sizes_set(int rs);

/* tcp.c: what the program asked of the one of TCP */
void socket_options_copy(int tcp, int rs);
/* Make of the RDMA socket of @fd one of TCP, or UDP, with the same numbers. 0, or -1 and errno */
int socket_to_tcp(int fd, const char *what);
/* RDMA did not connect, as errno says: connect by TCP. As connect() */
int socket_connect_tcp(int fd, const struct sockaddr *addr, socklen_t addrlen);
/* If connect() failed before, take a fresh RDMA socket. Return: as fd_socket() */
int socket_renew(int fd);
/* For a datagram that could not be sent: whether the socket is one of UDP from now on. */
bool socket_is_udp_now(int fd);

#endif
