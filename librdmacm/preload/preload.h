/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * librspreload: sockets over RDMA for programs that use the C library's calls. Loaded by
 * LD_PRELOAD, it intercepts the socket calls of the C library.
 *
 *   real.c        the functions of the C library, and the mark of threads
 *   signal.c      signal handlers of the program
 *   number.c      high numbers for the descriptors of the RDMA libraries
 *   config.c      the choice of programs and sockets
 *   table.c       the table of descriptors
 *   descriptor.c  close(), dup(), fcntl(), ioctl()
 *   socket.c      from socket() to shutdown()
 *   option.c      options of sockets
 *   copy.c        options of a socket that takes the place of another one
 *   tcp.c         back to TCP, and to a second connect()
 *   entries.c     entries in epolls, when another socket takes the place
 *   transfer.c    reading and writing
 *   file.c        sendfile() and splice()
 *   stream.c      fdopen() and dprintf()
 *   position.c    fstat(), and calls with an offset
 *   wait.c        poll(), select() and epoll
 *   syscall.c     close() by syscall()
 *   relay.c       connections that a child uses: parent and children share a Unix domain socket
 *   datagram.c    datagram sockets that a child uses
 *   listener.c    listeners that children use
 *   child.c       children, which inherit RDMA sockets and cannot use them
 *   door.c        the parent's service for children
 *   atfork.c      the handlers of pthread_atfork()
 *   exit.c        exit of a process whose connections are relayed
 *   heir.c        the child's side of this service
 *   pass.c        messages with a descriptor
 *   fork.c        connections that use TCP until their first use, for servers that fork
 *
 * A call of the C library by the library of RDMA sockets must not be intercepted. Therefore RS()
 * marks the thread around each call of that library. In a marked thread each function here calls
 * the C library. A thread that a marked thread starts stays marked: these are the threads of
 * devices and of the connection manager.
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
#include <stdatomic.h>
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

/* The functions of the C library that are needed: result, name, arguments. */
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
	F(int, epoll_create, (int))                                                              \
	F(int, epoll_create1, (int))                                                             \
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
	F(long, syscall, (long, ...))                                                            \
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

/* signal.c: a signal that arrives while the thread is marked is deferred until the mark ends. */
extern __thread volatile bool preload_deferred __attribute__((tls_model("initial-exec")));
/* Number of locks of librspreload that the thread holds. They defer signals, too. */
extern __thread int preload_busy __attribute__((tls_model("initial-exec")));
void signals_block(void); /* all signals that can be deferred */
void signals_deliver(void);
/* Call before the first RDMA socket is made. */
void signals_watch(void);

/* End the mark of a thread, which RS() set. */
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

/*
 * The same for a call that may be cancelled. The mark ends before cleanup handlers of the program
 * run.
 */
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

/* number.c: move a descriptor above the program's numbers, if possible. Return: its number. */
int number_raise(int fd);

/* config.c: @type without flags */
bool config_takes(int domain, int type, int protocol);

/* table.c */
enum {
	FD_NONE = -1,	  /* no RDMA socket */
	FD_POLLER = -2,	  /* an epoll with RDMA sockets */
	FD_LATER = -3,	  /* a TCP socket whose connections change to RDMA: see fork.c */
	FD_ACTIVE = -4,	  /* such a connection, made by connect() */
	FD_PASSIVE = -5,  /* or by accept() */
	FD_CHANGING = -6, /* a thread is changing it to RDMA now */
	/* Unix domain sockets that this or another process relays: see relay.c */
	FD_RELAYED = -7,
	FD_RELAYED_LISTENER = -8,
	FD_RELAYED_DATAGRAM = -9,
	/* This and lower values: an RDMA socket of a parent, not used here so far. */
	FD_INHERITED = -16,
};
/* Return the RDMA socket of that descriptor, or FD_*. In a marked thread: FD_NONE. */
int fd_socket(int fd);
void fd_set_socket(int fd, int rs);
void fd_set_kind(int fd, int kind); /* FD_* */
void fd_release(int fd);	    /* the descriptor is no RDMA socket any more */
/* Mark all sockets of the parent, in its child, as FD_INHERITED - @rs. */
void fd_inherit_all(void);
/* Return the first number from @fd on of that kind, or -1. */
int fd_next(int fd, int kind);
/* Return the first RDMA socket from @rs on that the program uses, or -1. */
int fd_next_socket(int rs);
/*
 * Count the children that may claim the RDMA socket, with the lock of the relays held. fd_unhold()
 * returns whether it has neither holders nor descriptors.
 */
void fd_hold(int rs);
bool fd_unhold(int rs);
bool fd_is_held(int rs);    /* by a child */
bool fd_is_nobodys(int rs); /* neither holders nor descriptors */
/*
 * Replace each descriptor of the RDMA socket @rs by a duplicate of @by, of kind @kind. @moved: the
 * number that the RDMA socket has now. @name: called for each descriptor
 */
