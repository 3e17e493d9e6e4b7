/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs and SRQs of identifiers, and states of the queue pairs. */
#include <string.h>

#include <rdma/rdma_verbs.h>

#include "librdmacm/backend.h"
#include "librdmacm/cm.h"
#include "librdmacm/device.h"
#include "librdmacm/id.h"
#include "util/util.h"

/* ------------------------------------------------------------------ states */

static int qp_modify(struct cm_id *id, struct ibv_qp_attr *attr, int mask)
{
	return -ibv_modify_qp(id->id.qp, attr, mask);
}

static int init_attr(struct cm_id *id, struct cm_qp_attr *attrs, int count)
{
	int r = cm_need_backend(id, "rdma_init_qp_attr");

	return r < 0 ? r : id->backend->init_qp_attr(id, attrs, count);
}

/*
 * Move the QP to INIT. Before the connection, on Ethernet, the library knows all attributes: the
 * only P_Key, the port, and no access rights for the other side before RTR. Otherwise the backend
 * has the attributes.
 */
static int qp_to_init(struct cm_id *id)
{
	struct cm_qp_attr init = {
		.attr = { .qp_state = IBV_QPS_INIT, .port_num = id->id.port_num },
		.mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	};
	int r = 0;

	if (cm_id_is_ud(id) ||
	    cm_device_link_layer(id->dev, id->id.port_num) != IBV_LINK_LAYER_ETHERNET)
		r = init_attr(id, &init, 1);
	return r < 0 ? r : qp_modify(id, &init.attr, init.mask);
}

static int qp_to_rtr(struct cm_id *id, struct cm_qp_attr *rtr)
{
	if (rtr->mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		rtr->attr.max_dest_rd_atomic = id->responder_resources;
	/* Add access rights for the other side, which were not known for INIT. */
	rtr->attr.qp_access_flags |= IBV_ACCESS_REMOTE_WRITE;
	if (id->responder_resources)
		rtr->attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	return qp_modify(id, &rtr->attr, rtr->mask | IBV_QP_ACCESS_FLAGS);
}

/*
 * Pass on the peer's ECE options if they are of this device's vendor, and this device offers
 * options itself. Any other device would refuse them and log an error for each connection.
 */
static void ece_set(struct cm_id *id)
{
	struct ibv_ece own = {};

	if (!id->remote_ece.vendor_id || ibv_query_ece(id->id.qp, &own) || !own.options ||
	    own.vendor_id != id->remote_ece.vendor_id)
		return;
	ibv_set_ece(id->id.qp, &id->remote_ece);
}

int cm_qp_to_rts(struct cm_id *id)
{
	struct cm_qp_attr rtr_rts[] = {
		{ .attr.qp_state = IBV_QPS_RTR },
		{ .attr.qp_state = IBV_QPS_RTS },
	};
	struct cm_qp_attr *rts = &rtr_rts[1];
	int r = init_attr(id, rtr_rts, ARRAY_SIZE(rtr_rts));

	if (r < 0)
		return r;
	ece_set(id);
	r = qp_to_rtr(id, &rtr_rts[0]);
	if (r < 0)
		return r;
	if (rts->mask & IBV_QP_MAX_QP_RD_ATOMIC)
		rts->attr.max_rd_atomic = id->initiator_depth;
	return qp_modify(id, &rts->attr, rts->mask);
}

int cm_qp_to_error(struct cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (!id->id.qp || cm_id_is_ud(id))
		return 0;
	return qp_modify(id, &attr, IBV_QP_STATE);
}

/* Move a UD QP to RTS at once: datagrams need no other side. */
static int qp_to_rts_ud(struct cm_id *id)
{
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR };
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS };
	int r = qp_to_init(id);

	if (!r)
		r = qp_modify(id, &rtr, IBV_QP_STATE);
	if (!r)
		r = qp_modify(id, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return r;
}

/*
 * Size of struct ibv_qp_attr without rate_limit: older programs have the shorter struct, and no
 * connection manager sets a rate.
 */
#define QP_ATTR_SIZE offsetof(struct ibv_qp_attr, rate_limit)

static int init_qp_attr(struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	struct cm_qp_attr asked = {};
	int r;

	if (!attr || !mask)
		return -EINVAL;
	asked.attr.qp_state = attr->qp_state; /* all members outside of the mask are 0 */
	r = init_attr(id, &asked, 1);
	if (r < 0) {
		cm_err(id, "rdma_init_qp_attr: no attributes for state %d: %s", attr->qp_state,
		       strerror(-r));
		return r;
	}
	memcpy(attr, &asked.attr, QP_ATTR_SIZE);
	*mask = asked.mask;
	return 0;
}

