/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Follow the steering entries of format 1: each compares a packet, and names the next one. */
#include "tests/adapters/lab/device/mlx5_steering.h"

enum {
	ENTRIES_MOST = 4096, /* a packet that passes more is in a cycle */
	FORMAT_MATCH = 4,
	CONTROL = 32,
	MASK_AT = 32,
	TAG_AT = 48,
	ACTIONS_AT = 0x18,
	MATCH_ACTIONS_AT = 0x14,
	ACTION_TAG = 0x0c,
	ACTION_NOP = 0,
};

/* A hit address that leads nowhere: the entry always misses. */
static const uint64_t nowhere = (1ull << 35) - 1;

/* The polynomial of Ethernet's CRC without its inversions. */
static uint32_t crc(const uint8_t *bytes, size_t length)
{
	uint32_t value = 0;

	for (size_t i = 0; i < length; i++) {
		value ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			value = value >> 1 ^ (value & 1 ? 0xedb88320 : 0);
	}
	return value;
}

/* The index in a table of @entries by the bytes of the key that @byte_mask selects. */
static uint32_t index_of(const uint8_t *key, uint16_t byte_mask, uint32_t entries)
{
	uint8_t masked[KEY_SIZE];

	for (int i = 0; i < KEY_SIZE; i++)
		masked[i] = byte_mask >> (KEY_SIZE - 1 - i) & 1 ? key[i] : 0;
	return byte_mask ? __builtin_bswap32(crc(masked, KEY_SIZE)) % entries : 0;
}

/* The parts of an entry that all formats have. */
struct entry {
	const uint8_t *bytes;
	bool is_match;
	unsigned own, next; /* lookup types */
	uint64_t hit;	    /* address >> 5, with the number of entries */
	uint64_t miss;
	uint16_t byte_mask;
};

static struct entry entry_read(const uint8_t *bytes)
{
	struct entry e = {
		.bytes = bytes,
		.is_match = bytes[0] == FORMAT_MATCH,
		.own = (unsigned)bytes[0] << 8 | bytes[6],
		.next = bytes[14],
		.hit = (uint64_t)bytes[15] << 27 | get32(bytes + 0x10) >> 5,
		.miss = (uint64_t)bytes[7] << 32 | (get32(bytes + 8) & ~0x3fu),
	};

	if (!e.is_match) {
		e.next |= (get32(bytes + 0x14) >> 15 & 1) << 8;
		e.byte_mask = get32(bytes + 0x14) >> 16;
	}
	return e;
}

/* 1: the entry hits, 0: it misses, -1: the model does not know its lookup type. */
static int is_hit(const struct entry *e, const struct mlx5_headers *h)
{
	static const uint8_t zero[2 * KEY_SIZE];
	uint8_t key[KEY_SIZE];

	if (e->hit == nowhere)
		return 0;
	if (e->is_match)
		return (e->own & 0xff) == 0x0f
			       ? !memcmp(e->bytes + CONTROL, zero, 2 * (size_t)KEY_SIZE)
			       : -1;
	if (!mlx5_key_make(h, e->own, key))
		return -1;
	for (int i = 0; i < KEY_SIZE; i++) {
		if ((key[i] & e->bytes[MASK_AT + i]) != e->bytes[TAG_AT + i])
			return 0;
	}
	return 1;
}

/* Execute the actions of an entry that hits. */
static int act(const struct entry *e, struct lab_steered *ret)
{
	const uint8_t *actions = e->bytes + (e->is_match ? MATCH_ACTIONS_AT : ACTIONS_AT);
	uint32_t counter = get32(e->bytes) & 0xffffff;

	if (counter)
		ret->counter = counter;
	for (const uint8_t *at = actions; at < e->bytes + CONTROL; at += 4) {
		if (*at == ACTION_TAG) {
			ret->has_tag = true;
			ret->tag = get32(at) & 0xffffff;
		} else if (*at != ACTION_NOP) {
			return EOPNOTSUPP;
		}
	}
	return 0;
}

/* The address of the entry that the packet meets after a hit. */
static int next_of(const struct entry *e, const struct mlx5_headers *h, uint64_t *ret)
{
	uint32_t entries = e->hit & -e->hit;
	uint64_t base = (e->hit & ~(uint64_t)entries) << 5;
	uint8_t key[KEY_SIZE];

	*ret = base;
	if (entries <= 1)
		return 0;
	if (!mlx5_key_make(h, e->next, key))
		return EOPNOTSUPP;
	*ret = base + (uint64_t)STE_SIZE * index_of(key, e->byte_mask, entries);
	return 0;
}

int mlx5_walk(const struct mlx5_headers *h, uint64_t address, struct lab_steered *ret)
{
	*ret = (struct lab_steered){ 0 };
	while (ret->entries < ENTRIES_MOST) {
		const uint8_t *bytes = mlx5_icm_find(address, STE_SIZE);
		struct entry e;
		int r;

		ret->at = address;
		if (!bytes)
			return 0;
		ret->entries++;
		e = entry_read(bytes);
		r = is_hit(&e, h);
		if (r < 0)
			return EOPNOTSUPP;
		address = e.miss;
		if (!r)
			continue;
		r = act(&e, ret);
		if (!r)
			r = next_of(&e, h, &address);
		if (r)
			return r;
	}
	return ELOOP;
}
