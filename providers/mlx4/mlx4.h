/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ConnectX-3: work requests and completions travel through rings in this process's memory, which
 * the adapter reads and writes; doorbell records in memory and a page of registers, which all
 * objects of a context share, tell of news. Formats are in infiniband/mlx4dv.h.
 *
 * Locks, in the order in which they are taken:
 *   mlx4_context.qp_lock	queue pairs and work queues, which share their numbers, come and
 * go: a number is not given again before its completions are gone; so do XRC's SRQs
 *   mlx_cq.lock	its consumer index; what completions change of queue pairs and SRQs
 *   mlx_srq.lock	its list of free requests
 *   mlx4_sq.lock	the send ring
 *   mlx_rq.lock	the receive ring
 *   mlx4_context.bf_lock	which half of the register for requests comes next
 *
 * What the adapter wrote is not trusted: an index is masked or checked, an object looked up, before
 * anything is done with it. Rings are in memory that the adapter can write; so what decides where
 * this process writes is kept beside them.
 */
#ifndef MLX4_H
#define MLX4_H

#include <infiniband/mlx4dv.h>
#include <rdma/mlx4-abi.h>

#include "libibverbs/provider.h"
#include "libibverbs/uverbs/uverbs.h"
#include "providers/kit/idtable.h"
#include "providers/mlx/mlx.h"

enum {
	MLX4_XRC_RECEIVER = 1 << 23, /* of the number that a completion carries */
	MLX4_PORTS = 2,		     /* an adapter has at most */
	MLX4_BF_REGISTERS = 2,	     /* requests go into them in turn */
	MLX4_WQE_PREFETCH = 2048,    /* bytes that the adapter may read ahead of the last request */
};

struct mlx4_context {
	struct verbs_context vctx;
	uint32_t page_size;
	uint32_t cqe_size;
	uint32_t max_qp_wr, max_sge, max_srq_wr, max_srq_sge;
	uint32_t max_inl_recv;
	bool atomics, ud_checksums, raw_checksums;
	uint8_t log_wq_range; /* of mlx4dv_set_context_attr(), for the next work queue */
	uint8_t link_layer[MLX4_PORTS];
	uint8_t port_flags[MLX4_PORTS];
	uint32_t port_caps[MLX4_PORTS];

	char *uar;	  /* registers of doorbells */
	char *bf;	  /* the page of the register for requests; NULL: none */
	uint32_t bf_size; /* bytes of a half; 0: there is none */
	uint32_t bf_offset;
	struct spinlock bf_lock;

	pthread_mutex_t qp_lock;
	struct idtable qps;
	struct idtable xrc_srqs;
	struct kit_allocator allocator; /* of mlx4dv_set_context_attr() */
	struct dbrec_pool records;
};

struct mlx4_pd {
	struct verbs_pd vpd;
	uint32_t pdn;
};

struct mlx4_sq {
	struct spinlock lock;
	uint32_t ops;	/* bit n: a request of IBV_WR_n is possible */
	uint32_t plain; /* bit n: one of IBV_WR_n can be a plain one; 0 when max_sge is below 1 */
	int max_sge;	/* -1 in states in which nothing is taken */
	uint32_t flags; /* of every request: MLX4_WQE_CTRL_ */
	bool ethernet;	/* the port is, so that a frame's request has its address */
	uint32_t checksum_flags; /* those of IBV_SEND_IP_CSUM; 0: the port computes none */
	uint32_t mask;
	uint32_t shift;
	uint32_t slot_ds; /* units of 16 bytes that a slot has */
	uint32_t spare;	  /* slots ahead of the last request that the adapter may read */
	uint32_t head;
	uint32_t max_post;
	uint32_t max_inline;
	char *ring;
	uint64_t *wr_ids;
	atomic_uint tail; /* requests completed; written by who polls */
	atomic_uint said; /* enum kit_fault bits already explained in the log */
};

struct mlx4_qp {
	struct verbs_qp vqp;
	struct mlx4_sq sq;
	struct mlx_rq rq;
	struct mlx_cq *send_cq, *recv_cq;
	struct mlx_srq *srq;
	uint8_t sl_shift; /* where a completion has the service level, as its port's link has it */
	bool checksums;	  /* of what it receives are reported */
	bool rss;	  /* it receives through a table, and has no rings */
	__be32 doorbell;  /* what tells of its sends */
	struct kit_buf buf;
};

/* @as_qp: an XRC one's completions carry its own number, and are as of a queue pair that only
 * receives from it */
struct mlx4_srq {
	struct mlx_srq srq;
	struct mlx4_qp as_qp;
};

/* A ring of receives with a number of its own; nothing is posted to the send queue of @as_qp, whose
 * one slot the adapter wants to see. */
struct mlx4_wq {
	struct verbs_wq vwq;
	struct mlx4_qp as_qp;
	uint64_t no_id; /* of the send queue's one slot */
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
int mlx4_alloc_pd(struct ibv_pd *pd, struct verbs_udata *udata);

/* cq.c */
int mlx4_create_cq(struct verbs_cq *vcq, const struct verbs_create_cq *in);
int mlx4_resize_cq(struct verbs_cq *vcq, const struct verbs_resize_cq *in);
int mlx4_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
void mlx4_cq_event(struct verbs_cq *vcq);
/* What arming writes follows from its number and its events. */
void mlx4_cq_arm_set(struct mlx_cq *cq);
/* What completed of a queue pair is taken out of both its queues. @gone: from here on nobody who
 * polls finds it. */
void mlx4_cqs_clean(struct mlx4_qp *qp, bool gone);
/* What completed of an XRC SRQ that goes. */
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

/* From now on completions with that number are @qp's, in its own queues: with qp_lock held. */
int mlx4_qp_number(struct mlx4_qp *qp, uint32_t number);

/* What a QP's rings are, and what is granted of the send queue. */
struct mlx4_qp_size {
	uint32_t sq_count, sq_shift, sq_spare, sq_max_post, sq_max_sge, max_inline;
	uint32_t sq_ops;			    /* as mlx4_sq.ops */
	uint32_t rq_count, rq_shift, rq_wr, rq_sge; /* and what the kernel is asked for */
};
/* Of one ring of receives for that; @verb: in the log. */
int mlx4_rq_size(const struct mlx4_context *ctx, const char *verb, uint32_t max_wr,
		 uint32_t max_sge, uint32_t inl_recv, struct mlx4_qp_size *size);
/* @inl_recv: bytes of a receive that are for data; 0: none. */
int mlx4_qp_size(struct mlx4_context *ctx, const struct ibv_qp_init_attr_ex *attr,
		 uint32_t inl_recv, struct mlx4_qp_size *ret_size);

/* send.c, recv.c, mw.c */
int mlx4_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
/* Slots as a new send queue has them. */
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
