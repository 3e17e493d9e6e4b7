/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Creation, end and names of a socket. */
#include <limits.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "libibverbs/provider.h"
#include "librdmacm/rsocket/rs.h"
#include "util/file.h"

/* Limits of the wait for a living peer that takes no data. */
#define DATA_TIMEOUT_MS 30000
#define END_TIMEOUT_MS	500

/* Limits of the wait in rclose(). A thread continues after them. */
#define CLOSE_MS	  500
#define CLOSE_NONBLOCK_MS 20

#define KEEP_SECONDS	  7200 /* between keepalives */

int rs_vector_check(const struct iovec *iov, int count)
{
	size_t total = 0;

	if (count < 0 || count > IOV_MAX)
		return -EINVAL;
	for (int i = 0; i < count; i++) {
		if (iov[i].iov_len > SSIZE_MAX - total)
			return -EINVAL;
		total += iov[i].iov_len;
	}
	return 0;
}

int rs_channel_create(struct rs_socket *s)
{
	struct epoll_event watch = { .events = EPOLLIN };

	s->channel = rdma_create_event_channel();
	if (!s->channel)
		return -errno;
	if (fcntl(s->channel->fd, F_SETFL, fcntl(s->channel->fd, F_GETFL) | O_NONBLOCK) < 0)
		return -errno;
	return epoll_ctl(s->file.fd, EPOLL_CTL_ADD, s->channel->fd, &watch) < 0 ? -errno : 0;
}

static int id_create(struct rs_socket *s, struct rdma_cm_id *id)
{
	if (!id)
		return rdma_create_id(s->channel, &s->id, s, RDMA_PS_TCP) < 0 ? -errno : 0;
	if (rdma_migrate_id(id, s->channel) < 0)
		return -errno;
	id->context = s;
	s->id = id;
	return 0;
}

static struct rs_socket *socket_alloc(int domain, int flags)
{
	const struct rs_defaults *defaults = rs_defaults();
	struct rs_socket *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->file = (struct rs_file){ .fd = -1, .kind = RS_SOCKET };
	atomic_init(&s->file.refs, 1);
	LIST_INIT(&s->watches);
	LIST_INIT(&s->mappings);
	TAILQ_INIT(&s->accepted);
	s->accepted_fd = -1;
	s->domain = domain;
	s->send_timeout_ms = s->recv_timeout_ms = s->linger_seconds = -1;
	atomic_init(&s->flags, flags & O_NONBLOCK);
	rs_turn_init(&s->send_turn);
	rs_turn_init(&s->recv_turn);
	pthread_mutex_init(&s->lock, NULL);
	atomic_init(&s->changed, 0);
	s->sbuf_size = defaults->sbuf_size;
	s->rbuf_size = defaults->rbuf_size;
	s->sq_size = defaults->sq_size;
	s->rq_size = defaults->rq_size;
	s->inline_size = defaults->inline_size;
	s->mappings_max = rs_wire_mappings_fit(defaults->mappings);
	s->keep_seconds = KEEP_SECONDS;
	s->receive_least = 1;
	rs_spin_init(&s->spin);
	return s;
}

static int descriptor_create(struct rs_socket *s, int flags)
{
	s->file.fd = epoll_create1(flags & O_CLOEXEC ? EPOLL_CLOEXEC : 0);
	return s->file.fd < 0 ? -errno : rs_rouse_prepare();
}

int rs_socket_new_datagram(int domain, int flags, struct rs_socket **ret_socket)
{
	struct rs_socket *s = socket_alloc(domain, flags);
	int r;

	if (!s)
		return -ENOMEM;
	r = descriptor_create(s, flags);
	if (r == 0)
		r = ds_create(s);
	if (r == 0)
		r = rs_table_add(&s->file);
	if (r < 0) {
		rs_socket_put(s);
		return r;
	}
	*ret_socket = s;
	return 0;
}

