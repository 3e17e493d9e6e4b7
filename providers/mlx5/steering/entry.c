/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Entries of formats 1 to 3: control part, tag and mask. The adapter reads the mask before the tag.
 * An address has 40 bits. A hit address has the number of entries there, a power of 2, in its
 * lowest bits, which are 0 otherwise.
 */
#include "providers/mlx5/steering/steering.h"

/* Offsets of words of the control part. */
enum {
	COUNTER = 0x00,
	MISS_HIGH = 0x04, /* and the own lookup type */
	MISS_LOW = 0x08,
	HIT_HIGH = 0x0c, /* and the next lookup type */
	HIT_LOW = 0x10,
	HASH = 0x14,
	ACTIONS = 0x18,
};

enum {
	ACTION_FLOW_TAG = 0x0c,
	NEVER = 0xdc, /* a tag whose mask is 0, which no key equals */
	ADDRESS_SHIFT = 5,
	LOW_BITS = 27, /* of a shifted hit address */
};

static const uint32_t miss_low_mask = 0xffffffc0, function_mask = 0xffff0000;

static uint32_t word_get(const uint8_t *image, unsigned int offset)
{
	__be32 word;

	memcpy(&word, image + offset, sizeof(word));
	return be32toh(word);
}

static void word_set(uint8_t *image, unsigned int offset, uint32_t mask, uint32_t value)
{
	__be32 word = htobe32((word_get(image, offset) & ~mask) | (value & mask));

	memcpy(image + offset, &word, sizeof(word));
}

void dr_entry_set_next(uint8_t *image, uint16_t lookup, uint16_t byte_mask)
{
	word_set(image, HASH, 0xffff8000, (uint32_t)byte_mask << 16 | (lookup >> 8 & 1) << 15);
	word_set(image, HIT_HIGH, 0xff00, (uint32_t)(lookup & 0xff) << 8);
}

void dr_entry_init(uint8_t *image, uint16_t lookup, uint16_t function)
{
	memset(image, 0, DR_IMAGE_SIZE);
	word_set(image, COUNTER, 0xff000000, (uint32_t)(lookup >> 8) << 24);
	word_set(image, MISS_HIGH, ~0xffu, (uint32_t)function << 16 | (lookup & 0xff) << 8);
	word_set(image, HASH, 0x3fff, function);
	dr_entry_set_hit_function(image, function);
	dr_entry_set_next(image, DR_LOOKUP_NONE, 0);
}

void dr_entry_set_hit(uint8_t *image, uint64_t address, uint32_t entries)
{
	uint64_t value = address >> ADDRESS_SHIFT | entries;

	word_set(image, HIT_HIGH, 0xff, value >> LOW_BITS);
	word_set(image, HIT_LOW, 0xffffffe0, (uint32_t)value << ADDRESS_SHIFT);
}

void dr_entry_set_hit_function(uint8_t *image, uint16_t function)
{
	word_set(image, HIT_HIGH, function_mask, (uint32_t)function << 16);
}

void dr_entry_set_miss(uint8_t *image, uint64_t address)
{
	word_set(image, MISS_HIGH, 0xff, address >> 32);
	word_set(image, MISS_LOW, miss_low_mask, address);
}

uint64_t dr_entry_miss(const uint8_t *image)
{
	return (uint64_t)(word_get(image, MISS_HIGH) & 0xff) << 32 |
	       (word_get(image, MISS_LOW) & miss_low_mask);
}

void dr_entry_set_tag(uint8_t *image, const uint8_t tag[DR_KEY_SIZE])
{
	memcpy(image + DR_CONTROL_SIZE, tag, DR_KEY_SIZE);
}

const uint8_t *dr_entry_tag(const uint8_t *image)
{
	return image + DR_CONTROL_SIZE;
}

void dr_entry_set_counter(uint8_t *image, uint32_t counter)
{
	word_set(image, COUNTER, 0xffffff, counter);
}

void dr_entry_set_flow_tag(uint8_t *image, uint32_t tag)
{
	word_set(image, ACTIONS, ~0u, (uint32_t)ACTION_FLOW_TAG << 24 | tag);
}

void dr_entry_always_miss(uint8_t *image, uint64_t address)
{
	static const uint8_t never[DR_KEY_SIZE] = { NEVER };

	dr_entry_set_next(image, DR_LOOKUP_NONE, 0);
	word_set(image, HIT_HIGH, 0xff, 0xff);
	word_set(image, HIT_LOW, 0xffffffe0, ~0u);
	dr_entry_set_miss(image, address);
	dr_entry_set_tag(image, never);
}

void dr_entry_always_hit(uint8_t *image, const struct dr_target *to)
{
	static const uint8_t any[DR_KEY_SIZE];

	dr_entry_set_next(image, to->lookup, to->byte_mask);
	dr_entry_set_hit(image, to->address, to->entries);
	dr_entry_set_tag(image, any);
}

void dr_entry_wire(const uint8_t *image, const uint8_t *mask, uint8_t wire[DR_ENTRY_SIZE])
{
	memcpy(wire, image, DR_CONTROL_SIZE);
	if (mask)
		memcpy(wire + DR_CONTROL_SIZE, mask, DR_KEY_SIZE);
	else
		memset(wire + DR_CONTROL_SIZE, 0, DR_KEY_SIZE);
	memcpy(wire + DR_CONTROL_SIZE + DR_KEY_SIZE, dr_entry_tag(image), DR_KEY_SIZE);
}

/* ---- the hash: CRC-32 of the selected bytes of the tag, without inversions, and byte-swapped */

static uint32_t crc_step(uint32_t value, uint8_t byte)
{
	/* The CRC of each value of four bits. */
	static const uint32_t nibbles[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};

	value ^= byte;
	value = value >> 4 ^ nibbles[value & 15];
	return value >> 4 ^ nibbles[value & 15];
}

uint32_t dr_entry_slot(const uint8_t *image, uint16_t byte_mask, unsigned int order)
{
	const uint8_t *tag = dr_entry_tag(image);
	uint32_t value = 0;

	if (!order)
		return 0;
	for (unsigned int i = 0; i < DR_KEY_SIZE; i++)
		value = crc_step(value, byte_mask >> (DR_KEY_SIZE - 1 - i) & 1 ? tag[i] : 0);
	return __builtin_bswap32(value) & ((1u << order) - 1);
}
