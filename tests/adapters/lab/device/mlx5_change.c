/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changes of headers. A change names a word of the packet by a number, and bits of this word. Words
 * of format 0 have 64 bits. Words of later formats have 32 bits.
 */
#include "tests/adapters/lab/device/mlx5_packet.h"

#include <errno.h>
#include <string.h>
#include "tests/adapters/lab/device/bytes.h"

enum header {
	MAC,
	TYPE,
	VLAN,
	IPV4,
	IPV6,
	L4,
	REGISTER, /* offset: of the register's number */
};

enum {
	REG_A = 0x10,
	REG_B = 0x11,
};

/* Bits of a word are bits of a header: @bit counts from the first one on the wire. */
static const struct span {
	uint8_t word, low, width;
	enum header header;
	uint16_t bit;
} spans_1[] = {
	{ 0x00, 0, 32, MAC, 0 },	{ 0x01, 16, 16, MAC, 32 },    { 0x01, 0, 16, TYPE, 0 },
	{ 0x08, 0, 32, MAC, 48 },	{ 0x09, 16, 16, MAC, 80 },    { 0x02, 0, 16, VLAN, 16 },
	{ 0x0e, 18, 6, IPV4, 8 },	{ 0x0e, 16, 2, IPV4, 14 },    { 0x0e, 8, 8, IPV4, 64 },
	{ 0x0e, 18, 6, IPV6, 4 },	{ 0x0e, 16, 2, IPV6, 10 },    { 0x0e, 8, 8, IPV6, 56 },
	{ 0x18, 16, 16, L4, 0 },	{ 0x18, 0, 16, L4, 16 },      { 0x19, 16, 9, L4, 103 },
	{ 0x40, 0, 32, IPV4, 96 },	{ 0x41, 0, 32, IPV4, 128 },   { 0x4c, 0, 32, IPV6, 64 },
	{ 0x4d, 0, 32, IPV6, 96 },	{ 0x4e, 0, 32, IPV6, 128 },   { 0x4f, 0, 32, IPV6, 160 },
	{ 0x44, 0, 32, IPV6, 192 },	{ 0x45, 0, 32, IPV6, 224 },   { 0x46, 0, 32, IPV6, 256 },
	{ 0x47, 0, 32, IPV6, 288 },	{ 0x5e, 0, 32, L4, 32 },      { 0x5f, 0, 32, L4, 64 },
	{ 0x7c, 0, 32, REGISTER, REG_A }, { 0x7b, 0, 32, REGISTER, REG_B },
}, spans_0[] = {
	{ 0x00, 16, 32, MAC, 0 },	{ 0x00, 0, 16, MAC, 32 },     { 0x02, 32, 16, TYPE, 0 },
	{ 0x01, 16, 32, MAC, 48 },	{ 0x01, 0, 16, MAC, 80 },     { 0x02, 0, 16, VLAN, 16 },
	{ 0x04, 0, 6, IPV4, 8 },	{ 0x04, 6, 2, IPV4, 14 },     { 0x04, 8, 8, IPV4, 64 },
	{ 0x04, 0, 6, IPV6, 4 },	{ 0x04, 6, 2, IPV6, 10 },     { 0x04, 8, 8, IPV6, 56 },
	{ 0x08, 0, 16, L4, 0 },		{ 0x08, 16, 16, L4, 16 },     { 0x08, 48, 9, L4, 103 },
	{ 0x03, 0, 32, IPV4, 96 },	{ 0x03, 32, 32, IPV4, 128 },  { 0x06, 32, 32, IPV6, 64 },
	{ 0x06, 0, 32, IPV6, 96 },	{ 0x07, 32, 32, IPV6, 128 },  { 0x07, 0, 32, IPV6, 160 },
	{ 0x03, 32, 32, IPV6, 192 },	{ 0x03, 0, 32, IPV6, 224 },   { 0x05, 32, 32, IPV6, 256 },
	{ 0x05, 0, 32, IPV6, 288 },	{ 0x09, 32, 32, L4, 32 },     { 0x09, 0, 32, L4, 64 },
	{ 0x16, 0, 32, REGISTER, REG_A }, { 0x16, 32, 32, REGISTER, REG_B },
	{ 0x0c, 32, 32, REGISTER, 0 },	{ 0x0c, 0, 32, REGISTER, 1 }, { 0x0d, 32, 32, REGISTER, 2 },
	{ 0x0d, 0, 32, REGISTER, 3 },	{ 0x0e, 32, 32, REGISTER, 4 }, { 0x0e, 0, 32, REGISTER, 5 },
};

/* Words of the registers C of format 1; in later formats they are four higher. */
static const uint8_t registers[] = { 0x90, 0x91, 0x8e, 0x8f, 0x8c, 0x8d };

