/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Posts. Requests are handed to the operations below one by one, so that each is known before its
 * completion can arrive.
 */
#include <stddef.h>
#include <string.h>

#include "providers/uroce/strict/record.h"

/* --- sends --- */

static bool device_writes(unsigned int opcode)
{
	return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void send_check(struct strict_qp *sqp, const char *verb, uint64_t wr_id, unsigned int opcode,
		       int num_sge, const struct ibv_sge *sge)
{
	const struct uroce_qp *qp = sqp->qp;
	struct strict_entries entries = {
		.ctx = qp->vqp.qp.context,
		.pd = qp->vqp.qp.pd,
		.keys = qp->engine->keys,
		.queue = "qp",
		.verb = verb,
		.number = qp->vqp.qp.qp_num,
		.wr_id = wr_id,
		.write = device_writes(opcode),
		.num_sge = num_sge,
		.sge = sge,
	};

	strict_error_post(sqp, verb, wr_id);
	strict_entries_check(&entries);
}

/* Add a request. Return: its serial number. */
static uint32_t queue_add(struct strict_queue *queue, struct strict_request *request)
{
	uint32_t serial;

	strict_lock();
	serial = queue->next;
	strict_queue_add(queue, request);
	strict_unlock();
	return serial;
}

/*
 * Set the sum of a send whose memory stays. Before a fence an earlier read may change it. Protocols
 * on datagrams, such as that of UCX, take the memory back when the peer has acknowledged it.
 */
static void send_sum(const struct strict_qp *sqp, struct strict_request *request,
		     unsigned int opcode, unsigned int flags)
{
	request->writes = device_writes(opcode);
	if (!request->writes && !(flags & IBV_SEND_FENCE) && sqp->qp->type != IBV_QPT_UD)
		strict_content_sum(sqp->qp->engine->keys, request);
}

static void queue_cut(struct strict_queue *queue, uint32_t serial)
{
	strict_lock();
	strict_queue_cut(queue, serial);
	strict_unlock();
}

/* Return the number of entries of the request, whose memory the device uses. */
static int send_entries(const struct strict_qp *sqp, const struct ibv_send_wr *wr)
{
	if (wr->send_flags & IBV_SEND_INLINE || !wr->sg_list || wr->num_sge < 0 ||
	    (uint32_t)wr->num_sge > sqp->qp->sq.max_sge || wr->opcode == IBV_WR_BIND_MW ||
	    wr->opcode == IBV_WR_LOCAL_INV)
		return 0;
	return wr->num_sge;
}

/*
 * Return a copy of the request without its successors. Programs of older headers have a shorter
 * struct, so read the members behind the old ones only for a request that uses them.
 */
static struct ibv_send_wr send_alone(const struct strict_qp *sqp, const struct ibv_send_wr *wr)
{
	bool recent = wr->opcode == IBV_WR_BIND_MW || wr->opcode == IBV_WR_TSO ||
		      sqp->qp->type == IBV_QPT_XRC_SEND;
	struct ibv_send_wr one = {};

	memcpy(&one, wr, recent ? sizeof(one) : offsetof(struct ibv_send_wr, qp_type));
	one.next = NULL;
	return one;
}

/* Post one request, by @post, which gets @arg. */
static int send_one(struct strict_qp *sqp, const struct ibv_send_wr *wr,
		    int (*post)(struct ibv_qp *qp, struct ibv_send_wr *wr, const void *arg),
		    const void *arg)
{
	int num_sge = send_entries(sqp, wr), r;
	uint32_t serial;
	struct ibv_send_wr one = send_alone(sqp, wr);
	struct strict_request *request;

	if (strict_room_check(sqp, "ibv_post_send", 1))
		return ENOMEM;
	request = strict_request_new(wr->wr_id,
				     (wr->send_flags & IBV_SEND_SIGNALED) || sqp->qp->sq.sig_all,
				     num_sge, wr->sg_list);

	if (!request)
		return ENOMEM;
	send_check(sqp, "ibv_post_send", wr->wr_id, wr->opcode, num_sge, wr->sg_list);
	strict_immediate_check(sqp, "ibv_post_send", wr->wr_id, wr->opcode, wr->imm_data);
	strict_datagram_send(sqp, wr);
	if (!arg) /* else the post itself writes the memory */
		send_sum(sqp, request, wr->opcode, wr->send_flags);
	serial = queue_add(&sqp->sq, request);
	r = post(&sqp->qp->vqp.qp, &one, arg);
	if (r)
		queue_cut(&sqp->sq, serial);
	return r;
}

static int below_send(struct ibv_qp *qp, struct ibv_send_wr *wr, const void *arg)
{
	struct ibv_send_wr *bad;

	return strict_below(qp->context)->post_send(qp, wr, &bad);
}

static int below_write_copy(struct ibv_qp *qp, struct ibv_send_wr *wr, const void *bytes)
{
	return strict_below(qp->context)->post_write_copy(qp, wr, bytes);
}

/* Return the record of a queue pair; NULL: it has none, or belongs to a parent process. */
static struct strict_qp *qp_find(struct ibv_qp *qp, const char *verb)
{
	if (!uroce_host_here(qp_host(to_uqp(qp)))) {
		strict_inherited(qp->context, verb, "qp", qp->qp_num);
		return NULL;
	}
	return strict_record_find(STRICT_QP, qp);
}

static int strict_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct strict_qp *sqp = qp_find(qp, "ibv_post_send");
	int r = 0;

	if (!sqp)
		return strict_below(qp->context)->post_send(qp, wr, bad_wr);
	pthread_mutex_lock(&sqp->send);
	for (; wr && !r; wr = r ? wr : wr->next)
		r = send_one(sqp, wr, below_send, NULL);
	pthread_mutex_unlock(&sqp->send);
	if (r)
		*bad_wr = wr;
	return r;
}

