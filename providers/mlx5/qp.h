/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs: their rings, sizes, creation and transitions. */
#ifndef MLX5_QP_H
#define MLX5_QP_H

#include "providers/mlx5/mlx5.h"

enum {
	/* request for the enhanced connection options of a new queue pair */
	MLX5_ECE_ASK = 0x10000000,
};

/* The state of a request that configures a key. */
struct mlx5_umr {
	struct mlx5dv_mkey *mkey; /* NULL: none */
	struct mlx5_wqe_umr_ctrl_seg *ctrl;
	struct mlx5_wqe_mkey_context_seg *key;
	unsigned int missing; /* number of setters still to be called */
	unsigned int list_bytes;
	bool has_access, has_layout, has_cipher, has_sig;
	bool resets_sig; /* discards earlier signatures */
};

/* A send request, at its first basic block. */
struct mlx5_sq_slot {
	uint64_t wr_id;
	uint32_t head;	 /* number of requests posted before it */
	uint32_t opcode; /* IBV_WC_: used if the completion's own opcode is ambiguous */
};

/*
 * A raw packet. @sges: its data; @csum: the device computes the checksums; @header: header that is
 * put in front of each segment of @mss bytes, or NULL
 */
struct mlx5_raw {
	const struct ibv_sge *sges;
	size_t num_sge;
	const void *header;
	uint16_t header_size, mss;
	bool csum, inlined;
};

struct mlx5_sq {
	struct spinlock lock;
	uint8_t fence;	   /* fence of the next request; MLX5_WQE_CTRL_ */
	uint8_t signal;	   /* of every request */
	uint32_t ops;	   /* bit n: IBV_WR_n is possible, and its request fits */
	bool raw;	   /* the program posts requests that it builds itself */
	uint32_t plain;	   /* bit n: IBV_WR_n can be a plain request; 0 if max_sge is below 1 */
	int max_sge;	   /* -1 in states without sending */
	uint32_t mask;	   /* number of basic blocks, minus 1 */
	uint32_t cur_post; /* basic blocks posted */
	uint32_t head;	   /* requests posted */
	uint32_t max_post;
	uint32_t max_inline;
	uint32_t max_tso_header;
	uint32_t address_size; /* bytes of the address behind the control segment */
	char *ring, *end;
	struct mlx5_sq_slot *slots;
	__be32 *record;
	struct mlx5_bfreg *bfreg;
	/* The batch between ibv_wr_start() and ibv_wr_complete(). */
	struct mlx5_batch {
		uint32_t cur_post, nreq;
		uint8_t fence;
		int error; /* first error, positive */
		/* control segment of the request being built; NULL: none */
		struct mlx5_wqe_ctrl_seg *ctrl;
		const struct mlx5_wqe_ctrl_seg *last; /* last complete request */
		unsigned int last_ds;
		char *seg; /* position of its data */
		unsigned int ds;
		unsigned int missing; /* number of setters still to be called */
		struct mlx5_raw raw;  /* header and flags, known before the data */
	} batch;
	atomic_uint tail; /* requests completed; written by the polling thread */
	atomic_uint said; /* enum kit_fault bits already explained in the log */
};

/* Reasons why completions of a queue pair need extra work. */
enum mlx5_extras {
	MLX5_EXTRA_CSUM = 1 << 0, /* its receives report correct checksums */
	MLX5_EXTRA_TAGS = 1 << 1, /* its SRQ matches tags */
	MLX5_EXTRA_SRQ = 1 << 2,  /* the mlx5_user of an SRQ: entries have the QPN */
};