/* Return the bytes of a header, or NULL. */
static uint8_t *header_find(struct mlx5_packet *p, enum header header)
{
	struct mlx5_headers *h = &p->headers[0];

	switch (header) {
	case MAC:
		return p->bytes;
	case TYPE:
		return p->bytes + h->type_at;
	case VLAN:
		return h->vlan_at ? p->bytes + h->vlan_at : NULL;
	case IPV4:
		return h->ip_version == 4 ? p->bytes + h->ip_at : NULL;
	case IPV6:
		return h->ip_version == 6 ? p->bytes + h->ip_at : NULL;
	default:
		return h->l4 ? p->bytes + h->l4_at : NULL;
	}
}

static uint32_t *register_find(struct mlx5_packet *p, unsigned number)
{
	return number == REG_A ? &p->reg_a : number == REG_B ? &p->reg_b : &p->reg_c[number];
}

static bool span_is_here(struct mlx5_packet *p, const struct span *s)
{
	return s->header == REGISTER || header_find(p, s->header);
}

static bool span_bit(struct mlx5_packet *p, const struct span *s, unsigned i, const bool *set)
{
	unsigned at = s->bit + (s->width - 1 - i);
	uint8_t *byte;

	if (s->header == REGISTER) {
		uint32_t *reg = register_find(p, s->bit);

		if (set)
			*reg = (*reg & ~(1u << i)) | (uint32_t)*set << i;
		return *reg >> i & 1;
	}
	byte = header_find(p, s->header) + at / 8;
	if (set)
		*byte = (*byte & ~(0x80 >> at % 8)) | (*set ? 0x80 >> at % 8 : 0);
	return *byte >> (7 - at % 8) & 1;
}

/* Find the span that has a bit of a word. */
static const struct span *span_find(struct mlx5_packet *p, int format, unsigned word, unsigned bit)
{
	const struct span *spans = format ? spans_1 : spans_0;
	size_t count = format ? sizeof(spans_1) / sizeof(spans_1[0])
			      : sizeof(spans_0) / sizeof(spans_0[0]);
	static struct span reg = { .width = 32, .header = REGISTER };

	for (size_t i = 0; format && i < sizeof(registers); i++) {
		if (word == registers[i] + (format > 1 ? 4u : 0)) {
			reg.bit = i;
			return &reg;
		}
	}
	for (size_t i = 0; i < count; i++) {
		const struct span *s = &spans[i];

		if (s->word == word && bit >= s->low && bit < (unsigned)s->low + s->width &&
		    span_is_here(p, s))
			return s;
	}
	return NULL;
}

static bool bits_get(struct mlx5_packet *p, int format, unsigned word, unsigned low, unsigned width,
		     uint64_t *ret)
{
	*ret = 0;
	for (unsigned i = 0; i < width; i++) {
		const struct span *s = span_find(p, format, word, low + i);

		if (!s)
			return false;
		*ret |= (uint64_t)span_bit(p, s, low + i - s->low, NULL) << i;
	}
	return true;
}

/* Set bits of a word. Do not change a packet that has no such header. */
static void bits_set(struct mlx5_packet *p, int format, unsigned word, unsigned low, unsigned width,
		     uint64_t value)
{
	for (unsigned i = 0; i < width; i++) {
		const struct span *s = span_find(p, format, word, low + i);
		bool bit = value >> i & 1;

		if (s)
			span_bit(p, s, low + i - s->low, &bit);
	}
}

int mlx5_change(struct mlx5_packet *p, const uint8_t change[8], int format)
{
	static const uint8_t early[] = { 2, 3, 1 }, late[] = { 6, 7, 5 };
	const uint8_t *codes = format ? late : early;
	uint32_t head = get32(change), data = get32(change + 4);
	unsigned word = head >> 16 & 0xff, bias = format ? 0x20 : 0,
		 low = (head >> 8 & 0x3f) - bias, width = head & 0x3f;
	uint64_t value;

	if (!head)
		return 0;
	if (!width)
		width = 32;
	if (change[0] == codes[0]) {
		bits_set(p, format, word, low, width, data);
	} else if (change[0] == codes[1]) {
		if (bits_get(p, format, word, low, width, &value))
			bits_set(p, format, word, low, width, value + data);
	} else if (change[0] == codes[2]) {
		if (bits_get(p, format, data >> 16 & 0xff, (data >> 8 & 0x3f) - bias, width,
			     &value))
			bits_set(p, format, word, low, width, value);
	} else {
		return EOPNOTSUPP;
	}
	return mlx5_packet_read(p) ? 0 : EINVAL;
}
