/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Closed sockets whose end may take long. A thread for each socket ends it. There are two reasons:
 *
 * - The peer has not taken all data yet. The kernel delivers the data of closed TCP sockets. The
 *   data of this socket are delivered by the thread, for a limited time. A process that exits
 *   waits for the thread.
 * - The peer is in the middle of a copy to or from the socket's memory. The memory can be freed
 *   only after the copy, and a stopped peer does not finish the copy. A process that exits waits
 *   only for a moment, because the kernel keeps the memory until the copy has ended.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "librdmacm/rsocket/private.h"
#include "librdmacm/rsocket/rs.h"
#include "util/thread.h"

#define LOW_END 64 /* descriptors below this number are left to the program */

static void *run(void *arg)
{
	rs_socket_deliver(arg);
	rs_lingering_add(-1, 0);
	rs_socket_end(arg);
	rs_lingering_add(0, -1);
	return NULL;
}

/* Return the number to the program, and give the socket another number. */
static int number_release(struct rs_socket *s)
{
	int number = fcntl(s->file.fd, F_DUPFD_CLOEXEC, LOW_END), old;

	if (number < 0)
		return -errno;
	pthread_mutex_lock(&s->lock);
	old = s->file.fd;
	s->file.fd = number;
	pthread_mutex_unlock(&s->lock);
	if (!s->file.keeps_number) {
		rs_closing_end(old);
		close(old);
	}
	s->file.keeps_number = false;
	return 0;
}

static int thread_start(struct rs_socket *s)
{
	int r;

	rs_lingering_begin();
	rs_lingering_add(1, 1);
	r = thread_run(run, s, NULL);
	if (r < 0)
		rs_lingering_add(-1, -1);
	return r;
}

void rs_linger(struct rs_socket *s)
{
	int r = number_release(s);

	if (r == 0)
		r = thread_start(s);
	if (r == 0)
		return;
	rs_debug(s, "no thread could start to end the socket, the caller ends it: %s",
		 strerror(-r));
	rs_socket_deliver(s);
	rs_socket_end(s);
}