int rs_socket_new(int domain, int flags, struct rdma_cm_id *id, struct rs_socket **ret_socket)
{
	struct rs_socket *s = socket_alloc(domain, flags);
	int r;

	if (!s)
		return -ENOMEM;
	r = descriptor_create(s, flags);
	if (r == 0 && id)
		s->file.fd = file_move_high(s->file.fd);
	if (r == 0)
		r = rs_channel_create(s);
	if (r == 0)
		r = id_create(s, id);
	if (r == 0)
		r = rs_table_add(&s->file);
	if (r < 0) {
		if (s->id == id)
			s->id = NULL; /* the caller keeps it */
		rs_socket_put(s);
		return r;
	}
	*ret_socket = s;
	return 0;
}

static void events_drop(struct rs_socket *s)
{
	struct rdma_cm_event *event;

	while (s->channel && rdma_get_cm_event(s->channel, &event) == 0) {
		struct rdma_cm_id *child =
			event->event == RDMA_CM_EVENT_CONNECT_REQUEST ? event->id : NULL;

		rdma_ack_cm_event(event);
		if (child)
			rdma_destroy_id(child);
	}
}

void rs_socket_put(struct rs_socket *s)
{
	if (atomic_fetch_sub_explicit(&s->file.refs, 1, memory_order_acq_rel) > 1)
		return;
	rs_buffer_destroy(s);
	ds_destroy(s);
	events_drop(s);
	if (s->id)
		rdma_destroy_id(s->id);
	if (s->channel)
		rdma_destroy_event_channel(s->channel);
	if (s->accepted_fd >= 0)
		close(s->accepted_fd);
	if (s->file.fd >= 0 && !s->file.keeps_number)
		close(s->file.fd);
	rs_options_free(s);
	pthread_mutex_destroy(&s->lock);
	rs_turn_destroy(&s->recv_turn);
	rs_turn_destroy(&s->send_turn);
	free(s);
}

void rs_socket_fail(struct rs_socket *s, int error)
{
	if (s->state == RS_FAILED)
		return;
	s->state = RS_FAILED;
	s->error = error;
}

void rs_error_told(struct rs_socket *s, ssize_t r)
{
	if (likely(r >= 0))
		return;
	pthread_mutex_lock(&s->lock);
	if (s->state == RS_FAILED && s->error == -r)
		s->error = 0;
	pthread_mutex_unlock(&s->lock);
}

RS_EXPORT int rsocket(int domain, int type, int protocol)
{
	RS_CALL;
	int flags = (type & SOCK_NONBLOCK ? O_NONBLOCK : 0) | (type & SOCK_CLOEXEC ? O_CLOEXEC : 0);
	struct rs_socket *s;
	int r;

	type &= ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (domain != AF_INET && domain != AF_INET6)
		return rs_ret(-EAFNOSUPPORT);
	if (type == SOCK_STREAM && (!protocol || protocol == IPPROTO_TCP)) {
		r = rs_socket_new(domain, flags, NULL, &s);
	} else if (type == SOCK_DGRAM && (!protocol || protocol == IPPROTO_UDP)) {
		r = rs_socket_new_datagram(domain, flags, &s);
	} else {
		log_err("rsocket: type %d, protocol %d: only streams (SOCK_STREAM, IPPROTO_TCP) "
			"and datagrams (SOCK_DGRAM, IPPROTO_UDP)",
			type, protocol);
		return rs_ret(-EPROTONOSUPPORT);
	}
	if (r < 0)
		log_err("rsocket: %s", strerror(-r));
	return rs_ret(r < 0 ? r : s->file.fd);
}

static bool is_gone(const struct rs_socket *s)
{
	return s->broken || s->state == RS_FAILED;
}

/* Return whether all data is in the peer's memory, or the peer has gone. */
static bool data_is_there(struct rs_socket *s)
{
	return (int32_t)(s->done - s->data_end) >= 0 || is_gone(s);
}

/*
 * Return whether all data and the message of the end have arrived. If a peer takes no messages, its
 * connection manager tells it about the end.
 */
bool rs_all_is_there(struct rs_socket *s)
{
	return s->done == s->posted || is_gone(s);
}

