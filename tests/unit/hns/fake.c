/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/hns/fake.h"

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

static void send_complete(struct adapter *a, uint32_t number)
{
	struct fake *f = (struct fake *)a;

	fake_entry(f, f->place++, OP_SEND | number % SENDS << CQE_INDEX_SHIFT);
}

static void receive_complete(struct adapter *a, uint32_t number)
{
	struct fake *f = (struct fake *)a;

	fake_entry(f, f->place++, CQE_RECEIVE | RECV_SEND);
}

static void queue_close(struct adapter *a)
{
	hns_qp_post_limits_set(&((struct fake *)a)->qp, IBV_QPS_RESET);
}

static void adapter_free(struct adapter *a)
{
	struct fake *f = (struct fake *)a;

	idtable_destroy(&f->ctx.qps);
	idtable_destroy(&f->ctx.xrc_srqs);
	free(f);
}

static const struct adapter_ops ops = {
	.name = "hns_0",
	.driver_id = 12,
	.post_send = hns_post_send,
	.post_recv = hns_post_recv,
	.post_srq_recv = hns_post_srq_recv,
	.poll_cq = hns_poll_cq,
	.send_complete = send_complete,
	.receive_complete = receive_complete,
	.close = queue_close,
	.free = adapter_free,
};

struct fake *fake_create(enum ibv_qp_type type)
{
	struct fake *f = calloc(1, sizeof(*f));
	struct hns_qp *qp = &f->qp;

	f->adapter = (struct adapter){
		.sends = SENDS,
		.receives = RECEIVES,
		.max_send_sge = 4,
		.max_recv_sge = RECEIVE_SGES,
		.max_inline = 64,
		.send_cq = &f->cq.kit.vcq.cq,
		.recv_cq = &f->cq.kit.vcq.cq,
		.registers = &f->doorbell,
		.registers_size = sizeof(f->doorbell),
	};
	adapter_open(&f->adapter, &ops, &f->ctx.vctx);
	adapter_qp_open(&f->adapter, &qp->vqp, &f->ctx.vctx, type, QPN);
	idtable_init(&f->ctx.qps);
	idtable_init(&f->ctx.xrc_srqs);
	qp->number = QPN;
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

struct adapter *fake_adapter(void)
{
	return &fake_create(IBV_QPT_RC)->adapter;
}

void fake_share(struct fake *f)
{
	f->qp.srq = &f->srq;
	f->adapter.srq = &f->srq.vsrq.srq;
}

void fake_free(struct fake *f)
{
	adapter_free(&f->adapter);
}

int fake_poll(struct fake *f, struct ibv_wc *wc, int count)
{
	return hns_poll_cq(&f->cq.kit.vcq.cq, count, wc);
}

struct ibv_wc fake_poll_one(struct fake *f)
{
	return adapter_poll_one(&f->adapter, &f->cq.kit.vcq.cq);
}
