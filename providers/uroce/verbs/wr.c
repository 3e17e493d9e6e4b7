/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ibv_wr_* builders. Between start and complete or abort they write WQEs behind the head of the
 * queue, which the requester does not read. The QP's lock is not held meanwhile, so the application
 * may poll and packets may arrive.
 */
#include <stdio.h>
#include <string.h>

#include "providers/uroce/verbs/send.h"

static struct uroce_qp *ex_to_uqp(struct ibv_qp_ex *ex)
{
	return to_uqp(&ex->qp_base);
}

/* Direct all builders to the spare WQE in a forked child. */
static void builders_stop(struct uroce_qp *qp)
{
	qp->wr_head = qp->sq.head;
	qp->wr_tail = qp->wr_head - qp->sq.size;
	qp->wr_error = EIO;
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct uroce_qp *qp = ex_to_uqp(ex);

	if (unlikely(!uroce_host_here(qp_host(qp)))) {
		builders_stop(qp);
		return;
	}
	uroce_lock(&qp->lock);
	uroce_builder_wait(qp);
	qp->wr_building = true;
	qp->wr_head = qp->sq.head;
	qp->wr_tail = qp->sq.head - sq_used(&qp->sq);
	qp->wr_error = 0;
	uroce_unlock(&qp->lock);
}

static const char *inline_text(const struct uroce_qp *qp, char *text, size_t size)
{
	snprintf(text, size, "%zu bytes inline, the QP's max_inline_data is %u", qp->wr_inline,
		 qp->sq.max_inline);
	return text;
}

/* Choose the paths of the new datagrams. Under the QP's lock, because a path may name a peer. */
static void datagrams_route(struct uroce_qp *qp)
{
	for (uint32_t i = qp->sq.head; i != qp->wr_head; i++) {
		struct uroce_swqe *wqe = sq_wqe(&qp->sq, i);

		if (swqe_has_av(wqe))
			uroce_av_for_qpn(&wqe->ud.av, wqe->ud.qpn);
	}
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct uroce_qp *qp = ex_to_uqp(ex);
	char text[80];
	int r = uroce_host_check(qp_host(qp));

	if (unlikely(r < 0))
		return -r;
	uroce_lock(&qp->lock);
	qp->wr_building = false;
	r = qp->wr_error;
	if (likely(!r) && unlikely(qp->state < IBV_QPS_RTS))
		r = EINVAL;
	if (likely(!r)) {
		if (qp->type == IBV_QPT_UD)
			datagrams_route(qp);
		qp->sq.head = qp->wr_head;
		uroce_qp_run(qp, uroce_post_time(qp));
	}
	uroce_post_end(qp);
	if (unlikely(r))
		verbs_err(ex->qp_base.context, "qp 0x%x: ibv_wr_complete: %s", ex->qp_base.qp_num,
			  r == ENOMEM		    ? "send queue full"
			  : r == ENOSPC		    ? inline_text(qp, text, sizeof(text))
			  : qp->state < IBV_QPS_RTS ? "the QP is not in RTS"
			  : qp->wr_head == qp->sq.head
				  ? "ibv_wr_set_*() before any operation such as ibv_wr_send()"
				  : "a work request has too many SGEs, or no address");
	return r;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	struct uroce_qp *qp = ex_to_uqp(ex);

	if (unlikely(!uroce_host_here(qp_host(qp))))
		return;
	uroce_lock(&qp->lock);
	qp->wr_building = false;
	uroce_unlock(&qp->lock);
}

/* --- builders --- */

/*
 * Begin a WQE. After an error the builders write to the spare WQE, so that they need no check of
 * their own.
 */
static struct uroce_swqe *wqe_new(struct ibv_qp_ex *ex, uint8_t opcode)
{
	struct uroce_qp *qp = ex_to_uqp(ex);
	struct uroce_swqe *wqe;

	if (unlikely(qp->wr_head - qp->wr_tail >= qp->sq.size)) {
		qp->wr_error = ENOMEM;
		return sq_wqe_spare(&qp->sq);
	}
	wqe = uroce_swqe_begin(&qp->sq, qp->wr_head, ex->wr_id, opcode, ex->wr_flags);
	wqe->xrc.srqn = 0; /* no valid SRQ number, until ibv_wr_set_xrc_srqn() */
	qp->wr_head++;
	return wqe;
}

