/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys: the fields of a packet in the layout of a lookup type of format 1. */
#include "tests/adapters/lab/device/mlx5_steering.h"

enum {
	MACS = 12,
	VLAN_CUSTOMER = 0x8100,
	VLAN_SERVICE = 0x88a8,
	IPV4 = 0x0800,
	IPV6 = 0x86dd,
	TCP = 6,
	UDP = 17,
	NO_LOOKUP = 0x0f,
};

/* ---- frames */

static bool ports_read(const uint8_t *at, const uint8_t *end, struct mlx5_headers *h)
{
	if (h->ip_protocol != TCP && h->ip_protocol != UDP)
		return true;
	if (end - at < (h->ip_protocol == TCP ? 20 : 8))
		return false;
	h->l4 = h->ip_protocol == TCP ? 1 : 2;
	h->sport = get16(at);
	h->dport = get16(at + 2);
	if (h->ip_protocol == TCP)
		h->tcp_flags = get16(at + 12) & 0x1ff;
	return true;
}

static bool ipv4_read(const uint8_t *at, const uint8_t *end, struct mlx5_headers *h)
{
	if (end - at < 20)
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
	if (end - at < h->ihl * 4)
		return false;
	return h->fragment || ports_read(at + h->ihl * 4, end, h);
}

static bool ipv6_read(const uint8_t *at, const uint8_t *end, struct mlx5_headers *h)
{
	if (end - at < 40)
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
	return ports_read(at + 40, end, h);
}

bool mlx5_headers_read(const uint8_t *frame, size_t length, struct mlx5_headers *ret)
{
	const uint8_t *at = frame + MACS, *end = frame + length;

	*ret = (struct mlx5_headers){ 0 };
	if (length < MACS + 2)
		return false;
	ret->dmac = get64(frame) >> 16;
	ret->smac = (uint64_t)get32(frame + 6) << 16 | get16(frame + 10);
	if (get16(at) == VLAN_CUSTOMER || get16(at) == VLAN_SERVICE) {
		if (end - at < 6)
			return false;
		ret->vlan_kind = get16(at) == VLAN_CUSTOMER ? 2 : 1;
		ret->vlan = get16(at + 2);
		at += 4;
	}
	ret->ethertype = get16(at);
	at += 2;
	if (ret->ethertype == IPV4)
		return ipv4_read(at, end, ret);
	return ret->ethertype != IPV6 || ipv6_read(at, end, ret);
}

/* ---- keys */

static unsigned l3_of(const struct mlx5_headers *h)
{
	return h->ip_version == 4 ? 1 : h->ip_version == 6 ? 2 : 0;
}

static void store(uint8_t *key, const uint32_t words[4])
{
	for (int i = 0; i < 4; i++) {
		uint32_t word = htobe32(words[i]);

		memcpy(key + 4 * i, &word, sizeof(word));
	}
}

/* The addresses' layout has the destination's or the source's address. */
static void ethernet(const struct mlx5_headers *h, uint64_t mac, uint8_t *key)
{
	store(key,
	      (uint32_t[4]){ (uint32_t)h->fragment << 28 | l3_of(h) << 20 | (uint32_t)h->l4 << 18 |
				     (uint32_t)h->vlan_kind << 16 | h->vlan,
			     mac >> 16, (uint32_t)(mac & 0xffff) << 16 | h->ethertype, 0 });
}

static void both_addresses(const struct mlx5_headers *h, uint8_t *key)
{
	store(key, (uint32_t[4]){ h->dmac >> 16, h->smac >> 16,
				  (uint32_t)(h->dmac & 0xffff) << 16 | l3_of(h) << 4 | h->vlan_kind,
				  (uint32_t)h->vlan << 16 | (h->smac & 0xffff) });
}

static void five_tuple(const struct mlx5_headers *h, uint8_t *key)
{
	store(key, (uint32_t[4]){ h->src[3], h->dst[3], (uint32_t)h->sport << 16 | h->dport,
				  (uint32_t)h->fragment << 25 | (uint32_t)h->tcp_flags << 16 |
					  (uint32_t)h->dscp << 10 | (uint32_t)h->ecn << 8 |
					  h->ip_protocol });
}

static void ipv6_ports(const struct mlx5_headers *h, uint8_t *key)
{
	store(key, (uint32_t[4]){ (uint32_t)h->ip_version << 28 | (uint32_t)h->dscp << 18 |
					  (uint32_t)h->ecn << 16 | (uint32_t)h->ttl << 8 |
					  h->ip_protocol,
				  (uint32_t)h->sport << 16 | h->dport, h->flow_label,
				  (uint32_t)h->fragment << 25 | (uint32_t)h->tcp_flags << 16 });
}

bool mlx5_key_make(const struct mlx5_headers *h, unsigned lookup, uint8_t key[KEY_SIZE])
{
	switch (lookup) {
	case 0x0003:
		ethernet(h, h->dmac, key);
		return true;
	case 0x0005:
		ethernet(h, h->smac, key);
		return true;
	case 0x000b:
		both_addresses(h, key);
		return true;
	case 0x0007:
		five_tuple(h, key);
		return true;
	case 0x000d:
		store(key, (uint32_t[4]){ 0, 0,
					  (uint32_t)h->ip_version << 28 | (uint32_t)h->ihl << 24 |
						  (uint32_t)h->ttl << 16,
					  0 });
		return true;
	case 0x0107:
		store(key, h->dst);
		return true;
	case 0x0109:
		store(key, h->src);
		return true;
	case 0x0009:
		ipv6_ports(h, key);
		return true;
	case NO_LOOKUP:
		memset(key, 0, KEY_SIZE);
		return true;
	default:
		return false;
	}
}
