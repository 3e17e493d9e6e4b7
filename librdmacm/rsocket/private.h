/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls for librspreload, beyond the public ones. The symbols are private to the two libraries. */
#ifndef RSOCKET_PRIVATE_H
#define RSOCKET_PRIVATE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>

/* ---- cancel.c: signal handlers that interrupt a sleeping call ---- */

struct rs_sleep_calls {
	/*
	 * The calling thread is about to sleep. @mask: signal mask of the program's call, or NULL.
	 * Return: the mask for the system call that sleeps, or NULL.
	 */
	const sigset_t *(*begin)(const sigset_t *mask);
	void (*end)(void);
};

/* Call @calls around each system call that sleeps. They must stay valid. */
void rs_sleep_watch(const struct rs_sleep_calls *calls);

/*
 * Release the locks of a call that sleeps, because a handler is about to run in its thread. The
 * handler may then call the library, and need not return. @restarts: the handler has SA_RESTART.
 * Return: false: too many handlers have interrupted each other.
 */
bool rs_sleep_leave(bool restarts);
/* Resume the interrupted call after the handler has returned. */
void rs_sleep_return(void);

/* ---- watch.c: entries of pollers ---- */

struct rs_entry {
	int epfd, fd;
	struct epoll_event event;
};

/* Like repoll_ctl(). @entry: the program's duplicate of the socket @fd. */
int rs_entry_ctl(int epfd, int op, int fd, int entry, struct epoll_event *event);
/* Remove the duplicate @entry, which the program closes, from all pollers. */
void rs_entry_closed(int fd, int entry);
/*
 * List the entries of the socket in all pollers, at most @max. Return: the number of all entries.
 */
unsigned int rs_entry_list(int fd, struct rs_entry *entries, unsigned int max);

/* ---- closing.c: numbers that the program has closed and that the kernel still has open ---- */

/* Mark the number before other threads of the program may find it closed. */
void rs_closing_begin(int fd);
/* Remove the mark. Call it before the kernel closes the number, or if the number stays open. */
void rs_closing_end(int fd);
bool rs_is_closing(int fd);

/* ---- poll.c ---- */

/*
 * Number of descriptors up to which a poll keeps its lists on the stack. A signal handler may leave
 * the call by siglongjmp(), and memory of the heap would be lost.
 */
#define RS_POLL_ON_STACK 256

/* ---- send.c ---- */

/*
 * Return whether the send that failed with EPIPE raises SIGPIPE. As with TCP, the first send after
 * the peer has closed does not.
 */
bool rs_send_is_signalled(int fd);

/*
 * Return flags: RS_ENDED_SEND and RS_ENDED_RECV for directions that this end has shut down,
 * RS_ENDED_BOTH if a connection has ended, RS_ENDED_UNREAD if it has ended and its data was not
 * received yet, RS_ENDED_NONE if there was no connection.
 */
int rs_ended(int fd);
#define RS_ENDED_SEND	1
#define RS_ENDED_RECV	2
#define RS_ENDED_BOTH	4
#define RS_ENDED_NONE	8
#define RS_ENDED_UNREAD 16

/*
 * epoll.c: register @copy as a duplicate of the poller @epfd. Return: 0, or -1 if @epfd is no
 * poller of this process.
 */
int rs_poller_copy(int epfd, int copy);

/* ---- move.c ---- */

/*
 * Give the socket another number, above the program's numbers. The old number stays open and is no
 * socket over RDMA any more. Calls of other threads that begin by the old number fail with EBADF,
 * or poll POLLNVAL. Waiting calls continue. Return: the new number, or -1 with errno.
 * @exclusive: only the caller receives from now on. A receive that waits fails with EBADF, too, and
 * the socket leaves all epolls. Otherwise its entry @fd leaves them.
 */
int rs_move(int fd, bool exclusive);

/* A flag of rrecv(): the caller made rs_move() exclusive. Others get EBADF. */
#define RS_MSG_MOVED 0x00800000
/* An event for rppoll(): the number is that of a socket over RDMA, or the result is POLLNVAL. */
#define RS_POLL_SOCKET 0x0800

/* ---- option_value.c, kernel_option.c ---- */

#define RS_OPTION_TEXT 16 /* TCP_CA_NAME_MAX */

struct rs_option_value {
	int level, name;
	socklen_t size;
	union {
		int number;
		struct timeval time;
		struct linger linger;
		char text[RS_OPTION_TEXT];
	};
};

/*
 * Find the options that the program has set on the socket, with the program's values. *next: 0 at
 * first. Return: false: there are no more.
 */
bool rs_option_next(int fd, unsigned int *next, struct rs_option_value *ret);
/* Find the options that a stream takes and TCP has. *next: 0 at first. */
bool rs_option_of_tcp(unsigned int *next, struct rs_option_value *ret);
/*
 * Return whether a program that sets the option to this value needs a TCP socket. The default value
 * does not.
 */
bool rs_option_needs_tcp(int domain, int level, int name, const void *value, socklen_t size);

#endif
