/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sockets of a process that forks. A child inherits the numbers, but it cannot use the RDMA of
 * another process. Therefore a child has a door, a socket to the process it came from, and sends a
 * request there when it first uses an RDMA socket (heir.c). It gets a Unix domain socket in its
 * place, and a thread of the first process relays the other end. For the kernel this is an ordinary
 * socket. Therefore the programs and children that the child starts can use it, too.
 *
 * For a listener, each message is an accepted connection, with its names.
 *
 * The thread of doors and the relays are marked: see preload.h. The RDMA socket is closed when its
 * last holder, parent or child, closes it.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

#include "librdmacm/preload/preload.h"
#include "librdmacm/rsocket/private.h"
#include "util/thread.h"

#define END_MS	 1000 /* limit of the time between the end of a door and the end of its process */
#define BIRTH_MS 200  /* a new child may have copies of all descriptors for so long */

struct child {
	LIST_ENTRY(child) of_list;
	int door;
	int *held; /* the RDMA sockets that it has not claimed, and all listeners */
	unsigned int count;
	int *relays; /* numbers of the relays whose socket it has */
	unsigned int relay_count;
	int process;	 /* a pidfd, readable when the child has ended; -1: none */
	int64_t ends_at; /* ms: the door is closed, and the child may take so long to end; 0: no */
};

struct ways;

struct relay {
	LIST_ENTRY(relay) of_list;
	int rs;
	int end; /* the Unix domain socket of this process */
	/*
	 * The child's end. All children share the one of a listener, and -1 means that no child is
	 * left. The one of a connection is a duplicate, from which the parent takes the data that a
	 * child has not received. -1 means that it cannot.
	 */
	int other;
	/* Of a connection. */
	int number;
	bool shared;	      /* a program that a child started may have the socket */
	atomic_bool returns;  /* a thread returns the data of a child */
	pthread_mutex_t lock; /* of @ways; taken inside the lock of all relays */
	struct ways *ways;
	int wake; /* an eventfd: @reads changed */
	/* the child called shutdown(); a close alone does not end the RDMA socket */
	atomic_bool shut;
	atomic_bool reads; /* the child reads; until then another process may */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t ended;
	LIST_HEAD(, child) children;
	LIST_HEAD(, relay) connections, listeners;
	int wake; /* an eventfd: the doors changed */
	bool runs;
	pid_t process; /* the process with the threads that relay */
} relays = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.ended = PTHREAD_COND_INITIALIZER,
	.wake = -1,
};

atomic_int relay_lent;

/* During a fork, in the thread that forks. The door has the parent's end and the child's. */
static __thread bool forks;
static __thread int door_pair[2];

void relay_lock(void)
{
	preload_lock(&relays.lock);
}

void relay_unlock(void)
{
	preload_unlock(&relays.lock);
}

/* ---- messages with a descriptor ---- */

ssize_t relay_send(int fd, const void *bytes, size_t size, int sent_fd)
{
	struct iovec iov = { (void *)bytes, size };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (sent_fd >= 0) {
		control.header = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
		};
		memcpy(CMSG_DATA(&control.header), &sent_fd, sizeof(int));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	return real()->sendmsg(fd, &msg, MSG_NOSIGNAL);
}

ssize_t relay_receive(int fd, void *bytes, size_t size, int *ret_fd)
{
	struct iovec iov = { bytes, size };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = real()->recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);

	*ret_fd = -1;
	if (n > 0 && msg.msg_controllen >= CMSG_LEN(sizeof(int)) &&
	    control.header.cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(&control.header), sizeof(int));
	return n;
}

static bool pair_open(int type, int *ends)
{
	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) == 0)
		return true;
	log_err("rspreload: a child's socket: %s", strerror(errno));
	return false;
}

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000ll + time.tv_nsec / 1000000;
}

static int thread_start(void *(*function)(void *), void *arg)
{
	int r = RS(thread_run(function, arg, NULL));

	if (r < 0)
		log_err("rspreload: a thread for a child: %s", strerror(-r));
	return r;
}

