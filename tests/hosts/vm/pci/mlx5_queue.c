/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rings that programs write: each message goes to another queue pair of this adapter. */
#include "tests/hosts/vm/pci/mlx5_message.h"

#include <errno.h>
#include <infiniband/mlx5/wqe.h>
#include "tests/hosts/vm/pci/mlx5_pieces.h"
#include "tests/hosts/vm/pci/mlx5_wire.h"
#include "tests/hosts/vm/pci/play.h"

enum {
	RETRY_MS = 4000,
	RNR_FOREVER = 7,
	NO_PKEY = 0xffff, /* a datagram's P_Key, in the place of its immediate */
};

static struct hca_srq *srq_of(const struct message *m)
{
	uint32_t n = m->to->type == HCA_XRC ? m->srq : m->to->srq;
	struct hca_srq *srq = n < HCA_SRQS ? &hca.srqs[n] : NULL;

	if (m->to->type != HCA_XRC && !m->to->has_srq)
		return NULL;
	return srq && srq->used ? srq : NULL;
}

bool message_receive(const struct message *m, struct work *receive)
{
	struct hca_srq *srq = srq_of(m);
	struct object *queue = srq ? &srq->object : &m->to->object;

	if (!srq && (m->to->type == HCA_XRC || m->to->has_srq))
		return false;
	return queue->rq.base && mlx5_next_receive(queue, receive) > 0;
}

static void take_receive(const struct message *m, const struct work *receive)
{
	struct hca_srq *srq = srq_of(m);
	struct queue *rq = srq ? &srq->object.rq : &m->to->object.rq;

	rq->consumed++;
	rq->cursor = receive->cursor;
	if (srq && srq->limit && (uint16_t)(be32toh(*rq->record) - rq->consumed) < srq->limit) {
		srq->limit = 0;
		hca_event_of(HCA_EVENT_SRQ_LIMIT, srq->object.number);
	}
}

static enum ibv_wc_status scatter(const struct message *m, struct work *receive)
{
	struct hca_srq *srq = srq_of(m);
	struct pieces source = { .pd = m->from->pd, .access = HCA_LOCAL_READ };
	struct pieces target = { .pd = srq ? srq->pd : m->to->pd, .access = HCA_LOCAL_WRITE };

	if (m->is_datagram)
		pieces_add(&source, (uintptr_t)m->grh, sizeof(m->grh), 0, true);
	pieces_add_work(&source, m->work, &m->from->object.sq);
	receive->wr.send_flags = 0;
	receive->wr.sg_list = receive->sge;
	pieces_add_work(&target, receive, NULL);
	if (pieces_length(&source) > pieces_length(&target))
		return IBV_WC_LOC_LEN_ERR;
	switch (pieces_move(&source, &target, pieces_length(&source))) {
	case SOURCE:
		return IBV_WC_LOC_QP_OP_ERR;
	case TARGET:
		return IBV_WC_LOC_PROT_ERR;
	default:
		return IBV_WC_SUCCESS;
	}
}

static void describe_receive(const struct message *m, struct ibv_wc *wc)
{
	wc->src_qp = m->from->object.number;
	wc->byte_len = m->bytes;
	wc->slid = HCA_LID;
	wc->sl = m->header_kind;
	wc->wc_flags = m->has_grh ? IBV_WC_GRH : 0;
	switch (m->work->wr.opcode) {
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		wc->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
		/* fallthrough */
	case IBV_WR_SEND_WITH_IMM:
		wc->wc_flags |= IBV_WC_WITH_IMM;
		wc->imm_data = m->work->wr.imm_data;
		return;
	case IBV_WR_SEND_WITH_INV:
		wc->wc_flags |= IBV_WC_WITH_INV;
		wc->invalidated_rkey = m->work->wr.invalidate_rkey;
		return;
	default:
		wc->imm_data = m->is_datagram ? htobe32(NO_PKEY) : 0;
	}
}

