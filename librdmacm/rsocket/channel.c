/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The channel of a socket to the connection manager. */
#include <sys/epoll.h>

#include "librdmacm/rsocket/rs.h"

int rs_channel_create(struct rs_socket *s)
{
	struct epoll_event watch = { .events = EPOLLIN };

	s->channel = rdma_create_event_channel();
	if (!s->channel)
		return -errno;
	if (fcntl(s->channel->fd, F_SETFL, fcntl(s->channel->fd, F_GETFL) | O_NONBLOCK) < 0)
		return -errno;
	return epoll_ctl(s->file.fd, EPOLL_CTL_ADD, s->channel->fd, &watch) < 0 ? -errno : 0;
}
