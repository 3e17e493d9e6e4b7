/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <signal.h>

#include "util/thread.h"

enum {
	STACK = 512 << 10, /* bytes: several times the need, even with the frames of a sanitizer */
};

/*
 * Create the thread. The C library also puts thread-local variables on its stack. If the program
 * has very many of them, try the default size.
 */
static int create(pthread_t *id, pthread_attr_t *attr, void *(*function)(void *), void *arg)
{
	size_t usual;
	int r;

	pthread_attr_getstacksize(attr, &usual);
	pthread_attr_setstacksize(attr, STACK);
	r = pthread_create(id, attr, function, arg);
	if (r != EINVAL)
		return r;
	pthread_attr_setstacksize(attr, usual);
	return pthread_create(id, attr, function, arg);
}

int thread_run(void *(*function)(void *), void *arg, pthread_t *ret_id)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t id;
	int r;

	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_attr_init(&attr);
	if (!ret_id)
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = create(ret_id ? ret_id : &id, &attr, function, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}
