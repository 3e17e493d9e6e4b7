/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Address handles. The kernel writes the number of an address handle into a table that it shares
 * with this process. The process says which entry is free. Kernels since 4.12 do not read that, and
 * always write the first entry.
 */
#include "providers/ocrdma/wqe.h"

/* Bits of an entry. */
enum {
	ID_MASK = 0x3ff,
	TYPE_SHIFT = 29,
	TYPE_MASK = 3,
};
#define VLAN	(1u << 31)
#define AH_FREE UINT32_MAX

static volatile uint32_t *table_of(struct ibv_context *ibctx)
{
	return to_octx(ibctx)->addresses.base;
}

static int index_find(struct ibv_context *ibctx, uint32_t *ret_index)
{
	uint32_t count = to_octx(ibctx)->addresses.length / sizeof(uint32_t);

	for (*ret_index = 0; *ret_index < count; ++*ret_index)
		if (table_of(ibctx)[*ret_index] == AH_FREE)
			return 0;
	verbs_err(ibctx, "ibv_create_ah: all %u entries of the table are in use", count);
	return -ENOMEM;
}

/* Take over what the kernel wrote, at the entry of the address handle or at the first one.
 * @first: what was there before */
static int entry_take(struct oc_ah *ah, uint32_t marker, uint32_t first)
{
	volatile uint32_t *table = table_of(ah->ah.context);
	uint32_t word = table[ah->index];

	if (word == marker && ah->index && table[0] != first) {
		word = table[0];
		table[0] = first;
		table[ah->index] = word;
	}
	if (word == marker) {
		verbs_err(ah->ah.context, "ibv_create_ah: the kernel has not written entry %u",
			  ah->index);
		return -EPROTO;
	}
	word = le32toh(word);
	ah->id = word & ID_MASK;
	ah->type = word >> TYPE_SHIFT & TYPE_MASK;
	ah->has_vlan = word & VLAN;
	return 0;
}

static int create_locked(struct oc_ah *ah, const struct verbs_create_ah *in)
{
	struct ibv_context *ibctx = ah->ah.context;
	volatile uint32_t *table = table_of(ibctx);
	struct ibv_ah_attr attr = *in->attr;
	const struct verbs_create_ah request = { .attr = &attr };
	/* An address handle cannot have this word: its number is too large. */
	uint32_t marker = htole32(to_octx(ibctx)->addresses.length), first;
	int r = index_find(ibctx, &ah->index);

	if (r < 0)
		return r;
	first = table[0];
	table[ah->index] = marker;
	attr.dlid = ah->index;
	r = uverbs_create_ah(&ah->ah, &request);
	if (!r) {
		r = entry_take(ah, marker, first);
		if (r < 0)
			uverbs_destroy_ah(&ah->ah);
	}
	if (r < 0)
		table[ah->index] = AH_FREE;
	return r;
}

int oc_create_ah(struct ibv_ah *ibah, const struct verbs_create_ah *in)
{
	struct oc_context *ctx = to_octx(ibah->context);
	int r;

	if (!in->attr->is_global) {
		verbs_err(ibah->context, "ibv_create_ah: port %u needs is_global and a GID",
			  in->attr->port_num);
		return -EINVAL;
	}
	pthread_mutex_lock(&ctx->ah_lock);
	r = create_locked((struct oc_ah *)ibah, in);
	pthread_mutex_unlock(&ctx->ah_lock);
	return r;
}

int oc_destroy_ah(struct ibv_ah *ibah)
{
	struct oc_context *ctx = to_octx(ibah->context);
	int r;

	pthread_mutex_lock(&ctx->ah_lock);
	r = uverbs_destroy_ah(ibah);
	if (!r)
		table_of(ibah->context)[((struct oc_ah *)ibah)->index] = AH_FREE;
	pthread_mutex_unlock(&ctx->ah_lock);
	return r;
}
