/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A queue pair and a completion queue without a kernel: rings and registers in plain memory,
 * between inaccessible pages. */
#ifndef TESTS_UNIT_EFA_FAKE_H
#define TESTS_UNIT_EFA_FAKE_H

#include <string.h>

#include "providers/efa/wqe.h"
#include "tests/unit/page.h"

enum {
	FAKE_QPN = 0x12,
	FAKE_SUBS = 2,
};

struct fake {
	struct ibv_device device;
	struct efa_context *ctx;
	struct efa_qp qp;
	struct efa_cq cq;
	struct efa_sub_cq subs[FAKE_SUBS];
	struct efa_ah ah;
	uint32_t sq_doorbell, rq_doorbell, cq_doorbell; /* as the device reads them */
	uint8_t *sq, *rq, *cqes;			/* a page each */
};

static inline void fake_wq(struct efa_wq *wq, uint32_t count, uint16_t generation)
{
	uint32_t size = round_up_pow2(count);

	wq->max_post = count;
	wq->id_mask = size - 1;
	wq->generation = generation * size;
	wq->ids = calloc(size, sizeof(*wq->ids));
	wq->wr_ids = calloc(size, sizeof(*wq->wr_ids));
	for (uint32_t i = 0; i < size; i++)
		wq->ids[i] = i;
}

/* Fill the pages with the queues to the last byte, so that a write behind them faults. */
static inline void fake_queues(struct fake *f, unsigned int shift, uint32_t recv_sge)
{
	struct efa_sq *sq = &f->qp.sq;
	struct efa_rq *rq = &f->qp.rq;
	uint32_t count = FAKE_PAGE >> shift, buffers = FAKE_PAGE / EFA_RECEIVE_SIZE;

	fake_wq(&sq->wq, count, 1);
	sq->wq.doorbell = &f->sq_doorbell;
	sq->control = WQE_EACH | sq->wq.generation;
	sq->shift = shift;
	sq->mask = count - 1;
	sq->max_batch = 0xffff;
	sq->max_inline = shift == EFA_WQE_SMALL_SHIFT ? EFA_INLINE_SMALL : EFA_INLINE_LARGE;
	sq->max_sge = 2;
	sq->plain = shift == EFA_WQE_SMALL_SHIFT;
	sq->inline_write = shift == EFA_WQE_LARGE_SHIFT;
	sq->ring = (char *)f->sq;
	sq->built = calloc(count, (size_t)1 << shift);
	fake_wq(&rq->wq, buffers / recv_sge, 3);
	rq->wq.max_sge = rq->wqe_sge = recv_sge;
	rq->wq.doorbell = &f->rq_doorbell;
	rq->mask = buffers - 1;
	rq->ring = (uint64_t *)f->rq;
}

static inline void fake_cq(struct fake *f, unsigned int stride)
{
	struct efa_cq *cq = &f->cq;
	size_t size = FAKE_PAGE / FAKE_SUBS;

	cq->vcq.cq.context = &f->ctx->vctx.context;
	cq->vcq.cq.cqe = size / stride;
	cq->stride = stride;
	cq->next = cq->subs = f->subs;
	cq->sub_count = FAKE_SUBS;
	cq->doorbell = &f->cq_doorbell;
	cq->last_qpn = EFA_QPNS;
	cq->ring = (const char *)f->cqes;
	for (int i = 0; i < FAKE_SUBS; i++) {
		struct efa_sub_cq *sub = &f->subs[i];

		sub->next = &f->subs[(i + 1) % FAKE_SUBS];
		sub->at = sub->ring = cq->ring + i * size;
		sub->end = sub->ring + size;
		sub->phase = 1u << 24;
	}
}

static inline struct fake *fake_create(enum ibv_qp_type type, unsigned int wqe_shift,
				       unsigned int cqe_size, uint32_t recv_sge)
{
	struct fake *f = calloc(1, sizeof(*f));

	f->ctx = calloc(1, sizeof(*f->ctx));
	strcpy(f->device.name, "efa_0");
	f->ctx->vctx.context.device = &f->device;
	f->ctx->max_rdma_sge = 1;
	idtable_init(&f->ctx->qps);
	f->sq = fake_page();
	f->rq = fake_page();
	f->cqes = fake_page();
	f->qp.vqp.qp.context = &f->ctx->vctx.context;
	f->qp.vqp.qp.qp_type = type;
	f->qp.vqp.qp.qp_num = FAKE_QPN;
	f->qp.vqp.qp.state = IBV_QPS_RTS;
	fake_queues(f, wqe_shift, recv_sge);
	fake_cq(f, cqe_size);
	f->qp.send_cq = f->qp.recv_cq = &f->cq;
	f->ah.number = 5;
	assert_int_equal(idtable_put(&f->ctx->qps, FAKE_QPN, &f->qp), 0);
	idtable_own(&f->ctx->qps, FAKE_QPN, f->qp.send_cq, f->qp.recv_cq);
	return f;
}

static inline void fake_free(struct fake *f)
{
	idtable_destroy(&f->ctx->qps);
	free(f->qp.sq.wq.ids);
	free(f->qp.sq.wq.wr_ids);
	free(f->qp.sq.built);
	free(f->qp.rq.wq.ids);
	free(f->qp.rq.wq.wr_ids);
	fake_page_free(f->sq);
	fake_page_free(f->rq);
	fake_page_free(f->cqes);
	free(f->ctx);
	free(f);
}

/* Compare with bytes given as a dump; spaces do not count. */
static inline void assert_bytes(const uint8_t *memory, const char *dump)
{
	for (unsigned int i = 0, value; sscanf(dump, " %2x", &value) == 1; i++) {
		assert_int_equal(memory[i], value);
		dump += strspn(dump, " ") + 2;
	}
}

#endif
