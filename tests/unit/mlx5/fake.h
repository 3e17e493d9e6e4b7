/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A queue pair and a completion queue without a kernel: rings and a register in plain memory,
 * between inaccessible pages. */
#ifndef TESTS_UNIT_MLX5_FAKE_H
#define TESTS_UNIT_MLX5_FAKE_H

#include <string.h>

#include "providers/mlx5/cq.h"
#include "providers/mlx5/cqe.h"
#include "providers/mlx5/qp.h"
#include "tests/unit/mlx/rings.h"

enum {
	FAKE_QPN = 0x1234,
	FAKE_UIDX_SPARE = 3, /* unused numbers before the QP's */
};

struct fake {
	struct ibv_device device;
	struct mlx5_context *ctx;
	struct mlx5_qp qp;
	struct mlx_cq cq;
	struct mlx_srq srq;
	struct mlx5_bfreg bfreg;
	__be32 record[2], cq_record[2], srq_record[2];
	char *sq, *rq, *cqes, *srqes, *uar; /* a page each */
};

static inline void fake_sq(struct fake *f)
{
	struct mlx5_sq *sq = &f->qp.sq;

	sq->ring = f->sq;
	sq->end = f->sq + FAKE_PAGE;
	sq->mask = FAKE_PAGE / MLX5_SEND_WQE_BB - 1;
	sq->max_post = 16;
	sq->max_sge = 4;
	sq->max_inline = 188;
	sq->ops = ~0u;
	sq->plain = MLX_PLAIN_OPS;
	sq->slots = calloc(sq->mask + 1, sizeof(*sq->slots));
	sq->record = f->record + 1;
	f->bfreg = (struct mlx5_bfreg){ .reg = f->uar + MLX5_BFREG_FIRST, .size = 256 };
	sq->bfreg = &f->bfreg;
}

static inline void fake_cq(struct fake *f)
{
	struct mlx_cq *cq = &f->cq;

	cq->vcq.cq.context = &f->ctx->vctx.context;
	cq->stride = 64;
	cq->mask = FAKE_PAGE / 64 - 1;
	cq->count = cq->mask + 1;
	cq->first = f->cqes;
	cq->format = &mlx5_cqe_format;
	cq->record = f->cq_record;
	cq->uar = f->uar;
	cq->cqn = 0x4d;
	cq->last_number = MLX_NO_NUMBER;
	mlx5_cq_arm_set(cq);
	for (uint32_t i = 0; i <= cq->mask; i++)
		((struct mlx5_cqe64 *)(f->cqes + 64 * i))->op_own = MLX5_CQE_INVALID << 4;
}

static inline struct fake *fake_create(enum ibv_qp_type type)
{
	struct fake *f = calloc(1, sizeof(*f));
	uint32_t unused;

	f->ctx = calloc(1, sizeof(*f->ctx));
	strcpy(f->device.name, "mlx5_0");
	f->ctx->vctx.context.device = &f->device;
	f->ctx->atomics = true;
	idtable_init(&f->ctx->users);
	f->sq = fake_page();
	f->rq = fake_page();
	f->cqes = fake_page();
	f->srqes = fake_page();
	f->uar = fake_page();
	f->qp.vqp.qp.context = &f->ctx->vctx.context;
	f->qp.vqp.qp.qp_type = type;
	f->qp.vqp.qp.qp_num = FAKE_QPN;
	f->qp.vqp.qp.state = IBV_QPS_RTS;
	fake_sq(f);
	f->qp.sq.address_size = type == IBV_QPT_UD ? 48 : type == IBV_QPT_XRC_SEND ? 16 : 0;
	fake_rq(&f->qp.rq, f->rq, f->record, 4);
	f->qp.record = f->record;
	fake_cq(f);
	f->qp.send_cq = f->qp.recv_cq = &f->cq;
	for (int i = 0; i < FAKE_UIDX_SPARE; i++)
		assert_int_equal(idtable_add(&f->ctx->users, &f->qp, &unused), 0);
	assert_int_equal(idtable_add(&f->ctx->users, &f->qp, &f->qp.uidx), 0);
	idtable_own(&f->ctx->users, f->qp.uidx, f->qp.send_cq, f->qp.recv_cq);
	for (int i = 0; i < FAKE_UIDX_SPARE; i++)
		idtable_remove(&f->ctx->users, i);
	return f;
}

static inline void fake_srq(struct fake *f)
{
	fake_srq_ring(&f->srq, &f->ctx->vctx.context, f->srqes, f->srq_record);
	f->qp.srq = &f->srq;
}

static inline void fake_free(struct fake *f)
{
	idtable_destroy(&f->ctx->users);
	free(f->qp.sq.slots);
	free(f->qp.rq.wr_ids);
	free(f->srq.next);
	free(f->srq.wr_ids);
	fake_page_free(f->sq);
	fake_page_free(f->rq);
	fake_page_free(f->cqes);
	fake_page_free(f->srqes);
	fake_page_free(f->uar);
	free(f->ctx);
	free(f);
}

#endif
