/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages with a descriptor. */
#ifndef LIBRDMACM_PRELOAD_PASS_H
#define LIBRDMACM_PRELOAD_PASS_H

#include <sys/types.h>

/* Send or receive bytes and a descriptor, or -1. Return: as send() and recv(). */
ssize_t pass_send(int fd, const void *bytes, size_t size, int sent_fd);
ssize_t pass_receive(int fd, void *bytes, size_t size, int *ret_fd);

#endif
