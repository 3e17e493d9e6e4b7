/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Faults of verbs, and events: a table of operations that asks the rules before the provider's. */
#include <string.h>

#include "providers/uroce/fault/fault.h"
#include "providers/uroce/verbs/ops.h"
#include "providers/uroce/host/thread.h"

enum {
	POSTS_SALT = 0x200,
};

static struct uroce_host *ctx_host(struct ibv_context *ctx)
{
	return ((struct uroce_context *)to_vctx(ctx))->dev->host;
}

/* --- events --- */

static void qp_fatal(struct uroce_host *host, struct uroce_qp *qp)
{
	uroce_lock(&qp->lock);
	if (qp->state != IBV_QPS_RESET && qp->state != IBV_QPS_ERR) {
		uroce_qp_error(qp);
		uroce_event_qp(qp, IBV_EVENT_QP_FATAL);
	}
	uroce_unlock(&qp->lock);
}

/* @number: of the QP; 0 all of them. */
static void qps_fatal(struct uroce_host *host, uint32_t number)
{
	uroce_lock(&host->progress_lock);
	for (uint32_t i = 0; i < 1 << UROCE_QP_INDEX_BITS; i++) {
		struct uroce_qp *qp = atomic_load_explicit(&host->qps[i], memory_order_acquire);

		if (qp && (!number || qp->fault->number == number))
			qp_fatal(host, qp);
	}
	uroce_unlock(&host->progress_lock);
}

static void port_event(struct uroce_host *host, enum ibv_event_type type)
{
	struct uroce_dev *dev;

	if (type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_PORT_ACTIVE)
		atomic_store(&host->faults->port_down, type == IBV_EVENT_PORT_ERR);
	pthread_mutex_lock(&host->lock);
	LIST_FOREACH(dev, &host->devices, entry)
		uroce_event_port(dev, type);
	pthread_mutex_unlock(&host->lock);
}

/* No lock held. @qp: who posted; NULL: it is the rule's time. */
static void event_fire(struct uroce_host *host, const struct fault_rule *rule, struct uroce_qp *qp)
{
	log_debug("uroce: fault %s", rule->text);
	switch (rule->event) {
	case IBV_EVENT_QP_FATAL:
		if (qp)
			qp_fatal(host, qp);
		else
			qps_fatal(host, rule->qp);
		return;
	case IBV_EVENT_DEVICE_FATAL:
		atomic_store(&host->faults->dead, true);
		port_event(host, rule->event);
		qps_fatal(host, 0);
		return;
	default:
		port_event(host, rule->event);
	}
}

void uroce_fault_events(struct uroce_host *host)
{
	struct uroce_faults *faults = host->faults;
	uint64_t now;

	if (!atomic_load_explicit(&faults->events_left, memory_order_relaxed))
		return;
	now = uroce_now();
	for (unsigned int i = 0; i < faults->count; i++) {
		const struct fault_rule *rule = &faults->rules[i];

		if (!rule->time || faults->fired[i] || now - faults->start < rule->time)
			continue;
		faults->fired[i] = true;
		atomic_fetch_sub(&faults->events_left, 1);
		event_fire(host, rule, NULL);
	}
}

static bool number_hits(const struct uroce_faults *faults, unsigned int i, uint64_t salt,
			uint32_t number)
{
	const struct fault_rule *rule = &faults->rules[i];

	if (rule->time)
		return false;
	if (rule->chance)
		return uroce_fault_chance(faults, i, uroce_fault_hash(faults, salt, number));
	return number == rule->nth || (rule->onward && number > rule->nth);
}

/* Send work requests were posted: QP_FATAL counts those of its QP, the others those of all. */
static void posted(struct uroce_qp *qp)
{
	struct uroce_host *host = qp->host;
	struct uroce_faults *faults = host->faults;
	uint32_t own = atomic_fetch_add(&qp->fault->posts, 1) + 1;
	uint32_t all = atomic_fetch_add(&faults->posts, 1) + 1;

	for (unsigned int i = 0; i < faults->count; i++) {
		const struct fault_rule *rule = &faults->rules[i];
		bool of_qp = rule->event == IBV_EVENT_QP_FATAL;

		if (rule->kind != FAULT_EVENT || (rule->qp && rule->qp != qp->fault->number))
			continue;
		if (number_hits(faults, i, POSTS_SALT + (of_qp ? qp->fault->number : 0),
				of_qp ? own : all))
			event_fire(host, rule, qp);
	}
}

/* --- verbs --- */

static void trace_call(const struct fault_rule *rule, uint32_t number)
{
	log_debug("uroce: fault %s: call %u", rule->text, number);
}

int uroce_fault_call(struct uroce_faults *faults, enum fault_verb verb)
{
	uint32_t number = atomic_fetch_add(&faults->calls[verb], 1) + 1;

	/* A dead device still lets go of what it has. */
	if (atomic_load_explicit(&faults->dead, memory_order_relaxed) &&
	    verb != FAULT_VERB_dereg_mr)
		return -EIO;
	for (unsigned int i = 0; i < faults->count; i++) {
		const struct fault_rule *rule = &faults->rules[i];

		if (rule->kind != FAULT_VERB || rule->verb != verb ||
		    !number_hits(faults, i, verb, number))
			continue;
		trace_call(rule, number);
		return -rule->error;
	}
	return 0;
}

