/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options of a socket that takes the place of another one. */
#ifndef LIBRDMACM_PRELOAD_COPY_H
#define LIBRDMACM_PRELOAD_COPY_H

/* Set the sizes that the environment asks for */
void socket_sizes_set(int rs);

/* Return an option of SOL_SOCKET of the RDMA socket, or -1. */
int socket_option(int rs, int name);
/* Copy the options that the program set on the TCP socket. */
void socket_options_copy(int tcp, int rs);
/* Copy the options and flags of the RDMA socket to a socket of the kernel. */
void socket_options_give(int rs, int fd);

/* Make a new RDMA socket with the options and flags of @rs. Return: the socket, or -1 with errno.
 */
int socket_fresh(int rs);

#endif
