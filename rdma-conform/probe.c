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

/* The objects of a probe, or NULL. things_end() destroys them. */
struct things {
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_qp *qp, *target;
	struct ibv_mr *mr;
	struct ibv_dm *dm;
	unsigned char bytes[2 * BYTES]; /* memory of @mr */
};

/* Return the first error. */
static int things_end(struct things *t)
{
	const int errors[] = {
		t->qp ? ibv_destroy_qp(t->qp) : 0,
		t->target ? ibv_destroy_qp(t->target) : 0,
		t->srq ? ibv_destroy_srq(t->srq) : 0,
		t->xrcd ? ibv_close_xrcd(t->xrcd) : 0,
		t->cq ? ibv_destroy_cq(t->cq) : 0,
		t->channel ? ibv_destroy_comp_channel(t->channel) : 0,
		t->mr ? ibv_dereg_mr(t->mr) : 0,
		t->dm ? ibv_free_dm(t->dm) : 0,
		t->pd ? ibv_dealloc_pd(t->pd) : 0,
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i])
			return positive(errors[i]);
	return 0;
}

static bool cq_add(struct agent *agent, struct things *t, unsigned int entries)
{
	t->cq = ibv_create_cq(agent->context, entries, NULL, t->channel, 0);
	return t->cq;
}

static bool srq_add(struct agent *agent, struct things *t, unsigned int depth)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = depth, .max_sge = 1 } };

	t->srq = ibv_create_srq(agent->pd, &attr);
	return t->srq;
}

/* With a completion queue, and with the shared receive queue if there is one. */
static bool qp_add(struct agent *agent, struct things *t, enum ibv_qp_type type, unsigned int depth)
{
	struct ibv_qp_init_attr attr = {
		.srq = t->srq,
		.cap = { .max_send_wr = depth, .max_send_sge = 1 },
		.qp_type = type,
	};

	if (!t->cq && !cq_add(agent, t, 4))
		return false;
	attr.send_cq = attr.recv_cq = t->cq;
	if (!t->srq)
		attr.cap.max_recv_wr = attr.cap.max_recv_sge = 1;
	t->qp = ibv_create_qp(agent->pd, &attr);
	return t->qp;
}

static bool mr_add(struct ibv_pd *pd, struct things *t, int access)
{
	t->mr = ibv_reg_mr(pd, t->bytes, sizeof(t->bytes), access);
	return t->mr;
}

/* Return 0 or the errno of a failed creation. Some plug-ins leave errno at 0. In this case return
 * EINVAL.
 */
static int refusal(bool made)
{
	return made ? 0 : errno ?: EINVAL;
}

static int probe_cqlimit(struct agent *agent, struct things *t)
{
	if (agent->offer.max_cqe >= INT_MAX)
		return EOPNOTSUPP;
	return refusal(cq_add(agent, t, agent->offer.max_cqe + 1));
}

static int probe_qplimit(struct agent *agent, struct things *t)
{
	return refusal(qp_add(agent, t, agent->offer.rc ? IBV_QPT_RC : IBV_QPT_UD,
			      agent->offer.max_qp_wr + 1));
}

static int probe_srqlimit(struct agent *agent, struct things *t)
{
	if (!agent->offer.srq)
		return EOPNOTSUPP;
	return refusal(srq_add(agent, t, agent->offer.max_srq_wr + 1));
}

static int probe_nowrite(struct agent *agent, struct things *t)
{
	return refusal(mr_add(agent->pd, t, IBV_ACCESS_REMOTE_WRITE));
}

static int probe_gidindex(struct agent *agent, struct things *t)
{
	union ibv_gid gid;

	return positive(ibv_query_gid(agent->context, agent->port, 100000, &gid));
}

static int probe_pdbusy(struct agent *agent, struct things *t)
{
	int r;

	t->pd = ibv_alloc_pd(agent->context);
	if (!t->pd || !mr_add(t->pd, t, 0))
		return EOPNOTSUPP;
	r = positive(ibv_dealloc_pd(t->pd));
	if (!r)
		t->pd = NULL;
	return r;
}

static int probe_srqbusy(struct agent *agent, struct things *t)
{
	int r;

	if (!agent->offer.srq || !srq_add(agent, t, 4) || !qp_add(agent, t, IBV_QPT_RC, 1))
		return EOPNOTSUPP;
	r = positive(ibv_destroy_srq(t->srq));
	if (!r)
		t->srq = NULL;
	return r;
}

static int probe_mcastgid(struct agent *agent, struct things *t)
{
	int r;

	if (!agent->offer.multicast || !qp_add(agent, t, IBV_QPT_UD, 1))
		return EOPNOTSUPP;
	r = positive(ibv_attach_mcast(t->qp, &agent->gid, agent->lid));
	if (!r)
		ibv_detach_mcast(t->qp, &agent->gid, agent->lid);
	return r;
}

static int dm_try(struct agent *agent, struct things *t, uint64_t offset)
{
	struct ibv_alloc_dm_attr attr = { .length = 4096 };
	unsigned char out[BYTES], in[BYTES] = {};
	int r;

	t->dm = ibv_alloc_dm(agent->context, &attr);
	if (!t->dm)
		return EOPNOTSUPP;
	memset(out, 0x5a, sizeof(out));
	r = positive(ibv_memcpy_to_dm(t->dm, offset, out, sizeof(out)))
		    ?: positive(ibv_memcpy_from_dm(in, t->dm, offset, sizeof(in)));
	return r ?: memcmp(in, out, sizeof(in)) ? EBADMSG : 0;
}