/* ---- holding; with the lock held ---- */

/*
 * Return the listener's relay, or NULL. @ending: also a relay without children, whose thread has
 * yet to see that.
 */
static struct relay *listener_find(int rs, bool ending)
{
	struct relay *r;

	LIST_FOREACH(r, &relays.listeners, of_list)
		if (r->rs == rs && (ending || r->other >= 0))
			return r;
	return NULL;
}

/* Drop a hold. Return: the caller has to close the socket, without the lock. */
static bool socket_unhold(int rs)
{
	struct relay *r;
	bool last = fd_unhold(rs);

	if (fd_is_held(rs))
		return false;
	r = listener_find(rs, false);
	if (!r)
		return last && !listener_find(rs, true);
	/* The thread of the relay sees the end and closes the socket. */
	real()->close(r->other);
	r->other = -1;
	return false;
}

static void sockets_close(const int *rs, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		RS(rclose(rs[i]));
}

static bool child_takes(struct child *c, int rs, bool remove)
{
	for (unsigned int i = 0; i < c->count; i++) {
		if (c->held[i] != rs)
			continue;
		if (remove)
			c->held[i] = c->held[--c->count];
		return true;
	}
	return false;
}

/*
 * Unlist the relay and close its end in one step. The child of a fork closes the ends of all listed
 * relays, and a closed number may already belong to another file.
 */
static void relay_remove(struct relay *r)
{
	LIST_REMOVE(r, of_list);
	real()->close(r->end);
}

/* ---- a connection ---- */

#define PIECE 65536

struct way {
	uint8_t bytes[PIECE];
	size_t start, end;
	bool ended; /* no more data comes */
	bool told;  /* the receiver has been told of the end */
};

struct ways {
	struct way up, down; /* from the child; to the child */
};

static bool way_is_empty(const struct way *w)
{
	return w->start == w->end;
}

