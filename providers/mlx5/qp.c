/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: two rings in one buffer, the private state beside them, and a register. */
#include <string.h>

#include "providers/kit/qp.h"
#include "providers/kit/wr.h"
#include "providers/mlx5/copy.h"
#include "providers/mlx5/cq.h"
#include "providers/mlx5/cqe.h"
#include "providers/mlx5/dc.h"
#include "providers/mlx5/pd.h"
#include "providers/mlx5/settings.h"
#include "providers/mlx5/wq.h"
#include "providers/mlx5/wqe.h"
#include "providers/mlx5/wr.h"

static int qp_check(struct ibv_context *ctx, const struct ibv_qp_init_attr_ex *attr, bool dc)
{
	bool raw = attr->qp_type == IBV_QPT_RAW_PACKET;
	uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
			 IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
			 IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH |
			 (raw ? IBV_QP_INIT_ATTR_MAX_TSO_HEADER : 0);

	if (!comp_mask_ok(attr->comp_mask, known)) {
		verbs_err(ctx,
			  "ibv_create_qp_ex: comp_mask 0x%x is not supported (supported: 0x%x)",
			  attr->comp_mask & ~known, known);
		return -EOPNOTSUPP;
	}
	if (mlx5_is_underlay(attr) &&
	    (attr->qp_type != IBV_QPT_UD || attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)) {
		verbs_err(
			ctx,
			"ibv_create_qp_ex: IBV_QP_CREATE_SOURCE_QPN is supported for UD without IBV_QP_INIT_ATTR_SEND_OPS_FLAGS");
		return attr->qp_type != IBV_QPT_UD ? -EINVAL : -EOPNOTSUPP;
	}
	if (dc)
		return mlx5_wr_check(ctx, attr);
	switch (attr->qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
	case IBV_QPT_RAW_PACKET:
		return mlx5_wr_check(ctx, attr);
	default:
		verbs_err(
			ctx,
			"ibv_create_qp: QP type %d is not supported (RC, UC, UD, XRC and raw packet are; DC by mlx5dv_create_qp())",
			attr->qp_type);
		return -EOPNOTSUPP;
	}
}

/* Allocate one buffer for both rings, receives first. Rings that are two objects of the adapter
 * have a buffer each. */
static int memory_alloc(struct mlx5_qp *qp, const struct mlx5_qp_size *size)
{
	const struct kit_allocator *from = to_mctx(qp->vqp.qp.context)->records.allocator;
	struct kit_memory memory = mlx5_memory(MLX5_MEMORY_QP);
	struct verbs_pd *pd = to_vpd(qp->vqp.qp.pd);
	int r;

	if (!qp->split)
		return kit_buf_alloc_in(&qp->buf, (size_t)size->rq_bytes + size->sq_bytes, from, pd,
					memory);
	r = kit_buf_alloc_in(&qp->buf, size->rq_bytes, from, pd, memory);
	return r ? r : kit_buf_alloc_in(&qp->sq_buf, size->sq_bytes, from, pd, memory);
}

char mlx5_no_queue[1];

/* Allocate the rings and the private state. An unused array gets one entry, so that a mask of 0 is
 * valid. */
