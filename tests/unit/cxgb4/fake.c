/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/unit/cxgb4/fake.h"

static void fake_ring(struct fake *f, struct cx_ring *ring, char *base, uint32_t bytes,
		      int doorbell)
{
	ring->base = base;
	ring->slots = bytes / SLOT;
	ring->status = base + bytes;
	ring->doorbell = (char *)&f->registers[doorbell];
	ring->most = DB_MOST;
	ring->by_kernel = (uint8_t *)&f->by_kernel;
}

static void fake_qp(struct fake *f)
{
	struct cx_qp *qp = &f->qp;
	struct cx_sq *sq = &qp->sq;
	struct cx_rq *rq = &qp->rq;

	fake_ring(f, &sq->ring, f->sends, SEND_RING, DB_SQ);
	fake_ring(f, &rq->ring, f->receives, RECEIVE_RING, DB_RQ);
	qp->number = QPN;
	qp->msn = 1;
	qp->sends.qp = qp->receives.qp = qp;
	qp->error = (uint8_t *)rq->ring.status + STATUS_ERROR;
	qp->send_cq = &f->send_cq.cq;
	qp->recv_cq = &f->recv_cq.cq;
	qp->vqp.cap = (struct ibv_qp_cap){ SENDS - 1, RECEIVES - 1, SEND_SGES, RECV_SGES, INLINE };
	sq->error = rq->error = qp->error;
	sq->size = SENDS;
	sq->has_imm = true;
	sq->max_sge = SEND_SGES;
	sq->max_inline = INLINE;
	sq->sent = f->sent;
	sq->reads = f->reads;
	rq->size = RECEIVES;
	rq->max_sge = RECV_SGES;
	rq->wr_ids = f->wr_ids;
}

static void fake_srq(struct fake *f)
{
	struct cx_srq *srq = &f->srq;

	srq->vsrq.srq.context = &f->ctx.vctx.context;
	fake_ring(f, &srq->ring, f->shares, SHARE_RING, DB_SRQ);
	srq->size = SHARES;
	srq->first = FIRST_SHARE;
	srq->entries = f->shared;
	srq->waiting = f->waiting;
	srq->has_limit = true;
	srq->max_sge = RECV_SGES;
}

static void fake_cq(struct fake *f, struct fake_cq *fake, int doorbell)
{
	struct cx_cq *cq = &fake->cq;

	cq->vcq.cq.context = &f->ctx.vctx.context;
	cq->entries = ENTRIES;
	cq->ring = cq->next = fake->ring;
	cq->end = cq->ring + (size_t)ENTRIES * CQE;
	cq->stamp_at = CQE - sizeof(uint64_t);
	cq->stamp = cq->end - sizeof(uint64_t);
	cq->report_at = 2;
	cq->last_head = CX_HEAD_NONE;
	cq->flag = (uint8_t *)cq->end + STATUS_ERROR;
	cq->host_index = (uint16_t *)(void *)(cq->end + STATUS_CONSUMED);
	cq->doorbell = (char *)&f->registers[doorbell];
	cq->id = 9 << 16;
	TAILQ_INIT(&cq->todos);
}

/* Write @value at @at of an entry, whose words are big-endian. */
static void cqe_put(char *entry, uint32_t at, uint32_t value)
{
	value = htobe32(value);
	memcpy(entry + at, &value, sizeof(value));
}

void fake_entry(struct fake_cq *fake, struct fake_cqe cqe)
{
	char entry[CQE] = {};
	uint32_t number = cqe.number ? cqe.number : QPN;
	uint8_t phase = fake->place / ENTRIES % 2 ? 0 : 0x80;

	cqe_put(entry, 0, number << CQE_NUMBER_SHIFT | cqe.status << CQE_STATUS_SHIFT | cqe.opcode);
	cqe_put(entry, CQE_AT_LENGTH, cqe.length);
	cqe_put(entry, CQE_AT_STAG, cqe.stag);
	cqe_put(entry, CQE_AT_IMM, cqe.imm);
	cqe_put(entry, CQE_AT_SRQ, cqe.share);
	if (cqe.opcode & CQE_SEND)
		memcpy(entry + CQE_AT_INDEX, &cqe.index, sizeof(cqe.index));
	else
		cqe_put(entry, CQE_AT_MSN, cqe.msn);
	entry[CQE - sizeof(uint64_t)] = (char)phase;
	memcpy(fake->ring + (size_t)(fake->place++ % ENTRIES) * CQE, entry, sizeof(entry));
}

