/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Event queues, completion queues, SRQs and memory keys, as commands make them. */
#include "tests/hosts/vm/pci/mlx5.h"

#include <stdlib.h>
#include "tests/hosts/vm/pci/play.h"

enum {
	EQ_NUMBER = AT(0x8, 7, 8),
};

uint8_t *hca_map_ring(const struct hca_call *call, uint32_t pages, uint32_t log_page,
		      uint32_t offset, struct hca_map *ret)
{
	uint32_t count = call->in_len > pages ? (call->in_len - pages) / 8 : 0;
	size_t page = (size_t)HCA_PAGE << log_page;
	uint64_t *list;

	*ret = (struct hca_map){ 0 };
	if (!count)
		return NULL;
	list = calloc(count, sizeof(*list));
	if (!list)
		play_die("memory for %u pages", count);
	for (uint32_t i = 0; i < count; i++)
		list[i] = get64(call->in + pages + 8 * i) & ~(HCA_PAGE - 1ull);
	ret->length = count * page;
	ret->at = play_map_pages(list, count, page);
	free(list);
	return ret->at + page / 64 * offset;
}

void hca_unmap_ring(struct hca_map *map)
{
	if (map->at)
		play_unmap(map->at, map->length);
	*map = (struct hca_map){ 0 };
}

enum hca_status hca_create_eq(const struct hca_call *call)
{
	const uint8_t *c = call->in + COMMAND_CONTEXT;
	struct hca_eq *eq = NULL;

	for (int i = 1; i < HCA_EQS && !eq; i++)
		if (!hca.eqs[i].used)
			eq = &hca.eqs[i];
	if (!eq)
		return HCA_NO_RESOURCES;
	*eq = (struct hca_eq){
		.entries = 1u << get(c, EQC_LOG_EQ_SIZE),
		.vector = get(c, EQC_INTR),
		.events = get64(call->in + EQ_EVENTS),
	};
	eq->base = hca_map_ring(call, COMMAND_PAGES, get(c, EQC_LOG_PAGE_SIZE),
				get(c, EQC_PAGE_OFFSET), &eq->map);
	if (!eq->base)
		return HCA_BAD_PARAMETER;
	eq->used = true;
	put(call->out, EQ_NUMBER, eq - hca.eqs);
	return HCA_OK;
}

enum hca_status hca_destroy_eq(const struct hca_call *call)
{
	uint32_t n = get(call->in, EQ_NUMBER);

	if (n >= HCA_EQS || !hca.eqs[n].used)
		return HCA_BAD_RESOURCE;
	hca.eqs[n].used = false;
	hca_unmap_ring(&hca.eqs[n].map);
	return HCA_OK;
}

enum hca_status hca_create_cq(const struct hca_call *call)
{
	const uint8_t *c = call->in + COMMAND_CONTEXT;
	struct hca_cq *cq = NULL;

	for (int i = 1; i < HCA_CQS && !cq; i++)
		if (!hca.cqs[i].used)
			cq = &hca.cqs[i];
	if (!cq)
		return HCA_NO_RESOURCES;
	*cq = (struct hca_cq){ .eq = get(c, CQC_EQN) };
	cq->object.type = OBJECT_CQ;
	cq->object.number = cq - hca.cqs;
	if (cq->object.number >= hca.cq_end)
		hca.cq_end = cq->object.number + 1;
	cq->object.ring = (struct queue){
		.base = hca_map_ring(call, COMMAND_PAGES, get(c, CQC_LOG_PAGE_SIZE),
				     get(c, CQC_PAGE_OFFSET), &cq->map),
		.entries = 1u << get(c, CQC_LOG_CQ_SIZE),
		.stride = 64u << get(c, CQC_CQE_SZ),
		.record = play_memory(get64(c + CQC_DBR_ADDR)),
	};
	if (!cq->object.ring.base)
		return HCA_BAD_PARAMETER;
	/* A CQ that is armed for the first time may get the word that a program wrote at its
	 * creation. */
	cq->object.ring.record[1] = NEVER_ARMED;
	cq->object.arm_seen = NEVER_ARMED;
	cq->used = true;
	put(call->out, COMMAND_NUMBER, cq->object.number);
	return HCA_OK;
}

/* Moderation (mode 0) changes nothing, because events come at once. The old ring of a resized CQ
 * ends with an entry that says so. */
enum hca_status hca_modify_cq(const struct hca_call *call)
{
	const uint8_t *c = call->in + COMMAND_CONTEXT;
	struct hca_cq *cq = call->number < HCA_CQS ? &hca.cqs[call->number] : NULL;
	struct mlx5_cqe last = { 0 };