void fd_hand_over(int rs, int moved, int by, int kind, void (*name)(int fd, void *arg), void *arg);
void fd_set_bound(int fd);
bool fd_is_bound(int fd); /* by the program */
void fd_set_spent(int rs);
/* its connect() failed, or it is a listener that was shut down */
bool fd_is_spent(int rs);
/* Mark an epoll that is in another epoll, so that the readiness of its descriptor matters. */
void fd_set_outer(int fd);
bool fd_is_outer(int fd);
/*
 * Give all duplicates of a file of the kernel the same group number. The file is an epoll, or with
 * @fell a socket that connects by TCP, because RDMA found no path. If TCP does not connect either,
 * the next connect() tries RDMA again.
 */
int fd_group_new(void);
void fd_set_group(int fd, int group, bool fell);
bool fd_has_fallen(int fd);
/* Return the first number from @from on that is a duplicate of @fd, or -1. */
int fd_next_of_group(int fd, int from);

/* pass.c: send or receive bytes and a descriptor, or -1. Return: as send() and recv(). */
ssize_t pass_send(int fd, const void *bytes, size_t size, int sent_fd);
ssize_t pass_receive(int fd, void *bytes, size_t size, int *ret_fd);

/* child.c, door.c, atfork.c */
enum door_op {
	DOOR_CLAIM, /* the child uses that RDMA socket; the answer has a descriptor */
	DOOR_CLOSE, /* the child does not need that RDMA socket any more; no answer */
	DOOR_CHILD, /* the descriptor is the door of a child of the child; no answer */
};

struct door_request {
	enum door_op op;
	int name; /* number of the RDMA socket in the child */
};

struct relay_names {
	struct sockaddr_storage own, peer;
	socklen_t own_size, peer_size;
};

struct door_answer {
	int kind; /* FD_RELAYED*; FD_NONE: the descriptor is a TCP socket, or there is none */
	struct relay_names names;
};

void relay_start(void); /* call it in processes that may fork */
/*
 * Call it after each call that may open a device. The first use of a device registers the RDMA
 * libraries' handlers of fork(). Before a fork, the handler that was registered last runs first.
 * The lock of the relays must be taken first, therefore its handler must be registered last.
 */
enum start_place {
	START_BIND,
	START_LISTEN,
	START_CONNECT,
	START_PLACES
};
void relay_start_late(enum start_place place);
void relay_lock(void);
void relay_unlock(void);
/* Wait while a child claims a socket. Return whether @rs is not the RDMA socket of @fd any more. */
bool relay_has_moved(int fd, int rs);

/* The RDMA socket has another number, with the lock held. No relay has it. */
void relay_renumber(int rs, int to);
/* Return whether a relay has the listener, with the lock held. */
bool relay_has_listener(int rs);

/* relay.c: options of a connection that this process relays. @relay: 0: another process does. */
int relay_option_set(int relay, int level, int name, const void *value, socklen_t size);
int relay_option_get(int relay, int level, int name, void *value, socklen_t *size);
/*
 * Let the relay reset the connection after the last process has closed it. Return: a new socket
 * with the same options, or -1.
 */
int relay_reset(int relay);
bool relay_is_over(int relay); /* both ends have ended, and this process knows it */

/*
 * datagram.c: calls for a FD_RELAYED_DATAGRAM descriptor. A receive returns no control messages,
 * and a send ignores them.
 */
ssize_t datagram_send(int fd, const struct msghdr *msg, int flags);
ssize_t datagram_receive(int fd, struct msghdr *msg, int flags);
int datagram_connect(int fd, const struct sockaddr *addr, socklen_t size);
int datagram_shutdown(int fd, int how);
int datagram_bytes_waiting(int fd, int *ret_bytes);
/* Let the Unix domain socket send the largest datagram, as a UDP socket with any buffer does. */
void datagram_room_need(int fd);

/* heir.c; each FD_RELAYED descriptor has names */
int heir_door_for_child(void); /* -1: no door */
void heir_begin(int door);
void heir_closed(int rs);
int heir_claim(int fd); /* Return: as fd_socket() */
int heir_accept(int fd, struct sockaddr *addr, socklen_t *addrlen, int flags);
int heir_name(int fd, bool peer, struct sockaddr *addr, socklen_t *addrlen);
/* Return the protocol family. *ret_has_peer: whether the socket has a peer; may be NULL */
int heir_family(int fd, bool *ret_has_peer);
/* Set the peer of all descriptors of this socket. @size 0: it has no peer. */
void heir_set_peer(int fd, const struct sockaddr *addr, socklen_t size);
bool heir_is_same(int fd, int other); /* both descriptors belong to one socket of the kernel */
/* Set the names of all descriptors of the relay with this number. */
void heir_rename(int relay, const struct relay_names *names);
/* Give @fd names, with the lock held. @relay: the number of the relay in this process, or 0. */
void heir_add(int fd, int relay, const struct relay_names *names);
int heir_relay(int fd);
void heir_copy(int fd, int copy);
void heir_forget(int fd);

