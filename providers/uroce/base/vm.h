/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies to and from the memory of another process, by the kernel: process_vm_readv(2). One call
 * transfers less than 2 GiB; these make as many as it takes.
 */
#ifndef UROCE_VM_H
#define UROCE_VM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

enum {
	VM_IOV_MAX = 64, /* local pieces of one copy */
};

/*
 * @count pieces of memory of ours, and @length bytes, as many as these have together, at @remote of
 * process @pid. Return: 0; -EFAULT: some of it is missing, on one of the sides; another -errno: the
 * kernel refuses.
 */
int uroce_vm_read(pid_t pid, const struct iovec *local, int count, uint64_t remote, size_t length);
int uroce_vm_write(pid_t pid, const struct iovec *local, int count, uint64_t remote, size_t length);

#endif
