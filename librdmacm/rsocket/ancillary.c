/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ancillary data of received datagrams: the address and the interface that a datagram came to, its
 * hop limit and its traffic class. For a datagram by UDP they are in control messages of the
 * kernel. For a datagram by RDMA they are in the network header that the device stores.
 */
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>

#include "librdmacm/rsocket/datagram.h"

enum kind {
	HOPS,
	CLASS,
	INFO_V4,
	INFO_V6,
};

/*
 * Options that ask for ancillary data. @type: type of the control message. As in the kernel, IPv6
 * sockets get only IPV6_PKTINFO with IPv4 datagrams.
 */
static const struct {
	int level, name, type;
	enum kind kind;
} options[] = {
	{ IPPROTO_IP, IP_PKTINFO, IP_PKTINFO, INFO_V4 },
	{ IPPROTO_IP, IP_RECVTTL, IP_TTL, HOPS },
	{ IPPROTO_IP, IP_RECVTOS, IP_TOS, CLASS },
	{ IPPROTO_IPV6, IPV6_RECVPKTINFO, IPV6_PKTINFO, INFO_V6 },
	{ IPPROTO_IPV6, IPV6_RECVHOPLIMIT, IPV6_HOPLIMIT, HOPS },
	{ IPPROTO_IPV6, IPV6_RECVTCLASS, IPV6_TCLASS, CLASS },
};

int ds_ancillary_find(int level, int name)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].level == level && options[i].name == name)
			return i;
	return -1;
}

/* The UDP socket always reports addresses, because the exchange needs them. */
static bool is_always_on(const struct rs_socket *s, int i)
{
	return options[i].kind == (s->domain == AF_INET6 ? INFO_V6 : INFO_V4);
}

int ds_ancillary_set(struct rs_socket *s, int i, const void *value, socklen_t size)
{
	int on = 0;
	socklen_t length = sizeof(on);

	if (!value || (size < sizeof(on) && options[i].level != IPPROTO_IP))
		return -EINVAL;
	if (is_always_on(s, i)) {
		memcpy(&on, value, min_of(size, length));
	} else {
		if (setsockopt(s->ds->udp, options[i].level, options[i].name, value, size) < 0 ||
		    getsockopt(s->ds->udp, options[i].level, options[i].name, &on, &length) < 0)
			return -errno;
	}
	pthread_mutex_lock(&s->lock);
	s->ds->ancillary = (s->ds->ancillary & ~(1u << i)) | (on ? 1u << i : 0);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

int ds_ancillary_get(struct rs_socket *s, int i, void *value, socklen_t *size)
{
	int on = s->ds->ancillary >> i & 1;

	if (options[i].level == IPPROTO_IPV6 && s->domain != AF_INET6)
		return -EOPNOTSUPP;
	if (!value || !size || (int)*size < 0)
		return -EINVAL;
	if (options[i].level == IPPROTO_IP && *size && *size < sizeof(on)) {
		/* As with the kernel, the value of an IP option may have one byte. */
		*(uint8_t *)value = on;
		*size = 1;
		return 0;
	}
	*size = min_of(*size, (socklen_t)sizeof(on));
	memcpy(value, &on, *size);
	return 0;
}

/* ---- from the kernel ---- */

static void number_read(const struct cmsghdr *c, int *ret)
{
	/* IP_TOS has one byte, so clear the others. */
	*ret = 0;
	if (c->cmsg_len >= CMSG_LEN(sizeof(*ret)))
		memcpy(ret, CMSG_DATA(c), sizeof(*ret));
	else if (c->cmsg_len > CMSG_LEN(0))
		*ret = *CMSG_DATA(c);
}

static void info_read(const struct cmsghdr *c, struct ds_arrival *a)
{
	struct in6_pktinfo v6;
	struct in_pktinfo v4;

	if (c->cmsg_type == IP_PKTINFO && c->cmsg_level == IPPROTO_IP) {
		memcpy(&v4, CMSG_DATA(c), sizeof(v4));
		a->interface = v4.ipi_ifindex;
		a->to = (union ds_name){ .v4 = { .sin_family = AF_INET, .sin_addr = v4.ipi_addr } };
		a->local = a->to;
		a->local.v4.sin_addr = v4.ipi_spec_dst;
	} else {
		struct sockaddr_in6 to = { .sin6_family = AF_INET6 };

		memcpy(&v6, CMSG_DATA(c), sizeof(v6));
		to.sin6_addr = v6.ipi6_addr;
		a->interface = v6.ipi6_ifindex;
		ds_name_take(&to, sizeof(to), &a->to);
		a->local = a->to;
	}
}

void ds_ancillary_read(struct msghdr *msg, struct ds_arrival *ret)
{
	*ret = (struct ds_arrival){};
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		bool v6 = c->cmsg_level == IPPROTO_IPV6;

		if (c->cmsg_type == (v6 ? IPV6_PKTINFO : IP_PKTINFO))
			info_read(c, ret);
		else if (c->cmsg_type == (v6 ? IPV6_HOPLIMIT : IP_TTL))
			number_read(c, &ret->hops);
		else if (c->cmsg_type == (v6 ? IPV6_TCLASS : IP_TOS))
			number_read(c, &ret->class);
	}
}

