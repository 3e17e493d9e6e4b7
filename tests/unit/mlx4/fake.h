/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A queue pair and a completion queue without a kernel: rings and registers in plain memory,
 * between inaccessible pages. */
#ifndef TESTS_UNIT_MLX4_FAKE_H
#define TESTS_UNIT_MLX4_FAKE_H

#include <string.h>

#include "providers/mlx4/cqe.h"
#include "tests/unit/mlx/rings.h"

enum {
	FAKE_QPN = 0x48,
	FAKE_CQE = 64, /* of which the second half is the completion */
};

struct fake {
	struct ibv_device device;
	struct mlx4_context *ctx;
	struct mlx4_qp qp;
	struct mlx_cq cq;
	struct mlx_srq srq;
	__be32 record, cq_record[2], srq_record;
	char *sq, *rq, *cqes, *srqes, *uar, *bf; /* a page each */
};

/* Slots of 1 << @shift bytes. */
static inline void fake_sq(struct fake *f, uint32_t shift)
{
	struct mlx4_sq *sq = &f->qp.sq;

	sq->ring = f->sq;
	sq->shift = shift;
	sq->slot_ds = (1u << shift) / MLX_SEGMENT;
	sq->mask = (FAKE_PAGE >> shift) - 1;
	sq->spare = 3;
	sq->max_post = 16;
	sq->max_sge = 4;
	sq->max_inline = 44;
	sq->ops = ~0u;
	sq->plain = MLX_PLAIN_OPS;
	sq->wr_ids = calloc(sq->mask + 1, sizeof(*sq->wr_ids));
	f->qp.doorbell = htobe32(FAKE_QPN << 8);
}

static inline void fake_cq(struct fake *f)
{
	struct mlx_cq *cq = &f->cq;

	cq->vcq.cq.context = &f->ctx->vctx.context;
	cq->stride = FAKE_CQE;
	cq->mask = FAKE_PAGE / FAKE_CQE - 1;
	cq->count = cq->mask + 1;
	cq->first = f->cqes + FAKE_CQE - sizeof(struct mlx4_cqe);
	cq->format = &mlx4_cqe_format;
	cq->record = f->cq_record;
	cq->uar = f->uar;
	cq->cqn = 0x81;
	cq->arm_sn = 1;
	cq->last_number = MLX_NO_NUMBER;
	mlx4_cq_arm_set(cq);
	memset(f->cqes, 0xcc, FAKE_PAGE);
}

static inline struct fake *fake_create(enum ibv_qp_type type)
{
	struct fake *f = calloc(1, sizeof(*f));

	f->ctx = calloc(1, sizeof(*f->ctx));
	strcpy(f->device.name, "mlx4_0");
	f->ctx->vctx.context.device = &f->device;
	f->ctx->atomics = true;
	idtable_init(&f->ctx->qps);
	f->sq = fake_page();
	f->rq = fake_page();
	f->cqes = fake_page();
	f->srqes = fake_page();
	f->uar = f->ctx->uar = fake_page();
	f->bf = f->ctx->bf = fake_page();
	f->ctx->bf_size = 256;
	f->qp.vqp.qp.context = &f->ctx->vctx.context;
	f->qp.vqp.qp.qp_type = type;
	f->qp.vqp.qp.qp_num = FAKE_QPN;
	f->qp.vqp.qp.state = IBV_QPS_RTS;
	fake_sq(f, type == IBV_QPT_UD ? 7 : 6);
	fake_rq(&f->qp.rq, f->rq, &f->record, 2);
	fake_cq(f);
	f->qp.send_cq = f->qp.recv_cq = &f->cq;
	assert_int_equal(idtable_put(&f->ctx->qps, FAKE_QPN, &f->qp), 0);
	idtable_own(&f->ctx->qps, FAKE_QPN, f->qp.send_cq, f->qp.recv_cq);
	return f;
}

static inline void fake_srq(struct fake *f)
{
	fake_srq_ring(&f->srq, &f->ctx->vctx.context, f->srqes, &f->srq_record);
	f->qp.srq = &f->srq;
}

static inline void fake_free(struct fake *f)
{
	idtable_destroy(&f->ctx->qps);
	free(f->qp.sq.wr_ids);
	free(f->qp.rq.wr_ids);
	free(f->srq.next);
	free(f->srq.wr_ids);
	fake_page_free(f->sq);
	fake_page_free(f->rq);
	fake_page_free(f->cqes);
	fake_page_free(f->srqes);
	fake_page_free(f->uar);
	fake_page_free(f->bf);
	free(f->ctx);
	free(f);
}

#endif
