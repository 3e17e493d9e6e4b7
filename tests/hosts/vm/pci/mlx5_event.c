/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/hosts/vm/pci/mlx5.h"
#include "tests/hosts/vm/pci/play.h"

enum {
	EQE = 64,
	EQE_TYPE = 1,
	EQE_DATA = 32,
	EQE_OWNER = 63,
	NUMBER = 24, /* offset in the data */
	CQE_CHECKSUM = 20,
	CQE_SLID = 22,
};

static void write_event(struct hca_eq *eq, enum hca_event type, const void *data, size_t length)
{
	uint8_t *at = eq->base + (size_t)(eq->produced & (eq->entries - 1)) * EQE;

	memset(at, 0, EQE_OWNER);
	at[EQE_TYPE] = type;
	memcpy(at + EQE_DATA, data, length);
	__atomic_store_n(at + EQE_OWNER, !!(eq->produced & eq->entries), __ATOMIC_RELEASE);
	eq->produced++;
	play_interrupt(eq->vector);
}

static void write_event_of(struct hca_eq *eq, enum hca_event type, uint32_t number)
{
	uint8_t data[NUMBER + 4] = { 0 };

	put32(data + NUMBER, number);
	write_event(eq, type, data, sizeof(data));
}

static struct hca_eq *eq_for(enum hca_event type)
{
	for (int i = 0; i < HCA_EQS; i++)
		if (hca.eqs[i].used && hca.eqs[i].events >> type & 1)
			return &hca.eqs[i];
	return NULL;
}

void hca_event(enum hca_event type, const void *data, size_t length)
{
	struct hca_eq *eq = eq_for(type);

	if (eq)
		write_event(eq, type, data, length);
}

void hca_event_of(enum hca_event type, uint32_t number)
{
	struct hca_eq *eq = eq_for(type);

	if (eq)
		write_event_of(eq, type, number);
}

static void overrun(struct hca_cq *cq)
{
	uint8_t data[12] = { [11] = 1 /* the reason */ };

	put32(data, cq->object.number);
	cq->object.overrun = true;
	hca_event(HCA_EVENT_CQ_ERROR, data, sizeof(data));
}

/* Return the CQ if it has room for a completion. */
static struct hca_cq *cq_with_room(uint32_t number)
{
	struct hca_cq *cq = number < HCA_CQS ? &hca.cqs[number] : NULL;

	if (!cq || !cq->used || cq->object.overrun)
		return NULL;
	if (mlx_in_ring(&cq->object) < cq->object.ring.entries)
		return cq;
	overrun(cq);
	return NULL;
}

void hca_complete_frame(uint32_t number, const struct completion *c, uint16_t sum)
{
	struct hca_cq *cq = cq_with_room(number);
	struct mlx5_cqe cqe;

	if (!cq)
		return;
	cqe = mlx5_completion(c, play_now() * 1000000);
	put16(cqe.path + CQE_CHECKSUM, sum);
	cqe.opcode_qpn = 0; /* no flow tag */
	mlx5_write_cqe(&cq->object, &cqe, CQE_RESP_SEND, 0);
}

void hca_complete(uint32_t number, const struct completion *c, bool solicited)
{
	struct hca_cq *cq = cq_with_room(number);
	struct mlx5_cqe cqe;

	if (!cq)
		return;
	cqe = mlx5_completion(c, play_now() * 1000000);
	put16(cqe.path + CQE_SLID, hca_ethernet ? 0 : HCA_LID);
	mlx5_write_cqe(&cq->object, &cqe, cqe.op_own >> 4, 0);
	if (c->wc->status || solicited)
		cq->object.solicited_until = cq->object.produced;
	PLAY_LOG("CQ 0x%x: queue pair 0x%x, %s %u, status %u\n", number, c->qp->number,
		 c->receive ? "receive" : "send", c->id, c->wc->status);
}

/* An armed CQ gets one event, once there is a completion that the program had not seen then. */
static void announce(struct hca_cq *cq)
{
	struct object *o = &cq->object;
	uint32_t until;

	if (mlx5_armed(o, &cq->arm))
		cq->armed = true;
	until = cq->arm.solicited ? o->solicited_until : o->produced;
	if (!cq->armed || (int32_t)(until - cq->arm.consumed) <= 0)
		return;
	cq->armed = false;
	o->events++;
	if (cq->eq < HCA_EQS && hca.eqs[cq->eq].used)
		write_event_of(&hca.eqs[cq->eq], HCA_EVENT_COMPLETION, o->number);
}

void hca_announce_all(void)
{
	for (uint32_t i = 0; i < hca.cq_end; i++)
		if (hca.cqs[i].used)
			announce(&hca.cqs[i]);
}