CM_EXPORT int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *qp_attr,
				int *qp_attr_mask)
{
	return ret_neg1(init_qp_attr(to_cm_id(id), qp_attr, qp_attr_mask));
}

/* ------------------------------------------------------------------ completion queues */

static int queue_create(struct cm_id *id, uint32_t entries, struct ibv_comp_channel **channel,
			struct ibv_cq **cq)
{
	if (*cq)
		return 0;
	*channel = ibv_create_comp_channel(id->id.verbs);
	if (!*channel)
		return -errno;
	*cq = ibv_create_cq(id->id.verbs, entries ? entries : 1, id, *channel, 0);
	return *cq ? 0 : -errno;
}

static void queue_destroy(struct ibv_comp_channel **channel, struct ibv_cq **cq)
{
	/*
	 * A program may also use the queue for other QPs. In that case the queue and its channel
	 * stay.
	 */
	bool unused = !*cq || !ibv_destroy_cq(*cq);

	if (*channel && unused)
		ibv_destroy_comp_channel(*channel);
	*cq = NULL;
	*channel = NULL;
}

static void queues_destroy(struct cm_id *id)
{
	/* An SRQ with a separate completion queue keeps it. */
	if (!id->id.srq)
		queue_destroy(&id->id.recv_cq_channel, &id->id.recv_cq);
	queue_destroy(&id->id.send_cq_channel, &id->id.send_cq);
}

static int queues_create(struct cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	int r = 0;

	if (!attr->recv_cq)
		r = queue_create(id, attr->cap.max_recv_wr, &id->id.recv_cq_channel,
				 &id->id.recv_cq);
	if (!r && !attr->send_cq)
		r = queue_create(id, attr->cap.max_send_wr, &id->id.send_cq_channel,
				 &id->id.send_cq);
	if (r < 0)
		return r;
	attr->recv_cq = attr->recv_cq ? attr->recv_cq : id->id.recv_cq;
	attr->send_cq = attr->send_cq ? attr->send_cq : id->id.send_cq;
	return 0;
}

/* ------------------------------------------------------------------ queue pairs */

/* @pd: the PD that the program named, or NULL */
static int parents_check(struct cm_id *id, const char *call, const struct ibv_pd *pd)
{
	if (!id->id.verbs) {
		cm_err(id, "%s before an address was bound or resolved to a device", call);
		return -EINVAL;
	}
	if (pd && pd->context != id->id.verbs) {
		cm_err(id, "%s: the PD belongs to another context, of %s; the identifier is on %s",
		       call, pd->context->device->name, id->id.verbs->device->name);
		return -EINVAL;
	}
	return 0;
}

static int attr_missing(struct cm_id *id, const char *call)
{
	cm_err(id, "%s: the attributes are NULL", call);
	return -EINVAL;
}

static int qp_attr_check(struct cm_id *id, const struct ibv_qp_init_attr_ex *attr)
{
	bool named = attr->comp_mask & IBV_QP_INIT_ATTR_PD;
	int r = parents_check(id, "rdma_create_qp", named ? attr->pd : NULL);

	if (r < 0)
		return r;
	if (id->id.qp) {
		cm_err(id, "rdma_create_qp: the identifier has a QP already, 0x%x",
		       id->id.qp->qp_num);
		return -EINVAL;
	}
	return 0;
}

/*
 * Set the attributes of an XRC QP. XRC_SEND only sends. XRC_RECV receives by SRQs of its domain:
 * the device's default domain, unless the program names another.
 */
static int qp_attr_xrc(struct cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	if (attr->qp_type == IBV_QPT_XRC_SEND)
		attr->cap.max_recv_wr = attr->cap.max_recv_sge = 0;
	if (attr->qp_type != IBV_QPT_XRC_RECV ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_XRCD && attr->xrcd))
		return 0;
	attr->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
	return cm_device_xrcd(id->dev, &attr->xrcd);
}

static int qp_create(struct cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	int r = qp_attr_check(id, attr);

	if (!r)
		r = qp_attr_xrc(id, attr);
	if (r < 0)
		return r;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd)
		attr->pd = id->id.pd ? id->id.pd : id->dev->pd;
	attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
	if (!attr->srq)
		attr->srq = id->id.srq;
	r = queues_create(id, attr);
	if (!r) {
		id->id.qp = ibv_create_qp_ex(id->id.verbs, attr);
		r = id->id.qp ? 0 : -errno;
	}
	if (!r)
		r = cm_id_is_ud(id) ? qp_to_rts_ud(id) : qp_to_init(id);
	if (r < 0) {
		cm_err(id, "rdma_create_qp: %s", strerror(-r));
		rdma_destroy_qp(&id->id);
		return r;
	}
	id->id.pd = attr->pd;
	return 0;
}

