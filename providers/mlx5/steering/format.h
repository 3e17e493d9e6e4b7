/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Formats of entries. An image is this library's copy of an entry: the control part, then the tag.
 * Format 0 is that of ConnectX-5 and has entries of three kinds. Formats 1 to 3 have wide entries,
 * too, whose tag has 32 bytes and no mask.
 *
 * Only files of this folder include this header. The functions take no lock.
 */
#ifndef MLX5_STEERING_FORMAT_H
#define MLX5_STEERING_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DR_ENTRY_SIZE = 64,    /* bytes in the adapter */
	DR_CONTROL_SIZE = 32,  /* bytes of an entry before mask and tag */
	DR_KEY_SIZE = 16,      /* bytes of a mask and of a tag */
	DR_WIDE_KEY_SIZE = 32, /* bytes of the tag of a wide entry */
	DR_NARROW_SIZE = 48,   /* bytes of an image that is not wide */
	DR_IMAGE_SIZE = 64,
	DR_LOOKUP_NONE = 0x0f,	/* lookup type of entries that compare nothing */
	DR_LOOKUP_WIDE = 0x400, /* bit of the lookup types of wide entries */
};

/* The two directions of packets in a domain. */
enum dr_half {
	DR_RECEIVE,
	DR_SEND,
	DR_HALVES,
};

/* The target of a hit or of a miss. */
struct dr_target {
	uint64_t address;
	uint32_t entries; /* size of the hash table; 1 also means a destination */
	uint16_t lookup, byte_mask;
};

struct dr_result;
struct dr_images;

struct dr_format {
	void (*init)(uint8_t *image, uint16_t lookup, uint16_t function, enum dr_half half);
	void (*set_hit)(uint8_t *image, uint64_t address, uint32_t entries);
	void (*set_hit_function)(uint8_t *image, uint16_t function);
	/* Set the lookup type and the bytes of the hash at the hit address. */
	void (*set_next)(uint8_t *image, uint16_t lookup, uint16_t byte_mask);
	void (*set_miss)(uint8_t *image, uint64_t address);
	uint64_t (*get_miss)(const uint8_t *image);
	/* Write an entry that every packet misses, or hits. */
	void (*always_miss)(uint8_t *image, uint64_t address);
	void (*always_hit)(uint8_t *image, const struct dr_target *to);
	/* Write the entry in the order of the adapter's memory. @mask: NULL means a mask of 0 */
	void (*wire)(const uint8_t *image, const uint8_t *mask, uint8_t wire[DR_ENTRY_SIZE]);
	/* Encode the actions of a rule in its last image, and in images behind it. Return 0 or a
	 * negative errno. */
	int (*apply)(const struct dr_result *result, struct dr_images *images);
};

extern const struct dr_format dr_format_0, dr_format_1;

/* ---- words of images */

uint32_t dr_word_get(const uint8_t *image, unsigned int offset);
void dr_word_set(uint8_t *image, unsigned int offset, uint32_t mask, uint32_t value);
/* Encode a hit address. @high: word for the high bits, in byte 3. @low: word for the low bits, from
 * bit 5 on */
void dr_hit_set(uint8_t *image, unsigned int high, unsigned int low, uint64_t address,
		uint32_t entries);
void dr_miss_set(uint8_t *image, unsigned int high, unsigned int low, uint64_t address);
uint64_t dr_miss_get(const uint8_t *image, unsigned int high, unsigned int low);

static inline bool dr_lookup_is_wide(uint16_t lookup)
{
	return lookup & DR_LOOKUP_WIDE;
}

/* Return whether an image is wide. In format 0 the high half of the first byte is the kind of the
 * entry. */
static inline bool dr_image_is_wide(const uint8_t *image)
{
	return image[0] == DR_LOOKUP_WIDE >> 8;
}

static inline uint8_t *dr_image_tag(uint8_t *image)
{
	return image + DR_CONTROL_SIZE;
}

/* Return the slot of a tag in a hash table of 2^order entries. */
uint32_t dr_image_slot(const uint8_t *image, uint16_t byte_mask, unsigned int order);

#endif
