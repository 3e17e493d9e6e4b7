/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parse the headers of a packet, and its tunnel. */
#include "tests/adapters/lab/device/mlx5_packet.h"

#include <string.h>
#include "tests/adapters/lab/device/bytes.h"

enum {
	MACS = 12,
	TYPE_VLAN = 0x8100,
	TYPE_SERVICE = 0x88a8,
	TYPE_IPV4 = 0x0800,
	TYPE_IPV6 = 0x86dd,
	TYPE_MPLS = 0x8847,
	TYPE_ETHERNET = 0x6558,
	PROTOCOL_ICMP = 1,
	PROTOCOL_TCP = 6,
	PROTOCOL_UDP = 17,
	PROTOCOL_GRE = 47,
	PROTOCOL_ICMPV6 = 58,
	PORT_GTPU = 2152,
	PORT_VXLAN = 4789,
	PORT_GPE = 4790,
	PORT_ROCE = 4791,
	PORT_GENEVE = 6081,
	PORT_MPLS = 6635,
	GRE_HAS_KEY = 1u << 29,
	GRE_HAS_CHECKSUM = 1u << 31,
};

/* The rest of the packet, which is not parsed yet. */
struct cursor {
	const struct mlx5_packet *p;
	size_t at;
};

static bool has(const struct cursor *c, size_t bytes)
{
	return c->at + bytes <= c->p->length;
}

static const uint8_t *here(const struct cursor *c)
{
	return c->p->bytes + c->at;
}

static bool tag_read(struct cursor *c, uint8_t *kind, uint16_t *tag)
{
	uint16_t type = get16(here(c));

	if (type != TYPE_VLAN && type != TYPE_SERVICE)
		return true;
	if (!has(c, 6))
		return false;
	*kind = type == TYPE_VLAN ? 2 : 1;
	*tag = get16(here(c) + 2);
	c->at += 4;
	return true;
}

static bool ethernet_read(struct cursor *c, struct mlx5_headers *h)
{
	if (!has(c, MACS + 2))
		return false;
	h->exists = true;
	h->mac_at = c->at;
	h->dmac = get64(here(c)) >> 16;
	h->smac = (uint64_t)get32(here(c) + 6) << 16 | get16(here(c) + 10);
	c->at += MACS;
	h->vlan_at = c->at;
	if (!tag_read(c, &h->vlan_kind, &h->vlan) || !tag_read(c, &h->second_kind, &h->second_vlan))
		return false;
	if (!h->vlan_kind)
		h->vlan_at = 0;
	h->type_at = c->at;
	h->ethertype = get16(here(c));
	c->at += 2;
	return true;
}

static bool ipv4_read(struct cursor *c, struct mlx5_headers *h)
{
	const uint8_t *at = here(c);

	if (!has(c, 20))
		return false;
	h->ip_version = 4;
	h->ihl = at[0] & 0xf;
	h->dscp = at[1] >> 2;
	h->ecn = at[1] & 3;
	h->fragment = get16(at + 6) & 0x3fff;
	h->ttl = at[8];
	h->ip_protocol = at[9];
	h->src[3] = get32(at + 12);
	h->dst[3] = get32(at + 16);
	c->at += (size_t)h->ihl * 4;
	return has(c, 0);
}

static bool ipv6_read(struct cursor *c, struct mlx5_headers *h)
{
	const uint8_t *at = here(c);

	if (!has(c, 40))
		return false;
	h->ip_version = 6;
	h->dscp = get32(at) >> 22 & 0x3f;
	h->ecn = get32(at) >> 20 & 3;
	h->flow_label = get32(at) & 0xfffff;
	h->ip_protocol = at[6];
	h->ttl = at[7];
	for (int i = 0; i < 4; i++) {
		h->src[i] = get32(at + 8 + 4 * i);
		h->dst[i] = get32(at + 24 + 4 * i);
	}
	c->at += 40;
	return true;
}

static bool l4_read(struct cursor *c, struct mlx5_headers *h)
{
	const uint8_t *at = here(c);

	h->l4_at = c->at;
	if (h->fragment || (h->ip_protocol != PROTOCOL_TCP && h->ip_protocol != PROTOCOL_UDP))
		return true;
	if (!has(c, h->ip_protocol == PROTOCOL_TCP ? 20 : 8))
		return false;
	h->l4 = h->ip_protocol == PROTOCOL_TCP ? 1 : 2;
	h->sport = get16(at);
	h->dport = get16(at + 2);
	if (h->l4 == 1) {
		h->seq = get32(at + 4);
		h->ack = get32(at + 8);
		h->tcp_flags = get16(at + 12) & 0x1ff;
	} else {
		c->at += 8;
	}
	return true;
}

static bool ip_read(struct cursor *c, struct mlx5_headers *h)
{
	h->ip_at = c->at;
	if (h->ethertype == TYPE_MPLS && has(c, 4)) {
		h->mpls = get32(here(c));
		return true;
	}
	if (h->ethertype == TYPE_IPV4)
		return ipv4_read(c, h) && l4_read(c, h);
	return h->ethertype != TYPE_IPV6 || (ipv6_read(c, h) && l4_read(c, h));
}

/* ---- tunnels */

