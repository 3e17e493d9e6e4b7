/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Data that lie in a request itself. */
#ifndef PROVIDERS_KIT_BYTES_H
#define PROVIDERS_KIT_BYTES_H

#include <stdint.h>
#include <string.h>

#include "util/util.h"

/* Fewer than 64 bytes, without a call. */
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

#endif
