/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * valgrind knows the memory that a read() fills, but not the memory that the kernel fills for a
 * command of this library. Mark such memory as initialised with this function. It costs a few
 * instructions. In a build without RDMA_VALGRIND it costs no instructions.
 */
#ifndef UTIL_VALGRIND_H
#define UTIL_VALGRIND_H

#include <stdbool.h>
#include <stddef.h>

#ifdef RDMA_VALGRIND
#include <valgrind/memcheck.h>

static inline void kernel_wrote(const void *p, size_t size)
{
	VALGRIND_MAKE_MEM_DEFINED(p, size);
}

/* Return whether the process runs under valgrind. */
static inline bool valgrind_runs(void)
{
	return RUNNING_ON_VALGRIND;
}

/* Let valgrind report each use of the memory until memory_show(). Its content stays. */
static inline void memory_hide(const void *p, size_t size)
{
	VALGRIND_MAKE_MEM_UNDEFINED(p, size);
}

static inline void memory_show(const void *p, size_t size)
{
	VALGRIND_MAKE_MEM_DEFINED_IF_ADDRESSABLE(p, size);
}
#else
static inline void kernel_wrote(const void *p, size_t size)
{
}

static inline bool valgrind_runs(void)
{
	return false;
}

static inline void memory_hide(const void *p, size_t size)
{
}

static inline void memory_show(const void *p, size_t size)
{
}
#endif

#endif