/* Take the result of a receive. */
static void way_came(struct way *w, ssize_t n)
{
	if (n > 0)
		w->start = 0, w->end = n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		w->ended = true;
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

/* Send what the child wrote. Return: whether there was something. */
static bool up_move(struct relay *r, struct way *up)
{
	if (way_is_empty(up) && !up->ended)
		way_came(up, recv(r->end, up->bytes, PIECE, MSG_DONTWAIT));
	if (way_is_empty(up))
		return false;
	way_went(up, rsend(r->rs, up->bytes + up->start, up->end - up->start,
			   MSG_DONTWAIT | MSG_NOSIGNAL));
	return way_is_empty(up);
}

static void ways_move(struct relay *r, struct ways *ways)
{
	struct way *up = &ways->up, *down = &ways->down;

	if (atomic_load(&r->reads) && atomic_load(&relay_lent))
		relay_settle(r->rs); /* data of another child comes first */
	preload_lock(&r->lock);
	if (way_is_empty(down) && !down->ended && atomic_load(&r->reads))
		way_came(down, rrecv(r->rs, down->bytes, PIECE, MSG_DONTWAIT));
	up_move(r, up);
	if (!way_is_empty(down))
		way_went(down, send(r->end, down->bytes + down->start, down->end - down->start,
				    MSG_DONTWAIT | MSG_NOSIGNAL));
	/* If the peer has gone, the child's next send fails. */
	if (up->told && way_is_empty(up))
		shutdown(r->end, SHUT_RD);
	preload_unlock(&r->lock);
}

static bool ways_has_data(struct relay *r, const struct way *w)
{
	bool has;

	preload_lock(&r->lock);
	has = !way_is_empty(w);
	preload_unlock(&r->lock);
	return has;
}

/* Wait until a way can move. Return: the child has closed its end. */
static bool ways_wait(struct relay *r, const struct ways *ways)
{
	struct pollfd fds[] = {
		{ .fd = r->end, .events = 0 },
		{ .fd = r->rs, .events = 0 },
		{ .fd = r->wake, .events = POLLIN },
	};
	eventfd_t woken;

	preload_lock(&r->lock);
	if (way_is_empty(&ways->up))
		fds[0].events |= ways->up.ended ? 0 : POLLIN;
	else
		fds[1].events |= POLLOUT;
	if (way_is_empty(&ways->down))
		fds[1].events |= ways->down.ended || !atomic_load(&r->reads) ? 0 : POLLIN;
	else
		fds[0].events |= POLLOUT;
	preload_unlock(&r->lock);
	/* For a socket that ended in both directions, rpoll() would return at once each time. */
	if (!fds[1].events)
		fds[1].fd = -1;
	if (rpoll(fds, ARRAY_SIZE(fds), -1) > 0 && fds[2].revents)
		eventfd_read(r->wake, &woken);
	return fds[0].revents & (POLLHUP | POLLERR);
}

/* The ends of ways that are due, under the lock of the relay. */
struct ends {
	bool up, down, all;
};

static struct ends ends_due(struct relay *r, struct ways *ways, bool *gone)
{
	struct way *up = &ways->up, *down = &ways->down;
	struct ends due = {};
	/* Did the child close its end, or shut it down? */
	struct pollfd p = { .fd = r->end };

	preload_lock(&r->lock);
	if (up->ended && way_is_empty(up) && !up->told) {
		*gone = *gone || (poll(&p, 1, 0) > 0 && p.revents & POLLHUP);
		due.up = !*gone || atomic_load(&r->shut);
		up->told = true;
	}
	if (down->ended && way_is_empty(down) && !down->told)
		due.down = down->told = true;
	due.all = *gone && way_is_empty(up) && up->ended;
	preload_unlock(&r->lock);
	return due;
}

static void relay_run(struct relay *r, struct ways *ways)
{
	struct ends due;
	bool gone = false;

	do {
		ways_move(r, ways);
		due = ends_due(r, ways, &gone);
		if (due.up)
			rshutdown(r->rs, SHUT_WR);
		if (due.down)
			shutdown(r->end, SHUT_WR);
		if (!gone)
			gone = ways_wait(r, ways);
		else if (!due.all && ways_has_data(r, &ways->up))
			rpoll(&(struct pollfd){ .fd = r->rs, .events = POLLOUT }, 1, -1);
	} while (!due.all);
}

static void connection_free(struct relay *r)
{
	pthread_mutex_destroy(&r->lock);
	free(r->ways);
	free(r);
}

/* Close the duplicate of the child's end. */
static void lent_close(struct relay *r)
{
	real()->close(r->other);
	r->other = -1;
	atomic_fetch_sub(&relay_lent, 1);
}

static void *connection_run(void *arg)
{
	struct relay *r = arg;
	bool last;

	relay_run(r, r->ways);
	relay_lock();
	relay_remove(r);
	/* A settlement may have the relay still. */
	preload_lock(&r->lock);
	preload_unlock(&r->lock);
	if (r->other >= 0)
		lent_close(r);
	real()->close(r->wake);
	last = socket_unhold(r->rs);
	relay_unlock();
	if (last)
		rclose(r->rs);
	relay_lock();
	pthread_cond_broadcast(&relays.ended);
	relay_unlock();
	connection_free(r);
	return NULL;
}

static struct relay *connection_new(int rs, bool reads, int *ret_other)
{
	static int number;
	struct relay *r = calloc(1, sizeof(*r));
	struct ways *ways = calloc(1, sizeof(*ways));
	int ends[2];

	if (!r || !ways || !pair_open(SOCK_STREAM, ends)) {
		free(ways);
		free(r);
		return NULL;
	}
	*r = (struct relay){ .rs = rs, .end = ends[0], .other = -1, .number = ++number };
	r->ways = ways;
	pthread_mutex_init(&r->lock, NULL);
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	atomic_init(&r->reads, reads);
	*ret_other = ends[1];
	LIST_INSERT_HEAD(&relays.connections, r, of_list);
	relays.process = getpid();
	return r;
}

/*
 * Start the relay of a connection, with the lock held. The caller holds the RDMA socket. @lends:
 * data may come back. Return: the child's end, or -1.
 */
static int connection_start(int rs, bool reads, bool lends, int *ret_number)
{
	int other;
	struct relay *r = connection_new(rs, reads, &other);

	if (!r)
		return -1;
	*ret_number = r->number;
	if (lends)
		r->other = real()->fcntl(other, F_DUPFD_CLOEXEC, NULL);
	if (r->other >= 0)
		atomic_fetch_add(&relay_lent, 1);
	if (r->wake >= 0 && thread_start(connection_run, r) == 0)
		return other;
	if (r->other >= 0)
		lent_close(r);
	LIST_REMOVE(r, of_list);
	if (r->wake >= 0)
		real()->close(r->wake);
	real()->close(r->end);
	real()->close(other);
	connection_free(r);
	return -1;
}

static void connection_read(struct relay *r)
{
	atomic_store(&r->reads, true);
	eventfd_write(r->wake, 1);
}

static void number_serve(int number, enum relay_op op)
{
	struct relay *r;

	LIST_FOREACH(r, &relays.connections, of_list) {
		if (r->number != number)
			continue;
		if (op == RELAY_SHUT)
			atomic_store(&r->shut, true);
		else
			connection_read(r);
	}
}

static struct relay_names names_of(int rs)
{
	struct relay_names names = { .own_size = sizeof(names.own),
				     .peer_size = sizeof(names.peer) };

	if (RS(rgetsockname(rs, (struct sockaddr *)&names.own, &names.own_size)) < 0)
		names.own_size = 0;
	if (RS(rgetpeername(rs, (struct sockaddr *)&names.peer, &names.peer_size)) < 0)
		names.peer_size = 0;
	return names;
}

/* ---- settling ---- */

static int relay_place(const struct child *c, int number)
{
	for (unsigned int i = 0; i < c->relay_count; i++)
		if (c->relays[i] == number)
			return (int)i;
	return -1;
}

static bool child_gives(struct child *c, int number)
{
	int i = relay_place(c, number);

	if (i >= 0)
		c->relays[i] = c->relays[--c->relay_count];
	return i >= 0;
}

/* Note that the child has the socket of that relay. Without memory, it counts as unknown. */
static void child_gets(struct child *c, int number)
{
	int *more = realloc(c->relays, (c->relay_count + 1) * sizeof(*more));

	if (!more)
		return;
	c->relays = more;
	c->relays[c->relay_count++] = number;
}

static bool child_has_ended(const struct child *c)
{
	struct pollfd process = { .fd = c->process, .events = POLLIN };

	return c->process >= 0 && real()->poll(&process, 1, 0) > 0;
}

/* Return whether a child that is known to have the relay's socket lives. */
static bool relay_has_users(const struct relay *r)
{
	struct child *c;

	LIST_FOREACH(c, &relays.children, of_list)
		if (relay_place(c, r->number) >= 0 && !child_has_ended(c))
			return true;
	return false;
}

static bool end_is_gone(int fd)
{
	struct pollfd p = { .fd = fd };

	return real()->poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}

/* Wait until no other process has the other end. */
static bool end_goes(int fd, int timeout)
{
	struct pollfd p = { .fd = fd };

	return real()->poll(&p, 1, timeout) > 0 && p.revents & (POLLHUP | POLLERR);
}

/* Data that no child has received. */
struct rest {
	uint8_t *bytes;
	size_t size;
};

/*
 * Take the rest, with both locks held. There is none if a program that a child started has the
 * socket, too. The known users have gone, therefore no process reads between the copy and the
 * close.
 */
static void rest_take(struct relay *r, struct rest *rest)
{
	struct way *down = &r->ways->down;
	size_t waiting = down->end - down->start;
	int size = 0;
	ssize_t n;

	real()->ioctl(r->other, FIONREAD, &size);
	rest->bytes = malloc(size + waiting + 1);
	n = rest->bytes ? real()->recv(r->other, rest->bytes, size, MSG_PEEK | MSG_DONTWAIT) : 0;
	rest->size = max_of(n, (ssize_t)0);
	real()->close(r->other);
	r->other = -1;
	if (!rest->bytes || !end_goes(r->end, rest->size + waiting && !r->shared ? BIRTH_MS : 0)) {
		rest->size = 0;
		return;
	}
	memcpy(rest->bytes + rest->size, down->bytes + down->start, waiting);
	rest->size += waiting;
	down->start = down->end = 0;
	down->ended = down->told = true;
}

/*
 * Find the next relay of the RDMA socket that may have to be settled, and take its lock. @rest: of
 * a child that has ended.
 */
static struct relay *relay_next(int rs, int after, struct rest *rest)
{
	struct relay *r, *next = NULL;

	*rest = (struct rest){};
	relay_lock();
	LIST_FOREACH(r, &relays.connections, of_list)
		if (r->rs == rs && (r->other >= 0 || atomic_load(&r->returns)) &&
		    r->number > after && (!next || r->number < next->number))
			next = r;
	if (next) {
		preload_lock(&next->lock);
		if (next->other >= 0 && !relay_has_users(next)) {
			atomic_store(&next->returns, true);
			rest_take(next, rest);
		}
	}
	relay_unlock();
	return next;
}

static void relay_settle_one(struct relay *r, struct rest *rest)
{
	while (up_move(r, &r->ways->up))
		;
	if (rest->size && rs_unread(r->rs, rest->bytes, rest->size) < 0)
		log_err("rspreload: %zu bytes of a child are lost: %s", rest->size,
			strerror(errno));
	if (atomic_exchange(&r->returns, false))
		atomic_fetch_sub(&relay_lent, 1);
	free(rest->bytes);
}

void relay_settle(int rs)
{
	int error = errno, number = 0;
	struct relay *r;
	struct rest rest;

	while ((r = relay_next(rs, number, &rest))) {
		number = r->number;
		preload_inside++;
		relay_settle_one(r, &rest);
		preload_exit();
		preload_unlock(&r->lock);
	}
	errno = error;
}

/* Return the RDMA socket of a relay, or -1. With the lock held. */
static int relay_socket(int number)
{
	struct relay *r;

	LIST_FOREACH(r, &relays.connections, of_list)
		if (r->number == number)
			return r->rs;
	return -1;
}

/* ---- a listener ---- */

static void accepted_pass(struct relay *r, int rs)
{
	struct relay_names names = names_of(rs);
	int fd, number;

	relay_lock();
	fd_hold(rs);
	fd = connection_start(rs, true, false, &number);
	if (fd < 0)
		fd_unhold(rs);
	relay_unlock();
	if (fd < 0) {
		rclose(rs);
		return;
	}
	/* If no child takes the connection, its relay sees the end. */
	relay_send(r->end, &names, sizeof(names), fd);
	close(fd);
}

/*
 * Return whether a child may take a connection. A killed child counts until the thread of doors
 * sees its end. A connection passed to it would be lost, although the parent has the listener for
 * itself again.
 */
static bool listener_has_takers(const struct relay *r)
{
	bool takers = true;
	struct child *c;

	relay_lock();
	if (r->other < 0)
		takers = !end_is_gone(r->end);
	else
		LIST_FOREACH(c, &relays.children, of_list) {
			if (!child_takes(c, r->rs, false))
				continue;
			takers = !end_is_gone(c->door);
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
		if (!listener_has_takers(r)) {
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
	ours = fd_is_nobodys(r->rs) && !listener_find(r->rs, true);
	relay_unlock();
	if (ours)
		rclose(r->rs);
	free(r);
	return NULL;
}

/* Start the relay of a listener. Return: the end that all children share, or -1. */
static int listener_start(int rs, int flags)
{
	struct relay *r = listener_find(rs, false);
	int ends[2];

	if (r)
		return r->other;
	r = calloc(1, sizeof(*r));
	if (!r || !pair_open(SOCK_SEQPACKET, ends)) {
		free(r);
		return -1;
	}
	real()->fcntl(ends[1], F_SETFL, (void *)(intptr_t)(flags & O_NONBLOCK));
	*r = (struct relay){ .rs = rs, .end = ends[0], .other = ends[1] };
	LIST_INSERT_HEAD(&relays.listeners, r, of_list);
	if (thread_start(listener_run, r) == 0)
		return ends[1];
	LIST_REMOVE(r, of_list);
	real()->close(ends[0]);
	real()->close(ends[1]);
	free(r);
	return -1;
}

/* ---- doors ---- */

/* Open a door for a child of @parent; NULL: of this process, with the lock held. Return: the
 * child's end, or -1. */
static int door_open(const struct child *parent, const int *held, unsigned int count, int *ret_own)
{
	struct child *c = calloc(1, sizeof(*c));
	int ends[2];

	if (c)
		c->held = malloc((count + 1) * sizeof(*c->held));
	if (!c || !c->held || !pair_open(SOCK_SEQPACKET, ends)) {
		if (c)
			free(c->held);
		free(c);
		return -1;
	}
	memcpy(c->held, held, count * sizeof(*held));
	c->count = count;
	c->door = *ret_own = ends[0];
	c->process = -1;
	for (unsigned int i = 0; i < count; i++)
		fd_hold(held[i]);
	for (unsigned int i = 0; parent && i < parent->relay_count; i++)
		child_gets(c, parent->relays[i]);
	LIST_INSERT_HEAD(&relays.children, c, of_list);
	return ends[1];
}

/*
 * Facts of an RDMA socket that a child claims. Read them before the lock is taken, because calls of
 * the RDMA library take locks.
 */
struct claimed {
	bool listens;
	int flags;
	struct relay_names names;
};

static void claimed_read(int rs, struct claimed *ret)
{
	int listens = 0;
	socklen_t size = sizeof(listens);

	ret->names = names_of(rs);
	ret->flags = RS(rfcntl(rs, F_GETFL));
	RS(rgetsockopt(rs, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size));
	ret->listens = listens;
}

/* Serve a claim. Return: the descriptor to send, or -1. *ret_close: close it after the send. */
static int claim_serve(struct child *c, int rs, const struct claimed *claimed,
		       struct relay_answer *answer, bool *ret_close)
{
	int fd;

	if (!child_takes(c, rs, false))
		return -1;
	answer->names = claimed->names;
	answer->kind = claimed->listens ? FD_RELAYED_LISTENER : FD_RELAYED_QUIET;
	if (claimed->listens)
		return listener_start(rs, claimed->flags);
	if (!claimed->names.peer_size)
		return -1;
	fd = connection_start(rs, false, true, &answer->relay);
	if (fd >= 0)
		child_takes(c, rs, true); /* the relay holds it now */
	if (fd >= 0)
		child_gets(c, answer->relay);
	*ret_close = true;
	return fd;
}

/*
 * Serve a request, with the lock held. *ret_settle: the RDMA socket to settle, or -1. Return: the
 * RDMA socket to close, or -1.
 */
static int door_serve(struct child *c, const struct relay_request *request,
		      const struct claimed *claimed, int *ret_settle)
{
	struct relay_answer answer = { .kind = FD_NONE };
	bool closes = request->op == RELAY_DOOR;
	int fd = -1, own;

	if (request->op == RELAY_CLOSE)
		return child_takes(c, request->rs, true) && socket_unhold(request->rs) ? request->rs
										       : -1;
	if (request->op == RELAY_LEFT) {
		*ret_settle = child_gives(c, request->rs) ? relay_socket(request->rs) : -1;
		return -1;
	}
	if (request->op == RELAY_READ || request->op == RELAY_SHUT) {
		number_serve(request->rs, request->op);
		return -1;
	}
	if (request->op == RELAY_CLAIM)
		fd = claim_serve(c, request->rs, claimed, &answer, &closes);
	else if (request->op == RELAY_DOOR)
		fd = door_open(c, c->held, c->count, &own);
	if (fd < 0)
		answer.kind = FD_NONE;
	relay_send(c->door, &answer, sizeof(answer), fd);
	if (fd >= 0 && closes)
		real()->close(fd);
	return -1;
}

/* Note that a child leaves a relay. Return: the RDMA socket, or -1. */
static int relay_leaves(int number, bool has_ended)
{
	struct relay *r;

	LIST_FOREACH(r, &relays.connections, of_list) {
		if (r->number != number)
			continue;
		r->shared |= !has_ended;
		return r->rs;
	}
	return -1;
}

static void child_free(struct child *c)
{
	LIST_REMOVE(c, of_list);
	if (c->process >= 0)
		real()->close(c->process);
	free(c->relays);
	free(c->held);
	free(c);
}

/*
 * Close a door, with the lock held. The kernel may close the other descriptors of the child later.
 * *ret_last: the sockets of the child without another holder; the caller frees the list. Return:
 * their number.
 */
static unsigned int door_end(struct child *c, int **ret_last)
{
	unsigned int last = 0;

	for (unsigned int i = 0; i < c->count; i++)
		if (socket_unhold(c->held[i]))
			c->held[last++] = c->held[i];
	real()->close(c->door);
	c->door = -1;
	c->ends_at = now_ms() + END_MS;
	*ret_last = c->held;
	c->held = NULL;
	c->count = 0;
	return last;
}

/* Find a child that has ended, or that has started a program, and free it. *ret_relays: its relays.
 * Return: their number, or -1 for no child. */
static int child_ended_find(int **ret_relays)
{
	struct child *c;
	int count = -1;

	relay_lock();
	LIST_FOREACH(c, &relays.children, of_list)
		if (c->door < 0 && (!c->relay_count || c->process < 0 || child_has_ended(c) ||
				    now_ms() >= c->ends_at))
			break;
	if (c) {
		count = (int)c->relay_count;
		*ret_relays = c->relays;
		c->relays = NULL;
		for (int i = 0; i < count; i++)
			(*ret_relays)[i] = relay_leaves((*ret_relays)[i], child_has_ended(c));
		child_free(c);
	}
	relay_unlock();
	return count;
}

static void children_end(void)
{
	int *rs = NULL, count;

	while ((count = child_ended_find(&rs)) >= 0) {
		for (int i = 0; i < count; i++)
			if (rs[i] >= 0)
				relay_settle(rs[i]);
		free(rs);
		rs = NULL;
	}
}

static struct child *child_find(int door)
{
	struct child *c;

	LIST_FOREACH(c, &relays.children, of_list)
		if (c->door == door)
			return c;
	return NULL;
}

/* Serve a door. Only this thread reads from doors and closes them. */
static void door_look(int door)
{
	struct relay_request request = {};
	struct claimed claimed = {};
	const struct relay_answer left = { .kind = FD_NONE };
	unsigned int count = 0;
	int *last = NULL, fd, one = -1, settle = -1;
	ssize_t n = relay_receive(door, &request, sizeof(request), &fd);
	struct child *c;

	if (n == sizeof(request) && request.op == RELAY_CLAIM)
		claimed_read(request.rs, &claimed);
	relay_lock();
	c = child_find(door);
	if (c && fd >= 0 && c->process < 0) {
		c->process = fd;
		fd = -1;
	}
	if (c && n == sizeof(request))
		one = door_serve(c, &request, &claimed, &settle);
	else if (c)
		count = door_end(c, &last);
	relay_unlock();
	if (fd >= 0)
		real()->close(fd);
	if (settle >= 0)
		relay_settle(settle);
	if (n == sizeof(request) && request.op == RELAY_LEFT)
		relay_send(door, &left, sizeof(left), -1);
	if (one >= 0)
		RS(rclose(one));
	sockets_close(last, count);
	free(last);
}

/* List the descriptors to poll, the wake-up first. The caller frees the list. */
static struct pollfd *doors_list(unsigned int *ret_count, int *ret_timeout)
{
	unsigned int count = 1;
	struct pollfd *fds;
	struct child *c;

	relay_lock();
	LIST_FOREACH(c, &relays.children, of_list)
		count++;
	fds = calloc(count, sizeof(*fds));
	*ret_count = 0;
	*ret_timeout = -1;
	if (fds) {
		fds[(*ret_count)++] = (struct pollfd){ .fd = relays.wake, .events = POLLIN };
		LIST_FOREACH(c, &relays.children, of_list) {
			fds[(*ret_count)++] = (struct pollfd){
				.fd = c->door >= 0 ? c->door : c->process,
				.events = POLLIN,
			};
			if (c->door < 0)
				*ret_timeout = END_MS / 10;
		}
	}
	relay_unlock();
	return fds;
}

static void *doors_run(void *arg)
{
	(void)arg;
	for (;;) {
		unsigned int count;
		int timeout;
		struct pollfd *fds = doors_list(&count, &timeout);
		eventfd_t woken;

		if (!fds)
			usleep(10000);
		else if (real()->poll(fds, count, timeout) > 0) {
			if (fds[0].revents)
				eventfd_read(fds[0].fd, &woken);
			for (unsigned int i = 1; i < count; i++)
				if (fds[i].revents)
					door_look(fds[i].fd);
		}
		children_end();
		free(fds);
	}
	return NULL;
}

/* ---- forking ---- */

static void fork_prepare(void)
{
	int *held = NULL, count = 0, rs = -1, door = -1;

	forks = false;
	if (preload_inside)
		return;
	relay_lock();
	forks = true;
	door_pair[0] = door_pair[1] = -1;
	while ((rs = fd_next_socket(rs + 1)) >= 0) {
		int *more = realloc(held, (count + 1) * sizeof(*held));

		if (!more)
			break;
		held = more;
		held[count++] = rs;
	}
	if (count)
		heir_read_all(); /* the child's door leads to this process */
	if (count)
		door = door_open(NULL, held, count, &door_pair[0]);
	else
		door = heir_door_for_child();
	door_pair[1] = door;
	free(held);
}

static void fork_parent(void)
{
	if (preload_inside || !forks)
		return;
	if (door_pair[1] >= 0)
		real()->close(door_pair[1]);
	if (door_pair[0] >= 0 && !relays.runs) {
		relays.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		relays.runs = relays.wake >= 0 && thread_start(doors_run, NULL) == 0;
	}
	if (relays.runs)
		eventfd_write(relays.wake, 1);
	relay_unlock();
}

static void relay_leave(const struct relay *r, bool listens)
{
	real()->close(r->end);
	if (!listens)
		real()->close(r->wake);
	if (r->other >= 0)
		real()->close(r->other);
}

static void child_leave(const struct child *c)
{
	if (c->door >= 0)
		real()->close(c->door);
	if (c->process >= 0)
		real()->close(c->process);
}

/* Drop all relays in the child, because they belong to the parent. */
static void fork_child(void)
{
	struct child *c;
	struct relay *r;

	if (preload_inside || !forks)
		return;
	LIST_FOREACH(c, &relays.children, of_list)
		child_leave(c);
	LIST_FOREACH(r, &relays.connections, of_list)
		relay_leave(r, false);
	LIST_FOREACH(r, &relays.listeners, of_list)
		relay_leave(r, true);
	atomic_store(&relay_lent, 0);
	LIST_INIT(&relays.children);
	LIST_INIT(&relays.connections);
	LIST_INIT(&relays.listeners);
	if (relays.wake >= 0)
		real()->close(relays.wake);
	relays.wake = -1;
	relays.runs = false;
	heir_begin(door_pair[1]);
	if (door_pair[0] >= 0)
		fd_inherit_all();
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

/*
 * Wait for all connections at exit. Sockets of the kernel would deliver their data without the
 * process. A child that was not made by fork() has a copy of the list, but none of the threads.
 * Signal handlers may run meanwhile.
 */
static void __attribute__((destructor)) all_await(void)
{
	pthread_mutex_lock(&relays.lock);
	while (relays.process == getpid() && !LIST_EMPTY(&relays.connections))
		pthread_cond_wait(&relays.ended, &relays.lock);
	pthread_mutex_unlock(&relays.lock);
}
