/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "libibverbs/library.h"
#include "libibverbs/uverbs/cmd.h"
#include "libibverbs/uverbs/uverbs.h"

static uint32_t cq_handle(const struct ibv_cq *cq)
{
	return cq ? cq->handle : 0;
}

/* Return the send CQ. One half of XRC only sends, and the other half has no queue. */
static struct ibv_cq *qp_send_cq(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->qp_type == IBV_QPT_XRC_RECV ? NULL : attr->send_cq;
}

static bool qp_receives(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->qp_type != IBV_QPT_XRC_RECV && attr->qp_type != IBV_QPT_XRC_SEND;
}

static struct ibv_cq *qp_recv_cq(const struct ibv_qp_init_attr_ex *attr)
{
	return qp_receives(attr) ? attr->recv_cq : NULL;
}

static struct ibv_srq *qp_srq(const struct ibv_qp_init_attr_ex *attr)
{
	return qp_receives(attr) ? attr->srq : NULL;
}

/* An XRC receive QP has a domain instead of a PD. */
static uint32_t qp_pd_handle(const struct ibv_qp_init_attr_ex *attr)
{
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return to_vxrcd(attr->xrcd)->handle;
	return attr->pd->handle;
}

static int qp_create_plain(struct verbs_qp *qp, const struct verbs_create_qp *in,
			   struct ib_uverbs_create_qp_resp *ret_resp)
{
	const struct ibv_qp_init_attr_ex *attr = in->attr;
	const struct ibv_srq *srq = qp_srq(attr);
	struct ib_uverbs_create_qp cmd = {
		.user_handle = (uintptr_t)&qp->qp,
		.pd_handle = qp_pd_handle(attr),
		.send_cq_handle = cq_handle(qp_send_cq(attr)),
		.recv_cq_handle = cq_handle(qp_recv_cq(attr)),
		.srq_handle = srq ? srq->handle : 0,
		.max_send_wr = attr->cap.max_send_wr,
		.max_recv_wr = attr->cap.max_recv_wr,
		.max_send_sge = attr->cap.max_send_sge,
		.max_recv_sge = attr->cap.max_recv_sge,
		.max_inline_data = attr->cap.max_inline_data,
		.sq_sig_all = !!attr->sq_sig_all,
		.qp_type = attr->qp_type,
		.is_srq = srq != NULL,
	};

	return uverbs_write(qp->qp.context, IB_USER_VERBS_CMD_CREATE_QP, &cmd, sizeof(cmd),
			    ret_resp, sizeof(*ret_resp), in->udata);
}

/* This function and the next are not inline, because they are rarely used and would enlarge the
 * stack frame of their caller. */
__attribute__((noinline)) static int qp_create_extended(struct verbs_qp *qp,
							const struct verbs_create_qp *in,
							struct ib_uverbs_create_qp_resp *ret_resp)
{
	const struct ibv_qp_init_attr_ex *attr = in->attr;
	bool ind_table = attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE;
	bool flags = attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS;
	const struct ibv_srq *srq = qp_srq(attr);
	struct ib_uverbs_ex_create_qp_resp resp = {};
	struct ib_uverbs_ex_create_qp cmd = {
		.user_handle = (uintptr_t)&qp->qp,
		.pd_handle = qp_pd_handle(attr),
		.send_cq_handle = cq_handle(qp_send_cq(attr)),
		.recv_cq_handle = cq_handle(qp_recv_cq(attr)),
		.srq_handle = srq ? srq->handle : 0,
		.max_send_wr = attr->cap.max_send_wr,
		.max_recv_wr = attr->cap.max_recv_wr,
		.max_send_sge = attr->cap.max_send_sge,
		.max_recv_sge = attr->cap.max_recv_sge,
		.max_inline_data = attr->cap.max_inline_data,
		.sq_sig_all = !!attr->sq_sig_all,
		.qp_type = attr->qp_type,
		.is_srq = srq != NULL,
		.comp_mask = ind_table ? IB_UVERBS_CREATE_QP_MASK_IND_TABLE : 0,
		.rwq_ind_tbl_handle = ind_table ? attr->rwq_ind_tbl->ind_tbl_handle : 0,
		.create_flags = flags ? attr->create_flags : 0,
		.source_qpn = flags ? attr->source_qpn : 0,
	};
	int r = uverbs_write(qp->qp.context,
			     IB_USER_VERBS_EX_CMD_CREATE_QP | IB_USER_VERBS_CMD_FLAG_EXTENDED, &cmd,
			     sizeof(cmd), &resp, sizeof(resp), in->udata);

	if (r < 0)
		return r;
	*ret_resp = resp.base;
	return 0;
}

