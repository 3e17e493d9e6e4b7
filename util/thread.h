/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Threads that belong to the libraries. */
#ifndef UTIL_THREAD_H
#define UTIL_THREAD_H

#include <pthread.h>

/*
 * Start a thread that runs @function. It receives no signals of the program, except signals of
 * faults, because a provider recovers from some faults in any thread that copies. Its stack has a
 * fixed size, because the program's limit (ulimit -s) may be small, or so large that locking all of
 * it in memory costs too much. @ret_id: NULL if no thread waits for its end. Return: 0; -errno.
 */
int thread_run(void *(*function)(void *), void *arg, pthread_t *ret_id);

#endif
