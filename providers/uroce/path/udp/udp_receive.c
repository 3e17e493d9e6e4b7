/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The UDP path: handling of received messages. All data comes from the network and is checked
 * before it is used. */
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <string.h>

#include "providers/uroce/path/udp/udp_call.h"
#include "providers/uroce/path/udp/udp_flow.h"
#include "providers/uroce/path/udp/udp_socket.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum {
	DEFAULT_HOP_LIMIT = 64,
	/* packets in a row after which a sender is known to number like this device */
	LIKE_US = 256,
	REFUSED_MAX = 16,     /* packets in a row with other numbers that show another sender ... */
	REFUSED_COUNTING = 2, /* ... or fewer packets, if their numbers follow each other */
	STEADY = 64,	      /* packets after which a source gets a flow */
};

/* --- one large receive --- */

/* Facts about all datagrams of one message. */
struct arrival {
	struct uroce_udp *udp;
	struct uroce_route route; /* as seen from the sender: sgid is the remote side */
	struct uroce_icrc *icrc;
	struct udp_source *source;
	bool shared;	  /* received by the socket that serves all senders */
	bool marked;	  /* marked by a congested network */
	uint32_t segment; /* bytes of each datagram but the last */
	bool multicast;
	uint64_t now; /* ns; 0: clock not read yet */
};

static void control_read(struct msghdr *msg, struct arrival *in)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		int value;

		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
			in->route.traffic_class =
				*CMSG_DATA(c); /* the kernel passes only this value as a byte */
			continue;
		}
		if (c->cmsg_len < CMSG_LEN(sizeof(value)))
			continue;
		memcpy(&value, CMSG_DATA(c), sizeof(value));
		if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO && value > 0)
			in->segment = value;
		else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL)
			in->route.hop_limit = value;
		else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT)
			in->route.hop_limit = value;
		else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS)
			in->route.traffic_class = value;
	}
}

static void say_unseen(const struct arrival *in)
{
	char from[INET6_ADDRSTRLEN];

	if (in->udp->unseen_said)
		return;
	in->udp->unseen_said = true;
	log_info(
		"%s: %s numbers its IPv4 packets, and their ICRC covers the number, which a UDP socket does not show: "
		"15 of its 32 bits are checked. All are over IPv6",
		in->udp->link.name, inet_ntop(AF_INET6, &in->route.sgid, from, sizeof(from)));
}

static void say_wrong(const struct arrival *in)
{
	char from[INET6_ADDRSTRLEN];

	in->udp->wrong++;
	if (in->udp->wrong > 1)
		return;
	log_warn(
		"%s: a packet from %s has a wrong ICRC and was dropped, as all such are: damaged on the way, or no RoCE",
		in->udp->link.name, inet_ntop(AF_INET6, &in->route.sgid, from, sizeof(from)));
}

/*
 * Forward a packet to another process of this user, which owns the QP. From the next packet on, the
 * receiver of UD packets may get the IP header, too.
 */
static void pass_on(const struct arrival *in, const struct uroce_hdr *hdr, const uint8_t *data,
		    uint32_t length)
{
	struct path_host *host = in->udp->path.host;
	struct path_origin from = { .sgid = in->route.sgid,
				    .dgid = in->route.dgid,
				    .passed_on = 1,
				    .port = in->source->port };

	if (hdr_flags(hdr) & PKT_DETH)
		uroce_udp_headers_show(&in->udp->path);
	uroce_grh_fill(&in->route, length, from.grh);
	host->events->foreign(host, uroce_qpn_slot(hdr->dest_qpn), &from, data, length,
			      in->now ? in->now : uroce_now());
}

/*
 * Count an RC packet for this process that did not arrive by a flow. A sender that uses a dedicated
 * source port and keeps sending gets a connected socket of its own.
 */
static void source_count(struct uroce_udp *udp, struct udp_source *source)
{
	if (!udp->rx_refused && source->port != UROCE_UDP_PORT && ++source->requests >= STEADY)
		udp->steady = source;
}

static bool is_ours(const struct path_host *host, uint32_t qpn)
{
	return path_host_has(host, qpn) || qpn == GSI_QPN || qpn == MULTICAST_QPN;
}