static int strict_post_write_copy(struct ibv_qp *qp, struct ibv_send_wr *wr, const void *bytes)
{
	struct strict_qp *sqp = qp_find(qp, "ibv_post_send");
	int r;

	if (!sqp)
		return strict_below(qp->context)->post_write_copy(qp, wr, bytes);
	pthread_mutex_lock(&sqp->send);
	r = send_one(sqp, wr, below_write_copy, bytes);
	pthread_mutex_unlock(&sqp->send);
	return r;
}

static int strict_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct strict_qp *sqp = qp_find(qp, "ibv_bind_mw");
	struct strict_request *request;
	uint32_t serial;
	int r;

	if (!sqp)
		return strict_below(qp->context)->bind_mw(qp, mw, bind);
	request = strict_request_new(bind->wr_id,
				     (bind->send_flags & IBV_SEND_SIGNALED) || sqp->qp->sq.sig_all,
				     0, NULL);
	if (!request)
		return ENOMEM;
	pthread_mutex_lock(&sqp->send);
	if (strict_room_check(sqp, "ibv_bind_mw", 1)) {
		pthread_mutex_unlock(&sqp->send);
		free(request);
		return ENOMEM;
	}
	serial = queue_add(&sqp->sq, request);
	r = strict_below(qp->context)->bind_mw(qp, mw, bind);
	if (r)
		queue_cut(&sqp->sq, serial);
	pthread_mutex_unlock(&sqp->send);
	return r;
}

/* --- the ibv_wr_* builders --- */

static struct strict_qp *builder_find(struct ibv_qp_ex *ex)
{
	return strict_record_find(STRICT_QP, &ex->qp_base);
}

/* Return whether this process may take locks of the queue pair: not in a forked child. */
static bool builder_here(const struct strict_qp *sqp)
{
	return uroce_host_here(qp_host(sqp->qp));
}

static void builder_start(struct ibv_qp_ex *ex)
{
	struct strict_qp *sqp = builder_find(ex);

	if (builder_here(sqp)) {
		pthread_mutex_lock(&sqp->send);
		sqp->building = true;
	}
	sqp->wr_start(ex);
}

