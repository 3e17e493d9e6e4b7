/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Event descriptors are pipes that carry the kernel's records, so that the library's readers see no
 * difference. A record names its object by address: when the object is destroyed, its unread
 * records are taken out again.
 *
 * Callers serialise writers; the application reads at any time.
 */
#ifndef UROCE_PIPE_H
#define UROCE_PIPE_H

#include <stddef.h>
#include <stdint.h>

struct uroce_pipe {
	int read_fd;  /* the application's: it may set O_NONBLOCK on it */
	int write_fd; /* never blocks */
};

int uroce_pipe_open(struct uroce_pipe *pipe);
void uroce_pipe_close_write(struct uroce_pipe *pipe);
/* Return: 0, -EAGAIN when the pipe is full, -EPIPE when the application closed its end. */
int uroce_pipe_put(const struct uroce_pipe *pipe, const void *record, size_t size);
/*
 * Take out the unread records whose first 8 bytes are @element. Return: how many. The caller keeps
 * writers away; a reader at the same time gets its records in whole.
 */
unsigned int uroce_pipe_purge(const struct uroce_pipe *pipe, uint64_t element, size_t size);

#endif
