/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * valgrind knows the memory that a read() fills, but not the memory that the kernel fills for a
 * command of this library. Mark such memory as initialised with this function. It costs a few
 * instructions, and none in a build without RDMA_VALGRIND.
 */
#ifndef UTIL_VALGRIND_H
#define UTIL_VALGRIND_H

#include <stddef.h>

#ifdef RDMA_VALGRIND
#include <valgrind/memcheck.h>

static inline void kernel_wrote(const void *p, size_t size)
{
	VALGRIND_MAKE_MEM_DEFINED(p, size);
}
#else
static inline void kernel_wrote(const void *p, size_t size)
{
}
#endif

#endif
