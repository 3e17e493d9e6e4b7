/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of every program to --version. Needs RDMA_VERSION, which rdma_program() defines. */
#ifndef UTIL_VERSION_H
#define UTIL_VERSION_H

#include <errno.h>
#include <stdio.h>

static inline void version_print(void)
{
	printf("%s %s\n", program_invocation_short_name, RDMA_VERSION);
}

#endif