static void builder_end(struct strict_qp *sqp)
{
	if (!builder_here(sqp) || !sqp->building)
		return;
	sqp->building = false;
	pthread_mutex_unlock(&sqp->send);
}

/* Check and add the requests that were built. */
static int built_add(struct strict_qp *sqp)
{
	struct uroce_qp *qp = sqp->qp;

	if (strict_room_check(sqp, "ibv_wr_complete", qp->wr_head - qp->sq.head))
		return ENOMEM;
	for (uint32_t i = qp->sq.head; i != qp->wr_head; i++) {
		const struct uroce_swqe *wqe = sq_wqe(&qp->sq, i);
		int num_sge = wqe->is_inline ? 0 : wqe->num_sge;
		struct strict_request *request = strict_request_new(
			wqe->wr_id, (wqe->flags & IBV_SEND_SIGNALED) || qp->sq.sig_all, num_sge,
			wqe->sge);

		if (!request)
			return ENOMEM;
		send_check(sqp, "ibv_wr_complete", wqe->wr_id, wqe->opcode, num_sge, wqe->sge);
		strict_immediate_check(sqp, "ibv_wr_complete", wqe->wr_id, wqe->opcode,
				       wqe->imm_data);
		send_sum(sqp, request, wqe->opcode, wqe->flags);
		queue_add(&sqp->sq, request);
	}
	return 0;
}

static int builder_complete(struct ibv_qp_ex *ex)
{
	struct strict_qp *sqp = builder_find(ex);
	uint32_t serial;
	int r;

	if (!builder_here(sqp))
		strict_inherited(sqp->record.ctx, "ibv_wr_complete", "qp", sqp->record.number);
	if (!builder_here(sqp) || !sqp->building)
		return sqp->wr_complete(ex);
	serial = sqp->sq.next;
	r = sqp->qp->wr_error ? 0 : built_add(sqp);
	if (r)
		sqp->wr_abort(ex);
	else
		r = sqp->wr_complete(ex);
	if (r)
		queue_cut(&sqp->sq, serial);
	builder_end(sqp);
	return r;
}

static void builder_abort(struct ibv_qp_ex *ex)
{
	struct strict_qp *sqp = builder_find(ex);

	sqp->wr_abort(ex);
	builder_end(sqp);
}

void strict_builders_wrap(struct strict_qp *sqp)
{
	struct ibv_qp_ex *ex = &sqp->qp->vqp.qp_ex;

	sqp->wr_start = ex->wr_start;
	sqp->wr_complete = ex->wr_complete;
	sqp->wr_abort = ex->wr_abort;
	ex->wr_start = builder_start;
	ex->wr_complete = builder_complete;
	ex->wr_abort = builder_abort;
}

/* --- receives --- */

/* A queue of receives: of a queue pair or an SRQ. */
struct receiver {
	struct strict_queue *queue;
	struct strict_qp *qp; /* NULL: an SRQ */
	const struct uroce_rq *rq;
	struct strict_entries entries; /* entries other than those of the request */
	int (*post)(void *object, struct ibv_recv_wr *wr);
	void *object;
};

/* Return whether an error that the program polled stopped the receives, too. */
static bool receives_stopped(struct strict_qp *sqp)
{
	bool stopped;

	strict_lock();
	stopped = sqp->state == IBV_QPS_ERR;
	strict_unlock();
	return stopped;
}

/* Check a receive of a queue pair. */
static void receive_check(struct strict_qp *sqp, const struct strict_entries *entries)
{
	if (receives_stopped(sqp))
		strict_error_post(sqp, entries->verb, entries->wr_id);
	strict_datagram_recv(sqp, entries);
}

