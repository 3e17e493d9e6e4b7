/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "tests/hosts/vm/pci/loop.h"

#include <errno.h>
#include <string.h>
#include "tests/hosts/vm/pci/loop_message.h"
#include "tests/hosts/vm/pci/loop_pieces.h"
#include "tests/hosts/vm/pci/loop_table.h"
#include "tests/hosts/vm/pci/play.h"

enum {
	RETRY_MS = 4000,
};

static void complete(uint32_t number, const struct completion *c, bool solicited)
{
	struct loop_cq *cq = loop_cq(number);

	if (!cq || cq->object.overrun)
		return;
	if (!loop_adapter.has_room(&cq->object)) {
		cq->object.overrun = true;
		loop_adapter.event(LOOP_EVENT_CQ_ERROR, number);
		return;
	}
	loop_adapter.complete(&cq->object, c);
	if (c->wc->status || solicited)
		cq->object.solicited_until = cq->object.produced;
	PLAY_LOG("CQ 0x%x: queue pair 0x%x, %s %u, status %u\n", number, c->qp->number,
		 c->receive ? "receive" : "send", c->id, c->wc->status);
}

/* An armed CQ gets one event, once there is a completion that the program had not seen then. */
static void announce(struct loop_cq *cq)
{
	struct object *o = &cq->object;
	uint32_t until;

	if (loop_adapter.armed(o, &cq->arm))
		cq->armed = true;
	until = cq->arm.solicited ? o->solicited_until : o->produced;
	if (!cq->armed || (int32_t)(until - cq->arm.consumed) <= 0)
		return;
	cq->armed = false;
	o->events++;
	loop_adapter.completion_event(cq);
}

static struct loop_srq *srq_of(const struct message *m)
{
	bool is_xrc = m->to->object.qp_type == IBV_QPT_XRC_SEND;

	return is_xrc || m->to->has_srq ? loop_srq(is_xrc ? m->srq : m->to->srq) : NULL;
}

bool message_receive(const struct message *m, struct work *receive)
{
	struct loop_srq *srq = srq_of(m);
	struct object *queue = srq ? &srq->object : &m->to->object;

	if (!srq && (m->to->object.qp_type == IBV_QPT_XRC_SEND || m->to->has_srq))
		return false;
	return queue->rq.base && loop_adapter.next_receive(queue, receive) > 0;
}

static void take_receive(const struct message *m, const struct work *receive)
{
	struct loop_srq *srq = srq_of(m);
	struct queue *rq = srq ? &srq->object.rq : &m->to->object.rq;

	rq->consumed++;
	rq->cursor = receive->cursor;
	if (srq && srq->limit && (uint16_t)(be32toh(*rq->record) - rq->consumed) < srq->limit) {
		srq->limit = 0;
		loop_adapter.event(LOOP_EVENT_SRQ_LIMIT, srq->object.number);
	}
}

static enum ibv_wc_status scatter(const struct message *m, struct work *receive)
{
	struct loop_srq *srq = srq_of(m);
	struct pieces source = { .pd = m->from->pd, .access = LOOP_LOCAL_READ };
	struct pieces target = { .pd = srq ? srq->pd : m->to->pd, .access = LOOP_LOCAL_WRITE };

	if (m->is_datagram)
		pieces_add(&source, (uintptr_t)m->grh, sizeof(m->grh), 0, true);
	pieces_add_work(&source, m->work);
	receive->wr.send_flags = 0;
	pieces_add_work(&target, receive);
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
	wc->qp_num = m->to->object.number;
	wc->src_qp = m->from->object.number;
	if (m->from->special)
		wc->src_qp = m->from->special == LOOP_QP1;
	wc->byte_len = m->bytes;
	wc->slid = LOOP_LID;
	wc->opcode = IBV_WC_RECV;
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
		return;
	}
}

void loop_qp_error(struct loop_qp *qp)
{
	if (qp->object.state != IBV_QPS_ERR && qp->has_srq)
		loop_adapter.event(LOOP_EVENT_LAST_WQE, qp->object.number);
	qp->object.state = IBV_QPS_ERR;
}

/* A refused access stops the target. */
static enum ibv_wc_status refuse(struct loop_qp *to, enum loop_event event,
				 enum ibv_wc_status status)
{
	loop_adapter.event(event, to->object.number);
	loop_qp_error(to);
	return status;
}

