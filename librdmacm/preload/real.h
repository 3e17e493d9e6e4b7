/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of the C library, and the mark of threads that call the library of RDMA sockets. */
#ifndef LIBRDMACM_PRELOAD_REAL_H
#define LIBRDMACM_PRELOAD_REAL_H

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

#endif