static int rings_make(struct mlx5_qp *qp, const struct mlx5_qp_size *size)
{
	struct mlx5_context *ctx = to_mctx(qp->vqp.qp.context);
	int r;

	qp->sq.slots = calloc(max_of(size->sq_blocks, 1u), sizeof(*qp->sq.slots));
	qp->rq.wr_ids = calloc(max_of(size->rq_count, 1u), sizeof(*qp->rq.wr_ids));
	if (!qp->sq.slots || !qp->rq.wr_ids)
		return -ENOMEM;
	r = dbrec_alloc(&ctx->records, to_vpd(qp->vqp.qp.pd), &qp->record);
	if (!r)
		r = memory_alloc(qp, size);
	if (r < 0)
		return r;
	qp->rq.record = qp->record;
	qp->rq.ring = size->rq_count ? qp->buf.base : mlx5_no_queue;
	qp->rq.mask = size->rq_count ? size->rq_count - 1 : 0;
	qp->rq.shift = size->rq_shift;
	qp->rq.max_post = size->rq_max_post;
	qp->rq.wqe_sge = size->rq_max_sge;
	qp->rq.max_sge = -1;
	qp->sq.record = qp->record + MLX5_SND_DBR;
	if (qp->split) {
		qp->rq.record = qp->withheld;
		qp->sq.ring = size->sq_bytes ? qp->sq_buf.base : mlx5_no_queue;
	} else {
		qp->sq.ring =
			size->sq_bytes ? (char *)qp->buf.base + size->rq_bytes : mlx5_no_queue;
	}
	qp->sq.end = qp->sq.ring + size->sq_bytes;
	qp->sq.mask = size->sq_blocks ? size->sq_blocks - 1 : 0;
	qp->sq.max_post = size->sq_max_post;
	qp->sq.max_inline = size->max_inline;
	qp->wqe_bytes = size->wqe_bytes;
	qp->sq.ops = size->sq_ops;
	qp->sq.address_size = size->address_size;
	qp->sq.max_tso_header = size->max_tso_header;
	qp->sq.max_sge = -1;
	return 0;
}

static void rings_free(struct mlx5_qp *qp)
{
	kit_buf_free(&qp->buf);
	kit_buf_free(&qp->sq_buf);
	dbrec_free(&to_mctx(qp->vqp.qp.context)->records, qp->record, to_vpd(qp->vqp.qp.pd));
	free(qp->rq.wr_ids);
	free(qp->sq.slots);
}

/* Use the register that the kernel chose, if the index is valid. */
static int bfreg_accept(struct mlx5_qp *qp, uint32_t index)
{
	struct mlx5_context *ctx = to_mctx(qp->vqp.qp.context);

	if (index >= ctx->bfreg_count || !ctx->bfregs[index].reg) {
		verbs_err(&ctx->vctx.context, "qp 0x%x: the kernel chose doorbell %u, of %u",
			  qp->vqp.qp.qp_num, index, ctx->bfreg_count);
		return -EPROTO;
	}
	qp->sq.bfreg = &ctx->bfregs[index];
	return 0;
}

static uint32_t dv_flags(const struct mlx5dv_qp_init_attr *dv)
{
	static const uint32_t flags[][2] = {
		{ MLX5DV_QP_CREATE_TUNNEL_OFFLOADS, MLX5_QP_FLAG_TUNNEL_OFFLOADS },
		{ MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC, MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_UC },
		{ MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC, MLX5_QP_FLAG_TIR_ALLOW_SELF_LB_MC },
		{ MLX5DV_QP_CREATE_ALLOW_SCATTER_TO_CQE,
		  MLX5_QP_FLAG_ALLOW_SCATTER_CQE | MLX5_QP_FLAG_SCATTER_CQE },
		{ MLX5DV_QP_CREATE_PACKET_BASED_CREDIT_MODE,
		  MLX5_QP_FLAG_PACKET_BASED_CREDIT_MODE },
	};
	uint32_t r = 0;

	if (!dv || !(dv->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS))
		return 0;
	for (unsigned int i = 0; i < ARRAY_SIZE(flags); i++)
		r |= dv->create_flags & flags[i][0] ? flags[i][1] : 0;
	return r;
}

/* Return whether the adapter may write received data into completions. */
static bool scatters(const struct verbs_create_qp *in)
{
	const struct mlx5dv_qp_init_attr *dv = in->dv;
	bool builds = in->attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ||
		      (dv && dv->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS);

	if (in->attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE || (mlx5_dc_of(dv) && builds))
		return false;
	if (dv && dv->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS) {
		if (dv->create_flags & MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE)
			return false;
		if (dv->create_flags & MLX5DV_QP_CREATE_ALLOW_SCATTER_TO_CQE)
			return true;
	}
	return mlx5_setting_scatters();
}

