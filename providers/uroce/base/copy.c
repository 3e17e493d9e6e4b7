/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies that survive their memory. The instructions that touch registered memory are leaf
 * functions in a section of their own, which use no stack. When one of them faults, the signal
 * handler sends it on to copy_fault(), which returns -EFAULT to the leaf's caller in the leaf's
 * place.
 *
 * On processors without such leaves, and before the handler is installed, the kernel copies:
 * process_vm_readv() on this very process reports both kinds of missing memory.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "providers/uroce/base/base.h"

int uroce_copy_kernel(void *dst, const void *src, size_t length)
{
	struct iovec to = { dst, length }, from = { (void *)src, length };

	if (!length)
		return 0;
	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)length ? 0 : -EFAULT;
}

/*
 * Atomics without leaves: a look whether the word is there first. Memory that vanishes between the
 * look and the operation still ends in a signal; the kernel has no atomics to offer.
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

typedef int copy_fn(void *dst, const void *src, size_t length);
typedef int cmp_swap_fn(void *ptr, uint64_t compare, uint64_t swap, uint64_t *ret_orig);
typedef int fetch_add_fn(void *ptr, uint64_t add, uint64_t *ret_orig);
typedef int store_fn(void *ptr, uint64_t value);

/* Either way is right at any time, so relaxed order is enough. */
static _Atomic(copy_fn *) copy = uroce_copy_kernel;
static _Atomic(copy_fn *) copy_past = uroce_copy_kernel;
static _Atomic(cmp_swap_fn *) cmp_swap = cmp_swap_checked;
static _Atomic(fetch_add_fn *) fetch_add = fetch_add_checked;
static _Atomic(store_fn *) store = store_checked;

/*
 * A fault in a thread that blocks its signal ends the process, handler or not. So each thread that
 * comes here unblocks the two, once.
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

#if defined(__x86_64__)

#ifdef __CET__
#define LANDING "endbr64\n"
#else
#define LANDING ""
#endif

/* The section's name makes the linker define __start_ and __stop_ around it. */
#define LEAF                                                                                      \
	__attribute__((naked, noinline, used, section("uroce_copy_text"), no_instrument_function, \
		       no_sanitize("address", "thread", "undefined")))

extern const char __start_uroce_copy_text[] __attribute__((visibility("hidden")));
extern const char __stop_uroce_copy_text[] __attribute__((visibility("hidden")));

/* Where a leaf goes on after a fault: its return address is still on top of the stack. */
LEAF static void copy_fault(void)
{
	__asm__("mov $-14, %eax\n" /* -EFAULT */
		"ret");
}
static_assert(EFAULT == 14, "as copy_fault() has it");

/*
 * rdi: to, rsi: from, rdx: bytes. Up to 128 bytes are read whole, in parts that overlap in the
 * middle, then written, the last byte last and once: somebody may spin on it. "rep movsb" would be
 * shorter, but where source and destination lie badly to each other some processors drop to a tenth
 * of the speed of a loop.
 */
#define COPY_32                          \
	LANDING                          \
	"cmp $16, %rdx\n"                \
	"ja 20f\n"                       \
	"cmp $8, %edx\n"                 \
	"jb 10f\n"                       \
	"mov (%rsi), %rax\n"             \
	"je 9f\n"                        \
	"mov -8(%rsi,%rdx), %rcx\n"      \
	"mov %rax, (%rdi)\n"             \
	"mov %rcx, -8(%rdi,%rdx)\n"      \
	"xor %eax, %eax\n"               \
	"ret\n"                          \
	"9: mov %rax, (%rdi)\n"          \
	"xor %eax, %eax\n"               \
	"ret\n"                          \
	"10: cmp $4, %edx\n"             \
	"jb 12f\n"                       \
	"mov (%rsi), %eax\n"             \
	"je 11f\n"                       \
	"mov -4(%rsi,%rdx), %ecx\n"      \
	"mov %eax, (%rdi)\n"             \
	"mov %ecx, -4(%rdi,%rdx)\n"      \
	"xor %eax, %eax\n"               \
	"ret\n"                          \
	"11: mov %eax, (%rdi)\n"         \
	"xor %eax, %eax\n"               \
	"ret\n"                          \
	"12: cmp $2, %edx\n"             \
	"jb 14f\n"                       \
	"movzwl (%rsi), %eax\n"          \
	"je 13f\n"                       \
	"movzbl 2(%rsi), %ecx\n"         \
	"mov %ax, (%rdi)\n"              \
	"mov %cl, 2(%rdi)\n"             \
	"xor %eax, %eax\n"               \
	"ret\n"                          \
	"13: mov %ax, (%rdi)\n"          \
	"xor %eax, %eax\n"               \
	"ret\n"                          \
	"14: test %edx, %edx\n"          \
	"je 15f\n"                       \
	"movzbl (%rsi), %eax\n"          \
	"mov %al, (%rdi)\n"              \
	"15: xor %eax, %eax\n"           \
	"ret\n"                          \
	"20: cmp $32, %rdx\n"            \
	"ja 30f\n"                       \
	"movups (%rsi), %xmm0\n"         \
	"movups -16(%rsi,%rdx), %xmm1\n" \
	"movups %xmm0, (%rdi)\n"         \
	"movups %xmm1, -16(%rdi,%rdx)\n" \
	"xor %eax, %eax\n"               \
	"ret\n"

