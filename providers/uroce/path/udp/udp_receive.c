/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The UDP path: the side that receives. Everything here comes from the network and is believed only
 * when checked. */
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
	/* A socket that was silent for so many polls is looked at in turn with others like it: one
	 * in so many passes, or in so many where all are like that. */
	IDLE_POLLS = 64,
	TURN_BUSY = 16,
	TURN_SILENT = 4,
	STREAM = 4, /* polls in a row that find something: more than a coincidence */
	PAIR = 2,   /* datagrams joined by chance: a message and the acknowledgement behind it */
	LONE_ENOUGH = 256, /* polls that found something and no stream: joining is given up */
	DEFAULT_HOP_LIMIT = 64,
	LIKE_US = 256,	  /* packets in a row after which a sender is known to number as we do */
	REFUSED_MAX = 16, /* packets in a row after which it is somebody else ... */
	REFUSED_COUNTING = 2, /* ... or that count on from each other */
	STEADY = 64,	      /* packets after which a sender gets a flow */
};

struct udp_control {
	union {
		char buf[4 * CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	};
};

struct udp_receiver {
	struct mmsghdr msgs[UDP_RX_MESSAGES];
	struct iovec iov[UDP_RX_MESSAGES];
	union uroce_address from[UDP_RX_MESSAGES];
	struct udp_control control[UDP_RX_MESSAGES];
	uint8_t buffers[UDP_RX_MESSAGES][UDP_RX_BUFFER];
};

int uroce_udp_receiver_new(struct udp_receiver **ret_receiver)
{
	struct udp_receiver *rx = malloc(sizeof(*rx)); /* its pages come as they are used */

	if (!rx)
		return -ENOMEM;
	for (int i = 0; i < UDP_RX_MESSAGES; i++) {
		rx->iov[i] = (struct iovec){ rx->buffers[i], UDP_RX_BUFFER };
		rx->msgs[i].msg_hdr = (struct msghdr){
			.msg_name = &rx->from[i],
			.msg_iov = &rx->iov[i],
			.msg_iovlen = 1,
			.msg_control = &rx->control[i],
		};
	}
	*ret_receiver = rx;
	return 0;
}

/* --- one large receive --- */

/* What the datagrams of one message have in common. */
struct arrival {
	struct uroce_udp *udp;
	struct uroce_route route; /* as seen from the sender: sgid is the remote side */
	struct uroce_icrc *icrc;
	struct udp_source *source;
	bool shared;	  /* it came by the socket that everybody sends to */
	bool marked;	  /* by the network, for it is congested */
	uint32_t segment; /* bytes of each datagram but the last */
	bool multicast;
	uint64_t now; /* 0: not looked at yet */
};

static void control_read(struct msghdr *msg, struct arrival *in)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		int value;

		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
			in->route.traffic_class = *CMSG_DATA(c); /* the one that is a byte */
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
 * Another process of this user owns the QP: hand the packet on. Of a UD packet its receiver may see
 * the IP header, from the next one on.
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
 * An RC packet for this process that did not come by a flow. Who has a port for these alone, and
 * keeps sending, gets a socket that has them alone.
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

/* A number that was not to be expected, of a sender that has been regular. */
static bool source_refuses(struct udp_source *source, uint16_t id)
{
	bool counting = source->counts && source->refused &&
			(uint16_t)(id - source->last_refused) < UDP_SEGMENTS;

	source->last_refused = id;
	return source->like_us == LIKE_US &&
	       ++source->refused <= (counting ? REFUSED_COUNTING : REFUSED_MAX);
}

/*
 * An ICRC that is right for an identification this side cannot see is also that of one damaged
 * packet in 2^15. Senders like this device have only the numbers 0 to 63 at port 4791, and at a
 * flow's port go on counting from the last one; a large send counts as one there, and is numbered
 * on from its own, and some may be lost. Once one is known as such no other number is believed: 25
 * bits of check remain of the 32. Others, who go their own way with these ports, are not like that
 * for LIKE_US packets.
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

/* What is for another process is seen there. */
static void capture(const struct arrival *in, const uint8_t *data, uint32_t length, uint16_t id)
{
	if (is_ours(in->udp->path.host, uroce_wire_dest_qpn(data)))
		udp_seen(in->udp, &in->route, false, in->source->port, id, data, length);
}

/* Each datagram of the message. Return: how many there were. */
static unsigned int arrival_deliver(struct arrival *in, const uint8_t *data, uint32_t total)
{
	struct path_host *host = in->udp->path.host;
	unsigned int count = 0;
	uint16_t id = in->source->next; /* of the packets of a large send, see icrc.h */
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

/* A socket as it is received from. */
struct udp_inlet {
	int fd; /* negative: none */
	const union ibv_gid *dgid;
	struct udp_rx_flow *flow; /* whose it is; NULL: everybody's */
};

/* A flow's socket has what its peer sent, and now and then something else. */
static struct udp_rx_flow *flow_of(const struct udp_inlet *inlet, const union uroce_address *from)
{
	struct udp_rx_flow *flow = inlet->flow;

	return flow && uroce_address_port(from) == uroce_address_port(&flow->from) &&
			       uroce_address_equal(from, &flow->from)
		       ? flow
		       : NULL;
}

static unsigned int message_arrived(struct uroce_udp *udp, struct mmsghdr *msg,
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

/* --- sockets --- */

static void message_prepare(struct udp_receiver *rx, int i)
{
	rx->msgs[i].msg_hdr.msg_namelen = sizeof(rx->from[i]);
	rx->msgs[i].msg_hdr.msg_controllen = sizeof(rx->control[i]);
}

/* A poller asks far more often than something comes: one message is asked for in the cheapest way.
 */
static int message_take(struct udp_receiver *rx, const struct udp_inlet *inlet)
{
	ssize_t n;

	message_prepare(rx, 0);
	n = call_recvmsg(inlet->fd, &rx->msgs[0].msg_hdr);
	if (n < 0)
		return 0;
	rx->msgs[0].msg_len = n;
	return 1;
}

/* The same without what comes beside the datagram: a third cheaper, and a poll in vain as well. */
static int datagram_take(struct udp_receiver *rx, const struct udp_inlet *inlet)
{
	struct msghdr *msg = &rx->msgs[0].msg_hdr;
	ssize_t n;

	message_prepare(rx, 0);
	msg->msg_controllen = 0;
	n = call_recvfrom(inlet->fd, rx->buffers[0], UDP_RX_BUFFER, msg->msg_name,
			  &msg->msg_namelen);
	if (n < 0)
		return 0;
	rx->msgs[0].msg_len = n;
	return 1;
}

static int messages_take(struct udp_receiver *rx, const struct udp_inlet *inlet)
{
	for (int i = 0; i < UDP_RX_MESSAGES; i++)
		message_prepare(rx, i);
	return call_recvmmsg(inlet->fd, rx->msgs, UDP_RX_MESSAGES);
}

typedef int take_fn(struct udp_receiver *rx, const struct udp_inlet *inlet);

static unsigned int inlet_receive(struct uroce_udp *udp, const struct udp_inlet *inlet,
				  unsigned int budget, take_fn *take)
{
	struct udp_receiver *rx = udp->receiver;
	unsigned int total = 0;
	int n;

	assert_held(&udp->path.host->progress_lock);
	do {
		uint64_t now;

		n = take(rx, inlet);
		if (n <= 0)
			break;
		now = take == datagram_take ? 0 : uroce_now();
		for (int i = 0; i < n; i++)
			total += message_arrived(udp, &rx->msgs[i], inlet, now);
	} while (n == UDP_RX_MESSAGES && total < budget);
	return total;
}

unsigned int uroce_udp_receive(struct uroce_path *path, int fd, const union ibv_gid *group,
			       unsigned int budget)
{
	const struct udp_inlet inlet = { .fd = fd, .dgid = group };

	return inlet_receive(to_udp(path), &inlet, budget, messages_take);
}

void uroce_udp_ready(struct uroce_path *path)
{
	atomic_store_explicit(&to_udp(path)->ready, true, memory_order_relaxed);
}

/*
 * Datagrams that come one by one, as in a ping-pong, are not joined after a while: then nothing
 * comes beside them. In a stream they are again. What was joined and is read after that is given up
 * cannot be taken apart, so it is given up when the socket was just found empty; and not where
 * headers are shown, which come beside a datagram, too.
 */
static void joining_adapt(const struct uroce_udp *udp, int fd, struct udp_pace *pace,
			  unsigned int n)
{
	bool wanted;

	if (n)
		pace->lone = n > PAIR || pace->hits >= STREAM ? 0 : pace->lone + 1;
	wanted = pace->lone < LONE_ENOUGH ||
		 atomic_load_explicit(&udp->shows_headers, memory_order_relaxed);
	if (likely(wanted == pace->joins || (!wanted && n)))
		return;
	pace->joins = uroce_udp_socket_join(fd, wanted);
}

static take_fn *take_of(const struct uroce_udp *udp, const struct udp_pace *pace)
{
	if (pace->hits > 1) /* something came the last times, too */
		return messages_take;
	if (pace->joins || atomic_load_explicit(&udp->shows_headers, memory_order_relaxed))
		return message_take;
	return datagram_take;
}

static unsigned int inlet_poll(struct uroce_udp *udp, const struct udp_inlet *inlet,
			       struct udp_pace *pace, unsigned int budget)
{
	unsigned int n;

	n = inlet_receive(udp, inlet, budget, take_of(udp, pace));
	pace->hits = n ? pace->hits + 1 : 0;
	pace->idle = n ? 0 : pace->idle + 1;
	joining_adapt(udp, inlet->fd, pace, n);
	return n;
}

static void flow_begin(struct uroce_udp *udp, unsigned int gid_index)
{
	struct udp_source *source = udp->steady;

	udp->steady = NULL;
	if (source->requests >= STEADY) /* its place is not somebody else's by now */
		uroce_udp_rx_flow_open(udp, source, gid_index);
	source->requests = 0;
}

static unsigned int gid_poll(struct uroce_udp *udp, unsigned int gid_index, unsigned int budget)
{
	struct udp_port *port = &udp->ports[gid_index];
	const struct udp_inlet inlet = { .fd = port->fd, .dgid = &port->gid };
	unsigned int n = inlet_poll(udp, &inlet, &port->pace, budget);

	if (unlikely(udp->steady))
		flow_begin(udp, gid_index);
	return n;
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
			flow_begin(udp, i);
		return true;
	}
	return false;
}

static unsigned int flow_poll(struct uroce_udp *udp, struct udp_rx_flow *flow, unsigned int budget)
{
	const struct udp_inlet inlet = { flow->fd, &udp->ports[flow->gid_index].gid, flow };
	unsigned int n;

	n = inlet_poll(udp, &inlet, &flow->pace, budget);
	if (unlikely(udp->steady)) /* somebody else's, that came here */
		flow_begin(udp, flow->gid_index);
	return n;
}

/* The @i-th socket, of the GIDs' and the flows'. Return: NULL when it is not open. */
static const struct udp_pace *socket_pace(const struct uroce_udp *udp, unsigned int i)
{
	if (i < udp->slots)
		return udp->ports[i].fd >= 0 ? &udp->ports[i].pace : NULL;
	i -= udp->slots;
	return udp->rx_flows[i].fd >= 0 ? &udp->rx_flows[i].pace : NULL;
}

static unsigned int socket_poll(struct uroce_udp *udp, unsigned int i, unsigned int budget)
{
	return i < udp->slots ? gid_poll(udp, i, budget)
			      : flow_poll(udp, &udp->rx_flows[i - udp->slots], budget);
}

/* The next of those that have been silent for long. */
static unsigned int silent_poll(struct uroce_udp *udp, unsigned int budget)
{
	unsigned int count = udp->slots + udp->rx_count;

	for (unsigned int tries = 0; tries < count; tries++) {
		unsigned int i = ++udp->turn % count;
		const struct udp_pace *pace = socket_pace(udp, i);

		if (pace && pace->idle > IDLE_POLLS)
			return socket_poll(udp, i, budget);
	}
	return 0;
}

/* All sockets something came by of late, and now and then one of the others. */
unsigned int uroce_udp_poll(struct uroce_path *path, unsigned int budget)
{
	struct uroce_udp *udp = to_udp(path);
	unsigned int total = 0, looks = 0;
	bool all = false;

	if (unlikely(atomic_load_explicit(&udp->ready, memory_order_relaxed))) {
		atomic_store_explicit(&udp->ready, false, memory_order_relaxed);
		all = true;
	}
	for (unsigned int i = 0; i < udp->slots + udp->rx_count; i++) {
		const struct udp_pace *pace = socket_pace(udp, i);

		if (!pace || (pace->idle > IDLE_POLLS && !all))
			continue;
		total += socket_poll(udp, i, budget);
		looks++;
	}
	if (++udp->passes % (looks ? TURN_BUSY : TURN_SILENT) == 0)
		total += silent_poll(udp, budget);
	return total;
}
