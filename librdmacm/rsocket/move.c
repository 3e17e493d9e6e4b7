/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Moving a socket to another number, so that the program's number can become another file. A thread
 * that sleeps on the old number would sleep on that file. Therefore wake all sleepers, wait for
 * them, and let no thread begin a sleep until then.
 */
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "librdmacm/rsocket/private.h"
#include "librdmacm/rsocket/rs.h"
#include "util/file.h"

static int number_copy(int fd)
{
	int number = file_copy_high(fd);

	if (number < 0)
		number = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return number < 0 ? -errno : number;
}

void rs_sleepers_end(struct rs_socket *s)
{
	s->moving = true;
	rs_rouse(s);
	while (s->sleeper || s->pollers) {
		pthread_mutex_unlock(&s->lock);
		sched_yield();
		pthread_mutex_lock(&s->lock);
	}
}

/* Register the socket at the service again, because the service may have searched for the old
 * number. */
static void service_renew(struct rs_socket *s)
{
	if (s->keep_alive || s->stalled || rs_end_is_due(s))
		rs_service_keep(s);
}

/* Let sleep again. Those who wait for the socket see that it has moved. */
static void sleepers_let(struct rs_socket *s, bool exclusive)
{
	s->moving = false;
	if (exclusive) {
		s->moved = true;
		s->receive_least = 1; /* the new receiver takes every byte at once */
	}
	rs_rouse(s);
	if (s->state == RS_LISTENING)
		rs_service_pause(s, s->paused);
	service_renew(s);
}

static int socket_move(struct rs_socket *s, int number, bool exclusive)
{
	int r;

	pthread_mutex_lock(&s->lock);
	rs_sleepers_end(s);
	r = rs_table_move(&s->file, number);
	sleepers_let(s, r == 0 && exclusive);
	pthread_mutex_unlock(&s->lock);
	if (r == 0 && exclusive)
		rs_watch_end_all(s);
	return r < 0 ? r : number;
}

/* Move a socket that the program does not know yet. Therefore no thread sleeps on its number. */
static int unknown_move(struct rs_socket *s, int number)
{
	int r;

	pthread_mutex_lock(&s->lock);
	r = rs_table_move(&s->file, number);
	if (r == 0)
		service_renew(s);
	pthread_mutex_unlock(&s->lock);
	return r;
}

int rs_number_lowest(struct rs_socket *s)
{
	int number = fcntl(s->file.fd, F_DUPFD_CLOEXEC, 0), old = s->file.fd;

	if (number >= 0 && number < old && unknown_move(s, number) == 0)
		close(old);
	else if (number >= 0)
		close(number);
	return s->file.fd;
}

RS_EXPORT int rs_move(int fd, bool exclusive)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	int number, r;

	if (!s)
		return rs_ret(-EBADF);
	number = number_copy(fd);
	r = number < 0 ? number : socket_move(s, number, exclusive);
	rs_socket_put(s);
	if (r >= 0 && !exclusive)
		rs_entry_closed(number, fd);
	if (r < 0 && number >= 0)
		close(number);
	return rs_ret(r);
}
