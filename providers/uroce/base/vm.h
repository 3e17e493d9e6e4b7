/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies to and from the memory of another process, by the kernel: process_vm_readv(2). One system
 * call transfers less than 2 GiB. These functions make as many calls as needed.
 */
#ifndef UROCE_VM_H
#define UROCE_VM_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "util/util.h"

enum {
	VM_IOV_MAX = 64, /* limit of local pieces in one copy */
};

/*
 * Copy @length bytes from @remote of process @pid into @count pieces of local memory, which have
 * this length together. Return: 0; -EFAULT: memory is missing on either side; another -errno: the
 * kernel refuses.
 */
static inline int uroce_vm_read(pid_t pid, const struct iovec *local, int count, uint64_t remote,
				size_t length);
static inline int uroce_vm_write(pid_t pid, const struct iovec *local, int count, uint64_t remote,
				 size_t length);

/* --- how --- */

/* process_vm_readv(), process_vm_writev() */
typedef ssize_t uroce_vm_call(pid_t pid, const struct iovec *local, unsigned long local_count,
			      const struct iovec *remote, unsigned long remote_count,
			      unsigned long flags);
/*
 * Copy the rest after a call that copied @done bytes, fewer than @length. If @done is negative, the
 * call failed.
 */
int uroce_vm_rest(uroce_vm_call *call, pid_t pid, const struct iovec *local, int count,
		  uint64_t remote, size_t length, ssize_t done);

static ALWAYS_INLINE int uroce_vm_copy(uroce_vm_call *call, pid_t pid, const struct iovec *local,
				       int count, uint64_t remote, size_t length)
{
	const struct iovec there = { (void *)(uintptr_t)remote, length };
	ssize_t n = call(pid, local, count, &there, 1, 0);

	return likely(n == (ssize_t)length)
		       ? 0
		       : uroce_vm_rest(call, pid, local, count, remote, length, n);
}

static inline int uroce_vm_read(pid_t pid, const struct iovec *local, int count, uint64_t remote,
				size_t length)
{
	return uroce_vm_copy(process_vm_readv, pid, local, count, remote, length);
}

static inline int uroce_vm_write(pid_t pid, const struct iovec *local, int count, uint64_t remote,
				 size_t length)
{
	return uroce_vm_copy(process_vm_writev, pid, local, count, remote, length);
}

#endif
