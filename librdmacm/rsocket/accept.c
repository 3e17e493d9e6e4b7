/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Listening. The service thread accepts a request as soon as it arrives and queues the new socket
 * at its listener. Therefore a peer's connect does not wait for raccept(), and a silent peer does
 * not delay others. When the queue is full, or the process has no descriptors left, requests stay
 * with the connection manager.
 */
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "librdmacm/rsocket/rs.h"

#define BACKLOG_MIN	  1
#define BACKLOG_MAX	  4096

#define CHILD_DESCRIPTORS 4  /* descriptors of a socket and its channels */
#define LOW_END		  64 /* descriptors below this number are left to the program */

static int queue_create(struct rs_socket *s)
{
	struct epoll_event watch = { .events = EPOLLIN };

	s->accepted_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->accepted_fd < 0 || epoll_ctl(s->file.fd, EPOLL_CTL_ADD, s->accepted_fd, &watch) < 0)
		return -errno;
	return 0;
}

static void queue_destroy(struct rs_socket *s)
{
	if (s->accepted_fd < 0)
		return;
	epoll_ctl(s->file.fd, EPOLL_CTL_DEL, s->accepted_fd, NULL);
	close(s->accepted_fd);
	s->accepted_fd = -1;
}

/*
 * Start to listen. Call rdma_listen() last, because it cannot be undone. A socket that was refused
 * may try again.
 */
static int listen_start(struct rs_socket *s, int backlog)
{
	int r = queue_create(s);

	if (r == 0)
		r = rs_service_listen(s, rs_listener_step);
	if (r == 0 && rdma_listen(s->id, backlog) < 0) {
		/*
		 * The any-address conflicts with a bound address only if the same address was bound
		 * before.
		 */
		r = errno == EADDRNOTAVAIL ? -EADDRINUSE : -errno;
		rs_service_unlisten(s);
	}
	if (r < 0) {
		queue_destroy(s);
		return r;
	}
	/* From now on the public descriptor shows the queue instead of the connection manager. */
	epoll_ctl(s->file.fd, EPOLL_CTL_DEL, s->channel->fd, NULL);
	s->state = RS_LISTENING;
	return 0;
}

/* Take requests again. */
static void queue_resume(struct rs_socket *s)
{
	if (s->paused)
		rs_service_pause(s, false);
	s->paused = false;
}

RS_EXPORT int rlisten(int fd, int backlog)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);
	int r = 0;

	if (!s)
		return rs_ret(-EBADF);
	backlog = max_of(min_of(backlog, BACKLOG_MAX), BACKLOG_MIN);
	pthread_mutex_lock(&s->lock);
	if (s->ds)
		r = -EOPNOTSUPP;
	else if (s->state == RS_NEW || s->state == RS_BOUND)
		r = listen_start(s, backlog);
	else if (s->state != RS_LISTENING)
		r = -EINVAL;
	if (r == 0) {
		s->backlog = backlog;
		queue_resume(s);
	}
	pthread_mutex_unlock(&s->lock);
	rs_socket_put(s);
	return rs_ret(r);
}

/* ---- the service's part ---- */

static int child_accept(struct rs_socket *child, const struct rs_wire_data *peer,
			const struct rdma_conn_param *request)
{
	uint8_t bytes[RS_WIRE_DATA_SIZE];
	struct rdma_conn_param param = {
		.private_data = bytes,
		.private_data_len = sizeof(bytes),
		.responder_resources = request->responder_resources,
		.initiator_depth = request->initiator_depth,
		.flow_control = request->flow_control,
		.rnr_retry_count = 7,
	};
	struct rs_wire_data data;
	int r = rs_buffer_create(child);

	if (r < 0)
		return r;
	data = rs_buffer_describe(child);
	rs_wire_put_data(bytes, &data);
	rs_buffer_start(child, peer);
	child->state = RS_ACCEPTING;
	return rdma_accept(child->id, &param) < 0 ? -errno : 0;
}

static int options_inherit(struct rs_socket *child, const struct rs_socket *listener)
{
	child->sbuf_size = listener->sbuf_size;
	child->rbuf_size = listener->rbuf_size;
	child->sq_size = listener->sq_size;
	child->rq_size = listener->rq_size;
	child->inline_size = listener->inline_size;
	child->mappings_max = listener->mappings_max;
	child->no_delay = listener->no_delay;
	child->keep_alive = listener->keep_alive;
	child->keep_seconds = listener->keep_seconds;
	child->recv_timeout_ms = listener->recv_timeout_ms;
	child->send_timeout_ms = listener->send_timeout_ms;
	child->linger_seconds = listener->linger_seconds;
	child->receive_least = listener->receive_least;
	child->reuse_address = listener->reuse_address;
	return rs_options_inherit(child, listener);
}

/* Destroy a socket that the program has never received. */
static void child_drop(struct rs_socket *child)
{
	bool is_parents;

	rs_table_remove(child->file.fd, &is_parents);
	rs_service_forget(child);
	pthread_mutex_lock(&child->lock);
	child->dropped = true;
	rs_socket_fail(child, ECONNABORTED); /* its end does not wait for a handshake */
	pthread_mutex_unlock(&child->lock);
	rs_socket_finish(child);
}

