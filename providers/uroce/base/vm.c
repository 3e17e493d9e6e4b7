/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "providers/uroce/base/vm.h"
#include "util/util.h"

typedef ssize_t vm_call(pid_t pid, const struct iovec *local, unsigned long local_count,
			const struct iovec *remote, unsigned long remote_count,
			unsigned long flags);

/* Without its first @bytes. */
static struct iovec *pieces_skip(struct iovec *iov, int *count, size_t bytes)
{
	while (*count && bytes >= iov->iov_len) {
		bytes -= iov++->iov_len;
		--*count;
	}
	if (bytes) {
		iov->iov_base = (uint8_t *)iov->iov_base + bytes;
		iov->iov_len -= bytes;
	}
	return iov;
}

/* What one call left over. */
static __attribute__((noinline)) int rest_copy(vm_call *call, pid_t pid, const struct iovec *local,
					       int count, uint64_t at, size_t length, size_t done)
{
	struct iovec pieces[VM_IOV_MAX], *left = pieces;
	ssize_t n = done;

	if (count > VM_IOV_MAX)
		return -EINVAL;
	memcpy(pieces, local, count * sizeof(*local));
	while (n < (ssize_t)length) {
		struct iovec remote;

		at += n;
		length -= n;
		left = pieces_skip(left, &count, n);
		remote = (struct iovec){ (void *)(uintptr_t)at, length };
		n = call(pid, left, count, &remote, 1, 0);
		if (n <= 0)
			return n < 0 ? -errno : -EFAULT;
	}
	return 0;
}

static int copy(vm_call *call, pid_t pid, const struct iovec *local, int count, uint64_t at,
		size_t length)
{
	const struct iovec remote = { (void *)(uintptr_t)at, length };
	ssize_t n = call(pid, local, count, &remote, 1, 0);

	if (likely(n == (ssize_t)length))
		return 0;
	if (n < 0)
		return -errno;
	return n ? rest_copy(call, pid, local, count, at, length, n) : -EFAULT;
}

int uroce_vm_read(pid_t pid, const struct iovec *local, int count, uint64_t remote, size_t length)
{
	return copy(process_vm_readv, pid, local, count, remote, length);
}

int uroce_vm_write(pid_t pid, const struct iovec *local, int count, uint64_t remote, size_t length)
{
	return copy(process_vm_writev, pid, local, count, remote, length);
}
