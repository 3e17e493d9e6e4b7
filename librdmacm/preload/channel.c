/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The thread that serves the channels of all children: see relay.h. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "librdmacm/preload/relay.h"

static struct {
	int wake; /* an eventfd: the channels changed */
	bool runs;
	struct pollfd *list; /* polled by the thread; changes under relays.lock */
} channels = { .wake = -1 };

/*
 * Bind a datagram socket that has no port yet. Its first send would bind the socket, and the
 * processes would not know the port. Return: whether the name changed.
 */
static bool port_need(int rs, const struct relay_names *names)
{
	const struct sockaddr_in *own = (const void *)&names->own; /* same offset in IPv6 */
	const struct sockaddr_storage any = { .ss_family = names->own.ss_family };

	return names->own_size && !own->sin_port &&
	       RS(rbind(rs, (const struct sockaddr *)&any, names->own_size)) == 0;
}

/* Read the facts before the relay's lock is taken: a call of another thread may wait for a peer. */
static void claimed_read(int rs, struct claimed *ret)
{
	int listens = 0, type = 0;
	socklen_t size = sizeof(listens);

	ret->flags = RS(rfcntl(rs, F_GETFL));
	RS(rgetsockopt(rs, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size));
	RS(rgetsockopt(rs, SOL_SOCKET, SO_TYPE, &type, &size));
	ret->listens = listens;
	ret->is_datagram = type == SOCK_DGRAM;
	ret->is_bound = fd_is_bound(rs);
	relay_names_get(rs, &ret->names);
	if (ret->is_datagram && port_need(rs, &ret->names))
		relay_names_get(rs, &ret->names);
	/* relay_names_get() asked for the peer before. Therefore rs_ended() knows whether the peer
	 * has ended. */
	ret->ended = ret->is_datagram ? 0 : RS(rs_ended(rs));
}

/* Serve a claim, with the lock held. Return: the RDMA socket to close, or -1. */
static int claim_serve(struct child *c, struct held *h, const struct claimed *claimed)
{
	struct channel_answer answer = { .kind = claimed_kind(claimed), .names = claimed->names };
	int fd = -1, ended = -1;

	if (h && (h->rs < 0 || claimed->ended & RS_ENDED_BOTH))
		fd = ended = connection_ended();
	else if (h && claimed->listens)
		fd = listener_share(h->rs, claimed);
	else if (h && (claimed->names.peer_size || claimed->is_datagram ||
		       claimed->ended & RS_ENDED_UNREAD))
		fd = socket_share(h->rs, claimed);
	else if (h && claimed->ended & RS_ENDED_NONE)
		fd = ended = connection_none(h->rs, claimed);
	pass_send(c->channel, &answer, sizeof(answer), fd);
	if (ended >= 0)
		real()->close(ended);
	/* From now on the kernel counts the child as a holder of the other end. */
	return fd >= 0 && !claimed->listens ? held_drop(c, h) : -1;
}

/* Return the RDMA socket that a child names, or -1. */
static int socket_of_name(int channel, int name)
{
	struct child *c;
	struct held *h;
	int rs;

	relay_lock();
	c = child_find(channel);
	h = c ? held_find(c, name) : NULL;
	rs = h ? h->rs : -1;
	relay_unlock();
	return rs;
}

/*
 * Serve a request, with the lock held. @fd: came with it. Return: the RDMA socket to close, or -1.
 */
static int channel_serve(struct child *c, const struct channel_request *request,
			 const struct claimed *claimed, int *fd)
{
	struct held *h = held_find(c, request->name);

	if (request->op == CHANNEL_CLAIM)
		return claim_serve(c, h, claimed);
	if (request->op == CHANNEL_CLOSE)
		return h ? held_drop(c, h) : -1;
	if (request->op == CHANNEL_CHILD && *fd >= 0 && child_add(*fd, c->held, c->count))
		*fd = -1;
	return -1;
}

/* Look at a channel. Only this thread reads from channels and closes them. */
static void channel_look(int channel)
{
	struct channel_request request = {};
	struct claimed claimed = {};
	struct held *last = NULL;
	unsigned int count = 0;
	int fd, one = -1;
	ssize_t n = pass_receive(channel, &request, sizeof(request), &fd);
	struct child *c;

	if (n == sizeof(request) && request.op == CHANNEL_CLAIM)
		claimed_read(socket_of_name(channel, request.name), &claimed);
	relay_lock();
	c = child_find(channel);
	if (c && n == sizeof(request))
		one = channel_serve(c, &request, &claimed, &fd);
	else if (c)
		count = child_end(c, &last);
	relay_unlock();
	if (fd >= 0)
		real()->close(fd);
	if (one >= 0)
		RS(rclose(one));
	for (unsigned int i = 0; i < count; i++)
		RS(rclose(last[i].rs));
	free(last);
}

/*
 * Return the list of descriptors to poll. The first one wakes the thread. NULL: there is no memory.
 */
static struct pollfd *channels_list(unsigned int *ret_count)
{
	unsigned int count = 1;
	struct pollfd *fds;
	struct child *c;

	relay_lock();
	free(channels.list);
	LIST_FOREACH(c, &relays.children, of_list)
		count++;
	channels.list = fds = calloc(count, sizeof(*fds));
	*ret_count = 0;
	if (fds) {
		fds[(*ret_count)++] = (struct pollfd){ .fd = channels.wake, .events = POLLIN };
		LIST_FOREACH(c, &relays.children, of_list)
			fds[(*ret_count)++] = (struct pollfd){ .fd = c->channel, .events = POLLIN };
	}
	relay_unlock();
	return fds;
}

static void *channels_run(void *arg)
{
	(void)arg;
	for (;;) {
		unsigned int count;
		struct pollfd *fds = channels_list(&count);
		eventfd_t woken;

		if (!fds)
			usleep(10000);
		else if (real()->poll(fds, count, -1) > 0) {
			if (fds[0].revents)
				eventfd_read(fds[0].fd, &woken);
			for (unsigned int i = 1; i < count; i++)
				if (fds[i].revents)
					channel_look(fds[i].fd);
		}
	}
	return NULL;
}

void channels_begin(void)
{
	if (!channels.runs) {
		channels.wake = number_raise(real()->eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
		channels.runs = channels.wake >= 0 && relay_thread(channels_run, NULL) == 0;
	}
}

void channels_wake(void)
{
	if (channels.runs)
		eventfd_write(channels.wake, 1);
}

void channels_drop(void)
{
	if (channels.wake >= 0)
		real()->close(channels.wake);
	channels.wake = -1;
	channels.runs = false;
	free(channels.list);
	channels.list = NULL;
}
