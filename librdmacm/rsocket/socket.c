/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Creation and destruction of a socket. */
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "librdmacm/rsocket/private.h"
#include "librdmacm/rsocket/rs.h"
#include "util/file.h"

#define KEEP_SECONDS 7200 /* between keepalives */

static int table_enter(struct rs_socket *s)
{
	rs_fork_watch();
	return rs_table_add(&s->file);
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

static void socket_destroy(struct rs_file *file)
{
	struct rs_socket *s = (struct rs_socket *)file;

	rs_buffer_destroy(s);
	ds_destroy(s);
	events_drop(s);
	if (s->id)
		rdma_destroy_id(s->id);
	if (s->channel)
		rdma_destroy_event_channel(s->channel);
	if (s->accepted_fd >= 0)
		close(s->accepted_fd);
	if (s->file.fd >= 0 && !s->file.keeps_number) {
		rs_closing_end(s->file.fd);
		close(s->file.fd);
	}
	rs_options_free(s);
	pthread_mutex_destroy(&s->lock);
	rs_turn_destroy(&s->recv_turn);
	rs_turn_destroy(&s->send_turn);
	free(s);
}

static struct rs_socket *socket_alloc(int domain, int flags)
{
	const struct rs_defaults *defaults = rs_defaults();
	struct rs_socket *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->file = (struct rs_file){ .fd = -1, .kind = RS_SOCKET, .destroy = socket_destroy };
	s->keep = rs_keep;
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
		r = table_enter(s);
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
		r = table_enter(s);
	if (r < 0) {
		if (s->id == id)
			s->id = NULL; /* the caller keeps it */
		rs_socket_put(s);
		return r;
	}
	*ret_socket = s;
	return 0;
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
