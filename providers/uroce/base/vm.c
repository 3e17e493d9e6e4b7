/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "providers/uroce/base/vm.h"

/* Remove the first @bytes from a list of pieces. */
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

int uroce_vm_rest(uroce_vm_call *call, pid_t pid, const struct iovec *local, int count,
		  uint64_t remote, size_t length, ssize_t done)
{
	struct iovec pieces[VM_IOV_MAX], *left = pieces;

	if (done <= 0)
		return done < 0 ? -errno : -EFAULT;
	if (count > VM_IOV_MAX)
		return -EINVAL;
	memcpy(pieces, local, count * sizeof(*local));
	while (done < (ssize_t)length) {
		struct iovec there;

		remote += done;
		length -= done;
		left = pieces_skip(left, &count, done);
		there = (struct iovec){ (void *)(uintptr_t)remote, length };
		done = call(pid, left, count, &there, 1, 0);
		if (done <= 0)
			return done < 0 ? -errno : -EFAULT;
	}
	return 0;
}
