/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The send side of the UDP path: datagrams are gathered, then sent. */
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <string.h>

#include "providers/uroce/path/udp/udp_call.h"
#include "providers/uroce/path/udp/udp_flow.h"
#include "providers/uroce/path/udp/udp_socket.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

/* --- gathering --- */

static uint8_t av_hop_limit(const struct uroce_av *av)
{
	return uroce_gid_is_multicast(&av->route.dgid) ? av->route.hop_limit : 0;
}

/* Return the traffic class of a packet. RC reacts to congestion marks, so its packets carry ECT(0).
 * All other bits come from the address vector. */
static uint8_t packet_class(const struct uroce_av *av, const struct uroce_hdr *hdr)
{
	uint8_t class = av->route.traffic_class;

	return hdr->opcode < UROCE_UC ? (class & ~ECN_MASK) | ECN_ECT0 : class;
}

/*
 * Return whether a packet of @length bytes to a QP of @slot may join the packets of @m. A large
 * send may arrive as one message. The receiver then gives it to the process of its first packet.
 */
static bool message_takes(const struct uroce_udp *udp, const struct udp_message *m, int fd,
			  const struct uroce_av *av, uint8_t class, uint16_t slot, uint32_t length)
{
	return udp->segmentation && !m->closed && m->count < UDP_SEGMENTS && length <= m->segment &&
	       m->length + length <= UDP_LARGEST && m->fd == fd && m->traffic_class == class &&
	       m->slot == slot && m->hop_limit == av_hop_limit(av) &&
	       uroce_address_equal(&m->to, &av->addr);
}

/* Send a message from port 4791. An unconnected socket numbers each large send from 0 on. */
static void message_source_shared(struct uroce_udp *udp, struct udp_message *m, int fd,
				  const union ibv_gid *sgid)
{
	union uroce_address from;

	uroce_address_from_gid(sgid, UROCE_UDP_PORT, 0, &from);
	m->icrc = &udp->icrcs[m - udp->messages];
	uroce_icrc_init(m->icrc, &from, &m->to);
	m->flow = NULL;
	m->fd = fd;
	m->port = UROCE_UDP_PORT;
	m->id = 0;
}

static void message_source_flow(struct udp_message *m, struct udp_tx_flow *flow)
{
	m->icrc = &flow->icrc;
	m->flow = flow;
	m->fd = flow->fd;
	m->port = flow->port;
	m->id = flow->id;
}

static struct udp_message *message_begin(struct uroce_udp *udp, struct udp_tx_flow *flow, int fd,
					 const struct uroce_av *av, uint8_t class, uint16_t slot,
					 uint32_t length)
{
	struct udp_message *m = &udp->messages[udp->count];

	*m = (struct udp_message){
		.to = av->addr,
		.traffic_class = class,
		.hop_limit = av_hop_limit(av),
		.slot = slot,
		.segment = length,
		.start = udp->used,
	};
	if (flow)
		message_source_flow(m, flow);
	else
		message_source_shared(udp, m, fd, &av->route.sgid);
	return m;
}

static void put_icrc(struct udp_message *m, uint16_t id, uint8_t *packet, uint32_t length)
{
	uint32_t crc = m->rxe_flush ? uroce_icrc_compute_rxe_flush(m->icrc, id, packet, length)
				    : uroce_icrc_compute(m->icrc, id, packet, length);

	crc = htole32(crc);
	memcpy(packet + length, &crc, sizeof(crc));
}

/*
 * Return whether this flush leaves with the ICRC that rxe expects. No packet shows whether the peer
 * is rxe. Therefore a repeated flush is sent with the other ICRC, and the next flush uses the ICRC
 * that got an answer.
 */
static bool flush_as_rxe(struct uroce_udp *udp, const struct uroce_hdr *hdr)
{
	struct udp_flush *flush = &udp->flushes[hdr->dest_qpn % UDP_FLUSHES];

	if (flush->qpn != hdr->dest_qpn)
		flush->rxe = false;
	else if (flush->psn == hdr->psn)
		flush->rxe = !flush->rxe;
	flush->qpn = hdr->dest_qpn;
	flush->psn = hdr->psn;
	return flush->rxe;
}

/*
 * Damage a packet as a bad cable does: invert one bit, chosen by @random. Skip the byte of the BTH
 * that the ICRC does not cover.
 */
