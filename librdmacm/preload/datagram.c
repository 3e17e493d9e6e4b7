/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A datagram socket that processes share: see relay.h. A message on the Unix domain socket is a
 * head with an address, followed by a datagram. The messages keep the order of the calls. Therefore
 * connect() is a message as well.
 */
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "librdmacm/preload/relay.h"
#include "librdmacm/rsocket/private.h"

#define DATAGRAM_MAX 65507 /* bytes of a UDP datagram over IPv4 */

enum head_kind {
	HEAD_DATAGRAM = 1,
	HEAD_CONNECT, /* name: the new peer, or AF_UNSPEC */
	HEAD_ERROR,   /* relay to processes: the next receive fails with this error */
};

struct head {
	enum head_kind kind;
	int error;
	socklen_t name_size;	  /* 0: no name */
	struct sockaddr_in6 name; /* or sockaddr_in */
};

/* ---- the process that owns the RDMA socket ---- */

/* A message that waits until it can be sent. */
struct letter {
	struct head head;
	uint8_t bytes[DATAGRAM_MAX];
	ssize_t size; /* bytes of the datagram; -1: there is no message */
};

struct letters {
	struct letter up, down; /* @up: to the RDMA socket; @down: from the RDMA socket */
	bool up_ended, down_ended;
};

static struct msghdr letter_msg(struct letter *l, struct iovec *iov)
{
	iov[0] = (struct iovec){ &l->head, sizeof(l->head) };
	iov[1] = (struct iovec){ l->bytes, l->size < 0 ? sizeof(l->bytes) : (size_t)l->size };
	return (struct msghdr){ .msg_iov = iov, .msg_iovlen = 2 };
}

static bool is_later(int error)
{
	return error == EAGAIN || error == EINTR;
}

/* Receive a message of a process. Return: false if none is there now. */
static bool up_take(struct relay *r, struct letters *both)
{
	struct letter *up = &both->up;
	struct iovec iov[2];
	struct msghdr msg = letter_msg(up, iov);
	ssize_t n = real()->recvmsg(r->end, &msg, MSG_DONTWAIT);

	if (n == 0)
		both->up_ended = true;
	/* ECONNRESET: the last process closed its end with unread data. It may have sent messages
	 * before, so try again. */
	if (n <= 0)
		return n < 0 && errno == ECONNRESET;
	up->size = n - (ssize_t)sizeof(up->head);
	if (up->size >= 0 && up->head.name_size > sizeof(up->head.name))
		up->size = -1;
	return true;
}

/* Let the next receive of a process fail. As on UDP, an error is lost if a message already waits.
 */
static void error_tell(struct letters *both, int error)
{
	struct letter *down = &both->down;

	if (down->size >= 0)
		return;
	down->head = (struct head){ .kind = HEAD_ERROR, .error = error };
	down->size = 0;
}

static ssize_t peer_set(struct relay *r, const struct sockaddr *name, socklen_t size)
{
	struct relay_names names;
	int result = rconnect(r->rs, name, size);

	relay_names_get(r->rs, &names);
	inherited_rename(r->number, &names);
	return result;
}

/* Execute a message of a process. Return: false if the RDMA socket has no room now. */
static bool up_serve(struct relay *r, struct letters *both)
{
	struct letter *up = &both->up;
	const struct sockaddr *name = up->head.name_size ? (void *)&up->head.name : NULL;
	ssize_t n = 0;

	if (up->head.kind == HEAD_CONNECT)
		n = peer_set(r, name, up->head.name_size);
	else if (up->head.kind == HEAD_DATAGRAM)
		n = rsendto(r->rs, up->bytes, up->size, MSG_DONTWAIT | MSG_NOSIGNAL, name,
			    up->head.name_size);
	if (n < 0 && is_later(errno))
		return false;
	if (n < 0)
		error_tell(both, errno);
	up->size = -1;
	return true;
}

static void up_move(struct relay *r, struct letters *both)
{
	while (both->up.size >= 0 ? up_serve(r, both) : !both->up_ended && up_take(r, both))
		;
}

static void down_take(struct relay *r, struct letters *both)
{
	struct letter *down = &both->down;
	ssize_t n;

	down->head = (struct head){ .kind = HEAD_DATAGRAM, .name_size = sizeof(down->head.name) };
	n = rrecvfrom(r->rs, down->bytes, sizeof(down->bytes), MSG_DONTWAIT | RS_MSG_MOVED,
		      (struct sockaddr *)&down->head.name, &down->head.name_size);
	if (n >= 0)
		down->size = n;
	else if (!is_later(errno))
		error_tell(both, errno);
}

