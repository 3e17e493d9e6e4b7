/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes use separate objects on one side, while the scenes run. A probe returns a positive errno:
 * the one of the call that must be refused, or EBADMSG if the bytes are wrong. EOPNOTSUPP means
 * that the device does not support the probe, or refuses an object that it needs.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rdma-conform/agent.h"
#include "util/util.h"

#define BYTES 256

static struct ibv_cq *cq_small(struct agent *agent)
{
	return ibv_create_cq(agent->context, 4, NULL, NULL, 0);
}

static void cq_end(struct ibv_cq *cq)
{
	if (cq)
		ibv_destroy_cq(cq);
}

static struct ibv_qp *qp_small(struct agent *agent, struct ibv_cq *cq, struct ibv_srq *srq,
			       enum ibv_qp_type type, unsigned int depth)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.cap = { .max_send_wr = depth, .max_send_sge = 1 },
		.qp_type = type,
	};

	if (!cq)
		return NULL;
	if (!srq)
		attr.cap.max_recv_wr = attr.cap.max_recv_sge = 1;
	return ibv_create_qp(agent->pd, &attr);
}

static struct ibv_srq *srq_small(struct agent *agent, unsigned int depth)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = depth, .max_sge = 1 } };

	return ibv_create_srq(agent->pd, &attr);
}

static int probe_cq_limit(struct agent *agent)
{
	struct ibv_cq *cq;

	if (agent->offer.max_cqe >= INT_MAX)
		return EOPNOTSUPP;
	cq = ibv_create_cq(agent->context, agent->offer.max_cqe + 1, NULL, NULL, 0);
	return cq ? ibv_destroy_cq(cq) : errno;
}

static int probe_qp_limit(struct agent *agent)
{
	struct ibv_cq *cq = cq_small(agent);
	struct ibv_qp *qp = qp_small(agent, cq, NULL, IBV_QPT_RC, agent->offer.max_qp_wr + 1);
	int r = !cq ? EOPNOTSUPP : qp ? ibv_destroy_qp(qp) : errno;

	cq_end(cq);
	return r;
}

static int probe_srq_limit(struct agent *agent)
{
	struct ibv_srq *srq;

	if (!agent->offer.srq)
		return EOPNOTSUPP;
	srq = srq_small(agent, agent->offer.max_srq_wr + 1);
	return srq ? ibv_destroy_srq(srq) : errno;
}

static int probe_no_write(struct agent *agent)
{
	static char bytes[BYTES];
	struct ibv_mr *mr = ibv_reg_mr(agent->pd, bytes, sizeof(bytes), IBV_ACCESS_REMOTE_WRITE);

	return mr ? ibv_dereg_mr(mr) : errno;
}

static int probe_gid_index(struct agent *agent)
{
	union ibv_gid gid;

	return positive(ibv_query_gid(agent->context, agent->port, 100000, &gid));
}

static int probe_pd_busy(struct agent *agent)
{
	static char bytes[BYTES];
	struct ibv_pd *pd = ibv_alloc_pd(agent->context);
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, bytes, sizeof(bytes), 0) : NULL;
	int r = mr ? positive(ibv_dealloc_pd(pd)) : EOPNOTSUPP;

	if (mr)
		ibv_dereg_mr(mr);
	if (pd && r)
		ibv_dealloc_pd(pd);
	return r;
}

static int probe_srq_busy(struct agent *agent)
{
	struct ibv_cq *cq = cq_small(agent);
	struct ibv_srq *srq = agent->offer.srq ? srq_small(agent, 4) : NULL;
	struct ibv_qp *qp = srq ? qp_small(agent, cq, srq, IBV_QPT_RC, 1) : NULL;
	int r = qp ? positive(ibv_destroy_srq(srq)) : EOPNOTSUPP;

	if (qp)
		ibv_destroy_qp(qp);
	if (srq && r)
		ibv_destroy_srq(srq);
	cq_end(cq);
	return r;
}

static int probe_mcast_gid(struct agent *agent)
{
	struct ibv_cq *cq = cq_small(agent);
	struct ibv_qp *qp =
		agent->offer.multicast ? qp_small(agent, cq, NULL, IBV_QPT_UD, 1) : NULL;
	int r = qp ? positive(ibv_attach_mcast(qp, &agent->gid, agent->lid)) : EOPNOTSUPP;

	if (qp && !r)
		ibv_detach_mcast(qp, &agent->gid, agent->lid);
	if (qp)
		ibv_destroy_qp(qp);
	cq_end(cq);
	return r;
}