/* A verb of two arguments, of which @ctx is the context of the first. */
#define CALL2(verb, A, B, ctx)                                                      \
	static int fault_##verb(A a, B b)                                           \
	{                                                                           \
		int r = uroce_fault_call(ctx_host(ctx)->faults, FAULT_VERB_##verb); \
                                                                                    \
		return r < 0 ? r : uroce_##verb(a, b);                              \
	}
#define CALL3(verb, A, B, C, ctx)                                                   \
	static int fault_##verb(A a, B b, C c)                                      \
	{                                                                           \
		int r = uroce_fault_call(ctx_host(ctx)->faults, FAULT_VERB_##verb); \
                                                                                    \
		return r < 0 ? r : uroce_##verb(a, b, c);                           \
	}

CALL3(query_device, struct ibv_context *, const struct verbs_query_device *,
      struct ibv_device_attr_ex *, a)
CALL3(query_port, struct ibv_context *, uint8_t, struct ibv_port_attr *, a)
CALL2(alloc_pd, struct ibv_pd *, struct verbs_udata *, a->context)
CALL2(reg_mr, struct verbs_mr *, const struct verbs_reg_mr *, b->pd->context)
CALL2(rereg_mr, struct verbs_mr *, const struct verbs_rereg_mr *, a->ibv_mr.context)
CALL2(alloc_mw, struct ibv_mw *, struct verbs_udata *, a->pd->context)
CALL2(create_cq, struct verbs_cq *, const struct verbs_create_cq *, a->cq.context)
CALL2(resize_cq, struct verbs_cq *, const struct verbs_resize_cq *, a->cq.context)
CALL2(create_srq, struct verbs_srq *, const struct verbs_create_srq *, a->srq.context)
CALL2(modify_srq, struct verbs_srq *, const struct verbs_modify_srq *, a->srq.context)
CALL2(modify_qp, struct verbs_qp *, const struct verbs_modify_qp *, a->qp.context)
CALL2(query_qp, struct verbs_qp *, const struct verbs_query_qp *, a->qp.context)
CALL2(create_ah, struct ibv_ah *, const struct verbs_create_ah *, a->context)
CALL3(attach_mcast, struct verbs_qp *, const union ibv_gid *, uint16_t, a->qp.context)

static int fault_create_comp_channel(struct ibv_comp_channel *channel)
{
	int r = uroce_fault_call(ctx_host(channel->context)->faults,
				 FAULT_VERB_create_comp_channel);

	return r < 0 ? r : uroce_create_comp_channel(channel);
}

static int fault_dereg_mr(struct verbs_mr *mr)
{
	int r = uroce_fault_call(ctx_host(mr->ibv_mr.context)->faults, FAULT_VERB_dereg_mr);

	return r < 0 ? r : uroce_dereg_mr(mr);
}

/* What applications call directly: positive errno. */

static int fault_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	int r = uroce_fault_call(ctx_host(qp->context)->faults, FAULT_VERB_post_send);

	if (r < 0) {
		*bad_wr = wr;
		return -r;
	}
	r = uroce_post_send(qp, wr, bad_wr);
	posted(to_uqp(qp));
	return r;
}

static int fault_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	int r = uroce_fault_call(ctx_host(qp->context)->faults, FAULT_VERB_post_recv);

	if (!r)
		return uroce_post_recv(qp, wr, bad_wr);
	*bad_wr = wr;
	return -r;
}

static int fault_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			       struct ibv_recv_wr **bad_wr)
{
	int r = uroce_fault_call(ctx_host(srq->context)->faults, FAULT_VERB_post_srq_recv);

	if (!r)
		return uroce_post_srq_recv(srq, wr, bad_wr);
	*bad_wr = wr;
	return -r;
}

static int fault_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	int r = uroce_fault_call(ctx_host(cq->context)->faults, FAULT_VERB_req_notify_cq);

	return r < 0 ? -r : uroce_req_notify_cq(cq, solicited_only);
}

/* ibv_wr_complete() posts as ibv_post_send() does, and counts with it. */
static int fault_wr_complete(struct ibv_qp_ex *ex)
{
	struct uroce_qp *qp = to_uqp(&ex->qp_base);
	int r = uroce_fault_call(qp->host->faults, FAULT_VERB_post_send);

	if (r < 0) {
		ex->wr_abort(ex);
		return -r;
	}
	r = qp->fault->wr_complete(ex);
	posted(qp);
	return r;
}

static int fault_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in)
{
	struct uroce_qp *qp = (struct uroce_qp *)vqp;
	int r = uroce_fault_call(ctx_host(vqp->qp.context)->faults, FAULT_VERB_create_qp);

	if (!r)
		r = uroce_create_qp(vqp, in);
	if (!r && (vqp->comp_mask & VERBS_QP_EX)) {
		qp->fault->wr_complete = vqp->qp_ex.wr_complete;
		vqp->qp_ex.wr_complete = fault_wr_complete;
	}
	return r;
}

static struct verbs_ops fault_ops;
static pthread_once_t fault_ops_once = PTHREAD_ONCE_INIT;

static void fault_ops_fill(void)
{
	fault_ops = uroce_ops;
#define X(verb) fault_ops.verb = fault_##verb;
	FAULT_VERBS(X)
#undef X
}

void uroce_fault_verbs(struct verbs_context *ctx)
{
	pthread_once(&fault_ops_once, fault_ops_fill);
	verbs_context_set_ops(ctx, &fault_ops);
}
