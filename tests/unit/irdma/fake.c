/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/irdma/fake.h"

static const struct verbs_provider provider = { .driver_id = 14 };

static void fake_qp(struct fake *f, int generation)
{
	struct irdma_sq *sq = &f->qp.sq;
	struct irdma_rq *rq = &f->qp.rq;

	f->qp.vqp.qp.context = &f->ctx.vctx.context;
	f->qp.vqp.qp.qp_num = QPN;
	f->qp.vqp.qp.state = IBV_QPS_RTS;
	f->qp.vqp.cap = (struct ibv_qp_cap){ 31, 3, 13, 2, 101 };
	f->qp.send_cq = f->qp.recv_cq = &f->cq;
	sq->ring = f->ring;
	sq->sent = f->sent;
	sq->size = QUANTA;
	sq->usable = QUANTA - SQ_SPARE;
	sq->chunk = generation == 1 ? 2 : 8;
	sq->max_inline = generation == 1 ? 48 : 101;
	sq->max_sge = generation == 1 ? 3 : 13;
	sq->max_read_sge = 13;
	sq->plain = generation > 1;
	sq->old_format = rq->old_format = generation == 1;
	sq->even_extra = rq->even_extra = generation == 2;
	sq->atomics = generation == 3;
	sq->binds = true;
	sq->caps = IRDMA_CAP_WRITE_IMM | IRDMA_CAP_SEND_IMM;
	sq->number = htole32(QPN);
	sq->doorbell = (char *)f->doorbells;
	for (int i = 0; i < QUANTA; i++)
		f->sent[i].qp_num = QPN;
	rq->ring = f->rq;
	rq->wr_ids = f->wr_ids;
	rq->size = RECEIVES;
	rq->shift = 1;
	rq->max_sge = 2;
}

static void fake_queues(struct fake *f, int generation)
{
	f->cq.kit.vcq.cq.context = &f->ctx.vctx.context;
	f->cq.generation = generation;
	f->cq.stride = generation == 3 ? 64 : 32;
	f->cq.ring.base = f->cq.ring.next = f->cqes;
	f->cq.ring.end = f->cqes + ENTRIES * f->cq.stride;
	f->cq.ring.phase = IRDMA_VALID;
	f->cq.shadow = f->shadow;
	f->cq.number = htole32(CQN);
	f->cq.doorbell = (char *)f->doorbells + IRDMA_DB_ARM;
	f->srq.vsrq.srq.context = &f->ctx.vctx.context;
	f->srq.ring = f->srq_ring;
	f->srq.shadow = f->srq_shadow;
	f->srq.size = SRQ_RECEIVES;
	f->srq.shift = 1;
	f->srq.max_sge = 2;
}

struct fake *fake_create(int generation)
{
	struct fake *f = calloc(1, sizeof(*f));

	strcpy(f->device.name, "irdma0");
	f->device.transport_type = IBV_TRANSPORT_IB;
	f->priv.provider = &provider;
	f->ctx.vctx.context.device = &f->device;
	f->ctx.vctx.priv = &f->priv;
	f->ctx.generation = generation;
	f->ctx.features = generation == 3 ? IRDMA_FEATURE_ATOMICS | IRDMA_FEATURE_SRQ : 0;
	f->ctx.max_cq = 1024;
	idtable_init(&f->ctx.qps);
	fake_queues(f, generation);
	fake_qp(f, generation);
	assert_int_equal(idtable_add(&f->ctx.qps, &f->qp, &f->qp.id), 0);
	idtable_own(&f->ctx.qps, f->qp.id, &f->cq, &f->cq);
	return f;
}

void fake_free(struct fake *f)
{
	idtable_destroy(&f->ctx.qps);
	free(f);
}

uint64_t fake_word(const void *at, int index)
{
	uint64_t raw;

	memcpy(&raw, (const char *)at + 8 * index, sizeof(raw));
	return le64toh(raw);
}

uint32_t fake_doorbell(const struct fake *f)
{
	return le32toh(f->doorbells[0]);
}

struct ibv_send_wr fake_wr(enum ibv_wr_opcode opcode, int sges)
{
	static struct ibv_sge sge[16];

	for (int i = 0; i < 16; i++)
		sge[i] = (struct ibv_sge){ 0x1000u * (i + 1), 8, 0x11 };
	return (struct ibv_send_wr){
		.wr_id = 7,
		.sg_list = sge,
		.num_sge = sges,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htobe32(0x01020304),
		.wr.rdma = { 0x9000, 0x77 },
	};
}

int fake_post(struct fake *f, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad;

	return irdma_post_send(&f->qp.vqp.qp, &wr, &bad);
}

int fake_receive(struct fake *f, uint64_t wr_id, int sges)
{
	struct ibv_sge sge[3] = { { 0x5000, 0x100, 0x44 }, { 0x6000, 0x10, 0x45 } };
	struct ibv_recv_wr *bad, wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = sges };

	return irdma_post_recv(&f->qp.vqp.qp, &wr, &bad);
}

void fake_entry(struct fake *f, uint32_t place, uint32_t index, uint64_t bits)
{
	char *at = f->cqes + (size_t)(place % ENTRIES) * f->cq.stride;
	uint64_t phase = place / ENTRIES % 2 ? 0 : IRDMA_VALID;

	word_write(at, 24);
	word_write(at + AT_SECOND, irdma_handle(f->qp.id));
	word_write(at + AT_THIRD, (uint64_t)QPN << 32);
	word_write(at + AT_HEADER, bits | (uint64_t)index << CQE_INDEX_SHIFT | phase);
}

int fake_poll(struct fake *f, struct ibv_wc *wc, int count)
{
	return irdma_poll_cq(&f->cq.kit.vcq.cq, count, wc);
}

struct ibv_wc fake_poll_one(struct fake *f)
{
	struct ibv_wc wc = {};

	assert_int_equal(fake_poll(f, &wc, 1), 1);
	return wc;
}
