/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Address handles. The kernel has no object for them. Adapters with records get the address in each
 * request. Other adapters read it from a page that is registered in the protection domain.
 */
#include "providers/mthca/wqe.h"

enum {
	PORTS = 2,
	GIDS_OF_PORT = 32,
	SL_MOST = 15,
	RATE_MOST = 3, /* codes of the adapter */
	PORT_SHIFT = 24,
	SL_SHIFT = 28,
	TCLASS_SHIFT = 20,
	LABEL_MASK = 0xfffff,
	PATH_BITS_MASK = 0x7f,
	GLOBAL = 0x80,
	MESSAGE_LARGEST = 0x30,
	LOCAL_GID_LAST = 2, /* last byte of the GID in addresses without one */
};

struct mthca_ah_page {
	LIST_ENTRY(mthca_ah_page) entry;
	struct kit_region memory;
	uint32_t count, used;
	uint64_t taken[]; /* one bit for each address */
};

static int attr_check(struct ibv_context *ctx, const struct ibv_ah_attr *attr)
{
	if (attr->port_num && attr->port_num <= PORTS && attr->sl <= SL_MOST &&
	    attr->static_rate <= RATE_MOST && attr->grh.sgid_index < GIDS_OF_PORT &&
	    (attr->dlid || attr->is_global))
		return 0;
	verbs_err(
		ctx,
		"ibv_create_ah: port %u (1 to %u), sl %u (at most %u), static_rate %u (at most %u), "
		"sgid_index %u (at most %u), dlid %u%s",
		attr->port_num, PORTS, attr->sl, SL_MOST, attr->static_rate, RATE_MOST,
		attr->grh.sgid_index, GIDS_OF_PORT - 1, attr->dlid,
		attr->is_global ? "" : " without a GID");
	return -EINVAL;
}

static void av_fill(struct mthca_av *av, const struct ibv_ah_attr *attr, uint32_t pd_number)
{
	uint32_t word = (uint32_t)attr->sl << SL_SHIFT;

	*av = (struct mthca_av){
		.port_pd = htobe32(pd_number | (uint32_t)attr->port_num << PORT_SHIFT),
		.g_slid = attr->src_path_bits & PATH_BITS_MASK,
		.dlid = htobe16(attr->dlid),
		.msg_sr = MESSAGE_LARGEST | attr->static_rate,
		.sl_tclass_label = htobe32(word),
	};
	if (!attr->is_global) {
		av->dgid[sizeof(av->dgid) - 1] = LOCAL_GID_LAST;
		return;
	}
	word |= (uint32_t)attr->grh.traffic_class << TCLASS_SHIFT |
		(attr->grh.flow_label & LABEL_MASK);
	av->g_slid |= GLOBAL;
	av->gid_index = (attr->port_num - 1) * GIDS_OF_PORT + attr->grh.sgid_index;
	av->hop_limit = attr->grh.hop_limit;
	av->sl_tclass_label = htobe32(word);
	memcpy(av->dgid, attr->grh.dgid.raw, sizeof(av->dgid));
}

/* ---- pages of addresses */

static int page_make(struct mthca_pd *pd, struct mthca_ah_page **ret_page)
{
	const size_t bytes = sysconf(_SC_PAGESIZE);
	const uint32_t count = bytes / sizeof(struct mthca_av);
	struct mthca_ah_page *page =
		calloc(1, sizeof(*page) + (count + 63) / 64 * sizeof(uint64_t));
	struct mthca_reg_mr cmd = {};
	struct verbs_udata udata = { .in = &cmd, .in_len = sizeof(cmd) };
	const struct verbs_reg_mr in = { .pd = &pd->vpd.pd, .length = bytes, .udata = &udata };
	int r = page ? kit_region_make(&page->memory, &in, KIT_REGION_OF_PROCESS) : -ENOMEM;

	if (r < 0) {
		free(page);
		return r;
	}
	page->count = count;
	LIST_INSERT_HEAD(&pd->pages, page, entry);
	*ret_page = page;
	return 0;
}

static struct mthca_av *page_take(struct mthca_ah_page *page)
{
	uint32_t word = 0, n;

	while (!~page->taken[word])
		word++;
	n = word * 64 + __builtin_ctzll(~page->taken[word]);
	page->taken[word] |= 1ull << n % 64;
	page->used++;
	return (struct mthca_av *)page->memory.buf.base + n;
}

static int place_take(struct mthca_pd *pd, struct mthca_ah *ah)
{
	struct mthca_ah_page *page;
	int r = 0;

	pthread_mutex_lock(&pd->lock);
	LIST_FOREACH(page, &pd->pages, entry)
		if (page->used < page->count)
			break;
	if (!page)
		r = page_make(pd, &page);
	if (!r) {
		ah->page = page;
		ah->lkey = page->memory.mr.ibv_mr.lkey;
		ah->av = page_take(page);
	}
	pthread_mutex_unlock(&pd->lock);
	return r;
}

static void place_give(struct mthca_pd *pd, const struct mthca_ah *ah)
{
	struct mthca_ah_page *page = ah->page;
	uint32_t n = ah->av - (struct mthca_av *)page->memory.buf.base;

	pthread_mutex_lock(&pd->lock);
	page->taken[n / 64] &= ~(1ull << n % 64);
	if (!--page->used) {
		LIST_REMOVE(page, entry);
		kit_region_free(&page->memory);
		free(page);
	}
	pthread_mutex_unlock(&pd->lock);
}

/* ---- */

static struct mthca_pd *pd_of(const struct ibv_ah *ah)
{
	return (struct mthca_pd *)verbs_pd_protection(ah->pd);
}

int mthca_create_ah(struct ibv_ah *ibah, const struct verbs_create_ah *in)
{
	struct mthca_ah *ah = (struct mthca_ah *)ibah;
	int r = attr_check(ibah->context, in->attr);

	if (r < 0)
		return r;
	if (mthca_has_records(to_mctx(ibah->context)))
		ah->av = (struct mthca_av *)ah->own;
	else
		r = place_take(pd_of(ibah), ah);
	if (!r)
		av_fill(ah->av, in->attr, pd_of(ibah)->number);
	return r;
}

int mthca_destroy_ah(struct ibv_ah *ibah)
{
	struct mthca_ah *ah = (struct mthca_ah *)ibah;

	if (ah->page)
		place_give(pd_of(ibah), ah);
	return 0;
}
