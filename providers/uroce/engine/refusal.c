/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why this side refused a request of its peer, in words. The peer gets only the kind of the error,
 * therefore the line of this side is the one that names the cause.
 */
#include <inttypes.h>
#include <stdio.h>

#include "providers/uroce/engine/resp.h"

static const char *access_name(uint32_t access)
{
	switch (access) {
	case IBV_ACCESS_REMOTE_READ:
		return "IBV_ACCESS_REMOTE_READ";
	case IBV_ACCESS_REMOTE_WRITE:
		return "IBV_ACCESS_REMOTE_WRITE";
	case IBV_ACCESS_REMOTE_ATOMIC:
		return "IBV_ACCESS_REMOTE_ATOMIC";
	default:
		return "IBV_ACCESS_FLUSH_GLOBAL or IBV_ACCESS_FLUSH_PERSISTENT";
	}
}

/* Describe why the memory of a request may not be used. */
static bool access_text(const struct uroce_qp *qp, const struct uroce_hdr *hdr, char *text,
			size_t size)
{
	uint32_t need = resp_access_needed(hdr);
	uint64_t length = hdr_flags(hdr) & PKT_ATOMIC_ETH ? sizeof(uint64_t) : hdr->dma_len;
	struct uroce_grant grant;

	if (!(hdr_flags(hdr) & (PKT_RETH | PKT_ATOMIC_ETH)))
		return false;
	if (!uroce_key_look(qp->engine->keys, hdr->rkey, &grant))
		snprintf(text, size, "the peer used rkey 0x%x, which no memory region has here",
			 hdr->rkey);
	else if (grant.pd != resp_pd(qp))
		snprintf(text, size,
			 "the peer used rkey 0x%x of a region in another protection domain",
			 hdr->rkey);
	else if ((grant.access & need) != need)
		snprintf(text, size, "the peer used rkey 0x%x, whose region lacks %s", hdr->rkey,
			 access_name(need));
	else if (hdr->va < grant.iova || hdr->va - grant.iova > grant.length ||
		 length > grant.length - (hdr->va - grant.iova))
		snprintf(text, size,
			 "the peer used %" PRIu64 " bytes at 0x%" PRIx64
			 ", and the region of rkey 0x%x is 0x%" PRIx64 " to 0x%" PRIx64,
			 length, hdr->va, hdr->rkey, grant.iova, grant.iova + grant.length);
	else
		return false;
	return true;
}

/*
 * Describe how the path MTUs differ. A packet that is not the last one of its message has as many
 * bytes as the path MTU of the peer.
 */
static bool mtu_text(const struct uroce_qp *qp, const struct uroce_packet *pkt, char *text,
		     size_t size)
{
	bool last = hdr_flags(&pkt->hdr) & PKT_END;
	uint32_t own = 128u << qp->av.path_mtu, peer = pkt->payload.length;

	if (pkt->any_length) {
		last = false;
		peer = pkt->path_mtu ? 128u << pkt->path_mtu : own;
	}
	if (last ? peer <= own : peer == own)
		return false;
	snprintf(text, size, "path_mtu of the peer is %s%u bytes, and that of this QP is %u",
		 last ? "at least " : "", peer, own);
	return true;
}

/* Describe why a request does not fit the attributes of the queue pair. */
static bool attribute_text(const struct uroce_qp *qp, const struct uroce_packet *pkt, char *text,
			   size_t size)
{
	pkt_flags_t flags = hdr_flags(&pkt->hdr);
	bool answered = flags & (PKT_READ | PKT_ATOMIC);
	uint32_t need = resp_access_needed(&pkt->hdr);

	if ((answered || flags & PKT_WRITE) && !(qp->access & need))
		snprintf(text, size,
			 "the peer asked for an operation this QP's qp_access_flags do not permit: "
			 "they lack %s",
			 access_name(need));
	else if (answered && !qp->resp.max_rd_atomic)
		snprintf(text, size,
			 "the peer asked for an RDMA read or an atomic, and max_dest_rd_atomic of "
			 "this QP is 0");
	else
		return flags & PKT_PAYLOAD && mtu_text(qp, pkt, text, size);
	return true;
}

bool uroce_refusal_text(const struct uroce_qp *qp, const struct uroce_first_error *e, char *text,
			size_t size)
{
	if (!e->refused)
		return false;
	if (e->status == IBV_WC_REM_ACCESS_ERR)
		return access_text(qp, &e->refused->hdr, text, size);
	return e->status == IBV_WC_REM_INV_REQ_ERR && attribute_text(qp, e->refused, text, size);
}
