/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Flags and requests of descriptors: rfcntl() and rioctl(). */
#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "librdmacm/rsocket/private.h"
#include "librdmacm/rsocket/rs.h"

RS_EXPORT int rfcntl(int fd, int cmd, ...)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	va_list args;
	int arg, r;

	if (!s)
		return rs_ret(-EBADF);
	va_start(args, cmd);
	arg = cmd == F_SETFL || cmd == F_SETFD ? va_arg(args, int) : 0;
	va_end(args);
	switch (cmd) {
	case F_GETFL:
		r = O_RDWR | atomic_load(&s->flags);
		break;
	case F_SETFL:
		atomic_store(&s->flags, arg & (O_NONBLOCK | O_APPEND));
		r = 0;
		break;
	case F_GETFD:
	case F_SETFD:
		r = fcntl(fd, cmd, arg) < 0 ? -errno : fcntl(fd, F_GETFD);
		if (cmd == F_SETFD && r > 0)
			r = 0;
		break;
	default:
		r = -EINVAL;
	}
	rs_socket_put(s);
	return rs_ret(r);
}

static int bytes_waiting(struct rs_socket *s)
{
	int count;

	pthread_mutex_lock(&s->lock);
	if (s->ds) {
		rs_glance(s);
		count = ds_bytes_waiting(s);
	} else {
		rs_glance(s); /* the handshake may have ended a moment ago */
		count = min_of(rs_waiting(s), (size_t)INT_MAX);
	}
	pthread_mutex_unlock(&s->lock);
	return count;
}

/* Return the bytes that may not have reached the peer's memory yet. */
static int bytes_unsent(struct rs_socket *s)
{
	int count;

	pthread_mutex_lock(&s->lock);
	rs_complete(s);
	count = s->ds ? 0 : s->sbuf_head - s->sbuf_tail;
	pthread_mutex_unlock(&s->lock);
	return count;
}

RS_EXPORT int rioctl(int fd, unsigned long request, int *value)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	int r = 0;

	if (!s)
		return rs_ret(-EBADF);
	if (!value)
		r = -EFAULT;
	else if ((request == FIONREAD || request == SIOCOUTQ) && !s->ds && s->state == RS_LISTENING)
		r = -EINVAL;
	else if (request == FIONREAD)
		*value = bytes_waiting(s);
	else if (request == SIOCOUTQ)
		*value = bytes_unsent(s);
	else if (request == SIOCATMARK && !s->ds)
		*value = 0; /* urgent data does not exist */
	else if (request == FIONBIO && *value)
		atomic_fetch_or(&s->flags, O_NONBLOCK);
	else if (request == FIONBIO)
		atomic_fetch_and(&s->flags, ~O_NONBLOCK);
	else
		r = -ENOTTY;
	rs_socket_put(s);
	return rs_ret(r);
}
