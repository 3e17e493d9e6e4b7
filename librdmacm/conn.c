/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connections: listen, connect, accept, reject, disconnect. */
#include <netinet/in.h>
#include <string.h>

#include "librdmacm/backend.h"
#include "librdmacm/cm.h"
#include "librdmacm/device.h"
#include "librdmacm/event.h"
#include "librdmacm/id.h"
#include "util/util.h"

enum {
	RETRY_DEFAULT = 7,
	REASON_ECE = 35, /* IBTA reject reason: options not supported */
};

/* ------------------------------------------------------------------ parameters */

static int depth_check(struct cm_id *id, const char *what, uint8_t wanted, uint8_t limit)
{
	if (wanted == 0xff || wanted <= limit)
		return 0;
	cm_err(id, "%s %u; the device's limit is %u", what, wanted, limit);
	return -EINVAL;
}

/*
 * Check the parameters that the library itself applies to a QP. QPs of the program are not checked.
 */
static int param_check(struct cm_id *id, const struct rdma_conn_param *param)
{
	int r;

	if (!param || cm_id_is_ud(id) || !id->dev)
		return 0;
	r = depth_check(id, "responder_resources", param->responder_resources,
			id->dev->max_responder_resources);
	if (!r)
		r = depth_check(id, "initiator_depth", param->initiator_depth,
				id->dev->max_initiator_depth);
	return r;
}

/* Return the ECE options to offer: those of the library's QP, or those that the program set. */
static struct ibv_ece ece_offer(struct cm_id *id)
{
	struct ibv_ece ece = {};

	if (!id->id.qp || cm_id_is_ud(id))
		return id->local_ece;
	/* a device without options offers no options */
	if (ibv_query_ece(id->id.qp, &ece))
		ece = (struct ibv_ece){};
	return ece;
}

static struct cm_conn conn_of(struct cm_id *id, const struct rdma_conn_param *param)
{
	struct ibv_qp *qp = id->id.qp;
	struct cm_conn conn = {
		.qp_num = qp ? qp->qp_num : 0,
		.srq = qp && qp->srq,
		.responder_resources = id->responder_resources,
		.initiator_depth = id->initiator_depth,
		.retry_count = RETRY_DEFAULT,
		.rnr_retry_count = RETRY_DEFAULT,
		.ece = ece_offer(id),
	};

	if (!param)
		return conn;
	conn.private_data = param->private_data;
	conn.private_data_len = param->private_data ? param->private_data_len : 0;
	conn.flow_control = param->flow_control;
	conn.retry_count = param->retry_count;
	conn.rnr_retry_count = param->rnr_retry_count;
	if (!qp) {
		conn.qp_num = param->qp_num;
		conn.srq = param->srq;
	}
	return conn;
}

/* Put private data of the address look-up in front of the program's. @buffer: memory for both. */
static int conn_add_data(struct cm_id *id, struct cm_conn *conn, uint8_t *buffer)
{
	unsigned int length = id->connect_len + conn->private_data_len;

	if (!id->connect_len)
		return 0;
	if (length > 255) {
		cm_err(id, "private data: %u bytes of the address look-up and %u of the program",
		       id->connect_len, conn->private_data_len);
		return -EINVAL;
	}
	memcpy(buffer, id->connect_data, id->connect_len);
	if (conn->private_data_len)
		memcpy(buffer + id->connect_len, conn->private_data, conn->private_data_len);
	conn->private_data = buffer;
	conn->private_data_len = length;
	return 0;
}

/* ------------------------------------------------------------------ active side */

static void connect_depths(struct cm_id *id, const struct rdma_conn_param *param)
{
	uint8_t responder = param ? param->responder_resources : RDMA_MAX_RESP_RES;
	uint8_t initiator = param ? param->initiator_depth : RDMA_MAX_INIT_DEPTH;

	if (id->dev && responder == RDMA_MAX_RESP_RES)
		responder = id->dev->max_responder_resources;
	if (id->dev && initiator == RDMA_MAX_INIT_DEPTH)
		initiator = id->dev->max_initiator_depth;
	id->responder_resources = responder;
	id->initiator_depth = initiator;
}

