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
#include <sys/queue.h>
#include <unistd.h>

#include "librdmacm/preload/preload.h"
#include "util/thread.h"

struct child {
	LIST_ENTRY(child) of_list;
	int door;
	int *held; /* the RDMA sockets that it has not claimed, and all listeners */
	unsigned int count;
};

struct relay {
	LIST_ENTRY(relay) of_list;
	int rs;
	int end;   /* the Unix domain socket of this process */
	int other; /* of a listener: the end that all children share; -1: no child is left */
	/* Of a connection. */
	int number;
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

static void ways_move(struct relay *r, struct ways *ways)
{
	struct way *up = &ways->up, *down = &ways->down;

	if (way_is_empty(up) && !up->ended)
		way_came(up, recv(r->end, up->bytes, PIECE, MSG_DONTWAIT));
	if (way_is_empty(down) && !down->ended && atomic_load(&r->reads))
		way_came(down, rrecv(r->rs, down->bytes, PIECE, MSG_DONTWAIT));
	if (!way_is_empty(up))
		way_went(up, rsend(r->rs, up->bytes + up->start, up->end - up->start,
				   MSG_DONTWAIT | MSG_NOSIGNAL));
	if (!way_is_empty(down))
		way_went(down, send(r->end, down->bytes + down->start, down->end - down->start,
				    MSG_DONTWAIT | MSG_NOSIGNAL));
	/* If the peer has gone, the child's next send fails. */
	if (up->told && way_is_empty(up))
		shutdown(r->end, SHUT_RD);
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

	if (way_is_empty(&ways->up))
		fds[0].events |= ways->up.ended ? 0 : POLLIN;
	else
		fds[1].events |= POLLOUT;
	if (way_is_empty(&ways->down))
		fds[1].events |= ways->down.ended || !atomic_load(&r->reads) ? 0 : POLLIN;
	else
		fds[0].events |= POLLOUT;
	/* For a socket that ended in both directions, rpoll() would return at once each time. */
	if (!fds[1].events)
		fds[1].fd = -1;
	if (rpoll(fds, ARRAY_SIZE(fds), -1) > 0 && fds[2].revents)
		eventfd_read(r->wake, &woken);
	return fds[0].revents & (POLLHUP | POLLERR);
}

static void relay_run(struct relay *r, struct ways *ways)
{
	bool gone = false;

	while (!gone || !way_is_empty(&ways->up) || !ways->up.ended) {
		ways_move(r, ways);
		if (ways->up.ended && way_is_empty(&ways->up) && !ways->up.told) {
			/* Did the child close its end, or shut it down? */
			struct pollfd p = { .fd = r->end };

			gone = gone || (poll(&p, 1, 0) > 0 && p.revents & POLLHUP);
			if (!gone || atomic_load(&r->shut))
				rshutdown(r->rs, SHUT_WR);
			ways->up.told = true;
		}
		if (ways->down.ended && way_is_empty(&ways->down) && !ways->down.told) {
			shutdown(r->end, SHUT_WR);
			ways->down.told = true;
		}
		if (!gone)
			gone = ways_wait(r, ways);
		else if (!way_is_empty(&ways->up))
			rpoll(&(struct pollfd){ .fd = r->rs, .events = POLLOUT }, 1, -1);
	}
}

static void *connection_run(void *arg)
{
	struct relay *r = arg;
	struct ways *ways = calloc(1, sizeof(*ways));
	bool last;

	if (ways)
		relay_run(r, ways);
	free(ways);
	relay_lock();
	relay_remove(r);
	real()->close(r->wake);
	last = socket_unhold(r->rs);
	relay_unlock();
	if (last)
		rclose(r->rs);
	relay_lock();
	pthread_cond_broadcast(&relays.ended);
	relay_unlock();
	free(r);
	return NULL;
}

static struct relay *connection_new(int rs, bool reads, int *ret_other)
{
	static int number;
	struct relay *r = calloc(1, sizeof(*r));
	int ends[2];

