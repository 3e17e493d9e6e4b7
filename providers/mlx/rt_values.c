/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The counter of the adapter, which completions carry as their time stamp. */
#include "providers/mlx/mlx.h"

/* Read the counter. Its two halves do not change in one step. */
static uint64_t cycles_read(const volatile __be32 *words)
{
	uint32_t high = be32toh(words[0]), low, again;

	for (int i = 0;; i++) {
		low = be32toh(words[1]);
		again = be32toh(words[0]);
		if (high == again || i)
			return (uint64_t)again << 32 | low;
		high = again;
	}
}

int mlx_query_rt_values(const void *counter, struct ibv_values_ex *values)
{
	if (values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
		return -EINVAL;
	if (!counter)
		return -EOPNOTSUPP;
	if (values->comp_mask)
		values->raw_clock = (struct timespec){ .tv_nsec = cycles_read(counter) };
	return 0;
}
