/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The child's side of channel.c: a number that was an RDMA socket of the parent becomes a Unix
 * domain socket at its first use. The names of such sockets are kept here, in the parent as well.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "librdmacm/preload/preload.h"

static int channel = -1; /* to the process with the RDMA sockets */

struct named {
	struct named *next;
	int fd;
	int relay; /* the number of the relay in this process; 0: another process relays */
	struct relay_names names;
};

static struct named *named; /* the relayed descriptors; under the lock of the relays */

static struct named **named_find(int fd)
{
	struct named **n = &named;

	while (*n && (*n)->fd != fd)
		n = &(*n)->next;
	return n;
}

void inherited_add(int fd, int relay, const struct relay_names *names)
{
	struct named *n = calloc(1, sizeof(*n));

	if (!n)
		return;
	*n = (struct named){ .next = named, .fd = fd, .relay = relay, .names = *names };
	named = n;
}

void inherited_forget(int fd)
{
	struct named **place, *n;

	relay_lock();
	place = named_find(fd);
	n = *place;
	if (n)
		*place = n->next;
	relay_unlock();
	free(n);
}

void inherited_copy(int fd, int copy)
{
	struct named *n;

	relay_lock();
	n = *named_find(fd);
	if (n)
		inherited_add(copy, n->relay, &n->names);
	fd_set_kind(copy, fd_socket(fd));
	relay_unlock();
}

int inherited_relay(int fd)
{
	struct named *n;
	int relay;

	relay_lock();
	n = *named_find(fd);
	relay = n ? n->relay : 0;
	relay_unlock();
	return relay;
}

static int name_copy(const struct sockaddr_storage *name, socklen_t size, struct sockaddr *addr,
		     socklen_t *addrlen)
{
	memcpy(addr, name, min_of(*addrlen, size));
	*addrlen = size;
	return 0;
}

int inherited_name(int fd, bool peer, struct sockaddr *addr, socklen_t *addrlen)
{
	struct relay_names names = {};
	struct named *n;

	relay_lock();
	n = *named_find(fd);
	if (n)
		names = n->names;
	relay_unlock();
	if (peer && !names.peer_size) {
		errno = ENOTCONN;
		return -1;
	}
	return peer ? name_copy(&names.peer, names.peer_size, addr, addrlen)
		    : name_copy(&names.own, names.own_size, addr, addrlen);
}

int inherited_family(int fd, bool *ret_has_peer)
{
	struct named *n;
	int family;

	relay_lock();
	n = *named_find(fd);
	family = n ? n->names.own.ss_family : AF_UNSPEC;
	if (ret_has_peer)
		*ret_has_peer = n && n->names.peer_size;
	relay_unlock();
	return family;
}

bool inherited_is_same(int fd, int other)
{
	struct stat a, b;

	return fd == other || (real()->fstat(fd, &a) == 0 && real()->fstat(other, &b) == 0 &&
			       a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

void inherited_set_peer(int fd, const struct sockaddr *addr, socklen_t size)
{
	relay_lock();
	for (struct named *n = named; n; n = n->next) {
		if (!inherited_is_same(n->fd, fd))
			continue;
		memcpy(&n->names.peer, addr, min_of((size_t)size, sizeof(n->names.peer)));
		n->names.peer_size = size;
	}
	relay_unlock();
}

void inherited_rename(int relay, const struct relay_names *names)
{
	relay_lock();
	for (struct named *n = named; n; n = n->next)
		if (n->relay == relay)
			n->names = *names;
	relay_unlock();
}

/* ---- channels ---- */

/*
 * Open a channel for a child, during fork(), with the lock held. Do not wait for an answer, because
 * fork() does not wait for other processes.
 */
int inherited_channel_for_child(void)
{
	const struct channel_request request = { .op = CHANNEL_CHILD };
	int ends[2];

	if (channel < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	pass_send(channel, &request, sizeof(request), ends[0]);
	real()->close(ends[0]);
	return ends[1];
}

void inherited_begin(int new_channel)
{
	if (channel >= 0)
		real()->close(channel);
	channel = new_channel;
}

void inherited_closed(int rs)
{
	const struct channel_request request = { .op = CHANNEL_CLOSE, .name = rs };

	relay_lock();
	if (channel >= 0)
		pass_send(channel, &request, sizeof(request), -1);
	relay_unlock();
}

/*
 * Claim the RDMA socket that has this number in the parent. A signal does not end the wait for the
 * answer, because the next claim would get that answer. Return: the descriptor, or -1.
 */
static int claim(int name, struct channel_answer *answer)
{
	const struct channel_request request = { CHANNEL_CLAIM, name };
	ssize_t n;
	int fd;

	if (channel < 0)
		return -1;
	do
		n = pass_send(channel, &request, sizeof(request), -1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	do
		n = pass_receive(channel, answer, sizeof(*answer), &fd);
	while (n < 0 && errno == EINTR);
	return n == sizeof(*answer) ? fd : -1;
}

/* Replace each number of this RDMA socket of the parent. */
static void numbers_replace(int kind, int by, const struct channel_answer *answer)
{
	for (int fd = -1; (fd = fd_next(fd + 1, kind)) >= 0;) {
		int flags = real()->fcntl(fd, F_GETFD, NULL);

		if (by >= 0) {
			real()->dup3(by, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
			if (answer->kind != FD_NONE)
				inherited_add(fd, 0, &answer->names);
			fd_set_kind(fd, answer->kind);
		} else {
			fd_set_kind(fd, FD_INHERITED - kind); /* not usable: EBADF */
		}
	}
}

int inherited_claim(int fd)
{
	struct channel_answer answer = { .kind = FD_NONE };
	int kind, by, error = errno;

	relay_lock();
	kind = fd_socket(fd);
	if (kind <= FD_INHERITED) {
		by = claim(FD_INHERITED - kind, &answer);
		if (by < 0)
			log_warn("rspreload: descriptor %d: the parent, whose RDMA socket it is, "
				 "does not relay it",
				 fd);
		numbers_replace(kind, by, &answer);
		if (by >= 0)
			real()->close(by);
	}
	relay_unlock();
	errno = error;
	return fd_socket(fd);
}

int inherited_accept(int fd, struct sockaddr *addr, socklen_t *addrlen, int flags)
{
	struct relay_names names;
	int connection;
	ssize_t n;

	if (flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) {
		errno = EINVAL;
		return -1;
	}
	n = pass_receive(fd, &names, sizeof(names), &connection);
	if (n < 0)
		return -1;
	if (n != sizeof(names) || connection < 0) {
		errno = n && connection < 0 ? EMFILE : EINVAL;
		return -1;
	}
	if (flags & SOCK_NONBLOCK)
		real()->fcntl(connection, F_SETFL, (void *)(intptr_t)O_NONBLOCK);
	if (!(flags & SOCK_CLOEXEC))
		real()->fcntl(connection, F_SETFD, NULL);
	relay_lock();
	inherited_add(connection, 0, &names);
	fd_set_kind(connection, FD_RELAYED);
	relay_unlock();
	if (addr && addrlen)
		name_copy(&names.peer, names.peer_size, addr, addrlen);
	return connection;
}
