/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Event queues, CQs and SRQs. */
#include "tests/hosts/vm/pci/mlx4.h"

#include <string.h>
#include "tests/adapters/lab/device/mlx4.h"
#include "tests/hosts/vm/pci/icm.h"
#include "tests/hosts/vm/pci/play.h"

enum {
	PAGE_SHIFT = 12,
	TABLE = 0x1b, /* of EQ and CQ: the high byte of the place of its page table */
	LOG_PAGE = 0x18,
	EQC_LOG_SIZE = 0xc,
	EQC_VECTOR = 0x17,
	CQC_TIMESTAMPS = 1 << 19, /* of the first word */
	CQC_LOG_SIZE = 0xc,
	CQC_EQ = 0x17,
	CQC_RECORD = 0x38,
	SRQC_LOG_SIZE = 0x0,
	SRQC_LOG_STRIDE = 0x4,
	SRQC_XRCD = 0x6,
	SRQC_CQ = 0x8,
	SRQC_LOG_PAGE = 0x10,
	SRQC_TABLE = 0x13,
	SRQC_PD = 0x18,
	SRQC_LIMIT = 0x1c,
	SRQC_RECORD = 0x28,
	SRQ_CONTEXT = 0x30,
};
enum {
	EQE = 64,
	EQE_TYPE = 33, /* the second half has the event */
	EQE_DATA = 36,
	EQE_OWNER = 63,
	OWNER = 0x80,
	EVENT_COMPLETION = 0x0,
	EVENT_COMMAND = 0xa,
};

static struct eq {
	bool used;
	uint64_t table;
	uint32_t entries, produced, vector, page_shift;
} eqs[HCA_EQS];
static uint64_t events_of[HCA_EQS]; /* a bit for each type of events */

static uint64_t table_at(const uint8_t *context, uint32_t at)
{
	return (uint64_t)context[at] << 32 | get32(context + at + 1);
}

static uint8_t *eqe_at(const struct eq *eq, uint32_t index)
{
	uint64_t at = (uint64_t)(index & (eq->entries - 1)) * EQE;
	uint64_t page = icm_page(eq->table, at >> eq->page_shift);

	return page ? play_memory(page + (at & ((1ull << eq->page_shift) - 1))) : NULL;
}

/* A new ring belongs to the adapter. */
enum hcr_status hca_create_eq(struct hcr_call *call)
{
	const uint8_t *c = hcr_in(call);
	struct eq *eq = call->modifier < HCA_EQS ? &eqs[call->modifier] : NULL;

	if (!eq)
		return HCR_BAD_INDEX;
	*eq = (struct eq){ .used = true,
			   .table = table_at(c, TABLE),
			   .entries = 1u << (c[EQC_LOG_SIZE] & 0x1f),
			   .vector = c[EQC_VECTOR],
			   .page_shift = (c[LOG_PAGE] & 0x3f) + PAGE_SHIFT };
	for (uint32_t i = 0; i < eq->entries; i++) {
		uint8_t *entry = eqe_at(eq, i);

		if (!entry)
			return HCR_ICM_ERROR;
		entry[EQE_OWNER] = OWNER;
	}
	return HCR_OK;
}

enum hcr_status hca_destroy_eq(struct hcr_call *call)
{
	if (call->modifier >= HCA_EQS || !eqs[call->modifier].used)
		return HCR_BAD_RESOURCE_STATE;
	eqs[call->modifier].used = false;
	events_of[call->modifier] = 0;
	return HCR_OK;
}

enum hcr_status hca_map_events(struct hcr_call *call)
{
	uint32_t n = call->modifier & 0x3ff;

	if (n >= HCA_EQS)
		return HCR_BAD_INDEX;
	if (call->modifier >> 31)
		events_of[n] &= ~call->in;
	else
		events_of[n] |= call->in;
	return HCR_OK;
}

void hca_forget_eqs(void)
{
	memset(eqs, 0, sizeof(eqs));
	memset(events_of, 0, sizeof(events_of));
}

static void write_event(struct eq *eq, uint8_t type, const uint8_t *data, size_t length)
{
	uint8_t *at = eqe_at(eq, eq->produced);

	if (!at)
		return;
	memset(at, 0, EQE_OWNER);
	at[EQE_TYPE] = type;
	memcpy(at + EQE_DATA, data, length);
	__atomic_store_n(at + EQE_OWNER, eq->produced & eq->entries ? OWNER : 0, __ATOMIC_RELEASE);
	eq->produced++;
	play_interrupt(eq->vector);
}

static struct eq *eq_for(uint8_t type)
{
	for (int i = 0; i < HCA_EQS; i++)
		if (eqs[i].used && events_of[i] >> type & 1)
			return &eqs[i];
	return NULL;
}

void hca_event(enum loop_event type, uint32_t number)
{
	struct eq *eq = eq_for(type);
	uint8_t data[12] = { 0 };

	put32(data, number);
	if (type == LOOP_EVENT_CQ_ERROR)
		data[11] = 1; /* there was no room */
	if (eq)
		write_event(eq, type, data, sizeof(data));
}

