/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Entries of format 0. The kind of an entry determines its possible actions. The adapter reads the
 * tag before the mask.
 */
#include "providers/mlx5/steering/apply.h"

/* Offsets of words of the control part. */
enum {
	OWN = 0x00,	 /* kind, own lookup type, bytes of the next hash */
	HIT_HIGH = 0x04, /* and the next lookup type */
	HIT_LOW = 0x08,
	FUNCTION = 0x0c,
	MISS_HIGH = 0x18,
	MISS_LOW = 0x1c,
};

enum {
	NEVER = 0xdc, /* byte of a tag that no key equals, because the mask is 0 */
};

static const uint32_t function_mask = 0xffff0000;

static void set_next(uint8_t *image, uint16_t lookup, uint16_t byte_mask)
{
	dr_word_set(image, OWN, 0xffff, byte_mask);
	dr_word_set(image, HIT_HIGH, 0xff00, (uint32_t)lookup << 8);
}

static void set_hit_function(uint8_t *image, uint16_t function)
{
	dr_word_set(image, HIT_HIGH, function_mask, (uint32_t)function << 16);
}

static void init(uint8_t *image, uint16_t lookup, uint16_t function, enum dr_half half)
{
	uint32_t kind = half == DR_RECEIVE ? DR_KIND_RECEIVE : DR_KIND_SEND;

	memset(image, 0, DR_IMAGE_SIZE);
	dr_word_set(image, OWN, ~0u, kind << DR_KIND_SHIFT | (uint32_t)lookup << 16);
	dr_word_set(image, FUNCTION, 0xffff, function);
	dr_word_set(image, MISS_HIGH, function_mask, (uint32_t)function << 16);
	set_hit_function(image, function);
	set_next(image, DR_LOOKUP_NONE, 0);
}

static void set_hit(uint8_t *image, uint64_t address, uint32_t entries)
{
	dr_hit_set(image, HIT_HIGH, HIT_LOW, address, entries);
}

static void set_miss(uint8_t *image, uint64_t address)
{
	dr_miss_set(image, MISS_HIGH, MISS_LOW, address);
}

static uint64_t get_miss(const uint8_t *image)
{
	return dr_miss_get(image, MISS_HIGH, MISS_LOW);
}

static void always_miss(uint8_t *image, uint64_t address)
{
	dr_word_set(image, HIT_HIGH, 0xff00, DR_LOOKUP_NONE << 8);
	set_miss(image, address);
	memset(dr_image_tag(image), 0, DR_KEY_SIZE);
	*dr_image_tag(image) = NEVER;
}

static void always_hit(uint8_t *image, const struct dr_target *to)
{
	set_next(image, to->lookup, to->byte_mask);
	set_hit(image, to->address, to->entries);
	memset(dr_image_tag(image), 0, DR_KEY_SIZE);
}

static void wire(const uint8_t *image, const uint8_t *mask, uint8_t wire[DR_ENTRY_SIZE])
{
	memcpy(wire, image, DR_NARROW_SIZE);
	if (mask)
		memcpy(wire + DR_NARROW_SIZE, mask, DR_KEY_SIZE);
	else
		memset(wire + DR_NARROW_SIZE, 0, DR_KEY_SIZE);
}

const struct dr_format dr_format_0 = {
	.init = init,
	.set_hit = set_hit,
	.set_hit_function = set_hit_function,
	.set_next = set_next,
	.set_miss = set_miss,
	.get_miss = get_miss,
	.always_miss = always_miss,
	.always_hit = always_hit,
	.wire = wire,
	.apply = dr_apply_0,
};
