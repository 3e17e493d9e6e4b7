/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files: the objects behind public descriptors. table.c has the table of the numbers, with
 * references. Each rs_table_find() needs an rs_socket_put(). A forked child does not find the
 * sockets of its parent.
 */
#ifndef LIBRDMACM_RSOCKET_TABLE_H
#define LIBRDMACM_RSOCKET_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>

struct rs_socket;
struct rs_poller;

/* Kinds of a public descriptor. */
enum rs_kind {
	RS_SOCKET,
	RS_POLLER, /* of repoll_create() */
};

struct rs_file {
	int fd; /* public descriptor: an epoll */
	enum rs_kind kind;
	atomic_int refs;
	unsigned int process; /* rs_process() of the owner; a forked child has another number */
	bool keeps_number;    /* the descriptor is not closed with the file */
	void (*destroy)(struct rs_file *file); /* called when the last reference is put */
};

int rs_table_add(struct rs_file *file);	 /* call rs_fork_watch() before */
struct rs_socket *rs_table_find(int fd); /* NULL: no RDMA socket */
/* Return the first socket from *fd on, with a reference, and set *fd to its number. For exit. */
struct rs_socket *rs_table_next(int *fd);
struct rs_poller *rs_table_find_poller(int fd);
/* Add a second number to an entry. Return: 0 or -errno. */
int rs_table_copy(struct rs_file *file, int fd);
/* Return another number of an entry, or -1. */
int rs_table_other(const struct rs_file *file, int fd);
/*
 * Return the poller with this number, which may belong to a parent, or NULL. Only compare the
 * pointer, because the caller has no reference.
 */
const void *rs_table_peek(int fd);
/* Give the file another number. Return: 0, or -errno. */
int rs_table_move(struct rs_file *file, int fd);
/* *ret_is_parents: the file belongs to a process that this one was forked from. */
struct rs_file *rs_table_remove(int fd, bool *ret_is_parents);

/* Return the number of forks between the first process and this one. */
unsigned int rs_process(void);

/* Put a reference. The last one destroys the file. */
void rs_file_put(struct rs_file *file);

/* fork.c: take the locks of this library around each fork() from now on. */
void rs_fork_watch(void);
void rs_table_fork(bool begins); /* as rs_service_fork() */
void rs_table_fork_child(void);

#endif
