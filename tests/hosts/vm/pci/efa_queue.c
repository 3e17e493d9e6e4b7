/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rings that programs write: each message goes to another queue pair of this adapter. */
#include "tests/hosts/vm/pci/efa.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "tests/hosts/vm/pci/play.h"

enum {
	GRH = 40,
};

/* Return memory of a region, and how many bytes of it lie together; NULL: the key does not open it.
 */
static uint8_t *region(const struct efa_qp *qp, const struct ibv_sge *sge, bool write, size_t *ret)
{
	const struct efa_mr *mr = &efa.mrs[sge->lkey % EFA_MRS];
	uint64_t offset, where;

	if (sge->lkey >= EFA_MRS || !mr->used || mr->pd != qp->pd || (write && !mr->write) ||
	    sge->addr < mr->iova || sge->addr - mr->iova > mr->length ||
	    sge->length > mr->length - (sge->addr - mr->iova))
		return NULL;
	offset = sge->addr - (mr->iova & ~((1ull << mr->shift) - 1));
	if (offset >> mr->shift >= mr->pages)
		return NULL;
	where = mr->page[offset >> mr->shift] + (offset & ((1ull << mr->shift) - 1));
	*ret = PLAY_PAGE - where % PLAY_PAGE;
	return play_memory(where);
}

/* The place in a list of buffers. */
struct cursor {
	const struct efa_qp *qp;
	struct ibv_sge sge[WORK_SGES];
	int left;
	bool write;
	bool plain; /* inline data: memory of this process */
};

static struct cursor cursor_of(const struct efa_qp *qp, const struct work *work, bool write)
{
	struct cursor c = { .qp = qp, .left = work->wr.num_sge, .write = write };

	memcpy(c.sge, work->sge, sizeof(c.sge[0]) * c.left);
	c.plain = !write && work->wr.send_flags & IBV_SEND_INLINE;
	return c;
}

static size_t length_of(const struct work *work)
{
	size_t length = 0;

	for (int i = 0; i < work->wr.num_sge; i++)
		length += work->sge[i].length;
	return length;
}

/* Return the next bytes, at most @length. NULL: a key does not allow it. */
static uint8_t *next_bytes(struct cursor *c, size_t *length)
{
	struct ibv_sge *sge = c->sge;
	size_t together = *length;
	uint8_t *at;

	while (c->left && !sge->length) {
		c->left--;
		memmove(sge, sge + 1, c->left * sizeof(*sge));
	}
	if (!c->left)
		return NULL;
	at = c->plain ? (uint8_t *)(uintptr_t)sge->addr : region(c->qp, sge, c->write, &together);
	if (*length > sge->length)
		*length = sge->length;
	if (*length > together)
		*length = together;
	return at;
}

static void advance(struct cursor *c, size_t length)
{
	c->sge->addr += length;
	c->sge->length -= length;
}

/* Bytes in front of the data of a receive: those of a GRH. */
static size_t head_of(const struct efa_qp *qp)
{
	return qp->type == EFA_UD ? GRH : 0;
}

static bool skip(struct cursor *c, size_t length)
{
	while (length) {
		size_t n = length;
		uint8_t *at = next_bytes(c, &n);

		if (!at)
			return false;
		memset(at, 0, n);
		advance(c, n);
		length -= n;
	}
	return true;
}

static enum ibv_wc_status move(const struct efa_qp *from, const struct work *send,
			       const struct efa_qp *to, const struct work *receive)
{
	struct cursor source = cursor_of(from, send, false), target = cursor_of(to, receive, true);
	size_t left = length_of(send);

	if (left + head_of(to) > length_of(receive))
		return IBV_WC_REM_INV_REQ_ERR;
	if (!skip(&target, head_of(to)))
		return IBV_WC_REM_OP_ERR;
	while (left) {
		size_t n = left;
		const uint8_t *s = next_bytes(&source, &n);
		uint8_t *t;

		if (!s)
			return IBV_WC_LOC_PROT_ERR;
		t = next_bytes(&target, &n);
		if (!t)
			return IBV_WC_REM_OP_ERR;
		memcpy(t, s, n);
		advance(&source, n);
		advance(&target, n);
		left -= n;
	}
	return IBV_WC_SUCCESS;
}

static void complete(uint32_t cqn, const struct completion *c)
{
	struct efa_cq *cq = &efa.cqs[cqn];
	uint8_t cqe[EFA_CQE], *at;

	if (!cq->used)
		return;
	at = efa_ring_completion(&cq->object, c, cqe);
	efa_ring_write(at, cqe, cq->object.ring.stride);
}

/* The receiver names the sender by the handle that it has for the address; all are of this adapter.
 */
static uint16_t own_handle(void)
{
	for (int i = 0; i < EFA_AHS; i++)
		if (efa.ahs[i].users && !memcmp(efa.ahs[i].gid, efa.gid, sizeof(efa.gid)))
			return i;
	return EFA_UNKNOWN_AH;
}

static void complete_send(struct efa_qp *qp, const struct work *work, enum ibv_wc_status status)
{
	struct ibv_wc wc = { .status = status, .byte_len = length_of(work) };

	qp->object.sq.consumed += work->entries;
	complete(qp->send_cq, &(struct completion){ .qp = &qp->object, .id = work->id, .wc = &wc });
}