static void packet_deliver(const struct arrival *in, const uint8_t *data, uint32_t length)
{
	struct path_host *host = in->udp->path.host;
	struct uroce_packet pkt = { .dgid = &in->route.dgid, .marked = in->marked };
	uint8_t grh[GRH_LEN];
	int header = uroce_wire_unpack(data, length, &pkt.hdr, &pkt.payload.length);

	if (header < 0)
		return;
	if (!is_ours(host, pkt.hdr.dest_qpn)) {
		pass_on(in, &pkt.hdr, data, length);
		return;
	}
	pkt.payload.data = data + header;
	if (in->multicast)
		pkt.multicast = &in->route.dgid;
	if (hdr_flags(&pkt.hdr) & PKT_DETH) {
		uroce_grh_fill(&in->route, length, grh);
		pkt.grh = grh;
	}
	host->events->packet(host, &pkt, &in->route.sgid, in->now);
	if (in->shared && !in->multicast && pkt.hdr.opcode < UROCE_UC &&
	    host->events->expected(host, pkt.hdr.dest_qpn, &in->route.sgid))
		source_count(in->udp, in->source);
}

static struct udp_source source_new(const union ibv_gid *gid, uint16_t port)
{
	return (struct udp_source){
		.gid = *gid,
		.port = port,
		.counts = (uint16_t)(port - UROCE_FLOW_PORT_MIN) < UROCE_FLOW_PORTS,
	};
}

static struct udp_source *source_of(struct uroce_udp *udp, const union ibv_gid *gid, uint16_t port)
{
	struct udp_source *source = &udp->sources[(gid->raw[15] ^ port ^ port >> 6) % UDP_SOURCES];

	if (unlikely(source->port != port || memcmp(&source->gid, gid, sizeof(*gid))))
		*source = source_new(gid, port);
	return source;
}

/* Return whether to refuse an unexpected number because its sender has been regular. */
static bool source_refuses(struct udp_source *source, uint16_t id)
{
	bool counting = source->counts && source->refused &&
			(uint16_t)(id - source->last_refused) < UDP_SEGMENTS;

	source->last_refused = id;
	return source->like_us == LIKE_US &&
	       ++source->refused <= (counting ? REFUSED_COUNTING : REFUSED_MAX);
}

/*
 * Return whether a packet is accepted by its identification. A UDP socket does not show the
 * identification, so the ICRC check computes the one that makes the ICRC right. One damaged packet
 * in 2^15 passes this check.
 *
 * - Senders like this device use the numbers 0 to 63 at port 4791. From a port of flows they
 *   continue with the number after the last one. A large send counts as one, and its packets count
 *   from the number of the send. Some packets may be lost.
 *
 * - If a sender is known to do so, no other number is accepted. The ICRC then still has the
 *   strength of 25 bits.
 *
 * - Other senders may use these ports with other numbers. They never have LIKE_US regular packets
 *   in a row.
 */
static bool source_admits(struct udp_source *source, uint16_t id)
{
	uint16_t least = source->counts ? source->next - UDP_SEGMENTS : 0;
	uint16_t range = source->counts ? 2 * UDP_SEGMENTS : UDP_SEGMENTS;

	if (likely((uint16_t)(id - least) < range)) {
		source->like_us += source->like_us < LIKE_US;
		source->refused = 0;
	} else if (source_refuses(source, id)) {
		return false;
	} else {
		source->like_us = source->refused = 0;
	}
	if (source->counts)
		source->next = id + 1;
	return true;
}

static enum uroce_icrc_verdict check(struct arrival *in, uint16_t *id, const uint8_t *packet,
				     uint32_t length)
{
	enum uroce_icrc_verdict verdict = uroce_icrc_check(in->icrc, id, packet, length);

	if (verdict == ICRC_WRONG || !in->icrc->ipv4 || source_admits(in->source, *id))
		return verdict;
	return ICRC_WRONG;
}

/* Show a packet to the capture, unless it belongs to another process, which shows it itself. */
static void capture(const struct arrival *in, const uint8_t *data, uint32_t length, uint16_t id)
{
	if (is_ours(in->udp->path.host, uroce_wire_dest_qpn(data)))
		udp_seen(in->udp, &in->route, false, in->source->port, id, data, length);
}