/*
 * The longer ones: the head goes out unaligned, then r9, the destination, is on a boundary for the
 * loop; the tail was read first and goes to r8, where the loop stops.
 */
LEAF int uroce_copy_sse(void *dst, const void *src, size_t length)
{
	__asm__(COPY_32 "30: cmp $64, %rdx\n"
			"ja 40f\n"
			"movups (%rsi), %xmm0\n"
			"movups 16(%rsi), %xmm1\n"
			"movups -32(%rsi,%rdx), %xmm2\n"
			"movups -16(%rsi,%rdx), %xmm3\n"
			"movups %xmm0, (%rdi)\n"
			"movups %xmm1, 16(%rdi)\n"
			"movups %xmm2, -32(%rdi,%rdx)\n"
			"movups %xmm3, -16(%rdi,%rdx)\n"
			"xor %eax, %eax\n"
			"ret\n"
			"40: movups (%rsi), %xmm4\n"
			"movups -64(%rsi,%rdx), %xmm5\n"
			"movups -48(%rsi,%rdx), %xmm6\n"
			"movups -32(%rsi,%rdx), %xmm7\n"
			"movups -16(%rsi,%rdx), %xmm8\n"
			"lea -64(%rdi,%rdx), %r8\n"
			"lea 16(%rdi), %r9\n"
			"and $-16, %r9\n"
			"sub %rdi, %rsi\n"
			"movups %xmm4, (%rdi)\n"
			"cmp %r8, %r9\n"
			"jae 51f\n"
			"50: movups (%rsi,%r9), %xmm0\n"
			"movups 16(%rsi,%r9), %xmm1\n"
			"movups 32(%rsi,%r9), %xmm2\n"
			"movups 48(%rsi,%r9), %xmm3\n"
			"movaps %xmm0, (%r9)\n"
			"movaps %xmm1, 16(%r9)\n"
			"movaps %xmm2, 32(%r9)\n"
			"movaps %xmm3, 48(%r9)\n"
			"add $64, %r9\n"
			"cmp %r8, %r9\n"
			"jb 50b\n"
			"51: movups %xmm5, (%r8)\n"
			"movups %xmm6, 16(%r8)\n"
			"movups %xmm7, 32(%r8)\n"
			"movups %xmm8, 48(%r8)\n"
			"xor %eax, %eax\n"
			"ret");
}

