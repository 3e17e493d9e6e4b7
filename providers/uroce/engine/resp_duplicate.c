/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The responder: repeated requests. */
#include "providers/uroce/engine/resp.h"

enum {
	AGAIN_REROUTE = 3,
};

/*
 * Count repetitions of a request without a new request between them: the answers seem to be lost.
 */
static void duplicate_count(struct uroce_qp *qp, uint32_t psn)
{
	struct uroce_responder *resp = &qp->resp;

	if (resp->again_before != resp->psn) {
		resp->again_before = resp->psn;
		resp->again_psn = psn;
		resp->again = 0;
	}
	if (psn == resp->again_psn && ++resp->again == AGAIN_REROUTE && qp->av.path->ops->reroute)
		qp->av.path->ops->reroute(qp->av.path, &qp->av, qp->dest_qpn);
}

/* Return whether the bytes [va, va + dma_len) and the PSNs of their packets are within the first
 * request. */
static bool read_inside(const struct uroce_qp *qp, const struct uroce_resource *res,
			const struct uroce_hdr *hdr)
{
	uint64_t offset = hdr->va - res->va;

	return hdr->rkey == res->rkey && hdr->va >= res->va && offset <= res->length &&
	       hdr->dma_len <= res->length - offset &&
	       psn_diff(psn_add(hdr->psn, resp_read_packets(qp, hdr->dma_len) - 1),
			res->last_psn) <= 0;
}

/*
 * Handle a repeated request. A read may ask for a part of the first one, which is then answered;
 * see IBTA vol. 1, chapter 9, duplicate requests. Return: false if it does not match the first one.
 */
static bool resource_again(const struct uroce_qp *qp, struct uroce_resource *res,
			   const struct uroce_hdr *hdr)
{
	if (hdr->opcode != res->opcode)
		return false;
	if (hdr_flags(hdr) & PKT_READ) {
		if (!read_inside(qp, res, hdr))
			return false;
		resp_resource_ask(res, hdr->psn, hdr->va, hdr->dma_len);
	}
	return true;
}

void resp_duplicate(struct uroce_qp *qp, const struct uroce_packet *pkt)
{
	struct uroce_responder *resp = &qp->resp;

	duplicate_count(qp, pkt->hdr.psn);
	if (hdr_flags(&pkt->hdr) & (PKT_SEND | PKT_WRITE)) {
		resp->ack_hurry = true;
		resp_ack_owe(qp, AETH_ACK | AETH_ACK_NO_CREDIT);
		return;
	}
	for (uint32_t i = 0; i < resp->res_count; i++) {
		struct uroce_resource *res = &resp->res[(resp->res_head + i) % resp->res_size];

		if (psn_diff(pkt->hdr.psn, res->first_psn) < 0 ||
		    psn_diff(pkt->hdr.psn, res->last_psn) > 0)
			continue;
		if (!resource_again(qp, res, &pkt->hdr))
			return;
		if (!res->active)
			resp->res_pending++;
		res->active = true;
		uroce_ack_later(qp);
		return;
	}
}
