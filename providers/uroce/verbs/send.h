/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Common functions of ibv_post_send() and the ibv_wr_* builders. */
#ifndef UROCE_SEND_H
#define UROCE_SEND_H

#include <string.h>

#include "providers/uroce/verbs/verbs.h"

/* Return whether the QP type has the operation. */
static inline bool uroce_opcode_allowed(uint8_t qp_type, unsigned int opcode)
{
	enum {
		CONNECTED = 1 << IBV_WR_RDMA_WRITE | 1 << IBV_WR_RDMA_WRITE_WITH_IMM |
			    1 << IBV_WR_SEND | 1 << IBV_WR_SEND_WITH_IMM | 1 << IBV_WR_BIND_MW |
			    1 << IBV_WR_LOCAL_INV,
		RC_ONLY = 1 << IBV_WR_RDMA_READ | 1 << IBV_WR_ATOMIC_CMP_AND_SWP |
			  1 << IBV_WR_ATOMIC_FETCH_AND_ADD | 1 << IBV_WR_SEND_WITH_INV |
			  1 << IBV_WR_FLUSH | 1 << IBV_WR_ATOMIC_WRITE,
		DATAGRAM = 1 << IBV_WR_SEND | 1 << IBV_WR_SEND_WITH_IMM,
	};
	uint32_t allowed = qp_type == IBV_QPT_RC	 ? CONNECTED | RC_ONLY
			   : qp_type == IBV_QPT_UC	 ? CONNECTED
			   : qp_type == IBV_QPT_XRC_SEND ? CONNECTED | RC_ONLY
			   : qp_type == IBV_QPT_XRC_RECV ? 0
							 : DATAGRAM;

	return opcode < 32 && (allowed >> opcode & 1);
}

/*
 * Return the WQE at @index with its common fields set. The caller fills in the other fields and
 * advances the head.
 */
static inline struct uroce_swqe *uroce_swqe_begin(struct uroce_sq *sq, uint32_t index,
						  uint64_t wr_id, uint8_t opcode, uint8_t flags)
{
	struct uroce_swqe *wqe = sq_wqe(sq, index);

	wqe->wr_id = wr_id;
	wqe->opcode = opcode;
	wqe->flags = flags;
	wqe->state = WQE_POSTED;
	wqe->status = IBV_WC_SUCCESS;
	wqe->num_sge = 0;
	wqe->is_inline = false;
	wqe->psn_assigned = false;
	wqe->placed = false;
	wqe->length = 0;
	wqe->vendor_err = 0;
	wqe->received = 0;
	wqe->asked = 0;
	wqe->requests = 0;
	return wqe;
}

/* Copy application data. @from may be NULL if @length is 0. */
static inline void uroce_bytes_copy(uint8_t *to, const void *from, size_t length)
{
	if (length)
		memcpy(to, from, length);
}

/*
 * Wait while another thread is between ibv_wr_start() and ibv_wr_complete(), because WQEs behind
 * the head belong to it. The caller holds qp->lock, which is released during the call.
 */
static inline void uroce_builder_wait(struct uroce_qp *qp)
{
	while (unlikely(qp->wr_building)) {
		uroce_unlock(&qp->lock);
		sched_yield();
		uroce_lock(&qp->lock);
	}
}

/* Set the fields of a bind. They are checked when the WQE is executed. */
static inline void uroce_swqe_bind(struct uroce_swqe *wqe, uint32_t rkey,
				   const struct ibv_mw_bind_info *info)
{
	wqe->bind.mr_key = info->mr ? info->mr->lkey : 0;
	wqe->bind.addr = info->addr;
	wqe->bind.length = info->length;
	wqe->bind.rkey = rkey;
	wqe->bind.access = info->mw_access_flags;
}

/*
 * Return the time for a QP whose path loses packets. On other paths return 0: the engine needs no
 * time or reads the clock itself.
 */
static inline uint64_t uroce_post_time(const struct uroce_qp *qp)
{
	return uroce_qp_reliable(qp) && qp->av.path && !qp->av.path->lossless ? uroce_now() : 0;
}

/*
 * Unlock the QP after a post. A thread that posts many requests on a network also receives packets
 * here from time to time. Otherwise the progress thread would receive them, and the two threads
 * would wait for each other.
 */
static inline void uroce_post_end(struct uroce_qp *qp)
{
	enum {
		PACKETS = 16, /* packets between two passes, which take tens of microseconds */
	};
	bool look = qp->av.path && !qp->av.path->lossless &&
		    qp->counters.tx_packets - qp->req.looked_at >= PACKETS;
	struct uroce_host *host = qp_host(qp);

	if (unlikely(look))
		qp->req.looked_at = qp->counters.tx_packets;
	uroce_unlock(&qp->lock);
	if (unlikely(look))
		uroce_progress_posted(host);
}

#endif
