/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of queues: sizes, allocation and registration. */
#include "providers/irdma/wqe.h"

int irdma_memory_make(struct kit_region *memory, struct ibv_pd *pd, size_t length,
		      struct irdma_mem_reg_req request)
{
	struct verbs_udata udata = { .in = &request, .in_len = sizeof(request) };
	const struct verbs_reg_mr in = {
		.pd = pd,
		.length = length,
		.access = IBV_ACCESS_LOCAL_WRITE,
		.udata = &udata,
	};

	return kit_region_make(memory, &in, KIT_REGION_OF_PROCESS);
}

uint32_t irdma_shift(const struct irdma_context *ctx, uint32_t sges, uint32_t inline_bytes)
{
	if (ctx->generation == 1) {
		if (sges <= 1 && inline_bytes <= INLINE_OLD)
			return 0;
		return sges < 4 && inline_bytes <= 3 * INLINE_OLD ? 1 : 2;
	}
	if (sges <= 1 && inline_bytes <= INLINE_FIRST)
		return 0;
	if (sges < 4 && inline_bytes <= INLINE_FIRST + INLINE_NEXT)
		return 1;
	return sges < 8 && inline_bytes <= INLINE_FIRST + 3 * INLINE_NEXT ? 2 : 3;
}

int irdma_depth(const struct irdma_context *ctx, uint32_t requests, uint32_t shift, uint32_t unused,
		uint32_t most, uint32_t *ret_depth)
{
	uint64_t wanted = ((uint64_t)requests << shift) + unused;
	uint32_t depth;

	if (wanted > most)
		return -EINVAL;
	depth = max_of(round_up_pow2((uint32_t)wanted), ctx->min_wq << shift);
	if (depth > most)
		return -EINVAL;
	*ret_depth = depth;
	return 0;
}
