/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/qedr/fake.h"

static const struct verbs_provider provider = { .driver_id = 11 };

static void fake_doorbell(struct qedr_doorbell *doorbell, uint64_t *reg)
{
	doorbell->reg = (char *)reg;
	doorbell->record = &doorbell->spare;
}

static void fake_cq(struct fake *f, struct qedr_cq *cq, char *ring, uint64_t *reg)
{
	cq->vcq.cq.context = &f->ctx.vctx.context;
	cq->ring = ring;
	cq->end = ring + (size_t)ENTRIES * CQE;
	atomic_store(&cq->next, (uintptr_t)ring | CQE_LAP);
	cq->base = cq->word = CQ_DB_SET | 7;
	fake_doorbell(&cq->doorbell, reg);
}

static void fake_rings(struct fake *f)
{
	struct qedr_sq *sq = &f->qp.sq;
	struct qedr_rq *rq = &f->qp.rq;

	sq->ring = sq->at = f->sends;
	sq->end = f->sends + sizeof(f->sends);
	sq->mask = SENDS - 1;
	sq->icid = ICID;
	sq->max_post = SENDS;
	sq->max_sge = 4;
	sq->max_inline = INLINE_MAX;
	sq->sent = f->sent;
	fake_doorbell(&sq->doorbell, &f->registers[0]);
	rq->ring = rq->at = f->receives;
	rq->end = f->receives + sizeof(f->receives);
	rq->mask = RECEIVES - 1;
	rq->max_post = RECEIVES;
	rq->max_sge = 4;
	rq->wr_ids = f->wr_ids;
	fake_doorbell(&rq->doorbell, &f->registers[1]);
}

struct fake *fake_create(void)
{
	struct fake *f = calloc(1, sizeof(*f));
	uint32_t id;

	strcpy(f->device.name, "qedr0");
	f->priv.provider = &provider;
	f->ctx.vctx.context.device = &f->device;
	f->ctx.vctx.context.cmd_fd = -1;
	f->ctx.vctx.priv = &f->priv;
	idtable_init(&f->ctx.qps);
	idtable_init(&f->ctx.xrc_srqs);
	f->qp.vqp.qp.context = &f->ctx.vctx.context;
	f->qp.vqp.qp.qp_num = 0x20;
	f->qp.vqp.qp.qp_type = IBV_QPT_RC;
	f->qp.vqp.qp.state = IBV_QPS_RTS;
	fake_rings(f);
	fake_cq(f, &f->send_cq, f->sent_cqes, &f->registers[2]);
	fake_cq(f, &f->recv_cq, f->received_cqes, &f->registers[3]);
	f->qp.send_cq = &f->send_cq;
	f->qp.recv_cq = &f->recv_cq;
	assert_int_equal(idtable_add(&f->ctx.qps, &f->qp, &id), 0);
	f->qp.cookie = id + 1;
	idtable_own(&f->ctx.qps, id, &f->send_cq, &f->recv_cq);
	return f;
}

void fake_free(struct fake *f)
{
	idtable_destroy(&f->ctx.qps);
	idtable_destroy(&f->ctx.xrc_srqs);
	free(f);
}

int fake_post(struct fake *f, uint64_t wr_id, unsigned int flags, const void *data, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)data, length, 0x1100 };
	struct ibv_send_wr *bad, wr = { .wr_id = wr_id,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = flags };

	return qedr_post_send(&f->qp.vqp.qp, &wr, &bad);
}

int fake_receive(struct fake *f, uint64_t wr_id, int sges)
{
	struct ibv_sge sge[4] = { { 0x1000, 8, 1 }, { 0x2000, 8, 2 }, { 0x3000, 8, 3 } };
	struct ibv_recv_wr *bad, wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = sges };

	return qedr_post_recv(&f->qp.vqp.qp, &wr, &bad);
}

/* Write the rest of an entry. Its last byte has the flags and the phase bit. */
static void entry_end(char *cqe, uint64_t cookie, uint8_t flags, uint8_t status, uint32_t place)
{
	uint64_t word = htole64(cookie);

	memcpy(cqe + CQE_AT_COOKIE, &word, sizeof(word));
	cqe[CQE_AT_STATUS] = status;
	cqe[CQE_AT_FLAGS] = flags | (place / ENTRIES % 2 ? 0 : CQE_LAP);
}

void fake_sent(struct fake *f, uint64_t cookie, uint16_t count, uint8_t status)
{
	uint32_t place = f->posted_sends++;
	char *cqe = f->sent_cqes + (size_t)(place % ENTRIES) * CQE;
	uint16_t word = htole16(count);

	memcpy(cqe + CQE_AT_COUNT, &word, sizeof(word));
	entry_end(cqe, cookie, CQE_SENT, status, place);
}

void fake_received(struct fake *f, uint64_t cookie, uint8_t flags, uint16_t id, uint8_t status)
{
	uint32_t place = f->posted_receives++;
	char *cqe = f->received_cqes + (size_t)(place % ENTRIES) * CQE;
	uint16_t word = htole16(id);
	uint32_t imm = htole32(0x11223344), length = htole32(24);

	memcpy(cqe + CQE_AT_ID, &word, sizeof(word));
	memcpy(cqe + CQE_AT_IMM, &imm, sizeof(imm));
	memcpy(cqe + CQE_AT_LENGTH, &length, sizeof(length));
	entry_end(cqe, cookie, flags, status, place);
}

int fake_poll(struct qedr_cq *cq, struct ibv_wc *wc, int count)
{
	return qedr_poll_cq(&cq->vcq.cq, count, wc);
}
