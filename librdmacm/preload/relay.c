/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection or a datagram socket that processes share. A thread moves data between the RDMA
 * socket and a Unix domain socket. The relay closes the RDMA socket when no process has the other
 * end of the Unix domain socket any more.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "librdmacm/preload/relay.h"

#define PIECE 65536

struct way {
	uint8_t bytes[PIECE];
	size_t start, end;
	bool ended; /* no more data comes */
	bool reset; /* the data ended because of an error */
	bool told;  /* the receiver has been told of the end */
};

struct ways {
	struct way up, down; /* to the RDMA socket; from it */
};

/* ---- moving data ---- */

static bool way_is_empty(const struct way *w)
{
	return w->start == w->end;
}

/* Take the result of a receive. */
static void way_came(struct way *w, ssize_t n)
{
	if (n > 0)
		w->start = 0, w->end = n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		w->ended = true;
		w->reset = n < 0;
	}
}

/* Take the result of a send. After an error the rest is dropped, because the receiver has gone. */
static void way_went(struct way *w, ssize_t n)
{
	if (n >= 0)
		w->start += n;
	else if (errno != EAGAIN && errno != EINTR) {
		w->start = w->end = 0;
		w->ended = w->told = true;
	}
}

static void up_move(struct relay *r, struct way *up)
{
	if (way_is_empty(up) && !up->ended)
		way_came(up, real()->recv(r->end, up->bytes, PIECE, MSG_DONTWAIT));
	if (!way_is_empty(up))
		way_went(up, rsend(r->rs, up->bytes + up->start, up->end - up->start,
				   MSG_DONTWAIT | MSG_NOSIGNAL));
	/* If the peer has gone, the next send of a process fails. */
	if (up->told && way_is_empty(up))
		real()->shutdown(r->end, SHUT_RD);
}

static void down_move(struct relay *r, struct way *down)
{
	if (way_is_empty(down) && !down->ended)
		way_came(down, rrecv(r->rs, down->bytes, PIECE, MSG_DONTWAIT | RS_MSG_MOVED));
	if (!way_is_empty(down))
		way_went(down, real()->send(r->end, down->bytes + down->start,
					    down->end - down->start, MSG_DONTWAIT | MSG_NOSIGNAL));
}

/* Wait until a way can move. Return: no process has the other end. */
static bool ways_wait(struct relay *r, const struct ways *ways)
{
	struct pollfd fds[] = {
		{ .fd = r->end, .events = 0 },
		{ .fd = r->rs, .events = 0 },
	};

	if (way_is_empty(&ways->up))
		fds[0].events |= ways->up.ended ? 0 : POLLIN;
	else
		fds[1].events |= POLLOUT;
	if (way_is_empty(&ways->down))
		fds[1].events |= ways->down.ended ? 0 : POLLIN;
	else
		fds[0].events |= POLLOUT;
	/* For a socket that ended in both directions, rpoll() would return at once each time. */
	if (!fds[1].events)
		fds[1].fd = -1;
	rpoll(fds, ARRAY_SIZE(fds), -1);
	return fds[0].revents & (POLLHUP | POLLERR);
}

static bool end_is_gone(int fd)
{
	struct pollfd p = { .fd = fd };

	return real()->poll(&p, 1, 0) > 0 && p.revents & POLLHUP;
}

/*
 * Pass on the ends of both directions. *gone: the other end is closed. rclose() then reports this
 * to the peer.
 */
static void ends_pass(struct relay *r, struct ways *ways, bool *gone)
{
	struct way *up = &ways->up, *down = &ways->down;

	if (up->ended && way_is_empty(up) && !up->told) {
		*gone = *gone || end_is_gone(r->end);
		if (!*gone)
			rshutdown(r->rs, SHUT_WR);
		up->told = true;
	}
	if (down->ended && way_is_empty(down) && !down->told) {
		/* As with TCP, a reset causes a hang-up in both directions. */
		real()->shutdown(r->end, down->reset ? SHUT_RDWR : SHUT_WR);
		down->told = true;
	}
}

/* Return when no process has the other end, and all that they wrote is sent. */
static void ways_run(struct relay *r)
{
	struct ways *ways = r->ways;
	struct way *up = &ways->up;
	bool gone = false;

	while (!gone || !up->ended || !way_is_empty(up)) {
		up_move(r, up);
		down_move(r, &ways->down);
		ends_pass(r, ways, &gone);
		if (!gone)
			gone = ways_wait(r, ways);
		else if (!way_is_empty(up))
			rpoll(&(struct pollfd){ .fd = r->rs, .events = POLLOUT }, 1, -1);
	}
}

/* ---- beginning and end ---- */

static void relay_free(struct relay *r)
{
	free(r->ways);
	free(r);
}

static void *relay_run(void *arg)
{
	struct relay *r = arg;
	bool begins;

	relay_lock();
	begins = r->rs >= 0;
	relay_unlock();
	if (begins)
		r->run(r);
	relay_lock();
	relay_remove(r);
	if (r->other >= 0)
		real()->close(r->other);
	if (begins)
		children_forget(r->rs);
	relay_unlock();
	if (begins)
		rclose(r->rs);
	relay_lock();
	pthread_cond_broadcast(&relays.ended);
	relay_unlock();
	relay_free(r);
	return NULL;
}

