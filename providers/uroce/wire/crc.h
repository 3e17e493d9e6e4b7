/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ethernet's CRC32, in the fastest way this processor has. */
#ifndef UROCE_CRC_H
#define UROCE_CRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* @crc is 0, or what was returned for the bytes in front of these. */
uint32_t uroce_crc32(uint32_t crc, const uint8_t *data, size_t length);

/* The same by tables, which every processor can; see crc_table.c. */
uint32_t uroce_crc32_table(uint32_t crc, const uint8_t *data, size_t length);

/* --- for tests --- */

/* The same by exclusive or alone, see crc.c. */
uint32_t uroce_crc32_fold(uint32_t crc, const uint8_t *data, size_t length);

#endif
