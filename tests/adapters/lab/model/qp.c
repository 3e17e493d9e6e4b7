/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/adapters/lab/model/tag.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

/* A provider may grant more than it was asked for: up to the next 64 bytes of a work request. */
enum {
	SGES = 8,
	INLINE = 512,
	INLINE_MORE = 64,
	INLINE_MOST = 1024
};

static atomic_bool unacknowledged;

bool model_loses_messages(void)
{
	return atomic_load(&unacknowledged);
}

static uint32_t at_least(uint32_t value, uint32_t least)
{
	return value > least ? value : least;
}

static uint32_t at_most(uint32_t value, uint32_t most)
{
	return value < most ? value : most;
}

int model_create_qp(struct object *qp, const struct ib_uverbs_ex_create_qp *q, uint32_t sends,
		    uint32_t receives)
{
	struct ibv_device_attr limits;
	struct ibv_qp_init_attr_ex attr = {
		.qp_context = qp,
		.send_cq = qp->send_cq ? qp->send_cq->backend.cq : NULL,
		.recv_cq = qp->recv_cq ? qp->recv_cq->backend.cq : NULL,
		.srq = qp->srq ? qp->srq->backend.srq : NULL,
		.qp_type = q->qp_type,
		.sq_sig_all = q->sq_sig_all,
		.comp_mask = qp->xrcd ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD,
		.pd = qp->pd ? qp->pd->backend.pd : NULL,
		.xrcd = qp->xrcd ? qp->xrcd->backend.xrcd : NULL,
	};

	if (!model_on())
		return 0;
	/* An SRQ that matches tags has a completion queue, and fetches data by the queue pair. */
	if (qp->srq && qp->srq->tags) {
		attr.recv_cq = qp->srq->recv_cq->backend.cq;
		sends = at_least(sends, TAGS_MOST);
	}
	model_query_device(&limits);
	attr.cap = (struct ibv_qp_cap){
		.max_send_wr = at_most(at_least(sends, 1), limits.max_qp_wr),
		.max_recv_wr = at_most(at_least(receives, 1), limits.max_qp_wr),
		.max_send_sge = at_most(at_least(q->max_send_sge, SGES), limits.max_sge),
		.max_recv_sge = at_most(at_least(q->max_recv_sge, SGES), limits.max_sge),
		.max_inline_data =
			at_most(at_least(q->max_inline_data + INLINE_MORE, INLINE), INLINE_MOST),
	};
	qp->backend.qp = ibv_create_qp_ex(model_context(), &attr);
	if (!qp->backend.qp)
		return errno;
	qp->number = qp->backend.qp->qp_num;
	if (qp->qp_type == IBV_QPT_UC || qp->qp_type == IBV_QPT_UD)
		atomic_store(&unacknowledged, true);
	model_start();
	return 0;
}

static void address_in(const struct ib_uverbs_qp_dest *q, struct ibv_ah_attr *ret)
{
	*ret = (struct ibv_ah_attr){
		.grh = { .flow_label = q->flow_label,
			 .sgid_index = q->sgid_index,
			 .hop_limit = q->hop_limit,
			 .traffic_class = q->traffic_class },
		.dlid = q->dlid,
		.sl = q->sl,
		.src_path_bits = q->src_path_bits,
		.static_rate = q->static_rate,
		.is_global = q->is_global,
		.port_num = q->port_num,
	};
	memcpy(ret->grh.dgid.raw, q->dgid, sizeof(q->dgid));
}

static void address_out(const struct ibv_ah_attr *a, struct ib_uverbs_qp_dest *ret)
{
	*ret = (struct ib_uverbs_qp_dest){
		.flow_label = a->grh.flow_label,
		.dlid = a->dlid,
		.sgid_index = a->grh.sgid_index,
		.hop_limit = a->grh.hop_limit,
		.traffic_class = a->grh.traffic_class,
		.sl = a->sl,
		.src_path_bits = a->src_path_bits,
		.static_rate = a->static_rate,
		.is_global = a->is_global,
		.port_num = a->port_num,
	};
	memcpy(ret->dgid, a->grh.dgid.raw, sizeof(ret->dgid));
}

/* The backend's QP sends as soon as it receives, because a QP that only receives acknowledges
 * too. */
