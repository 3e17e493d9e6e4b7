/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Threads that the libraries have of their own. */
#ifndef UTIL_THREAD_H
#define UTIL_THREAD_H

#include <pthread.h>

/*
 * A thread that runs @function. The program's signals are the program's; those of a fault are not
 * blocked, for a provider recovers from some, in whatever thread copies. Its stack has a size of
 * its own: the program's limit (ulimit -s) may be small, or large and all of it locked in memory.
 * @ret_id NULL: nobody waits for its end. Return: 0, -errno.
 */
int thread_run(void *(*function)(void *), void *arg, pthread_t *ret_id);

#endif
