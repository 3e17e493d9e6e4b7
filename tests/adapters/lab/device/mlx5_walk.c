/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Follow steering entries. Each entry compares a packet, and names the next entry. */
#include "tests/adapters/lab/device/mlx5_key.h"
#include "tests/adapters/lab/device/mlx5_steering.h"

enum {
	ENTRIES_MOST = 4096, /* a packet that passes more is in a cycle */
	FORMAT_MATCH = 4,
	CONTROL = 32,
};

/* Hit address of an entry that always misses. */
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
	const uint8_t *bytes, *tag, *mask;
	bool is_match;
	unsigned own, next; /* lookup types */
	uint64_t hit;	    /* address >> 5, with the number of entries */
	uint64_t miss;
	uint16_t byte_mask;
};

static struct entry entry_read_0(const uint8_t *bytes)
{
	return (struct entry){
		.bytes = bytes,
		.tag = bytes + CONTROL,
		.mask = bytes + CONTROL + KEY_SIZE,
		.own = bytes[1],
		.next = bytes[6],
		.hit = (uint64_t)bytes[7] << 27 | get32(bytes + 8) >> 5,
		.miss = (uint64_t)bytes[0x1b] << 32 | (get32(bytes + 0x1c) & ~0x3fu),
		.byte_mask = get16(bytes + 2),
	};
}

static struct entry entry_read_1(const uint8_t *bytes)
{
	struct entry e = {
		.bytes = bytes,
		.tag = bytes + CONTROL + KEY_SIZE,
		.mask = bytes + CONTROL,
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

static struct entry entry_read(const uint8_t *bytes, int format)
{
	return format ? entry_read_1(bytes) : entry_read_0(bytes);
}

/* Write the key that a definer selects. */
static bool definer_key(const struct mlx5_packet *p, unsigned id, uint8_t key[WIDE_KEY_SIZE])
{
	const uint8_t *mask;
	int format;

	memset(key, 0, WIDE_KEY_SIZE);
	if (id == NO_LOOKUP)
		return true;
	format = mlx5_definer_find(id, &mask);
	if (format < 0 || !mlx5_key_make_wide(p, format, key))
		return false;
	for (int i = 0; i < WIDE_KEY_SIZE; i++)
		key[i] &= mask[i];
	return true;
}

/* 1: the entry hits, 0: it misses, -1: the model does not know its lookup type. */
static int is_hit(const struct entry *e, const struct mlx5_packet *p, int format)
{
	uint8_t key[WIDE_KEY_SIZE];

	if (format && e->hit == nowhere)
		return 0;
	if (e->is_match)
		return definer_key(p, e->own & 0xff, key)
			       ? !memcmp(e->bytes + CONTROL, key, sizeof(key))
			       : -1;
	if (!mlx5_key_make(p, format, e->own, key))
		return -1;
	for (int i = 0; i < KEY_SIZE; i++) {
		if ((key[i] & e->mask[i]) != e->tag[i])
			return 0;
	}
	return 1;
}

static int index_find(const struct entry *e, const struct mlx5_packet *p, int format,
		      uint32_t entries, uint32_t *ret)
{
	uint8_t key[WIDE_KEY_SIZE];
	const uint8_t *mask;

	/* An entry in front of wide entries is wide, and its next lookup type is a definer. */
	if (e->is_match && mlx5_definer_find(e->next, &mask) >= 0) {
		if (!definer_key(p, e->next, key))
			return EOPNOTSUPP;
		*ret = __builtin_bswap32(crc(key, sizeof(key))) % entries;
		return 0;
	}
	if (!mlx5_key_make(p, format, e->next, key))
		return EOPNOTSUPP;
	*ret = index_of(key, e->byte_mask, entries);
	return 0;
}

/* The address of the entry that the packet meets after a hit. */
static int next_of(const struct entry *e, const struct mlx5_packet *p, int format, uint64_t *ret)
{
	uint32_t entries = e->hit & -e->hit, index = 0;
	int r = entries > 1 ? index_find(e, p, format, entries, &index) : 0;

	*ret = ((e->hit & ~(uint64_t)entries) << 5) + (uint64_t)STE_SIZE * index;
	return r;
}

static int walk(struct mlx5_packet *p, uint64_t address, int format, struct lab_steered *ret)
{
	while (ret->entries < ENTRIES_MOST) {
		const uint8_t *bytes = mlx5_icm_find(address, STE_SIZE);
		struct entry e;
		int r;

		ret->at = address;
		if (!bytes) {
			address = mlx5_object_follow(p, address, ret);
			if (!address)
				return 0;
			ret->entries++;
			continue;
		}
		ret->entries++;
		e = entry_read(bytes, format);
		r = is_hit(&e, p, format);
		if (r < 0)
			return EOPNOTSUPP;
		address = e.miss;
		if (!r)
			continue;
		r = mlx5_act(p, bytes, format, ret);
		if (!r)
			r = next_of(&e, p, format, &address);
		if (r)
			return r;
	}
	return ELOOP;
}

int mlx5_walk(struct mlx5_packet *p, uint64_t address, struct lab_steered *ret)
{
	int r;

	*ret = (struct lab_steered){ 0 };
	r = walk(p, address, mlx5_steering_format(), ret);
	ret->length = p->length;
	memcpy(ret->frame, p->bytes, p->length);
	ret->reg_b = p->reg_b;
	memcpy(ret->reg_c, p->reg_c, sizeof(ret->reg_c));
	return r;
}
