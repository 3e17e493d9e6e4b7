/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The handlers of pthread_atfork(): a child gets a channel, and drops the relays of its parent. See
 * relay.h.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "librdmacm/preload/relay.h"

/* During a fork, in the thread that forks: the parent's end of the channel, and the child's. */
static __thread bool forks;
static __thread int channel_pair[2];

/* List the RDMA sockets of this process. The caller frees the list. */
static struct held *sockets_list(unsigned int *ret_count)
{
	struct held *held = NULL;
	int rs = -1;

	*ret_count = 0;
	while ((rs = fd_next_socket(rs + 1)) >= 0) {
		struct held *more = realloc(held, (*ret_count + 1) * sizeof(*held));

		if (!more)
			break;
		held = more;
		held[(*ret_count)++] = (struct held){ rs, rs };
	}
	return held;
}

static void fork_prepare(void)
{
	struct held *held;
	unsigned int count;

	/* The handlers are registered several times: see relay_start_late(). */
	if (preload_inside || forks)
		return;
	relay_lock();
	forks = true;
	channel_pair[0] = channel_pair[1] = -1;
	held = sockets_list(&count);
	if (!count) {
		channel_pair[1] = inherited_channel_for_child();
	} else if (relay_pair(SOCK_SEQPACKET, channel_pair) &&
		   !child_add(channel_pair[0], held, count)) {
		real()->close(channel_pair[0]);
		real()->close(channel_pair[1]);
		channel_pair[0] = channel_pair[1] = -1;
	}
	free(held);
}

static void fork_parent(void)
{
	if (preload_inside || !forks)
		return;
	if (channel_pair[1] >= 0)
		real()->close(channel_pair[1]);
	if (channel_pair[0] >= 0)
		channels_begin();
	channels_wake();
	forks = false;
	relay_unlock();
}

static void relay_leave(struct relay *r)
{
	relay_remove(r);
	if (r->other >= 0)
		real()->close(r->other);
	free(r->ways);
	free(r);
}

/* Drop all relays in the child, because they belong to the parent. */
static void fork_child(void)
{
	struct child *c;
	struct relay *r;

	if (preload_inside || !forks)
		return;
	while ((c = LIST_FIRST(&relays.children))) {
		LIST_REMOVE(c, of_list);
		real()->close(c->channel);
		free(c->held);
		free(c);
	}
	while ((r = LIST_FIRST(&relays.connections))) {
		if (r->rs >= 0)
			real()->close(r->rs);
		relay_leave(r);
	}
	while ((r = LIST_FIRST(&relays.listeners)))
		relay_leave(r);
	channels_drop();
	inherited_begin(channel_pair[1]);
	if (channel_pair[0] >= 0)
		fd_inherit_all();
	forks = false;
	relay_unlock();
}

static void forks_watch(void)
{
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

void relay_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, forks_watch);
}

void relay_start_late(enum start_place place)
{
	static atomic_flag done[START_PLACES];

	if (!atomic_flag_test_and_set(&done[place]))
		forks_watch();
}
