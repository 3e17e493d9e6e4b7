/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work that may crash or hang: a provider's, for example. */
#ifndef RDMA_DOCTOR_CHILD_H
#define RDMA_DOCTOR_CHILD_H

#include <stddef.h>

/* @arg: the caller's; the child has its copy. */
typedef void (*child_job_fn)(const void *arg, void *result);

/*
 * Run @job in a child process and fetch what it wrote to @result.
 * @ret_signal: what ended it; 0 when it ended by itself
 * Return: 0; -ETIMEDOUT: it hung; -EFAULT: it crashed; another -errno: no process could be made.
 */
int child_run(child_job_fn job, const void *arg, void *result, size_t size, int *ret_signal);

#endif