/* Return why a request to connect may be invalid. */
static const char *invalid_advice(const struct cm_id *id)
{
	if (!id->id.route.num_paths)
		return ": address and route must have been resolved before: call "
		       "rdma_resolve_route(), and wait for its event";
	return ": private data must fit, and an id connects only once";
}

static int conn_connect(struct cm_id *id, const struct rdma_conn_param *param)
{
	uint8_t buffer[256];
	struct cm_conn conn;
	int r = cm_need_backend(id, "rdma_connect");

	if (!r)
		r = param_check(id, param);
	if (r < 0)
		return r;
	id->connect_failed = false;
	connect_depths(id, param);
	conn = conn_of(id, param);
	r = conn_add_data(id, &conn, buffer);
	if (!r)
		r = id->backend->connect(id, &conn);
	if (r < 0) {
		cm_err(id, "rdma_connect: %s%s", strerror(-r),
		       r == -EINVAL ? invalid_advice(id) : "");
		return r;
	}
	return cm_sync_wait(id);
}

CM_EXPORT int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
{
	return ret_neg1(conn_connect(to_cm_id(id), conn_param));
}

/* Reject an unusable answer, so that the other side does not wait. */
static void conn_refuse(struct cm_id *id)
{
	static const struct cm_reject reject = {};

	cm_qp_to_error(id);
	id->backend->reject(id, &reject);
}

int cm_conn_complete(struct cm_id *id)
{
	int r = cm_qp_to_rts(id);

	if (!r)
		r = id->backend->accept(id, NULL);
	if (r < 0) {
		cm_err(id, "the other side accepted, but this side could not complete: %s",
		       strerror(-r));
		conn_refuse(id);
	}
	return r;
}

static int conn_establish(struct cm_id *id)
{
	int r = cm_need_backend(id, "rdma_establish");

	if (r < 0)
		return r;
	if (id->id.qp) {
		cm_err(id, "rdma_establish: the identifier has a QP, so the library does this");
		return -EINVAL;
	}
	r = id->backend->accept(id, NULL);
	if (r < 0)
		cm_err(id, "rdma_establish: %s%s", strerror(-r),
		       r == -EINVAL ? ": the other side has not answered, or has ended" : "");
	return r;
}

CM_EXPORT int rdma_establish(struct rdma_cm_id *id)
{
	return ret_neg1(conn_establish(to_cm_id(id)));
}

/* ------------------------------------------------------------------ passive side */

static int listen_one(struct cm_id *id, int backlog)
{
	int r = id->backend->listen(id, backlog);

	if (!r)
		r = id->backend->query_addr(id);
	return r;
}

static int conn_listen(struct cm_id *id, int backlog)
{
	const struct sockaddr_in any = { .sin_family = AF_INET };
	int r = 0;

	/* The identifier was never bound and has two backends: bind the same port on both. */
	if (!id->backend)
		r = cm_addr_bind(id, (const struct sockaddr *)&any);
	if (!r)
		r = listen_one(id, backlog);
	if (!r && id->twin)
		r = listen_one(id->twin, backlog);
	if (r < 0) {
		cm_err(id, "rdma_listen: %s", strerror(-r));
		return r;
	}
	id->listening = true;
	return 0;
}

CM_EXPORT int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	return ret_neg1(conn_listen(to_cm_id(id), backlog));
}

/* Set the depths: those of the program, or those of the other side within the device's limits. */
static void accept_depths(struct cm_id *id, const struct rdma_conn_param *param)
{
	if (!param || param->initiator_depth == RDMA_MAX_INIT_DEPTH)
		id->initiator_depth =
			id->dev ? min_of(id->initiator_depth, id->dev->max_initiator_depth)
				: id->initiator_depth;
	else
		id->initiator_depth = param->initiator_depth;
	if (!param || param->responder_resources == RDMA_MAX_RESP_RES)
		id->responder_resources =
			id->dev ? min_of(id->responder_resources, id->dev->max_responder_resources)
				: id->responder_resources;
	else
		id->responder_resources = param->responder_resources;
}

