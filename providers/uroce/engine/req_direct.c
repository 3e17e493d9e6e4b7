/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The requester: operations that the path performs without the responder. */
#include "providers/uroce/engine/engine.h"

enum {
	PLACED_MIN = 4096, /* bytes: smaller payloads travel with the packet */
	PLACED_MAX = 64,   /* requests in flight that are checked before placing a payload */
};

/* Describe a WQE that can be done without the responder. Return: false for all others. */
static bool direct_fill(const struct uroce_qp *qp, const struct uroce_swqe *wqe,
			struct uroce_rdma *ret)
{
	*ret = (struct uroce_rdma){ .qp = qp,
				    .own_qpn = qp->vqp.qp.qp_num,
				    .dest_qpn = qp->dest_qpn,
				    .sq_psn = qp->sq_psn,
				    .path_mtu = qp->av.path_mtu,
				    .length = wqe->length,
				    .remote_addr = wqe->rdma.remote_addr,
				    .rkey = wqe->rdma.rkey };
	switch (wqe->opcode) {
	case IBV_WR_RDMA_WRITE:
		ret->kind = UROCE_RDMA_WRITE;
		return true;
	case IBV_WR_RDMA_READ:
		ret->kind = UROCE_RDMA_READ;
		return qp->req.max_rd_atomic; /* with a limit of 0, packets report the error */
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		break;
	default:
		return false;
	}
	ret->kind = wqe->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? UROCE_RDMA_CMP_SWAP
							     : UROCE_RDMA_FETCH_ADD;
	ret->remote_addr = wqe->atomic.remote_addr;
	ret->rkey = wqe->atomic.rkey;
	ret->compare = wqe->atomic.compare_add;
	ret->swap_add =
		ret->kind == UROCE_RDMA_CMP_SWAP ? wqe->atomic.swap : wqe->atomic.compare_add;
	return qp->req.max_rd_atomic;
}

/*
 * Find the local memory and call the path. @bytes: the payload, if it is not in the memory of the
 * WQE; or NULL. Return: as from uroce_path_ops.rdma; -EACCES: no right to that memory.
 */
static int direct_run(struct uroce_qp *qp, struct uroce_swqe *wqe, struct uroce_rdma *rdma,
		      const void *bytes)
{
	struct iovec one = { bytes ? (void *)bytes : wqe->data, wqe->length };
	bool is_one = bytes || wqe->is_inline;
	struct uroce_gather gather;
	int r;

	gather.count = 0;
	if (!is_one) {
		r = uroce_gather_get(
			qp->engine->keys, qp->vqp.qp.pd, wqe->sge, wqe->num_sge, 0, wqe->length,
			rdma->kind == UROCE_RDMA_WRITE ? 0 : IBV_ACCESS_LOCAL_WRITE, &gather);
		if (r < 0)
			return -EACCES;
	}
	rdma->iov = is_one ? &one : gather.iov;
	rdma->iovcnt = is_one ? 1 : gather.count;
	r = qp->av.path->ops->rdma(qp->av.path, &qp->av, rdma);
	uroce_gather_put(&gather);
	return r;
}

/* Perform a WQE without the responder. To keep the order, do so only if no WQE is in flight. */
int uroce_req_direct(struct uroce_qp *qp, struct uroce_swqe *wqe)
{
	struct uroce_rdma rdma;
	int r;

	/* On XRC the SRQ of the target determines the PD of keys, and the board does not show
	 * SRQs. */
	if (qp->type == IBV_QPT_XRC_SEND || qp->sq.next != qp->sq.tail || wqe->psn_assigned ||
	    !direct_fill(qp, wqe, &rdma))
		return -EOPNOTSUPP;
	r = direct_run(qp, wqe, &rdma, NULL);
	if (r == -EOPNOTSUPP)
		return r;
	wqe_fail(wqe, r < 0 ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS);
	return 1;
}

/* Return whether the requests in flight will not access memory of the target any more. */
static bool nothing_to_overtake(const struct uroce_qp *qp)
{
	const struct uroce_sq *sq = &qp->sq;

	if (sq->next - sq->tail > PLACED_MAX)
		return false;
	for (uint32_t i = sq->tail; i != sq->next; i++) {
		const struct uroce_swqe *wqe = sq_wqe(sq, i);
		bool write = wqe->opcode == IBV_WR_RDMA_WRITE ||
			     wqe->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

		if (wqe->state != WQE_DONE && !(write && (wqe->placed || !wqe->length)))
			return false;
	}
	return true;
}

/*
 * Return whether to place the payload of a write. Place a small one behind a placed one, because
 * otherwise no later write could be placed until its packet is executed. If no WQE is in flight,
 * place only one small write after a large one, because a second small one means that there is no
 * stream.
 */
static bool is_worth_placing(const struct uroce_qp *qp, const struct uroce_swqe *wqe)
{
	const struct uroce_sq *sq = &qp->sq;

	if (wqe->length >= PLACED_MIN || !wqe->length)
		return wqe->length;
	return sq->next != sq->tail ? sq_wqe(sq, sq->next - 1)->placed : qp->req.placed_large;
}

/* Place the payload of a WQE without PSN. A WQE that is sent again may have been executed before,
 * and then its target may have changed the bytes. */
static void place(struct uroce_qp *qp, struct uroce_swqe *wqe, const void *bytes)
{
	struct uroce_rdma rdma = { .qp = qp,
				   .own_qpn = qp->vqp.qp.qp_num,
				   .dest_qpn = qp->dest_qpn,
				   .sq_psn = qp->sq_psn,
				   .path_mtu = qp->av.path_mtu,
				   .kind = UROCE_RDMA_WRITE,
				   .length = wqe->length,
				   .remote_addr = wqe->rdma.remote_addr,
				   .rkey = wqe->rdma.rkey };
	struct uroce_path *path = qp->av.path;
	bool worth;

	if (wqe->opcode != IBV_WR_RDMA_WRITE_WITH_IMM || wqe->placed)
		return;
	worth = is_worth_placing(qp, wqe);
	qp->req.placed_large = false;
	/* If packets are captured, payloads must be in packets. */
	if (!worth || !path->ops->rdma || path->host->capture || qp->type != IBV_QPT_RC ||
	    !nothing_to_overtake(qp))
		return;
	wqe->placed = !direct_run(qp, wqe, &rdma, bytes);
	qp->req.placed_large = wqe->placed && wqe->length >= PLACED_MIN;
}

void uroce_req_place(struct uroce_qp *qp, struct uroce_swqe *wqe)
{
	place(qp, wqe, NULL);
}

bool uroce_req_place_from(struct uroce_qp *qp, struct uroce_swqe *wqe, const void *bytes)
{
	/* Do so only if the WQE is the next one and the next run sends it. */
	if (sq_wqe(&qp->sq, qp->sq.next) != wqe || wqe->flags & IBV_SEND_FENCE ||
	    qp->state != IBV_QPS_RTS || qp->peer_lost || !qp->av.path || !uroce_req_may_send(qp))
		return false;
	place(qp, wqe, bytes);
	return wqe->placed;
}
