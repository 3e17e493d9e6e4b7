/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The children of this process, their doors, and fork(): see relay.h. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "librdmacm/preload/relay.h"
#include "util/thread.h"

struct relays relays = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.ended = PTHREAD_COND_INITIALIZER,
};

static struct {
	int wake; /* an eventfd: the doors changed */
	bool runs;
	struct pollfd *list; /* polled by the thread; changes under relays.lock */
} doors = { .wake = -1 };

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

/* ---- what children hold; with the lock held ---- */

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

static struct held *held_find(const struct child *c, int name)
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

/* Return: the RDMA socket to close, or -1. */
static int held_drop(struct child *c, struct held *h)
{
	int rs = h->rs;

	*h = c->held[--c->count];
	return socket_unhold(rs) ? rs : -1;
}

/* ---- doors ---- */

/* Add a child with copies of @held, with the lock held. Return: false: there is no memory. */
static bool child_add(int door, const struct held *held, unsigned int count)
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
	c->door = door;
	for (unsigned int i = 0; i < count; i++)
		if (held[i].rs >= 0)
			fd_hold(held[i].rs);
	LIST_INSERT_HEAD(&relays.children, c, of_list);
	return true;
}

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
	struct door_answer answer = { .kind = claimed_kind(claimed), .names = claimed->names };
	int fd = -1, ended = -1;

	if (h && (h->rs < 0 || claimed->ended & RS_ENDED_BOTH))
		fd = ended = connection_ended();
	else if (h && claimed->listens)
		fd = listener_share(h->rs, claimed);
	else if (h && (claimed->names.peer_size || claimed->is_datagram))
		fd = socket_share(h->rs, claimed);
	else if (h && claimed->ended & RS_ENDED_NONE)
		fd = ended = connection_none(h->rs, claimed);
	pass_send(c->door, &answer, sizeof(answer), fd);
	if (ended >= 0)
		real()->close(ended);
	/* From now on the child has the other end, and the kernel knows that. */
	return fd >= 0 && !claimed->listens ? held_drop(c, h) : -1;
}

/*
 * Close a door, with the lock held. *ret_last: the sockets of the child without another holder; the
 * caller frees the list. Return: their number.
 */