static int ready_datagram(struct object *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	return ibv_modify_qp(qp->backend.qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

/* Modify the backend's QP. The model itself implements the attributes of reliable datagrams. */
static int modify_datagram(struct object *qp, struct ibv_qp_attr *attr, int mask)
{
	int r;

	if (mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RTS && qp->state == IBV_QPS_RTR)
		return 0;
	r = ibv_modify_qp(qp->backend.qp, attr, mask & ~IBV_QP_RNR_RETRY);
	if (!r && mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RTR)
		r = ready_datagram(qp);
	if (!r && mask & IBV_QP_QKEY)
		qp->qkey = attr->qkey;
	if (!r && mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_INIT &&
	    qp->state == IBV_QPS_RESET)
		model_datagram_ready(qp);
	return r;
}

static bool is_to_itself(const struct object *qp, const struct ib_uverbs_modify_qp *q)
{
	return q->attr_mask & IBV_QP_DEST_QPN && q->dest_qp_num == qp->number;
}

int model_modify_qp(struct object *qp, const struct ib_uverbs_modify_qp *q)
{
	struct ibv_qp_attr attr = {
		.qp_state = q->qp_state,
		.cur_qp_state = q->cur_qp_state,
		.path_mtu = q->path_mtu,
		.path_mig_state = q->path_mig_state,
		.qkey = q->qkey,
		.rq_psn = q->rq_psn,
		.sq_psn = q->sq_psn,
		.dest_qp_num = q->dest_qp_num,
		.qp_access_flags = q->qp_access_flags,
		.pkey_index = q->pkey_index,
		.max_rd_atomic = q->max_rd_atomic,
		.max_dest_rd_atomic = q->max_dest_rd_atomic,
		.min_rnr_timer = q->min_rnr_timer,
		.port_num = q->port_num,
		.timeout = q->timeout,
		.retry_cnt = q->retry_cnt,
		.rnr_retry = q->rnr_retry,
		.en_sqd_async_notify = q->en_sqd_async_notify,
	};

	if (!model_on() || qp->qp_type == IBV_QPT_RAW_PACKET)
		return 0;
	/* A queue pair whose requests change a list is connected to itself, and sends nothing. */
	if (qp->srq && qp->srq->tags && (is_to_itself(qp, q) || qp->commands)) {
		qp->commands = true;
		return 0;
	}
	if (device->short_numbers)
		return modify_datagram(qp, &attr, q->attr_mask);
	if (qp->dc)
		return model_modify_dc(qp, q);
	if (qp->qp_type == IBV_QPT_XRC_SEND)
		attr.dest_qp_num &= ~device->xrc_bit;
	qp->to_itself |= is_to_itself(qp, q);
	address_in(&q->dest, &attr.ah_attr);
	return ibv_modify_qp(qp->backend.qp, &attr, q->attr_mask);
}

int model_query_qp(struct object *qp, struct ib_uverbs_query_qp_resp *ret)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;
	int r;

	if (!model_on() || qp->dc || qp->qp_type == IBV_QPT_RAW_PACKET)
		return 0;
	r = ibv_query_qp(qp->backend.qp, &a, 0xfffff, &init);
	if (r)
		return r;
	*ret = (struct ib_uverbs_query_qp_resp){
		.max_send_wr = a.cap.max_send_wr,
		.max_recv_wr = a.cap.max_recv_wr,
		.max_send_sge = a.cap.max_send_sge,
		.max_recv_sge = a.cap.max_recv_sge,
		.max_inline_data = a.cap.max_inline_data,
		.qkey = a.qkey,
		.rq_psn = a.rq_psn,
		.sq_psn = a.sq_psn,
		.dest_qp_num =
			a.dest_qp_num | (qp->qp_type == IBV_QPT_XRC_SEND ? device->xrc_bit : 0),
		.qp_access_flags = a.qp_access_flags,
		.pkey_index = a.pkey_index,
		.qp_state = a.qp_state,
		.cur_qp_state = a.cur_qp_state,
		.path_mtu = a.path_mtu,
		.path_mig_state = a.path_mig_state,
		.sq_draining = a.sq_draining,
		.max_rd_atomic = a.max_rd_atomic,
		.max_dest_rd_atomic = a.max_dest_rd_atomic,
		.min_rnr_timer = a.min_rnr_timer,
		.port_num = a.port_num,
		.timeout = a.timeout,
		.retry_cnt = a.retry_cnt,
		.rnr_retry = a.rnr_retry,
		.sq_sig_all = init.sq_sig_all,
	};
	address_out(&a.ah_attr, &ret->dest);
	return 0;
}

int model_mcast(struct object *qp, const uint8_t *gid, uint16_t lid, bool attach)
{
	union ibv_gid group;

	if (!model_on())
		return 0;
	memcpy(group.raw, gid, sizeof(group.raw));
	return attach ? ibv_attach_mcast(qp->backend.qp, &group, lid)
		      : ibv_detach_mcast(qp->backend.qp, &group, lid);
}
