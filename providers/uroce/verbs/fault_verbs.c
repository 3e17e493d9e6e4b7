/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Faults of verbs: a table of operations that apply the fault rules before they call the provider's
 * operations.
 */
#include "providers/uroce/fault/fault.h"
#include "providers/uroce/verbs/verbs.h"

/* Define the operation of a verb with two arguments. @ctx is the context of the first. */
#define CALL2(verb, A, B, ctx)                                                      \
	static int fault_##verb(A a, B b)                                           \
	{                                                                           \
		int r = uroce_fault_call(ctx_host(ctx)->faults, FAULT_VERB_##verb); \
                                                                                    \
		return r < 0 ? r : uroce_##verb(a, b);                              \
	}
#define CALL3(verb, A, B, C, ctx)                                                   \
	static int fault_##verb(A a, B b, C c)                                      \
	{                                                                           \
		int r = uroce_fault_call(ctx_host(ctx)->faults, FAULT_VERB_##verb); \
                                                                                    \
		return r < 0 ? r : uroce_##verb(a, b, c);                           \
	}

CALL3(query_device, struct ibv_context *, const struct verbs_query_device *,
      struct ibv_device_attr_ex *, a)
CALL3(query_port, struct ibv_context *, uint8_t, struct ibv_port_attr *, a)
CALL2(alloc_pd, struct ibv_pd *, struct verbs_udata *, a->context)
CALL2(reg_mr, struct verbs_mr *, const struct verbs_reg_mr *, b->pd->context)
CALL2(rereg_mr, struct verbs_mr *, const struct verbs_rereg_mr *, a->ibv_mr.context)
CALL2(alloc_mw, struct ibv_mw *, struct verbs_udata *, a->pd->context)
CALL2(create_cq, struct verbs_cq *, const struct verbs_create_cq *, a->cq.context)
CALL2(resize_cq, struct verbs_cq *, const struct verbs_resize_cq *, a->cq.context)
CALL2(create_srq, struct verbs_srq *, const struct verbs_create_srq *, a->srq.context)
CALL2(modify_srq, struct verbs_srq *, const struct verbs_modify_srq *, a->srq.context)
CALL2(modify_qp, struct verbs_qp *, const struct verbs_modify_qp *, a->qp.context)
CALL2(query_qp, struct verbs_qp *, const struct verbs_query_qp *, a->qp.context)
CALL2(create_ah, struct ibv_ah *, const struct verbs_create_ah *, a->context)
CALL3(attach_mcast, struct verbs_qp *, const union ibv_gid *, uint16_t, a->qp.context)

static int fault_create_comp_channel(struct ibv_comp_channel *channel)
{
	int r = uroce_fault_call(ctx_host(channel->context)->faults,
				 FAULT_VERB_create_comp_channel);

	return r < 0 ? r : uroce_create_comp_channel(channel);
}

static int fault_dereg_mr(struct verbs_mr *mr)
{
	int r = uroce_fault_call(ctx_host(mr->ibv_mr.context)->faults, FAULT_VERB_dereg_mr);

	return r < 0 ? r : uroce_dereg_mr(mr);
}

/* Operations that applications call directly return a positive errno. */

static int fault_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	int r = uroce_fault_call(ctx_host(qp->context)->faults, FAULT_VERB_post_send);

	if (r < 0) {
		*bad_wr = wr;
		return -r;
	}
	r = uroce_post_send(qp, wr, bad_wr);
	uroce_fault_posted(ctx_host(qp->context)->faults, uroce_qp_real(to_vqp(qp)),
			   uroce_fault_fire);
	return r;
}

static int fault_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	int r = uroce_fault_call(ctx_host(qp->context)->faults, FAULT_VERB_post_recv);

	if (!r)
		return uroce_post_recv(qp, wr, bad_wr);
	*bad_wr = wr;
	return -r;
}

static int fault_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			       struct ibv_recv_wr **bad_wr)
{
	int r = uroce_fault_call(ctx_host(srq->context)->faults, FAULT_VERB_post_srq_recv);

	if (!r)
		return uroce_post_srq_recv(srq, wr, bad_wr);
	*bad_wr = wr;
	return -r;
}

static int fault_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	int r = uroce_fault_call(ctx_host(cq->context)->faults, FAULT_VERB_req_notify_cq);

	return r < 0 ? -r : uroce_req_notify_cq(cq, solicited_only);
}

/* Rules for ibv_post_send() also apply to ibv_wr_complete(), and both are counted together. */
static int fault_wr_complete(struct ibv_qp_ex *ex)
{
	struct uroce_qp *qp = to_uqp(&ex->qp_base);
	struct uroce_faults *faults = qp_host(qp)->faults;
	int r = uroce_fault_call(faults, FAULT_VERB_post_send);

	if (r < 0) {
		ex->wr_abort(ex);
		return -r;
	}
	r = qp->fault->wr_complete(ex);
	uroce_fault_posted(faults, qp, uroce_fault_fire);
	return r;
}

static int fault_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct uroce_qp *qp = (struct uroce_qp *)vqp;
	int r = uroce_fault_call(ctx_host(vqp->qp.context)->faults, FAULT_VERB_create_qp);

	if (!r)
		r = uroce_create_qp(vqp, in);
	if (!r && (vqp->comp_mask & VERBS_QP_EX)) {
		qp->fault->wr_complete = vqp->qp_ex.wr_complete;
		vqp->qp_ex.wr_complete = fault_wr_complete;
	}
	return r;
}

static struct verbs_ops fault_ops;
static const struct verbs_ops *plain_ops;

static void fault_ops_fill(const struct verbs_ops *ops)
{
	plain_ops = ops;
	fault_ops = *ops;
#define X(verb) fault_ops.verb = fault_##verb;
	FAULT_VERBS(X)
#undef X
}

const struct verbs_ops *uroce_fault_verbs(struct verbs_context *ctx, const struct verbs_ops *ops)
{
	pthread_mutex_lock(&uroce_leaf_locks[UROCE_LEAF_FAULTS]);
	if (!plain_ops)
		fault_ops_fill(ops);
	pthread_mutex_unlock(&uroce_leaf_locks[UROCE_LEAF_FAULTS]);
	verbs_context_set_ops(ctx, &fault_ops);
	return &fault_ops;
}
