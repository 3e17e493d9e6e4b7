/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/mana/fake.h"

static const struct verbs_provider provider = { .driver_id = 20 };

static void fake_cq(struct fake *f, struct mana_cq *cq, const struct mana_cqe *ring)
{
	cq->vcq.cq.context = &f->ctx.vctx.context;
	cq->ring = cq->next = ring;
	cq->mask = ENTRIES - 1;
	cq->round_shift = __builtin_ctz(ENTRIES);
	cq->head = ENTRIES;
	cq->credit_end = cq->head + CQE_PHASES / 2 * ENTRIES - 1;
	cq->last_word = MANA_NUMBER_NONE;
	cq->queue.number = CQ;
}

static void fake_queues(struct fake *f)
{
	struct mana_sq *sq = &f->qp.sq;
	struct mana_rq *rq = &f->qp.rq;

	sq->max_sge = rq->max_sge = SGES;
	sq->ring = (struct mana_ring){ (char *)f->sq, sizeof(f->sq) - 1, 0, SQ };
	sq->reads = (struct mana_ring){ (char *)f->reads, sizeof(f->reads) - 1, 0, READS };
	rq->ring = (struct mana_ring){ (char *)f->rq, sizeof(f->rq) - 1, 0, RQ };
	sq->psn = FIRST_PSN;
	sq->ssn = 1;
	sq->mtu_shift = 10;
	sq->max_post = SENDS;
	sq->mask = SENDS - 1;
	sq->sent = f->sent;
	sq->rollback = &f->rollback;
	rq->max_post = RECEIVES;
	rq->mask = RECEIVES - 1;
	rq->received = f->received;
}

struct fake *fake_create(void)
{
	struct fake *f = calloc(1, sizeof(*f));
	struct mana_rc *qp = &f->qp;

	strcpy(f->device.name, "mana_0");
	f->priv.provider = &provider;
	f->ctx.vctx.context.device = &f->device;
	f->ctx.vctx.context.cmd_fd = -1;
	f->ctx.vctx.priv = &f->priv;
	f->ctx.doorbells.base = f->registers;
	idtable_init(&f->ctx.by_sq);
	idtable_init(&f->ctx.by_rq);
	fake_cq(f, &f->send_cq, f->send_ring);
	fake_cq(f, &f->recv_cq, f->recv_ring);
	fake_queues(f);
	qp->vqp.qp.context = &f->ctx.vctx.context;
	qp->vqp.qp.qp_num = RQ;
	qp->vqp.qp.qp_type = IBV_QPT_RC;
	qp->vqp.qp.state = IBV_QPS_RTS;
	qp->state = IBV_QPS_RTS;
	qp->send_cq = &f->send_cq;
	qp->recv_cq = &f->recv_cq;
	qp->doorbells = (char *)f->registers;
	LIST_INSERT_HEAD(&f->send_cq.senders, qp, sender);
	LIST_INSERT_HEAD(&f->recv_cq.receivers, qp, receiver);
	assert_int_equal(idtable_put(&f->ctx.by_sq, SQ, qp), 0);
	assert_int_equal(idtable_put(&f->ctx.by_rq, RQ, qp), 0);
	idtable_own(&f->ctx.by_sq, SQ, &f->send_cq, &f->recv_cq);
	idtable_own(&f->ctx.by_rq, RQ, &f->send_cq, &f->recv_cq);
	return f;
}

void fake_free(struct fake *f)
{
	idtable_destroy(&f->ctx.by_sq);
	idtable_destroy(&f->ctx.by_rq);
	free(f);
}

int fake_send(struct fake *f, uint64_t wr_id, enum ibv_wr_opcode opcode, unsigned int flags,
	      uint32_t length)
{
	struct ibv_sge sge = { 0x1122334455667788, length, 0x99aabbcc };
	struct ibv_send_wr *bad, wr = { .wr_id = wr_id,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = opcode,
					.send_flags = flags,
					.wr.rdma = { 0xa1a2a3a4a5a6a7a8, 0xb1b2b3b4 } };

	if (opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		wr.imm_data = htobe32(0x01020304);
	return mana_post_send(&f->qp.vqp.qp, &wr, &bad);
}

int fake_receive(struct fake *f, uint64_t wr_id)
{
	struct ibv_sge sge = { 0x1000, 8, 1 };
	struct ibv_recv_wr *bad, wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };

	return mana_post_recv(&f->qp.vqp.qp, &wr, &bad);
}

int fake_poll(struct mana_cq *cq, struct ibv_wc *wc, int count)
{
	return mana_poll_cq(&cq->vcq.cq, count, wc);
}

void fake_entry(struct fake *f, int receive, struct mana_cqe cqe, uint32_t queue)
{
	struct mana_cqe *ring = receive ? f->recv_ring : f->send_ring;
	uint32_t place = f->places[receive]++;

	cqe.queue = htole32(queue | (1 + place / ENTRIES) << CQE_PHASE_SHIFT);
	ring[place % ENTRIES] = cqe;
}

void fake_acknowledge(struct fake *f, uint32_t psn)
{
	fake_entry(f, 0,
		   (struct mana_cqe){ .head = htole32(CQE_ACKNOWLEDGED),
				      .psn = htole32(psn & PSN_MASK) },
		   READS);
}

void fake_fail(struct fake *f, int receive, uint32_t psn, uint32_t cause)
{
	fake_entry(f, receive,
		   (struct mana_cqe){ .head = htole32(CQE_ERROR | cause << CQE_CAUSE_SHIFT),
				      .psn = htole32(psn & PSN_MASK) },
		   receive ? RQ : SQ | CQE_IS_SEND);
}

void fake_message(struct fake *f, uint32_t type, uint32_t offset, uint32_t length, uint32_t imm)
{
	fake_entry(f, 1,
		   (struct mana_cqe){ .head = htole32(type),
				      .length = htole32(length),
				      .imm = htole32(imm),
				      .offset = htole32(offset) },
		   RQ);
}

uint64_t fake_register(const struct fake *f, uint32_t reg)
{
	return le64toh(f->registers[reg / sizeof(uint64_t)]);
}
