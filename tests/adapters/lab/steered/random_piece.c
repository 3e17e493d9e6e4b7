/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Random frames and masks. Frames take their values from small sets, so that many of them match a
 * rule. */
#include "tests/adapters/lab/steered/random.h"

enum {
	HAS_VLAN = 0x1000,
};

static const uint64_t whole[PIECES] = {
	[PIECE_DMAC] = 0xffffffffffff,
	[PIECE_SMAC] = 0xffffffffffff,
	[PIECE_VLAN] = 0x1fff,
	[PIECE_ETHERTYPE] = 0xffff,
	[PIECE_VERSION] = 0xf,
	[PIECE_SRC_HIGH] = ~0ull,
	[PIECE_SRC_LOW] = ~0ull,
	[PIECE_DST_HIGH] = ~0ull,
	[PIECE_DST_LOW] = ~0ull,
	[PIECE_SRC] = 0xffffffff,
	[PIECE_DST] = 0xffffffff,
	[PIECE_DSCP] = 0x3f,
	[PIECE_TTL] = 0xff,
	[PIECE_PROTOCOL] = 0xff,
	[PIECE_UDP_SPORT] = 0xffff,
	[PIECE_UDP_DPORT] = 0xffff,
	[PIECE_TCP_SPORT] = 0xffff,
	[PIECE_TCP_DPORT] = 0xffff,
	[PIECE_TCP_FLAGS] = 0x1ff,
};

uint32_t random_below(uint32_t limit)
{
	static uint64_t state;

	if (!state) {
		const char *seed = getenv("STEERED_SEED");

		state = seed ? strtoull(seed, NULL, 0) : 1;
	}
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % limit;
}

static bool one_in(uint32_t n)
{
	return !random_below(n);
}

struct frame random_frame(void)
{
	struct frame f = {
		.dmac = 0x020000000000 | (uint64_t)random_below(4) << 24 | random_below(16),
		.smac = 0x060000000000 | (uint64_t)random_below(4) << 32 | random_below(16),
		.vlan = one_in(2) ? 1 + random_below(6) : 0,
		.ethertype = one_in(8)	 ? 0x9000 + random_below(4)
			     : one_in(2) ? IPV4
					 : IPV6,
		.protocol = one_in(2) ? TCP : UDP,
		.ttl = 60 + random_below(8),
		.dscp = random_below(8),
		.sport = 1000 + random_below(32),
		.dport = 4770 + random_below(32),
	};

	for (int i = 0; i < 4; i++) {
		f.src[i] = 0x0a000000 | random_below(3) << 16 | random_below(i == 3 ? 48 : 2);
		f.dst[i] = 0x0b000000 | random_below(3) << 16 | random_below(i == 3 ? 48 : 2);
	}
	if (f.protocol == TCP)
		f.flags = random_below(0x40);
	return f;
}

struct pieces pieces_of(const struct frame *f)
{
	bool is_4 = f->ethertype == IPV4, is_6 = f->ethertype == IPV6, is_ip = is_4 || is_6;
	bool is_tcp = is_ip && f->protocol == TCP, is_udp = is_ip && f->protocol == UDP;
	struct pieces p = { {
		[PIECE_DMAC] = f->dmac,
		[PIECE_SMAC] = f->smac,
		[PIECE_VLAN] = f->vlan ? HAS_VLAN | f->vlan : 0,
		[PIECE_ETHERTYPE] = f->ethertype,
		[PIECE_VERSION] = is_4	 ? 4
				  : is_6 ? 6
					 : 0,
		[PIECE_SRC] = is_ip ? f->src[3] : 0,
		[PIECE_DST] = is_ip ? f->dst[3] : 0,
		[PIECE_DSCP] = is_ip ? f->dscp : 0,
		[PIECE_TTL] = is_ip ? f->ttl : 0,
		[PIECE_PROTOCOL] = is_ip ? f->protocol : 0,
		[PIECE_UDP_SPORT] = is_udp ? f->sport : 0,
		[PIECE_UDP_DPORT] = is_udp ? f->dport : 0,
		[PIECE_TCP_SPORT] = is_tcp ? f->sport : 0,
		[PIECE_TCP_DPORT] = is_tcp ? f->dport : 0,
		[PIECE_TCP_FLAGS] = is_tcp ? f->flags : 0,
	} };

	if (is_6) {
		p.of[PIECE_SRC_HIGH] = (uint64_t)f->src[0] << 32 | f->src[1];
		p.of[PIECE_SRC_LOW] = (uint64_t)f->src[2] << 32 | f->src[3];
		p.of[PIECE_DST_HIGH] = (uint64_t)f->dst[0] << 32 | f->dst[1];
		p.of[PIECE_DST_LOW] = (uint64_t)f->dst[2] << 32 | f->dst[3];
	}
	return p;
}

