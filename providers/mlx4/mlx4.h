/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ConnectX-3: work requests and completions travel through rings in the memory of this process,
 * which the adapter reads and writes. Doorbell records in memory and a page of registers, which all
 * objects of a context share, announce new requests. Formats are in infiniband/mlx4dv.h.
 *
 * Locks, in the order in which they are taken:
 *
 * - mlx4_context.qp_lock protects the tables of queue pairs and work queues, which share their
 *   numbers, and of XRC SRQs. It is held while an object is created or destroyed, so that a number
 *   is not used again before its completions are removed.
 *
 * - mlx_cq.lock protects the consumer index, and the state of queue pairs and SRQs that completions
 *   change.
 *
 * - mlx_srq.lock protects the list of free requests.
 *
 * - mlx4_sq.lock protects the send ring.
 *
 * - mlx_rq.lock protects the receive ring.
 *
 * - mlx4_context.bf_lock protects the choice of the next half of the register for requests.
 *
 * Data that the adapter wrote are not trusted. An index is masked or checked, and an object is
 * found through a table, before it is used. The adapter can write to the rings. Therefore values
 * that decide where this process writes are kept outside of them.
 */
#ifndef MLX4_H
#define MLX4_H

#include <infiniband/mlx4dv.h>
#include <rdma/mlx4-abi.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/idtable.h"
#include "providers/kit/page.h"
#include "providers/mlx/mlx.h"

enum {
	MLX4_XRC_RECEIVER = 1 << 23, /* bit of the number in a completion */
	MLX4_PORTS = 2,		     /* maximum of an adapter */
	/* number of halves of the register for requests, which are used in turn */
	MLX4_BF_REGISTERS = 2,
	MLX4_WQE_PREFETCH = 2048, /* bytes that the adapter may prefetch behind the last request */
};

/* Facts of a port that do not change. */
struct mlx4_port {
	uint32_t caps;
	uint8_t flags, link_layer;
	bool known; /* false: the port has not answered yet */
};

struct mlx4_context {
	struct verbs_context vctx;
	uint32_t page_size;
	uint32_t cqe_size;
	uint32_t cqe_count_max; /* exclusive */
	uint32_t max_qp_wr, max_sge, max_srq_wr, max_srq_sge;
	uint32_t max_inl_recv;
	bool atomics, ud_checksums, raw_checksums;
	uint8_t log_wq_range;	   /* for the next work queue: set by mlx4dv_set_context_attr() */
	pthread_mutex_t port_lock; /* protects `ports` */
	struct mlx4_port ports[MLX4_PORTS];

	char *uar;	  /* registers of doorbells */
	char *bf;	  /* page of the register for requests; NULL: none */
	uint32_t bf_size; /* bytes of a half; 0: no register for requests */
	uint32_t bf_offset;
	struct kit_page clock; /* counter of the adapter; empty if missing */
	uint32_t clock_offset; /* offset of the counter in its page */
	struct spinlock bf_lock;

	pthread_mutex_t qp_lock;
	struct idtable qps;
	struct idtable xrc_srqs;
	struct kit_allocator allocator; /* set by mlx4dv_set_context_attr() */
	struct dbrec_pool records;
};

struct mlx4_pd {
	struct verbs_pd vpd;
	uint32_t pdn;
};

struct mlx4_sq {
	struct spinlock lock;
	uint32_t ops;	/* bit n: IBV_WR_n is possible */
	uint32_t plain; /* bit n: IBV_WR_n can be a plain request; 0 if max_sge is below 1 */
	int max_sge;	/* -1 in states without sending */
	uint32_t flags; /* flags of every request: MLX4_WQE_CTRL_ */
	bool ethernet;	/* the port is Ethernet: requests of raw frames carry the MAC address */
	uint32_t checksum_flags; /* flags of IBV_SEND_IP_CSUM; 0: the port computes no checksums */
	uint32_t mask;
	uint32_t shift;
	uint32_t slot_ds; /* size of a slot in units of 16 bytes */
	uint32_t spare;	  /* slots behind the last request that the adapter may prefetch */
	uint32_t head;
	uint32_t max_post;
	uint32_t max_inline;
	char *ring;
	uint64_t *wr_ids;
	atomic_uint tail; /* requests completed; written by the polling thread */
	atomic_uint said; /* enum kit_fault bits already explained in the log */
};

struct mlx4_qp {
	struct verbs_qp vqp;
	struct mlx4_sq sq;
	struct mlx_rq rq;
	struct mlx_cq *send_cq, *recv_cq;
	struct mlx_srq *srq;
	uint8_t sl_shift; /* position of the service level in a completion, by the link layer */
	bool checksums;	  /* completions report checksums of receives */
	bool rss;	  /* receives through a table, so it has no rings */
	__be32 doorbell;  /* value for the send doorbell register */
	struct kit_buf buf;
};

/* @as_qp: only for XRC: completions carry the number of the SRQ and are handled as those of this
 * queue pair, which only receives */
struct mlx4_srq {
	struct mlx_srq srq;
	struct mlx4_qp as_qp;
};

/* A receive ring with a number of its own. The adapter requires a send queue, so @as_qp has one
 * with a single slot that stays empty. */