struct mlx5_qp {
	struct verbs_qp vqp;
	struct mlx5_sq sq;
	struct mlx_rq rq;
	struct mlx_cq *send_cq, *recv_cq;
	struct mlx_srq *srq;
	uint32_t uidx;
	uint32_t ece;	   /* options that the kernel has granted */
	uint32_t ece_next; /* options to request with the next transition */
	bool ece_pending;
	bool bfreg_lent;    /* bfreg belongs to the thread domain */
	bool rss;	    /* it receives through a table, therefore it has no rings */
	uint32_t sqn, tisn; /* numbers of a raw packet queue pair */
	/* numbers of a raw packet queue pair, or of a queue pair that receives through a table */
	uint32_t rqn, tirn;
	uint64_t tir_icm_addr;
	bool underlay; /* IBV_QP_CREATE_SOURCE_QPN: sends IPoIB packets as another queue pair */
	bool split;    /* raw packets, or underlay: its rings are two objects of the adapter */
	bool computes_csum;	/* the adapter computes the checksums of its packets */
	uint8_t extras;		/* bits of enum mlx5_extras; most queue pairs have none */
	struct mlx5_pd *copies; /* domain with the memory that memcpy requests need; or NULL */
	bool stops_at_sig_errors;
	bool ooo;	       /* MLX5DV_QP_CREATE_OOO_DP: data may arrive out of order */
	bool dct;	       /* a DC target: it has no rings, and a number from RTR on */
	struct kit_buf sq_buf; /* used if split */
	__be32 *record;
	__be32 withheld[2]; /* doorbell record in use until the adapter may take receives */
	struct kit_buf buf;
	struct mlx5dv_qp_ex dv;
	struct mlx5_umr umr;
	uint32_t wqe_bytes; /* largest size of a send request */
};

/*
 * The stand-in for a queue pair in completions of a work queue, or of an SRQ that is not basic.
 * Such completions do not name a queue pair. The one send slot keeps a faulty send completion from
 * reaching invalid memory.
 */
struct mlx5_user {
	struct mlx5_qp qp;
	struct mlx5_sq_slot slot;
};

static inline struct mlx5_qp *to_mqp(struct ibv_qp *qp)
{
	return (struct mlx5_qp *)qp;
}

/* qp.c, qp_modify.c, qp_size.c */
/* Ring address of a queue without entries, because NULL + 0 is undefined. */
extern char mlx5_no_queue[];
int mlx5_create_qp(struct verbs_qp *vqp, const struct verbs_create_qp *in);
/* Store the numbers of the firmware in the answer of the kernel. */
void mlx5_qp_numbers(struct mlx5_qp *qp, const struct mlx5_ib_create_qp_resp *resp);
/*
 * Return the flags for the kernel, including those of mlx5dv_create_qp(), which has checked them.
 */
uint32_t mlx5_qp_flags(const struct verbs_create_qp *in);
int mlx5_open_qp(struct verbs_qp *vqp, const struct verbs_open_qp *in);
int mlx5_destroy_qp(struct verbs_qp *vqp);
int mlx5_query_qp(struct verbs_qp *vqp, const struct verbs_query_qp *in);
int mlx5_modify_qp(struct verbs_qp *vqp, const struct verbs_modify_qp *in);
/* Return the attribute mask that the request to the kernel driver has for a transition. */
uint32_t mlx5_modify_mask(const struct mlx5_qp *qp, const struct verbs_modify_qp *in);
int mlx5_modify_qp_rate_limit(struct verbs_qp *vqp, const struct ibv_qp_rate_limit_attr *attr);
int mlx5_set_ece(struct verbs_qp *vqp, const struct ibv_ece *ece);
int mlx5_query_ece(struct verbs_qp *vqp, struct ibv_ece *ret_ece);

/* Return whether receives are in a ring and not in a list. */
static inline bool mlx5_is_cyclic(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_UC || type == IBV_QPT_UD;
}

/* Sizes of the rings of a QP. */
struct mlx5_qp_size {
	uint32_t wqe_bytes; /* largest size of a send request */
	uint32_t sq_bytes, sq_blocks, sq_max_post, max_inline;
	uint32_t sq_ops, address_size, max_tso_header; /* as in mlx5_sq */
	uint32_t rq_bytes, rq_count, rq_shift, rq_max_sge;
	uint32_t rq_max_post; /* receives that the program may post */
};
/* @umr: requests may configure keys */
int mlx5_qp_size(struct mlx5_context *ctx, const struct ibv_qp_init_attr_ex *attr, bool umr,
		 struct mlx5_qp_size *ret_size);

static inline bool mlx5_is_underlay(const struct ibv_qp_init_attr_ex *attr)
{
	return attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS &&
	       attr->create_flags & IBV_QP_CREATE_SOURCE_QPN;
}

/* qp_firmware.c */
int mlx5_query_qp_data_in_order(struct verbs_qp *vqp, enum ibv_wr_opcode unused);
/* Call in the state INIT. */
int mlx5_qp_enable_copies(struct ibv_qp *qp);
int mlx5_qp_stop_at_sig_errors(struct ibv_qp *qp);

#endif