/* A refused access stops the target. */
static enum ibv_wc_status refuse(struct hca_qp *to, enum hca_event event, enum ibv_wc_status status)
{
	hca_event_of(event, to->object.number);
	hca_qp_error(to);
	return status;
}

enum ibv_wc_status message_deliver(const struct message *m, struct work *receive)
{
	struct hca_srq *srq = srq_of(m);
	bool has_data = m->work->wr.opcode != IBV_WR_RDMA_WRITE_WITH_IMM;
	struct ibv_wc wc = { 0 };

	if (m->work->wr.opcode == IBV_WR_SEND_WITH_INV &&
	    !hca_invalidate_window(m->to, m->work->wr.invalidate_rkey))
		return refuse(m->to, HCA_EVENT_ACCESS_ERROR, IBV_WC_REM_ACCESS_ERR);
	take_receive(m, receive);
	if (m->to->object.state == IBV_QPS_RTR)
		hca_event_of(HCA_EVENT_COMM_EST, m->to->object.number);
	wc.status = has_data ? scatter(m, receive) : IBV_WC_SUCCESS;
	describe_receive(m, &wc);
	if (wc.status)
		hca_qp_error(m->to);
	hca_complete(m->to->type == HCA_XRC ? srq->cq : m->to->recv_cq,
		     &(struct completion){ .qp = &m->to->object,
					   .srq = srq ? &srq->object : NULL,
					   .receive = true,
					   .id = receive->id,
					   .wc = &wc },
		     m->work->wr.send_flags & IBV_SEND_SOLICITED);
	switch (wc.status) {
	case IBV_WC_SUCCESS:
		return IBV_WC_SUCCESS;
	case IBV_WC_LOC_LEN_ERR:
		return IBV_WC_REM_INV_REQ_ERR;
	case IBV_WC_LOC_QP_OP_ERR:
		return IBV_WC_LOC_PROT_ERR;
	default:
		return IBV_WC_REM_OP_ERR;
	}
}

struct hca_qp *message_qp(uint32_t number)
{
	struct hca_qp *qp = number < HCA_QPS ? &hca.qps[number] : NULL;

	return qp && qp->used ? qp : NULL;
}

bool message_is_ready(const struct hca_qp *qp)
{
	return qp && (qp->object.state == IBV_QPS_RTR || qp->object.state == IBV_QPS_RTS);
}

static uint32_t remote_pd(const struct message *m)
{
	const struct hca_srq *srq = m->to->type == HCA_XRC ? srq_of(m) : NULL;

	return srq ? srq->pd : m->to->pd;
}

/* Move data between the request's buffers and the remote address. */
static enum ibv_wc_status rdma(struct message *m, bool reads)
{
	const struct ibv_send_wr *wr = &m->work->wr;
	struct pieces local = { .pd = m->from->pd,
				.access = reads ? HCA_LOCAL_WRITE : HCA_LOCAL_READ };
	struct pieces remote = { .pd = remote_pd(m),
				 .qp = m->to->object.number,
				 .access = reads ? HCA_REMOTE_READ : HCA_REMOTE_WRITE };
	enum side refused;

	if (!m->bytes)
		return IBV_WC_SUCCESS;
	pieces_add_work(&local, m->work, &m->from->object.sq);
	pieces_add(&remote, wr->wr.rdma.remote_addr, m->bytes, wr->wr.rdma.rkey, false);
	if (!get(m->to->context, reads ? QPC_RRE : QPC_RWE))
		return refuse(m->to, HCA_EVENT_ACCESS_ERROR, IBV_WC_REM_ACCESS_ERR);
	refused = reads ? pieces_move(&remote, &local, m->bytes)
			: pieces_move(&local, &remote, m->bytes);
	if (refused == (reads ? SOURCE : TARGET))
		return refuse(m->to, HCA_EVENT_ACCESS_ERROR, IBV_WC_REM_ACCESS_ERR);
	return refused == NEITHER ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR;
}

