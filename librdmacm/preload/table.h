/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Private to table.c and descriptor.c: the RDMA socket of each descriptor, and the number of
 * descriptors of each RDMA socket. If the program closes a socket's own number and has duplicates,
 * the socket moves to another number.
 */
#ifndef LIBRDMACM_PRELOAD_TABLE_H
#define LIBRDMACM_PRELOAD_TABLE_H

#include <stdatomic.h>

#include "librdmacm/preload/preload.h"

#define BLOCK_BITS 10
#define BLOCK_SIZE (1 << BLOCK_BITS)
#define BLOCKS	   1024

struct place {
	atomic_int socket; /* number of the socket, or FD_*, plus 1 */
	atomic_int count;
	atomic_int holders; /* children and relays that hold the socket of this number */
	atomic_int
		inherited; /* in a child: its descriptors of the socket that the parent has here */
	atomic_bool bound;
	atomic_bool spent; /* its connect() failed */
	atomic_bool outer;
	/* For a file of the kernel, until its number is closed: */
	atomic_int group; /* identifies duplicates of the same epoll or TCP socket; 0: none */
	atomic_bool fell; /* TCP is used because a connect that does not block found no RDMA path */
};

struct place *place_find(int fd); /* NULL: the number was never in use here */
struct place *place_make(int fd);
/* Return whether duplicates or children need the socket of that number. */
bool is_needed(int fd);
/* Detach the descriptor from its socket. Return: the descriptors left. */
int fd_forget(int fd, int rs);
/* Forget a file of the kernel, whose number is closed or becomes another file. */
void plain_forget(int fd);
void plain_forget_range(unsigned int fd, unsigned int last);
/* Record that @copy is a duplicate of a file of the kernel. Return: @copy. */
int plain_copy(int fd, int copy);

#endif
