/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/qedr/fake.h"

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
	atomic_store(&cq->next, (uintptr_t)ring | CQE_PHASE);
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
	sq->max_post = MAX_POST;
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

/* Write the rest of an entry. Its last byte has the flags and the phase bit. */
static void entry_end(char *cqe, uint64_t cookie, uint8_t flags, uint8_t status, uint32_t place)
{
	uint64_t word = htole64(cookie);

	memcpy(cqe + CQE_AT_COOKIE, &word, sizeof(word));
	cqe[CQE_AT_STATUS] = status;
	cqe[CQE_AT_FLAGS] = flags | (place / ENTRIES % 2 ? 0 : CQE_PHASE);
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

static void send_complete(struct adapter *a, uint32_t number)
{
	struct fake *f = (struct fake *)a;

	fake_sent(f, f->qp.cookie, number + 1, 0);
}

static void receive_complete(struct adapter *a, uint32_t number)
{
	struct fake *f = (struct fake *)a;

	fake_received(f, f->qp.cookie, CQE_RECEIVED << CQE_TYPE_SHIFT, number + 1, 0);
}

static void queue_close(struct adapter *a)
{
	struct fake *f = (struct fake *)a;

	f->qp.sq.max_post = f->qp.rq.max_post = 0;
}

static void adapter_free(struct adapter *a)
{
	struct fake *f = (struct fake *)a;

	idtable_destroy(&f->ctx.qps);
	idtable_destroy(&f->ctx.xrc_srqs);
	free(f);
}

static const struct adapter_ops ops = {
	.name = "qedr0",
	.driver_id = 11,
	.post_send = qedr_post_send,
	.post_recv = qedr_post_recv,
	.poll_cq = qedr_poll_cq,
	.send_complete = send_complete,
	.receive_complete = receive_complete,
	.close = queue_close,
	.free = adapter_free,
};

struct fake *fake_create(void)
{
	struct fake *f = calloc(1, sizeof(*f));
	uint32_t id;

	f->adapter = (struct adapter){
		.sends = MAX_POST,
		.receives = RECEIVES,
		.max_send_sge = 4,
		.max_recv_sge = 4,
		.max_inline = INLINE_MAX,
		.send_cq = &f->send_cq.vcq.cq,
		.recv_cq = &f->recv_cq.vcq.cq,
		.registers = f->registers,
		.registers_size = sizeof(f->registers),
	};
	adapter_open(&f->adapter, &ops, &f->ctx.vctx);
	adapter_qp_open(&f->adapter, &f->qp.vqp, &f->ctx.vctx, IBV_QPT_RC, 0x20);
	idtable_init(&f->ctx.qps);
	idtable_init(&f->ctx.xrc_srqs);
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

struct adapter *fake_adapter(void)
{
	return &fake_create()->adapter;
}

void fake_free(struct fake *f)
{
	adapter_free(&f->adapter);
}
