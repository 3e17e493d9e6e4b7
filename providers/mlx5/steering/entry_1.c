/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Entries of formats 1 to 3. The adapter reads the mask before the tag. A wide entry has no mask,
 * and more room for actions.
 */
#include "providers/mlx5/steering/apply.h"

/* Offsets of words of the control part. */
enum {
	COUNTER = 0x00,	  /* and the high byte of the own lookup type */
	MISS_HIGH = 0x04, /* and its low byte */
	MISS_LOW = 0x08,
	HIT_HIGH = 0x0c, /* and the next lookup type */
	HIT_LOW = 0x10,
	HASH = 0x14, /* wide entries: actions */
};

enum {
	NEVER = 0xdc, /* byte of a tag that no key equals, because the mask is 0 */
};

static const uint32_t function_mask = 0xffff0000, hash_mask = 0xffff8000;

static void own_set(uint8_t *image, uint16_t lookup)
{
	dr_word_set(image, COUNTER, 0xff000000, (uint32_t)(lookup >> 8) << 24);
	dr_word_set(image, MISS_HIGH, 0xff00, (uint32_t)(lookup & 0xff) << 8);
}

static void set_next(uint8_t *image, uint16_t lookup, uint16_t byte_mask)
{
	if (!dr_image_is_wide(image))
		dr_word_set(image, HASH, hash_mask,
			    (uint32_t)byte_mask << 16 | (lookup >> 8 & 1) << 15);
	dr_word_set(image, HIT_HIGH, 0xff00, (uint32_t)(lookup & 0xff) << 8);
}

static void set_hit_function(uint8_t *image, uint16_t function)
{
	dr_word_set(image, HIT_HIGH, function_mask, (uint32_t)function << 16);
}

static void init(uint8_t *image, uint16_t lookup, uint16_t function, enum dr_half half)
{
	memset(image, 0, DR_IMAGE_SIZE);
	own_set(image, lookup);
	dr_word_set(image, MISS_HIGH, function_mask, (uint32_t)function << 16);
	if (!dr_image_is_wide(image))
		dr_word_set(image, HASH, 0x3fff, function);
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
	set_next(image, DR_LOOKUP_NONE, 0);
	dr_word_set(image, HIT_HIGH, 0xff, 0xff);
	dr_word_set(image, HIT_LOW, 0xffffffe0, ~0u);
	set_miss(image, address);
	memset(dr_image_tag(image), 0, DR_WIDE_KEY_SIZE);
	*dr_image_tag(image) = NEVER;
}

/* Let every packet hit. An entry in front of a table of wide entries must be wide, too. */
static void always_hit(uint8_t *image, const struct dr_target *to)
{
	bool wide = dr_lookup_is_wide(to->lookup);

	dr_word_set(image, COUNTER, 0xff000000, wide ? DR_LOOKUP_WIDE << 16 : 0);
	if (wide) {
		set_miss(image, 0);
		dr_word_set(image, HASH, ~0u, 0);
	}
	set_next(image, to->lookup, to->byte_mask);
	set_hit(image, to->address, to->entries);
	memset(dr_image_tag(image), 0, DR_WIDE_KEY_SIZE);
}

static void wire(const uint8_t *image, const uint8_t *mask, uint8_t wire[DR_ENTRY_SIZE])
{
	if (dr_image_is_wide(image)) {
		memcpy(wire, image, DR_IMAGE_SIZE);
		return;
	}
	memcpy(wire, image, DR_CONTROL_SIZE);
	if (mask)
		memcpy(wire + DR_CONTROL_SIZE, mask, DR_KEY_SIZE);
	else
		memset(wire + DR_CONTROL_SIZE, 0, DR_KEY_SIZE);
	memcpy(wire + DR_CONTROL_SIZE + DR_KEY_SIZE, image + DR_CONTROL_SIZE, DR_KEY_SIZE);
}

const struct dr_format dr_format_1 = {
	.init = init,
	.set_hit = set_hit,
	.set_hit_function = set_hit_function,
	.set_next = set_next,
	.set_miss = set_miss,
	.get_miss = get_miss,
	.always_miss = always_miss,
	.always_hit = always_hit,
	.wire = wire,
	.apply = dr_apply_1,
};
