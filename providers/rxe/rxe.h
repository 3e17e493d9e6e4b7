/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Soft RoCE: everything is a plain kernel command, except that work requests and completions travel
 * through rings shared with the kernel.
 *
 * Locks; each is the last one taken:
 *   rxe_cq.lock		the completion ring's consumer index and the extended poll's
 * position rxe_qp.sq_lock		the send ring's producer index; held from ibv_wr_start to
 * _complete rxe_recv_queue.lock	a receive ring's producer index (of a QP or an SRQ)
 */
#ifndef RXE_H
#define RXE_H

#include <rdma/ib_user_verbs.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/cq_ex.h"
#include "providers/kit/doorbell.h"
#include "providers/kit/refuse.h"
#include "providers/rxe/queue.h"
#include "util/spinlock.h"

struct rxe_cq {
	struct verbs_cq vcq;
	struct spinlock lock;
	/* slot of the current completion of the extended poll; valid between start and end */
	uint32_t poll_index;
	struct rxe_queue queue;
};

/* The receive ring of a QP or an SRQ. */
struct rxe_recv_queue {
	struct spinlock lock;
	uint32_t max_sge;
	struct rxe_queue queue;
	atomic_uint said; /* enum kit_fault bits already explained in the log */
};

struct rxe_srq {
	struct verbs_srq vsrq;
	struct rxe_recv_queue rq;
};

struct rxe_qp {
	struct verbs_qp vqp;
	struct spinlock sq_lock;
	uint32_t send_ops; /* bit n: IBV_WR_n is an operation of this QP type */
	uint32_t max_send_sge;
	uint32_t max_inline; /* bytes */
	struct rxe_queue sq;
	struct kit_doorbell doorbell;

	/* The batch between ibv_wr_start() and ibv_wr_complete(). */
	struct rxe_send_wqe *wr_wqe; /* the request being built; NULL: none, or the batch failed */
	uint32_t wr_producer;
	int wr_error; /* first error, positive errno */

	struct rxe_recv_queue rq;
	atomic_uint said; /* enum kit_fault bits already explained in the log */
};

struct rxe_ah {
	struct ibv_ah ah;
	uint32_t ah_num;  /* 0: an older kernel, which reads the address from the WQE */
	struct rxe_av av; /* address for such a kernel only */
};

static inline struct rxe_cq *to_rcq(struct ibv_cq *cq)
{
	return (struct rxe_cq *)cq;
}

static inline struct rxe_srq *to_rsrq(struct ibv_srq *srq)
{
	return (struct rxe_srq *)srq;
}

static inline struct rxe_qp *to_rqp(struct ibv_qp *qp)
{
	return (struct rxe_qp *)qp;
}

static inline struct rxe_ah *to_rah(struct ibv_ah *ah)
{
	return (struct rxe_ah *)ah;
}

/*
 * Flags of a completion in the application's numbering. Only one flag differs: the kernel's number
 * for "a key was invalidated" is IBV_WC_IP_CSUM_OK here.
 */
#define RXE_WC_WITH_INVALIDATE (1u << 2)

static inline unsigned int rxe_wc_flags(unsigned int flags)
{
	return flags & RXE_WC_WITH_INVALIDATE ? flags ^ (RXE_WC_WITH_INVALIDATE | IBV_WC_WITH_INV)
					      : flags;
}

/* cq.c */
int rxe_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int rxe_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in);
int rxe_destroy_cq(struct verbs_cq *vcq);
int rxe_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);

/* cq_ex.c: the ibv_start_poll() family of a CQ that was created with @wc_flags */
void rxe_cq_ex_set_slots(struct rxe_cq *cq, uint64_t wc_flags);
extern const uint64_t rxe_cq_ex_wc_flags;

/* srq.c */
int rxe_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in);
int rxe_modify_srq(struct verbs_srq *vsrq, const struct verbs_modify_srq *in);
int rxe_destroy_srq(struct verbs_srq *vsrq);

/* qp.c */
int rxe_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
int rxe_destroy_qp(struct verbs_qp *vqp);

/* ah.c */
int rxe_create_ah(struct ibv_ah *ah, const struct verbs_create_ah *in);

/* send.c */
int rxe_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
/* Ring the doorbell. An error of the kernel is logged. Return: 0, or a positive errno. */
int rxe_doorbell_ring(struct rxe_qp *qp);

/* wr.c: the ibv_wr_*() family. -EOPNOTSUPP: the QP type lacks one of @send_ops. */
int rxe_wr_check(struct ibv_context *ctx, enum ibv_qp_type type, uint64_t send_ops);
void rxe_wr_set_slots(struct rxe_qp *qp, uint64_t send_ops);

/* recv.c */
int rxe_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int rxe_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* mw.c */
int rxe_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/*
 * fault.c: return the positive errno of a refused request. Each cause is logged once per queue, so
 * that a program that retries in a loop does not fill the log. @value: the offending value.
 */
int rxe_send_fault(struct rxe_qp *qp, const char *verb, enum kit_fault fault, uint64_t value);
int rxe_recv_fault(struct rxe_qp *qp, enum kit_fault fault, uint64_t value);
int rxe_srq_recv_fault(struct rxe_srq *srq, enum kit_fault fault, uint64_t value);

#endif
