/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Capture of the library's messages on standard error during a trial. */
#ifndef RDMA_DOCTOR_CAPTURE_H
#define RDMA_DOCTOR_CAPTURE_H

#include <stddef.h>

struct capture {
	int saved; /* standard error itself; -1: nothing is captured */
	int file;
};

void capture_begin(struct capture *c);
/* Return the first line without its newline; "" if there was none. */
void capture_end(struct capture *c, char *line, size_t size);

#endif
