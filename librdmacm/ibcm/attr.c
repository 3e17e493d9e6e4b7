/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Attributes of queue pairs, for each state. */
#include <errno.h>

#include "librdmacm/backend.h"
#include "librdmacm/ibcm/ibcm.h"
#include "librdmacm/ibcm/id.h"
#include "librdmacm/ibcm/lock.h"
#include "librdmacm/ibcm/path.h"
#include "librdmacm/id.h"

static void attr_init(const struct ibcm_id *iid, struct ibv_qp_attr *attr, int *ret_mask)
{
	*ret_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	attr->pkey_index = 0;
	attr->port_num = 1;
	if (iid->ud) {
		attr->qkey = iid->qkey;
		*ret_mask |= IBV_QP_QKEY;
		return;
	}
	attr->qp_access_flags = iid->step == STEP_CONNECT ? IBV_ACCESS_REMOTE_WRITE : 0;
	if (iid->step == STEP_CONNECT && iid->conn.qp.responder_resources)
		attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	*ret_mask |= IBV_QP_ACCESS_FLAGS;
}

static void attr_rtr(const struct ibcm_id *iid, struct ibv_qp_attr *attr, int *ret_mask)
{
	*ret_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	attr->ah_attr = ibcm_ah_attr(iid);
	attr->path_mtu = iid->conn.qp.mtu;
	attr->dest_qp_num = iid->conn.qp.remote_qpn;
	attr->rq_psn = iid->psn;
}

static void attr_rtr_reliable(const struct ibcm_id *iid, struct ibv_qp_attr *attr, int *ret_mask)
{
	attr->max_dest_rd_atomic = iid->conn.qp.responder_resources;
	attr->min_rnr_timer = 0;
	*ret_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
}

static void attr_rts(const struct ibcm_id *iid, struct ibv_qp_attr *attr, int *ret_mask)
{
	*ret_mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	attr->sq_psn = iid->conn.qp.sq_psn;
}

static void attr_rts_reliable(const struct ibcm_id *iid, struct ibv_qp_attr *attr, int *ret_mask)
{
	attr->timeout = iid->ack_timeout_set ? iid->ack_timeout : iid->conn.qp.ack_timeout;
	attr->retry_cnt = iid->conn.qp.retry_count;
	attr->rnr_retry = iid->conn.qp.rnr_retry_count;
	attr->max_rd_atomic = iid->conn.qp.initiator_depth;
	*ret_mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
}

/* Return whether the connection exists and the peer's attributes are known. */
static bool knows_peer(const struct ibcm_id *iid)
{
	return iid->conn.state == IBCM_REQ_RCVD || iid->conn.state == IBCM_REP_RCVD ||
	       iid->conn.state == IBCM_REP_SENT || iid->conn.state == IBCM_ESTABLISHED;
}

static bool attr_is_known(const struct ibcm_id *iid, enum ibv_qp_state state)
{
	if (state == IBV_QPS_INIT)
		return iid->conn.state == IBCM_REQ_SENT || knows_peer(iid);
	return (state == IBV_QPS_RTR || state == IBV_QPS_RTS) && knows_peer(iid);
}

static int attr_fill(const struct cm_id *id, struct ibv_qp_attr *attr, int *ret_mask)
{
	const struct ibcm_id *iid = id->ibcm;
	bool reliable = id->id.qp_type != IBV_QPT_UC, begun = iid->step == STEP_CONNECT;

	if (iid->step == STEP_ENDED || iid->step == STEP_LISTEN ||
	    (begun && !iid->ud && !attr_is_known(iid, attr->qp_state)))
		return -EINVAL;
	/* As in the kernel, each state gets the attributes of INIT before a connection begins. */
	if (iid->ud || !begun || attr->qp_state == IBV_QPS_INIT) {
		attr_init(iid, attr, ret_mask);
	} else if (attr->qp_state == IBV_QPS_RTR) {
		attr_rtr(iid, attr, ret_mask);
		if (reliable)
			attr_rtr_reliable(iid, attr, ret_mask);
	} else {
		attr_rts(iid, attr, ret_mask);
		if (reliable)
			attr_rts_reliable(iid, attr, ret_mask);
	}
	return 0;
}

int ibcm_init_qp_attr(struct cm_id *id, struct cm_qp_attr *attrs, int count)
{
	int r = 0;

	if (!id->ibcm->dev)
		return -EINVAL;
	ibcm_lock();
	for (int i = 0; i < count && !r; i++)
		r = attr_fill(id, &attrs[i].attr, &attrs[i].mask);
	ibcm_unlock();
	return r;
}