__attribute__((noinline)) static int
qp_create_driver_attrs(struct verbs_qp *qp, const struct verbs_create_qp *in,
		       struct ib_uverbs_create_qp_resp *ret_resp)
{
	const struct ibv_qp_init_attr_ex *attr = in->attr;
	bool flags = attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags;
	bool xrc_recv = attr->qp_type == IBV_QPT_XRC_RECV;
	const struct ibv_cq *send_cq = qp_send_cq(attr), *recv_cq = qp_recv_cq(attr);
	const struct ibv_srq *srq = qp_srq(attr);
	bool table = attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE;
	uint32_t kernel_flags = (flags ? attr->create_flags & ~IBV_QP_CREATE_SOURCE_QPN : 0) |
				(attr->sq_sig_all ? IB_UVERBS_QP_CREATE_SQ_SIG_ALL : 0);
	struct ib_uverbs_qp_cap granted = {};
	const struct ib_uverbs_qp_cap cap = {
		.max_send_wr = attr->cap.max_send_wr,
		.max_recv_wr = attr->cap.max_recv_wr,
		.max_send_sge = attr->cap.max_send_sge,
		.max_recv_sge = attr->cap.max_recv_sge,
		.max_inline_data = attr->cap.max_inline_data,
	};
	const struct uverbs_attr a[] = {
		uverbs_new_idr(UVERBS_ATTR_CREATE_QP_HANDLE, &ret_resp->qp_handle),
		uverbs_idr(xrc_recv ? UVERBS_ATTR_CREATE_QP_XRCD_HANDLE
				    : UVERBS_ATTR_CREATE_QP_PD_HANDLE,
			   qp_pd_handle(attr)),
		uverbs_when(srq,
			    uverbs_idr(UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, srq ? srq->handle : 0)),
		uverbs_when(send_cq,
			    uverbs_idr(UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, cq_handle(send_cq))),
		uverbs_when(recv_cq,
			    uverbs_idr(UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, cq_handle(recv_cq))),
		uverbs_when(table, uverbs_idr(UVERBS_ATTR_CREATE_QP_IND_TABLE_HANDLE,
					      table ? attr->rwq_ind_tbl->ind_tbl_handle : 0)),
		uverbs_u64(UVERBS_ATTR_CREATE_QP_USER_HANDLE, (uintptr_t)&qp->qp),
		uverbs_in(UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap)),
		uverbs_const(UVERBS_ATTR_CREATE_QP_TYPE, attr->qp_type),
		uverbs_when(kernel_flags, uverbs_u32(UVERBS_ATTR_CREATE_QP_FLAGS, kernel_flags)),
		uverbs_when(flags && attr->create_flags & IBV_QP_CREATE_SOURCE_QPN,
			    uverbs_u32(UVERBS_ATTR_CREATE_QP_SOURCE_QPN, attr->source_qpn)),
		uverbs_when(uverbs_events_are_own(qp->qp.context),
			    uverbs_fd(UVERBS_ATTR_CREATE_QP_EVENT_FD, qp->qp.context->async_fd)),
		uverbs_out(UVERBS_ATTR_CREATE_QP_RESP_CAP, &granted, sizeof(granted)),
		uverbs_out(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &ret_resp->qpn,
			   sizeof(ret_resp->qpn)),
	};
	int r = uverbs_ioctl(qp->qp.context, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE, a,
			     ARRAY_SIZE(a), in->udata);

	if (r < 0)
		return r;
	ret_resp->max_send_wr = granted.max_send_wr;
	ret_resp->max_recv_wr = granted.max_recv_wr;
	ret_resp->max_send_sge = granted.max_send_sge;
	ret_resp->max_recv_sge = granted.max_recv_sge;
	ret_resp->max_inline_data = granted.max_inline_data;
	return 0;
}

static bool qp_needs_extended(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE ||
	       (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags);
}

int uverbs_create_qp(struct verbs_qp *qp, const struct verbs_create_qp *in)
{
	struct ib_uverbs_create_qp_resp resp = {};
	int r;

	if (unlikely((in->udata && in->udata->attr_count) || uverbs_events_are_own(qp->qp.context)))
		r = qp_create_driver_attrs(qp, in, &resp);
	else if (qp_needs_extended(in->attr))
		r = qp_create_extended(qp, in, &resp);
	else
		r = qp_create_plain(qp, in, &resp);
	if (r < 0)
		return r;
	qp->qp.handle = resp.qp_handle;
	qp->qp.qp_num = resp.qpn;
	in->attr->cap = (struct ibv_qp_cap){
		.max_send_wr = resp.max_send_wr,
		.max_recv_wr = resp.max_recv_wr,
		.max_send_sge = resp.max_send_sge,
		.max_recv_sge = resp.max_recv_sge,
		.max_inline_data = resp.max_inline_data,
	};
	return 0;
}