static void packet_damage(uint8_t *packet, uint32_t length, uint32_t random)
{
	uint32_t bit = random % (length * 8);

	if (bit / 8 == BTH_RESERVED)
		bit += 8;
	packet[bit / 8] ^= 1 << bit % 8;
}

/* Append a packet to the buffer behind the packets of @m. -EFAULT: nothing was appended. */
static int message_append(struct uroce_udp *udp, struct udp_message *m, const struct uroce_av *av,
			  const struct uroce_tx *tx)
{
	uint8_t *packet = udp->buffer + udp->used, *p = packet;
	uint32_t pad = uroce_wire_pad(tx->length), length;

	p += uroce_wire_pack(tx->hdr, tx->length, p);
	for (int i = 0; i < tx->iovcnt; i++) {
		int r = uroce_copy(p, tx->iov[i].iov_base, tx->iov[i].iov_len);

		if (r < 0)
			return r;
		p += tx->iov[i].iov_len;
	}
	memset(p, 0, pad);
	length = p + pad - packet;
	put_icrc(m, m->id + m->count, packet, length);
	if (unlikely(tx->damage))
		packet_damage(packet, length, tx->damage);
	m->damaged = tx->damage;
	length += ICRC_LEN;
	if (unlikely(udp->path.host->capture)) {
		struct uroce_route route = av->route;

		route.traffic_class = m->traffic_class;
		udp_seen(udp, &route, true, m->port, m->id + m->count, packet, length);
	}
	m->closed |= length < m->segment || tx->damage;
	m->count++;
	m->length += length;
	udp->used += length;
	return 0;
}

/* --- leaving --- */

struct message_control {
	union {
		char buf[CMSG_SPACE(sizeof(uint16_t)) + 2 * CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	};
};

static struct cmsghdr *control_put(struct msghdr *msg, struct cmsghdr *c, int level, int type,
				   const void *value, size_t size)
{
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(c), value, size);
	msg->msg_controllen += CMSG_SPACE(size);
	return (struct cmsghdr *)((char *)c + CMSG_SPACE(size));
}

static void message_header(struct uroce_udp *udp, struct udp_message *m, struct iovec *iov,
			   struct msghdr *msg, struct message_control *control)
{
	bool ipv4 = m->to.sa.sa_family == AF_INET;
	int level = ipv4 ? IPPROTO_IP : IPPROTO_IPV6;
	struct cmsghdr *c = &control->align;
	uint16_t segment = m->segment;
	int class = m->traffic_class, hops = m->hop_limit;

	*control =
		(struct message_control){}; /* clear the padding, too, because the kernel gets it */
	*iov = (struct iovec){ udp->buffer + m->start, m->length };
	*msg = (struct msghdr){ .msg_name = m->flow ? NULL : &m->to,
				.msg_namelen = m->flow ? 0 : uroce_address_length(&m->to),
				.msg_iov = iov,
				.msg_iovlen = 1 };
	if (m->count > 1)
		c = control_put(msg, c, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment));
	if (class != udp_class_default(m))
		c = control_put(msg, c, level, ipv4 ? IP_TOS : IPV6_TCLASS, &class, sizeof(class));
	if (hops)
		control_put(msg, c, level, ipv4 ? IP_TTL : IPV6_HOPLIMIT, &hops, sizeof(hops));
	msg->msg_control = msg->msg_controllen ? control : NULL;
}

static void explain_send(struct uroce_udp *udp, const struct udp_message *m, int error)
{
	const char *advice =
		error == EMSGSIZE ? ": the path's MTU is smaller than the QP's path_mtu needs" : "";
	char to[INET6_ADDRSTRLEN];
	union ibv_gid gid;

	if (udp->error_said == error)
		return;
	udp->error_said = error;
	uroce_address_to_gid(&m->to, &gid);
	log_warn("%s: packets of %u bytes to %s cannot leave: %s%s (they count as lost)",
		 udp->link.name, m->segment, inet_ntop(AF_INET6, &gid, to, sizeof(to)),
		 strerror(error), advice);
}

/* Return whether packets may leave one by one after this error. */
static bool segmentation_refused(int error)
{
	return error == EINVAL || error == EIO || error == EOPNOTSUPP;
}

/* Compute the ICRCs for new numbers. @step: difference between consecutive packets. */
static void message_number(struct uroce_udp *udp, struct udp_message *m, uint16_t step)
{
	uint16_t id = m->id;
	uint32_t length;

	for (uint32_t at = 0; at < m->length && !m->damaged; at += length, id += step) {
		length = min_of(m->length - at, m->segment);
		put_icrc(m, id, udp->buffer + m->start + at, length - ICRC_LEN);
	}
}