static void down_move(struct relay *r, struct letters *both)
{
	struct letter *down = &both->down;

	for (;;) {
		struct iovec iov[2];
		struct msghdr msg;
		ssize_t n;

		if (down->size < 0)
			down_take(r, both);
		if (down->size < 0)
			return;
		msg = letter_msg(down, iov);
		n = real()->sendmsg(r->end, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && is_later(errno))
			return;
		down->size = -1;
		both->down_ended |= n < 0;
		if (n < 0)
			return;
	}
}

/* Wait until a message can be moved. Return: true if no process has the other end any more. */
static bool letters_wait(struct relay *r, const struct letters *both)
{
	struct pollfd fds[] = {
		{ .fd = r->end, .events = 0 },
		{ .fd = r->rs, .events = 0 },
	};

	if (both->up.size >= 0)
		fds[1].events |= POLLOUT;
	else if (!both->up_ended)
		fds[0].events |= POLLIN;
	if (both->down.size >= 0)
		fds[0].events |= POLLOUT;
	else if (!both->down_ended)
		fds[1].events |= POLLIN;
	if (!fds[1].events)
		fds[1].fd = -1;
	rpoll(fds, ARRAY_SIZE(fds), -1);
	return fds[0].revents & (POLLHUP | POLLERR);
}

/* Shut down a direction of the RDMA socket after a process has shut down this direction of the Unix
 * domain socket. */
static void ends_pass(struct relay *r, const struct letters *both, bool *told)
{
	if (both->up_ended && !told[0])
		rshutdown(r->rs, SHUT_WR);
	if (both->down_ended && !told[1])
		rshutdown(r->rs, SHUT_RD);
	told[0] = both->up_ended;
	told[1] = both->down_ended;
}

static void letters_run(struct relay *r, struct letters *both)
{
	bool gone = false, told[2] = {};

	both->up.size = both->down.size = -1;
	while (!gone || both->up.size >= 0) {
		gone = letters_wait(r, both);
		up_move(r, both);
		if (!gone && !both->down_ended)
			down_move(r, both);
		if (!gone)
			ends_pass(r, both, told);
	}
}

void datagrams_run(struct relay *r)
{
	struct letters *both = calloc(1, sizeof(*both)); /* too large for the stack */

	if (!both) {
		log_err("rspreload: memory for a child's datagrams: %s", strerror(errno));
		return;
	}
	letters_run(r, both);
	free(both);
}

/* ---- calls of the processes ---- */

#define ROOM_NEEDED (2 * DATAGRAM_MAX) /* the kernel counts its own structures, too */

void datagram_room_need(int fd)
{
	int room = 0, half = ROOM_NEEDED / 2; /* the kernel doubles the value */
	socklen_t size = sizeof(room);

	if (real()->getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, &size) == 0 && room < ROOM_NEEDED)
		real()->setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &half, sizeof(half));
}

/* Send a head, followed by the buffers. Return: the number of sent bytes without the head, or -1.
 */
static ssize_t head_send(int fd, struct head *head, const struct iovec *iov, size_t count,
			 int flags)
{
	struct iovec some[16], *all = some;
	struct msghdr msg = { .msg_iovlen = count + 1 };
	ssize_t n;

	if (count >= IOV_MAX) {
		errno = EMSGSIZE;
		return -1;
	}
	if (count >= ARRAY_SIZE(some))
		all = malloc((count + 1) * sizeof(*all));
	if (!all) {
		errno = ENOMEM;
		return -1;
	}
	all[0] = (struct iovec){ head, sizeof(*head) };
	if (count)
		memcpy(all + 1, iov, count * sizeof(*all));
	msg.msg_iov = all;
	n = real()->sendmsg(fd, &msg, flags | MSG_NOSIGNAL);
	if (all != some)
		free(all);
	return n < 0 ? n : n - (ssize_t)sizeof(*head);
}

/* Check the address of a peer. Return 0 or a positive errno. */
static int name_check(const struct sockaddr *addr, socklen_t size, int family)
{
	const struct sockaddr_in *in = (const void *)addr;

	if (size < sizeof(addr->sa_family) ||
	    size < (family == AF_INET6 && addr->sa_family != AF_INET ? sizeof(struct sockaddr_in6)
								     : sizeof(*in)))
		return EINVAL;
	if (addr->sa_family != family && (family != AF_INET6 || addr->sa_family != AF_INET))
		return EAFNOSUPPORT;
	return 0;
}

static void head_name(struct head *head, const void *addr, socklen_t size)
{
	head->name_size = min_of((size_t)size, sizeof(head->name));
	memcpy(&head->name, addr, head->name_size);
}

