/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Devices of the kernel's rdmavt: Omni-Path and TrueScale. Start reading in rdmavt.c.
 *
 * The kernel fills completion rings and takes requests from receive rings, both in memory that it
 * shares with the process. Sends are kernel commands. There are no registers. Fields have the byte
 * order of the processor.
 *
 * A ring has two indices. The process writes one index, and the kernel writes the other. Indices
 * are slot numbers from 0 to the last slot, which need not be a power of 2 minus 1. One slot stays
 * unused, so that full and empty differ.
 *
 * A stray write can damage the shared memory. Therefore the number of slots is in private memory,
 * and each index is limited to it before use.
 *
 * Locks. No other lock is taken while one of them is held.
 *
 * - rvt_cq.lock protects the tail of the completion ring, and the ring while it is replaced.
 *
 * - rvt_recv_queue.lock protects the head of the receive ring of a QP or an SRQ, and the ring while
 *   it is replaced.
 */
#ifndef RDMAVT_H
#define RDMAVT_H

#include <limits.h>
#include <stdatomic.h>
#include <rdma/rvt-abi.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/page.h"
#include "providers/kit/refuse.h"
#include "util/spinlock.h"

_Static_assert(sizeof(struct rvt_cq_wc) == 8 && sizeof(struct ib_uverbs_wc) == 48 &&
		       sizeof(struct rvt_rwq) == 8 && sizeof(struct rvt_rwqe) == 16 &&
		       sizeof(struct rvt_wqe_sge) == 16,
	       "as the kernel has them");

enum {
	RVT_MAX_SGE = UINT8_MAX, /* entries of a request, whose number the kernel keeps in a byte */
};

/* The driver's part of the kernel's answer to a command that creates a ring. */
struct rvt_ring_resp {
	uint64_t offset; /* for mmap() */
};

struct rvt_cq {
	struct verbs_cq vcq;
	struct spinlock lock;
	uint32_t last; /* the last slot */
	struct rvt_cq_wc *wc;
	struct kit_page ring; /* not mapped if the ring could not be replaced */
};

/* The receive ring of a QP or an SRQ. */
struct rvt_recv_queue {
	struct spinlock lock;
	uint32_t last;	  /* the last slot */
	uint32_t max_sge; /* SGEs of a request, at most */
	uint32_t stride;  /* bytes of a slot */
	struct rvt_rwq *wq;
	struct kit_page ring; /* not mapped if the QP has an SRQ, or if replacing it failed */
	atomic_uint said;     /* enum kit_fault bits already explained in the log */
};

struct rvt_srq {
	struct verbs_srq vsrq;
	struct rvt_recv_queue rq;
};

struct rvt_qp {
	struct verbs_qp vqp;
	uint32_t send_ops; /* bit n: the kernel takes IBV_WR_n for this QP type */
	uint32_t max_send_sge;
	uint32_t max_send_wr;
	atomic_uint said; /* as in rvt_recv_queue */
	struct rvt_recv_queue rq;
};

static inline struct rvt_cq *to_rcq(struct ibv_cq *cq)
{
	return (struct rvt_cq *)cq;
}

static inline struct rvt_srq *to_rsrq(struct ibv_srq *srq)
{
	return (struct rvt_srq *)srq;
}

static inline struct rvt_qp *to_rqp(struct ibv_qp *qp)
{
	return (struct rvt_qp *)qp;
}

static inline uint32_t rvt_index_load(const __u32 *index, memory_order order)
{
	return atomic_load_explicit((const _Atomic(__u32) *)index, order);
}

static inline void rvt_index_store(__u32 *index, uint32_t value, memory_order order)
{
	atomic_store_explicit((_Atomic(__u32) *)index, value, order);
}

/* rdmavt.c */
extern const struct verbs_ops rvt_ops;
/* Map a ring of @last + 1 slots of @stride bytes. -EIO: the answer of the kernel is invalid, which
 * is logged. */
int rvt_ring_map(struct ibv_context *ctx, const char *what, const struct rvt_ring_resp *resp,
		 uint32_t last, uint32_t stride, struct kit_page *ret_ring);

/* The part of a struct verbs_provider that both providers have. The library and the kernel agree on
 * rings for each object, so the ABI of the device does not matter. */
#define RVT_PROVIDER \
	.size = sizeof(struct verbs_provider), .min_abi = 0,   \
	.max_abi = INT_MAX, .sizes = {                         \
		.cq = sizeof(struct rvt_cq),                   \
		.srq = sizeof(struct rvt_srq),                 \
		.qp = sizeof(struct rvt_qp),                   \
	}, .ops = &rvt_ops

/* cq.c */
int rvt_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int rvt_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in);
int rvt_destroy_cq(struct verbs_cq *vcq);
int rvt_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);

/* qp.c */
int rvt_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
int rvt_destroy_qp(struct verbs_qp *vqp);

/* srq.c */
int rvt_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in);
int rvt_modify_srq(struct verbs_srq *vsrq, const struct verbs_modify_srq *in);
int rvt_destroy_srq(struct verbs_srq *vsrq);

/* send.c */
int rvt_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);

/* recv.c */
/* Map the ring for @max_wr requests. */
int rvt_recv_queue_map(struct rvt_recv_queue *rq, struct ibv_context *ctx, const char *what,
		       const struct rvt_ring_resp *resp, uint32_t max_wr, uint32_t max_sge);
/* Unmap the ring. From then on the queue counts as full. */
void rvt_recv_queue_unmap(struct rvt_recv_queue *rq);
int rvt_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int rvt_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

#endif