static int dm_try(struct agent *agent, uint64_t offset)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	struct ibv_dm *dm = ibv_alloc_dm(agent->context, &attr);
	unsigned char out[BYTES], in[BYTES] = {};
	int r;

	if (!dm)
		return EOPNOTSUPP;
	memset(out, 0x5a, sizeof(out));
	r = positive(ibv_memcpy_to_dm(dm, offset, out, sizeof(out)));
	if (!r)
		r = positive(ibv_memcpy_from_dm(in, dm, offset, sizeof(in)));
	if (!r && memcmp(in, out, sizeof(in)))
		r = EBADMSG;
	ibv_free_dm(dm);
	return r;
}

static int probe_dm_bytes(struct agent *agent)
{
	return dm_try(agent, 64);
}

static int probe_dm_limit(struct agent *agent)
{
	return dm_try(agent, 4096);
}

/* A second context of the same device. The objects that it imports are those of the first. */
static int probe_import(struct agent *agent)
{
	static char bytes[BYTES];
	struct ibv_context *context = ibv_import_device(dup(agent->context->cmd_fd));
	struct ibv_mr *mr = ibv_reg_mr(agent->pd, bytes, sizeof(bytes), IBV_ACCESS_LOCAL_WRITE);
	struct ibv_pd *pd = context ? ibv_import_pd(context, agent->pd->handle) : NULL;
	struct ibv_mr *copy = pd && mr ? ibv_import_mr(pd, mr->handle) : NULL;
	int r = !context || !mr					   ? EOPNOTSUPP
		: !copy						   ? errno
		: copy->lkey != mr->lkey || copy->rkey != mr->rkey ? EBADMSG
								   : 0;

	if (copy)
		ibv_unimport_mr(copy);
	if (mr)
		ibv_dereg_mr(mr);
	if (pd)
		ibv_unimport_pd(pd);
	if (context)
		ibv_close_device(context);
	return r;
}

struct xrc {
	struct ibv_cq *cq;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_qp *send, *recv;
	struct ibv_mr *mr;
	unsigned char bytes[2 * BYTES];
};

static void xrc_make(struct agent *agent, struct xrc *x)
{
	struct ibv_xrcd_init_attr domain = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							  IBV_XRCD_INIT_ATTR_OFLAGS,
					     .fd = -1,
					     .oflags = O_CREAT };
	struct ibv_srq_init_attr_ex srq = { .attr = { .max_wr = 4, .max_sge = 1 },
					    .comp_mask = IBV_SRQ_INIT_ATTR_TYPE |
							 IBV_SRQ_INIT_ATTR_XRCD |
							 IBV_SRQ_INIT_ATTR_CQ |
							 IBV_SRQ_INIT_ATTR_PD,
					    .srq_type = IBV_SRQT_XRC,
					    .pd = agent->pd };
	struct ibv_qp_init_attr_ex recv = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD };

	x->cq = cq_small(agent);
	x->mr = ibv_reg_mr(agent->pd, x->bytes, sizeof(x->bytes), IBV_ACCESS_LOCAL_WRITE);
	x->xrcd = recv.xrcd = srq.xrcd = ibv_open_xrcd(agent->context, &domain);
	srq.cq = x->cq;
	x->srq = x->xrcd && x->cq && x->mr ? ibv_create_srq_ex(agent->context, &srq) : NULL;
	x->recv = x->srq ? ibv_create_qp_ex(agent->context, &recv) : NULL;
	x->send = x->recv ? qp_small(agent, x->cq, NULL, IBV_QPT_XRC_SEND, 4) : NULL;
}

static int xrc_connect(struct agent *agent, struct xrc *x)
{
	struct ibv_ah_attr own = address_of(agent, agent->gid, agent->lid);
	const struct step timers = { .n = 18, .x = 7, .y = 7 };

	return qp_to_init(agent, x->recv) ?: qp_to_init(agent, x->send)
		?: qp_to_rtr(agent, x->recv, &own, x->send->qp_num, 7)
		?: qp_to_rtr(agent, x->send, &own, x->recv->qp_num, 7)
		?: qp_to_rts(x->send, 7, &timers);
}

