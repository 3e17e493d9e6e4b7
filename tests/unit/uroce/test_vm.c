/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies between processes by a kernel that transfers a few bytes a call. */
#include <sys/uio.h>

#include "tests/unit/unit.h"

#include "providers/uroce/base/base.h"

enum {
	SIZE = 1000,
	PIECES = 4,
};

static size_t at_most; /* bytes of one call */
static unsigned int calls, calls_max;

typedef ssize_t vm_call(pid_t pid, const struct iovec *local, unsigned long local_count,
			const struct iovec *remote, unsigned long remote_count,
			unsigned long flags);
vm_call __real_process_vm_readv, __wrap_process_vm_readv;
vm_call __real_process_vm_writev, __wrap_process_vm_writev;

/* The kernel cuts the local list. */
static ssize_t call_short(vm_call *call, pid_t pid, const struct iovec *local, unsigned long count,
			  const struct iovec *remote)
{
	struct iovec cut[VM_IOV_MAX];
	size_t room = at_most;

	for (unsigned long i = 0; i < count; i++) {
		cut[i] = local[i];
		cut[i].iov_len = min_of(cut[i].iov_len, room);
		room -= cut[i].iov_len;
	}
	if (++calls > calls_max) {
		errno = EPERM;
		return -1;
	}
	return call(pid, cut, count, remote, 1, 0);
}

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long local_count,
				const struct iovec *remote, unsigned long remote_count,
				unsigned long flags)
{
	return call_short(__real_process_vm_readv, pid, local, local_count, remote);
}

ssize_t __wrap_process_vm_writev(pid_t pid, const struct iovec *local, unsigned long local_count,
				 const struct iovec *remote, unsigned long remote_count,
				 unsigned long flags)
{
	return call_short(__real_process_vm_writev, pid, local, local_count, remote);
}

static uint8_t here[SIZE + PIECES], there[SIZE];

/* Cover all of @here except for a byte behind each piece. */
static void pieces_make(struct iovec *iov)
{
	static const size_t lengths[PIECES] = { 1, 300, 0, SIZE - 301 };
	uint8_t *p = here;

	for (int i = 0; i < PIECES; i++) {
		iov[i] = (struct iovec){ p, lengths[i] };
		p += lengths[i] + 1;
	}
}

static void pieces_expect(const struct iovec *iov)
{
	const uint8_t *p = there;

	for (int i = 0; i < PIECES; i++) {
		assert_memory_equal(iov[i].iov_base, p, iov[i].iov_len);
		p += iov[i].iov_len;
	}
}

static void test_many_calls(void **state)
{
	struct iovec iov[PIECES];

	pieces_make(iov);
	calls_max = UINT32_MAX;
	for (at_most = 1; at_most <= SIZE; at_most += 1 + at_most / 3) {
		memset(here, 0, sizeof(here));
		for (int i = 0; i < SIZE; i++)
			there[i] = i * 7 + at_most;
		calls = 0;
		assert_int_equal(uroce_vm_read(getpid(), iov, PIECES, (uintptr_t)there, SIZE), 0);
		assert_int_equal(calls, (SIZE - 1) / at_most + 1);
		pieces_expect(iov);
		memset(there, 0, sizeof(there));
		assert_int_equal(uroce_vm_write(getpid(), iov, PIECES, (uintptr_t)there, SIZE), 0);
		pieces_expect(iov);
		assert_int_not_equal(there[SIZE - 1], 0);
	}
}

static void test_fails(void **state)
{
	uint8_t *page =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct iovec iov = { here, SIZE };

	assert_int_equal(munmap(page + 4096, 4096), 0);
	at_most = 300;
	calls_max = UINT32_MAX;
	assert_int_equal(uroce_vm_read(getpid(), &iov, 1, (uintptr_t)page + 4096 - 900, SIZE),
			 -EFAULT);
	assert_int_equal(uroce_vm_write(getpid(), &iov, 1, (uintptr_t)page + 4096 - 900, SIZE),
			 -EFAULT);
	calls = 0;
	calls_max = 2; /* and then it is forbidden */
	assert_int_equal(uroce_vm_read(getpid(), &iov, 1, (uintptr_t)there, SIZE), -EPERM);
	munmap(page, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_calls),
		cmocka_unit_test(test_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
