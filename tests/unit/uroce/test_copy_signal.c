/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies beside other handlers of SIGSEGV, in every order of installation. Each other handler
 * acts like a language's run-time. It demands a stack, recognises its own faults by their
 * address and repairs them. Other faults it passes on, or it ends the process. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "providers/uroce/base/base.h"
#include "providers/uroce/base/copy_leaf.h"

#define PAGE 4096ul

static atomic_int kernel_copies;

ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
				const struct iovec *remote, unsigned long remote_count,
				unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
				const struct iovec *remote, unsigned long remote_count,
				unsigned long flags);

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
				const struct iovec *remote, unsigned long remote_count,
				unsigned long flags)
{
	atomic_fetch_add(&kernel_copies, 1);
	return __real_process_vm_readv(pid, local, local_count, remote, remote_count, flags);
}

/* A run-time. It protects its page, which opens at the first access. */
struct runtime {
	struct sigaction before;
	uint8_t *page;
	int seen;	/* calls of its handler */
	int mended;	/* of which its own */
	bool off_stack; /* it was called on another stack than it demands */
};

static struct runtime first, second;
static uint8_t *handler_stack;
enum {
	STACK = 1 << 16,
};

static bool on_stack(void)
{
	uint8_t *here = __builtin_frame_address(0);

	return here >= handler_stack && here < handler_stack + STACK;
}

static bool runtime_mends(struct runtime *rt, const siginfo_t *info)
{
	uint8_t *at = info->si_addr;

	rt->seen++;
	rt->off_stack |= !on_stack();
	if (!rt->page || at < rt->page || at >= rt->page + PAGE)
		return false;
	rt->mended++;
	mprotect(rt->page, PAGE, PROT_READ | PROT_WRITE);
	return true;
}

static void runtime_pass(const struct runtime *rt, int sig, siginfo_t *info, void *context)
{
	if (rt->before.sa_flags & SA_SIGINFO)
		rt->before.sa_sigaction(sig, info, context);
	else if (rt->before.sa_handler != SIG_DFL && rt->before.sa_handler != SIG_IGN)
		rt->before.sa_handler(sig);
	else
		_exit(9); /* its crash report */
}

/*
 * A handler like Go's: all signals blocked, faults outside of its code go to the previous handler.
 */
static void first_handler(int sig, siginfo_t *info, void *context)
{
	if (!runtime_mends(&first, info))
		runtime_pass(&first, sig, info, context);
}

/* A handler like a JVM's with its chaining library: its own signals may interrupt it. */
static void second_handler(int sig, siginfo_t *info, void *context)
{
	if (!runtime_mends(&second, info))
		runtime_pass(&second, sig, info, context);
}

/* A handler like a JVM's without that library: an unknown fault ends the process. */
static void alone_handler(int sig, siginfo_t *info, void *context)
{
	if (!runtime_mends(&first, info))
		_exit(9);
}

static void runtime_start(struct runtime *rt, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = { .sa_sigaction = handler,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK | flags };

	sigfillset(&action.sa_mask);
	if (!rt->page)
		rt->page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &action, &rt->before);
}

static void runtime_fault(struct runtime *rt)
{
	mprotect(rt->page, PAGE, PROT_NONE);
	*(volatile uint8_t *)rt->page = 1;
}

/* --- checks, in children, because each run-time starts once --- */

#define REQUIRE(condition)                          \
	do {                                        \
		if (!(condition))                   \
			_exit(__LINE__ % 200 + 10); \
	} while (0)

static uint8_t *gone;

static void copies_work(void)
{
	uint8_t ours[64] = {};
	uint64_t orig;

	REQUIRE(uroce_copy(ours, gone, sizeof(ours)) == -EFAULT);
	REQUIRE(uroce_copy(gone, ours, sizeof(ours)) == -EFAULT);
	REQUIRE(uroce_atomic_fetch_add(gone, 1, &orig) == -EFAULT);
	REQUIRE(!uroce_copy(ours, ours + 32, 32));
}

/* The run-time gets each of its own faults once, and no fault of a copy. */
static void runtime_works(struct runtime *rt, const struct runtime *other)
{
	int seen = rt->seen, mended = rt->mended, others = other->mended;

	copies_work();
	REQUIRE(rt->seen == seen);
	for (int i = 1; i <= 3; i++) {
		runtime_fault(rt);
		REQUIRE(rt->seen == seen + i && rt->mended == mended + i);
	}
	REQUIRE(other->mended == others);
	REQUIRE(!rt->off_stack);
}

static void all_in_order(void)
{
	REQUIRE(atomic_load(&kernel_copies) == 0);
	_exit(0);
}

static void runtime_then_device(void)
{
	runtime_start(&first, first_handler, 0);
	uroce_copy_init();
	runtime_works(&first, &second);
	all_in_order();
}

static void device_then_runtime(void)
{
	uroce_copy_init();
	runtime_start(&first, first_handler, 0);
	copies_work(); /* passed on, until memory is registered */
	uroce_copy_init();
	runtime_works(&first, &second);
	all_in_order();
}

static void device_between_two(void)
{
	runtime_start(&first, first_handler, SA_RESTART);
	uroce_copy_init();
	runtime_start(&second, second_handler, SA_NODEFER);
	copies_work();
	uroce_copy_init();
	runtime_works(&second, &first);
	runtime_works(&first, &second);
	all_in_order();
}

static void never_passes_on(void)
{
	uroce_copy_init();
	runtime_start(&first, alone_handler, 0);
	uroce_copy_init();
	runtime_works(&first, &second);
	all_in_order();
}

static void last_handler(int sig)
{
	_exit(first.seen == 1 && second.seen == 1 ? 0 : 8);
}

/* A handler that is installed again and again is called once. */
static void again_and_again(void)
{
	signal(SIGSEGV, last_handler);
	uroce_copy_init();
	for (int i = 0; i < 100; i++) {
		runtime_start(i % 2 ? &first : &second, i % 2 ? first_handler : second_handler, 0);
		uroce_copy_init();
	}
	runtime_works(&first, &second);
	second.seen = first.seen = 0;
	*(volatile uint8_t *)gone = 1;
}

/* An unknown fault ends the process as without the device, because the last handler of the chain
 * gets it. */
static void unknown_fault(void)
{
	runtime_start(&first, first_handler, 0);
	uroce_copy_init();
	runtime_start(&second, second_handler, SA_NODEFER);
	uroce_copy_init();
	*(volatile uint8_t *)gone = 1;
	_exit(1);
}

static int child_status(void (*body)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		stack_t stack = { .ss_size = STACK };

		handler_stack = stack.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
						   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		gone = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		signal(SIGSEGV, SIG_DFL);
		sigaltstack(&stack, NULL);
		body();
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

#define IN_CHILD(body)                                   \
	static void test_##body(void **state)            \
	{                                                \
		assert_int_equal(child_status(body), 0); \
	}

IN_CHILD(runtime_then_device)
IN_CHILD(device_then_runtime)
IN_CHILD(device_between_two)
IN_CHILD(never_passes_on)
IN_CHILD(again_and_again)

static void test_unknown_fault(void **state)
{
	int status = child_status(unknown_fault);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 9);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runtime_then_device),
		cmocka_unit_test(test_device_then_runtime),
		cmocka_unit_test(test_device_between_two),
		cmocka_unit_test(test_never_passes_on),
		cmocka_unit_test(test_again_and_again),
		cmocka_unit_test(test_unknown_fault),
	};

	struct copy_ways leaves;

	if (copy_leaves(&leaves) < 0) {
		printf("the kernel copies for this processor: there is no handler\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
