/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies and atomics on memory that was never mapped or is unmapped, and signals that other code
 * sent. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "providers/uroce/base/base.h"
#include "providers/uroce/engine/engine.h"

#define PAGE 4096ul

/* Map three pages between two inaccessible pages, so that no other mapping is adjacent. */
static uint8_t *island_new(void)
{
	uint8_t *p = mmap(NULL, 5 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mprotect(p + PAGE, 3 * PAGE, PROT_READ | PROT_WRITE), 0);
	return p + PAGE;
}

static void island_free(uint8_t *p)
{
	munmap(p - PAGE, 5 * PAGE);
}

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

static int (*copy_way)(void *dst, const void *src, size_t length) = uroce_copy;

/* Every length around the limits between the ways to copy, misaligned both ways, with sentinels
 * around. */
static void test_lengths(void **state)
{
	static uint8_t from[9000], to[9000];

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = i * 7 + i / 256 + 1;
	for (size_t length = 0; length < 700; length++) {
		for (unsigned int shift = 0; shift < 40; shift += 1 + length % 5) {
			const uint8_t *src = from + (shift * 5) % 37;
			uint8_t *dst = to + 64 + shift;

			memset(to, 0, 64 + shift + length + 64);
			assert_int_equal(copy_way(dst, src, length), 0);
			assert_memory_equal(dst, src, length);
			assert_int_equal(dst[-1], 0);
			assert_int_equal(dst[length], 0);
		}
	}
	assert_int_equal(copy_way(to + 3, from + 1, 8192), 0);
	assert_memory_equal(to + 3, from + 1, 8192);
}

/* Reading and writing ends exactly at the border. Memory behind the border is not touched. */
static void test_border(void **state)
{
	uint8_t *island = island_new(), *end = island + 3 * PAGE;
	static uint8_t ours[2 * PAGE];

	for (size_t length = 1; length <= sizeof(ours); length += 1 + length / 64) {
		assert_int_equal(copy_way(ours, end - length, length), 0);
		assert_int_equal(copy_way(end - length, ours, length), 0);
		assert_int_equal(copy_way(ours, island, length), 0);
		assert_int_equal(copy_way(island, ours, length), 0);
	}
	island_free(island);
}

static void test_unmapped(void **state)
{
	uint8_t *island = island_new(), *end = island + 3 * PAGE;
	static uint8_t ours[2 * PAGE];
	static const size_t lengths[] = { 1,  2,  3,  4,  7,   8,   15,	 16,   31,  32,
					  33, 63, 64, 65, 127, 128, 129, 1000, 5000 };

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		size_t n = lengths[i];

		assert_int_equal(copy_way(ours, end, n), -EFAULT);
		assert_int_equal(copy_way(end, ours, n), -EFAULT);
		assert_int_equal(copy_way(ours, NULL, n), -EFAULT);
		assert_int_equal(copy_way(NULL, ours, n), -EFAULT);
		/* half mapped, at either end */
		assert_int_equal(copy_way(ours, end - n + 1, n), -EFAULT);
		assert_int_equal(copy_way(end - n + 1, ours, n), -EFAULT);
		assert_int_equal(copy_way(ours, island - 1, n), -EFAULT);
		assert_int_equal(copy_way(island - 1, ours, n), -EFAULT);
		/* an address no page can have */
		assert_int_equal(copy_way(ours, (void *)0x8000000000000000ul, n), -EFAULT);
		assert_int_equal(copy_way((void *)0xffffffffffffff00ul, ours, n), -EFAULT);
	}
	assert_int_equal(copy_way(NULL, NULL, 0), 0);
	island_free(island);
	assert_int_equal(copy_way(ours, island, 1), -EFAULT);
	assert_int_equal(copy_way(island, ours, 1), -EFAULT);
}

