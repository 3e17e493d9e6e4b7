/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inline data of requests. */
#ifndef PROVIDERS_KIT_BYTES_H
#define PROVIDERS_KIT_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "util/util.h"

/* Copy fewer than 64 bytes without a function call. */
__attribute__((always_inline)) static inline void kit_bytes_copy(char *to, const char *from,
								 uint32_t length)
{
#pragma GCC unroll 4
	for (uint32_t part = 32; part >= 4; part /= 2)
		if (length & part) {
			memcpy(to, from, part);
			to += part;
			from += part;
		}
	for (length &= 3; unlikely(length); length--)
		*to++ = *from++;
}

/* Load eight bytes as a little-endian number. */
static inline uint64_t kit_bytes_load_64(const char *from)
{
	uint64_t raw;

	memcpy(&raw, from, sizeof(raw));
	return le64toh(raw);
}

/* Load fewer than eight bytes as a little-endian number. */
static inline uint64_t kit_bytes_load(const char *from, uint32_t length)
{
	uint32_t at = length & 4;
	uint64_t value = 0;
	uint32_t raw_32;
	uint16_t raw_16;

	if (at) {
		memcpy(&raw_32, from, sizeof(raw_32));
		value = le32toh(raw_32);
	}
	if (length & 2) {
		memcpy(&raw_16, from + at, sizeof(raw_16));
		value |= (uint64_t)le16toh(raw_16) << 8 * at;
		at += 2;
	}
	if (length & 1)
		value |= (uint64_t)(uint8_t)from[at] << 8 * at;
	return value;
}

#endif
