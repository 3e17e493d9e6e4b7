/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The exchange by UDP. Any host can send such messages. Therefore a message only sets the queue
 * pair of its sender, which is the host and the port that it came from.
 */
#include <stdlib.h>
#include <string.h>

#include "librdmacm/rsocket/datagram.h"

#define READS_MAX  64 /* limit of messages that one call reads */
#define PARTS_MAX  64
#define COPIES_MIN 16
#define REFUSED_NS 1000000000ull

/* The source, and the control messages that most programs add. */
union control {
	struct cmsghdr align;
	uint8_t bytes[256];
};
#define SOURCE_MAX  CMSG_SPACE(sizeof(struct in6_pktinfo))
#define CONTROL_MAX (1 << 20) /* bytes: more than the kernel accepts */

/* ---- sending ---- */

/* Write the control message that names the source. Return: its bytes. */
static size_t source_put(union control *control, const union ds_name *local, int domain)
{
	struct cmsghdr *c = &control->align;
	struct sockaddr_storage addr;
	struct in6_pktinfo v6 = {};
	struct in_pktinfo v4 = {};

	ds_name_give(local, domain, &addr);
	if (domain == AF_INET6) {
		v6.ipi6_addr = ((struct sockaddr_in6 *)&addr)->sin6_addr;
		v6.ipi6_ifindex = ((struct sockaddr_in6 *)&addr)->sin6_scope_id;
		*c = (struct cmsghdr){ .cmsg_level = IPPROTO_IPV6,
				       .cmsg_type = IPV6_PKTINFO,
				       .cmsg_len = CMSG_LEN(sizeof(v6)) };
		memcpy(CMSG_DATA(c), &v6, sizeof(v6));
		return CMSG_SPACE(sizeof(v6));
	}
	v4.ipi_spec_dst = local->v4.sin_addr;
	*c = (struct cmsghdr){ .cmsg_level = IPPROTO_IP,
			       .cmsg_type = IP_PKTINFO,
			       .cmsg_len = CMSG_LEN(sizeof(v4)) };
	memcpy(CMSG_DATA(c), &v4, sizeof(v4));
	return CMSG_SPACE(sizeof(v4));
}

static bool is_source(const struct cmsghdr *c)
{
	return (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) ||
	       (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO);
}

/*
 * Set @local as the source, even if the route or the program would choose another, because the
 * header has the number of its queue pair. Append the other control messages of the program.
 * @control has room for them.
 */
static int control_set(struct msghdr *msg, union control *control, const union ds_name *local,
		       int domain, const struct msghdr *programs)
{
	uint8_t *bytes = (uint8_t *)control;
	struct cmsghdr *c;
	size_t size;

	msg->msg_control = control;
	msg->msg_controllen = source_put(control, local, domain);
	if (!programs || !programs->msg_controllen)
		return 0;
	if (!programs->msg_control)
		return -EFAULT;
	for (c = CMSG_FIRSTHDR(programs); c; c = CMSG_NXTHDR((struct msghdr *)programs, c)) {
		if (c->cmsg_len < CMSG_LEN(0) ||
		    c->cmsg_len > programs->msg_controllen -
					  ((uint8_t *)c - (uint8_t *)programs->msg_control))
			return -EINVAL;
		size = CMSG_SPACE(c->cmsg_len - CMSG_LEN(0));
		if (is_source(c))
			continue;
		memcpy(bytes + msg->msg_controllen, c, c->cmsg_len);
		msg->msg_controllen += size;
	}
	return 0;
}

/* Return @small, or larger memory if the program's control messages need it, or NULL. */
static union control *control_room(union control *small, const struct msghdr *programs)
{
	size_t length = programs ? programs->msg_controllen : 0;

	if (length <= sizeof(*small) - SOURCE_MAX - sizeof(uint64_t))
		return small;
	return length <= CONTROL_MAX ? calloc(1, SOURCE_MAX + length + sizeof(uint64_t)) : NULL;
}