	if (!r || !pair_open(SOCK_STREAM, ends)) {
		free(r);
		return NULL;
	}
	*r = (struct relay){ .rs = rs, .end = ends[0], .other = -1, .number = ++number };
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	atomic_init(&r->reads, reads);
	*ret_other = ends[1];
	LIST_INSERT_HEAD(&relays.connections, r, of_list);
	relays.process = getpid();
	return r;
}

/*
 * Start the relay of a connection, with the lock held. The caller holds the RDMA socket. Return:
 * the child's end, or -1.
 */
static int connection_start(int rs, bool reads, int *ret_number)
{
	int other;
	struct relay *r = connection_new(rs, reads, &other);

	if (!r)
		return -1;
	*ret_number = r->number;
	if (r->wake >= 0 && thread_start(connection_run, r) == 0)
		return other;
	LIST_REMOVE(r, of_list);
	if (r->wake >= 0)
		real()->close(r->wake);
	real()->close(r->end);
	real()->close(other);
	free(r);
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

/* ---- a listener ---- */

static void accepted_pass(struct relay *r, int rs)
{
	struct relay_names names = names_of(rs);
	int fd, number;

	relay_lock();
	fd_hold(rs);
	fd = connection_start(rs, true, &number);
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

static bool end_is_gone(int fd)
{
	struct pollfd p = { .fd = fd };

	return real()->poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
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

/* Open a door, with the lock held. Return: the child's end, or -1. */
static int door_open(const int *held, unsigned int count, int *ret_own)
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
	for (unsigned int i = 0; i < count; i++)
		fd_hold(held[i]);
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
	fd = connection_start(rs, false, &answer->relay);
	if (fd >= 0)
		child_takes(c, rs, true); /* the relay holds it now */
	*ret_close = true;
	return fd;
}

/* Serve a request, with the lock held. Return: the RDMA socket to close, or -1. */
static int door_serve(struct child *c, const struct relay_request *request,
		      const struct claimed *claimed)
{
	struct relay_answer answer = { .kind = FD_NONE };
	bool closes = request->op == RELAY_DOOR;
	int fd = -1, own;

	if (request->op == RELAY_CLOSE)
		return child_takes(c, request->rs, true) && socket_unhold(request->rs) ? request->rs
										       : -1;
	if (request->op == RELAY_READ || request->op == RELAY_SHUT) {
		number_serve(request->rs, request->op);
		return -1;
	}
	if (request->op == RELAY_CLAIM)
		fd = claim_serve(c, request->rs, claimed, &answer, &closes);
	else if (request->op == RELAY_DOOR)
		fd = door_open(c->held, c->count, &own);
	if (fd < 0)
		answer.kind = FD_NONE;
	relay_send(c->door, &answer, sizeof(answer), fd);
	if (fd >= 0 && closes)
		real()->close(fd);
	return -1;
}

/*
 * End a child, with the lock held. *ret_last: its sockets without another holder; the caller frees
 * the list. Return: their number.
 */
static unsigned int child_end(struct child *c, int **ret_last)
{
	unsigned int last = 0;

	for (unsigned int i = 0; i < c->count; i++)
		if (socket_unhold(c->held[i]))
			c->held[last++] = c->held[i];
	LIST_REMOVE(c, of_list);
	real()->close(c->door);
	*ret_last = c->held;
	free(c);
	return last;
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
	unsigned int count = 0;
	int *last = NULL, fd, one = -1;
	ssize_t n = relay_receive(door, &request, sizeof(request), &fd);
	struct child *c;

	if (fd >= 0)
		real()->close(fd);
	if (n == sizeof(request) && request.op == RELAY_CLAIM)
		claimed_read(request.rs, &claimed);
	relay_lock();
	c = child_find(door);
	if (c && n == sizeof(request))
		one = door_serve(c, &request, &claimed);
	else if (c)
		count = child_end(c, &last);
	relay_unlock();
	if (one >= 0)
		RS(rclose(one));
	sockets_close(last, count);
	free(last);
}

/* List the descriptors to poll, the wake-up first. The caller frees the list. */
static struct pollfd *doors_list(unsigned int *ret_count)
{
	unsigned int count = 1;
	struct pollfd *fds;
	struct child *c;

	relay_lock();
	LIST_FOREACH(c, &relays.children, of_list)
		count++;
	fds = calloc(count, sizeof(*fds));
	*ret_count = 0;
	if (fds) {
		fds[(*ret_count)++] = (struct pollfd){ .fd = relays.wake, .events = POLLIN };
		LIST_FOREACH(c, &relays.children, of_list)
			fds[(*ret_count)++] = (struct pollfd){ .fd = c->door, .events = POLLIN };
	}
	relay_unlock();
	return fds;
}

static void *doors_run(void *arg)
{
	(void)arg;
	for (;;) {
		unsigned int count;
		struct pollfd *fds = doors_list(&count);
		eventfd_t woken;

		if (!fds)
			usleep(10000);
		else if (real()->poll(fds, count, -1) > 0) {
			if (fds[0].revents)
				eventfd_read(fds[0].fd, &woken);
			for (unsigned int i = 1; i < count; i++)
				if (fds[i].revents)
					door_look(fds[i].fd);
		}
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
		door = door_open(held, count, &door_pair[0]);
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

/* Drop all relays in the child, because they belong to the parent. */
static void fork_child(void)
{
	struct child *c;
	struct relay *r;

	if (preload_inside || !forks)
		return;
	LIST_FOREACH(c, &relays.children, of_list)
		real()->close(c->door);
	LIST_FOREACH(r, &relays.connections, of_list)
		relay_leave(r, false);
	LIST_FOREACH(r, &relays.listeners, of_list)
		relay_leave(r, true);
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
