/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dlfcn.h>
#include <sched.h>
#include <string.h>

#include <infiniband/verbs_more.h>

#include "rdma-doctor/clock.h"
#include "rdma-doctor/loopback.h"

/* Permit no retry, so that an adapter that loses a packet fails. uroce repeats a single packet
 * nevertheless. A device that does not lose packets does not reach the timeout of two seconds. */
enum {
	TIMEOUT = 19,
	RETRIES = 0,
};

/* Find a call that release 44 lacks. The doctor is not linked to it, because it also starts beside
 * the libibverbs of another release, which it reports. */
#define LATER_CALL(name) ((__typeof__(&(name)))dlsym(RTLD_DEFAULT, #name))

static bool port_choose(struct loopback *l, const struct ibv_device_attr *attr)
{
	for (unsigned int i = 1; i <= attr->phys_port_cnt; i++) {
		if (ibv_query_port(l->ctx, i, &l->port) || l->port.state != IBV_PORT_ACTIVE)
			continue;
		l->path.port_num = i;
		return true;
	}
	errno = ENETDOWN;
	return false;
}

static int path_find(struct loopback *l)
{
	__typeof__(&ibv_best_gid) best_gid = LATER_CALL(ibv_best_gid);
	uint32_t index = 0;
	int r;

	l->path.dlid = l->port.lid;
	if (l->port.link_layer != IBV_LINK_LAYER_ETHERNET)
		return 0;
	r = best_gid ? best_gid(l->ctx, l->path.port_num, NULL, &index) : EOPNOTSUPP;
	if (r) {
		errno = r;
		return -1;
	}
	l->path.is_global = 1;
	l->path.grh.sgid_index = index;
	l->path.grh.hop_limit = 1;
	return ibv_query_gid(l->ctx, l->path.port_num, index, &l->path.grh.dgid);
}

uint64_t loopback_port_mbps(const struct loopback *l)
{
	__typeof__(&ibv_query_port_speed) query = LATER_CALL(ibv_query_port_speed);
	uint64_t speed = 0; /* in units of 100 Mbit/s */

	return query && !query(l->ctx, l->path.port_num, &speed) ? speed * 100 : 0;
}

const char *loopback_objects(struct loopback *l, size_t bytes, int access)
{
	l->pd = ibv_alloc_pd(l->ctx);
	if (!l->pd)
		return "ibv_alloc_pd";
	l->send_cq = ibv_create_cq(l->ctx, LOOPBACK_DEPTH, NULL, NULL, 0);
	l->recv_cq = l->send_cq ? ibv_create_cq(l->ctx, LOOPBACK_DEPTH, NULL, NULL, 0) : NULL;
	if (!l->recv_cq)
		return "ibv_create_cq";
	l->source = aligned_alloc(4096, bytes);
	if (!l->source)
		return "malloc";
	l->mr = ibv_reg_mr(l->pd, l->source, bytes, access);
	return l->mr ? NULL : "ibv_reg_mr";
}

const char *loopback_open(struct loopback *l, struct ibv_device *device)
{
	const int access =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	struct ibv_device_attr attr;
	const char *verb;

	l->timeout = TIMEOUT;
	l->retries = RETRIES;

	l->ctx = ibv_open_device(device);
	if (!l->ctx)
		return "ibv_open_device";
	if (ibv_query_device(l->ctx, &attr) || !port_choose(l, &attr))
		return "ibv_query_port";
	if (path_find(l))
		return "ibv_query_gid";
	verb = loopback_objects(l, 2 * LOOPBACK_BYTES, access);
	l->target = l->source + LOOPBACK_BYTES;
	return verb;
}

struct ibv_qp *loopback_qp(struct loopback *l, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = type,
		.send_cq = l->send_cq,
		.recv_cq = l->recv_cq,
		.cap = { .max_send_wr = LOOPBACK_DEPTH,
			 .max_recv_wr = LOOPBACK_DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	return ibv_create_qp(l->pd, &attr);
}

int loopback_qp_init(const struct loopback *l, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = l->path.port_num,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.qkey = LOOPBACK_QKEY,
	};
	const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	return ibv_modify_qp(
		qp, &attr, mask | (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

int loopback_qp_ready(const struct loopback *l, struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = l->port.active_mtu,
		.dest_qp_num = peer,
		.ah_attr = l->path,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.max_rd_atomic = 1,
		.timeout = l->timeout,
		.retry_cnt = l->retries,
		.rnr_retry = 7,
	};
	const bool rc = qp->qp_type == IBV_QPT_RC;
	int r = ibv_modify_qp(qp, &attr,
			      !rc ? IBV_QP_STATE
				  : IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					      IBV_QP_MIN_RNR_TIMER);

	attr.qp_state = IBV_QPS_RTS;
	return r ? r
		 : ibv_modify_qp(qp, &attr,
				 !rc ? IBV_QP_STATE | IBV_QP_SQ_PSN
				     : IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
						 IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						 IBV_QP_MAX_QP_RD_ATOMIC);
}

const char *loopback_connect(struct loopback *l, enum ibv_qp_type type)
{
	l->from = loopback_qp(l, type);
	l->to = l->from ? loopback_qp(l, type) : NULL;
	if (!l->to)
		return "ibv_create_qp";
	if (loopback_qp_init(l, l->from) || loopback_qp_init(l, l->to) ||
	    loopback_qp_ready(l, l->from, l->to->qp_num) ||
	    loopback_qp_ready(l, l->to, l->from->qp_num))
		return "ibv_modify_qp";
	return NULL;
}

void loopback_disconnect(struct loopback *l)
{
	struct ibv_wc wc;

	if (l->from)
		ibv_destroy_qp(l->from);
	if (l->to)
		ibv_destroy_qp(l->to);
	l->from = l->to = NULL;
	while (l->recv_cq &&
	       (ibv_poll_cq(l->send_cq, 1, &wc) > 0 || ibv_poll_cq(l->recv_cq, 1, &wc) > 0))
		;
}

void loopback_close(struct loopback *l)
{
	loopback_disconnect(l);
	if (l->mr)
		ibv_dereg_mr(l->mr);
	free(l->source);
	if (l->recv_cq)
		ibv_destroy_cq(l->recv_cq);
	if (l->send_cq)
		ibv_destroy_cq(l->send_cq);
	if (l->pd)
		ibv_dealloc_pd(l->pd);
	if (l->ctx)
		ibv_close_device(l->ctx);
}

bool loopback_wait(struct ibv_cq *cq, struct ibv_wc *ret_wc, uint64_t patience_ns)
{
	uint64_t start = clock_now();

	while (ibv_poll_cq(cq, 1, ret_wc) <= 0) {
		if (clock_now() - start > patience_ns)
			return false;
		sched_yield();
	}
	return true;
}
