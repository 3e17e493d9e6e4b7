/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Event descriptors are pipes that carry the kernel's records, so that the library's readers see no
 * difference. A record has the address of its object. When the object is destroyed, its unread
 * records are removed.
 *
 * Callers serialise writers; the application reads at any time.
 */
#ifndef UROCE_PIPE_H
#define UROCE_PIPE_H

#include <stddef.h>
#include <stdint.h>

struct uroce_pipe {
	int read_fd;  /* end of the application, which may set O_NONBLOCK on it */
	int write_fd; /* never blocks */
};

int uroce_pipe_open(struct uroce_pipe *pipe);
void uroce_pipe_close_write(struct uroce_pipe *pipe);
/*
 * Write a record. Return: 0; -EAGAIN: the pipe is full; -EPIPE: the application has closed its end.
 */
int uroce_pipe_put(const struct uroce_pipe *pipe, const void *record, size_t size);
/*
 * Remove the unread records whose first 8 bytes are @element. Return: their number. The caller
 * excludes writers. A reader at the same time gets complete records.
 */
unsigned int uroce_pipe_purge(const struct uroce_pipe *pipe, uint64_t element, size_t size);

#endif