/* ---- from a device ---- */

/* Return the index of the interface that has the address, or 0. */
static unsigned int interface_of(const union ds_name *local)
{
	unsigned int index = 0;
	struct ifaddrs *list;

	if (getifaddrs(&list) < 0)
		return 0;
	for (const struct ifaddrs *i = list; i && !index; i = i->ifa_next) {
		union ds_name name;
		size_t size = i->ifa_addr && i->ifa_addr->sa_family == AF_INET6
				      ? sizeof(struct sockaddr_in6)
				      : sizeof(struct sockaddr_in);

		if (ds_name_take(i->ifa_addr, size, &name) == 0 && ds_name_same_host(&name, local))
			index = if_nametoindex(i->ifa_name);
	}
	freeifaddrs(list);
	return index;
}

static void packet_read(struct ds_message *m, struct ds_arrival *ret)
{
	struct ds_endpoint *e = m->endpoint;

	if (!e->interface)
		e->interface = interface_of(&e->local);
	*ret = (struct ds_arrival){ .to = e->local, .local = e->local, .interface = e->interface };
	if (m->has_grh)
		ds_get_network(e->memory + (size_t)(m - e->messages) * DS_RECEIVE_SIZE, &m->from,
			       &ret->hops, &ret->class);
}

/* ---- to the program ---- */

static void message_put(struct ds_received *r, int i, const void *bytes, size_t size)
{
	struct cmsghdr *c = (struct cmsghdr *)&r->control.bytes[r->control_size];

	c->cmsg_level = options[i].level;
	c->cmsg_type = options[i].type;
	c->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(c), bytes, size);
	r->control_size += CMSG_SPACE(size);
}

static void info_put(struct ds_received *r, int i, const struct ds_arrival *a)
{
	struct in6_pktinfo v6 = { .ipi6_ifindex = a->interface };
	struct in_pktinfo v4 = { .ipi_ifindex = a->interface };
	struct sockaddr_storage addr;

	if (options[i].kind == INFO_V6) {
		ds_name_give(&a->to, AF_INET6, &addr);
		v6.ipi6_addr = ((struct sockaddr_in6 *)&addr)->sin6_addr;
		message_put(r, i, &v6, sizeof(v6));
	} else {
		v4.ipi_addr = a->to.v4.sin_addr;
		v4.ipi_spec_dst = a->local.v4.sin_addr;
		message_put(r, i, &v4, sizeof(v4));
	}
}

/* Return whether datagrams of that sender have the ancillary data. */
static bool is_of_family(int i, const union ds_name *from)
{
	bool v6 = from->any.sa_family == AF_INET6;

	return options[i].kind == INFO_V6 || v6 == (options[i].level == IPPROTO_IPV6);
}

void ds_ancillary_put(struct rs_socket *s, struct ds_message *m, struct ds_received *ret)
{
	struct ds_arrival own, *a = &m->arrival;

	if (!s->ds->ancillary)
		return;
	if (m->endpoint) {
		packet_read(m, &own);
		a = &own;
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(options); i++) {
		uint8_t class = a->class;

		if (!(s->ds->ancillary & 1u << i) || !is_of_family(i, &m->from))
			continue;
		if (options[i].kind == HOPS)
			message_put(ret, i, &a->hops, sizeof(a->hops));
		else if (options[i].kind != CLASS)
			info_put(ret, i, a);
		else if (options[i].level == IPPROTO_IP)
			message_put(ret, i, &class, sizeof(class));
		else
			message_put(ret, i, &a->class, sizeof(a->class));
	}
}

/*
 * Copy the control messages. As in the kernel, cut a message that does not fit, and leave it out if
 * not even its header fits.
 */
void ds_ancillary_give(const struct ds_received *from, struct msghdr *msg)
{
	size_t room = msg->msg_control ? msg->msg_controllen : 0, done = 0, at = 0;

	while (at < from->control_size) {
		const struct cmsghdr *c = (const struct cmsghdr *)&from->control.bytes[at];
		size_t size = c->cmsg_len, space = CMSG_SPACE(size - CMSG_LEN(0));
		struct cmsghdr header = *c;

		at += space;
		if (room - done < sizeof(header)) {
			msg->msg_flags |= MSG_CTRUNC;
			continue;
		}
		if (room - done < size) {
			msg->msg_flags |= MSG_CTRUNC;
			header.cmsg_len = size = room - done;
		}
		memcpy((uint8_t *)msg->msg_control + done, &header, sizeof(header));
		memcpy((uint8_t *)msg->msg_control + done + sizeof(header),
		       (const uint8_t *)c + sizeof(header), size - sizeof(header));
		done += min_of(space, room - done);
	}
	msg->msg_controllen = done;
}
