/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/ocrdma/fake.h"

static void fake_cq(struct fake *f, struct oc_cq *cq, struct oc_cqe *ring, bool changes,
		    uint32_t *reg)
{
	cq->vcq.cq.context = &f->ctx.vctx.context;
	cq->ring = ring;
	cq->count = ENTRIES;
	cq->phase = CQE_VALID;
	cq->changes = changes;
	cq->last_id = OC_NO_ID;
	cq->number = 5;
	cq->doorbell = (char *)reg;
}

static void fake_rings(struct fake *f, enum ibv_qp_type type)
{
	struct oc_sq *sq = &f->qp.sq;
	struct oc_rq *rq = &f->qp.rq;

	sq->post_state = rq->post_state = OC_POST_ANNOUNCED;
	sq->is_ud = type == IBV_QPT_UD;
	sq->max_sge = rq->max_sge = 2;
	sq->ops = 1 << IBV_WR_SEND | 1 << IBV_WR_RDMA_WRITE | 1 << IBV_WR_RDMA_READ;
	sq->max_inline = INLINE_MAX;
	sq->mask = rq->mask = SLOTS - 1;
	sq->stride = rq->stride = SLOT;
	sq->ring = f->sends;
	sq->sent = f->sent;
	sq->doorbell = (char *)&f->registers[0];
	sq->announcement = htole32(1 << 16 | 0x12);
	rq->ring = f->receives;
	rq->wr_ids = f->wr_ids;
	rq->doorbell = (char *)&f->registers[1];
}

static void fake_srq(struct fake *f)
{
	struct oc_srq *srq = &f->srq;

	srq->vsrq.srq.context = &f->ctx.vctx.context;
	srq->max_sge = 2;
	srq->mask = SLOTS - 1;
	srq->stride = SLOT;
	srq->ring = f->shares;
	srq->wr_ids = f->shared;
	f->free = (1 << SLOTS) - 1;
	srq->free = &f->free;
	srq->doorbell = (char *)&f->registers[2];
}

static void entry_put_next(struct fake *f, int receive, struct oc_cqe cqe)
{
	struct oc_cq *cq = receive ? &f->recv_cq : &f->send_cq;
	uint32_t place = f->places[receive]++;
	bool valid = !cq->changes || place / ENTRIES % 2 == 0;

	cqe.flags |= htole32(valid ? CQE_VALID : 0);
	cq->ring[place % ENTRIES] = cqe;
}

void fake_sent(struct fake *f, uint32_t id, uint32_t index, uint32_t status)
{
	entry_put_next(f, 0,
		       (struct oc_cqe){ .index_imm = htole32(index),
					.number = htole32(id),
					.flags = htole32(status << CQE_STATUS_SHIFT) });
}

void fake_received(struct fake *f, uint32_t id, uint32_t tag, uint32_t flags)
{
	entry_put_next(f, 1,
		       (struct oc_cqe){ .index_imm = htole32(0x11223344),
					.length = htole32(24),
					.number = htole32(id | tag << CQE_TAG_SHIFT),
					.flags = htole32(flags | CQE_RECEIVE) });
}

int fake_poll(struct oc_cq *cq, struct ibv_wc *wc, int count)
{
	return oc_poll_cq(&cq->vcq.cq, count, wc);
}

static void send_complete(struct adapter *a, uint32_t number)
{
	fake_sent((struct fake *)a, QP_ID, number % SLOTS, 0);
}

static void receive_complete(struct adapter *a, uint32_t number)
{
	fake_received((struct fake *)a, QP_ID, 0, 0);
}

static void queue_close(struct adapter *a)
{
	struct fake *f = (struct fake *)a;

	atomic_store(&f->qp.sq.post_state, OC_POST_REFUSED);
	atomic_store(&f->qp.rq.post_state, OC_POST_REFUSED);
}

static void adapter_free(struct adapter *a)
{
	struct fake *f = (struct fake *)a;

	idtable_destroy(&f->ctx.qps);
	free(f);
}

static const struct adapter_ops ops = {
	.name = "ocrdma0",
	.driver_id = 7,
	.post_send = oc_post_send,
	.post_recv = oc_post_recv,
	.post_srq_recv = oc_post_srq_recv,
	.poll_cq = oc_poll_cq,
	.send_complete = send_complete,
	.receive_complete = receive_complete,
	.close = queue_close,
	.free = adapter_free,
};

struct fake *fake_create(enum ibv_qp_type type, bool changes)
{
	struct fake *f = calloc(1, sizeof(*f));

	f->adapter = (struct adapter){
		.sends = SLOTS - 1,
		.receives = SLOTS - 1,
		.max_send_sge = 2,
		.max_recv_sge = 2,
		.max_inline = INLINE_MAX,
		.send_cq = &f->send_cq.vcq.cq,
		.recv_cq = &f->recv_cq.vcq.cq,
		.registers = f->registers,
		.registers_size = sizeof(f->registers),
	};
	adapter_open(&f->adapter, &ops, &f->ctx.vctx);
	adapter_qp_open(&f->adapter, &f->qp.vqp, &f->ctx.vctx, type, 0x55);
	idtable_init(&f->ctx.qps);
	LIST_INIT(&f->ctx.failed);
	f->qp.id = QP_ID;
	fake_rings(f, type);
	fake_srq(f);
	fake_cq(f, &f->send_cq, f->sent_cqes, changes, &f->registers[3]);
	fake_cq(f, &f->recv_cq, f->received_cqes, changes, &f->registers[4]);
	f->qp.vqp.qp.send_cq = &f->send_cq.vcq.cq;
	f->qp.send_cq = &f->send_cq;
	f->qp.recv_cq = &f->recv_cq;
	assert_int_equal(idtable_put(&f->ctx.qps, QP_ID, &f->qp), 0);
	idtable_own(&f->ctx.qps, QP_ID, &f->send_cq, &f->recv_cq);
	return f;
}

struct adapter *fake_clearing(void)
{
	return &fake_create(IBV_QPT_RC, false)->adapter;
}

struct adapter *fake_changing(void)
{
	return &fake_create(IBV_QPT_RC, true)->adapter;
}

void fake_share(struct fake *f)
{
	f->qp.srq = &f->srq;
	f->qp.rq.mask = 0;
	f->adapter.srq = &f->srq.vsrq.srq;
}

void fake_free(struct fake *f)
{
	adapter_free(&f->adapter);
}
