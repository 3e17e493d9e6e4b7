/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Order between a processor and a device that reads and writes memory of this process.
 *
 * - barrier_to_device(): the device sees stores before it earlier than stores behind it.
 *
 * - barrier_from_device(): loads behind it see data that the device wrote before the value that was
 *   just loaded.
 *
 * - barrier_wc_start(): the device sees stores before it earlier than stores behind it into a
 *   write-combining page.
 *
 * - barrier_wc_flush(): stores into a write-combining page go to the device now.
 */
#ifndef PROVIDERS_KIT_BARRIER_H
#define PROVIDERS_KIT_BARRIER_H

#include <stdatomic.h>

#include "util/spinlock.h"

#ifdef __s390x__
#include "providers/kit/zpci.h"
#endif

#define BARRIER(instruction) __asm__ volatile(instruction ::: "memory")

/* Other processors. On RISC-V a fence for memory does not order stores into registers. */
#if defined(__riscv)
#define BARRIER_OUT "fence ow,ow"
#define BARRIER_IN  "fence ir,ir"
#elif defined(__loongarch__)
#define BARRIER_OUT "dbar 0"
#define BARRIER_IN  "dbar 0"
#elif defined(__mips__)
#define BARRIER_OUT "sync"
#define BARRIER_IN  "sync"
#elif defined(__sparc_v9__)
#define BARRIER_OUT "membar #StoreStore"
#define BARRIER_IN  "membar #LoadLoad"
#endif

static inline void barrier_to_device(void)
{
#if defined(__x86_64__) || defined(__i386__) || defined(__s390x__)
	BARRIER("");
#elif defined(__aarch64__)
	BARRIER("dmb oshst");
#elif defined(__powerpc__)
	BARRIER("sync");
#elif defined(BARRIER_OUT)
	BARRIER(BARRIER_OUT);
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

static inline void barrier_from_device(void)
{
#if defined(__x86_64__) || defined(__i386__) || defined(__s390x__)
	BARRIER("");
#elif defined(__aarch64__)
	BARRIER("dmb oshld");
#elif defined(__powerpc64__)
	BARRIER("lwsync");
#elif defined(BARRIER_IN)
	BARRIER(BARRIER_IN);
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

static inline void barrier_wc_start(void)
{
#if defined(__x86_64__)
	BARRIER("sfence");
#elif defined(__i386__)
	BARRIER("lock; addl $0,0(%%esp)");
#elif defined(__aarch64__)
	BARRIER("dsb st");
#elif defined(__powerpc__)
	BARRIER("sync");
#elif defined(__s390x__)
	zpci_flush();
#elif defined(BARRIER_OUT)
	BARRIER(BARRIER_OUT);
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

static inline void barrier_wc_flush(void)
{
	barrier_wc_start();
}

/* Order stores after taking the lock of a write-combining page. On x86 the exchange in the lock is
 * the barrier. */
static inline void barrier_wc_locked(void)
{
#if !defined(__x86_64__) && !defined(__i386__)
	barrier_wc_start();
#endif
}

static inline void barrier_wc_lock(struct spinlock *lock)
{
	spinlock_lock(lock);
	barrier_wc_locked();
}

#endif
