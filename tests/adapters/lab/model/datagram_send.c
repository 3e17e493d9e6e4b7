/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/adapters/lab/model/datagram.h"

#include <string.h>
#include <time.h>

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

bool datagram_post(struct datagram *d, uint32_t i, uint32_t length, struct ibv_ah *ah, uint32_t qpn,
		   uint32_t qkey, uint32_t immediate, bool has_immediate)
{
	struct ibv_sge sge = { (uintptr_t)d->out[i], length, d->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = ARRIVALS + i,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = has_immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
		.imm_data = immediate,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = ah, .remote_qpn = qpn, .remote_qkey = qkey },
	};

	return !ibv_post_send(d->qp, &wr, &bad);
}

/*
 * Return whether the key allows the device to read or write this much of a buffer of the process.
 */
bool datagram_is_allowed(const struct ibv_sge *sge)
{
	const struct ibv_mr *mr = model_find_mr(sge->lkey);

	return mr && sge->addr >= (uintptr_t)mr->addr && sge->length <= mr->length &&
	       sge->addr - (uintptr_t)mr->addr <= mr->length - sge->length;
}

void datagram_complete_send(struct object *qp, const struct slot *slot, enum ibv_wc_status status)
{
	const struct ibv_wc wc = { .status = status, .opcode = IBV_WC_SEND };

	device->complete(
		qp->send_cq,
		&(struct completion){ .qp = qp, .id = slot->id, .note = slot->note, .wc = &wc });
}

/* Copy the process's data, behind a header if the message is reliable. */
static enum ibv_wc_status gather(struct datagram *d, uint32_t i, const struct work *work)
{
	uint32_t header = d->reliable ? sizeof(struct header) : 0, at = header;

	for (int k = 0; k < work->wr.num_sge; k++) {
		const struct ibv_sge *sge = &work->sge[k];

		if (sge->length > MTU - at)
			return IBV_WC_LOC_LEN_ERR;
		if (!(work->wr.send_flags & IBV_SEND_INLINE) && !datagram_is_allowed(sge))
			return IBV_WC_LOC_PROT_ERR;
		memcpy(d->out[i] + at, (void *)(uintptr_t)sge->addr, sge->length);
		at += sge->length;
	}
	d->slots[i].length = at;
	return IBV_WC_SUCCESS;
}

static void send_slot(struct datagram *d, uint32_t i)
{
	struct slot *slot = &d->slots[i];

	slot->last_ms = now_ms();
	slot->posted = datagram_post(d, i, slot->length, slot->ah, slot->qpn, slot->qkey, 0, false);
}

static void start_send(struct object *qp, struct datagram *d, uint32_t i, struct work *work)
{
	struct slot *slot = &d->slots[i];
	enum ibv_wc_status status;
	uint8_t host = work->address.grh.dgid.raw[HOST_BYTE];
	bool immediate = work->wr.opcode == IBV_WR_SEND_WITH_IMM;

	work->address.grh.dgid.raw[HOST_BYTE] = 0;
	*slot = (struct slot){
		.state = SENT,
		.number = d->next_number++,
		.id = work->id,
		.note = work->note,
		.qpn = (uint32_t)host << 16 | work->wr.wr.ud.remote_qpn,
		.qkey = work->wr.wr.ud.remote_qkey,
		.ah = model_find_ah(qp->pd->backend.pd, &work->address),
		.first_ms = now_ms(),
	};
	status = slot->ah ? gather(d, i, work) : IBV_WC_LOC_QP_OP_ERR;
	if (status) {
		datagram_complete_send(qp, slot, status);
		slot->state = FREE;
		return;
	}
	if (d->reliable) {
		*(struct header *)d->out[i] = (struct header){
			.kind = DATA,
			.flags = immediate,
			.number = slot->number,
			.immediate = work->wr.imm_data,
			.qkey = qp->qkey,
		};
		send_slot(d, i);
		return;
	}
	slot->posted = datagram_post(d, i, slot->length, slot->ah, slot->qpn, slot->qkey,
				     work->wr.imm_data, immediate);
	if (!slot->posted) { /* lost, as datagrams may be */
		datagram_complete_send(qp, slot, IBV_WC_SUCCESS);
		slot->state = FREE;
	}
}

/* Peers remember 64 messages: send none while a message older than that is on its way. */
static bool window_is_open(const struct datagram *d)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		if (d->slots[i].state == SENT && d->next_number - d->slots[i].number >= SLOTS - 1)
			return false;
	}
	return true;
}

bool datagram_start_sends(struct object *qp, struct datagram *d)
{
	static struct work work;
	bool did = false;
	int there;

	for (uint32_t i = 0; i < SLOTS; i++) {
		if (d->slots[i].state != FREE || d->slots[i].posted)
			continue;
		if (!window_is_open(d))
			break;
		there = device->next_send(qp, &work);
		if (!there)
			break;
		qp->sq.consumed += work.entries;
		did = true;
		if (there > 0)
			start_send(qp, d, i, &work);
		else
			datagram_complete_send(qp,
					       &(struct slot){ .id = work.id, .note = work.note },
					       IBV_WC_LOC_QP_OP_ERR);
	}
	return did;
}

void datagram_send_again(struct object *qp, struct datagram *d)
{
	uint64_t now = now_ms();

	for (uint32_t i = 0; i < SLOTS && d->reliable; i++) {
		struct slot *slot = &d->slots[i];

		if (slot->state != SENT || slot->posted || now - slot->last_ms < AGAIN_MS)
			continue;
		if (now - slot->first_ms < GIVE_UP_MS) {
			send_slot(d, i);
			continue;
		}
		datagram_complete_send(qp, slot, IBV_WC_RESP_TIMEOUT_ERR);
		slot->state = FREE;
	}
}
