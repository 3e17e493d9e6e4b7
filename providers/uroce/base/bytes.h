/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory for a struct, and the fields of packets. */
#ifndef UROCE_BYTES_H
#define UROCE_BYTES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/bytes.h"

/*
 * Allocate zeroed memory for a struct that must begin with a cache line. @size is a multiple of
 * @alignment.
 */
static inline void *uroce_zeros(size_t size, size_t alignment)
{
	void *p = aligned_alloc(alignment, size);

	return p ? memset(p, 0, size) : NULL;
}

#endif
