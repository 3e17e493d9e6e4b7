/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pthread_cancel() ends a thread in the next system call that allows it, and the locks that it
 * holds stay locked. Therefore forbid cancellation while holding a lock under which system calls
 * are made:
 *
 * 	_cleanup_cancel_ int cancel = cancel_off();
 */
#ifndef UTIL_CANCEL_H
#define UTIL_CANCEL_H

#include <pthread.h>

/* Return: for cancel_restore(). */
static inline int cancel_off(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void cancel_restore(const int *before)
{
	pthread_setcancelstate(*before, NULL);
}

#define _cleanup_cancel_ __attribute__((cleanup(cancel_restore)))

#endif
