/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Soft iWARP: everything is a plain kernel command, except that work requests and completions
 * travel through rings shared with the kernel. A bit in the flags of a slot tells its owner, so the
 * two sides exchange no indices. Each side counts slots without wrapping. Sizes of rings are powers
 * of 2. Formats are in rdma/siw-abi.h. Fields have the byte order of the processor.
 *
 * Locks. No other lock is taken while one of them is held.
 *
 * - siw_cq.lock protects the position of the next completion.
 *
 * - siw_qp.sq_lock protects the position in the send ring. It is held during the doorbell command.
 *
 * - siw_recv_queue.lock protects the position in the receive ring of a QP or an SRQ.
 */
#ifndef SIW_H
#define SIW_H

#include <stdatomic.h>
#include <rdma/siw-abi.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/cq_ex.h"
#include "providers/kit/doorbell.h"
#include "providers/kit/page.h"
#include "providers/kit/refuse.h"
#include "util/spinlock.h"

_Static_assert(sizeof(struct siw_sqe) == 120 && sizeof(struct siw_rqe) == 112 &&
		       sizeof(struct siw_cqe) == 32 && sizeof(struct siw_cq_ctrl) == 8,
	       "as the kernel has them");

/* The word that arms the queue is behind its slots. */
struct siw_cq {
	struct verbs_cq vcq;
	struct spinlock lock;
	uint32_t next;
	uint32_t mask; /* slots - 1 */
	struct siw_cqe *slots;
	struct kit_page ring;
	struct ibv_wc
		current; /* current completion of the extended poll; valid between start and end */
};

/* The receive ring of a QP or an SRQ. */
struct siw_recv_queue {
	struct spinlock lock;
	uint32_t next;
	uint32_t mask;
	int max_sge;
	struct siw_rqe *slots; /* NULL: the QP uses an SRQ or does not receive */
	struct kit_page ring;
	atomic_uint said; /* enum kit_fault bits already explained in the log */
};

struct siw_srq {
	struct verbs_srq vsrq;
	struct siw_recv_queue rq;
};

struct siw_qp {
	struct verbs_qp vqp;
	struct spinlock sq_lock;
	uint32_t next;
	uint32_t mask;
	uint32_t max_sge;
	uint16_t always; /* SIW_WQE_ flags of each request */
	struct siw_sqe *slots;
	struct kit_page sq_ring;
	struct kit_doorbell doorbell;
	atomic_uint said; /* as in siw_recv_queue */
	struct siw_recv_queue rq;
};

static inline struct siw_cq *to_scq(struct ibv_cq *cq)
{
	return (struct siw_cq *)cq;
}

static inline struct siw_srq *to_ssrq(struct ibv_srq *srq)
{
	return (struct siw_srq *)srq;
}

static inline struct siw_qp *to_sqp(struct ibv_qp *qp)
{
	return (struct siw_qp *)qp;
}

/* Return whether the kernel owns the slot. acquire: pairs with the release of the slot by the
 * kernel. */
static inline bool siw_slot_taken(const __u16 *flags)
{
	return atomic_load_explicit((const _Atomic uint16_t *)flags, memory_order_acquire) &
	       SIW_WQE_VALID;
}

/* Give the slot to the kernel. release: the kernel sees the slot's content before the flag. */
static inline void siw_slot_give(__u16 *flags, uint16_t value)
{
	atomic_store_explicit((_Atomic uint16_t *)flags, value, memory_order_release);
}

/* acquire: pairs with the kernel's store of the flags, which comes after the rest */
static inline bool siw_cqe_valid(struct siw_cqe *cqe)
{
	return atomic_load_explicit((atomic_uchar *)&cqe->flags, memory_order_acquire) &
	       SIW_WQE_VALID;
}

/* release: the entry is read before the kernel may write to it again */
static inline void siw_cqe_release(struct siw_cqe *cqe)
{
	atomic_store_explicit((atomic_uchar *)&cqe->flags, 0, memory_order_release);
}

/* siw.c */
/* Map a ring of @count slots of @size bytes, with @tail bytes behind them. -EIO: the answer of the
 * kernel is invalid, which is logged. */
int siw_ring_map(struct ibv_context *ctx, const char *what, uint64_t key, uint32_t count,
		 size_t size, size_t tail, struct kit_page *ret_ring);

/* cq.c */
int siw_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int siw_destroy_cq(struct verbs_cq *vcq);
int siw_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
int siw_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
/* Fill in a completion. Fields that the kernel does not report are 0. */
void siw_wc_fill(struct ibv_wc *wc, const struct siw_cqe *cqe);

/* cq_ex.c: the ibv_start_poll() family of a CQ that was created with @wc_flags */
void siw_cq_ex_set_slots(struct siw_cq *cq, uint64_t wc_flags);
extern const uint64_t siw_cq_ex_wc_flags;

/* qp.c */
int siw_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
int siw_destroy_qp(struct verbs_qp *vqp);

/* srq.c */
int siw_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in);
int siw_destroy_srq(struct verbs_srq *vsrq);

/* send.c */
int siw_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);

/* recv.c */
int siw_recv_queue_map(struct siw_recv_queue *rq, struct ibv_context *ctx, const char *what,
		       uint64_t key, uint32_t count, uint32_t max_sge);
int siw_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int siw_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

#endif