static bool inner_read(struct mlx5_packet *p, struct cursor *c, uint16_t type)
{
	struct mlx5_headers *h = &p->headers[1];

	if (type == TYPE_ETHERNET && !has(c, MACS + 2))
		return true;
	if (type == TYPE_ETHERNET)
		return ethernet_read(c, h) && ip_read(c, h);
	if (!has(c, 20) || (type != TYPE_IPV4 && type != TYPE_IPV6))
		return true;
	h->exists = true;
	h->ethertype = type;
	return ip_read(c, h);
}

static bool gtpu_read(struct mlx5_packet *p, struct cursor *c)
{
	if (!has(c, 8))
		return false;
	p->gtpu[0] = get32(here(c));
	p->gtpu[1] = get32(here(c) + 4);
	c->at += 8;
	if (!has(c, 1))
		return true;
	return inner_read(p, c, *here(c) >> 4 == 4 ? TYPE_IPV4 : TYPE_IPV6);
}

static bool geneve_read(struct mlx5_packet *p, struct cursor *c)
{
	size_t options;

	if (!has(c, 8))
		return false;
	p->geneve[0] = get32(here(c));
	p->geneve[1] = get32(here(c) + 4);
	options = (p->geneve[0] >> 24 & 0x3f) * 4;
	c->at += 8;
	if (!has(c, options))
		return false;
	if (options >= 8)
		p->geneve_option = get32(here(c) + 4);
	c->at += options;
	return inner_read(p, c, p->geneve[0]);
}

static bool udp_tunnel_read(struct mlx5_packet *p, struct cursor *c)
{
	switch (p->headers[0].dport) {
	case PORT_VXLAN:
		if (!has(c, 8))
			return false;
		p->vni = get32(here(c) + 4) & ~0xffu;
		c->at += 8;
		return inner_read(p, c, TYPE_ETHERNET);
	case PORT_GPE:
		if (!has(c, 8))
			return false;
		p->gpe[0] = get32(here(c));
		p->gpe[1] = get32(here(c) + 4) & ~0xffu;
		c->at += 8;
		return inner_read(p, c, TYPE_ETHERNET);
	case PORT_GENEVE:
		return geneve_read(p, c);
	case PORT_GTPU:
		return gtpu_read(p, c);
	case PORT_MPLS:
		p->mpls_udp = has(c, 4) ? get32(here(c)) : 0;
		return true;
	case PORT_ROCE:
		for (size_t i = 0; i < 3; i++)
			p->bth[i] = has(c, 4 * i + 4) ? get32(here(c) + 4 * i) : 0;
		return true;
	default:
		return true;
	}
}

static bool gre_read(struct mlx5_packet *p, struct cursor *c)
{
	if (!has(c, 4))
		return false;
	p->gre = get32(here(c));
	c->at += p->gre & GRE_HAS_CHECKSUM ? 8 : 4;
	if (p->gre & GRE_HAS_KEY) {
		p->gre_key = has(c, 4) ? get32(here(c)) : 0;
		c->at += 4;
	}
	if ((p->gre & 0xffff) == TYPE_MPLS)
		p->mpls_gre = has(c, 4) ? get32(here(c)) : 0;
	return inner_read(p, c, p->gre);
}

static bool tunnel_read(struct mlx5_packet *p, struct cursor *c)
{
	const struct mlx5_headers *h = &p->headers[0];
	uint32_t *icmp = h->ip_protocol == PROTOCOL_ICMP ? p->icmp : p->icmpv6;

	if (h->l4 == 2)
		return udp_tunnel_read(p, c);
	if (h->ip_protocol == PROTOCOL_GRE)
		return gre_read(p, c);
	if ((h->ip_protocol == PROTOCOL_ICMP || h->ip_protocol == PROTOCOL_ICMPV6) && has(c, 8)) {
		icmp[0] = get32(here(c)) & 0xffff0000;
		icmp[1] = get32(here(c) + 4);
	}
	return true;
}

bool mlx5_packet_read(struct mlx5_packet *p)
{
	struct cursor c = { .p = p };

	memset(p->headers, 0, sizeof(p->headers));
	p->vni = p->gre = p->gre_key = p->geneve_option = p->gtpu_extension = p->mpls_gre =
		p->mpls_udp = 0;
	memset(p->gpe, 0, sizeof(p->gpe));
	memset(p->geneve, 0, sizeof(p->geneve));
	memset(p->gtpu, 0, sizeof(p->gtpu));
	memset(p->bth, 0, sizeof(p->bth));
	memset(p->icmp, 0, sizeof(p->icmp));
	memset(p->icmpv6, 0, sizeof(p->icmpv6));
	return ethernet_read(&c, &p->headers[0]) && ip_read(&c, &p->headers[0]) &&
	       (!p->headers[0].ip_version || tunnel_read(p, &c));
}

bool mlx5_packet_remove(struct mlx5_packet *p, size_t at, size_t length)
{
	if (at > p->length || length > p->length - at)
		return false;
	memmove(p->bytes + at, p->bytes + at + length, p->length - at - length);
	p->length -= length;
	return true;
}

bool mlx5_packet_insert(struct mlx5_packet *p, size_t at, const uint8_t *bytes, size_t length)
{
	if (at > p->length || length > sizeof(p->bytes) - p->length)
		return false;
	memmove(p->bytes + at + length, p->bytes + at, p->length - at);
	memcpy(p->bytes + at, bytes, length);
	p->length += length;
	return true;
}
