/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CRC32 of Ethernet, by the fastest method of this processor. */
#ifndef UROCE_CRC_H
#define UROCE_CRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return the CRC. @crc: 0, or the result for the bytes in front of these. */
uint32_t uroce_crc32(uint32_t crc, const uint8_t *data, size_t length);

/* Return the CRC by tables, which works on every processor; see crc_table.c. */
uint32_t uroce_crc32_table(uint32_t crc, const uint8_t *data, size_t length);

/* --- for tests --- */

/* Return the CRC by exclusive or only; see crc.c. */
uint32_t uroce_crc32_fold(uint32_t crc, const uint8_t *data, size_t length);

#endif