uint32_t mlx5_qp_flags(const struct verbs_create_qp *in)
{
	uint32_t flags = dv_flags(in->dv) & ~MLX5_QP_FLAG_SCATTER_CQE;

	return scatters(in) ? flags | MLX5_QP_FLAG_SCATTER_CQE : flags;
}

static bool dv_has(const struct mlx5dv_qp_init_attr *dv, uint32_t create_flag)
{
	return dv && dv->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS &&
	       dv->create_flags & create_flag;
}

static uint64_t dv_ops(const struct mlx5dv_qp_init_attr *dv)
{
	return dv && dv->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS ? dv->send_ops_flags
									     : 0;
}

static bool dv_umr(const struct mlx5dv_qp_init_attr *dv)
{
	return dv_ops(dv) & (MLX5DV_QP_EX_WITH_MR_INTERLEAVED | MLX5DV_QP_EX_WITH_MR_LIST |
			     MLX5DV_QP_EX_WITH_MKEY_CONFIGURE);
}

/* Compute the sizes of the rings. The receive ring has two entries for each receive if data may
 * arrive out of order. */
static int rings_size(struct mlx5_qp *qp, const struct verbs_create_qp *in,
		      struct mlx5_qp_size *ret_size)
{
	const struct ibv_qp_init_attr_ex *attr = in->attr;
	bool twice = qp->ooo && mlx5_is_cyclic(attr->qp_type) && attr->cap.max_recv_wr > 1;
	struct ibv_qp_init_attr_ex sized = *attr;
	int r;

	if (twice)
		sized.cap.max_recv_wr = min_of(attr->cap.max_recv_wr, UINT32_MAX / 2) * 2;
	r = mlx5_qp_size(to_mctx(qp->vqp.qp.context), &sized, dv_umr(in->dv), ret_size);
	if (!r)
		ret_size->rq_max_post = twice ? ret_size->rq_count / 2 : ret_size->rq_count;
	return r;
}

void mlx5_qp_numbers(struct mlx5_qp *qp, const struct mlx5_ib_create_qp_resp *resp)
{
	uint32_t mask = resp->comp_mask;

	qp->tirn = mask & MLX5_IB_CREATE_QP_RESP_MASK_TIRN ? resp->tirn : 0;
	qp->tisn = mask & MLX5_IB_CREATE_QP_RESP_MASK_TISN ? resp->tisn : 0;
	qp->rqn = mask & MLX5_IB_CREATE_QP_RESP_MASK_RQN ? resp->rqn : 0;
	qp->sqn = mask & MLX5_IB_CREATE_QP_RESP_MASK_SQN ? resp->sqn : 0;
	qp->tir_icm_addr = mask & MLX5_IB_CREATE_QP_RESP_MASK_TIR_ICM_ADDR ? resp->tir_icm_addr : 0;
}

static int qp_create(struct mlx5_qp *qp, const struct verbs_create_qp *in,
		     const struct mlx5_qp_size *size)
{
	struct mlx5_context *ctx = to_mctx(qp->vqp.qp.context);
	bool ece = ctx->info.comp_mask & MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_ECE;
	struct mlx5_ib_create_qp_resp resp = {};
	struct mlx5_ib_create_qp cmd = {
		.buf_addr = (uintptr_t)qp->buf.base,
		.db_addr = (uintptr_t)qp->record,
		.sq_wqe_count = size->sq_blocks,
		.rq_wqe_count = size->rq_count,
		.rq_wqe_shift = size->rq_shift,
		.flags = mlx5_qp_flags(in),
		.uidx = qp->uidx,
		.sq_buf_addr = qp->split ? (uintptr_t)qp->sq_buf.base : 0,
		.ece_options = ece ? MLX5_ECE_ASK : 0,
	};
	struct verbs_udata udata = VERBS_UDATA(cmd, resp);
	struct verbs_create_qp request = *in;
	int r;

	mlx5_dci_request(in->dv, &cmd);
	if (qp->sq.bfreg) {
		cmd.bfreg_index = qp->sq.bfreg->index;
		cmd.flags |= qp->sq.bfreg->legacy ? MLX5_QP_FLAG_BFREG_INDEX
						  : MLX5_QP_FLAG_UAR_PAGE_INDEX;
	}
	request.udata = &udata;
	r = uverbs_create_qp(&qp->vqp, &request);
	if (r < 0)
		return r;
	qp->ece = resp.ece_options;
	mlx5_qp_numbers(qp, &resp);
	if (!qp->sq.bfreg) {
		r = bfreg_accept(qp, resp.bfreg_index);
		if (r < 0)
			uverbs_destroy_qp(&qp->vqp);
	}
	return r;
}