static void request_refuse(struct rdma_cm_event *event)
{
	struct rdma_cm_id *id = event->id;

	rdma_reject(id, NULL, 0);
	rdma_ack_cm_event(event);
	rdma_destroy_id(id);
}

/* Make a socket of the request. On failure reject the request and destroy its id. */
static struct rs_socket *request_accept(struct rs_socket *s, struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;
	struct rdma_cm_id *id = event->id;
	struct rs_socket *child = NULL;
	struct rs_wire_data peer;
	int r = rs_wire_get_data(conn->private_data, conn->private_data_len, &peer);
	bool is_parents;

	if (r < 0)
		rs_err(s, "a request from a peer that is no socket over RDMA: rejected");
	else
		r = rs_socket_new(s->domain, O_CLOEXEC, id, &child);
	if (r == 0) {
		pthread_mutex_lock(&s->lock);
		r = options_inherit(child, s);
		pthread_mutex_unlock(&s->lock);
	}
	if (r == 0)
		r = child_accept(child, &peer, conn);
	if (r == 0 && child->keep_alive)
		rs_service_keep(child);
	if (r < 0)
		rdma_reject(id, NULL, 0);
	rdma_ack_cm_event(event);
	if (r == 0)
		return child;
	if (child) {
		rs_table_remove(child->file.fd, &is_parents);
		rs_socket_put(child);
	} else {
		rdma_destroy_id(id);
	}
	return NULL;
}

static void child_queue(struct rs_socket *s, struct rs_socket *child)
{
	pthread_mutex_lock(&s->lock);
	if (s->state != RS_LISTENING) {
		pthread_mutex_unlock(&s->lock);
		child_drop(child);
		return;
	}
	TAILQ_INSERT_TAIL(&s->accepted, child, of_listener);
	s->accepted_count++;
	s->changes++;
	eventfd_write(s->accepted_fd, 1);
	rs_watch_notify(s);
	rs_waiters_wake(s);
	pthread_mutex_unlock(&s->lock);
}

static void queue_pause(struct rs_socket *s)
{
	if (!s->paused)
		rs_service_pause(s, true);
	s->paused = true;
}

static bool queue_is_full(struct rs_socket *s)
{
	bool full;

	pthread_mutex_lock(&s->lock);
	full = s->accepted_count >= s->backlog;
	if (full)
		queue_pause(s);
	pthread_mutex_unlock(&s->lock);
	return full;
}

/* Make the descriptor unreadable if raccept() has no result. */
static void queue_drain(struct rs_socket *s)
{
	eventfd_t count;

	if (!s->accepted_count && !s->spent)
		eventfd_read(s->accepted_fd, &count);
}

/* Check that there are enough descriptors for an accepted socket. Return: 0 or -errno. */
static int descriptors_look(struct rs_socket *s)
{
	int fds[CHILD_DESCRIPTORS], count, r = 0;

	for (count = 0; count < CHILD_DESCRIPTORS; count++) {
		fds[count] = fcntl(s->accepted_fd, F_DUPFD_CLOEXEC, LOW_END);
		if (fds[count] < 0)
			fds[count] = fcntl(s->accepted_fd, F_DUPFD_CLOEXEC, 0);
		if (fds[count] < 0) {
			r = -errno;
			break;
		}
	}
	while (count)
		close(fds[--count]);
	return r;
}

/* Let raccept() report that descriptors are missing. The peer waits meanwhile. Under s->lock. */
static void spent_begin(struct rs_socket *s, int error)
{
	rs_err(s, "a connection waits, which takes %d descriptors: %s", CHILD_DESCRIPTORS,
	       strerror(error));
	queue_pause(s);
	s->spent = true;
	s->changes++;
	eventfd_write(s->accepted_fd, 1);
	rs_watch_notify(s);
	rs_waiters_wake(s);
}

/* Return whether a request has arrived and no descriptors are left for it. */
static bool descriptors_are_spent(struct rs_socket *s)
{
	struct pollfd p = { .fd = s->channel->fd, .events = POLLIN };
	int r = poll(&p, 1, 0) == 1 ? descriptors_look(s) : 0;
	bool spent;

	pthread_mutex_lock(&s->lock);
	spent = r < 0 && s->state == RS_LISTENING;
	if (spent) {
		spent_begin(s, -r);
	} else if (s->spent) {
		s->spent = false;
		queue_drain(s);
	}
	pthread_mutex_unlock(&s->lock);
	return spent;
}

static bool is_listening(struct rs_socket *s)
{
	bool listening;

	pthread_mutex_lock(&s->lock);
	listening = s->state == RS_LISTENING;
	pthread_mutex_unlock(&s->lock);
	return listening;
}

void rs_listener_step(struct rs_socket *s)
{
	struct rdma_cm_event *event;
	struct rs_socket *child;

	while (!queue_is_full(s) && !descriptors_are_spent(s) &&
	       rdma_get_cm_event(s->channel, &event) == 0) {
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			if (!is_listening(s)) {
				request_refuse(event);
				continue;
			}
			child = request_accept(s, event);
			if (child)
				child_queue(s, child);
			continue;
		}
		if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
			pthread_mutex_lock(&s->lock);
			rs_socket_fail(s, ENODEV);
			pthread_mutex_unlock(&s->lock);
		}
		rdma_ack_cm_event(event);
	}
}