static unsigned int door_end(struct child *c, struct held **ret_last)
{
	unsigned int last = 0;

	for (unsigned int i = 0; i < c->count; i++)
		if (socket_unhold(c->held[i].rs))
			c->held[last++] = c->held[i];
	real()->close(c->door);
	LIST_REMOVE(c, of_list);
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

/* Return the RDMA socket that a child names, or -1. */
static int socket_of_name(int door, int name)
{
	struct child *c;
	struct held *h;
	int rs;

	relay_lock();
	c = child_find(door);
	h = c ? held_find(c, name) : NULL;
	rs = h ? h->rs : -1;
	relay_unlock();
	return rs;
}

/* Serve a request, with the lock held. @fd: came with it. Return: the RDMA socket to close, or -1.
 */
static int door_serve(struct child *c, const struct door_request *request,
		      const struct claimed *claimed, int *fd)
{
	struct held *h = held_find(c, request->name);

	if (request->op == DOOR_CLAIM)
		return claim_serve(c, h, claimed);
	if (request->op == DOOR_CLOSE)
		return h ? held_drop(c, h) : -1;
	if (request->op == DOOR_CHILD && *fd >= 0 && child_add(*fd, c->held, c->count))
		*fd = -1;
	return -1;
}

/* Look at a door. Only this thread reads from doors and closes them. */
static void door_look(int door)
{
	struct door_request request = {};
	struct claimed claimed = {};
	struct held *last = NULL;
	unsigned int count = 0;
	int fd, one = -1;
	ssize_t n = pass_receive(door, &request, sizeof(request), &fd);
	struct child *c;

	if (n == sizeof(request) && request.op == DOOR_CLAIM)
		claimed_read(socket_of_name(door, request.name), &claimed);
	relay_lock();
	c = child_find(door);
	if (c && n == sizeof(request))
		one = door_serve(c, &request, &claimed, &fd);
	else if (c)
		count = door_end(c, &last);
	relay_unlock();
	if (fd >= 0)
		real()->close(fd);
	if (one >= 0)
		RS(rclose(one));
	for (unsigned int i = 0; i < count; i++)
		RS(rclose(last[i].rs));
	free(last);
}

/* Return the list of descriptors to poll. The first one wakes the thread. NULL: there is no memory.
 */
static struct pollfd *doors_list(unsigned int *ret_count)
{
	unsigned int count = 1;
	struct pollfd *fds;
	struct child *c;

	relay_lock();
	free(doors.list);
	LIST_FOREACH(c, &relays.children, of_list)
		count++;
	doors.list = fds = calloc(count, sizeof(*fds));
	*ret_count = 0;
	if (fds) {
		fds[(*ret_count)++] = (struct pollfd){ .fd = doors.wake, .events = POLLIN };
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
	}
	return NULL;
}

/* ---- forking ---- */

/* During a fork, in the thread that forks: the parent's end of the door, and the child's. */
static __thread bool forks;
static __thread int door_pair[2];

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
	door_pair[0] = door_pair[1] = -1;
	held = sockets_list(&count);
	if (!count) {
		door_pair[1] = heir_door_for_child();
	} else if (relay_pair(SOCK_SEQPACKET, door_pair) && !child_add(door_pair[0], held, count)) {
		real()->close(door_pair[0]);
		real()->close(door_pair[1]);
		door_pair[0] = door_pair[1] = -1;
	}
	free(held);
}

static void fork_parent(void)
{
	if (preload_inside || !forks)
		return;
	if (door_pair[1] >= 0)
		real()->close(door_pair[1]);
	if (door_pair[0] >= 0 && !doors.runs) {
		doors.wake = number_raise(real()->eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
		doors.runs = doors.wake >= 0 && relay_thread(doors_run, NULL) == 0;
	}
	if (doors.runs)
		eventfd_write(doors.wake, 1);
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
		real()->close(c->door);
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
	if (doors.wake >= 0)
		real()->close(doors.wake);
	doors.wake = -1;
	doors.runs = false;
	free(doors.list);
	doors.list = NULL;
	heir_begin(door_pair[1]);
	if (door_pair[0] >= 0)
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

/* ---- exit ---- */

static void descriptors_close(int kind)
{
	for (int fd = -1; (fd = fd_next(fd + 1, kind)) >= 0;) {
		fd_set_kind(fd, FD_NONE);
		real()->close(fd);
	}
}

/* Let go of the shared ends, as the end of the process would. With the lock held. */
static void ends_close(void)
{
	struct relay *r;

	LIST_FOREACH(r, &relays.connections, of_list) {
		if (r->other >= 0)
			real()->close(r->other);
		r->other = -1;
	}
	descriptors_close(FD_RELAYED);
	descriptors_close(FD_RELAYED_DATAGRAM);
}

/*
 * Wait for all connections at exit. Sockets of the kernel would deliver their data without the
 * process. A child that was not made by fork() has a copy of the list, but none of the threads.
 * Signal handlers may run meanwhile.
 */
static void __attribute__((destructor)) all_await(void)
{
	bool waits;

	pthread_mutex_lock(&relays.lock);
	waits = relays.process == getpid() && !LIST_EMPTY(&relays.connections);
	pthread_mutex_unlock(&relays.lock);
	if (!waits)
		return;
	fflush(NULL); /* the C library does that after this function */
	pthread_mutex_lock(&relays.lock);
	ends_close();
	while (!LIST_EMPTY(&relays.connections))
		pthread_cond_wait(&relays.ended, &relays.lock);
	pthread_mutex_unlock(&relays.lock);
}