/* Return the WQE being built. A setter that comes before the first builder is an error. */
static struct uroce_swqe *wqe_last(struct uroce_qp *qp)
{
	if (unlikely(qp->wr_head == qp->sq.head && !qp->wr_error))
		qp->wr_error = EINVAL;
	return unlikely(qp->wr_error) ? sq_wqe_spare(&qp->sq) : sq_wqe(&qp->sq, qp->wr_head - 1);
}

static bool is_atomic(const struct uroce_swqe *wqe)
{
	return wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       wqe->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void rdma_new(struct ibv_qp_ex *ex, uint8_t opcode, uint32_t rkey, uint64_t remote_addr)
{
	struct uroce_swqe *wqe = wqe_new(ex, opcode);

	wqe->rdma.rkey = rkey;
	wqe->rdma.remote_addr = remote_addr;
}

/* Begin a send. On UD the destination is missing until ibv_wr_set_ud_addr(). */
static struct uroce_swqe *send_new(struct ibv_qp_ex *ex, uint8_t opcode)
{
	struct uroce_swqe *wqe = wqe_new(ex, opcode);

	wqe->ud.av.path = NULL;
	return wqe;
}

static void wr_send(struct ibv_qp_ex *ex)
{
	send_new(ex, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	send_new(ex, IBV_WR_SEND_WITH_IMM)->imm_data = imm_data;
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	wqe_new(ex, IBV_WR_SEND_WITH_INV)->invalidate_rkey = rkey;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	rdma_new(ex, IBV_WR_RDMA_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      __be32 imm_data)
{
	rdma_new(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr);
	wqe_last(ex_to_uqp(ex))->imm_data = imm_data;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	rdma_new(ex, IBV_WR_RDMA_READ, rkey, remote_addr);
}

static void wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, size_t length,
		     uint8_t type, uint8_t level)
{
	struct uroce_swqe *wqe = wqe_new(ex, IBV_WR_FLUSH);

	wqe->rdma.rkey = rkey;
	wqe->rdma.remote_addr = remote_addr;
	wqe->rdma.flush_type = type;
	wqe->rdma.flush_level = level;
	wqe->length = length;
	if (length > UROCE_MAX_MSG_SIZE)
		ex_to_uqp(ex)->wr_error = EINVAL;
}

static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			    const void *value)
{
	struct uroce_swqe *wqe = wqe_new(ex, IBV_WR_ATOMIC_WRITE);

	wqe->rdma.rkey = rkey;
	wqe->rdma.remote_addr = remote_addr;
	memcpy(wqe->data, value, sizeof(uint64_t));
	wqe->length = sizeof(uint64_t);
	wqe->is_inline = true;
}

static void atomic_new(struct ibv_qp_ex *ex, uint8_t opcode, uint32_t rkey, uint64_t remote_addr,
		       uint64_t compare_add, uint64_t swap)
{
	struct uroce_swqe *wqe = wqe_new(ex, opcode);

	wqe->atomic.rkey = rkey;
	wqe->atomic.remote_addr = remote_addr;
	wqe->atomic.compare_add = compare_add;
	wqe->atomic.swap = swap;
	if (remote_addr & 7)
		ex_to_uqp(ex)->wr_error = EINVAL;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	atomic_new(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				uint64_t add)
{
	atomic_new(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add, 0);
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	wqe_new(ex, IBV_WR_LOCAL_INV)->invalidate_rkey = rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	uroce_swqe_bind(wqe_new(ex, IBV_WR_BIND_MW), rkey, info);
}

/* --- setters --- */

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct uroce_swqe *wqe = wqe_last(ex_to_uqp(ex));

	wqe->ud.av = ((struct uroce_ah *)ah)->av;
	wqe->ud.qpn = remote_qpn & QPN_MASK;
	wqe->ud.qkey = remote_qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	wqe_last(ex_to_uqp(ex))->xrc.srqn = remote_srqn & QPN_MASK;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct uroce_qp *qp = ex_to_uqp(ex);
	struct uroce_swqe *wqe = wqe_last(qp);
	uint64_t length = 0;

	if (unlikely(num_sge > qp->sq.max_sge)) {
		qp->wr_error = qp->wr_error ? qp->wr_error : EINVAL;
		return;
	}
	for (size_t i = 0; i < num_sge; i++) {
		wqe->sge[i] = sg_list[i];
		length += sg_list[i].length;
	}
	if (unlikely(length > UROCE_MAX_MSG_SIZE || (is_atomic(wqe) && length < sizeof(uint64_t))))
		qp->wr_error = qp->wr_error ? qp->wr_error : EINVAL;
	wqe->num_sge = num_sge;
	wqe->length = is_atomic(wqe) ? sizeof(uint64_t) : length;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = { addr, length, lkey };

	wr_set_sge_list(ex, length ? 1 : 0, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct uroce_qp *qp = ex_to_uqp(ex);
	struct uroce_swqe *wqe = wqe_last(qp);
	size_t length = 0;

	if (unlikely(uroce_wqe_has_response(wqe)))
		qp->wr_error = qp->wr_error ? qp->wr_error : EINVAL;
	for (size_t i = 0; i < num_buf; i++) {
		if (unlikely(buf_list[i].length > qp->sq.max_inline - length)) {
			qp->wr_error = qp->wr_error ? qp->wr_error : ENOSPC;
			qp->wr_inline = length + buf_list[i].length;
			return;
		}
		uroce_bytes_copy(wqe->data + length, buf_list[i].addr, buf_list[i].length);
		length += buf_list[i].length;
	}
	wqe->length = length;
	wqe->is_inline = true;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf buf = { addr, length };

	wr_set_inline_data_list(ex, 1, &buf);
}

/* --- builders by QP type --- */

enum {
	UD_OPS = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM,
	UC_OPS = UD_OPS | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
		 IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV,
	RC_OPS = UC_OPS | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
		 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV |
		 IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_ATOMIC_WRITE,
};

static void builders_fill(struct ibv_qp_ex *ex, uint64_t ops)
{
	ex->wr_send = ops & IBV_QP_EX_WITH_SEND ? wr_send : NULL;
	ex->wr_send_imm = ops & IBV_QP_EX_WITH_SEND_WITH_IMM ? wr_send_imm : NULL;
	ex->wr_send_inv = ops & IBV_QP_EX_WITH_SEND_WITH_INV ? wr_send_inv : NULL;
	ex->wr_rdma_write = ops & IBV_QP_EX_WITH_RDMA_WRITE ? wr_rdma_write : NULL;
	ex->wr_rdma_write_imm = ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM ? wr_rdma_write_imm : NULL;
	ex->wr_rdma_read = ops & IBV_QP_EX_WITH_RDMA_READ ? wr_rdma_read : NULL;
	ex->wr_flush = ops & IBV_QP_EX_WITH_FLUSH ? wr_flush : NULL;
	ex->wr_atomic_write = ops & IBV_QP_EX_WITH_ATOMIC_WRITE ? wr_atomic_write : NULL;
	ex->wr_atomic_cmp_swp = ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP ? wr_atomic_cmp_swp : NULL;
	ex->wr_atomic_fetch_add =
		ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD ? wr_atomic_fetch_add : NULL;
	ex->wr_local_inv = ops & IBV_QP_EX_WITH_LOCAL_INV ? wr_local_inv : NULL;
	ex->wr_bind_mw = ops & IBV_QP_EX_WITH_BIND_MW ? wr_bind_mw : NULL;
}

static uint64_t ops_known(const struct uroce_qp *qp)
{
	switch (qp->type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		return RC_OPS;
	case IBV_QPT_UC:
		return UC_OPS;
	case IBV_QPT_UD:
		return UD_OPS;
	default:
		return 0;
	}
}

int uroce_wr_init(struct uroce_qp *qp, const struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;
	uint64_t known = ops_known(qp);
	uint64_t ops = attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ? attr->send_ops_flags : 0;

	if (!comp_mask_ok(ops, known)) {
		verbs_err(qp->vqp.qp.context,
			  "create_qp_ex: send_ops_flags 0x%llx: a QP of type %d has not 0x%llx",
			  (unsigned long long)ops, qp->type, (unsigned long long)(ops & ~known));
		return -EOPNOTSUPP;
	}
	if (qp->type == IBV_QPT_XRC_RECV)
		return 0;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	builders_fill(ex, ops);
	qp->vqp.comp_mask |= VERBS_QP_EX;
	return 0;
}
