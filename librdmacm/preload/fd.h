/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What each descriptor of the program is: table.c, descriptor.c. */
#ifndef LIBRDMACM_PRELOAD_FD_H
#define LIBRDMACM_PRELOAD_FD_H

#include <stdbool.h>

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
	/*
	 * This value and lower ones: an RDMA socket of a parent that this process has not used yet.
	 */
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
bool fd_is_held(int rs);    /* a child may claim the RDMA socket */
bool fd_is_nobodys(int rs); /* neither holders nor descriptors */
/*
 * Replace each descriptor of the RDMA socket @rs by a duplicate of @by, of kind @kind. @moved: the
 * number that the RDMA socket has now. @name: called for each descriptor
 */
void fd_hand_over(int rs, int moved, int by, int kind, void (*name)(int fd, void *arg), void *arg);
void fd_set_bound(int fd);
bool fd_is_bound(int fd); /* the program has bound it */
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

#endif
