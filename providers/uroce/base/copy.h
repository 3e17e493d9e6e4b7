/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies and atomic operations on memory whose owner may unmap it at any moment: all registered
 * buffers.
 */
#ifndef UROCE_COPY_H
#define UROCE_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copy between memory that its owner may unmap at any moment (all registered buffers) and memory of
 * the library. Return: 0 or -EFAULT. Never raises a signal.
 */
int uroce_copy(void *dst, const void *src, size_t length);

/*
 * Perform an aligned atomic operation of 8 bytes on such memory. Return: 0 with the former value in
 * *@ret_orig, or -EFAULT.
 */
int uroce_atomic_cmp_swap(void *ptr, uint64_t compare, uint64_t swap, uint64_t *ret_orig);
int uroce_atomic_fetch_add(void *ptr, uint64_t add, uint64_t *ret_orig);
int uroce_atomic_store(void *ptr, uint64_t value);
/*
 * Return whether atomic operations are safe even if the memory vanishes during them. If not, they
 * only check the memory first.
 */
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
 * Copy like uroce_copy(), but write past the caches to memory if the processor can do so. For data
 * that a processor far away will read. Return: 0 or -EFAULT.
 */
int uroce_copy_past(void *dst, const void *src, size_t length);

/*
 * Copy by the kernel within this process. Return: 0 or -EFAULT, also if the system forbids the
 * call.
 */
int uroce_copy_kernel(void *dst, const void *src, size_t length);

#if defined(__x86_64__)
/*
 * The two functions that uroce_copy_init() chooses from. Only for tests, and only with the handler
 * installed.
 */
int uroce_copy_sse(void *dst, const void *src, size_t length);
int uroce_copy_avx(void *dst, const void *src, size_t length);
#endif

#endif
