/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A queue pair, a completion queue and an SRQ without a kernel: rings, their words and registers
 * in plain memory, between inaccessible pages. */
#ifndef TESTS_UNIT_VMW_PVRDMA_FAKE_H
#define TESTS_UNIT_VMW_PVRDMA_FAKE_H

#include <stdlib.h>
#include <string.h>

#include "providers/vmw_pvrdma/pvrdma.h"
#include "tests/unit/page.h"

enum {
	FAKE_QPN = 0x48,
	FAKE_HANDLE = 0x120012, /* of which completions have the lower half */
	FAKE_CQN = 0x81,
	FAKE_SRQN = 0x33,
	FAKE_SEND_SHIFT = 8, /* room for 11 entries, of which the QP has 3 */
	FAKE_RECV_SHIFT = 6,
	FAKE_SGES = 3,
	FAKE_CQE_SHIFT = 6,
};

struct fake {
	struct ibv_device device;
	struct pvrdma_context *ctx;
	struct pvrdma_qp qp;
	struct pvrdma_cq cq;
	struct pvrdma_srq srq;
	char *sq, *rq, *cqes, *srqes, *words, *cq_words, *srq_words, *uar; /* a page each */
};

static inline struct pvrdma_ring fake_ring(char *slots, char *words, unsigned int which,
					   uint32_t shift)
{
	return pvrdma_ring_make((struct pvrdma_words *)words + which, slots, FAKE_PAGE >> shift,
				shift);
}

static inline void fake_qp(struct fake *f, enum ibv_qp_type type)
{
	struct pvrdma_qp *qp = &f->qp;

	qp->vqp.qp.context = &f->ctx->vctx.context;
	qp->vqp.qp.qp_type = type;
	qp->vqp.qp.qp_num = FAKE_QPN;
	qp->vqp.qp.state = IBV_QPS_RTS;
	qp->handle = FAKE_HANDLE;
	qp->send_cq = qp->recv_cq = &f->cq;
	qp->sq.ring = fake_ring(f->sq, f->words, 0, FAKE_SEND_SHIFT);
	qp->rq.ring = fake_ring(f->rq, f->words, 1, FAKE_RECV_SHIFT);
	qp->sq.max_sge = qp->rq.max_sge = FAKE_SGES;
	qp->sq.ops = pvrdma_send_ops(type);
	qp->sq.reg = qp->rq.reg = f->uar;
	qp->sq.doorbell = FAKE_HANDLE | PVRDMA_UAR_QP_SEND;
	qp->rq.doorbell = FAKE_HANDLE | PVRDMA_DOORBELL_RECV;
	assert_int_equal(idtable_put(&f->ctx->qpns, FAKE_HANDLE & PVRDMA_HANDLE_MASK,
				     pvrdma_qpn_entry(FAKE_QPN)),
			 0);
}

static inline struct fake *fake_create(enum ibv_qp_type type)
{
	struct fake *f = calloc(1, sizeof(*f));

	f->ctx = calloc(1, sizeof(*f->ctx));
	strcpy(f->device.name, "vmw_pvrdma0");
	f->ctx->vctx.context.device = &f->device;
	idtable_init(&f->ctx->qpns);
	f->sq = fake_page();
	f->rq = fake_page();
	f->cqes = fake_page();
	f->srqes = fake_page();
	f->words = fake_page();
	f->cq_words = fake_page();
	f->srq_words = fake_page();
	f->uar = fake_page();
	f->cq.vcq.cq.context = f->srq.vsrq.srq.context = &f->ctx->vctx.context;
	f->cq.uar = f->uar;
	pvrdma_cq_name(&f->cq, FAKE_CQN);
	f->cq.ring = fake_ring(f->cqes, f->cq_words, 1, FAKE_CQE_SHIFT);
	f->srq.rq.ring = fake_ring(f->srqes, f->srq_words, 1, FAKE_RECV_SHIFT);
	f->srq.rq.max_sge = FAKE_SGES;
	f->srq.rq.reg = f->uar + PVRDMA_UAR_SRQ_OFFSET;
	f->srq.rq.doorbell = FAKE_SRQN | PVRDMA_UAR_SRQ_RECV;
	fake_qp(f, type);
	return f;
}

static inline void fake_free(struct fake *f)
{
	idtable_destroy(&f->ctx->qpns);
	fake_page_free(f->sq);
	fake_page_free(f->rq);
	fake_page_free(f->cqes);
	fake_page_free(f->srqes);
	fake_page_free(f->words);
	fake_page_free(f->cq_words);
	fake_page_free(f->srq_words);
	fake_page_free(f->uar);
	free(f->ctx);
	free(f);
}

#endif