void fake_sent(struct fake *f, uint16_t index, uint32_t status)
{
	fake_entry(&f->send_cq, (struct fake_cqe){ .opcode = RI_SEND | CQE_SEND,
						   .status = status,
						   .index = index });
}

void fake_received(struct fake *f, uint32_t msn)
{
	fake_entry(&f->recv_cq, (struct fake_cqe){ .opcode = RI_SEND, .length = 24, .msn = msn });
}

int fake_poll(struct fake_cq *cq, struct ibv_wc *wc, int count)
{
	return cx_poll_cq(&cq->cq.vcq.cq, count, wc);
}

uint64_t fake_word(const void *at, int index)
{
	uint64_t word;

	memcpy(&word, (const char *)at + (ptrdiff_t)index * 8, sizeof(word));
	return be64toh(word);
}

uint32_t fake_doorbell(const struct fake *f, int which)
{
	return le32toh(f->registers[which]);
}

static void send_complete(struct adapter *a, uint32_t number)
{
	fake_sent((struct fake *)a, number % SENDS, 0);
}

static void receive_complete(struct adapter *a, uint32_t number)
{
	fake_received((struct fake *)a, number + 1);
}

static void queue_close(struct adapter *a)
{
	*((struct fake *)a)->qp.error = 1;
}

static void adapter_free(struct adapter *a)
{
	struct fake *f = (struct fake *)a;

	pthread_mutex_destroy(&f->ctx.qp_lock);
	idtable_destroy(&f->ctx.qps);
	free(f);
}

static const struct adapter_ops ops = {
	.name = "cxgb4_0",
	.driver_id = 4,
	.post_send = cx_post_send,
	.post_recv = cx_post_recv,
	.post_srq_recv = cx_post_srq_recv,
	.poll_cq = cx_poll_cq,
	.send_complete = send_complete,
	.receive_complete = receive_complete,
	.close = queue_close,
	.free = adapter_free,
};

struct fake *fake_create(void)
{
	struct fake *f = aligned_alloc(64, ROUND_UP(sizeof(*f), (size_t)64));

	memset(f, 0, sizeof(*f));
	f->adapter = (struct adapter){
		.sends = SENDS - 1,
		.receives = RECEIVES - 1,
		.max_send_sge = SEND_SGES,
		.max_recv_sge = RECV_SGES,
		.max_inline = INLINE,
		.send_cq = &f->send_cq.cq.vcq.cq,
		.recv_cq = &f->recv_cq.cq.vcq.cq,
		.registers = f->registers,
		.registers_size = sizeof(f->registers),
	};
	adapter_open(&f->adapter, &ops, &f->ctx.vctx);
	adapter_qp_open(&f->adapter, &f->qp.vqp, &f->ctx.vctx, IBV_QPT_RC, QPN);
	pthread_mutex_init(&f->ctx.qp_lock, NULL);
	LIST_INIT(&f->ctx.list);
	idtable_init(&f->ctx.qps);
	fake_cq(f, &f->send_cq, DB_SEND_CQ);
	fake_cq(f, &f->recv_cq, DB_RECV_CQ);
	fake_qp(f);
	fake_srq(f);
	assert_int_equal(idtable_put(&f->ctx.qps, QPN, &f->qp), 0);
	idtable_own(&f->ctx.qps, QPN, f->qp.send_cq, f->qp.recv_cq);
	LIST_INSERT_HEAD(&f->ctx.list, &f->qp, entry);
	return f;
}

struct adapter *fake_adapter(void)
{
	return &fake_create()->adapter;
}

void fake_share(struct fake *f)
{
	f->qp.srq = &f->srq;
	f->qp.rq.size = 0;
	f->adapter.srq = &f->srq.vsrq.srq;
}

void fake_free(struct fake *f)
{
	adapter_free(&f->adapter);
}