static void test_protection(void **state)
{
	uint8_t *p = island_new();
	uint8_t ours[64] = {};

	mprotect(p, PAGE, PROT_READ);
	assert_int_equal(copy_way(ours, p, sizeof(ours)), 0);
	assert_int_equal(copy_way(p, ours, sizeof(ours)), -EFAULT);
	assert_int_equal(copy_way(p + PAGE - 1, ours, sizeof(ours)), -EFAULT);
	mprotect(p, PAGE, PROT_NONE);
	assert_int_equal(copy_way(ours, p, sizeof(ours)), -EFAULT);
	island_free(p);
}

static void test_truncated_file(void **state)
{
	int fd = memfd_create("truncated", MFD_CLOEXEC);
	uint8_t ours[64] = {}, *p;
	uint64_t orig;

	assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
	p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(uroce_copy(p + PAGE, ours, sizeof(ours)), 0);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	assert_int_equal(uroce_copy(p, ours, sizeof(ours)), 0);
	assert_int_equal(uroce_copy(p + PAGE, ours, sizeof(ours)), -EFAULT);
	assert_int_equal(uroce_copy(ours, p + PAGE - 8, sizeof(ours)), -EFAULT);
	assert_int_equal(uroce_atomic_fetch_add(p + PAGE, 1, &orig), -EFAULT);
	munmap(p, 2 * PAGE);
	close(fd);
}

static void test_atomics(void **state)
{
	uint64_t word = 5, orig = 0;
	uint8_t *p = island_new();

	assert_int_equal(uroce_atomic_fetch_add(&word, 3, &orig), 0);
	assert_int_equal(orig, 5);
	assert_int_equal(word, 8);
	assert_int_equal(uroce_atomic_cmp_swap(&word, 7, 1, &orig), 0);
	assert_int_equal(orig, 8);
	assert_int_equal(word, 8);
	assert_int_equal(uroce_atomic_cmp_swap(&word, 8, 1, &orig), 0);
	assert_int_equal(orig, 8);
	assert_int_equal(word, 1);
	assert_int_equal(uroce_atomic_store(&word, 77), 0);
	assert_int_equal(word, 77);

	orig = 123;
	assert_int_equal(uroce_atomic_fetch_add(p - 8, 3, &orig), -EFAULT);
	assert_int_equal(uroce_atomic_cmp_swap(p - 8, 7, 1, &orig), -EFAULT);
	assert_int_equal(uroce_atomic_store(p - 8, 77), -EFAULT);
	assert_int_equal(orig, 123);
	island_free(p);
}

/* --- threads that fault and threads that do not, at once --- */

static atomic_int wrong;

static void *copy_loop(void *arg)
{
	uint8_t *island = island_new(), ours[300], back[300];

	for (int i = 0; i < 20000; i++) {
		size_t n = 1 + i % sizeof(ours);

		memset(ours, i, n);
		if (uroce_copy(island + PAGE, ours, n) || uroce_copy(back, island + PAGE, n) ||
		    memcmp(ours, back, n) ||
		    uroce_copy(island + 3 * PAGE - n + 1, ours, n) != -EFAULT)
			atomic_fetch_add(&wrong, 1);
	}
	island_free(island);
	return arg;
}

static void test_threads(void **state)
{
	pthread_t thread[4];

	for (size_t i = 0; i < ARRAY_SIZE(thread); i++)
		assert_int_equal(pthread_create(&thread[i], NULL, copy_loop, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(thread); i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(atomic_load(&wrong), 0);
}

/* A thread of an application that blocks all signals. */
static void *copy_blocked(void *arg)
{
	uint8_t buf[64] = {}, *island = arg;
	uint64_t orig;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	if (uroce_copy(buf, island - 1, sizeof(buf)) != -EFAULT ||
	    uroce_atomic_fetch_add(island - 8, 1, &orig) != -EFAULT)
		atomic_fetch_add(&wrong, 1);
	pthread_sigmask(SIG_SETMASK, NULL, &all);
	if (!sigismember(&all, SIGUSR1))
		atomic_fetch_add(&wrong, 1); /* the others stay as they were */
	return NULL;
}

static void test_blocked_signals(void **state)
{
	uint8_t *island = island_new();
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, copy_blocked, island), 0);
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&wrong), 0);
	island_free(island);
}

