/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The exit of a process whose connections are relayed: see relay.h. */
#include <stdio.h>
#include <unistd.h>

#include "librdmacm/preload/relay.h"

static void descriptors_close(int kind)
{
	for (int fd = -1; (fd = fd_next(fd + 1, kind)) >= 0;) {
		fd_set_kind(fd, FD_NONE);
		real()->close(fd);
	}
}

/* Let go of the shared ends, as the end of the process would. With the lock held. */
static void ends_close(void)
{
	struct relay *r;

	LIST_FOREACH(r, &relays.connections, of_list) {
		if (r->other >= 0)
			real()->close(r->other);
		r->other = -1;
	}
	descriptors_close(FD_RELAYED);
	descriptors_close(FD_RELAYED_DATAGRAM);
}

/*
 * Wait for all connections at exit. Sockets of the kernel would deliver their data without the
 * process. A child that was not made by fork() has a copy of the list, but does not have the
 * threads. Signal handlers may run meanwhile.
 */
static void __attribute__((destructor)) all_await(void)
{
	bool waits;

	pthread_mutex_lock(&relays.lock);
	waits = relays.process == getpid() && !LIST_EMPTY(&relays.connections);
	pthread_mutex_unlock(&relays.lock);
	if (!waits)
		return;
	fflush(NULL); /* the C library does that after this function */
	pthread_mutex_lock(&relays.lock);
	ends_close();
	while (!LIST_EMPTY(&relays.connections))
		pthread_cond_wait(&relays.ended, &relays.lock);
	pthread_mutex_unlock(&relays.lock);
}