static int xrc_send(struct agent *agent, struct xrc *x)
{
	struct ibv_sge from = { (uintptr_t)x->bytes, BYTES, x->mr->lkey };
	struct ibv_sge to = { (uintptr_t)x->bytes + BYTES, BYTES, x->mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .wr_id = 2,
				    .sg_list = &from,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad_send;
	int64_t end = now() + agent->patience;
	struct ibv_wc wc;
	int r;

	if (ibv_get_srq_num(x->srq, &send.qp_type.xrc.remote_srqn))
		return EINVAL;
	memset(x->bytes, 0x5a, BYTES);
	r = ibv_post_srq_recv(x->srq, &recv, &bad_recv) ?: ibv_post_send(x->send, &send, &bad_send);
	for (unsigned int count = 0; !r && count < 2;) {
		int n = ibv_poll_cq(x->cq, 1, &wc);

		count += n > 0;
		if (n < 0 || (n && wc.status) || (!n && now() > end))
			r = n > 0 ? EREMOTEIO : ETIMEDOUT;
	}
	return r ?: memcmp(x->bytes, x->bytes + BYTES, BYTES) ? EBADMSG : 0;
}

static int probe_xrc_send(struct agent *agent)
{
	struct xrc x = {};
	int r;

	xrc_make(agent, &x);
	r = !x.send ? EOPNOTSUPP : xrc_connect(agent, &x) ?: xrc_send(agent, &x);
	if (x.send)
		ibv_destroy_qp(x.send);
	if (x.recv)
		ibv_destroy_qp(x.recv);
	if (x.srq)
		ibv_destroy_srq(x.srq);
	if (x.xrcd)
		ibv_close_xrcd(x.xrcd);
	if (x.mr)
		ibv_dereg_mr(x.mr);
	cq_end(x.cq);
	return r;
}

static void *wait_for_event(void *arg)
{
	struct ibv_cq *cq;
	void *context;

	ibv_get_cq_event(arg, &cq, &context);
	return NULL;
}

/* Cancel a thread that waits for an event. Afterwards all objects can be destroyed. */
static int probe_cancel(struct agent *agent)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(agent->context);
	struct ibv_cq *cq = channel ? ibv_create_cq(agent->context, 4, NULL, channel, 0) : NULL;
	void *result = PTHREAD_CANCELED;
	pthread_t thread;
	int r = 0;

	if (cq) {
		if (pthread_create(&thread, NULL, wait_for_event, channel))
			abort();
		pthread_cancel(thread);
		pthread_join(thread, &result);
		r = positive(ibv_destroy_cq(cq));
	}
	if (channel)
		r = r ?: positive(ibv_destroy_comp_channel(channel));
	if (!cq)
		return EOPNOTSUPP;
	return r ?: result == PTHREAD_CANCELED ? 0 : EBADMSG;
}

int probe_run(struct agent *agent, enum probe probe)
{
	static int (*const probes[PROBE_COUNT])(struct agent * agent) = {
		[PROBE_CQ_LIMIT] = probe_cq_limit,   [PROBE_QP_LIMIT] = probe_qp_limit,
		[PROBE_SRQ_LIMIT] = probe_srq_limit, [PROBE_NO_WRITE] = probe_no_write,
		[PROBE_GID_INDEX] = probe_gid_index, [PROBE_PD_BUSY] = probe_pd_busy,
		[PROBE_SRQ_BUSY] = probe_srq_busy,   [PROBE_MCAST_GID] = probe_mcast_gid,
		[PROBE_DM_BYTES] = probe_dm_bytes,   [PROBE_DM_LIMIT] = probe_dm_limit,
		[PROBE_IMPORT] = probe_import,	     [PROBE_XRC_SEND] = probe_xrc_send,
		[PROBE_CM_DATA] = probe_cm_data,     [PROBE_CM_REJECT] = probe_cm_reject,
		[PROBE_CM_LEAVE] = probe_cm_leave,   [PROBE_CANCEL] = probe_cancel,
	};

	return probe < PROBE_COUNT ? probes[probe](agent) : EOPNOTSUPP;
}