/* Unmap and map the memory while it is copied. */
static void *map_loop(void *arg)
{
	uint8_t *page = arg;

	for (int i = 0; i < 5000; i++) {
		mprotect(page, PAGE, PROT_NONE);
		mprotect(page, PAGE, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

static void test_vanishing(void **state)
{
	uint8_t *island = island_new(), ours[PAGE] = {};
	int seen[2] = {};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, map_loop, island), 0);
	for (int i = 0; i < 20000; i++) {
		int r = uroce_copy(ours, island, PAGE);

		assert_true(r == 0 || r == -EFAULT);
		seen[!!r]++;
		r = uroce_copy(island, ours, PAGE);
		assert_true(r == 0 || r == -EFAULT);
	}
	pthread_join(thread, NULL);
	assert_true(seen[0] + seen[1] == 20000);
	island_free(island);
}

/* --- faults and signals that are somebody else's --- */

/* Run @body in a child. Return: its wait status. */
static int child_status(void (*body)(void))
{
	const struct rlimit no_core = {};
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		setrlimit(RLIMIT_CORE, &no_core);
		close(STDERR_FILENO); /* a sanitizer's report of the fault is expected */
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* A page behind the end of its file raises SIGBUS. Only a sanitizer has a handler of its own. */
static void fault_by_read(void)
{
	int fd = memfd_create("empty", MFD_CLOEXEC);
	volatile uint8_t *gone = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	(void)*gone;
}

static void signal_by_kill(void)
{
	kill(getpid(), SIGBUS);
	for (int i = 0; i < 100; i++)
		usleep(10000);
}

/* The process ends as it would without the device: by the signal, or by the sanitizer's report. */
static void test_foreign_fault_kills(void **state)
{
	int status = child_status(fault_by_read);

	assert_true((WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS) ||
		    (WIFEXITED(status) && WEXITSTATUS(status) != 0));
	status = child_status(signal_by_kill);
	assert_true((WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS) ||
		    (WIFEXITED(status) && WEXITSTATUS(status) != 0));
}

static sigjmp_buf app_jump;
static volatile sig_atomic_t app_signals;
static void *volatile app_address;

static void app_handler(int sig, siginfo_t *info, void *context)
{
	app_signals++;
	app_address = info->si_addr;
	siglongjmp(app_jump, 1);
}

/* main() installed this handler before the device was opened. It gets the faults of the
 * application, and no fault of a copy. */
static void test_app_handler(void **state)
{
	uint8_t *island = island_new(), ours[64];
	volatile uint8_t *gone = island + 3 * PAGE;

	for (int i = 1; i <= 3; i++) {
		assert_int_equal(uroce_copy(ours, island - 1, sizeof(ours)), -EFAULT);
		assert_int_equal(app_signals, i - 1);
		if (!sigsetjmp(app_jump, 1)) {
			(void)*gone;
			fail();
		}
		assert_int_equal(app_signals, i);
		assert_ptr_equal(app_address, gone);
	}
	island_free(island);
}

/* A signal by kill() during any step of a copy belongs to the application. */
static void app_counter(int sig)
{
	app_signals++;
}

static void sent_during_copy(void)
{
	static uint8_t from[1 << 16], to[1 << 16];
	struct sigaction action = { .sa_handler = app_counter };
	int before = app_signals;
	pid_t parent = getpid(), sender;

	/*
	 * An application that chains is not needed here: the second handler is installed over ours.
	 */
	sigaction(SIGUSR1, &action, NULL);
	sender = fork();
	if (!sender) {
		for (int i = 0; i < 200; i++) {
			kill(parent, SIGUSR1);
			usleep(50);
		}
		_exit(0);
	}
	while (!waitpid(sender, NULL, WNOHANG)) {
		from[100]++;
		if (uroce_copy(to, from, sizeof(from)) || memcmp(to, from, sizeof(from)))
			_exit(1);
	}
	_exit(app_signals > before ? 0 : 2);
}

static void test_other_signals(void **state)
{
	assert_int_equal(child_status(sent_during_copy), 0);
}

static void kill_in_copy(void)
{
	static uint8_t from[1 << 16], to[1 << 16];
	pid_t parent = getpid(), sender = fork();

	if (!sender) {
		usleep(20000);
		kill(parent, SIGBUS);
		_exit(0);
	}
	while (!waitpid(sender, NULL, WNOHANG))
		if (uroce_copy(to, from, sizeof(from)))
			_exit(3); /* a signal from outside was taken for a fault of the copy */
	_exit(4);
}

static void test_sent_is_no_fault(void **state)
{
	int status = child_status(kill_in_copy);

	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 3);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 4);
}

