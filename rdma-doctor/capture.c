/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "rdma-doctor/capture.h"
#include "util/util.h"

void capture_begin(struct capture *c)
{
	fflush(stderr);
	c->file = memfd_create("rdma-doctor", MFD_CLOEXEC);
	c->saved = c->file < 0 ? -1 : fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (c->saved >= 0)
		dup2(c->file, STDERR_FILENO);
}

void capture_end(struct capture *c, char *line, size_t size)
{
	ssize_t n;

	line[0] = '\0';
	if (c->saved >= 0) {
		fflush(stderr);
		dup2(c->saved, STDERR_FILENO);
		close(c->saved);
		n = pread(c->file, line, size - 1, 0);
		line[max_of(n, (ssize_t)0)] = '\0';
		line[strcspn(line, "\n")] = '\0';
	}
	if (c->file >= 0)
		close(c->file);
}