static void qp_link(struct mlx5_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	const struct mlx5_context *ctx = to_mctx(qp->vqp.qp.context);

	qp->send_cq = attr->send_cq ? to_mcq(attr->send_cq) : NULL;
	qp->recv_cq = attr->recv_cq ? to_mcq(attr->recv_cq) : NULL;
	qp->srq = attr->srq ? to_msrq(attr->srq) : NULL;
	qp->underlay = mlx5_is_underlay(attr);
	qp->split = qp->underlay || attr->qp_type == IBV_QPT_RAW_PACKET;
	qp->computes_csum = qp->underlay ? ctx->ud_csum : ctx->raw_csum;
	if (qp->split && qp->computes_csum)
		qp->extras |= MLX5_EXTRA_CSUM;
	if (qp->srq && qp->srq->vsrq.srq_type == IBV_SRQT_TM)
		qp->extras |= MLX5_EXTRA_TAGS;
	qp->sq.signal = attr->sq_sig_all ? MLX5_WQE_CTRL_CQ_UPDATE : 0;
}

static void cap_grant(struct ibv_qp_cap *cap, const struct ibv_qp_cap *asked,
		      const struct mlx5_qp_size *size)
{
	*cap = (struct ibv_qp_cap){
		.max_send_wr = size->sq_max_post,
		.max_recv_wr = size->rq_max_post,
		.max_send_sge = asked->max_send_sge,
		.max_recv_sge = size->rq_max_sge,
		.max_inline_data = size->max_inline,
	};
}

/* Choose the register of the thread domain, or a register of the context. Leave the choice to a
 * kernel that has its own. */
static void bfreg_choose(struct mlx5_qp *qp)
{
	struct mlx5_context *ctx = to_mctx(qp->vqp.qp.context);
	struct ibv_pd *pd = qp->vqp.qp.pd;
	struct mlx5_td *td = pd ? (struct mlx5_td *)to_vpd(pd)->td : NULL;

	if (td && td->bfreg) {
		qp->sq.bfreg = td->bfreg;
		qp->bfreg_lent = true;
	} else if (!ctx->bfregs) {
		qp->sq.bfreg = mlx5_bfreg_get(ctx);
	}
}

static void bfreg_give_back(struct mlx5_qp *qp)
{
	struct mlx5_context *ctx = to_mctx(qp->vqp.qp.context);

	if (!ctx->bfregs && qp->sq.bfreg && !qp->bfreg_lent)
		mlx5_bfreg_put(ctx, qp->sq.bfreg);
}

/* Return whether completions name the queue pair. Receives of an XRC receive queue pair complete
 * under the number of the SRQ. */
static bool completes(const struct mlx5_qp *qp)
{
	return qp->vqp.qp.qp_type != IBV_QPT_XRC_RECV;
}

/* The rings exist: assign the number and the register, and create the kernel's queue pair. Undo all
 * on failure. */