/* Deliver each datagram of the message. Return: number of datagrams. */
static unsigned int arrival_deliver(struct arrival *in, const uint8_t *data, uint32_t total)
{
	struct path_host *host = in->udp->path.host;
	unsigned int count = 0;
	uint16_t id = in->source->next; /* number of the next packet of a large send; see icrc.h */
	uint32_t length;

	for (uint32_t at = 0; at < total; at += length, count++, id++) {
		enum uroce_icrc_verdict verdict = ICRC_WRONG;

		length = min_of(in->segment, total - at);
		if (length < BTH_LEN + ICRC_LEN)
			continue;
		verdict = check(in, &id, data + at, length - ICRC_LEN);
		if (unlikely(verdict == ICRC_WRONG)) {
			say_wrong(in);
			if (unlikely(host->capture))
				capture(in, data + at, length, id);
			continue;
		}
		if (unlikely(verdict == ICRC_RIGHT_UNSEEN) && id >= UDP_SEGMENTS &&
		    !in->source->counts)
			say_unseen(in);
		if (unlikely(host->capture))
			capture(in, data + at, length, id);
		if (in->shared || in->marked ||
		    !host->events->bytes(host, &in->route.sgid, data + at, length - ICRC_LEN))
			packet_deliver(in, data + at, length - ICRC_LEN);
	}
	return count;
}

/* Return the flow of a message. The socket of a flow sometimes gets datagrams of other senders. */
static struct udp_rx_flow *flow_of(const struct udp_inlet *inlet, const union uroce_address *from)
{
	struct udp_rx_flow *flow = inlet->flow;

	return flow && uroce_address_port(from) == uroce_address_port(&flow->from) &&
			       uroce_address_equal(from, &flow->from)
		       ? flow
		       : NULL;
}

unsigned int uroce_udp_arrived(struct uroce_udp *udp, struct mmsghdr *msg,
			       const struct udp_inlet *inlet, uint64_t now)
{
	union uroce_address *from = msg->msg_hdr.msg_name, to;
	struct udp_rx_flow *flow = flow_of(inlet, from);
	struct uroce_icrc icrc;
	struct arrival in = {
		.udp = udp,
		.route = { .dgid = *inlet->dgid, .hop_limit = DEFAULT_HOP_LIMIT },
		.segment = msg->msg_len,
		.shared = !flow,
		.multicast = uroce_gid_is_multicast(inlet->dgid),
		.now = now,
	};

	if (!msg->msg_len)
		return 1;
	control_read(&msg->msg_hdr, &in);
	in.marked = (in.route.traffic_class & ECN_MASK) == ECN_CE;
	uroce_address_to_gid(from, &in.route.sgid);
	if (flow) {
		in.icrc = &flow->icrc;
		in.source = &flow->source;
	} else {
		uroce_address_from_gid(inlet->dgid, UROCE_UDP_PORT, 0, &to);
		if (from->sa.sa_family != to.sa.sa_family)
			return 1;
		in.source = source_of(udp, &in.route.sgid, uroce_address_port(from));
		in.icrc = &icrc;
		uroce_icrc_init(in.icrc, from, &to);
	}
	return arrival_deliver(&in, msg->msg_hdr.msg_iov->iov_base, msg->msg_len);
}

void uroce_udp_steady(struct uroce_udp *udp, unsigned int gid_index)
{
	struct udp_source *source = udp->steady;

	udp->steady = NULL;
	if (source->requests >= STEADY) /* the entry still belongs to this source */
		uroce_udp_rx_flow_open(udp, source, gid_index);
	source->requests = 0;
}

bool uroce_udp_passed_on(struct uroce_path *path, const struct path_origin *from)
{
	struct uroce_udp *udp = to_udp(path);

	assert_held(&path->host->progress_lock);
	for (unsigned int i = 0; i < udp->slots; i++) {
		const struct udp_port *port = &udp->ports[i];

		if (port->fd < 0 || memcmp(&port->gid, &from->dgid, sizeof(port->gid)))
			continue;
		source_count(udp, source_of(udp, &from->sgid, from->port));
		if (unlikely(udp->steady))
			uroce_udp_steady(udp, i);
		return true;
	}
	return false;
}