/* Start a relay, with the lock held. Its thread begins when the lock is released. */
static struct relay *relay_new(bool is_datagram, int *ret_other)
{
	static int number;
	struct relay *r = calloc(1, sizeof(*r));
	struct ways *ways = is_datagram ? NULL : calloc(1, sizeof(*ways));
	int ends[2];

	if (!r || (!ways && !is_datagram) ||
	    !relay_pair(is_datagram ? SOCK_SEQPACKET : SOCK_STREAM, ends)) {
		free(ways);
		free(r);
		return NULL;
	}
	*r = (struct relay){ .rs = -1,
			     .end = ends[0],
			     .other = -1,
			     .number = ++number,
			     .ways = ways,
			     .run = is_datagram ? datagrams_run : ways_run };
	LIST_INSERT_HEAD(&relays.connections, r, of_list);
	relays.process = getpid();
	if (relay_thread(relay_run, r) < 0) {
		relay_remove(r);
		real()->close(ends[1]);
		relay_free(r);
		return NULL;
	}
	*ret_other = ends[1];
	return r;
}

struct relay *connection_relay(int rs, int *ret_end)
{
	struct relay *r = relay_new(false, ret_end);

	if (r)
		r->rs = rs;
	return r;
}

/* ---- sharing ---- */

struct named_relay {
	int number;
	const struct relay_names *names;
};

static void name_give(int fd, void *arg)
{
	const struct named_relay *of = arg;

	inherited_add(fd, of->number, of->names);
}

/* Shut down the directions of the Unix domain socket that the RDMA socket has already shut down. */
static void ended_give(int ended, int fd)
{
	if (ended & RS_ENDED_SEND)
		real()->shutdown(fd, SHUT_WR);
	if (ended & RS_ENDED_RECV)
		real()->shutdown(fd, SHUT_RD);
}

int connection_none(int rs, const struct claimed *claimed)
{
	const struct sockaddr *own = (const struct sockaddr *)&claimed->names.own;
	int tcp = real()->socket(own->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (tcp < 0)
		return -1;
	socket_options_give(rs, tcp);
	ended_give(claimed->ended, tcp);
	if (claimed->is_bound && real()->bind(tcp, own, claimed->names.own_size) < 0)
		log_warn("rspreload: a child's TCP socket: %s", strerror(errno));
	return tcp;
}

int connection_ended(void)
{
	int ends[2];

	if (!relay_pair(SOCK_STREAM, ends))
		return -1;
	real()->close(ends[0]);
	return ends[1];
}

int socket_share(int rs, const struct claimed *claimed)
{
	struct named_relay of = { .names = &claimed->names };
	struct relay *r = relay_of_connection(rs);
	struct entries entries;
	int other, moved;

	if (r)
		return r->other;
	r = relay_new(claimed->is_datagram, &other);
	if (!r)
		return -1;
	entries = socket_entries_take(rs);
	moved = rs_move(rs, true);
	if (moved < 0) {
		log_err("rspreload: an RDMA socket for a child: %s", strerror(errno));
		free(entries.list);
		real()->close(other);
		return -1;
	}
	socket_options_give(moved, other);
	if (claimed->is_datagram)
		datagram_room_need(other);
	ended_give(RS(rs_ended(moved)), other);
	of.number = r->number;
	r->rs = moved;
	r->other = other;
	fd_hand_over(rs, moved, other, claimed_kind(claimed), name_give, &of);
	relay_renumber(rs, moved);
	socket_entries_give(&entries);
	return other;
}

/* ---- options and state ---- */

static struct relay *relay_find(int number)
{
	struct relay *r;

	LIST_FOREACH(r, &relays.connections, of_list)
		if (r->number == number)
			return r;
	return NULL;
}

int relay_option_set(int relay, int level, int name, const void *value, socklen_t size)
{
	struct relay *r;
	int result = 0;

	relay_lock();
	r = relay_find(relay);
	if (r)
		result = RS(rsetsockopt(r->rs, level, name, value, size));
	relay_unlock();
	return result;
}

int relay_option_get(int relay, int level, int name, void *value, socklen_t *size)
{
	struct relay *r;
	int result = 0;

	relay_lock();
	r = relay_find(relay);
	if (r)
		result = RS(rgetsockopt(r->rs, level, name, value, size));
	else
		memset(value, 0, *size);
	relay_unlock();
	return result;
}

int relay_reset(int relay)
{
	const struct linger at_once = { .l_onoff = 1 };
	struct relay *r;
	int fresh = -1;

	relay_lock();
	r = relay_find(relay);
	if (r) {
		fresh = socket_fresh(r->rs);
		RS(rsetsockopt(r->rs, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)));
	}
	relay_unlock();
	return fresh;
}

bool relay_is_over(int relay)
{
	struct sockaddr_storage name;
	socklen_t size = sizeof(name);
	struct relay *r;
	bool over = false;

	relay_lock();
	r = relay_find(relay);
	if (r)
		over = RS(rgetpeername(r->rs, (struct sockaddr *)&name, &size)) < 0 &&
		       errno == ENOTCONN;
	relay_unlock();
	return over;
}