	if (!cq || !cq->used)
		return HCA_BAD_RESOURCE;
	if (call->op_mod != 1)
		return HCA_OK;
	mlx5_write_cqe(&cq->object, &last, CQE_RESIZE, 0);
	hca_unmap_ring(&cq->map);
	cq->object.ring.base = hca_map_ring(call, COMMAND_PAGES, get(c, CQC_LOG_PAGE_SIZE),
					    get(c, CQC_PAGE_OFFSET), &cq->map);
	cq->object.ring.entries = 1u << get(c, CQC_LOG_CQ_SIZE);
	return HCA_OK;
}

enum hca_status hca_destroy_cq(const struct hca_call *call)
{
	struct hca_cq *cq = call->number < HCA_CQS ? &hca.cqs[call->number] : NULL;

	if (!cq || !cq->used)
		return HCA_BAD_RESOURCE;
	cq->used = false;
	hca_unmap_ring(&cq->map);
	return HCA_OK;
}

static struct hca_srq *spare_srq(void)
{
	for (int i = 1; i < HCA_SRQS; i++)
		if (!hca.srqs[i].used) {
			hca.srqs[i] = (struct hca_srq){ 0 };
			hca.srqs[i].object.type = OBJECT_SRQ;
			hca.srqs[i].object.number = i;
			return &hca.srqs[i];
		}
	return NULL;
}

static enum hca_status srq_finish(const struct hca_call *call, struct hca_srq *srq,
				  uint32_t context)
{
	if (!srq->object.rq.base)
		return HCA_BAD_PARAMETER;
	memcpy(srq->context, call->in + context, sizeof(srq->context));
	srq->used = true;
	put(call->out, COMMAND_NUMBER, srq->object.number);
	return HCA_OK;
}

/* A basic SRQ is a receive memory pool since ISSI 1. */
enum hca_status hca_create_rmp(const struct hca_call *call)
{
	const uint8_t *w = call->in + RMP_WQ;
	struct hca_srq *srq = spare_srq();

	if (!srq)
		return HCA_NO_RESOURCES;
	srq->pd = get(w, WQ_PD);
	srq->object.rq = (struct queue){
		.base = hca_map_ring(call, RMP_WQ + WQ_PAS, get(w, WQ_LOG_PG_SZ),
				     get(w, WQ_PAGE_OFFSET), &srq->map),
		.entries = 1u << get(w, WQ_LOG_SZ),
		.stride = 1u << get(w, WQ_LOG_STRIDE),
		.record = play_memory(get64(w + WQ_DBR_ADDR)),
		.cyclic = get(w, WQ_TYPE) & 1,
	};
	return srq_finish(call, srq, RMP_CONTEXT);
}

enum hca_status hca_create_xrc_srq(const struct hca_call *call)
{
	const uint8_t *c = call->in + COMMAND_CONTEXT;
	struct hca_srq *srq = spare_srq();

	if (!srq)
		return HCA_NO_RESOURCES;
	srq->pd = get(c, XRC_SRQC_PD);
	srq->cq = get(c, XRC_SRQC_CQN);
	srq->xrcd = get(c, XRC_SRQC_XRCD);
	srq->object.xrcd = &srq->object; /* it is one of XRC */
	srq->object.user_index = get(c, XRC_SRQC_USER_INDEX);
	srq->object.rq = (struct queue){
		.base = hca_map_ring(call, COMMAND_PAGES, get(c, XRC_SRQC_LOG_PAGE_SIZE),
				     get(c, XRC_SRQC_PAGE_OFFSET), &srq->map),
		.entries = 1u << get(c, XRC_SRQC_LOG_SIZE),
		.stride = 16u << get(c, XRC_SRQC_LOG_RQ_STRIDE),
		.record = play_memory(get64(c + XRC_SRQC_DBR_ADDR)),
	};
	return srq_finish(call, srq, COMMAND_CONTEXT);
}

static struct hca_srq *srq_of(const struct hca_call *call)
{
	struct hca_srq *srq = call->number < HCA_SRQS ? &hca.srqs[call->number] : NULL;

	return srq && srq->used ? srq : NULL;
}

enum hca_status hca_query_srq(const struct hca_call *call)
{
	struct hca_srq *srq = srq_of(call);
	bool is_xrc;

	if (!srq)
		return HCA_BAD_RESOURCE;
	is_xrc = srq->object.xrcd;
	memcpy(call->out + (is_xrc ? COMMAND_CONTEXT : RMP_CONTEXT), srq->context,
	       sizeof(srq->context));
	if (is_xrc)
		put(call->out + COMMAND_CONTEXT, XRC_SRQC_LWM, srq->limit);
	else
		put(call->out + RMP_WQ, WQ_LWM, srq->limit);
	return HCA_OK;
}

/* The only change is the limit. */
enum hca_status hca_modify_srq(const struct hca_call *call)
{
	struct hca_srq *srq = srq_of(call);

	if (!srq)
		return HCA_BAD_RESOURCE;
	srq->limit =
		srq->object.xrcd ? get(call->in, ARM_XRC_SRQ_LWM) : get(call->in + RMP_WQ, WQ_LWM);
	return HCA_OK;
}