static int recv_one(struct receiver *to, const struct ibv_recv_wr *wr)
{
	bool named = wr->sg_list && wr->num_sge >= 0 && (uint32_t)wr->num_sge <= to->rq->max_sge;
	int num_sge = named ? wr->num_sge : 0, r;
	struct strict_request *request;
	struct ibv_recv_wr one = *wr;
	uint32_t serial;

	if (to->qp && strict_receive_room_check(to->qp))
		return ENOMEM;
	request = strict_request_new(wr->wr_id, true, num_sge, wr->sg_list);
	if (!request)
		return ENOMEM;
	request->writes = true;
	strict_content_keep(to->entries.keys, request);
	to->entries.wr_id = wr->wr_id;
	to->entries.num_sge = num_sge;
	to->entries.sge = wr->sg_list;
	strict_entries_check(&to->entries);
	if (to->qp)
		receive_check(to->qp, &to->entries);
	strict_content_hide(to->entries.keys, request);
	serial = queue_add(to->queue, request);
	one.next = NULL;
	r = to->post(to->object, &one);
	if (r)
		queue_cut(to->queue, serial);
	return r;
}

static int recv_all(struct receiver *to, pthread_mutex_t *mutex, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr)
{
	int r = 0;

	pthread_mutex_lock(mutex);
	for (; wr && !r; wr = r ? wr : wr->next)
		r = recv_one(to, wr);
	pthread_mutex_unlock(mutex);
	if (r)
		*bad_wr = wr;
	return r;
}

static int below_recv(void *object, struct ibv_recv_wr *wr)
{
	struct ibv_qp *qp = object;
	struct ibv_recv_wr *bad;

	return strict_below(qp->context)->post_recv(qp, wr, &bad);
}

static int strict_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct strict_qp *sqp = qp_find(qp, "ibv_post_recv");
	struct receiver to;

	/* A queue pair that has no receive queue: refused below. */
	if (!sqp || !uroce_qp_has_rq(sqp->qp))
		return strict_below(qp->context)->post_recv(qp, wr, bad_wr);
	to = (struct receiver){
		.queue = &sqp->rq,
		.qp = sqp,
		.rq = &sqp->qp->rq,
		.entries = { .ctx = qp->context,
			     .pd = qp->pd,
			     .keys = sqp->qp->engine->keys,
			     .queue = "qp",
			     .verb = "ibv_post_recv",
			     .number = qp->qp_num,
			     .write = true },
		.post = below_recv,
		.object = qp,
	};
	return recv_all(&to, &sqp->recv, wr, bad_wr);
}

static int below_srq_recv(void *object, struct ibv_recv_wr *wr)
{
	struct ibv_srq *srq = object;
	struct ibv_recv_wr *bad;

	return strict_below(srq->context)->post_srq_recv(srq, wr, &bad);
}

static int strict_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
				struct ibv_recv_wr **bad_wr)
{
	bool here = uroce_host_here(ctx_host(srq->context));
	struct strict_srq *ssrq = here ? strict_record_find(STRICT_SRQ, srq) : NULL;
	struct receiver to;

	if (!here)
		strict_inherited(srq->context, "ibv_post_srq_recv", "srq", srq->handle);
	if (!ssrq)
		return strict_below(srq->context)->post_srq_recv(srq, wr, bad_wr);
	to = (struct receiver){
		.queue = &ssrq->rq,
		.rq = &ssrq->srq->rq,
		.entries = { .ctx = srq->context,
			     .pd = srq->pd,
			     .keys = ctx_host(srq->context)->engine.keys,
			     .queue = "srq",
			     .verb = "ibv_post_srq_recv",
			     .number = srq->handle,
			     .write = true },
		.post = below_srq_recv,
		.object = srq,
	};
	return recv_all(&to, &ssrq->recv, wr, bad_wr);
}

void strict_post_ops(struct verbs_ops *ops)
{
	ops->post_send = strict_post_send;
	ops->post_write_copy = strict_post_write_copy;
	ops->bind_mw = strict_bind_mw;
	ops->post_recv = strict_post_recv;
	ops->post_srq_recv = strict_post_srq_recv;
}