static bool has_queue_pair(struct rs_socket *s)
{
	bool has;

	pthread_mutex_lock(&s->lock);
	has = s->id && s->id->qp;
	pthread_mutex_unlock(&s->lock);
	return has;
}

void rs_socket_deliver(struct rs_socket *s)
{
	if (s->dropped)
		return;
	rs_shutdown(s, SHUT_RDWR);
	if (!has_queue_pair(s))
		return;
	rs_wait(s, rs_is_accepted, RS_WAIT_ALWAYS, DATA_TIMEOUT_MS);
	rs_wait(s, data_is_there, RS_WAIT_ALWAYS, DATA_TIMEOUT_MS);
	rs_wait(s, rs_all_is_there, RS_WAIT_ALWAYS, END_TIMEOUT_MS);
}

void rs_socket_end(struct rs_socket *s)
{
	if (has_queue_pair(s))
		rdma_disconnect(s->id);
	if (s->dropped) /* after the disconnection this sends no message of the end */
		rs_shutdown(s, SHUT_RDWR);
	pthread_mutex_lock(&s->lock);
	if (s->state != RS_FAILED)
		s->state = RS_CLOSED;
	s->no_recv = s->no_send = s->peer_end = true;
	rs_rouse(s); /* threads that woke up earlier saw another state, and sleep again */
	pthread_mutex_unlock(&s->lock);
	rs_listener_close(s);
	rs_socket_put(s);
}

void rs_socket_finish(struct rs_socket *s)
{
	if (has_queue_pair(s) && verbs_qp_end_waits(s->id->qp))
		rs_linger(s);
	else
		rs_socket_end(s);
}

/* Return whether no request is under way, so that the end can be sent at once. */
static bool is_quiet(struct rs_socket *s)
{
	rs_connect_step(s);
	if (s->unsignalled)
		rs_post_mark(s);
	return s->state != RS_ACCEPTING && (s->done == s->posted || is_gone(s));
}

static int close_patience_ms(const struct rs_socket *s)
{
	if (s->linger_seconds >= 0)
		return s->linger_seconds * 1000;
	return rs_patience(s, 0) == RS_WAIT ? CLOSE_MS : CLOSE_NONBLOCK_MS;
}

/* Deliver the data and the end. Return: whether the peer has received all. */
static bool deliver(struct rs_socket *s, uint64_t start, int timeout_ms)
{
	if (rs_wait(s, is_quiet, RS_WAIT_ALWAYS, timeout_ms) < 0)
		return false;
	rs_shutdown(s, SHUT_RDWR);
	return rs_wait(s, rs_all_is_there, RS_WAIT_ALWAYS, rs_timeout_left(timeout_ms, start)) == 0;
}

/* Give up the delivery of the data. The peer notices that the message of the end is missing. */
static void connection_drop(struct rs_socket *s)
{
	pthread_mutex_lock(&s->lock);
	s->broken = s->dropped = true;
	pthread_mutex_unlock(&s->lock);
}

static void socket_close(struct rs_socket *s)
{
	uint64_t start = rs_now_ns();

	rs_watch_end_all(s);
	if (s->ds) {
		ds_shutdown(s, SHUT_RDWR);
		ds_flush(s, END_TIMEOUT_MS);
		rs_socket_put(s);
		return;
	}
	rs_service_forget(s);
	if (s->linger_seconds && deliver(s, start, close_patience_ms(s))) {
		rs_socket_finish(s);
	} else if (s->linger_seconds >= 0) {
		connection_drop(s);
		rs_socket_finish(s);
	} else {
		rs_linger(s);
	}
}

RS_EXPORT int rclose(int fd)
{
	RS_CALL;
	bool is_parents;
	struct rs_file *file = rs_table_remove(fd, &is_parents);

	if (!file)
		return rs_ret(-EBADF);
	/* A forked child has only the descriptor. */
	if (is_parents)
		close(fd);
	else if (file->kind == RS_POLLER)
		rs_poller_close((struct rs_poller *)file, fd);
	else
		socket_close((struct rs_socket *)file);
	return 0;
}