int uverbs_open_qp(struct verbs_qp *qp, const struct verbs_open_qp *in)
{
	struct ib_uverbs_create_qp_resp resp = {};
	struct ib_uverbs_open_qp cmd = {
		.user_handle = (uintptr_t)&qp->qp,
		.pd_handle = to_vxrcd(in->attr->xrcd)->handle,
		.qpn = in->attr->qp_num,
		.qp_type = in->attr->qp_type,
	};
	int r = uverbs_write(qp->qp.context, IB_USER_VERBS_CMD_OPEN_QP, &cmd, sizeof(cmd), &resp,
			     sizeof(resp), in->udata);

	if (r < 0)
		return r;
	qp->qp.handle = resp.qp_handle;
	qp->qp.qp_num = in->attr->qp_num;
	return 0;
}

/* Bytes from member @first to @last of a struct. */
#define RUN_SIZE(type, first, last) \
	(offsetof(type, last) + sizeof(((type *)0)->last) - offsetof(type, first))

static inline void dest_from_ah_attr(struct ib_uverbs_qp_dest *dest, const struct ibv_ah_attr *attr)
{
	memcpy(dest->dgid, attr->grh.dgid.raw, sizeof(dest->dgid));
	dest->flow_label = attr->grh.flow_label;
	dest->dlid = attr->dlid;
	/* Both structs have these members in the same order: sgid_index, hop_limit, traffic_class,
	 * and sl, src_path_bits, static_rate, is_global, port_num. */
	memcpy(&dest->sgid_index, &attr->grh.sgid_index,
	       RUN_SIZE(struct ibv_global_route, sgid_index, traffic_class));
	memcpy(&dest->sl, &attr->sl, RUN_SIZE(struct ibv_ah_attr, sl, port_num));
}

_Static_assert(RUN_SIZE(struct ibv_global_route, sgid_index, traffic_class) == 3 &&
		       RUN_SIZE(struct ib_uverbs_qp_dest, sgid_index, traffic_class) == 3,
	       "copied as one");
_Static_assert(RUN_SIZE(struct ibv_ah_attr, sl, port_num) == 5 &&
		       RUN_SIZE(struct ib_uverbs_qp_dest, sl, port_num) == 5,
	       "copied as one");

static struct ibv_ah_attr dest_to_ah_attr(const struct ib_uverbs_qp_dest *dest)
{
	struct ibv_ah_attr attr = {
		.grh = {
			.flow_label = dest->flow_label,
			.sgid_index = dest->sgid_index,
			.hop_limit = dest->hop_limit,
			.traffic_class = dest->traffic_class,
		},
		.dlid = dest->dlid,
		.sl = dest->sl,
		.src_path_bits = dest->src_path_bits,
		.static_rate = dest->static_rate,
		.is_global = dest->is_global,
		.port_num = dest->port_num,
	};

	memcpy(attr.grh.dgid.raw, dest->dgid, sizeof(dest->dgid));
	return attr;
}

int uverbs_modify_qp(struct verbs_qp *qp, const struct verbs_modify_qp *in)
{
	const struct ibv_qp_attr *attr = in->attr;
	struct ib_uverbs_ex_modify_qp_resp resp = {};
	struct ib_uverbs_ex_modify_qp cmd = {
		.base = {
			.qp_handle = qp->qp.handle,
			.attr_mask = in->mask,
			.qkey = attr->qkey,
			.rq_psn = attr->rq_psn,
			.sq_psn = attr->sq_psn,
			.dest_qp_num = attr->dest_qp_num,
			.qp_access_flags = attr->qp_access_flags,
			.pkey_index = attr->pkey_index,
			.alt_pkey_index = attr->alt_pkey_index,
			.qp_state = attr->qp_state,
			.cur_qp_state = attr->cur_qp_state,
			.path_mtu = attr->path_mtu,
			.path_mig_state = attr->path_mig_state,
			.en_sqd_async_notify = attr->en_sqd_async_notify,
			.max_rd_atomic = attr->max_rd_atomic,
			.max_dest_rd_atomic = attr->max_dest_rd_atomic,
			.min_rnr_timer = attr->min_rnr_timer,
			.port_num = attr->port_num,
			.timeout = attr->timeout,
			.retry_cnt = attr->retry_cnt,
			.rnr_retry = attr->rnr_retry,
			.alt_port_num = attr->alt_port_num,
			.alt_timeout = attr->alt_timeout,
		},
	};

	if (in->mask & IBV_QP_AV)
		dest_from_ah_attr(&cmd.base.dest, &attr->ah_attr);
	if (in->mask & IBV_QP_ALT_PATH)
		dest_from_ah_attr(&cmd.base.alt_dest, &attr->alt_ah_attr);
	/* The older command has no answer for the driver. */
	if (!(in->mask & IBV_QP_RATE_LIMIT) && !(in->udata && in->udata->out_len))
		return uverbs_write(qp->qp.context, IB_USER_VERBS_CMD_MODIFY_QP, &cmd.base,
				    sizeof(cmd.base), NULL, 0, in->udata);
	cmd.rate_limit = attr->rate_limit;
	return uverbs_write(qp->qp.context,
			    IB_USER_VERBS_EX_CMD_MODIFY_QP | IB_USER_VERBS_CMD_FLAG_EXTENDED, &cmd,
			    sizeof(cmd), &resp, sizeof(resp), in->udata);
}

