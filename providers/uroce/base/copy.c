/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies that survive their memory. The instructions that touch registered memory are leaves
 * (copy_leaf.h). When one of them faults, the signal handler (copy_signal.c) lets it return
 * -EFAULT.
 *
 * If there are no such functions for the processor, or the handler is not installed, the kernel
 * makes the copies. process_vm_readv() on this process reports both kinds of missing memory.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/uio.h>

#include "providers/uroce/base/base.h"
#include "providers/uroce/base/copy_leaf.h"
#include "providers/uroce/base/copy_signal.h"

int uroce_copy_kernel(void *dst, const void *src, size_t length)
{
	const struct iovec to = { dst, length };

	return !length || !uroce_vm_read(getpid(), &to, 1, (uintptr_t)src, length) ? 0 : -EFAULT;
}

/*
 * Check that the word of an atomic operation is mapped, on processors without leaves. If the memory
 * vanishes between this check and the operation, a signal still ends the process, because the
 * kernel has no atomic operations.
 */
static int word_check(void *ptr)
{
	uint64_t word;

	return uroce_copy_kernel(&word, ptr, sizeof(word));
}

static int cmp_swap_checked(void *ptr, uint64_t compare, uint64_t swap, uint64_t *ret_orig)
{
	int r = word_check(ptr);

	if (r < 0)
		return r;
	__atomic_compare_exchange_n((uint64_t *)ptr, &compare, swap, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	*ret_orig = compare;
	return 0;
}

static int fetch_add_checked(void *ptr, uint64_t add, uint64_t *ret_orig)
{
	int r = word_check(ptr);

	if (r < 0)
		return r;
	*ret_orig = __atomic_fetch_add((uint64_t *)ptr, add, __ATOMIC_SEQ_CST);
	return 0;
}

static int store_checked(void *ptr, uint64_t value)
{
	int r = word_check(ptr);

	if (r < 0)
		return r;
	__atomic_store_n((uint64_t *)ptr, value, __ATOMIC_SEQ_CST);
	return 0;
}

/* Both functions are correct at any time, so relaxed order is enough. */
static _Atomic(copy_fn *) copy = uroce_copy_kernel;
static _Atomic(copy_fn *) copy_past = uroce_copy_kernel;
static _Atomic(cmp_swap_fn *) cmp_swap = cmp_swap_checked;
static _Atomic(fetch_add_fn *) fetch_add = fetch_add_checked;
static _Atomic(store_fn *) store = store_checked;

/*
 * Unblock the two signals once in each thread that copies. A fault in a thread that blocks its
 * signal ends the process, even with a handler.
 */
static __thread bool thread_ready TLS_QUICK;

static __attribute__((noinline, cold)) void thread_prepare(void)
{
	sigset_t faults;

	sigemptyset(&faults);
	sigaddset(&faults, SIGSEGV);
	sigaddset(&faults, SIGBUS);
	pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
	thread_ready = true;
}

static inline void thread_check(void)
{
	if (unlikely(!thread_ready))
		thread_prepare();
}

int uroce_copy(void *dst, const void *src, size_t length)
{
	thread_check();
	return atomic_load_explicit(&copy, memory_order_relaxed)(dst, src, length);
}

int uroce_copy_past(void *dst, const void *src, size_t length)
{
	thread_check();
	return atomic_load_explicit(&copy_past, memory_order_relaxed)(dst, src, length);
}

int uroce_atomic_cmp_swap(void *ptr, uint64_t compare, uint64_t swap, uint64_t *ret_orig)
{
	thread_check();
	return atomic_load_explicit(&cmp_swap, memory_order_relaxed)(ptr, compare, swap, ret_orig);
}

int uroce_atomic_fetch_add(void *ptr, uint64_t add, uint64_t *ret_orig)
{
	thread_check();
	return atomic_load_explicit(&fetch_add, memory_order_relaxed)(ptr, add, ret_orig);
}

int uroce_atomic_store(void *ptr, uint64_t value)
{
	thread_check();
	return atomic_load_explicit(&store, memory_order_relaxed)(ptr, value);
}

bool uroce_atomics_survive(void)
{
	return atomic_load_explicit(&cmp_swap, memory_order_relaxed) != cmp_swap_checked;
}

static void ways_set(const struct copy_ways *ways)
{
	atomic_store_explicit(&copy, ways->copy, memory_order_relaxed);
	atomic_store_explicit(&copy_past, ways->copy_past, memory_order_relaxed);
	atomic_store_explicit(&cmp_swap, ways->cmp_swap, memory_order_relaxed);
	atomic_store_explicit(&fetch_add, ways->fetch_add, memory_order_relaxed);
	atomic_store_explicit(&store, ways->store, memory_order_relaxed);
}

void uroce_copy_init(void)
{
	static const struct copy_ways kernel = {
		.copy = uroce_copy_kernel,
		.copy_past = uroce_copy_kernel,
		.cmp_swap = cmp_swap_checked,
		.fetch_add = fetch_add_checked,
		.store = store_checked,
	};
	struct copy_ways leaves;

	if (copy_leaves(&leaves) < 0)
		return; /* the copies by the kernel are already in use */
	ways_set(copy_handlers_install() < 0 ? &kernel : &leaves);
}
