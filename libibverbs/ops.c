/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The public slots of a context, the memory of every object, and the single definitions of "not
 * supported" and "destroyed".
 */
#include <string.h>

#include "libibverbs/library.h"
#include "util/env.h"

void *verbs_object_alloc(size_t base, size_t declared)
{
	size_t size = max_of(base, declared);
	void *object = malloc(size);

	/*
	 * Do not use calloc(), because it bypasses the thread cache of malloc() and is much slower.
	 * The asm statement keeps the compiler from combining malloc() and memset() to calloc().
	 */
	__asm__("" : "+r"(object));
	return object ? memset(object, 0, size) : NULL;
}

void verbs_struct_copy(void *dst, size_t dst_size, const void *src, size_t src_size)
{
	size_t common = min_of(dst_size, src_size);

	memcpy(dst, src, common);
	if (unlikely(dst_size > common))
		memset((char *)dst + common, 0, dst_size - common);
}

int verbs_unsupported(struct ibv_context *ctx, const char *verb)
{
	verbs_err(ctx, "%s: not supported by provider %s", verb, ctx_priv(ctx)->provider->name);
	return -EOPNOTSUPP;
}

int verbs_destroy_refused(struct ibv_context *ctx, const char *verb, uint32_t handle, int r)
{
	if (r == -EIO && env_is_set(ENV_RDMAV_ALLOW_DISASSOC_DESTROY))
		return 0;
	verbs_err(ctx, "%s %u: %s%s", verb, handle, strerror(-r),
		  r == -EBUSY ? " (other objects still use it)"
		  : r == -EIO ? " (the device was removed)"
			      : "");
	return r;
}

/* Functions for hot slots that a provider does not set, because applications call the slots without
 * a test for NULL. */

static int no_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	*bad_wr = wr;
	return EOPNOTSUPP;
}

static int no_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	*bad_wr = wr;
	return EOPNOTSUPP;
}

static int no_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			    struct ibv_recv_wr **bad_wr)
{
	*bad_wr = wr;
	return EOPNOTSUPP;
}

static int no_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	return -EOPNOTSUPP;
}

static int no_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	return EOPNOTSUPP;
}

static int no_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	return EOPNOTSUPP;
}

/* Slots of all providers. For NULL slots the inline functions of verbs.h return EOPNOTSUPP. */
static const struct ibv_context_ops context_slots = {
	.alloc_mw = verbs_slot_alloc_mw,
	.dealloc_mw = verbs_slot_dealloc_mw,
	.bind_mw = no_bind_mw,
	.poll_cq = no_poll_cq,
	.req_notify_cq = no_req_notify_cq,
	.post_srq_recv = no_post_srq_recv,
	.post_send = no_post_send,
	.post_recv = no_post_recv,
};

static void slots_set_hot(struct ibv_context_ops *slots, const struct verbs_ops *ops)
{
	if (ops->bind_mw)
		slots->bind_mw = ops->bind_mw;
	if (ops->poll_cq)
		slots->poll_cq = ops->poll_cq;
	if (ops->req_notify_cq)
		slots->req_notify_cq = ops->req_notify_cq;
	if (ops->post_srq_recv)
		slots->post_srq_recv = ops->post_srq_recv;
	if (ops->post_send)
		slots->post_send = ops->post_send;
	if (ops->post_recv)
		slots->post_recv = ops->post_recv;
}

void verbs_context_set_slots(struct verbs_context *ctx, const struct verbs_ops *ops)
{
	ctx->context.ops = context_slots;
	slots_set_hot(&ctx->context.ops, ops);

	ctx->alloc_null_mr = verbs_slot_alloc_null_mr;
	ctx->reg_dm_mr = verbs_slot_reg_dm_mr;
	ctx->alloc_dm = verbs_slot_alloc_dm;
	ctx->free_dm = verbs_slot_free_dm;
	ctx->alloc_td = verbs_slot_alloc_td;
	ctx->dealloc_td = verbs_slot_dealloc_td;
	ctx->alloc_parent_domain = verbs_slot_alloc_parent_domain;
	ctx->open_xrcd = verbs_slot_open_xrcd;
	ctx->close_xrcd = verbs_slot_close_xrcd;
	ctx->open_qp = verbs_slot_open_qp;
	ctx->modify_qp_rate_limit = verbs_slot_modify_qp_rate_limit;
	ctx->create_wq = verbs_slot_create_wq;
	ctx->modify_wq = verbs_slot_modify_wq;
	ctx->destroy_wq = verbs_slot_destroy_wq;
	ctx->create_rwq_ind_table = verbs_slot_create_rwq_ind_table;
	ctx->destroy_rwq_ind_table = verbs_slot_destroy_rwq_ind_table;
	ctx->ibv_create_flow = verbs_slot_create_flow;
	ctx->ibv_destroy_flow = verbs_slot_destroy_flow;
	ctx->create_flow_action_esp = verbs_slot_create_flow_action_esp;
	ctx->modify_flow_action_esp = verbs_slot_modify_flow_action_esp;
	ctx->destroy_flow_action = verbs_slot_destroy_flow_action;
	ctx->create_counters = verbs_slot_create_counters;
	ctx->destroy_counters = verbs_slot_destroy_counters;
	ctx->attach_counters_point_flow = verbs_slot_attach_counters;
	ctx->read_counters = verbs_slot_read_counters;
	ctx->post_srq_ops = ops->post_srq_ops; /* the inline function handles NULL */

	ctx->free_buf = ibv_free_buf;
	ctx->alloc_buf = ibv_alloc_buf;
	ctx->dm_export_dmabuf_fd = ibv_dm_export_dmabuf_fd;
	ctx->reg_mr_ex = ibv_reg_mr_ex;
	ctx->dealloc_dmah = ibv_dealloc_dmah;
	ctx->alloc_dmah = ibv_alloc_dmah;
	ctx->query_port = verbs_slot_query_port;
	ctx->query_device_ex = verbs_slot_query_device_ex;
	ctx->query_rt_values = verbs_slot_query_rt_values;
	ctx->advise_mr = verbs_slot_advise_mr;
	ctx->create_cq_ex = verbs_slot_create_cq_ex;
	ctx->modify_cq = verbs_slot_modify_cq;
	ctx->create_srq_ex = verbs_slot_create_srq_ex;
	ctx->get_srq_num = verbs_slot_get_srq_num;
	ctx->create_qp_ex = verbs_slot_create_qp_ex;
}
