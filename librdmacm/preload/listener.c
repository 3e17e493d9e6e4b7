/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A listener that children use. Each message of its Unix domain socket is an accepted connection,
 * with its names. The parent accepts by the RDMA socket itself.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "librdmacm/preload/relay.h"

static void accepted_pass(struct relay *listener, int rs)
{
	struct relay_names names;
	struct relay *r;
	int fd = -1;

	relay_names_get(rs, &names);
	relay_lock();
	r = connection_relay(rs, &fd);
	relay_unlock();
	if (!r) {
		rclose(rs);
		return;
	}
	/* If no child takes the connection, its relay sees the end. */
	pass_send(listener->end, &names, sizeof(names), fd);
	real()->close(fd);
}

static bool end_is_gone(int fd)
{
	struct pollfd p = { .fd = fd };

	return real()->poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}

/*
 * Return whether a child may take a connection. A killed child counts until the thread of channels
 * sees its end. A connection passed to it would be lost, although the parent has the listener for
 * itself again.
 */
static bool has_takers(const struct relay *r)
{
	bool takers = true;
	struct child *c;

	relay_lock();
	if (r->other < 0)
		takers = !end_is_gone(r->end);
	else
		LIST_FOREACH(c, &relays.children, of_list) {
			if (!child_has(c, r->rs))
				continue;
			takers = !end_is_gone(c->channel);
			if (takers)
				break;
		}
	relay_unlock();
	return takers;
}

static void *listener_run(void *arg)
{
	struct relay *r = arg;
	bool ours;

	for (;;) {
		struct pollfd fds[] = {
			{ .fd = r->end, .events = 0 },
			{ .fd = r->rs, .events = POLLIN },
		};
		int rs;

		if (rpoll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (fds[0].revents & (POLLHUP | POLLERR))
			break;
		if (!(fds[1].revents & POLLIN))
			continue;
		if (!has_takers(r)) {
			usleep(1000);
			continue;
		}
		rs = raccept(r->rs, NULL, NULL);
		if (rs >= 0)
			accepted_pass(r, rs);
		else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			break;
	}
	relay_lock();
	relay_remove(r);
	if (r->other >= 0)
		real()->close(r->other);
	ours = fd_is_nobodys(r->rs) && !relay_of_listener(r->rs, true);
	relay_unlock();
	if (ours)
		rclose(r->rs);
	free(r);
	return NULL;
}

int listener_share(int rs, const struct claimed *claimed)
{
	struct relay *r = relay_of_listener(rs, false);
	int ends[2];

	if (r)
		return r->other;
	r = calloc(1, sizeof(*r));
	if (!r || !relay_pair(SOCK_SEQPACKET, ends)) {
		free(r);
		return -1;
	}
	real()->fcntl(ends[1], F_SETFL, (void *)(intptr_t)(claimed->flags & O_NONBLOCK));
	*r = (struct relay){ .rs = rs, .end = ends[0], .other = ends[1] };
	LIST_INSERT_HEAD(&relays.listeners, r, of_list);
	if (relay_thread(listener_run, r) == 0)
		return r->other;
	relay_remove(r);
	real()->close(ends[1]);
	free(r);
	return -1;
}