/* Send the packets of @m one by one, each with its own identification. */
static void message_split(struct uroce_udp *udp, struct udp_message *m)
{
	message_number(udp, m, 0);
	m->split = true;
}

/*
 * Leave a flow: send all its queued messages from port 4791. If @lossy, the packets of the flow
 * seem to be lost. Otherwise its socket refused a message, therefore its next number is uncertain.
 */
static void flow_leave(struct uroce_udp *udp, struct udp_tx_flow *flow, bool lossy)
{
	const struct udp_port *port = &udp->ports[flow->gid_index];

	for (unsigned int i = udp->first; i < udp->count; i++) {
		struct udp_message *m = &udp->messages[i];

		if (m->flow != flow)
			continue;
		message_source_shared(udp, m, port->fd, &port->gid);
		message_number(udp, m, 1);
	}
	uroce_udp_tx_flow_break(udp, flow, lossy);
}

/* Send the packets of a message one by one. Return: whether it is finished; if not, its rest waits
 * for room. */
static bool message_send_split(struct uroce_udp *udp)
{
	struct udp_message *m = &udp->messages[udp->first];

	while (m->length) {
		struct udp_message one = *m;
		struct message_control control;
		struct msghdr msg;
		struct iovec iov;

		one.count = 1;
		one.length = min_of(m->length, m->segment);
		message_header(udp, &one, &iov, &msg, &control);
		if (call_sendmsg(m->fd, &msg) < 0) {
			if (errno == EAGAIN || errno == EINTR)
				return false;
			explain_send(udp, m, errno);
		}
		m->start += one.length;
		m->length -= one.length;
	}
	return true;
}

static unsigned int messages_send(struct uroce_udp *udp, unsigned int count);

/* Handle an error of the first message. Return: messages finished; 0: it waits for room. */
static unsigned int message_failed(struct uroce_udp *udp, struct udp_message *m, int error)
{
	if (error == EAGAIN || error == EINTR)
		return 0;
	if (m->flow) {
		flow_leave(udp, m->flow, false);
		return messages_send(udp, 1);
	}
	if (m->count > 1 && segmentation_refused(error)) {
		if (udp->segmentation)
			log_info("%s: large sends are refused (%s): packets leave one by one",
				 udp->link.name, strerror(error));
		udp->segmentation = false;
		message_split(udp, m);
		return message_send_split(udp);
	}
	explain_send(udp, m, error);
	return 1;
}

/* Send messages of one socket by one system call. Return: messages finished; 0: the socket is
 * full. */
static unsigned int messages_send(struct uroce_udp *udp, unsigned int count)
{
	struct udp_message *m = &udp->messages[udp->first];
	struct message_control control[UDP_MESSAGES];
	struct mmsghdr msgs[UDP_MESSAGES];
	struct iovec iov[UDP_MESSAGES];
	int n;

	for (unsigned int i = 0; i < count; i++)
		message_header(udp, &m[i], &iov[i], &msgs[i].msg_hdr, &control[i]);
	n = call_sendmmsg(m->fd, msgs, count);
	return n < 0 ? message_failed(udp, m, errno) : n;
}

/* Send a message of one packet without control data, in the cheapest way. */
static unsigned int message_send(struct uroce_udp *udp)
{
	struct udp_message *m = &udp->messages[udp->first];
	ssize_t n = call_sendto(m->fd, udp->buffer + m->start, m->length, m->flow ? NULL : &m->to);

	return n < 0 ? message_failed(udp, m, errno) : 1;
}

void uroce_udp_leave(struct uroce_udp *udp)
{
	assert_held(&udp->lock);
	while (udp->first < udp->count) {
		struct udp_message *m = &udp->messages[udp->first];
		unsigned int same = 1, done;

		/* Messages of a flow leave one by one, because sendmmsg() does not report an error
		 * behind the first, which may have used up a number. */
		while (!m->flow && udp->first + same < udp->count && m[same].fd == m->fd &&
		       !m[same].split)
			same++;
		if (m->split)
			done = message_send_split(udp);
		else if (same == 1 && m->count == 1 && !m->hop_limit &&
			 m->traffic_class == udp_class_default(m))
			done = message_send(udp);
		else
			done = messages_send(udp, same);
		if (!done)
			break;
		udp->first += done;
	}
	if (udp->first == udp->count)
		udp->first = udp->count = udp->used = 0;
	atomic_store_explicit(&udp->path.pending, udp->count > 0, memory_order_relaxed);
}

