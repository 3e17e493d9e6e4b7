/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The children of this process, and the RDMA sockets that they may claim: see relay.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "librdmacm/preload/relay.h"
#include "util/thread.h"

struct relays relays = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.ended = PTHREAD_COND_INITIALIZER,
};

void relay_lock(void)
{
	preload_lock(&relays.lock);
}

void relay_unlock(void)
{
	preload_unlock(&relays.lock);
}

bool relay_has_moved(int fd, int rs)
{
	int error = errno;
	bool moved;

	relay_lock();
	moved = fd_socket(fd) != rs;
	relay_unlock();
	errno = error;
	return moved;
}

bool relay_pair(int type, int *ends)
{
	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) < 0) {
		log_err("rspreload: a child's socket: %s", strerror(errno));
		return false;
	}
	ends[0] = number_raise(ends[0]);
	ends[1] = number_raise(ends[1]);
	return true;
}

int relay_thread(void *(*function)(void *), void *arg)
{
	int r = RS(thread_run(function, arg, NULL));

	if (r < 0)
		log_err("rspreload: a thread for a child: %s", strerror(-r));
	return r;
}

void relay_names_get(int rs, struct relay_names *ret)
{
	*ret = (struct relay_names){ .own_size = sizeof(ret->own), .peer_size = sizeof(ret->peer) };
	if (RS(rgetsockname(rs, (struct sockaddr *)&ret->own, &ret->own_size)) < 0)
		ret->own_size = 0;
	if (RS(rgetpeername(rs, (struct sockaddr *)&ret->peer, &ret->peer_size)) < 0)
		ret->peer_size = 0;
}

struct relay *relay_of_connection(int rs)
{
	struct relay *r;

	LIST_FOREACH(r, &relays.connections, of_list)
		if (r->rs == rs && r->other >= 0)
			return r;
	return NULL;
}

struct relay *relay_of_listener(int rs, bool ending)
{
	struct relay *r;

	LIST_FOREACH(r, &relays.listeners, of_list)
		if (r->rs == rs && (ending || r->other >= 0))
			return r;
	return NULL;
}

bool relay_has_listener(int rs)
{
	return relay_of_listener(rs, true);
}

void relay_remove(struct relay *r)
{
	LIST_REMOVE(r, of_list);
	real()->close(r->end);
}

bool child_has(const struct child *c, int rs)
{
	for (unsigned int i = 0; i < c->count; i++)
		if (c->held[i].rs == rs)
			return true;
	return false;
}

static unsigned int held_renumber(int rs, int to)
{
	unsigned int count = 0;
	struct child *c;

	LIST_FOREACH(c, &relays.children, of_list) {
		for (unsigned int i = 0; i < c->count; i++) {
			if (c->held[i].rs != rs)
				continue;
			c->held[i].rs = to;
			count++;
		}
	}
	return count;
}

void relay_renumber(int rs, int to)
{
	held_renumber(rs, to);
}

void children_forget(int rs)
{
	for (unsigned int count = held_renumber(rs, -1); count; count--)
		fd_unhold(rs);
}

struct held *held_find(const struct child *c, int name)
{
	for (unsigned int i = 0; i < c->count; i++)
		if (c->held[i].name == name)
			return &c->held[i];
	return NULL;
}

/*
 * Drop a hold. The thread of a relay sees when no process has its other end any more. Return: the
 * caller has to close the socket, without the lock.
 */
static bool socket_unhold(int rs)
{
	struct relay *r;
	bool last;

	if (rs < 0)
		return false;
	last = fd_unhold(rs);
	if (fd_is_held(rs))
		return false;
	r = relay_of_listener(rs, false);
	if (!r)
		r = relay_of_connection(rs);
	if (!r)
		return last && !relay_of_listener(rs, true);
	real()->close(r->other);
	r->other = -1;
	return false;
}

int held_drop(struct child *c, struct held *h)
{
	int rs = h->rs;

	*h = c->held[--c->count];
	return socket_unhold(rs) ? rs : -1;
}

bool child_add(int channel, const struct held *held, unsigned int count)
{
	struct child *c = calloc(1, sizeof(*c));

	if (c)
		c->held = malloc((count + 1) * sizeof(*c->held));
	if (!c || !c->held) {
		free(c);
		return false;
	}
	memcpy(c->held, held, count * sizeof(*held));
	c->count = count;
	c->channel = channel;
	for (unsigned int i = 0; i < count; i++)
		if (held[i].rs >= 0)
			fd_hold(held[i].rs);
	LIST_INSERT_HEAD(&relays.children, c, of_list);
	return true;
}

unsigned int child_end(struct child *c, struct held **ret_last)
{
	unsigned int last = 0;

	for (unsigned int i = 0; i < c->count; i++)
		if (socket_unhold(c->held[i].rs))
			c->held[last++] = c->held[i];
	real()->close(c->channel);
	LIST_REMOVE(c, of_list);
	*ret_last = c->held;
	free(c);
	return last;
}

struct child *child_find(int channel)
{
	struct child *c;

	LIST_FOREACH(c, &relays.children, of_list)
		if (c->channel == channel)
			return c;
	return NULL;
}
