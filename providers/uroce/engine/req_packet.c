/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sending a packet of the requester: its payload, the acknowledgement in it, and failures. */
#include "providers/uroce/engine/req.h"

/* Attach an owed acknowledgement of the responder, if the path has room for it. */
static void ack_attach(struct uroce_qp *qp, struct uroce_tx *tx)
{
	struct uroce_responder *resp = &qp->resp;

	if (!resp->ack_due || resp->res_pending || !qp->av.path->piggyback ||
	    (resp->ack_syndrome & AETH_KIND_MASK) != AETH_ACK)
		return;
	tx->has_ack = true;
	tx->ack_syndrome = resp->ack_syndrome;
	tx->ack_psn = psn_add(resp->psn, PSN_MASK);
	tx->ack_msn = resp->msn;
}

/* Name the memory of a payload that leaves by reference. Only some paths use references, for
 * payloads larger than any packet. */
static void reference_fill(struct uroce_tx *tx, const struct uroce_qp *qp,
			   const struct uroce_gather *gather, uint32_t lkeys[UROCE_MAX_SGE])
{
	for (int i = 0; i < gather->count; i++)
		lkeys[i] = gather->keys[i]->key;
	tx->lkeys = lkeys;
	tx->own_qpn = qp->vqp.qp.qp_num;
}

int req_packet_send(struct uroce_qp *qp, struct uroce_swqe *wqe, const struct uroce_av *av,
		    const struct uroce_hdr *hdr, uint32_t offset, uint32_t length)
{
	struct uroce_gather gather;
	struct iovec inline_iov = { wqe->data + offset, length };
	struct uroce_tx tx = { .hdr = hdr, .length = length, .qp = qp, .placed = wqe->placed };
	uint32_t lkeys[UROCE_MAX_SGE];
	int r;

	gather.count = 0; /* the rest is large and is filled only as far as needed */
	if (tx.placed) {
		tx.iovcnt = 0;
	} else if (length && wqe->is_inline) {
		tx.iov = &inline_iov;
		tx.iovcnt = 1;
	} else if (length) {
		r = uroce_gather_get(qp->engine->keys, qp->vqp.qp.pd, wqe->sge, wqe->num_sge,
				     offset, length, 0, &gather);
		if (r < 0)
			return r;
		tx.iov = gather.iov;
		tx.iovcnt = gather.count;
		if (length > PATH_PACKET_MAX)
			reference_fill(&tx, qp, &gather, lkeys);
	}
	ack_attach(qp, &tx);
	r = av->path->ops->send(av->path, av, &tx);
	uroce_gather_put(&gather);
	if (r < 0)
		return r;
	if (tx.has_ack)
		uroce_resp_acked(&qp->resp);
	qp->counters.tx_packets++;
	qp->counters.tx_bytes += length;
	return 0;
}

int req_send_failed(struct uroce_qp *qp, struct uroce_swqe *wqe, int r)
{
	if (r == -EAGAIN) {
		qp->req.path_full = true;
		uroce_blocked(qp);
		return r;
	}
	if (r == -EACCES || r == -ERANGE || r == -EFAULT) {
		wqe_fail(wqe, IBV_WC_LOC_PROT_ERR);
		return r;
	}
	/* Treat the packet as lost. Reliable QPs send it again when their timer expires. */
	return 0;
}
