/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers and addresses as they lie in a program's memory. util/bytes.h has those that are
 * big-endian. */
#ifndef DEVICES_BYTES_H
#define DEVICES_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>
#include "util/bytes.h"

static inline void *bytes_pointer(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

static inline uint32_t bytes_power_of_two(uint32_t value)
{
	uint32_t power = 1;

	while (power < value)
		power <<= 1;
	return power;
}

static inline uint16_t bytes_le16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return le16toh(value);
}

static inline uint32_t bytes_le32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return le32toh(value);
}

static inline uint64_t bytes_le64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return le64toh(value);
}

#endif
