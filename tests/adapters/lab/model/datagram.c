/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Datagrams of devices with short QPNs. Reliable datagrams are acknowledged and sent again, may
 * come in any order, and have no GRH in front of the data. A UD QP of the backend carries both
 * kinds, through buffers of the model.
 *
 * Such devices have QPNs of 16 bits. The rest of the backend's QPN, which names the process, is
 * in a byte of the GID that is otherwise 0.
 */
#include "tests/adapters/lab/model/datagram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint8_t model_host_number(void)
{
	static const struct ibv_context *of; /* context; a child has another one */
	static uint8_t number;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct ibv_qp *qp;

	if (of == model_context())
		return number;
	of = model_context();
	pd = ibv_alloc_pd(model_context());
	cq = ibv_create_cq(model_context(), 1, NULL, NULL, 0);
	qp = ibv_create_qp(pd, &(struct ibv_qp_init_attr){
				       .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD });
	number = qp ? qp->qp_num >> 16 : 0;
	if (qp)
		ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	return number;
}

static void post_arrival(struct datagram *d, uint32_t i)
{
	struct ibv_sge sge = { (uintptr_t)d->in[i], sizeof(d->in[i]), d->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	d->arrivals[i].waits = false;
	ibv_post_recv(d->qp, &wr, &bad);
}

int model_create_datagram(struct object *qp, bool reliable)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 4 * SLOTS,
			 .max_recv_wr = ARRIVALS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct datagram *d;

	if (!model_on())
		return 0;
	d = calloc(1, sizeof(*d));
	if (!d)
		return ENOMEM;
	qp->device = d; /* freed with the object */
	d->reliable = reliable;
	d->mr = ibv_reg_mr(qp->pd->backend.pd, d, sizeof(*d), IBV_ACCESS_LOCAL_WRITE);
	d->cq = ibv_create_cq(model_context(), 4 * SLOTS + ARRIVALS, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = d->cq;
	d->qp = d->mr && d->cq ? ibv_create_qp(qp->pd->backend.pd, &attr) : NULL;
	if (!d->qp)
		return errno;
	qp->backend.qp = d->qp;
	qp->number = d->qp->qp_num & 0xffff;
	model_start();
	return 0;
}

void model_destroy_datagram(struct object *qp)
{
	struct datagram *d = qp->device;

	ibv_destroy_qp(d->qp);
	ibv_destroy_cq(d->cq);
	ibv_dereg_mr(d->mr);
}

void model_datagram_ready(struct object *qp)
{
	struct datagram *d = qp->device;

	for (uint32_t i = 0; i < ARRIVALS; i++)
		post_arrival(d, i);
}

/* Return whether this message arrives for the first time. */
static bool is_new(struct datagram *d, uint32_t qpn, uint32_t number)
{
	static unsigned next;
	struct peer *peer = NULL;
	uint32_t below;

	for (int i = 0; i < PEERS && !peer; i++) {
		if (d->peers[i].qpn == qpn)
			peer = &d->peers[i];
	}
	if (!peer) {
		peer = &d->peers[next++ % PEERS];
		*peer = (struct peer){ .qpn = qpn, .highest = number, .seen = 1 };
		return true;
	}
	if ((int32_t)(number - peer->highest) > 0) {
		below = number - peer->highest;
		peer->seen = (below < 64 ? peer->seen << below : 0) | 1;
		peer->highest = number;
		return true;
	}
	below = peer->highest - number;
	if (below >= 64 || peer->seen >> below & 1)
		return false;
	peer->seen |= 1ull << below;
	return true;
}

/* Return the sender's address from the IP header that the backend puts in front of a message. */
void datagram_address(const uint8_t *grh, struct ibv_ah_attr *ret)
{
	*ret = (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = { .sgid_index = device->gid_base, .hop_limit = 64 },
	};
	if (grh[0] >> 4 == 6) {
		memcpy(ret->grh.dgid.raw, grh + 8, 16);
		return;
	}
	ret->grh.dgid.raw[10] = ret->grh.dgid.raw[11] = 0xff;
	memcpy(ret->grh.dgid.raw + 12, grh + 32, 4);
}

/* Return the process's own handle of this address, or 0xffff. */
static uint16_t ah_number(const struct ibv_ah_attr *address, uint32_t qpn)
{
	union ibv_gid gid = address->grh.dgid;

	gid.raw[HOST_BYTE] = qpn >> 16;
	for (uint32_t i = 0; i < object_count(OBJECT_AH); i++) {
		const struct object *ah = object_at(OBJECT_AH, i);

		if (ah && !memcmp(&ah->address.grh.dgid, &gid, sizeof(gid)))
			return ah->number;
	}
	return 0xffff;
}

static void acknowledge(struct object *qp, struct datagram *d, uint32_t i)
{
	const struct header *h = (const void *)(d->in[i] + GRH);
	const struct ibv_wc *wc = &d->arrivals[i].wc;
	struct ibv_ah_attr address;
	struct ibv_ah *ah;
	uint32_t k;

	datagram_address(d->in[i], &address);
	ah = model_find_ah(qp->pd->backend.pd, &address);
	k = SLOTS + d->next_ack++ % SLOTS;
	*(struct header *)d->out[k] = (struct header){ .kind = ACK, .number = h->number };
	if (ah)
		datagram_post(d, k, sizeof(struct header), ah, wc->src_qp, h->qkey, 0, false);
}

static enum ibv_wc_status scatter(const struct work *work, const uint8_t *from, uint32_t length)
{
	for (int k = 0; k < work->wr.num_sge && length; k++) {
		struct ibv_sge sge = work->sge[k];

		if (sge.length > length)
			sge.length = length;
		if (!datagram_is_allowed(&sge))
			return IBV_WC_LOC_PROT_ERR;
		memcpy((void *)(uintptr_t)sge.addr, from, sge.length);
		from += sge.length;
		length -= sge.length;
	}
	return length ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS;
}

/* Deliver into a receive of the process; false: there is none. */
static bool deliver(struct object *qp, struct datagram *d, uint32_t i)
{
	static struct work work;
	uint32_t header = d->reliable ? GRH + sizeof(struct header) : 0;
	const struct header *h = (const void *)(d->in[i] + GRH);
	struct ibv_wc wc = d->arrivals[i].wc;
	struct ibv_ah_attr address;

	if (device->next_receive(qp, &work) <= 0)
		return false;
	qp->rq.consumed += work.entries;
	datagram_address(d->in[i], &address);
	wc.slid = ah_number(&address, wc.src_qp);
	wc.byte_len -= header;
	wc.src_qp &= 0xffff;
	wc.opcode = IBV_WC_RECV;
	wc.status = scatter(&work, d->in[i] + header, wc.byte_len);
	if (d->reliable) {
		wc.wc_flags = h->flags ? IBV_WC_WITH_IMM : 0;
		wc.imm_data = h->immediate;
	}
	device->complete(
		qp->recv_cq,
		&(struct completion){ .qp = qp, .receive = true, .id = work.id, .wc = &wc });
	return true;
}

static void acknowledged(struct object *qp, struct datagram *d, uint32_t number)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		if (d->slots[i].state == SENT && d->slots[i].number == number) {
			datagram_complete_send(qp, &d->slots[i], IBV_WC_SUCCESS);
			d->slots[i].state = FREE;
		}
	}
}