static struct sigaction before_later;
static volatile sig_atomic_t later_signals;

/* A handler of a language's run-time passes unknown faults on to the previous handler. */
static void later_handler(int sig, siginfo_t *info, void *context)
{
	later_signals++;
	before_later.sa_sigaction(sig, info, context);
}

/* A handler installed after the device's gets each of its own faults once and no fault of a
 * copy. Then the handler before it is called. */
static void test_later_handler(void **state)
{
	const struct sigaction later = { .sa_sigaction = later_handler,
					 .sa_flags = SA_SIGINFO | SA_NODEFER };
	int kernel = atomic_load(&kernel_copies), app = app_signals;
	uint8_t *island = island_new(), ours[64] = {};
	volatile uint8_t *gone = island + 3 * PAGE;

#if !defined(__x86_64__) && !defined(__aarch64__)
	skip(); /* the kernel makes every copy, and no handler is installed */
#endif
	sigaction(SIGSEGV, &later, &before_later);
	assert_int_equal(uroce_copy(ours, island - 1, sizeof(ours)), -EFAULT);
	assert_int_equal(later_signals, 1); /* passed on */
	uroce_copy_init();
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(uroce_copy(ours, island - 1, sizeof(ours)), -EFAULT);
		assert_int_equal(uroce_copy(ours, island, sizeof(ours)), 0);
		assert_int_equal(later_signals, i);
		if (!sigsetjmp(app_jump, 1)) {
			*gone = 1;
			fail();
		}
		assert_int_equal(later_signals, i + 1);
		assert_int_equal(app_signals, app + i);
	}
	assert_int_equal(atomic_load(&kernel_copies), kernel);
	island_free(island);
}

/* An application that replaces the handlers loses speed, not safety. */
static void test_replaced(void **state)
{
	const struct sigaction theirs = { .sa_handler = SIG_DFL };
	struct sigaction before;
	uint8_t *island = island_new(), buf[64] = {};

	sigaction(SIGSEGV, &theirs, &before);
	uroce_copy_init();
	assert_int_equal(uroce_copy(buf, island - 1, sizeof(buf)), -EFAULT);
	assert_int_equal(uroce_copy(buf, island, sizeof(buf)), 0);
	sigaction(SIGSEGV, &before, NULL);
	uroce_copy_init();
	assert_int_equal(uroce_copy(buf, island - 1, sizeof(buf)), -EFAULT);
	assert_int_equal(uroce_copy(buf, island, sizeof(buf)), 0);
	island_free(island);
}

/* cmocka installs its handlers before each test. The first test runs without the device's
 * handlers: the kernel copies, as on processors without leaves. Later tests remove cmocka's
 * handlers again. */
static struct sigaction ours[2];

static void ours_on(void)
{
	sigaction(SIGSEGV, &ours[0], NULL);
	sigaction(SIGBUS, &ours[1], NULL);
	uroce_copy_init();
}

#define WITH_HANDLER(test)                      \
	static void test##_leaves(void **state) \
	{                                       \
		ours_on();                      \
		test(state);                    \
	}

