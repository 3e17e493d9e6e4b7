/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Values as text: one table for each enum, indexed by the value. */
#ifndef UTIL_ENUM_H
#define UTIL_ENUM_H

#include <stddef.h>

/* Return the text of @table for @value; @unknown if there is none. */
static inline const char *enum_name(const char *const *table, size_t count, long value,
				    const char *unknown)
{
	if (value < 0 || (size_t)value >= count || !table[value])
		return unknown;
	return table[value];
}

#endif