/* Return the sender's status for that of the receiver. */
static enum ibv_wc_status sender_status(enum ibv_wc_status status)
{
	switch (status) {
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

enum ibv_wc_status message_deliver(const struct message *m, struct work *receive)
{
	struct loop_srq *srq = srq_of(m);
	bool is_xrc = m->to->object.qp_type == IBV_QPT_XRC_SEND;
	bool has_data = m->work->wr.opcode != IBV_WR_RDMA_WRITE_WITH_IMM;
	struct ibv_wc wc = { 0 };

	if (m->work->wr.opcode == IBV_WR_SEND_WITH_INV &&
	    !loop_adapter.invalidate(m->to, m->work->wr.invalidate_rkey))
		return refuse(m->to, LOOP_EVENT_ACCESS_ERROR, IBV_WC_REM_ACCESS_ERR);
	take_receive(m, receive);
	if (m->to->object.state == IBV_QPS_RTR)
		loop_adapter.event(LOOP_EVENT_COMM_EST, m->to->object.number);
	describe_receive(m, &wc);
	wc.status = has_data ? scatter(m, receive) : IBV_WC_SUCCESS;
	if (wc.status)
		loop_qp_error(m->to);
	complete(is_xrc ? srq->cq : m->to->recv_cq,
		 &(struct completion){ .qp = &m->to->object,
				       .srq = srq ? &srq->object : NULL,
				       .receive = true,
				       .id = receive->id,
				       .wc = &wc },
		 m->work->wr.send_flags & IBV_SEND_SOLICITED);
	return sender_status(wc.status);
}

bool message_is_ready(const struct loop_qp *qp)
{
	return qp && (qp->object.state == IBV_QPS_RTR || qp->object.state == IBV_QPS_RTS ||
		      qp->object.state == IBV_QPS_SQD);
}

static uint32_t remote_pd(const struct message *m)
{
	const struct loop_srq *srq = m->to->object.qp_type == IBV_QPT_XRC_SEND ? srq_of(m) : NULL;

	return srq ? srq->pd : m->to->pd;
}

/* Move data between the request's buffers and the remote address. */
static enum ibv_wc_status rdma(struct message *m, bool reads)
{
	const struct ibv_send_wr *wr = &m->work->wr;
	unsigned access = reads ? LOOP_REMOTE_READ : LOOP_REMOTE_WRITE;
	struct pieces local = { .pd = m->from->pd,
				.access = reads ? LOOP_LOCAL_WRITE : LOOP_LOCAL_READ };
	struct pieces remote = { .pd = remote_pd(m), .qp = m->to->object.number, .access = access };
	enum side refused;

	if (!m->bytes)
		return IBV_WC_SUCCESS;
	pieces_add_work(&local, m->work);
	pieces_add(&remote, wr->wr.rdma.remote_addr, m->bytes, wr->wr.rdma.rkey, false);
	if (!(m->to->access & access))
		return refuse(m->to, LOOP_EVENT_ACCESS_ERROR, IBV_WC_REM_ACCESS_ERR);
	refused = reads ? pieces_move(&remote, &local, m->bytes)
			: pieces_move(&local, &remote, m->bytes);
	if (refused == (reads ? SOURCE : TARGET))
		return refuse(m->to, LOOP_EVENT_ACCESS_ERROR, IBV_WC_REM_ACCESS_ERR);
	return refused == NEITHER ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR;
}

static enum ibv_wc_status atomic(struct message *m)
{
	const struct ibv_send_wr *wr = &m->work->wr;
	struct pieces source = { 0 }, local = { .pd = m->from->pd, .access = LOOP_LOCAL_WRITE };
	uint64_t old, *word = NULL;
	size_t together = 0;

	if (m->bytes < sizeof(old))
		return IBV_WC_LOC_LEN_ERR;
	if (m->to->access & LOOP_REMOTE_ATOMIC && !(wr->wr.atomic.remote_addr & 7))
		word = (uint64_t *)loop_adapter.memory(
			wr->wr.atomic.rkey, remote_pd(m), m->to->object.number,
			wr->wr.atomic.remote_addr, sizeof(old), LOOP_REMOTE_ATOMIC, &together);
	if (!word)
		return refuse(m->to, LOOP_EVENT_ACCESS_ERROR, IBV_WC_REM_ACCESS_ERR);
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		old = __atomic_fetch_add(word, wr->wr.atomic.compare_add, __ATOMIC_SEQ_CST);
	} else {
		old = wr->wr.atomic.compare_add;
		__atomic_compare_exchange_n(word, &old, wr->wr.atomic.swap, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
	}
	pieces_add(&source, (uintptr_t)&old, sizeof(old), 0, true);
	pieces_add_work(&local, m->work);
	return pieces_move(&source, &local, sizeof(old)) ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS;
}

/* Wait for the peer or its receive. Return @status when that has taken too long. */
static int wait_for_peer(struct loop_qp *qp, bool forever, enum ibv_wc_status status)
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

static bool is_connected(const struct loop_qp *from, const struct loop_qp *to)
{
	return from->remote_lid == LOOP_LID && message_is_ready(to) &&
	       to->object.qp_type == from->object.qp_type &&
	       to->remote_qpn % LOOP_NUMBERS == from->object.number % LOOP_NUMBERS;
}

static bool has_xrc_srq(const struct message *m)
{
	const struct loop_srq *srq = srq_of(m);

	return srq && srq->is_xrc && srq->xrcd == m->to->xrcd;
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
	bool is_reliable = m->from->object.qp_type != IBV_QPT_UC;

	m->to = loop_qp(m->from->remote_qpn);
	if (!is_connected(m->from, m->to))
		return is_reliable ? wait_for_peer(m->from, false, IBV_WC_RETRY_EXC_ERR)
				   : IBV_WC_SUCCESS;
	if (m->to->object.qp_type == IBV_QPT_XRC_SEND && !has_xrc_srq(m))
		return refuse(m->to, LOOP_EVENT_REQUEST_ERROR, IBV_WC_REM_INV_REQ_ERR);
	if (needs_receive(m->work->wr.opcode) && !message_receive(m, &receive))
		return is_reliable ? wait_for_peer(m->from, m->from->rnr_forever,
						   IBV_WC_RNR_RETRY_EXC_ERR)
				   : IBV_WC_SUCCESS;
	m->from->waiting_since = 0;
	return perform(m, &receive);
}

static int send_one(struct loop_qp *qp, struct work *work)
{
	struct message m = { .from = qp, .work = work };

	if (qp->object.qp_type == IBV_QPT_XRC_SEND)
		m.srq = work->wr.qp_type.xrc.remote_srqn;
	for (int i = 0; i < work->wr.num_sge; i++)
		m.bytes += work->sge[i].length;
	switch (work->wr.opcode) {
	case IBV_WR_BIND_MW:
		return loop_adapter.bind(qp, work);
	case IBV_WR_LOCAL_INV:
		return loop_adapter.invalidate(qp, work->wr.invalidate_rkey) ? IBV_WC_SUCCESS
									     : IBV_WC_MW_BIND_ERR;
	default:
		break;
	}
	return qp->object.qp_type == IBV_QPT_UD ? (int)message_datagram(&m) : send_connected(&m);
}

static void complete_send(struct loop_qp *qp, const struct work *work, enum ibv_wc_status status)
{
	struct ibv_wc wc = { .status = status, .qp_num = qp->object.number };

	for (int i = 0; i < work->wr.num_sge; i++)
		wc.byte_len += work->sge[i].length;
	qp->object.sq.consumed += work->entries;
	if (status || work->wr.send_flags & IBV_SEND_SIGNALED)
		complete(qp->send_cq,
			 &(struct completion){
				 .qp = &qp->object, .id = work->id, .note = work->note, .wc = &wc },
			 false);
}

static bool send_all(struct loop_qp *qp)
{
	static struct work work;
	bool any = false;
	int r;

	while (qp->object.state == IBV_QPS_RTS && qp->object.sq.base) {
		r = loop_adapter.next_send(&qp->object, &work);
		if (!r)
			break;
		if (r < 0)
			printf("queue pair 0x%x, request %u: malformed\n", qp->object.number,
			       work.id);
		r = r < 0 ? (int)IBV_WC_LOC_QP_OP_ERR : send_one(qp, &work);
		if (r == -EAGAIN)
			break;
		if (r)
			loop_qp_error(qp);
		complete_send(qp, &work, r);
		any = true;
	}
	return any;
}

/* Receives of an SRQ stay there. */
static bool flush(struct loop_qp *qp)
{
	static struct work work;
	struct ibv_wc wc = { .status = IBV_WC_WR_FLUSH_ERR, .qp_num = qp->object.number };
	struct message m = { .to = qp };
	bool any = false;

	while (qp->object.sq.base && loop_adapter.next_send(&qp->object, &work)) {
		complete_send(qp, &work, IBV_WC_WR_FLUSH_ERR);
		any = true;
	}
	while (!qp->has_srq && qp->object.rq.base && message_receive(&m, &work)) {
		take_receive(&m, &work);
		complete(qp->recv_cq,
			 &(struct completion){
				 .qp = &qp->object, .receive = true, .id = work.id, .wc = &wc },
			 false);
		any = true;
	}
	return any;
}

bool loop_pass(void)
{
	bool any = false;

	for (uint32_t i = 0; i < loop_tables.qp_end; i++) {
		struct loop_qp *qp = &loop_tables.qps[i];

		if (qp->used && qp->object.state == IBV_QPS_RTS)
			any |= send_all(qp);
		else if (qp->used && qp->object.state == IBV_QPS_ERR)
			any |= flush(qp);
	}
	for (uint32_t i = 0; i < loop_tables.cq_end; i++)
		if (loop_tables.cqs[i].used)
			announce(&loop_tables.cqs[i]);
	return any;
}