int cm_qp_create(struct cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_context = init->qp_context,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.srq = init->srq,
		.cap = init->cap,
		.qp_type = init->qp_type,
		.sq_sig_all = init->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	int r = qp_create(id, &attr);

	if (r < 0)
		return r;
	init->send_cq = attr.send_cq;
	init->recv_cq = attr.recv_cq;
	init->srq = attr.srq;
	init->cap = attr.cap;
	return 0;
}

CM_EXPORT int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
			     struct ibv_qp_init_attr *qp_init_attr)
{
	if (!qp_init_attr)
		return ret_neg1(attr_missing(to_cm_id(id), "rdma_create_qp"));
	return ret_neg1(cm_qp_create(to_cm_id(id), pd, qp_init_attr));
}

CM_EXPORT int rdma_create_qp_ex(struct rdma_cm_id *id, struct ibv_qp_init_attr_ex *qp_init_attr)
{
	if (!qp_init_attr)
		return ret_neg1(attr_missing(to_cm_id(id), "rdma_create_qp_ex"));
	return ret_neg1(qp_create(to_cm_id(id), qp_init_attr));
}

CM_EXPORT void rdma_destroy_qp(struct rdma_cm_id *id)
{
	if (id->qp)
		ibv_destroy_qp(id->qp);
	id->qp = NULL;
	queues_destroy(to_cm_id(id));
}

/* ------------------------------------------------------------------ shared receive queues */

static int srq_attr_check(struct cm_id *id, const struct ibv_srq_init_attr_ex *attr)
{
	bool named = attr->comp_mask & IBV_SRQ_INIT_ATTR_PD;
	int r = parents_check(id, "rdma_create_srq", named ? attr->pd : NULL);

	if (r < 0)
		return r;
	if (id->id.srq) {
		cm_err(id, "rdma_create_srq: the identifier has an SRQ already");
		return -EINVAL;
	}
	return 0;
}

static bool srq_is_xrc(const struct ibv_srq_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_XRC;
}

/* Set the domain and the completion queue, if the program named none. */
static int srq_attr_xrc(struct cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	int r = 0;

	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD && attr->xrcd))
		r = cm_device_xrcd(id->dev, &attr->xrcd);
	if (!r && !(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ && attr->cq)) {
		r = queue_create(id, attr->attr.max_wr, &id->id.recv_cq_channel, &id->id.recv_cq);
		attr->cq = id->id.recv_cq;
	}
	attr->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	return r;
}

static int srq_create(struct cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	int r = srq_attr_check(id, attr);

	if (r < 0)
		return r;
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd)
		attr->pd = id->id.pd ? id->id.pd : id->dev->pd;
	attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	if (srq_is_xrc(attr))
		r = srq_attr_xrc(id, attr);
	if (!r) {
		id->id.srq = ibv_create_srq_ex(id->id.verbs, attr);
		r = id->id.srq ? 0 : -errno;
	}
	if (r < 0) {
		queue_destroy(&id->id.recv_cq_channel, &id->id.recv_cq);
		cm_err(id, "rdma_create_srq: %s", strerror(-r));
		return r;
	}
	id->id.pd = attr->pd;
	return 0;
}

CM_EXPORT int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd,
			      struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = pd,
	};
	int r;

	if (!attr)
		return ret_neg1(attr_missing(to_cm_id(id), "rdma_create_srq"));
	if (id->qp_type == IBV_QPT_XRC_RECV)
		ex.srq_type = IBV_SRQT_XRC;
	ex.srq_context = attr->srq_context;
	ex.attr = attr->attr;
	r = srq_create(to_cm_id(id), &ex);
	if (!r)
		attr->attr = ex.attr;
	return ret_neg1(r);
}

CM_EXPORT int rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	if (!attr)
		return ret_neg1(attr_missing(to_cm_id(id), "rdma_create_srq_ex"));
	return ret_neg1(srq_create(to_cm_id(id), attr));
}

CM_EXPORT void rdma_destroy_srq(struct rdma_cm_id *id)
{
	struct cm_id *cm = to_cm_id(id);

	if (id->srq)
		ibv_destroy_srq(id->srq);
	id->srq = NULL;
	if (!id->qp)
		queues_destroy(cm);
}
