/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Packets of RoCE v2 in frames: Ethernet, IP and UDP around the headers of the transport. */
#include "tests/hosts/vm/pci/mlx5_wire.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include "tests/hosts/vm/pci/play.h"

enum {
	IPV4 = 20,
	IPV6 = 40,
	UDP = 8,
	IPV4_CHECKSUM = 10,
	IPV4_FROM = 12,
	IPV4_TO = 16,
	IPV6_FROM = 8,
	IPV6_TO = 24,
	GID_IPV4 = 12, /* offset of the IPv4 address in a GID */
	NOT_DIVIDED = 0x4000,
	FIRST_PORT = 0xc000,
	LONGEST = ETH_HLEN + IPV6 + UDP + UROCE_HEADER_MAX + WIRE_MTU + 3 + ICRC_LEN,
};

static union uroce_address address_of(const uint8_t *gid, bool ipv6)
{
	union uroce_address address = { 0 };

	address.sa.sa_family = ipv6 ? AF_INET6 : AF_INET;
	if (ipv6)
		memcpy(&address.in6.sin6_addr, gid, 16);
	else
		memcpy(&address.in.sin_addr, gid + GID_IPV4, 4);
	return address;
}

static void fill_ipv4(uint8_t *ip, const struct wire_route *route, uint32_t length)
{
	uint32_t sum = 0;

	put32(ip, 0x45u << 24 | (uint32_t)route->class << 16 | (IPV4 + length));
	put32(ip + 4, NOT_DIVIDED);
	put32(ip + 8, (uint32_t)route->hops << 24 | IPPROTO_UDP << 16);
	memcpy(ip + IPV4_FROM, route->from->gid + GID_IPV4, 4);
	memcpy(ip + IPV4_TO, route->gid + GID_IPV4, 4);
	for (int i = 0; i < IPV4; i += 2)
		sum += get16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	put16(ip + IPV4_CHECKSUM, ~(sum + (sum >> 16)));
}

static void fill_ipv6(uint8_t *ip, const struct wire_route *route, uint32_t length)
{
	put32(ip, 6u << 28 | (uint32_t)route->class << 20);
	put32(ip + 4, length << 16 | IPPROTO_UDP << 8 | route->hops);
	memcpy(ip + IPV6_FROM, route->from->gid, 16);
	memcpy(ip + IPV6_TO, route->gid, 16);
}

/* Return the checksum, which is mandatory for UDP over IPv6. */
static uint16_t udp_checksum(const uint8_t *ip, uint32_t length)
{
	uint32_t sum = IPPROTO_UDP + length;

	for (uint32_t i = 0; i < 32; i += 2)
		sum += get16(ip + IPV6_FROM + i);
	for (uint32_t i = 0; i < length; i++)
		sum += i & 1 ? ip[IPV6 + i] : ip[IPV6 + i] << 8;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~(sum + (sum >> 16)) & 0xffff;
	return sum ? sum : 0xffff;
}

void wire_send(const struct wire_route *route, const struct uroce_hdr *hdr, const uint8_t *payload,
	       uint32_t length)
{
	static uint8_t frame[LONGEST];
	uint8_t *ip = frame + ETH_HLEN, *udp, *bth;
	union uroce_address from, to;
	struct uroce_icrc icrc;
	uint32_t size, sum;

	if (!route->from)
		return;
	udp = ip + (route->from->ipv6 ? IPV6 : IPV4);
	bth = udp + UDP;
	size = uroce_wire_pack(hdr, length, bth);
	memcpy(bth + size, payload, length);
	size += length;
	for (unsigned int pad = uroce_wire_pad(length); pad; pad--)
		bth[size++] = 0;
	from = address_of(route->from->gid, route->from->ipv6);
	to = address_of(route->gid, route->from->ipv6);
	uroce_address_set_port(&from, route->port);
	uroce_address_set_port(&to, UROCE_UDP_PORT);
	uroce_icrc_init(&icrc, &from, &to);
	sum = htole32(uroce_icrc_compute(&icrc, 0, bth, size));
	memcpy(bth + size, &sum, ICRC_LEN);
	size += ICRC_LEN + UDP;
	memcpy(frame, route->mac, HCA_MAC);
	hca_mac(frame + HCA_MAC);
	put16(frame + 2 * HCA_MAC, route->from->ipv6 ? ETH_P_IPV6 : ETH_P_IP);
	put16(udp, route->port);
	put16(udp + 2, UROCE_UDP_PORT);
	put16(udp + 4, size);
	put16(udp + 6, 0);
	if (route->from->ipv6) {
		memset(ip, 0, IPV6);
		fill_ipv6(ip, route, size);
		put16(udp + 6, udp_checksum(ip, size));
	} else {
		memset(ip, 0, IPV4);
		fill_ipv4(ip, route, size);
	}
	hca_transmit(frame, bth + size - UDP - frame);
	PLAY_LOG("packet to queue pair 0x%x: opcode 0x%x, PSN 0x%x, %u bytes\n", hdr->dest_qpn,
		 hdr->opcode, hdr->psn, length);
}