static int probe_dmbytes(struct agent *agent, struct things *t)
{
	return dm_try(agent, t, 64);
}

static int probe_dmlimit(struct agent *agent, struct things *t)
{
	return dm_try(agent, t, 4096);
}

/* A second context of the same device. The objects that it imports are those of the first. */
static int probe_import(struct agent *agent, struct things *t)
{
	int fd = dup(agent->context->cmd_fd);
	struct ibv_context *context = ibv_import_device(fd);
	struct ibv_pd *pd = context ? ibv_import_pd(context, agent->pd->handle) : NULL;
	struct ibv_mr *copy = NULL;
	int r = EOPNOTSUPP;

	if (pd && mr_add(agent->pd, t, IBV_ACCESS_LOCAL_WRITE)) {
		copy = ibv_import_mr(pd, t->mr->handle);
		r = !copy						     ? errno
		    : copy->lkey != t->mr->lkey || copy->rkey != t->mr->rkey ? EBADMSG
									     : 0;
	}
	if (copy)
		ibv_unimport_mr(copy);
	if (pd)
		ibv_unimport_pd(pd);
	if (context)
		ibv_close_device(context);
	else
		close(fd);
	return r;
}

static bool xrc_add(struct agent *agent, struct things *t)
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
	struct ibv_qp_init_attr_ex target = { .qp_type = IBV_QPT_XRC_RECV,
					      .comp_mask = IBV_QP_INIT_ATTR_XRCD };

	t->xrcd = ibv_open_xrcd(agent->context, &domain);
	if (!t->xrcd || !qp_add(agent, t, IBV_QPT_XRC_SEND, 4) ||
	    !mr_add(agent->pd, t, IBV_ACCESS_LOCAL_WRITE))
		return false;
	target.xrcd = srq.xrcd = t->xrcd;
	srq.cq = t->cq;
	t->srq = ibv_create_srq_ex(agent->context, &srq);
	t->target = t->srq ? ibv_create_qp_ex(agent->context, &target) : NULL;
	return t->target;
}

static int xrc_connect(struct agent *agent, struct things *t)
{
	struct ibv_ah_attr own = address_of(agent, agent->gid, agent->lid);
	const struct step timers = { .n = 18, .x = 7, .y = 7 };

	return qp_to_init(agent, t->target) ?: qp_to_init(agent, t->qp)
		?: qp_to_rtr(agent, t->target, &own, t->qp->qp_num, 7)
		?: qp_to_rtr(agent, t->qp, &own, t->target->qp_num, 7)
		?: qp_to_rts(t->qp, 7, &timers);
}

static int xrc_send(struct agent *agent, struct things *t)
{
	struct ibv_sge from = { (uintptr_t)t->bytes, BYTES, t->mr->lkey };
	struct ibv_sge to = { (uintptr_t)t->bytes + BYTES, BYTES, t->mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .wr_id = 2,
				    .sg_list = &from,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad_send;
	int64_t end = wait_end(agent, 0);
	struct ibv_wc wc;
	int r;

	if (ibv_get_srq_num(t->srq, &send.qp_type.xrc.remote_srqn))
		return EINVAL;
	memset(t->bytes, 0x5a, BYTES);
	r = ibv_post_srq_recv(t->srq, &recv, &bad_recv) ?: ibv_post_send(t->qp, &send, &bad_send);
	for (unsigned int count = 0; !r && count < 2;) {
		int n = ibv_poll_cq(t->cq, 1, &wc);

		count += n > 0;
		if (n < 0 || (n && wc.status) || (!n && now() > end))
			r = n > 0 ? EREMOTEIO : ETIMEDOUT;
	}
	return r ?: memcmp(t->bytes, t->bytes + BYTES, BYTES) ? EBADMSG : 0;
}

static int probe_xrcsend(struct agent *agent, struct things *t)
{
	return !xrc_add(agent, t) ? EOPNOTSUPP : xrc_connect(agent, t) ?: xrc_send(agent, t);
}

static void *wait_for_event(void *arg)
{
	struct ibv_cq *cq;
	void *context;

	ibv_get_cq_event(arg, &cq, &context);
	return NULL;
}

/* Cancel a thread that waits for an event. Afterwards all objects can be destroyed. */
static int probe_cancel(struct agent *agent, struct things *t)
{
	void *result;
	pthread_t thread;

	t->channel = ibv_create_comp_channel(agent->context);
	if (!t->channel || !cq_add(agent, t, 4))
		return EOPNOTSUPP;
	if (pthread_create(&thread, NULL, wait_for_event, t->channel))
		abort();
	pthread_cancel(thread);
	pthread_join(thread, &result);
	return result == PTHREAD_CANCELED ? 0 : EBADMSG;
}

#define AS_FUNCTION(name, text, wanted) [PROBE_##name] = probe_##text,
int probe_run(struct agent *agent, enum probe probe)
{
	static int (*const probes[PROBE_COUNT])(struct agent * agent,
						struct things * t) = { VERBS_PROBES(AS_FUNCTION) };
	struct things t = {};
	int r, end;

	if (probe == PROBE_COUNT || !probes[probe])
		return cm_probe(agent, probe);
	r = probes[probe](agent, &t);
	end = things_end(&t);
	return r ?: end;
}