static enum ibv_wc_status atomic(struct message *m)
{
	const struct ibv_send_wr *wr = &m->work->wr;
	struct pieces source = { 0 }, local = { .pd = m->from->pd, .access = HCA_LOCAL_WRITE };
	uint64_t old, *word = NULL;
	size_t together = 0;

	if (get(m->to->context, QPC_RAE) && !(wr->wr.atomic.remote_addr & 7))
		word = (uint64_t *)hca_key_memory(wr->wr.atomic.rkey, remote_pd(m),
						  m->to->object.number, wr->wr.atomic.remote_addr,
						  sizeof(old), HCA_REMOTE_ATOMIC, &together);
	if (!word)
		return refuse(m->to, HCA_EVENT_ACCESS_ERROR, IBV_WC_REM_ACCESS_ERR);
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		old = __atomic_fetch_add(word, wr->wr.atomic.compare_add, __ATOMIC_SEQ_CST);
	} else {
		old = wr->wr.atomic.compare_add;
		__atomic_compare_exchange_n(word, &old, wr->wr.atomic.swap, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
	}
	pieces_add(&source, (uintptr_t)&old, sizeof(old), 0, true);
	pieces_add_work(&local, m->work, NULL);
	return pieces_move(&source, &local, sizeof(old)) ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS;
}

/* Wait for the peer or its receive. Return @status when that has taken too long. */
static int wait_for_peer(struct hca_qp *qp, bool forever, enum ibv_wc_status status)
{
	if (!qp->waiting_since)
		qp->waiting_since = play_now();
	return forever || play_now() - qp->waiting_since < RETRY_MS ? -EAGAIN : (int)status;
}

