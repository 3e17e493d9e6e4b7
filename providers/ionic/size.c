/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sizes of requests. */
#include "providers/ionic/wqe.h"

/* A list of up to this number of entries never has the lengths in front. */
enum {
	SPEC_FEW = 2,
};

uint32_t ionic_spec(const struct ionic_context *ctx, uint32_t entries)
{
	if (!ctx->max_spec || entries > ctx->max_spec)
		return 0;
	return entries <= SPEC_FEW ? (uint32_t)SPEC_FEW : ctx->max_spec;
}

static uint32_t list_size(uint32_t entries, uint32_t spec, bool express)
{
	uint32_t lengths = spec > SPEC_FEW ? LENGTHS_BYTES / SGE_BYTES : 0;

	return AT_LIST + SGE_BYTES * (entries + lengths + express);
}

uint32_t ionic_send_size(uint32_t entries, uint32_t spec, uint32_t inline_bytes, bool express)
{
	uint32_t data = AT_LIST + inline_bytes + (express ? EXPRESS_BYTES : 0);
	uint32_t size = max_of(list_size(entries, spec, express), data);

	return round_up_pow2(max_of((uint32_t)WQE_MIN, size));
}

uint32_t ionic_recv_size(uint32_t entries, uint32_t spec, bool express)
{
	uint32_t size = list_size(entries, spec, express);

	return max_of((uint32_t)WQE_MIN, size);
}

uint32_t ionic_max_sge(uint32_t shift, uint32_t spec, bool express)
{
	uint32_t most = ((1u << shift) - list_size(0, spec, express)) / SGE_BYTES;

	return spec ? min_of(most, spec) : most;
}

uint32_t ionic_max_inline(uint32_t shift, bool express)
{
	return (1u << shift) - AT_LIST - (express ? EXPRESS_BYTES : 0);
}