void rs_listener_close(struct rs_socket *s)
{
	TAILQ_HEAD(, rs_socket) left = TAILQ_HEAD_INITIALIZER(left);
	struct rs_socket *child;

	pthread_mutex_lock(&s->lock);
	TAILQ_CONCAT(&left, &s->accepted, of_listener);
	s->accepted_count = 0;
	pthread_mutex_unlock(&s->lock);
	while ((child = TAILQ_FIRST(&left))) {
		TAILQ_REMOVE(&left, child, of_listener);
		child_drop(child);
	}
}

/*
 * Free the port of a listener that was shut down, unless the program chose the number. As with TCP,
 * the socket keeps its name. The connection manager frees a port only with its id.
 */
static void port_free(struct rs_socket *s)
{
	struct rdma_cm_id *fresh, *listener = s->id;

	if (s->chose_port || rdma_create_id(s->channel, &fresh, s, RDMA_PS_TCP) < 0)
		return;
	fresh->route.addr.src_storage = listener->route.addr.src_storage;
	pthread_mutex_lock(&s->lock);
	s->id = fresh;
	pthread_mutex_unlock(&s->lock);
	rdma_destroy_id(listener);
}

int rs_listener_shutdown(struct rs_socket *s, int how)
{
	pthread_mutex_lock(&s->lock);
	if (s->state != RS_LISTENING || how == SHUT_WR) {
		int r = s->state == RS_LISTENING ? 0 : -ENOTCONN;

		/* The first shutdown leaves a fresh socket, as with TCP. Another one ends it. */
		if (r < 0) {
			s->no_send |= how != SHUT_RD;
			s->no_recv |= how != SHUT_WR;
			rs_watch_notify(s);
			rs_rouse(s);
		}
		pthread_mutex_unlock(&s->lock);
		return r;
	}
	s->state = RS_CLOSED;
	s->backlog = UINT_MAX; /* new requests are refused at once */
	queue_resume(s);
	rs_watch_notify(s);
	rs_rouse(s);
	pthread_mutex_unlock(&s->lock);
	rs_listener_close(s);
	port_free(s);
	return 0;
}

/* ---- the program's part ---- */

static bool has_accepted(struct rs_socket *s)
{
	return s->accepted_count || s->spent || s->state != RS_LISTENING;
}

/* Take the first socket of the queue, or NULL. Return: 0, or -errno if there are no descriptors. */
static int child_take(struct rs_socket *s, struct rs_socket **ret_child)
{
	struct rs_socket *child = TAILQ_FIRST(&s->accepted);
	int r = 0;

	*ret_child = child;
	if (child) {
		TAILQ_REMOVE(&s->accepted, child, of_listener);
		s->accepted_count--;
	} else if (s->spent) {
		s->spent = false; /* until the service again finds no descriptors */
		r = descriptors_look(s);
	} else {
		return 0;
	}
	queue_drain(s);
	queue_resume(s);
	return r;
}

static int child_wait(struct rs_socket *s, struct rs_socket **ret_child)
{
	struct rs_socket *child = NULL;
	int r = 0;

	while (r == 0 && !child) {
		int taken = -EINVAL;

		r = rs_wait(s, has_accepted, rs_patience(s, 0), s->recv_timeout_ms);
		pthread_mutex_lock(&s->lock);
		if (s->state == RS_LISTENING)
			taken = child_take(s, &child);
		pthread_mutex_unlock(&s->lock);
		if (taken < 0)
			r = taken;
	}
	if (!child)
		return r;
	*ret_child = child;
	return 0;
}

RS_EXPORT int raccept4(int fd, struct sockaddr *addr, socklen_t *addrlen, int flags)
{
	RS_CALL_SLEEPY;
	struct rs_socket *s, *child;
	int r;

	if (flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC))
		return rs_ret(-EINVAL);
	if (addr && !addrlen)
		return rs_ret(-EFAULT);
	if (addr && (int)*addrlen < 0)
		return rs_ret(-EINVAL);
	s = rs_table_find(fd);
	if (!s)
		return rs_ret(-EBADF);
	rs_call_hold(s, NULL);
	r = s->ds ? -EOPNOTSUPP : child_wait(s, &child);
	if (r == 0) {
		child->is_programs = true;
		r = rs_number_lowest(child);
		if (flags & SOCK_NONBLOCK)
			atomic_store(&child->flags, O_NONBLOCK);
		if (!(flags & SOCK_CLOEXEC))
			fcntl(r, F_SETFD, 0);
		rs_name_copy(child, rdma_get_peer_addr(child->id), addr, addrlen);
	}
	rs_socket_put(s);
	return rs_ret(r);
}

RS_EXPORT int raccept(int fd, struct sockaddr *addr, socklen_t *addrlen)
{
	return raccept4(fd, addr, addrlen, 0);
}