static bool needs_receive(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool leads_here(const struct hca_qp *from)
{
	return hca_ethernet ? hca_is_own_mac(from->context + QPC_PATH_MAC)
			    : get(from->context, QPC_RLID) == HCA_LID;
}

static bool is_connected(const struct hca_qp *from, const struct hca_qp *to)
{
	return leads_here(from) && message_is_ready(to) && to->type == from->type &&
	       get(to->context, QPC_REMOTE_QPN) == from->object.number;
}

static bool has_xrc_srq(const struct message *m)
{
	const struct hca_srq *srq = srq_of(m);

	return srq && srq->object.xrcd && srq->xrcd == m->to->xrcd;
}

static enum ibv_wc_status perform(struct message *m, struct work *receive)
{
	enum ibv_wc_status status = IBV_WC_SUCCESS;

	switch (m->work->wr.opcode) {
	case IBV_WR_RDMA_READ:
		return rdma(m, true);
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return atomic(m);
	case IBV_WR_RDMA_WRITE:
		return rdma(m, false);
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		status = rdma(m, false);
		/* fallthrough */
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
		return status ? status : message_deliver(m, receive);
	default:
		return IBV_WC_LOC_QP_OP_ERR;
	}
}

/* Return a status, or -EAGAIN if the message has to wait. */
static int send_connected(struct message *m)
{
	static struct work receive;
	bool is_reliable = m->from->type != HCA_UC;

	if (hca_ethernet && !leads_here(m->from))
		return wire_message(m);
	m->to = message_qp(get(m->from->context, QPC_REMOTE_QPN));
	if (!is_connected(m->from, m->to))
		return is_reliable ? wait_for_peer(m->from, false, IBV_WC_RETRY_EXC_ERR)
				   : IBV_WC_SUCCESS;
	if (m->to->type == HCA_XRC && !has_xrc_srq(m))
		return refuse(m->to, HCA_EVENT_REQUEST_ERROR, IBV_WC_REM_INV_REQ_ERR);
	if (needs_receive(m->work->wr.opcode) && !message_receive(m, &receive))
		return is_reliable
			       ? wait_for_peer(m->from,
					       get(m->from->context, QPC_RNR_RETRY) == RNR_FOREVER,
					       IBV_WC_RNR_RETRY_EXC_ERR)
			       : IBV_WC_SUCCESS;
	m->from->waiting_since = 0;
	return perform(m, &receive);
}

static int send_one(struct hca_qp *qp, struct work *work)
{
	struct message m = { .from = qp, .work = work, .srq = work->wr.qp_type.xrc.remote_srqn };

	for (int i = 0; i < work->wr.num_sge; i++)
		m.bytes += work->sge[i].length;
	if (work->note == MLX5_OPCODE_NOP)
		return IBV_WC_SUCCESS;
	if (qp->type == HCA_UMR) {
		printf("a change of a memory key by a request is not played\n");
		return IBV_WC_MW_BIND_ERR;
	}
	switch (work->wr.opcode) {
	case IBV_WR_BIND_MW:
		return hca_bind_window(qp, work);
	case IBV_WR_LOCAL_INV:
		return hca_invalidate_window(qp, work->wr.invalidate_rkey) ? IBV_WC_SUCCESS
									   : IBV_WC_MW_BIND_ERR;
	default:
		break;
	}
	return qp->object.qp_type == IBV_QPT_UD ? (int)message_datagram(&m) : send_connected(&m);
}

static void complete_send(struct hca_qp *qp, const struct work *work, enum ibv_wc_status status)
{
	struct ibv_wc wc = { .status = status };

	for (int i = 0; i < work->wr.num_sge; i++)
		wc.byte_len += work->sge[i].length;
	hca_copy_count(qp, work->id);
	qp->object.sq.consumed += work->entries;
	if (status || work->wr.send_flags & IBV_SEND_SIGNALED ||
	    (work->note == MLX5_OPCODE_NOP && hca_copy_wants_completion(qp, work->id)))
		hca_complete(
			qp->send_cq,
			&(struct completion){
				.qp = &qp->object, .id = work->id, .note = work->note, .wc = &wc },
			false);
}

static bool send_all(struct hca_qp *qp)
{
	static struct work work;
	bool any = false;
	int r;

	while (qp->object.state == IBV_QPS_RTS && qp->object.sq.base) {
		r = mlx5_next_send(&qp->object, &work);
		if (!r)
			break;
		if (r < 0)
			printf("queue pair 0x%x, request %u: malformed\n", qp->object.number,
			       work.id);
		r = r < 0 ? (int)IBV_WC_LOC_QP_OP_ERR : send_one(qp, &work);
		if (r == -EAGAIN)
			break;
		if (r)
			hca_qp_error(qp);
		complete_send(qp, &work, r);
		any = true;
	}
	return any;
}

/* Receives of an SRQ stay there. */
static bool flush(struct hca_qp *qp)
{
	static struct work work;
	struct ibv_wc wc = { .status = IBV_WC_WR_FLUSH_ERR };
	struct message m = { .to = qp };
	bool any = false;

	while (qp->object.sq.base && mlx5_next_send(&qp->object, &work)) {
		complete_send(qp, &work, IBV_WC_WR_FLUSH_ERR);
		any = true;
	}
	while (qp->object.rq.base && message_receive(&m, &work)) {
		take_receive(&m, &work);
		hca_complete(qp->recv_cq,
			     &(struct completion){
				     .qp = &qp->object, .receive = true, .id = work.id, .wc = &wc },
			     false);
		any = true;
	}
	return any;
}

bool hca_queues(void)
{
	bool any = false;

	for (uint32_t i = HCA_FIRST_QP; i < hca.qp_end; i++) {
		struct hca_qp *qp = &hca.qps[i];

		if (qp->used && qp->object.state == IBV_QPS_RTS)
			any |= send_all(qp);
		else if (qp->used && qp->object.state == IBV_QPS_ERR)
			any |= flush(qp);
	}
	hca_announce_all();
	return any;
}