static size_t iov_size(const struct iovec *iov, size_t count)
{
	size_t size = 0;

	for (size_t i = 0; i < count && size <= DATAGRAM_MAX; i++)
		size = iov[i].iov_len > DATAGRAM_MAX ? iov[i].iov_len : size + iov[i].iov_len;
	return size;
}

ssize_t datagram_send(int fd, const struct msghdr *msg, int flags)
{
	struct head head = { .kind = HEAD_DATAGRAM };
	int error = 0, family;
	bool has_peer;

	family = inherited_family(fd, &has_peer);
	if (flags & (MSG_OOB | MSG_MORE))
		error = EOPNOTSUPP;
	else if (msg->msg_name)
		error = name_check(msg->msg_name, msg->msg_namelen, family);
	else if (!has_peer)
		error = EDESTADDRREQ;
	if (!error && iov_size(msg->msg_iov, msg->msg_iovlen) > DATAGRAM_MAX)
		error = EMSGSIZE;
	if (error) {
		errno = error;
		return -1;
	}
	if (msg->msg_name)
		head_name(&head, msg->msg_name, msg->msg_namelen);
	return head_send(fd, &head, msg->msg_iov, msg->msg_iovlen, flags);
}

int datagram_connect(int fd, const struct sockaddr *addr, socklen_t size)
{
	struct head head = { .kind = HEAD_CONNECT };
	bool to_none = addr && size >= sizeof(addr->sa_family) && addr->sa_family == AF_UNSPEC;
	int error = to_none ? 0
		    : addr  ? name_check(addr, size, inherited_family(fd, NULL))
			    : EFAULT;

	if (error) {
		errno = error;
		return -1;
	}
	head_name(&head, addr, size);
	/* After a shutdown of the sending direction this message fails with EPIPE. Ignore that. */
	if (head_send(fd, &head, NULL, 0, 0) < 0 && errno != EPIPE)
		return -1;
	inherited_set_peer(fd, addr, to_none ? 0 : head.name_size);
	return 0;
}

int datagram_shutdown(int fd, int how)
{
	bool has_peer;

	inherited_family(fd, &has_peer);
	if (real()->shutdown(fd, how) < 0)
		return -1;
	errno = ENOTCONN;
	return has_peer ? 0 : -1;
}

/* Fill in the results of a receive. @n: received bytes without the head. Return: as recvmsg(). */
static ssize_t head_read(const struct head *head, ssize_t n, int had_flags, struct msghdr *msg)
{
	if (msg->msg_name) {
		memcpy(msg->msg_name, &head->name, min_of(msg->msg_namelen, head->name_size));
		msg->msg_namelen = head->name_size;
	}
	msg->msg_controllen = 0;
	msg->msg_flags = had_flags & MSG_TRUNC;
	return n;
}

ssize_t datagram_receive(int fd, struct msghdr *msg, int flags)
{
	size_t count = msg->msg_iovlen;
	struct iovec some[16], *all = some;
	struct head head = {};
	struct msghdr with = {};
	ssize_t n;

	if (count >= IOV_MAX) {
		errno = EMSGSIZE;
		return -1;
	}
	if (count >= ARRAY_SIZE(some))
		all = malloc((count + 1) * sizeof(*all));
	if (!all) {
		errno = ENOMEM;
		return -1;
	}
	all[0] = (struct iovec){ &head, sizeof(head) };
	if (count)
		memcpy(all + 1, msg->msg_iov, count * sizeof(*all));
	with.msg_iov = all;
	with.msg_iovlen = count + 1;
	n = real()->recvmsg(fd, &with, flags & ~MSG_WAITALL);
	if (n >= (ssize_t)sizeof(head) && head.kind == HEAD_ERROR && flags & MSG_PEEK)
		real()->recvmsg(fd, &with, MSG_DONTWAIT); /* as on UDP, a peek removes it */
	if (all != some)
		free(all);
	/* As on UDP after a shutdown, only a blocking call returns 0. */
	if (n == 0 && (flags & MSG_DONTWAIT || real()->fcntl(fd, F_GETFL, NULL) & O_NONBLOCK)) {
		errno = EAGAIN;
		n = -1;
	}
	if (n <= 0)
		return n;
	if (n < (ssize_t)sizeof(head) || head.kind == HEAD_ERROR) {
		errno = head.error ? head.error : EIO;
		return -1;
	}
	return head_read(&head, n - (ssize_t)sizeof(head), with.msg_flags, msg);
}

int datagram_bytes_waiting(int fd, int *ret_bytes)
{
	ssize_t n = real()->recv(fd, NULL, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);

	*ret_bytes = n > (ssize_t)sizeof(struct head) ? n - (ssize_t)sizeof(struct head) : 0;
	return 0;
}