/*
 * Return the message for a packet, new or begun. NULL: no room, also after sending. Begin a message
 * only if the longest message has room. Otherwise the end of the buffer would cut it in two, and a
 * short large send costs as much as a long one.
 */
static struct udp_message *message_for(struct uroce_udp *udp, struct udp_tx_flow *flow, int fd,
				       const struct uroce_av *av, uint8_t class, uint16_t slot,
				       uint32_t length)
{
	struct udp_message *last = udp->count ? &udp->messages[udp->count - 1] : NULL;
	bool room = udp->used + length <= UDP_BUFFER;

	if (last && room && message_takes(udp, last, flow ? flow->fd : fd, av, class, slot, length))
		return last;
	if (udp->used + UDP_LARGEST > UDP_BUFFER || udp->count == UDP_MESSAGES) {
		uroce_udp_leave(udp);
		if (udp->count)
			return NULL;
		if (flow && flow->fd < 0)
			flow = NULL;
	}
	return message_begin(udp, flow, fd, av, class, slot, length);
}

/* Count a message when its first packet is complete, because it uses up a number. */
static void message_commit(struct uroce_udp *udp, struct udp_message *m)
{
	udp->count++;
	udp->begun++;
	if (m->flow)
		m->flow->id++;
}

static int send_locked(struct uroce_udp *udp, const struct uroce_av *av, const struct uroce_tx *tx)
{
	uint32_t length = uroce_opcodes[tx->hdr->opcode].header_len + tx->length +
			  uroce_wire_pad(tx->length) + ICRC_LEN;
	int fd = udp->ports[av->sgid_index].fd, r;
	bool flush = tx->hdr->opcode == (UROCE_RC | UROCE_FLUSH);
	bool alone = flush || tx->hdr->dest_qpn == GSI_QPN;
	uint16_t slot = uroce_qpn_slot(tx->hdr->dest_qpn);
	struct udp_tx_flow *flow;
	struct udp_message *m;

	/* The source address may be gone, and another GID may have its slot. */
	if (fd < 0 || unlikely(memcmp(&udp->ports[av->sgid_index].gid, &av->route.sgid,
				      sizeof(av->route.sgid))))
		return -ENETUNREACH;
	flow = uroce_udp_tx_flow(udp, av, tx->hdr);
	/*
	 * Send a flush as a separate message. Do the same with a packet to QP 1, which may go to
	 * any process, and with a damaged packet, which must not get a right ICRC later.
	 */
	if (unlikely(alone || tx->damage) && udp->count)
		udp->messages[udp->count - 1].closed = true;
	m = message_for(udp, flow, fd, av, packet_class(av, tx->hdr), slot, length);
	if (!m)
		return -EAGAIN;
	m->closed |= alone;
	if (unlikely(flush))
		m->rxe_flush = flush_as_rxe(udp, tx->hdr);
	r = message_append(udp, m, av, tx);
	if (r < 0)
		return r;
	if (m == &udp->messages[udp->count])
		message_commit(udp, m);
	atomic_store_explicit(&udp->path.pending, true, memory_order_relaxed);
	return 0;
}

static int udp_send(struct uroce_path *path, const struct uroce_av *av, const struct uroce_tx *tx)
{
	struct uroce_udp *udp = to_udp(path);
	int r;

	uroce_lock(&udp->lock);
	r = send_locked(udp, av, tx);
	uroce_unlock(&udp->lock);
	return r;
}

static void udp_flush(struct uroce_path *path)
{
	struct uroce_udp *udp = to_udp(path);

	uroce_lock(&udp->lock);
	uroce_udp_leave(udp);
	uroce_unlock(&udp->lock);
}

static void udp_reroute(struct uroce_path *path, const struct uroce_av *av, uint32_t dest_qpn)
{
	struct uroce_udp *udp = to_udp(path);
	struct udp_tx_flow *flow;

	uroce_lock(&udp->lock);
	flow = uroce_udp_tx_flow_known(udp, av, dest_qpn);
	if (flow)
		flow_leave(udp, flow, true);
	uroce_unlock(&udp->lock);
}

const struct uroce_path_ops uroce_udp_ops = {
	.send = udp_send,
	.flush = udp_flush,
	.reroute = udp_reroute,
};