static void complete_receive(struct efa_qp *qp, const struct work *work, struct ibv_wc *wc)
{
	qp->object.rq.consumed += work->entries;
	complete(qp->recv_cq,
		 &(struct completion){
			 .qp = &qp->object, .receive = true, .id = work->id, .wc = wc });
}

/* A message that has no receive waits, if it is reliable, and is lost otherwise. */
static int deliver(struct efa_qp *from, const struct work *send, struct efa_qp *to,
		   enum ibv_wc_status *ret_status)
{
	static struct work receive;
	struct ibv_wc wc = { .src_qp = from->object.number, .byte_len = length_of(send) };
	int r = to->object.rq.base ? efa_ring_next_receive(&to->object, &receive) : 0;

	if (r < 0)
		to->object.state = IBV_QPS_ERR;
	if (r < 0 || (!r && from->type == EFA_UD)) {
		efa.counts.rx_drops++;
		*ret_status = r < 0 && from->type == EFA_SRD ? IBV_WC_REM_OP_ERR : IBV_WC_SUCCESS;
		return 0;
	}
	if (!r)
		return -EAGAIN;
	*ret_status = move(from, send, to, &receive);
	if (*ret_status)
		return 0;
	if (send->wr.opcode == IBV_WR_SEND_WITH_IMM) {
		wc.wc_flags = IBV_WC_WITH_IMM;
		wc.imm_data = send->wr.imm_data;
	}
	wc.slid = own_handle();
	efa.counts.rx_bytes += wc.byte_len;
	efa.counts.rx_packets++;
	wc.byte_len += head_of(to);
	complete_receive(to, &receive, &wc);
	return 0;
}

static bool ready_to_receive(const struct efa_qp *qp)
{
	return qp->used && (qp->object.state == IBV_QPS_RTR || qp->object.state == IBV_QPS_RTS);
}

static int send_message(struct efa_qp *qp, const struct work *work, uint16_t ah,
			enum ibv_wc_status *ret_status)
{
	uint32_t number = work->wr.wr.ud.remote_qpn;
	struct efa_qp *to = &efa.qps[number % EFA_QPS];

	if (ah >= EFA_AHS || !efa.ahs[ah].users) {
		*ret_status = IBV_WC_LOC_QP_OP_ERR;
		return 0;
	}
	*ret_status = qp->type == EFA_UD ? IBV_WC_SUCCESS : IBV_WC_RESP_TIMEOUT_ERR;
	if (memcmp(efa.ahs[ah].gid, efa.gid, sizeof(efa.gid)))
		return 0;
	if (number >= EFA_QPS || !ready_to_receive(to) || to->type != qp->type ||
	    to->object.qkey != work->wr.wr.ud.remote_qkey) {
		efa.counts.rx_drops++;
		return 0;
	}
	return deliver(qp, work, to, ret_status);
}

static bool send_all(struct efa_qp *qp)
{
	static struct work work;
	enum ibv_wc_status status;
	uint16_t ah;
	bool any = false;
	int r;

	while ((r = efa_ring_next_send(&qp->object, &work, &ah)) > 0) {
		r = send_message(qp, &work, ah, &status);
		if (r == -EAGAIN)
			return any;
		efa.counts.tx_bytes += length_of(&work);
		efa.counts.tx_packets++;
		complete_send(qp, &work, status);
		any = true;
	}
	if (r < 0) {
		fprintf(stderr, "queue pair %u: malformed request\n", qp->object.number);
		qp->object.state = IBV_QPS_ERR;
	}
	return any;
}

void efa_flush(struct efa_qp *qp)
{
	static struct work work;
	struct ibv_wc wc = { .status = IBV_WC_WR_FLUSH_ERR };
	uint16_t ah;

	while (efa_ring_next_send(&qp->object, &work, &ah) > 0)
		complete_send(qp, &work, IBV_WC_WR_FLUSH_ERR);
	while (qp->object.rq.base && efa_ring_next_receive(&qp->object, &work) > 0)
		complete_receive(qp, &work, &wc);
}

/* An armed CQ that has new completions gets one event. */
static void announce(struct efa_cq *cq)
{
	struct object *o = &cq->object;
	struct arm arm;

	if (cq->eq < 0 || cq->eq >= EFA_EQS || !efa.eqs[cq->eq].used ||
	    o->produced == o->announced || !efa_ring_armed(o, &arm))
		return;
	o->events++;
	o->announced = o->produced;
	efa_event(&efa.eqs[cq->eq], o->number);
}

bool efa_queues(void)
{
	bool any = false;

	for (int i = 1; i < EFA_QPS; i++) {
		struct efa_qp *qp = &efa.qps[i];

		if (qp->used && qp->object.state == IBV_QPS_RTS)
			any |= send_all(qp);
		else if (qp->used && qp->object.state == IBV_QPS_ERR)
			efa_flush(qp);
	}
	for (int i = 1; i < EFA_CQS; i++)
		if (efa.cqs[i].used)
			announce(&efa.cqs[i]);
	return any;
}