enum hca_status hca_destroy_srq(const struct hca_call *call)
{
	struct hca_srq *srq = srq_of(call);

	if (!srq)
		return HCA_BAD_RESOURCE;
	srq->used = false;
	hca_unmap_ring(&srq->map);
	return HCA_OK;
}

static uint8_t access_of(const uint8_t *c)
{
	return get(c, MKC_A) << 4 | get(c, MKC_RW) << 3 | get(c, MKC_RR) << 2 |
	       get(c, MKC_LW) << 1 | get(c, MKC_LR);
}

static enum hca_status take_pages(struct hca_key *key, const struct hca_call *call)
{
	key->pages = call->in_len > COMMAND_PAGES ? (call->in_len - COMMAND_PAGES) / 8 : 0;
	key->page = calloc(key->pages + 1, sizeof(*key->page));
	if (!key->page)
		return HCA_NO_RESOURCES;
	for (uint32_t i = 0; i < key->pages; i++)
		key->page[i] = get64(call->in + COMMAND_PAGES + 8 * i) & ~(HCA_PAGE - 1ull);
	return HCA_OK;
}

enum hca_status hca_create_key(const struct hca_call *call)
{
	enum {
		PHYSICAL,
		PAGES,
		WINDOW, /* a list of other keys; the driver creates only windows of this kind */
	};
	const uint8_t *c = call->in + COMMAND_CONTEXT;
	uint32_t mode = get(c, MKC_ACCESS_MODE_1_0) | get(c, MKC_ACCESS_MODE_4_2) << 2;
	struct hca_key *key = NULL;

	for (int i = HCA_FIRST_KEY; i < HCA_KEYS && !key; i++)
		if (!hca.keys[i].used)
			key = &hca.keys[i];
	if (!key)
		return HCA_NO_RESOURCES;
	if (mode > WINDOW)
		return HCA_BAD_PARAMETER;
	*key = (struct hca_key){
		.free = get(c, MKC_FREE),
		.physical = mode == PHYSICAL,
		.window = mode == WINDOW,
		.type_2 = mode == WINDOW && get(c, MKC_EN_RINVAL),
		.qp = get(c, MKC_QPN),
		.everything = get(c, MKC_LENGTH64),
		.low = get(c, MKC_MKEY_7_0),
		.access = access_of(c),
		.pd = get(c, MKC_PD),
		.shift = get(c, MKC_LOG_PAGE_SIZE),
		.start = get64(c + MKC_START_ADDR),
		.length = get64(c + MKC_LEN),
	};
	if (mode == PAGES && take_pages(key, call))
		return HCA_NO_RESOURCES;
	key->used = true;
	put(call->out, COMMAND_NUMBER, key - hca.keys);
	PLAY_LOG("key 0x%tx%02x: PD %u, access 0x%x, 0x%llx, %llu bytes, %u pages\n",
		 key - hca.keys, key->low, key->pd, key->access, (unsigned long long)key->start,
		 (unsigned long long)key->length, key->pages);
	return HCA_OK;
}

enum hca_status hca_destroy_key(const struct hca_call *call)
{
	struct hca_key *key = call->number < HCA_KEYS ? &hca.keys[call->number] : NULL;

	if (!key || !key->used)
		return HCA_BAD_RESOURCE;
	free(key->page);
	*key = (struct hca_key){ 0 };
	return HCA_OK;
}

static bool allows(const struct hca_key *key, uint32_t pd, uint32_t qp, unsigned access)
{
	if (!key->used || key->free || key->pd != pd || (key->qp != HCA_ANY_QP && key->qp != qp))
		return false;
	return (key->access & access) == access;
}

bool hca_key_has(const struct hca_key *key, uint64_t at, uint64_t length)
{
	return key->everything || (at >= key->start && at - key->start <= key->length &&
				   length <= key->length - (at - key->start));
}

uint8_t *hca_key_memory(uint32_t number, uint32_t pd, uint32_t qp, uint64_t at, uint64_t length,
			unsigned access, size_t *ret_together)
{
	const struct hca_key *key = &hca.keys[(number >> 8) % HCA_KEYS];
	uint64_t mask = (1ull << key->shift) - 1, offset, where = at;

	if (number >> 8 >= HCA_KEYS || key->low != (number & 0xff) ||
	    !allows(key, pd, qp, access) || !hca_key_has(key, at, length))
		return NULL;
	if (key->window)
		return hca_key_memory(key->region, pd, qp, key->region_at + (at - key->start),
				      length, 0, ret_together);
	if (!key->physical) {
		offset = at - key->start + (key->start & mask);
		if (offset >> key->shift >= key->pages)
			return NULL;
		where = key->page[offset >> key->shift] + (offset & mask);
	}
	*ret_together = PLAY_PAGE - where % PLAY_PAGE;
	return play_memory(where);
}