static struct ibv_qp_attr qp_attr_from_resp(const struct ib_uverbs_query_qp_resp *resp)
{
	return (struct ibv_qp_attr){
		.qp_state = resp->qp_state,
		.cur_qp_state = resp->cur_qp_state,
		.path_mtu = resp->path_mtu,
		.path_mig_state = resp->path_mig_state,
		.qkey = resp->qkey,
		.rq_psn = resp->rq_psn,
		.sq_psn = resp->sq_psn,
		.dest_qp_num = resp->dest_qp_num,
		.qp_access_flags = resp->qp_access_flags,
		.cap = {
			.max_send_wr = resp->max_send_wr,
			.max_recv_wr = resp->max_recv_wr,
			.max_send_sge = resp->max_send_sge,
			.max_recv_sge = resp->max_recv_sge,
			.max_inline_data = resp->max_inline_data,
		},
		.ah_attr = dest_to_ah_attr(&resp->dest),
		.alt_ah_attr = dest_to_ah_attr(&resp->alt_dest),
		.pkey_index = resp->pkey_index,
		.alt_pkey_index = resp->alt_pkey_index,
		.sq_draining = resp->sq_draining,
		.max_rd_atomic = resp->max_rd_atomic,
		.max_dest_rd_atomic = resp->max_dest_rd_atomic,
		.min_rnr_timer = resp->min_rnr_timer,
		.port_num = resp->port_num,
		.timeout = resp->timeout,
		.retry_cnt = resp->retry_cnt,
		.rnr_retry = resp->rnr_retry,
		.alt_port_num = resp->alt_port_num,
		.alt_timeout = resp->alt_timeout,
	};
}

int uverbs_query_qp(struct verbs_qp *qp, const struct verbs_query_qp *in)
{
	struct ib_uverbs_query_qp cmd = { .qp_handle = qp->qp.handle, .attr_mask = in->mask };
	struct ib_uverbs_query_qp_resp resp = {};
	int r = uverbs_write(qp->qp.context, IB_USER_VERBS_CMD_QUERY_QP, &cmd, sizeof(cmd), &resp,
			     sizeof(resp), NULL);

	if (r < 0)
		return r;
	*in->ret_attr = qp_attr_from_resp(&resp);
	*in->ret_init_attr = (struct ibv_qp_init_attr){
		.qp_context = qp->qp.qp_context,
		.send_cq = qp->qp.send_cq,
		.recv_cq = qp->qp.recv_cq,
		.srq = qp->qp.srq,
		.cap = in->ret_attr->cap,
		.qp_type = qp->qp.qp_type,
		.sq_sig_all = resp.sq_sig_all,
	};
	return 0;
}

int uverbs_destroy_qp(struct verbs_qp *qp)
{
	struct ib_uverbs_destroy_qp cmd = { .qp_handle = qp->qp.handle };
	struct ib_uverbs_destroy_qp_resp resp = {};
	int r = uverbs_write(qp->qp.context, IB_USER_VERBS_CMD_DESTROY_QP, &cmd, sizeof(cmd), &resp,
			     sizeof(resp), NULL);

	if (r < 0)
		return r;
	if (resp.events_reported)
		verbs_qp_wait_events(qp, resp.events_reported);
	return 0;
}

int uverbs_attach_mcast(struct verbs_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct ib_uverbs_attach_mcast cmd = { .qp_handle = qp->qp.handle, .mlid = lid };

	memcpy(cmd.gid, gid->raw, sizeof(cmd.gid));
	return uverbs_write(qp->qp.context, IB_USER_VERBS_CMD_ATTACH_MCAST, &cmd, sizeof(cmd), NULL,
			    0, NULL);
}

int uverbs_detach_mcast(struct verbs_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	struct ib_uverbs_detach_mcast cmd = { .qp_handle = qp->qp.handle, .mlid = lid };

	memcpy(cmd.gid, gid->raw, sizeof(cmd.gid));
	return uverbs_write(qp->qp.context, IB_USER_VERBS_CMD_DETACH_MCAST, &cmd, sizeof(cmd), NULL,
			    0, NULL);
}
