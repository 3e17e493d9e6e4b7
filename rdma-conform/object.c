/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steps that create, change and destroy objects other than regions and queue pairs. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "rdma-conform/agent.h"
#include "util/util.h"

int positive(int r)
{
	return r < 0 ? errno : r;
}

struct event *object_made(struct agent_thread *t, struct object *o, const void *made)
{
	struct event *e = log_done(t, made ? 0 : errno);

	o->there = made;
	o->events = 0;
	return e;
}

void step_pd(struct agent_thread *t, const struct step *step, struct object *o)
{
	o->pd = ibv_alloc_pd(t->agent->context);
	object_made(t, o, o->pd);
}

static void cq_make(struct agent *agent, struct cq *cq, const struct step *step)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = step->n ?: 16,
		.channel = cq->channel,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
	};

	if (HAS(step, EXTENDED)) {
		cq->extended = ibv_create_cq_ex(agent->context, &attr);
		cq->cq = cq->extended ? ibv_cq_ex_to_cq(cq->extended) : NULL;
	} else {
		cq->cq = ibv_create_cq(agent->context, attr.cqe, NULL, cq->channel, 0);
	}
}

void step_cq(struct agent_thread *t, const struct step *step, struct object *o)
{
	struct cq *cq = &o->cq;

	*cq = (struct cq){};
	if (HAS(step, EVENTS)) {
		cq->channel = ibv_create_comp_channel(t->agent->context);
		if (cq->channel)
			fcntl(cq->channel->fd, F_SETFL, O_NONBLOCK);
	}
	cq_make(t->agent, cq, step);
	object_made(t, o, cq->cq)->done.value[0] = cq->cq ? cq->cq->cqe : 0;
	if (!cq->cq && cq->channel)
		ibv_destroy_comp_channel(cq->channel);
}

void step_resize(struct agent_thread *t, const struct step *step, struct object *o)
{
	int r = positive(ibv_resize_cq(o->cq.cq, step->n));

	log_values(t, r, o->cq.cq->cqe);
}

void step_srq(struct agent_thread *t, const struct step *step, struct object *o)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = step->n ?: 16,
			  .max_sge = t->agent->offer.max_sge,
			  .srq_limit = step->x },
	};

	o->srq = ibv_create_srq(t->agent->pd, &attr);
	object_made(t, o, o->srq)->done.value[0] = attr.attr.max_wr;
}

void step_limit(struct agent_thread *t, const struct step *step, struct object *o)
{
	struct ibv_srq_attr attr = { .srq_limit = step->n };

	log_done(t, ibv_modify_srq(o->srq, &attr, IBV_SRQ_LIMIT));
}

void step_mw(struct agent_thread *t, const struct step *step, struct object *o)
{
	o->mw.mw = ibv_alloc_mw(t->agent->pd, IBV_MW_TYPE_2);
	object_made(t, o, o->mw.mw);
}

void step_try(struct agent_thread *t, const struct step *step, struct object *o)
{
	int r = probe_run(t->agent, step->probe);

	if (r == EOPNOTSUPP || r == ENOSYS)
		log_skip(t, SKIP_OFFER);
	else
		log_done(t, r);
}

/* Destroy the queue pairs of step_crowd(). Return a positive errno. */
static int crowd_end(struct cq *cq)
{
	int r = 0;

	while (cq->crowd_count)
		r = ibv_destroy_qp(cq->crowd[--cq->crowd_count]) ?: r;
	free(cq->crowd);
	cq->crowd = NULL;
	return positive(r);
}

/* Create @n queue pairs, or destroy those of an earlier step. Record the number of each. */
void step_crowd(struct agent_thread *t, const struct step *step, struct object *o)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = o->cq.cq,
		.recv_cq = o->cq.cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = t->agent->offer.rc ? IBV_QPT_RC : IBV_QPT_UD,
	};
	struct ibv_qp *qp = NULL;

	if (!step->n || o->cq.crowd) {
		log_done(t, crowd_end(&o->cq));
		return;
	}
	o->cq.crowd = need(calloc(step->n, sizeof(*o->cq.crowd)));
	do {
		qp = ibv_create_qp(t->agent->pd, &attr);
		log_done(t, qp ? 0 : errno)->done.value[0] = qp ? qp->qp_num : 0;
		if (qp)
			o->cq.crowd[o->cq.crowd_count++] = qp;
	} while (qp && o->cq.crowd_count < step->n);
}

static int cq_destroy(struct cq *cq)
{
	int r = crowd_end(cq) ?: ibv_destroy_cq(cq->cq);

	if (!r && cq->channel)
		r = ibv_destroy_comp_channel(cq->channel);
	return r;
}

static int qp_destroy(struct qp *qp)
{
	int r;

	if (qp->attached)
		ibv_detach_mcast(qp->qp, &qp->attached_to, 0);
	qp->attached = false;
	r = ibv_destroy_qp(qp->qp);
	if (!r && qp->cm)
		cm_end(qp->cm);
	if (!r && qp->ah)
		ibv_destroy_ah(qp->ah);
	if (!r && qp->group)
		ibv_destroy_ah(qp->group);
	return r;
}

int object_destroy(struct agent *agent, char kind, struct object *o)
{
	return positive(kind == 'c'   ? cq_destroy(&o->cq)
			: kind == 'p' ? ibv_dealloc_pd(o->pd)
			: kind == 'q' ? qp_destroy(&o->qp)
			: kind == 'r' ? ibv_dereg_mr(o->region.mr)
			: kind == 's' ? ibv_destroy_srq(o->srq)
				      : ibv_dealloc_mw(o->mw.mw));
}

void step_destroy(struct agent_thread *t, const struct step *step, struct object *o)
{
	int r = object_destroy(t->agent, step->kind, o);

	o->there = r;
	log_done(t, r);
}