struct mlx4_wq {
	struct verbs_wq vwq;
	struct mlx4_qp as_qp;
	uint64_t no_id; /* wr_id of the slot of the send queue */
};

struct mlx4_ah {
	struct ibv_ah ah;
	struct mlx4_av av;
	uint16_t vlan;
	uint8_t mac[6];
};

_Static_assert(sizeof(struct mlx_data_seg) == sizeof(struct mlx4_wqe_data_seg) &&
		       sizeof(struct mlx_srq_next_seg) == sizeof(struct mlx4_wqe_srq_next_seg),
	       "segments of receives, as the public header has them");

static inline struct mlx4_context *to_mctx(struct ibv_context *ctx)
{
	return (struct mlx4_context *)to_vctx(ctx);
}

static inline struct mlx4_qp *to_mqp(struct ibv_qp *qp)
{
	return (struct mlx4_qp *)qp;
}

static inline struct mlx4_ah *to_mah(struct ibv_ah *ah)
{
	return (struct mlx4_ah *)ah;
}

/* context.c */
int mlx4_open_context(struct verbs_context *vctx, const struct verbs_open_context *in);
void mlx4_close_context(struct verbs_context *vctx);
int mlx4_query_device(struct ibv_context *ctx, const struct verbs_query_device *in,
		      struct ibv_device_attr_ex *ret_attr);
int mlx4_query_rt_values(struct ibv_context *ctx, struct ibv_values_ex *values);
int mlx4_alloc_pd(struct ibv_pd *pd, struct verbs_udata *udata);
/* Return the facts of a port, from the kernel if it has not answered yet. -EINVAL: no such port, or
 * another error of the kernel; both are logged. */
int mlx4_port_ask(struct mlx4_context *ctx, unsigned int number, struct mlx4_port *ret_port);

/* cq.c */
int mlx4_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int mlx4_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in);
int mlx4_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
void mlx4_cq_event(struct verbs_cq *vcq);
/* Compute the values for arming from the number and the event count of the completion queue. */
void mlx4_cq_arm_set(struct mlx_cq *cq);
/* Remove the completions of a queue pair from both its queues. @gone: also remove it from the
 * table, so that polling no longer finds it. */
void mlx4_cqs_clean(struct mlx4_qp *qp, bool gone);
/* Remove the completions of an XRC SRQ that is destroyed. */
void mlx4_cqs_clean_srq(struct mlx4_srq *srq);

/* poll.c, cq_ex.c */
int mlx4_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
extern const uint64_t mlx4_cq_ex_wc_flags;
void mlx4_cq_ex_set_slots(struct mlx_cq *cq, uint64_t wc_flags);

/* qp.c, qp_modify.c, qp_size.c */
int mlx4_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
int mlx4_open_qp(struct verbs_qp *vqp, const struct verbs_open_qp *in);
int mlx4_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in);
int mlx4_destroy_qp(struct verbs_qp *vqp);
int mlx4_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in);

/* Enter @qp into the table, so that completions with @number in its own queues find it. The caller
 * holds qp_lock. */
int mlx4_qp_number(struct mlx4_qp *qp, uint32_t number);

/* Sizes of the rings of a QP, and the granted capabilities of the send queue. */
struct mlx4_qp_size {
	uint32_t sq_count, sq_shift, sq_spare, sq_max_post, sq_max_sge, max_inline;
	uint32_t sq_ops;			    /* as in mlx4_sq.ops */
	uint32_t rq_count, rq_shift, rq_wr, rq_sge; /* rq_wr, rq_sge: requested from the kernel */
};
/* Compute the size of a receive ring. @verb: name for the log */
int mlx4_rq_size(const struct mlx4_context *ctx, const char *verb, uint32_t max_wr,
		 uint32_t max_sge, uint32_t inl_recv, struct mlx4_qp_size *size);
/* Compute the sizes of both rings. @inl_recv: bytes of inline data of a receive; 0: none */
int mlx4_qp_size(struct mlx4_context *ctx, const struct ibv_qp_init_attr_ex *attr,
		 uint32_t inl_recv, struct mlx4_qp_size *ret_size);

/* send.c, recv.c, mw.c */
int mlx4_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
/* Initialise the slots of a new send queue. */
void mlx4_sq_init(struct mlx4_sq *sq);
int mlx4_post_wq_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int mlx4_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int mlx4_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* srq.c */
int mlx4_create_srq(struct verbs_srq *vsrq, const struct verbs_create_srq *in);
int mlx4_destroy_srq(struct verbs_srq *vsrq);

/* wq.c */
int mlx4_create_wq(struct verbs_wq *vwq, const struct verbs_create_wq *in);
int mlx4_modify_wq(struct verbs_wq *vwq, const struct verbs_modify_wq *in);
int mlx4_destroy_wq(struct verbs_wq *vwq);
int mlx4_create_rss_qp(struct mlx4_qp *qp, const struct verbs_create_qp *in);

/* ah.c */
int mlx4_create_ah(struct ibv_ah *ibah, const struct verbs_create_ah *in);
int mlx4_destroy_ah(struct ibv_ah *ibah);

#endif