static int conn_accept(struct cm_id *id, const struct rdma_conn_param *param)
{
	struct cm_conn conn;
	int r = cm_need_backend(id, "rdma_accept");

	if (!r)
		r = param_check(id, param);
	if (r < 0)
		return r;
	accept_depths(id, param);
	if (id->id.qp && !cm_id_is_ud(id)) {
		r = cm_qp_to_rts(id);
		if (r < 0) {
			cm_err(id, "rdma_accept: the queue pair does not get ready: %s%s",
			       strerror(-r),
			       r == -EINVAL ? "; has the client withdrawn its request?" : "");
			return r;
		}
	}
	conn = conn_of(id, param);
	r = id->backend->accept(id, &conn);
	if (r < 0) {
		cm_err(id, "rdma_accept: %s", strerror(-r));
		cm_qp_to_error(id);
		return r;
	}
	return cm_id_is_ud(id) ? 0 : cm_sync_wait(id);
}

CM_EXPORT int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
{
	return ret_neg1(conn_accept(to_cm_id(id), conn_param));
}

static int conn_reject(struct cm_id *id, const struct cm_reject *reject)
{
	int r = cm_need_backend(id, "rdma_reject");

	if (!r)
		r = id->backend->reject(id, reject);
	if (r < 0)
		cm_err(id, "rdma_reject: %s", strerror(-r));
	return r;
}

CM_EXPORT int rdma_reject(struct rdma_cm_id *id, const void *private_data, uint8_t private_data_len)
{
	const struct cm_reject reject = {
		.private_data = private_data,
		.private_data_len = private_data ? private_data_len : 0,
	};

	return ret_neg1(conn_reject(to_cm_id(id), &reject));
}

CM_EXPORT int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data,
			      uint8_t private_data_len)
{
	const struct cm_reject reject = {
		.reason = REASON_ECE,
		.private_data = private_data,
		.private_data_len = private_data ? private_data_len : 0,
	};

	return ret_neg1(conn_reject(to_cm_id(id), &reject));
}

/* ------------------------------------------------------------------ both sides */

static int conn_notify(struct cm_id *id, enum ibv_event_type event)
{
	int r = cm_need_backend(id, "rdma_notify");

	if (r < 0)
		return r;
	if (!id->backend->notify)
		return cm_unsupported(id, "rdma_notify");
	r = id->backend->notify(id, event);
	if (r < 0)
		cm_err(id, "rdma_notify of %s: %s", ibv_event_type_str(event), strerror(-r));
	return r;
}

CM_EXPORT int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	return ret_neg1(conn_notify(to_cm_id(id), event));
}

static int conn_disconnect(struct cm_id *id)
{
	int r = cm_need_backend(id, "rdma_disconnect");

	if (r < 0)
		return r;
	r = cm_qp_to_error(id);
	if (!r)
		r = id->backend->disconnect(id);
	if (r < 0) {
		cm_info(id, "rdma_disconnect: %s", strerror(-r));
		return r;
	}
	return cm_sync_wait(id);
}

CM_EXPORT int rdma_disconnect(struct rdma_cm_id *id)
{
	return ret_neg1(conn_disconnect(to_cm_id(id)));
}

CM_EXPORT int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (!id || id->qp || !ece || !ece->vendor_id || ece->comp_mask)
		return ret_neg1(-EINVAL);
	to_cm_id(id)->local_ece = *ece;
	return 0;
}

CM_EXPORT int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (!id || id->qp || !ece)
		return ret_neg1(-EINVAL);
	*ece = to_cm_id(id)->remote_ece;
	return 0;
}