static int qp_bring_up(struct mlx5_qp *qp, const struct verbs_create_qp *in,
		       const struct mlx5_qp_size *size)
{
	struct mlx5_context *ctx = to_mctx(qp->vqp.qp.context);
	int r = completes(qp) ? idtable_add(&ctx->users, qp, &qp->uidx) : 0;

	if (r < 0)
		return r;
	bfreg_choose(qp);
	r = qp_create(qp, in, size);
	if (!r && completes(qp))
		idtable_own(&ctx->users, qp->uidx, qp->send_cq, qp->recv_cq);
	if (r < 0) {
		bfreg_give_back(qp);
		if (completes(qp))
			idtable_remove(&ctx->users, qp->uidx);
	}
	return r;
}

int mlx5_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct mlx5_qp *qp = to_mqp(&vqp->qp);
	const struct ibv_qp_cap asked = in->attr->cap;
	const struct mlx5dv_dc_init_attr *dc = mlx5_dc_of(in->dv);
	struct mlx5_qp_size size;
	int r = qp_check(vqp->qp.context, in->attr, dc);

	qp->ooo = dv_has(in->dv, MLX5DV_QP_CREATE_OOO_DP);
	if (!r && in->attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE)
		return mlx5_create_rss_qp(qp, in);
	if (!r && dc && dc->dc_type == MLX5DV_DCTYPE_DCT) {
		qp_link(qp, in->attr);
		return mlx5_create_dct(qp, in);
	}
	if (!r)
		r = rings_size(qp, in, &size);
	if (r < 0)
		return r;
	qp_link(qp, in->attr);
	qp->stops_at_sig_errors = dv_has(in->dv, MLX5DV_QP_CREATE_SIG_PIPELINING);
	/* Pass the granted value to the kernel. */
	in->attr->cap.max_inline_data = size.max_inline;
	if (dv_ops(in->dv) & MLX5DV_QP_EX_WITH_MEMCPY) {
		r = mlx5_copies_get(qp);
		if (r < 0)
			return r;
	}
	r = rings_make(qp, &size);
	if (!r)
		r = qp_bring_up(qp, in, &size);
	if (r < 0) {
		rings_free(qp);
		mlx5_copies_put(qp);
		return r;
	}
	cap_grant(&in->attr->cap, &asked, &size);
	if (in->extended) {
		vqp->comp_mask |= VERBS_QP_EX;
		mlx5_wr_set_slots(qp, kit_wr_ops(in->attr));
	}
	return 0;
}

/* Open a shared XRC receive queue pair. It has no rings, because it posts nothing and its receives
 * belong to the SRQ. */
int mlx5_open_qp(struct verbs_qp *vqp, const struct verbs_open_qp *in)
{
	struct mlx5_qp *qp = to_mqp(&vqp->qp);

	qp->sq.ring = qp->rq.ring = mlx5_no_queue;
	qp->sq.max_sge = qp->rq.max_sge = -1;
	return uverbs_open_qp(vqp, in);
}

int mlx5_destroy_qp(struct verbs_qp *vqp)
{
	struct mlx5_qp *qp = to_mqp(&vqp->qp);
	int r = qp->dct ? mlx5_destroy_dct(qp) : uverbs_destroy_qp(vqp);

	if (r < 0 || qp->rss || qp->dct)
		return r;
	if (completes(qp))
		mlx5_cqs_clean(qp, true);
	bfreg_give_back(qp);
	rings_free(qp);
	mlx5_copies_put(qp);
	return 0;
}

int mlx5_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in)
{
	const struct mlx5_qp *qp = to_mqp(&vqp->qp);
	uint32_t *max_recv_wr = &in->ret_attr->cap.max_recv_wr;
	int r;

	if (qp->rss) {
		verbs_err(vqp->qp.context,
			  "qp 0x%x: one that receives through a table has nothing to query",
			  vqp->qp.qp_num);
		return -EOPNOTSUPP;
	}
	r = kit_query_qp(vqp, in);
	if (r < 0)
		return r;
	/* The kernel counts the entries of the ring. */
	if (qp->ooo && mlx5_is_cyclic(vqp->qp.qp_type) && *max_recv_wr > 1)
		in->ret_init_attr->cap.max_recv_wr = *max_recv_wr /= 2;
	return 0;
}
