/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The child's side of relay.c: a number that was an RDMA socket of the parent becomes a Unix domain
 * socket at its first use. The child itself answers calls about names and network options.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "librdmacm/preload/preload.h"

static int door = -1; /* to the process with the RDMA sockets */

struct named {
	struct named *next;
	int fd, relay;
	struct relay_names names;
};

static struct named *named; /* the relayed descriptors; under relay.c's lock */

static struct named **named_find(int fd)
{
	struct named **n = &named;

	while (*n && (*n)->fd != fd)
		n = &(*n)->next;
	return n;
}

static void named_add(int fd, int relay, const struct relay_names *names)
{
	struct named *n = calloc(1, sizeof(*n));

	if (!n)
		return;
	*n = (struct named){ .next = named, .fd = fd, .relay = relay, .names = *names };
	named = n;
}

/* ---- asking ---- */

/* @sent_fd: passed with the request, or -1 */
static bool ask(const struct relay_request *request, int sent_fd, struct relay_answer *answer,
		int *ret_fd)
{
	*ret_fd = -1;
	if (door < 0 || relay_send(door, request, sizeof(*request), sent_fd) < 0 ||
	    relay_receive(door, answer, sizeof(*answer), ret_fd) != sizeof(*answer)) {
		if (*ret_fd >= 0)
			real()->close(*ret_fd);
		return false;
	}
	return *ret_fd >= 0;
}

static bool relay_is_named(int relay)
{
	struct named *n = named;

	while (n && n->relay != relay)
		n = n->next;
	return n;
}

/*
 * Tell the parent that the last descriptor of the relay is closed. The parent then looks whether
 * other processes have the socket. Therefore replace the socket by the door until @fd is closed.
 * The data is there for others when close() returns.
 */
static void left_tell(int fd, int relay)
{
	const struct relay_request request = { .op = RELAY_LEFT, .rs = relay };
	struct relay_answer answer;
	int error = errno, none;

	if (door < 0 || relay_is_named(relay))
		return;
	real()->dup3(door, fd, O_CLOEXEC);
	ask(&request, -1, &answer, &none);
	errno = error;
}

void heir_forget(int fd)
{
	struct named **place, *n;

	relay_lock();
	place = named_find(fd);
	n = *place;
	if (n)
		*place = n->next;
	if (n && n->relay)
		left_tell(fd, n->relay);
	relay_unlock();
	free(n);
}

void heir_copy(int fd, int copy)
{
	struct named *n;

	relay_lock();
	n = *named_find(fd);
	if (n)
		named_add(copy, n->relay, &n->names);
	fd_set_kind(copy, fd_socket(fd));
	relay_unlock();
	/* A program that is started with this descriptor cannot announce that it reads. */
	if (copy != STDOUT_FILENO && copy != STDERR_FILENO && fd_socket(copy) == FD_RELAYED_QUIET)
		heir_read(copy);
}

static int name_copy(const struct sockaddr_storage *name, socklen_t size, struct sockaddr *addr,
		     socklen_t *addrlen)
{
	memcpy(addr, name, min_of(*addrlen, size));
	*addrlen = size;
	return 0;
}

int heir_name(int fd, bool peer, struct sockaddr *addr, socklen_t *addrlen)
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

/* ---- doors ---- */

/* Ask for a door, during fork(), with the lock held. */
int heir_door_for_child(void)
{
	const struct relay_request request = { .op = RELAY_DOOR };
	struct relay_answer answer;
	int fd;

	return door >= 0 && ask(&request, -1, &answer, &fd) ? fd : -1;
}

void heir_begin(int new_door)
{
	if (door >= 0)
		real()->close(door);
	door = new_door;
}

void heir_closed(int rs)
{
	const struct relay_request request = { .op = RELAY_CLOSE, .rs = rs };

	relay_lock();
	if (door >= 0)
		relay_send(door, &request, sizeof(request), -1);
	relay_unlock();
}

/* Replace each number of this RDMA socket of the parent. */
static void numbers_replace(int kind, int by, const struct relay_answer *answer)
{
	for (int fd = -1; (fd = fd_next(fd + 1, kind)) >= 0;) {
		int flags = real()->fcntl(fd, F_GETFD, NULL);

		if (by >= 0) {
			real()->dup3(by, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
			named_add(fd, answer->relay, &answer->names);
			fd_set_kind(fd, answer->kind);
		} else {
			fd_set_kind(fd, FD_INHERITED - kind); /* not usable: EBADF */
		}
	}
}

int heir_claim(int fd)
{
	struct relay_answer answer = { .kind = FD_NONE };
	int kind, by, error = errno;

	relay_lock();
	kind = fd_socket(fd);
	if (kind <= FD_INHERITED) {
		const struct relay_request request = { RELAY_CLAIM, FD_INHERITED - kind };

		int process = (int)syscall(SYS_pidfd_open, getpid(), 0);
		bool answered = ask(&request, process, &answer, &by);

		if (process >= 0)
			real()->close(process);
		if (!answered) {
			by = -1;
			log_warn("rspreload: descriptor %d: the parent, whose RDMA socket it is, "
				 "does not relay it",
				 fd);
		}
		numbers_replace(kind, by, &answer);
		if (by >= 0)
			real()->close(by);
	}
	relay_unlock();
	errno = error;
	return fd_socket(fd);
}

/* Announce that this process reads, with the lock held. */
static void read_tell(int fd)
{
	struct relay_request request = { .op = RELAY_READ };
	struct named *n = *named_find(fd);

	if (n && fd_socket(fd) == FD_RELAYED_QUIET) {
		request.rs = n->relay;
		relay_send(door, &request, sizeof(request), -1);
	}
	fd_set_kind(fd, FD_RELAYED);
}

void heir_shut(int fd)
{
	struct relay_request request = { .op = RELAY_SHUT };
	struct named *n;

	relay_lock();
	n = *named_find(fd);
	if (n && n->relay && door >= 0) {
		request.rs = n->relay;
		relay_send(door, &request, sizeof(request), -1);
	}
	relay_unlock();
}

int heir_read(int fd)
{
	int error = errno;

	relay_lock();
	read_tell(fd);
	relay_unlock();
	errno = error;
	return FD_RELAYED;
}

void heir_read_all(void)
{
	for (int fd = -1; (fd = fd_next(fd + 1, FD_RELAYED_QUIET)) >= 0;)
		read_tell(fd);
}

int heir_accept(int fd, struct sockaddr *addr, socklen_t *addrlen, int flags)
{
	struct relay_names names;
	int connection;
	ssize_t n;

	if (flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) {
		errno = EINVAL;
		return -1;
	}
	n = relay_receive(fd, &names, sizeof(names), &connection);
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
	named_add(connection, 0, &names);
	fd_set_kind(connection, FD_RELAYED);
	relay_unlock();
	if (addr && addrlen)
		name_copy(&names.peer, names.peer_size, addr, addrlen);
	return connection;
}
