/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What entries of all formats have. An address has 40 bits. A hit address has the number of entries
 * there, a power of 2, in its lowest bits, which are 0 otherwise.
 */
#include "providers/mlx5/steering/steering.h"

enum {
	ADDRESS_SHIFT = 5,
	LOW_BITS = 27, /* of a shifted hit address */
};

static const uint32_t miss_low_mask = 0xffffffc0;

uint32_t dr_word_get(const uint8_t *image, unsigned int offset)
{
	__be32 word;

	memcpy(&word, image + offset, sizeof(word));
	return be32toh(word);
}

void dr_word_set(uint8_t *image, unsigned int offset, uint32_t mask, uint32_t value)
{
	__be32 word = htobe32((dr_word_get(image, offset) & ~mask) | (value & mask));

	memcpy(image + offset, &word, sizeof(word));
}

void dr_hit_set(uint8_t *image, unsigned int high, unsigned int low, uint64_t address,
		uint32_t entries)
{
	uint64_t value = address >> ADDRESS_SHIFT | entries;

	dr_word_set(image, high, 0xff, value >> LOW_BITS);
	dr_word_set(image, low, 0xffffffe0, (uint32_t)value << ADDRESS_SHIFT);
}

void dr_miss_set(uint8_t *image, unsigned int high, unsigned int low, uint64_t address)
{
	dr_word_set(image, high, 0xff, address >> 32);
	dr_word_set(image, low, miss_low_mask, address);
}

uint64_t dr_miss_get(const uint8_t *image, unsigned int high, unsigned int low)
{
	return (uint64_t)(dr_word_get(image, high) & 0xff) << 32 |
	       (dr_word_get(image, low) & miss_low_mask);
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

static uint32_t narrow_hash(const uint8_t *tag, uint16_t byte_mask)
{
	uint32_t value = 0;

	for (unsigned int i = 0; i < DR_KEY_SIZE; i++)
		value = crc_step(value, byte_mask >> (DR_KEY_SIZE - 1 - i) & 1 ? tag[i] : 0);
	return value;
}

static uint32_t wide_hash(const uint8_t *tag)
{
	uint32_t value = 0;

	for (unsigned int i = 0; i < DR_WIDE_KEY_SIZE; i++)
		value = crc_step(value, tag[i]);
	return value;
}

uint32_t dr_image_slot(const uint8_t *image, uint16_t byte_mask, unsigned int order)
{
	const uint8_t *tag = image + DR_CONTROL_SIZE;

	if (!order)
		return 0;
	return __builtin_bswap32(dr_image_is_wide(image) ? wide_hash(tag)
							 : narrow_hash(tag, byte_mask)) &
	       ((1u << order) - 1);
}