/* Check all guarantees of a copy on another way to copy. */
static void way_check(void **state, int (*way)(void *dst, const void *src, size_t length))
{
	ours_on();
	copy_way = way;
	test_lengths(state);
	test_border(state);
	test_unmapped(state);
	test_protection(state);
	copy_way = uroce_copy;
}

#if defined(__x86_64__)
/* The leaf for older processors. */
static void test_sse(void **state)
{
	way_check(state, uroce_copy_sse);
}
#endif

/* Copy past the caches. On processors with leaves the kernel makes no copies. */
static void test_past(void **state)
{
#if defined(__x86_64__) || defined(__aarch64__)
	int before = atomic_load(&kernel_copies);

	way_check(state, uroce_copy_past);
	assert_int_equal(atomic_load(&kernel_copies), before);
#else
	way_check(state, uroce_copy_past);
#endif
}

WITH_HANDLER(test_lengths)
WITH_HANDLER(test_border)
WITH_HANDLER(test_unmapped)
WITH_HANDLER(test_protection)
WITH_HANDLER(test_truncated_file)
WITH_HANDLER(test_atomics)
WITH_HANDLER(test_threads)
WITH_HANDLER(test_blocked_signals)
WITH_HANDLER(test_vanishing)
WITH_HANDLER(test_foreign_fault_kills)
WITH_HANDLER(test_app_handler)
WITH_HANDLER(test_later_handler)
WITH_HANDLER(test_other_signals)
WITH_HANDLER(test_sent_is_no_fault)
WITH_HANDLER(test_replaced)

static const struct CMUnitTest kernel_tests[] = {
	cmocka_unit_test(test_lengths),	       cmocka_unit_test(test_border),
	cmocka_unit_test(test_unmapped),       cmocka_unit_test(test_protection),
	cmocka_unit_test(test_truncated_file), cmocka_unit_test(test_atomics),
	cmocka_unit_test(test_threads),	       cmocka_unit_test(test_vanishing),
};

static const struct CMUnitTest leaf_tests[] = {
#if defined(__x86_64__)
	cmocka_unit_test(test_sse),
#endif
	cmocka_unit_test(test_past),
	cmocka_unit_test(test_lengths_leaves),
	cmocka_unit_test(test_border_leaves),
	cmocka_unit_test(test_unmapped_leaves),
	cmocka_unit_test(test_protection_leaves),
	cmocka_unit_test(test_truncated_file_leaves),
	cmocka_unit_test(test_atomics_leaves),
	cmocka_unit_test(test_threads_leaves),
	cmocka_unit_test(test_blocked_signals_leaves),
	cmocka_unit_test(test_vanishing_leaves),
	cmocka_unit_test(test_foreign_fault_kills_leaves),
	cmocka_unit_test(test_app_handler_leaves),
	cmocka_unit_test(test_other_signals_leaves),
	cmocka_unit_test(test_sent_is_no_fault_leaves),
	cmocka_unit_test(test_later_handler_leaves),
	cmocka_unit_test(test_replaced_leaves),
};

static bool kernel_copies_at_all(void)
{
	struct iovec none = { NULL, 0 };

	return __real_process_vm_readv(getpid(), &none, 1, &none, 1, 0) == 0 || errno != ENOSYS;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = app_handler,
				    .sa_flags = SA_SIGINFO | SA_NODEFER };
	int failed = 0;

	if (kernel_copies_at_all())
		failed = cmocka_run_group_tests_name("by the kernel", kernel_tests, NULL, NULL);
	else
		printf("the kernel does not copy here: nor does it in QEMU's user mode\n");

	sigaction(SIGSEGV, &action, NULL);
	uroce_copy_init();
	sigaction(SIGSEGV, NULL, &ours[0]);
	sigaction(SIGBUS, NULL, &ours[1]);
	failed += cmocka_run_group_tests_name("by the leaves", leaf_tests, NULL, NULL);
	return failed;
}