bool pieces_match(const struct pieces *a, const struct pieces *b, const struct pieces *masks)
{
	for (int i = 0; i < PIECES; i++)
		if ((a->of[i] ^ b->of[i]) & masks->of[i])
			return false;
	return true;
}

/* Compare a whole piece, a part of it that includes its four highest bits, or nothing. */
static void mask_draw(struct pieces *masks, enum piece piece)
{
	uint64_t all = whole[piece], part = random_below(1u << 31);

	part = (part << 31 | random_below(1u << 31)) & all;
	if (random_below(2))
		masks->of[piece] = random_below(3) ? all : part | (all ^ all >> 4);
}

static void masks_draw(struct pieces *masks, const enum piece *pieces, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		mask_draw(masks, pieces[i]);
}

/* A mask that compares ports also compares the protocol. */
static void transport_draw(struct pieces *masks)
{
	static const enum piece udp[] = { PIECE_UDP_SPORT, PIECE_UDP_DPORT };
	static const enum piece tcp[] = { PIECE_TCP_SPORT, PIECE_TCP_DPORT, PIECE_TCP_FLAGS };

	masks->of[PIECE_PROTOCOL] = 0xff;
	if (one_in(2))
		masks_draw(masks, udp, 2);
	else
		masks_draw(masks, tcp, 3);
}

/* A mask that compares fields behind the Ethernet header also compares the version of IP. */
static void network_draw(struct pieces *masks, unsigned version)
{
	static const enum piece any[] = { PIECE_SRC, PIECE_DST, PIECE_DSCP, PIECE_TTL };
	static const enum piece six[] = { PIECE_SRC_HIGH, PIECE_SRC_LOW, PIECE_DST_HIGH,
					  PIECE_DST_LOW };

	masks->of[PIECE_VERSION] = 0xf;
	masks_draw(masks, any, 4);
	if (version == 6 && one_in(2)) {
		masks->of[PIECE_SRC] = masks->of[PIECE_DST] = 0;
		masks_draw(masks, six, 4);
	}
	if (one_in(2))
		transport_draw(masks);
}

struct pieces random_masks(unsigned *ret_version)
{
	static const enum piece macs[] = { PIECE_DMAC, PIECE_SMAC };
	struct pieces masks = { 0 };

	*ret_version = one_in(2) ? 4 : 6;
	masks_draw(&masks, macs, 2);
	if (one_in(3))
		masks.of[PIECE_VLAN] = whole[PIECE_VLAN];
	if (one_in(3))
		masks.of[PIECE_ETHERTYPE] = whole[PIECE_ETHERTYPE];
	else if (!one_in(4))
		network_draw(&masks, *ret_version);
	if (!masks.of[PIECE_DMAC] && !masks.of[PIECE_SRC])
		masks.of[PIECE_DMAC] = whole[PIECE_DMAC];
	return masks;
}

static void address_write(struct match *m, struct field last, uint64_t high, uint64_t low)
{
	const uint32_t words[4] = { high >> 32, high, low >> 32, low };

	set_ipv6(m, last, words);
}

struct match pieces_write(const struct pieces *pieces, const struct pieces *masks)
{
	static const struct {
		enum piece piece;
		const struct field *field;
	} plain_pieces[] = {
		{ PIECE_ETHERTYPE, &ethertype }, { PIECE_VERSION, &ip_version },
		{ PIECE_DSCP, &dscp },		 { PIECE_TTL, &ttl },
		{ PIECE_PROTOCOL, &protocol },	 { PIECE_UDP_SPORT, &udp_sport },
		{ PIECE_UDP_DPORT, &udp_dport }, { PIECE_TCP_SPORT, &tcp_sport },
		{ PIECE_TCP_DPORT, &tcp_dport }, { PIECE_TCP_FLAGS, &tcp_flags },
	};
	struct match m = { .size = sizeof(m.words) };
	struct pieces p;

	for (int i = 0; i < PIECES; i++)
		p.of[i] = pieces->of[i] & masks->of[i];
	set_mac(&m, dmac_high, dmac_low, p.of[PIECE_DMAC]);
	set_mac(&m, smac_high, smac_low, p.of[PIECE_SMAC]);
	set(&m, cvlan, p.of[PIECE_VLAN] / HAS_VLAN);
	set(&m, vlan_id, p.of[PIECE_VLAN]);
	for (size_t i = 0; i < sizeof(plain_pieces) / sizeof(plain_pieces[0]); i++)
		set(&m, *plain_pieces[i].field, p.of[plain_pieces[i].piece]);
	address_write(&m, src_0, p.of[PIECE_SRC_HIGH], p.of[PIECE_SRC_LOW] | p.of[PIECE_SRC]);
	address_write(&m, dst_0, p.of[PIECE_DST_HIGH], p.of[PIECE_DST_LOW] | p.of[PIECE_DST]);
	return m;
}
