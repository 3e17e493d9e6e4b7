/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Work that may crash or hang, for example in a provider. */
#ifndef RDMA_DOCTOR_CHILD_H
#define RDMA_DOCTOR_CHILD_H

#include <stddef.h>

/* @arg: argument of the caller; the child has a copy */
typedef void (*child_job_fn)(const void *arg, void *result);

/*
 * Run @job in a child process and read its @result.
 * @ret_signal: signal that ended the child, or 0
 * Return: 0; -ETIMEDOUT: it hung; -EFAULT: it crashed; another -errno: the child could not be
 * created.
 */
int child_run(child_job_fn job, const void *arg, void *result, size_t size, int *ret_signal);

/* A signal handler: pass the signal to the process of child_run(). */
void child_interrupt(int signal);

#endif