LEAF int uroce_copy_avx(void *dst, const void *src, size_t length)
{
	__asm__(COPY_32 "30: cmp $64, %rdx\n"
			"ja 40f\n"
			"vmovdqu (%rsi), %ymm0\n"
			"vmovdqu -32(%rsi,%rdx), %ymm1\n"
			"vmovdqu %ymm0, (%rdi)\n"
			"vmovdqu %ymm1, -32(%rdi,%rdx)\n"
			"vzeroupper\n"
			"xor %eax, %eax\n"
			"ret\n"
			"40: cmp $128, %rdx\n"
			"ja 41f\n"
			"vmovdqu (%rsi), %ymm0\n"
			"vmovdqu 32(%rsi), %ymm1\n"
			"vmovdqu -64(%rsi,%rdx), %ymm2\n"
			"vmovdqu -32(%rsi,%rdx), %ymm3\n"
			"vmovdqu %ymm0, (%rdi)\n"
			"vmovdqu %ymm1, 32(%rdi)\n"
			"vmovdqu %ymm2, -64(%rdi,%rdx)\n"
			"vmovdqu %ymm3, -32(%rdi,%rdx)\n"
			"vzeroupper\n"
			"xor %eax, %eax\n"
			"ret\n"
			"41: vmovdqu (%rsi), %ymm4\n"
			"vmovdqu -128(%rsi,%rdx), %ymm5\n"
			"vmovdqu -96(%rsi,%rdx), %ymm6\n"
			"vmovdqu -64(%rsi,%rdx), %ymm7\n"
			"vmovdqu -32(%rsi,%rdx), %ymm8\n"
			"lea -128(%rdi,%rdx), %r8\n"
			"lea 32(%rdi), %r9\n"
			"and $-32, %r9\n"
			"sub %rdi, %rsi\n"
			"vmovdqu %ymm4, (%rdi)\n"
			"cmp %r8, %r9\n"
			"jae 51f\n"
			"50: vmovdqu (%rsi,%r9), %ymm0\n"
			"vmovdqu 32(%rsi,%r9), %ymm1\n"
			"vmovdqu 64(%rsi,%r9), %ymm2\n"
			"vmovdqu 96(%rsi,%r9), %ymm3\n"
			"vmovdqa %ymm0, (%r9)\n"
			"vmovdqa %ymm1, 32(%r9)\n"
			"vmovdqa %ymm2, 64(%r9)\n"
			"vmovdqa %ymm3, 96(%r9)\n"
			"add $128, %r9\n"
			"cmp %r8, %r9\n"
			"jb 50b\n"
			"51: vmovdqu %ymm5, (%r8)\n"
			"vmovdqu %ymm6, 32(%r8)\n"
			"vmovdqu %ymm7, 64(%r8)\n"
			"vmovdqu %ymm8, 96(%r8)\n"
			"vzeroupper\n"
			"xor %eax, %eax\n"
			"ret");
}

/*
 * Whole lines go to memory as they are, the ends by way of the caches. The fence is for who
 * publishes them by a plain store.
 */
LEAF static int copy_past_leaf(void *dst, const void *src, size_t length)
{
	__asm__(LANDING "cmp $128, %rdx\n"
			"jb 51f\n"
			"mov %edi, %ecx\n"
			"neg %ecx\n"
			"and $63, %ecx\n"
			"sub %rcx, %rdx\n"
			"rep movsb\n"
			"50: movups (%rsi), %xmm0\n"
			"movups 16(%rsi), %xmm1\n"
			"movups 32(%rsi), %xmm2\n"
			"movups 48(%rsi), %xmm3\n"
			"movntps %xmm0, (%rdi)\n"
			"movntps %xmm1, 16(%rdi)\n"
			"movntps %xmm2, 32(%rdi)\n"
			"movntps %xmm3, 48(%rdi)\n"
			"add $64, %rsi\n"
			"add $64, %rdi\n"
			"sub $64, %rdx\n"
			"cmp $64, %rdx\n"
			"jae 50b\n"
			"sfence\n"
			"51: mov %rdx, %rcx\n"
			"rep movsb\n"
			"xor %eax, %eax\n"
			"ret");
}

/* rdi: the word, rsi: compare, rdx: swap, rcx: where the value before goes. */
LEAF static int cmp_swap_leaf(void *ptr, uint64_t compare, uint64_t swap, uint64_t *ret_orig)
{
	__asm__(LANDING "mov %rsi, %rax\n"
			"lock cmpxchg %rdx, (%rdi)\n"
			"mov %rax, (%rcx)\n"
			"xor %eax, %eax\n"
			"ret");
}

LEAF static int fetch_add_leaf(void *ptr, uint64_t add, uint64_t *ret_orig)
{
	__asm__(LANDING "lock xadd %rsi, (%rdi)\n"
			"mov %rsi, (%rdx)\n"
			"xor %eax, %eax\n"
			"ret");
}