/* Return whether a message that arrived a second time still waits for a receive of the process. */
static bool is_waiting(const struct datagram *d, uint32_t qpn, uint32_t number)
{
	for (uint32_t i = 0; i < ARRIVALS; i++) {
		if (d->arrivals[i].waits && d->arrivals[i].wc.src_qp == qpn &&
		    ((const struct header *)(d->in[i] + GRH))->number == number)
			return true;
	}
	return false;
}

static void arrive_reliable(struct object *qp, struct datagram *d, uint32_t i)
{
	const struct header *h = (const void *)(d->in[i] + GRH);
	const struct ibv_wc *wc = &d->arrivals[i].wc;

	if (wc->byte_len < GRH + sizeof(*h))
		return;
	if (h->kind == ACK)
		acknowledged(qp, d, h->number);
	if (h->kind != DATA)
		return;
	if (is_new(d, wc->src_qp, h->number))
		d->arrivals[i].waits = true; /* it is acknowledged when the process has it */
	else if (!is_waiting(d, wc->src_qp, h->number))
		acknowledge(qp, d, i);
}

static void arrive(struct object *qp, struct datagram *d, uint32_t i)
{
	if (d->reliable)
		arrive_reliable(qp, d, i);
	else
		deliver(qp, d, i); /* or it is lost */
	if (!d->arrivals[i].waits)
		post_arrival(d, i);
}

static bool poll(struct object *qp, struct datagram *d)
{
	struct ibv_wc wc;
	bool did = false;

	while (ibv_poll_cq(d->cq, 1, &wc) > 0) {
		did = true;
		if (wc.wr_id < ARRIVALS) {
			if (wc.status)
				continue;
			d->arrivals[wc.wr_id].wc = wc;
			arrive(qp, d, wc.wr_id);
		} else if (wc.wr_id < ARRIVALS + SLOTS) {
			struct slot *slot = &d->slots[wc.wr_id - ARRIVALS];

			slot->posted = false;
			if (!d->reliable && slot->state == SENT) {
				datagram_complete_send(qp, slot, wc.status);
				slot->state = FREE;
			}
		}
	}
	return did;
}

static bool deliver_waiting(struct object *qp, struct datagram *d)
{
	bool did = false;

	for (uint32_t i = 0; i < ARRIVALS; i++) {
		if (!d->arrivals[i].waits || !deliver(qp, d, i))
			continue;
		acknowledge(qp, d, i);
		post_arrival(d, i);
		did = true;
	}
	return did;
}

/* Flush all requests that the process has posted. */
static void flush(struct object *qp, struct datagram *d)
{
	const struct ibv_wc wc = { .status = IBV_WC_WR_FLUSH_ERR };
	static struct work work;

	for (uint32_t i = 0; i < SLOTS; i++) {
		if (d->slots[i].state == SENT)
			datagram_complete_send(qp, &d->slots[i], IBV_WC_WR_FLUSH_ERR);
		d->slots[i].state = FREE;
	}
	while (device->next_send(qp, &work)) {
		qp->sq.consumed += work.entries;
		datagram_complete_send(qp, &(struct slot){ .id = work.id, .note = work.note },
				       IBV_WC_WR_FLUSH_ERR);
	}
	while (device->next_receive(qp, &work) > 0) {
		qp->rq.consumed += work.entries;
		device->complete(qp->recv_cq,
				 &(struct completion){
					 .qp = qp, .receive = true, .id = work.id, .wc = &wc });
	}
}

bool model_datagram(struct object *qp)
{
	struct datagram *d = qp->device;
	bool did;

	if (qp->state == IBV_QPS_ERR) {
		flush(qp, d);
		return false;
	}
	if (qp->state < IBV_QPS_RTR)
		return false;
	did = poll(qp, d);
	did |= deliver_waiting(qp, d);
	if (qp->state == IBV_QPS_RTS)
		did |= datagram_start_sends(qp, d);
	datagram_send_again(qp, d);
	return did;
}
