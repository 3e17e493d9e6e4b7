/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The CRC of eight bytes at a time, with one table for each position in the word: a byte's
 * contribution to the CRC depends only on the byte and on its position. For processors that isa-l
 * does not support, and for static programs, because isa-l exists only as a shared library.
 */
#include <endian.h>
#include <string.h>

#include "providers/uroce/wire/crc.h"
#include "util/once.h"

#define POLYNOMIAL 0xedb88320u /* polynomial of Ethernet; x^0 is the most significant bit */

enum {
	WORD = sizeof(uint64_t),
};

/* [n][b]: contribution of byte b if n more bytes follow */
static uint32_t table[WORD][256];

static void table_fill(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;

		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
		table[0][byte] = crc;
	}
	for (int n = 1; n < WORD; n++)
		for (uint32_t byte = 0; byte < 256; byte++) {
			uint32_t before = table[n - 1][byte];

			table[n][byte] = before >> 8 ^ table[0][before & 0xff];
		}
}

static uint32_t word_crc(uint32_t crc, const uint8_t *data)
{
	uint64_t word;

	memcpy(&word, data, sizeof(word));
	word = le64toh(word) ^ crc;
	crc = 0;
	for (int n = WORD - 1; n >= 0; n--, word >>= 8)
		crc ^= table[n][word & 0xff];
	return crc;
}

uint32_t uroce_crc32_table(uint32_t crc, const uint8_t *data, size_t length)
{
	static struct once once = ONCE_INIT;

	once_run(&once, table_fill);
	crc = ~crc;
	for (; length >= WORD; length -= WORD, data += WORD)
		crc = word_crc(crc, data);
	for (; length; length--, data++)
		crc = crc >> 8 ^ table[0][(crc ^ *data) & 0xff];
	return ~crc;
}