/* fork.c */
bool fork_is_wanted(void);
int fork_connect(int fd, const struct sockaddr *addr, socklen_t addrlen);
/* Change the connection to RDMA, if possible. Return: as fd_socket(). */
int fork_change_over(int fd);
/* As fd_socket(), for calls that use a connection. */
static inline int fd_use(int fd)
{
	int rs = fd_socket(fd);

	if (likely(rs > FD_ACTIVE))
		return rs;
	return rs <= FD_INHERITED ? heir_claim(fd) : rs >= FD_CHANGING ? fork_change_over(fd) : rs;
}

static inline bool fd_is_relayed(int kind)
{
	return kind <= FD_RELAYED && kind > FD_INHERITED;
}

/* As fd_socket(), for calls that query or set properties of a socket. */
static inline int fd_know(int fd)
{
	int rs = fd_socket(fd);

	return unlikely(rs <= FD_INHERITED) ? heir_claim(fd) : rs;
}

/* Return whether a call has failed because a child claimed the socket first. */
static inline bool call_has_missed(int fd, int rs)
{
	return rs >= 0 && errno == EBADF && relay_has_moved(fd, rs);
}

/*
 * Make a call for @fd: @ours if @rs, which the macro declares, is its RDMA socket, or @others. If a
 * child claims the socket meanwhile, the call fails with EBADF, and the macro makes it again.
 */
#define FD_CALL(fd, rs, ours, others)                                               \
	({                                                                          \
		int rs;                                                             \
		__typeof__(others) result_of_call_;                                 \
		do {                                                                \
			rs = fd_use(fd);                                            \
			result_of_call_ = rs >= 0 ? (ours) : (others);              \
		} while (unlikely(result_of_call_ < 0) && call_has_missed(fd, rs)); \
		result_of_call_;                                                    \
	})

/* The same for one call that looks at @rs itself, and does not use the connection. */
#define FD_ASK(fd, rs, call)                                                        \
	({                                                                          \
		int rs, result_of_call_;                                            \
		do {                                                                \
			rs = fd_know(fd);                                           \
			result_of_call_ = (call);                                   \
		} while (unlikely(result_of_call_ < 0) && call_has_missed(fd, rs)); \
		result_of_call_;                                                    \
	})

/*
 * stream.c: @fd is a socket from now on. Replace the standard stream of that number, if there is
 * one.
 */
void stream_standard(int fd);

/*
 * transfer.c: raise SIGPIPE, as TCP does, if a send by the RDMA socket failed with EPIPE. Return:
 * @n, the result of the send.
 */
ssize_t send_signal(int rs, ssize_t n, int flags);

/* copy.c: set the sizes that the environment asks for */
void socket_sizes_set(int rs);

/* Return an option of SOL_SOCKET of the RDMA socket, or -1. */
int socket_option(int rs, int name);
/* Copy the options that the program set on the TCP socket. */
void socket_options_copy(int tcp, int rs);
/* Copy the options and flags of the RDMA socket to a socket of the kernel. */
void socket_options_give(int rs, int fd);

/* entries.c: the entries of a socket in epolls */
struct entries {
	struct rs_entry *list; /* freed by socket_entries_give() */
	unsigned int count;
};
struct entries socket_entries_take(int rs);
/* Add the entries again. Their descriptors are sockets of the kernel now. */
void socket_entries_give(struct entries *e);
/* Add the entries of a socket of the kernel. */
void kernel_entries_take(int fd, struct entries *e);
/*
 * Replace the RDMA socket of @fd by a TCP or UDP socket with the same numbers. Return: 0, or -1
 * with errno.
 */
int socket_to_tcp(int fd, const char *what);
/* Connect by TCP, after RDMA failed with errno. Return: as connect(). */
int socket_connect_tcp(int fd, const struct sockaddr *addr, socklen_t addrlen);
/*
 * Take the result of a TCP connect that failed, if no call has returned it yet. Return: whether
 * errno is this result.
 */
bool socket_result_take(int fd);
/* Put an RDMA socket in the place of a TCP socket that could not connect. Return: the RDMA socket,
 * or -1 if TCP stays. */
int socket_to_rdma(int fd);
/* Make a new RDMA socket with the options and flags of @rs. Return: the socket, or -1 with errno.
 */
int socket_fresh(int rs);
/* Do the same as socket_disconnect() for a connection that processes share. For the other processes
 * the connection ends. */
int socket_disconnect_relayed(int fd);
/*
 * Take a fresh RDMA socket if connect() failed before, or if a listener was shut down. Return: as
 * fd_socket().
 */
int socket_renew(int fd);
/* Reset the connection, as connect() to no address does. Return: 0, or -1 with errno. */
int socket_disconnect(int fd);
/* Return whether the socket is a UDP socket from now on, after a datagram could not be sent. */
bool socket_is_udp_now(int fd);

#endif
