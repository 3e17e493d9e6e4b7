/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/bnxt_re/fake.h"

static void fake_srq(struct fake *f)
{
	struct bnxt_re_srq *srq = &f->srq;

	srq->vsrq.srq.context = &f->ctx.vctx.context;
	srq->ring = f->srq_ring;
	srq->count = SRQ_ENTRIES;
	srq->last = SRQ_ENTRIES - 1;
	srq->next = f->next;
	srq->wr_ids = f->srq_wr_ids;
	srq->number = SRQN;
	srq->max_sge = 2;
	srq->doorbell = (char *)&f->doorbell;
	for (uint32_t i = 0; i < SRQ_ENTRIES; i++)
		f->next[i] = i + 1 < SRQ_ENTRIES ? i + 1 : UINT32_MAX;
}

static void fake_qp(struct fake *f, bool variable, enum bnxt_re_psn_form form)
{
	struct bnxt_re_sq *sq = &f->qp.sq;
	struct bnxt_re_rq *rq = &f->qp.rq;

	f->qp.vqp.qp.context = &f->ctx.vctx.context;
	f->qp.vqp.qp.qp_num = QPN;
	f->qp.vqp.qp.state = IBV_QPS_RTS;
	f->qp.vqp.cap = (struct ibv_qp_cap){ 4, 4, 6, 2, 96 };
	f->qp.send_cq = f->qp.recv_cq = &f->cq;
	f->qp.srq = &f->srq;
	sq->ring = f->ring;
	sq->depth = sq->usable = SLOTS;
	sq->step = variable ? 0 : STATIC_SLOTS;
	sq->count = variable ? SLOTS : SLOTS / STATIC_SLOTS;
	sq->sent = f->sent;
	for (int i = 0; i < SLOTS; i++)
		f->sent[i].qp_num = QPN;
	sq->psns = f->psns;
	sq->psn_form = form;
	sq->msns = SLOTS / 2;
	sq->psn = 0x10;
	sq->connected = true;
	sq->mtu_shift = 10;
	sq->max_sge = 6;
	sq->max_inline = 96;
	sq->atomics = true;
	sq->number = rq->number = QPN;
	sq->doorbell = rq->doorbell = (char *)&f->doorbell;
	rq->ring = f->rq;
	rq->count = ENTRIES;
	rq->room = ENTRIES - 1;
	rq->slots = STATIC_SLOTS;
	rq->wr_ids = f->wr_ids;
	rq->max_sge = 2;
}

struct fake *fake_create(bool variable, enum bnxt_re_psn_form form)
{
	struct fake *f = calloc(1, sizeof(*f));

	strcpy(f->device.name, "bnxt_re0");
	f->ctx.vctx.context.device = &f->device;
	idtable_init(&f->ctx.qps);
	f->cq.kit.vcq.cq.context = &f->ctx.vctx.context;
	f->cq.ring = f->cq.next = f->cqes;
	f->cq.end = f->cqes + ENTRIES;
	f->cq.phase = 1;
	f->cq.report = f->cq.until_report = 2;
	f->cq.number = CQN;
	f->ctx.doorbells.base = &f->doorbell;
	fake_srq(f);
	fake_qp(f, variable, form);
	assert_int_equal(idtable_add(&f->ctx.qps, &f->qp, &f->qp.id), 0);
	bnxt_re_cqs_attach(&f->qp);
	return f;
}

void fake_free(struct fake *f)
{
	idtable_destroy(&f->ctx.qps);
	free(f);
}

uint64_t fake_doorbell(const struct fake *f)
{
	return le64toh(f->doorbell);
}

uint64_t fake_number(const void *at)
{
	uint64_t raw;

	memcpy(&raw, at, sizeof(raw));
	return le64toh(raw);
}

int fake_post(struct fake *f, uint64_t wr_id, int sges)
{
	struct ibv_sge sge[6] = { { 0x1000, 5000, 0x22 }, { 0x2000, 0, 0x22 } };
	struct ibv_send_wr *bad, wr = {
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = sges,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	return bnxt_re_post_send(&f->qp.vqp.qp, &wr, &bad);
}

void fake_entry(struct fake *f, uint32_t place, uint64_t a, uint64_t b, uint32_t info, uint32_t tag)
{
	f->cqes[place % ENTRIES] = (struct bnxt_re_cqe){
		.a = htole64(a),
		.b = htole64(b),
		.info = htole32(info | !(place / ENTRIES % 2)),
		.tag = htole32(tag),
	};
}

uint64_t fake_handle(const struct fake *f)
{
	return le64toh(bnxt_re_handle(f->qp.id));
}

int fake_poll(struct fake *f, struct ibv_wc *wc, int count)
{
	return bnxt_re_poll_cq(&f->cq.kit.vcq.cq, count, wc);
}