LEAF static int store_leaf(void *ptr, uint64_t value)
{
	__asm__(LANDING "xchg %rsi, (%rdi)\n"
			"xor %eax, %eax\n"
			"ret");
}

static void ways_set(copy_fn *c, copy_fn *p, cmp_swap_fn *s, fetch_add_fn *f, store_fn *w)
{
	atomic_store_explicit(&copy, c, memory_order_relaxed);
	atomic_store_explicit(&copy_past, p, memory_order_relaxed);
	atomic_store_explicit(&cmp_swap, s, memory_order_relaxed);
	atomic_store_explicit(&fetch_add, f, memory_order_relaxed);
	atomic_store_explicit(&store, w, memory_order_relaxed);
}

static void leaves_use(void)
{
	ways_set(__builtin_cpu_supports("avx2") ? uroce_copy_avx : uroce_copy_sse, copy_past_leaf,
		 cmp_swap_leaf, fetch_add_leaf, store_leaf);
}

/* Whether the instruction at fault is a leaf's; if so the thread continues in copy_fault(). */
static bool leaf_recover(void *context)
{
	ucontext_t *uc = context;
	uintptr_t pc = uc->uc_mcontext.gregs[REG_RIP];

	if (pc < (uintptr_t)__start_uroce_copy_text || pc >= (uintptr_t)__stop_uroce_copy_text)
		return false;
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)copy_fault;
	return true;
}

/* --- the signal handler --- */

enum {
	HANDLED_SIGNALS = 2,
};
static const int handled[HANDLED_SIGNALS] = { SIGSEGV, SIGBUS };
static struct sigaction previous[HANDLED_SIGNALS]; /* what was there before us */

/* The signal's default: the process ends, at the instruction at fault where there is one. */
static void default_action(int sig, bool sent)
{
	struct sigaction action = { .sa_handler = SIG_DFL };

	sigaction(sig, &action, NULL);
	if (sent)
		raise(sig); /* delivered when the handler returns, for until then it is blocked */
}

/* Not ours: do what would have happened without us. */
static void fault_chain(int sig, siginfo_t *info, void *context)
{
	struct sigaction *old = &previous[sig == handled[1]];
	struct sigaction action = *old;
	bool sent = info->si_code <= 0; /* by kill() and the like, not by an instruction */

	if (action.sa_handler == SIG_IGN && sent)
		return;
	if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
		default_action(sig, sent);
		return;
	}
	if (action.sa_flags & SA_RESETHAND)
		old->sa_handler = SIG_DFL;
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(sig, info, context);
	else
		action.sa_handler(sig);
}

static void fault_handler(int sig, siginfo_t *info, void *context)
{
	if (info->si_code <= 0 || !leaf_recover(context))
		fault_chain(sig, info, context);
}

/*
 * The application's handler, called by ours, shall find the signal mask it asked for: flags and
 * mask are its own. The alternate stack is always used where a thread has one, as some languages'
 * run-times demand of every handler.
 */
static bool handler_install(int i)
{
	struct sigaction action = { .sa_sigaction = fault_handler };

	if (sigaction(handled[i], NULL, &previous[i]))
		return false;
	action.sa_mask = previous[i].sa_mask;
	action.sa_flags =
		SA_SIGINFO | SA_ONSTACK | (previous[i].sa_flags & (SA_NODEFER | SA_RESTART));
	return !sigaction(handled[i], &action, NULL);
}

static void handlers_install(void)
{
	for (int i = 0; i < HANDLED_SIGNALS; i++)
		if (!handler_install(i))
			log_warn(
				"uroce: cannot handle signal %d: %s; the kernel will do the copies",
				handled[i], strerror(errno));
}

static bool handlers_present(void)
{
	for (int i = 0; i < HANDLED_SIGNALS; i++) {
		struct sigaction action;

		if (sigaction(handled[i], NULL, &action) || action.sa_sigaction != fault_handler)
			return false;
	}
	return true;
}

void uroce_copy_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, handlers_install);
	if (handlers_present())
		leaves_use();
	else
		ways_set(uroce_copy_kernel, uroce_copy_kernel, cmp_swap_checked, fetch_add_checked,
			 store_checked);
}

#else

void uroce_copy_init(void)
{
}

#endif
