/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/hns/fake.h"

static const struct verbs_provider provider = { .driver_id = 12 };

static void fake_sq(struct fake *f, enum ibv_qp_type type)
{
	struct hns_sq *sq = &f->qp.sq;

	sq->ring = f->sends;
	sq->mask = sq->index_mask = SENDS - 1;
	sq->max_post = SENDS;
	sq->max_inline = 64;
	sq->segments = f->segments;
	sq->segment_count = SEGMENTS;
	sq->segment_mask = SEGMENTS - 1;
	sq->wr_ids = f->sent;
	sq->record = f->qp.sq_record = &f->sq_record;
	sq->tag = hns_doorbell(HNS_DB_SQ, QPN);
	sq->doorbell = (char *)&f->doorbell;
	sq->datagrams = type == IBV_QPT_UD;
	sq->xrc = type == IBV_QPT_XRC_SEND;
	sq->mtu = 4096;
	sq->owned = true;
}

static void fake_rq(struct hns_rq *rq, char *ring, uint64_t *wr_ids, uint32_t *record)
{
	rq->ring = ring;
	rq->mask = RECEIVES - 1;
	rq->max_post = RECEIVES;
	rq->shift = 5;
	rq->wqe_sge = rq->max_sge = RECEIVE_SGES;
	rq->wr_ids = wr_ids;
	rq->record = record;
	rq->recorded = true;
	rq->completes = true;
}

static void fake_cq(struct fake *f)
{
	struct hns_cq *cq = &f->cq;

	cq->kit.vcq.cq.context = &f->ctx.vctx.context;
	cq->ring = f->cqes;
	cq->count = ENTRIES;
	cq->mask = ENTRIES - 1;
	cq->arm_mask = 2 * ENTRIES - 1;
	cq->shift = 6;
	cq->size = 64;
	cq->last_number = HNS_NO_NUMBER;
	cq->record = &f->cq_record;
	cq->recorded = true;
	cq->doorbell = (char *)&f->doorbell;
	cq->number = CQN;
	cq->arm = hns_doorbell(HNS_DB_CQ_ARM, CQN) | 1ull << HNS_DB_ARM_SHIFT;
}

static void fake_srq(struct fake *f)
{
	f->srq.vsrq.srq.context = &f->ctx.vctx.context;
	f->srq.vsrq.cq = &f->cq.kit.vcq.cq;
	fake_rq(&f->srq.rq, f->shares, f->shared, &f->srq_record);
	f->srq.number = SRQN;
	f->srq.indices = f->indices;
	f->free = (1 << RECEIVES) - 1;
	f->srq.free = &f->free;
}

struct fake *fake_create(enum ibv_qp_type type)
{
	struct fake *f = calloc(1, sizeof(*f));
	struct hns_qp *qp = &f->qp;

	strcpy(f->device.name, "hns_0");
	f->device.transport_type = IBV_TRANSPORT_IB;
	f->priv.provider = &provider;
	f->ctx.vctx.context.device = &f->device;
	f->ctx.vctx.context.cmd_fd = -1;
	f->ctx.vctx.priv = &f->priv;
	idtable_init(&f->ctx.qps);
	idtable_init(&f->ctx.xrc_srqs);
	qp->vqp.qp.context = &f->ctx.vctx.context;
	qp->vqp.qp.qp_num = qp->number = QPN;
	qp->vqp.qp.qp_type = type;
	qp->vqp.qp.state = IBV_QPS_RTS;
	qp->vqp.cap = (struct ibv_qp_cap){ SENDS, RECEIVES, 4, RECEIVE_SGES, 64 };
	qp->send_cq = qp->recv_cq = &f->cq;
	fake_sq(f, type);
	fake_rq(&qp->rq, f->receives, f->received, &f->rq_record);
	qp->rq.completes = type != IBV_QPT_UD;
	qp->rq_record = &f->rq_record;
	fake_cq(f);
	fake_srq(f);
	hns_qp_post_limits_set(qp, IBV_QPS_RTS);
	assert_int_equal(idtable_put(&f->ctx.qps, QPN, qp), 0);
	idtable_own(&f->ctx.qps, QPN, &f->cq, &f->cq);
	return f;
}

void fake_free(struct fake *f)
{
	idtable_destroy(&f->ctx.qps);
	idtable_destroy(&f->ctx.xrc_srqs);
	free(f);
}

uint32_t fake_word(const void *at, int index)
{
	return get_32((const char *)at + 4 * (ptrdiff_t)index);
}

struct ibv_send_wr fake_wr(enum ibv_wr_opcode opcode, int sges)
{
	static struct ibv_sge sge[8];

	for (int i = 0; i < 8; i++)
		sge[i] = (struct ibv_sge){ 0x1000u * (i + 1), 8, 0x22 };
	return (struct ibv_send_wr){
		.wr_id = 7,
		.sg_list = sge,
		.num_sge = sges,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(0x11223344),
		.wr.rdma = { 0x2000, 7 },
	};
}

int fake_post(struct fake *f, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad;

	return hns_post_send(&f->qp.vqp.qp, &wr, &bad);
}

int fake_receive(struct fake *f, uint64_t wr_id, int sges)
{
	struct ibv_sge sge[3] = { { 0x5000, 0x100, 0x44 }, { 0x6000, 0x10, 0x45 } };
	struct ibv_recv_wr *bad, wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = sges };

	return f->qp.srq ? hns_post_srq_recv(&f->srq.vsrq.srq, &wr, &bad)
			 : hns_post_recv(&f->qp.vqp.qp, &wr, &bad);
}

void fake_entry(struct fake *f, uint32_t place, uint32_t first)
{
	char *at = f->cqes + (size_t)(place % ENTRIES) * 64;

	put_32(at + CQE_AT_KEY, 0x11223344);
	put_32(at + CQE_AT_SRQ, SRQN);
	put_32(at + CQE_AT_QP, QPN | 0x1fu << CQE_VENDOR_SHIFT);
	put_32(at + CQE_AT_LENGTH, 24);
	put_32(at + CQE_AT_VLAN, 1 << 16 | 5 << CQE_VLAN_SHIFT | CQE_VLAN);
	put_32(at + CQE_AT_PEER, 0x77 | 3 << CQE_SL_SHIFT | CQE_GRH);
	put_32(at, first | (place / ENTRIES % 2 ? 0 : CQE_OWNER));
}

int fake_poll(struct fake *f, struct ibv_wc *wc, int count)
{
	return hns_poll_cq(&f->cq.kit.vcq.cq, count, wc);
}

struct ibv_wc fake_poll_one(struct fake *f)
{
	struct ibv_wc wc = {};

	assert_int_equal(fake_poll(f, &wc, 1), 1);
	return wc;
}
