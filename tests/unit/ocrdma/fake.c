/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/ocrdma/fake.h"

static const struct verbs_provider provider = { .driver_id = 7 };

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

	sq->gate = rq->gate = OC_OPEN;
	sq->is_ud = type == IBV_QPT_UD;
	sq->max_sge = rq->max_sge = 2;
	sq->ops = 1 << IBV_WR_SEND | 1 << IBV_WR_RDMA_WRITE | 1 << IBV_WR_RDMA_READ;
	sq->max_inline = 96;
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

struct fake *fake_create(enum ibv_qp_type type, bool changes)
{
	struct fake *f = calloc(1, sizeof(*f));

	strcpy(f->device.name, "ocrdma0");
	f->priv.provider = &provider;
	f->ctx.vctx.context.device = &f->device;
	f->ctx.vctx.context.cmd_fd = -1;
	f->ctx.vctx.priv = &f->priv;
	idtable_init(&f->ctx.qps);
	LIST_INIT(&f->ctx.failed);
	f->qp.vqp.qp.context = &f->ctx.vctx.context;
	f->qp.vqp.qp.qp_num = 0x55;
	f->qp.vqp.qp.qp_type = type;
	f->qp.vqp.qp.state = IBV_QPS_RTS;
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

void fake_free(struct fake *f)
{
	idtable_destroy(&f->ctx.qps);
	free(f);
}

int fake_post(struct fake *f, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad;

	return oc_post_send(&f->qp.vqp.qp, &wr, &bad);
}

int fake_send(struct fake *f, uint64_t wr_id, unsigned int flags, const void *data, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)data, length, 0x1100 };

	return fake_post(f, (struct ibv_send_wr){ .wr_id = wr_id,
						  .sg_list = &sge,
						  .num_sge = 1,
						  .opcode = IBV_WR_SEND,
						  .send_flags = flags });
}

int fake_receive(struct fake *f, uint64_t wr_id)
{
	struct ibv_sge sge = { 0x1000, 8, 1 };
	struct ibv_recv_wr *bad, wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };

	return f->qp.srq ? oc_post_srq_recv(&f->srq.vsrq.srq, &wr, &bad)
			 : oc_post_recv(&f->qp.vqp.qp, &wr, &bad);
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

uint32_t fake_word(const void *at, int index)
{
	uint32_t word;

	memcpy(&word, (const char *)at + 4 * (ptrdiff_t)index, sizeof(word));
	return le32toh(word);
}