/* @programs: message of the program whose control messages are sent; or NULL */
static ssize_t udp_send(struct rs_socket *s, const struct ds_destination *d, enum ds_op op,
			const struct iovec *iov, int count, const struct msghdr *programs)
{
	const struct ds_udp_header header = { .op = op, .qpn = d->endpoint->id->qp->qp_num };
	uint8_t bytes[DS_UDP_HEADER_MAX];
	size_t size = ds_put_udp_header(bytes, &header, &d->endpoint->local);
	struct iovec parts[1 + PARTS_MAX] = { { bytes, size } };
	struct sockaddr_storage to;
	union control small = {}, *control = control_room(&small, programs);
	struct msghdr msg = {
		.msg_name = &to,
		.msg_namelen = ds_name_give(&d->name, s->domain, &to),
		.msg_iov = parts,
		.msg_iovlen = 1 + count,
	};
	ssize_t n = control ? control_set(&msg, control, &d->endpoint->local, s->domain, programs)
			    : -ENOBUFS;

	if (count)
		memcpy(&parts[1], iov, count * sizeof(*iov));
	if (n == 0) {
		n = sendmsg(s->ds->udp, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
		n = n < 0 ? -errno : max_of(n - (ssize_t)size, (ssize_t)0);
	}
	if (control != &small)
		free(control);
	return n;
}

ssize_t ds_exchange_send(struct rs_socket *s, struct ds_destination *d, const struct msghdr *msg)
{
	const struct iovec *iov = msg->msg_iov;
	int count = msg->msg_iovlen;
	struct iovec one = {};
	ssize_t n;

	d->asked = rs_now_ns();
	if (count <= PARTS_MAX)
		return udp_send(s, d, DS_DATA, iov, count, msg);
	one.iov_base = malloc(DS_UDP_MAX);
	if (!one.iov_base)
		return -ENOMEM;
	for (int i = 0; i < count; i++) {
		if (!iov[i].iov_len)
			continue;
		memcpy((uint8_t *)one.iov_base + one.iov_len, iov[i].iov_base, iov[i].iov_len);
		one.iov_len += iov[i].iov_len;
	}
	n = udp_send(s, d, DS_DATA, &one, 1, msg);
	free(one.iov_base);
	return n;
}

/* ---- receiving ---- */

/*
 * Find the address that the message was sent to, or use the address of the socket. Return: whether
 * the address is usable.
 */
static bool arrival_find(const struct ds_arrival *arrival, const union ds_name *own,
			 union ds_name *ret_local)
{
	const union ds_name *to = &arrival->to;

	if (!to->any.sa_family) {
		*ret_local = *own;
		return !ds_name_is_any(own);
	}
	*ret_local = arrival->local;
	ds_name_set_port(ret_local, ds_name_port(own));
	if (to->any.sa_family != AF_INET6)
		return true;
	if (IN6_IS_ADDR_LINKLOCAL(&to->v6.sin6_addr))
		ret_local->v6.sin6_scope_id = arrival->interface;
	return !IN6_IS_ADDR_MULTICAST(&to->v6.sin6_addr);
}

/* Deliver a copy of a datagram that came by UDP. */
static void copy_deliver(struct rs_socket *s, const union ds_name *from,
			 const struct ds_arrival *arrival, const uint8_t *bytes, size_t length)
{
	unsigned int most = max_of(s->rbuf_size / DS_MESSAGE_MAX, (uint32_t)COPIES_MIN);
	struct ds_message *m;

	/* Take the first copy, of any length. */
	if (s->ds->copies >= most || s->ds->copied >= (size_t)most * DS_MESSAGE_MAX ||
	    !ds_is_welcome(s, from))
		return;
	m = malloc(sizeof(*m) + length);
	if (!m)
		return;
	*m = (struct ds_message){
		.bytes = (uint8_t *)(m + 1), .length = length, .from = *from, .arrival = *arrival
	};
	memcpy(m + 1, bytes, length);
	s->ds->copies++;
	s->ds->copied += length;
	ds_deliver(s, m);
}

/*
 * Return the endpoint of an address that a message came to, or NULL. A failed address is not tried
 * again for REFUSED_NS.
 */
static struct ds_endpoint *endpoint_of(struct rs_socket *s, const union ds_name *local)
{
	struct ds_socket *ds = s->ds;
	uint64_t now = rs_now_ns();
	struct ds_endpoint *e;
	int r;

	if (now < ds->refused_until && ds_name_equal(&ds->refused, local))
		return NULL;
	r = ds_endpoint_find(s, local, &e);
	if (r == 0)
		return e;
	rs_debug(s, "datagrams: no queue pair for the address that one came to: %s", strerror(-r));
	ds->refused = *local;
	ds->refused_until = now + REFUSED_NS;
	return NULL;
}

/* Answer a peer that sent its number and asks for the number of this side. */
static void data_arrived(struct rs_socket *s, const struct ds_arrival *arrival,
			 const union ds_name *from, uint32_t qpn)
{
	struct ds_destination *d = ds_destination_known(s, from);
	struct ds_endpoint *e;
	union ds_name own, local;

	if (!d) {
		if (ds_own_name(s, &own) < 0 || !arrival_find(arrival, &own, &local))
			return;
		e = endpoint_of(s, &local);
		d = e ? ds_destination_met(s, from, e) : NULL;
	}
	if (!d || d->endpoint->dead)
		return;
	ds_destination_set_qpn(d, qpn);
	udp_send(s, d, DS_ANSWER, NULL, 0, NULL);
}

static void message_arrived(struct rs_socket *s, struct msghdr *msg, const uint8_t *bytes,
			    size_t length)
{
	struct ds_udp_header header;
	struct ds_destination *d;
	struct ds_arrival arrival;
	union ds_name from;
	int size;

	if (msg->msg_flags & MSG_TRUNC || ds_name_take(msg->msg_name, msg->msg_namelen, &from) < 0)
		return;
	size = ds_get_udp_header(bytes, length, &from, &header);
	if (size < 0) {
		rs_debug(s, "a message by UDP that is of no socket over RDMA: dropped");
		return;
	}
	if (header.op == DS_DATA) {
		ds_ancillary_read(msg, &arrival);
		data_arrived(s, &arrival, &from, header.qpn);
		copy_deliver(s, &from, &arrival, bytes + size, length - size);
		return;
	}
	/* Ignore an answer to which there was no question. */
	d = ds_destination_known(s, &from);
	if (d && d->asked)
		ds_destination_set_qpn(d, header.qpn);
}

bool ds_exchange_read(struct rs_socket *s)
{
	uint8_t *bytes = s->ds->read;
	bool any = false;

	for (int i = 0; i < READS_MAX; i++) {
		union control control;
		struct sockaddr_storage from;
		struct iovec iov = { bytes, DS_UDP_MAX };
		struct msghdr msg = {
			.msg_name = &from,
			.msg_namelen = sizeof(from),
			.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = &control,
			.msg_controllen = sizeof(control),
		};
		ssize_t n = recvmsg(s->ds->udp, &msg, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		any = true;
		if (n < 0)
			/* error of an earlier datagram, reported by the network */
			s->error = errno;
		else
			message_arrived(s, &msg, bytes, n);
	}
	s->changes += any;
	return any;
}