/*
 * Take the socket out of the table when no thread sleeps on its number. The caller gives the number
 * to another file, and a thread that is about to sleep would sleep on that file.
 */
static void table_leave(struct rs_socket *s, int fd)
{
	bool is_parents;

	pthread_mutex_lock(&s->lock);
	rs_sleepers_end(s);
	pthread_mutex_unlock(&s->lock);
	s->file.keeps_number = true;
	rs_table_remove(fd, &is_parents);
	pthread_mutex_lock(&s->lock);
	s->moving = false;
	pthread_mutex_unlock(&s->lock);
}

/* Wait until no thread sleeps on the number. Calls that found the socket before sleep there. */
static void sleeper_await(struct rs_socket *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->sleeper) {
		rs_rouse(s);
		pthread_mutex_unlock(&s->lock);
		sched_yield();
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
}

RS_EXPORT int rdetach(int fd)
{
	RS_CALL;
	struct rs_socket *s = rs_table_find(fd);

	if (!s)
		return rs_ret(-EBADF);
	table_leave(s, fd);
	socket_close(s);
	sleeper_await(s);
	rs_socket_put(s);
	return 0;
}

/* Return the form of an IPv4 address for a socket of IPv6. */
static struct sockaddr_in6 name_map(const struct sockaddr *from)
{
	const struct sockaddr_in *in = (const void *)from;
	struct sockaddr_in6 mapped = {
		.sin6_family = AF_INET6,
		.sin6_port = in->sin_port,
		.sin6_addr = { { { [10] = 0xff, [11] = 0xff } } },
	};

	memcpy(&mapped.sin6_addr.s6_addr[12], &in->sin_addr, sizeof(in->sin_addr));
	return mapped;
}

int rs_name_copy(const struct rs_socket *s, const struct sockaddr *from, struct sockaddr *addr,
		 socklen_t *addrlen)
{
	bool is_mapped = s->domain == AF_INET6 && from->sa_family == AF_INET;
	struct sockaddr_in6 mapped = is_mapped ? name_map(from) : (struct sockaddr_in6){};
	socklen_t size =
		s->domain == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

	if (!addr || !addrlen)
		return -EFAULT;
	if ((int)*addrlen < 0)
		return -EINVAL;
	memcpy(addr, is_mapped ? (void *)&mapped : from, min_of(*addrlen, size));
	*addrlen = size;
	return 0;
}

static bool has_peer(const struct rs_socket *s)
{
	return s->state == RS_ACCEPTING || s->state == RS_CONNECTED ||
	       (s->state == RS_CLOSED && s->accepted_fd < 0);
}

static int name_get(int fd, bool peer, struct sockaddr *addr, socklen_t *addrlen)
{
	struct rs_socket *s = rs_table_find(fd);
	struct sockaddr_storage any = {};
	const struct sockaddr *name;
	int r;

	if (!s)
		return -EBADF;
	if (s->ds) {
		r = ds_name(s, peer, addr, addrlen);
		rs_socket_put(s);
		return r;
	}
	pthread_mutex_lock(&s->lock);
	if (peer && (s->state == RS_CONNECTED || s->state == RS_CLOSED))
		rs_complete(s); /* learn whether the peer has ended */
	name = peer ? rdma_get_peer_addr(s->id) : rdma_get_local_addr(s->id);
	any.ss_family = s->domain;
	if (peer && (!has_peer(s) || rs_is_over(s)))
		r = -ENOTCONN;
	else
		r = rs_name_copy(s, name->sa_family ? name : (struct sockaddr *)&any, addr,
				 addrlen);
	pthread_mutex_unlock(&s->lock);
	rs_socket_put(s);
	return r;
}

RS_EXPORT int rgetpeername(int fd, struct sockaddr *addr, socklen_t *addrlen)
{
	RS_CALL;

	return rs_ret(name_get(fd, true, addr, addrlen));
}

RS_EXPORT int rgetsockname(int fd, struct sockaddr *addr, socklen_t *addrlen)
{
	return rs_ret(name_get(fd, false, addr, addrlen));
}
