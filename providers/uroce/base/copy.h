/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies and atomics on memory whose owner may unmap it at any moment: every registered buffer.
 */
#ifndef UROCE_COPY_H
#define UROCE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copy between memory that may be unmapped at any moment by its owner (every registered buffer) and
 * memory of ours. Return: 0 or -EFAULT, never a signal.
 */
int uroce_copy(void *dst, const void *src, size_t length);

/* 8-byte atomics on such memory, aligned: 0 with the value before in *@ret_orig, or -EFAULT. */
int uroce_atomic_cmp_swap(void *ptr, uint64_t compare, uint64_t swap, uint64_t *ret_orig);
int uroce_atomic_fetch_add(void *ptr, uint64_t add, uint64_t *ret_orig);
int uroce_atomic_store(void *ptr, uint64_t value);
/* Whether they are safe even if the memory vanishes in their middle: otherwise they look first. */
bool uroce_atomics_survive(void);

/*
 * The first call installs a handler of SIGSEGV and SIGBUS in front of the application's handler.
 * Each further call checks that the handler is still in front, and reinstalls it in front of a
 * handler that the application has installed since. If the installation is refused, the kernel
 * makes the copies, which is as safe but slower. Call this function when a device is opened and
 * when memory is registered. Between a new handler and the next call, faults of a copy reach the
 * new handler, which may pass them on.
 *
 * Faults of a copy never reach the application's handler; all other faults do. A thread that blocks
 * these two signals finds them unblocked after its first copy: blocking them gives no protection,
 * because the kernel ends the process at a fault. A thread that blocks them again is not protected.
 */
void uroce_copy_init(void);

/*
 * The same as uroce_copy(), but what is written goes past the caches to memory, where the processor
 * can do that: for what a processor far away will read. Return: 0 or -EFAULT.
 */
int uroce_copy_past(void *dst, const void *src, size_t length);

/* The kernel's copy within this process. Return: 0 or -EFAULT, also where it is forbidden. */
int uroce_copy_kernel(void *dst, const void *src, size_t length);

#if defined(__x86_64__)
/* The two that uroce_copy_init() chooses from, for tests: only with the handler installed. */
int uroce_copy_sse(void *dst, const void *src, size_t length);
int uroce_copy_avx(void *dst, const void *src, size_t length);
#endif

#endif
