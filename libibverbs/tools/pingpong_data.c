/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "pingpong.h"

#define DATA_PAGE 4096

static uint8_t data_byte(size_t offset)
{
	if (offset % DATA_PAGE == 0)
		return 0;
	return offset * 13 + (offset >> 8) + 1;
}

void pp_data_fill(uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		data[i] = data_byte(i);
}

void pp_data_scrub(uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		data[i] = ~data_byte(i);
}

size_t pp_data_check(const uint8_t *data, size_t size, const uint8_t *right)
{
	size_t i = 0;

	if (!memcmp(data, right, size))
		return size;
	while (data[i] == right[i])
		i++;
	return i;
}

size_t pp_data_check_plain(const uint8_t *data, size_t size, uint8_t plain)
{
	size_t i = 0;

	while (i < size && ((!data[i] && i % DATA_PAGE == 0) || (i && data[i] == plain)))
		i++;
	return i;
}
