/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of SRQs that depend on this kernel driver. The rest is in providers/mlx. */
#include <stdlib.h>

#include "providers/mlx5/cq.h"
#include "providers/mlx5/settings.h"
#include "providers/mlx5/tag.h"

enum {
	TYPES = 1u << IBV_SRQT_BASIC | 1u << IBV_SRQT_XRC | 1u << IBV_SRQT_TM,
};

static int srq_create(struct mlx5_srq *srq, const struct verbs_create_srq *in)
{
	struct mlx_srq *base = &srq->srq;
	struct mlx5_ib_create_srq_resp resp = {};
	struct mlx5_ib_create_srq cmd = {
		.buf_addr = (uintptr_t)base->buf.base,
		.db_addr = (uintptr_t)base->record,
		.uidx = srq->user ? srq->user->qp.uidx : 0,
	};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct ibv_srq_init_attr_ex attr = *in->attr;
	struct verbs_create_srq request = { .attr = &attr, .udata = &udata };
	int r;

	attr.attr.max_wr = base->mask;
	attr.attr.max_sge = base->max_sge;
	r = uverbs_create_srq(&base->vsrq, &request);
	if (!r)
		base->srqn = resp.srqn;
	return r;
}

/* ---- the object that completions of an XRC SRQ, or of one that matches tags, name */

static int user_make(struct mlx5_srq *srq)
{
	struct verbs_srq *vsrq = &srq->srq.vsrq;
	struct mlx5_context *ctx = to_mctx(vsrq->srq.context);
	struct mlx5_user *user = calloc(1, sizeof(*user));
	int r;

	if (!user)
		return -ENOMEM;
	user->qp.vqp.qp.context = vsrq->srq.context;
	user->qp.sq.slots = &user->slot;
	user->qp.recv_cq = to_mcq(vsrq->cq);
	user->qp.srq = &srq->srq;
	user->qp.extras = MLX5_EXTRA_SRQ;
	if (vsrq->srq_type == IBV_SRQT_TM)
		user->qp.extras |= MLX5_EXTRA_TAGS;
	r = idtable_add(&ctx->users, &user->qp, &user->qp.uidx);
	if (r < 0) {
		free(user);
		return r;
	}
	idtable_own(&ctx->users, user->qp.uidx, user->qp.recv_cq, NULL);
	srq->user = user;
	return 0;
}

static void user_free(struct mlx5_srq *srq)
{
	if (!srq->user)
		return;
	mlx5_cqs_clean(&srq->user->qp, true);
	free(srq->user);
}

/* Return 0, or -EINVAL if completions of the queue could not show tags. */
static int tags_check(const struct verbs_srq *vsrq)
{
	if (vsrq->srq_type != IBV_SRQT_TM || to_mcq(vsrq->cq)->vcq.cq_ex.start_poll)
		return 0;
	verbs_err(vsrq->srq.context,
		  "ibv_create_srq_ex: tag matching: the completion queue is not of "
		  "ibv_create_cq_ex()");
	return -EINVAL;
}

/* Create the kernel's SRQ, and the tag list if it matches tags. */
static int srq_bring_up(struct mlx5_srq *srq, const struct verbs_create_srq *in)
{
	int r = srq_create(srq, in);

	if (r || srq->srq.vsrq.srq_type != IBV_SRQT_TM)
		return r;
	r = mlx5_tags_make(srq, in->attr);
	if (r < 0)
		uverbs_destroy_srq(&srq->srq.vsrq);
	return r;
}

int mlx5_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in)
{
	struct mlx5_context *ctx = to_mctx(vsrq->srq.context);
	struct mlx5_srq *srq = (struct mlx5_srq *)vsrq;
	struct ibv_srq_attr *attr = &in->attr->attr;
	struct mlx_srq *base = &srq->srq;
	int r = mlx_srq_check(vsrq, attr, TYPES, min_of(ctx->info.max_srq_recv_wr, UINT16_MAX / 2u),
			      ctx->info.max_rq_desc_sz / MLX_SEGMENT - 1);

	if (!r)
		r = tags_check(vsrq);
	if (r < 0)
		return r;
	r = mlx_srq_make(base, &ctx->records, attr, mlx5_memory(MLX5_MEMORY_SRQ));
	base->max_sge = (1u << base->shift) / MLX_SEGMENT - 1;
	if (!r && vsrq->srq_type != IBV_SRQT_BASIC)
		r = user_make(srq);
	if (!r)
		r = srq_bring_up(srq, in);
	if (r < 0) {
		user_free(srq);
		mlx_srq_free(base);
		return r;
	}
	vsrq->srq_num = base->srqn;
	attr->max_wr = base->mask;
	attr->max_sge = base->max_sge;
	return 0;
}

int mlx5_destroy_srq(struct verbs_srq *vsrq)
{
	struct mlx5_srq *srq = (struct mlx5_srq *)vsrq;
	int r = mlx5_tags_stop(srq);

	if (!r)
		r = uverbs_destroy_srq(vsrq);
	if (r < 0)
		return r;
	user_free(srq);
	mlx5_tags_free(srq);
	mlx_srq_free(to_msrq(&vsrq->srq));
	return 0;
}