struct wire_route wire_route_of(const struct hca_qp *qp)
{
	const uint8_t *c = qp->context;
	struct wire_route route = { .from = hca_address(get(c, QPC_PATH_ADDRESS)),
				    .class = get(c, QPC_PATH_CLASS),
				    .hops = get(c, QPC_PATH_HOPS),
				    .port = get(c, QPC_PATH_PORT) };

	if (route.from && route.from->version != HCA_ROCE_V2)
		route.from = NULL;
	if (!route.port)
		route.port = FIRST_PORT | qp->object.number;
	memcpy(route.gid, c + QPC_PATH_GID, sizeof(route.gid));
	memcpy(route.mac, c + QPC_PATH_MAC, sizeof(route.mac));
	return route;
}

uint32_t wire_mtu_of(const struct hca_qp *qp)
{
	return 128u << get(qp->context, QPC_MTU);
}

/* Find the parts of an IP packet of UDP. Return the UDP header's place, or NULL. */
static const uint8_t *find_udp(const uint8_t *frame, size_t length, struct wire_packet *packet)
{
	uint32_t size;

	packet->ip = frame + ETH_HLEN;
	packet->ipv6 = get16(frame + 2 * HCA_MAC) == ETH_P_IPV6;
	if (!packet->ipv6 && get16(frame + 2 * HCA_MAC) != ETH_P_IP)
		return NULL;
	size = packet->ipv6 ? IPV6 : IPV4;
	if (length < ETH_HLEN + size + UDP)
		return NULL;
	if (packet->ipv6) {
		memcpy(packet->gid, packet->ip + IPV6_TO, 16);
		return packet->ip[6] == IPPROTO_UDP ? packet->ip + size : NULL;
	}
	memset(packet->gid, 0, 10);
	memset(packet->gid + 10, 0xff, 2);
	memcpy(packet->gid + GID_IPV4, packet->ip + IPV4_TO, 4);
	return packet->ip[0] == 0x45 && packet->ip[9] == IPPROTO_UDP ? packet->ip + size : NULL;
}

static bool is_right(const struct wire_packet *packet, const uint8_t *udp, uint32_t length)
{
	uint8_t other[16] = { 0 };
	union uroce_address from, to;
	struct uroce_icrc icrc;
	uint16_t id = packet->ipv6 ? 0 : get16(packet->ip + 4);

	memcpy(packet->ipv6 ? other : other + GID_IPV4,
	       packet->ip + (packet->ipv6 ? IPV6_FROM : IPV4_FROM), packet->ipv6 ? 16 : 4);
	from = address_of(other, packet->ipv6);
	to = address_of(packet->gid, packet->ipv6);
	uroce_address_set_port(&from, get16(udp));
	uroce_address_set_port(&to, UROCE_UDP_PORT);
	uroce_icrc_init(&icrc, &from, &to);
	return uroce_icrc_check(&icrc, &id, udp + UDP, length - UDP - ICRC_LEN) != ICRC_WRONG;
}

bool wire_receive(const uint8_t *frame, size_t length)
{
	struct wire_packet packet = { 0 };
	const uint8_t *udp = find_udp(frame, length, &packet);
	struct hca_qp *qp;
	uint32_t size;
	int header;

	if (!udp || get16(udp + 2) != UROCE_UDP_PORT)
		return false;
	size = get16(udp + 4);
	if (size < UDP + BTH_LEN + ICRC_LEN || udp + size > frame + length)
		return true;
	header = uroce_wire_unpack(udp + UDP, size - UDP - ICRC_LEN, &packet.hdr, &packet.length);
	if (header < 0 || !is_right(&packet, udp, size)) {
		printf("a packet of %u bytes is malformed or has a wrong ICRC\n", size);
		return true;
	}
	packet.payload = udp + UDP + header;
	PLAY_LOG("packet for queue pair 0x%x: opcode 0x%x, PSN 0x%x, %u bytes\n",
		 packet.hdr.dest_qpn, packet.hdr.opcode, packet.hdr.psn, packet.length);
	if (hdr_flags(&packet.hdr) & PKT_DETH) {
		wire_datagram(&packet);
		return true;
	}
	qp = message_qp(packet.hdr.dest_qpn);
	if (!message_is_ready(qp) || (qp->type != HCA_RC && qp->type != HCA_UC))
		return true;
	if (hdr_flags(&packet.hdr) & PKT_REQUEST)
		wire_request(qp, &packet);
	else if (hdr_flags(&packet.hdr) & PKT_RESPONSE)
		wire_response(qp, &packet);
	return true;
}