void hca_completion_event(struct loop_cq *cq)
{
	uint8_t data[4];

	put32(data, cq->object.number);
	if (cq->eq < HCA_EQS && eqs[cq->eq].used)
		write_event(&eqs[cq->eq], EVENT_COMPLETION, data, sizeof(data));
}

void hca_command_event(uint16_t token, enum hcr_status status, uint64_t out)
{
	struct eq *eq = eq_for(EVENT_COMMAND);
	uint8_t data[20] = { 0 };

	put16(data + 2, token);
	data[11] = status;
	put64(data + 12, out);
	if (eq)
		write_event(eq, EVENT_COMMAND, data, sizeof(data));
}

static bool take_ring(struct loop_cq *cq, const uint8_t *c)
{
	uint32_t entries = 1u << (c[CQC_LOG_SIZE] & 0x1f);
	uint8_t *base = icm_map_ring(table_at(c, TABLE), (c[LOG_PAGE] & 0x3f) + PAGE_SHIFT,
				     (size_t)entries * HCA_CQE, &cq->map);

	if (!base)
		return false;
	cq->object.ring.base = base;
	cq->object.ring.entries = entries;
	cq->object.ring.stride = HCA_CQE;
	mlx4_disown(&cq->object);
	return true;
}

/* A CQ that is armed for the first time may get the word that a program wrote at its creation. */
enum hcr_status hca_create_cq(struct hcr_call *call)
{
	const uint8_t *c = hcr_in(call);
	struct loop_cq *cq = loop_new_cq(call->modifier);

	if (!cq)
		return HCR_LIMIT;
	cq->eq = c[CQC_EQ];
	cq->object.user_index = get32(c) & CQC_TIMESTAMPS; /* see complete() in mlx4.c */
	cq->object.ring.record = play_memory(get64(c + CQC_RECORD));
	if (!take_ring(cq, c))
		return HCR_ICM_ERROR;
	cq->object.ring.record[1] = NEVER_ARMED;
	cq->object.arm_seen = NEVER_ARMED;
	cq->used = true;
	return HCR_OK;
}

/* Moderation (mode 1) changes nothing, because events come at once. The old ring of a resized CQ
 * ends with an entry that says so. */
enum hcr_status hca_modify_cq(struct hcr_call *call)
{
	struct loop_cq *cq = loop_cq(call->modifier);
	struct mlx4_cqe last = { 0 };
	struct loop_map old;

	if (!cq)
		return HCR_BAD_RESOURCE_STATE;
	if (call->mode)
		return HCR_OK;
	mlx4_write_cqe(&cq->object, &last, CQE_RESIZE, false);
	old = cq->map;
	if (!take_ring(cq, hcr_in(call)))
		return HCR_ICM_ERROR;
	loop_unmap(&old);
	return HCR_OK;
}

enum hcr_status hca_destroy_cq(struct hcr_call *call)
{
	struct loop_cq *cq = loop_cq(call->modifier);

	if (!cq)
		return HCR_BAD_RESOURCE_STATE;
	loop_forget_cq(cq);
	return HCR_OK;
}

enum hcr_status hca_create_srq(struct hcr_call *call)
{
	const uint8_t *c = hcr_in(call);
	struct loop_srq *srq = loop_new_srq(call->modifier);
	struct queue *rq;

	if (!srq)
		return HCR_LIMIT;
	srq->pd = get32(c + SRQC_PD) & 0xffffff;
	srq->cq = get32(c + SRQC_CQ) & 0xffffff;
	srq->xrcd = get16(c + SRQC_XRCD);
	srq->is_xrc = srq->xrcd;
	srq->object.xrcd = srq->is_xrc ? &srq->object : NULL;
	rq = &srq->object.rq;
	rq->entries = 1u << (c[SRQC_LOG_SIZE] & 0x1f);
	rq->stride = 16u << (c[SRQC_LOG_STRIDE] & 7);
	rq->record = play_memory(get64(c + SRQC_RECORD));
	rq->base = icm_map_ring(table_at(c, SRQC_TABLE), (c[SRQC_LOG_PAGE] & 0x3f) + PAGE_SHIFT,
				(size_t)rq->entries * rq->stride, &srq->map);
	if (!rq->base)
		return HCR_ICM_ERROR;
	memcpy(srq->context, c, SRQ_CONTEXT);
	srq->used = true;
	return HCR_OK;
}

enum hcr_status hca_arm_srq(struct hcr_call *call)
{
	struct loop_srq *srq = loop_srq(call->modifier);

	if (!srq)
		return HCR_BAD_RESOURCE_STATE;
	srq->limit = call->in;
	return HCR_OK;
}

enum hcr_status hca_query_srq(struct hcr_call *call)
{
	struct loop_srq *srq = loop_srq(call->modifier);
	uint8_t *out = hcr_out(call);

	if (!srq)
		return HCR_BAD_RESOURCE_STATE;
	memcpy(out, srq->context, SRQ_CONTEXT);
	put16(out + SRQC_LIMIT, srq->limit);
	return HCR_OK;
}

enum hcr_status hca_destroy_srq(struct hcr_call *call)
{
	struct loop_srq *srq = loop_srq(call->modifier);

	if (!srq)
		return HCR_BAD_RESOURCE_STATE;
	loop_forget_srq(srq);
	return HCR_OK;
}
